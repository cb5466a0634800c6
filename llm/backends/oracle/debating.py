"""Who made the better case in a debate, with the exact probability of each answer.

A judge finds the case better that moves it further toward the side that is argued, by the law of messages (persuasion_law.py),
with `taste`, `place` and `longer` as there.
"""

from __future__ import annotations

import math

from parley.llm.backends.oracle.dynamics import Speaker, move, normal
from parley.llm.backends.oracle.phrases import unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import digest, stream


def answer_debate_verdict(reading: Reading, speaker: Speaker) -> Reply:
    """Answer 1 or 2: who made the better case, or which of two speeches for one side does."""
    claim, sides = reading.facts.get("claim", ""), reading.facts.get("choices", ())
    slug, texts = reading.banks.recognised(claim), reading.facts.get("candidates", ())
    if slug is None or len(texts) != 2 or len(sides) != 2:
        return unknown(reading)
    bank, planted, law = speaker.banks.topics[slug], speaker.parameters[slug], speaker.laws.persuasion
    attitude, claimed = speaker.start(reading.persona, slug), bank.direction(claim.lower()) or 1
    strengths = []
    for text, side in zip(texts, sides, strict=True):
        grade = bank.grade(text)
        if grade is None:
            return unknown_sentence(text)
        moved = move(attitude, grade, planted) - move(attitude, None, planted)
        toward = claimed if side == "for" else -claimed
        strengths.append(
            law.strength(toward * moved, len(text.split()), normal(digest("verdict", reading.persona, text)))
        )
    first = 1 / (1 + math.exp(strengths[1] - strengths[0] - law.place))
    chosen = "1" if stream(reading.request.seed, reading.ask).random() < first else "2"
    return Reply(chosen, answers={"1": first, "2": 1 - first} if reading.request.answers else None)
