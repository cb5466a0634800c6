"""The planted law of what a representative can know: how alike a person's positions are, how often it acts blindly."""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.errors import UserError


class RepresentationLaw(NamedTuple):
    """leaning: the share of a person's own part of a position that is the same on every question (0: none).

    With 1, a person's positions on other questions say what it thinks of this one; with 0 they say nothing.
    blind: the share of opinions and ballots of representatives that are drawn at random, so that they say nothing of the person.
    """

    leaning: float = 0.0
    blind: float = 0.0

    def check(self) -> None:
        """Errors: UserError on values out of range."""
        if not (0 <= self.leaning <= 1 and 0 <= self.blind <= 1):
            raise UserError("oracle: leaning and blind must be from 0 to 1, as in oracle,leaning=1,blind=0.5")


USUAL = RepresentationLaw()
