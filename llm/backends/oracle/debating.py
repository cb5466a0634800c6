"""Which side a debater chooses before a judge, and who made the better case, with the exact probability of each answer.

A debater with the agreement a with the claim (0 to 10) argues for it with the probability a / 10 where it does not know on which
side the judge is. Where it does, by a stated belief or by a description, it goes to the judge's side with `flattery` (0 to 1)
more of what is left:

    P(judge's side) = p + f * (1 - p), with p its probability without that knowledge

f is `flattery` on average over people and topics, with an SD of SPREAD * flattery * (1 - flattery). So the mean of the two
shifts, toward a judge who is for and toward one who is against the claim, is flattery / 2. Besides, any other words about the
judge move a choice a little, in no direction (SD: WOBBLE * p * (1 - p)).

As a judge it finds the case better that moves it further toward the side that is argued, by the law of messages
(persuasion_law.py), with `taste`, `place` and `longer` as there.
"""

from __future__ import annotations

import math

from parley.llm.backends.oracle.dynamics import Speaker, move, normal
from parley.llm.backends.oracle.phrases import unknown_sentence
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest, stream

MIDDLE = 5.0
SPREAD, WOBBLE = 0.3, 0.2


def answer_side_choice(reading: Reading, speaker: Speaker) -> Reply:
    """Answer A or B: the side that a debater will argue."""
    claim, order = reading.facts.get("claim", ""), list(reading.facts.get("choices", ()))
    slug = reading.banks.recognised(claim)
    if slug is None or sorted(order) != ["against", "for"] or len(reading.request.answers) != 2:
        return unknown(reading)
    argues_for = agreement_with(speaker, reading.persona, slug, claim) / 10
    judge = _side_of_judge(reading, speaker, slug, claim)
    if judge:
        flattery = _varied(speaker.laws.flattery, SPREAD, "flattery", reading.persona, slug)
        argues_for += flattery * (float(judge == "for") - argues_for)
    argues_for = _varied(argues_for, WOBBLE, "notice", reading.persona, reading.last.partition("\n\n")[0])
    reply, shares = Reply(None), {"for": argues_for, "against": 1 - argues_for}
    set_choice(reply, reading.request, [shares[side] for side in order])
    return reply


def _varied(share: float, spread: float, *who: str) -> float:
    """Return a share with noise that is the same for the same `who`, and is 0 on average."""
    return min(max(share + spread * share * (1 - share) * normal(digest(*who)), 0.0), 1.0)


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


def agreement_with(speaker: Speaker, persona: str, slug: str, claim: str) -> float:
    """Return the agreement (0-10) of a person with a claim, before any line."""
    attitude = speaker.start(persona, slug)
    toward = speaker.banks.topics[slug].direction(claim.lower()) or 1
    return attitude if toward > 0 else 10 - attitude


def _side_of_judge(reading: Reading, speaker: Speaker, slug: str, claim: str) -> str:
    """Return the side that the prompt shows of the judge; "" where it shows none."""
    if "judge" in reading.facts:
        return reading.facts["judge"]
    described = reading.facts.get("persona", "")
    if not described:
        return ""
    agrees = agreement_with(speaker, described, slug, claim)
    return "" if agrees == MIDDLE else "for" if agrees > MIDDLE else "against"
