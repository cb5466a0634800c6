"""The event of a round with two answers: a person answers for or against the claim."""

from __future__ import annotations

from typing import ClassVar

from parley.model.events.base import AgentAtTurn, event


@event
class TookSide(AgentAtTurn):
    """A person answers: `side` is for or against the claim, or None and the reason.

    It was told that `agree` of `others` other people agree with the claim; `others` is 0 where no answer was shown.
    `listed_first` is the side whose option is A, and `probability` that of an answer for the claim, if the model tells it.
    `asked` counts the calls, `earlier` are the unreadable replies.
    """

    counted: ClassVar[str] = "answers"
    agree: int
    others: int
    listed_first: str
    side: str | None
    reason: str | None
    probability: float | None = None
    covered: float | None = None
    raw: str | None = None
    how: str = "strict"
    asked: int = 0
    earlier: tuple[str | None, ...] = ()
