"""Who made the better case in a debate, or which of two speeches for one side does, by the planted law of persuasion."""

from __future__ import annotations

from parley.llm.backends.oracle.dynamics import Speaker, move, normal
from parley.llm.backends.oracle.persuasion import claim_of, prefer
from parley.llm.backends.oracle.phrases import unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply
from parley.llm.seeding import digest


def answer_debate_verdict(reading: Reading, speaker: Speaker) -> Reply:
    """Answer 1 or 2: who made the better case, or which of two speeches for one side does."""
    claim, sides, texts = claim_of(reading), reading.facts.get("choices", ()), reading.facts.get("candidates", ())
    if claim is None or len(texts) != 2 or len(sides) != 2:
        return unknown(reading)
    attitude, planted = speaker.start(reading.persona, claim.slug), speaker.parameters[claim.slug]
    strengths = []
    for text, side in zip(texts, sides, strict=True):
        grade = claim.bank.grade(text)
        if grade is None:
            return unknown_sentence(text)
        moved = move(attitude, grade, planted) - move(attitude, None, planted)
        toward = claim.towards if side == "for" else -claim.towards
        noise = normal(digest("verdict", reading.persona, text))
        strengths.append(speaker.laws.persuasion.strength(toward * moved, len(text.split()), noise))
    return prefer(reading, speaker, strengths, reading.request.seed)
