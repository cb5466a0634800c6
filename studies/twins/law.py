"""The planted law of twins: its numbers (oracle.py has the answers by it)."""

from __future__ import annotations

from dataclasses import dataclass

from parley.llm.errors import UserError


@dataclass(frozen=True)
class TwinLaw:
    """knows: the share of a person's history that a twin uses, 0 to 1. follows: the pull of what it hears, 0 to 1."""

    knows: float = 1.0
    follows: float = 0.3

    def __post_init__(self) -> None:
        for name, share in vars(self).items():
            if not 0 <= share <= 1:
                raise UserError(f"oracle: {name} must be a share between 0 and 1. Example: oracle,{name}=0.5")


USUAL = TwinLaw()
