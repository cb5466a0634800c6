"""The planted law of a judge that tags lines: how often its tag is the true one."""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.errors import UserError


class TagLaw(NamedTuple):
    """tag_right: how often a tag is the true one; otherwise it is one of all answers, each as likely. From 0 to 1."""

    tag_right: float = 1.0

    def check(self) -> None:
        """Errors: UserError for a share outside of 0 to 1."""
        if not 0 <= self.tag_right <= 1:
            raise UserError("oracle: tag_right must be between 0 and 1. Example: oracle,tag_right=0.8")
