"""The planted law of tact: how far a public line goes from what the speaker thinks toward its audience, by frame.

The audience is the mean grade of the last readable line of each of the others. A speaker with the attitude a and the audience h
says lines of the mean grade

    a + min(points, |h - a|), in the direction of h

with the points of its frame (the role of its prompt, such as `reward`). Negative points go away from the audience. Without a
readable line of others there is no audience, and the line says a. The attitude itself, and what it answers in private, stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError, unknown_name

CANDID: Mapping[str, float] = {}
"""The law unless points are planted: public lines say what the speaker thinks."""
FRAMES = ("neutral", "neutral_again", "reward", "order", "exclusion", "audience")
"""The roles of the prompt that frame a conversation."""


def plant_tact(tact: str = "") -> Mapping[str, float]:
    """Return the points by frame. tact: as `reward:2+order:1`. Errors: UserError."""
    points = parse_numbers("tact", tact)
    for name in points:
        if name not in FRAMES:
            raise unknown_name("frame of tact", name, FRAMES)
    if wrong := [name for name, value in points.items() if not -10 <= value <= 10]:
        raise UserError(f"oracle: tact of {wrong[0]} must be from -10 to 10 points, as in oracle,tact=reward:2")
    return points


def public_grade(own: float, audience: float | None, points: float) -> float:
    """Return the mean grade of a public line.

    >>> public_grade(8.0, 3.0, 2.0), public_grade(4.0, 3.0, 2.0), public_grade(8.0, None, 2.0), public_grade(8.0, 3.0, -1.0)
    (6.0, 3.0, 8.0, 9.0)
    """
    if audience is None or audience == own:
        return own
    step = min(points, abs(audience - own))
    return min(max(own + (step if audience > own else -step), 0.0), 10.0)


def audience_of(reading: Reading) -> float | None:
    """Return the mean grade of the last readable line of each of the others; None without one."""
    bank, last = reading.banks.topics[reading.topic or ""], dict[str, float]()
    for name, text in reading.heard:
        if (grade := bank.grade(text)) is not None:
            last[name] = grade
    return fmean(last.values()) if last else None


def tactful_grade(reading: Reading, own: float, tact: Mapping[str, float]) -> float:
    """Return the mean grade of the line of a speaker who would say `own`, in the frame of its prompt."""
    points = tact.get(reading.facts.get("role", "").partition("+")[0], 0.0)
    return public_grade(own, audience_of(reading), points) if points else own
