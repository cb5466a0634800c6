"""What a log of another framework says, in plain rows. A format (formats/) fills it; record.py makes a run folder of it.

People are named by their room and their name. What a log does not say stays empty, and is never filled in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from parley.llm.errors import UserError

ONE_ROOM = "room"
"""The room of a log that has no rooms."""
UNKNOWN = "unknown (the log does not say)"


class Scale(NamedTuple):
    """The ends of a rating scale. reverse: the low end is 10 on the axis of attitudes.

    >>> Scale(1, 7).attitude(4), Scale(1, 7, reverse=True).attitude(7)
    (5.0, 0.0)
    """

    low: float
    high: float
    reverse: bool = False

    def attitude(self, rating: float) -> float:
        """Return the rating on the axis from 0 to 10."""
        share = (rating - self.low) / (self.high - self.low)
        return 10 * (1 - share if self.reverse else share)


class Person(NamedTuple):
    """Someone in a room. group: the condition. party: what kind of person, such as a party. model: "" if it is not known."""

    room: str
    name: str
    topic: str = ""
    group: str = ""
    party: str = ""
    seat: str = ""
    model: str = ""


class Rating(NamedTuple):
    """One answer on a scale, after a round (0: before). attitude and expected: 0-10, where the log itself has them."""

    room: str
    name: str
    round: int
    question: str
    value: float | None
    reason: str | None = None
    raw: str | None = None
    attitude: float | None = None
    expected: float | None = None
    probabilities: tuple[float, ...] | None = None


class Line(NamedTuple):
    """A text that someone wrote, in a round (from 1). key: how acts of the log name it."""

    room: str
    name: str
    round: int
    text: str | None
    reason: str | None = None
    form: str = "reply"
    key: str = ""


class Deed(NamedTuple):
    """An act on a social medium (agents/act_names.py). target: key of the post that it is about; written: of its own post."""

    room: str
    name: str
    round: int
    act: str
    target: str = ""
    written: str = ""


class Link(NamedTuple):
    """Someone follows another from a round on (0: from the start)."""

    room: str
    round: int
    source: str
    target: str


class Use(NamedTuple):
    """One call of a model, with its tokens; None where the log does not count them."""

    room: str
    name: str
    round: int
    purpose: str
    prompt_tokens: int | None
    completion_tokens: int | None
    failure: str | None = None


@dataclass(frozen=True)
class Log:
    """A whole log.

    by: what recorded it, with its version if the log says it. model: the model of all people, "" if it is not known.
    main: the question that is the attitude. scales: by question; a question without a scale has ratings and no attitudes.
    lacks: what the format or this log does not have, each with the reason, such as `ratings: the log records acts only`.
    """

    by: str
    people: Sequence[Person]
    ratings: Sequence[Rating] = ()
    lines: Sequence[Line] = ()
    deeds: Sequence[Deed] = ()
    links: Sequence[Link] = ()
    uses: Sequence[Use] = ()
    model: str = ""
    seed: str = ""
    main: str = ""
    scales: dict[str, Scale] = field(default_factory=dict)
    lacks: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    topics_of_parley: bool = False


def finite_number(value: object) -> float | None:
    """Return a number, or a text with one, as a float; None for anything else, and for one that is not finite.

    >>> finite_number("4"), finite_number(True), finite_number(10**400)
    (4.0, None, None)
    """
    if not isinstance(value, int | float | str) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def read_round(number: float | None, where: str) -> int:
    """Return a round, a whole number from 0 on. Errors: UserError that names the place, also for a missing one."""
    if number is None or number != int(number) or number < 0:
        shown = "" if number is None else f", not {number:g}"
        raise UserError(f"{where} must be a whole number from 0 (before the talk) on{shown}")
    return int(number)
