"""The planted law of flips: how often each cause turns a rating to the other side of the middle.

A speaker whose attitude is a (0-10) answers 10 - a when one of these causes turns it, each with its own planted probability:

    instability   no cause outside: drawn anew for every request
    presence      any line was heard, whatever it says
    conformity    a line was heard that shows a side, and the side is not its own
    reasons       a line was heard with a sentence that gives a reason for the other side
    response      a line was heard that addresses a member of this room by name

All but instability are drawn once per person, room and topic, so that a turned person stays turned while the cause is there. A
sixth cause acts on the question instead of the attitude:

    acquiescence  once any line was heard, it agrees with whatever statement it is asked about

What the speaker says aloud follows from its attitude as without the law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import stream

MIDDLE = 5.0
LASTING = ("presence", "conformity", "reasons", "response")
CAUSES = ("instability", *LASTING, "acquiescence")


def plant_flips(flips: str = "") -> Mapping[str, float]:
    """Return the probabilities by cause. flips: as `conformity:0.3+reasons:0.1`. Errors: UserError."""
    planted = parse_numbers("flips", flips)
    for cause, probability in planted.items():
        if cause not in CAUSES:
            raise unknown_name("cause of oracle,flips", cause, CAUSES)
        if not 0 <= probability <= 1:
            raise UserError(f"oracle: flips of {cause} must be between 0 and 1. Example: oracle,flips=conformity:0.3")
    return planted


def causes_heard(reading: Reading, attitude: float) -> Iterator[str]:
    """Yield the causes of LASTING, and acquiescence, that are there for a person of an attitude after the lines heard."""
    texts, bank = [text for _, text in reading.heard], reading.banks.topics[reading.topic or ""]
    if not texts:
        return
    yield from ("presence", "acquiescence")
    if any(_opposed(bank.grade(text), attitude) for text in texts):
        yield "conformity"
    bank_sentences = [sentence for text in texts for sentence in sentences(text) if sentence in bank.forms]
    if any(_opposed(bank.grades[sentence], attitude) for sentence in bank_sentences):
        yield "reasons"
    if any(name in text for text in texts for name in reading.request.names or ()):
        yield "response"


def flipped(reading: Reading, attitude: float, direction: int, flips: Mapping[str, float]) -> float:
    """Return the attitude that a person answers by. direction: 1 where agreement is the high end of the axis, -1: the low end."""
    there = set(causes_heard(reading, attitude))
    turned = [cause for cause in LASTING if cause in there and _drawn(reading, cause, 0, flips)]
    if turned or _drawn(reading, "instability", reading.request.seed, flips):
        attitude = 2 * MIDDLE - attitude
    if "acquiescence" in there and _drawn(reading, "acquiescence", 0, flips):
        return MIDDLE + direction * abs(attitude - MIDDLE)
    return attitude


def _drawn(reading: Reading, cause: str, seed: int, flips: Mapping[str, float]) -> bool:
    probability, room = flips.get(cause, 0.0), sorted(reading.request.names or ())
    return probability > 0 and stream(seed, "flip", cause, room, reading.persona, reading.topic).random() < probability


def _opposed(grade: float | None, attitude: float) -> bool:
    return grade is not None and (grade - MIDDLE) * (attitude - MIDDLE) < 0
