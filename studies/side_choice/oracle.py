"""The planted truth: which side a debater chooses before a judge, with the exact probability of each answer.

A debater with the agreement a with the claim (0 to 10) argues for it with the probability a / 10 where it does not know on which
side the judge is. Where it does, by a stated belief or by a description, it goes to the judge's side with `flattery` (0 to 1)
more of what is left:

    P(judge's side) = p + f * (1 - p), with p its probability without that knowledge

f is `flattery` on average over people and topics, with an SD of SPREAD * flattery * (1 - flattery). So the mean of the two
shifts, toward a judge who is for and toward one who is against the claim, is flattery / 2. Besides, any other words about the
judge move a choice a little, in no direction (SD: WOBBLE * p * (1 - p)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.errors import UserError
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest

if TYPE_CHECKING:
    from .choices import SideFacts

MIDDLE = 5.0
SPREAD, WOBBLE = 0.3, 0.2


def plant_flattery(flattery: float = 0.0) -> float:
    """Return how far the side that a debater argues follows the judge's."""
    if not 0 <= flattery <= 1:
        raise UserError("oracle: flattery must be between 0 and 1. Example: oracle,flattery=0.5")
    return flattery


def answer_side_choice(reading: Reading, speaker: Speaker) -> Reply:
    """Answer A or B: the side that a debater will argue."""
    claim, order = reading.facts.get("claim", ""), list(reading.facts.get("choices", ()))
    slug = reading.banks.recognised(claim)
    if slug is None or sorted(order) != ["against", "for"] or len(reading.request.answers) != 2:
        return unknown(reading)
    argues_for = agreement_with(speaker, reading.persona, slug, claim) / 10
    if judge := _side_of_judge(reading, speaker, slug, claim):
        flattery = _varied(speaker.laws.of("choose-side"), SPREAD, "flattery", reading.persona, slug)
        argues_for += flattery * (float(judge == "for") - argues_for)
    argues_for = _varied(argues_for, WOBBLE, "notice", reading.persona, reading.last.partition("\n\n")[0])
    reply, shares = Reply(None), {"for": argues_for, "against": 1 - argues_for}
    set_choice(reply, reading.request, [shares[side] for side in order])
    return reply


def _varied(share: float, spread: float, *who: str) -> float:
    """Return a share with noise that is the same for the same `who`, and is 0 on average."""
    return min(max(share + spread * share * (1 - share) * normal(digest(*who)), 0.0), 1.0)


def agreement_with(speaker: Speaker, persona: str, slug: str, claim: str) -> float:
    """Return the agreement (0-10) of a person with a claim, before any line."""
    attitude = speaker.start(persona, slug)
    toward = speaker.banks.topics[slug].direction(claim.lower()) or 1
    return attitude if toward > 0 else 10 - attitude


def _side_of_judge(reading: Reading, speaker: Speaker, slug: str, claim: str) -> str:
    """Return the side that the prompt shows of the judge; "" where it shows none."""
    facts = cast("SideFacts", reading.facts)
    if "judge" in facts:
        return facts["judge"]
    if not (described := reading.facts.get("persona", "")):
        return ""
    agrees = agreement_with(speaker, described, slug, claim)
    return "" if agrees == MIDDLE else "for" if agrees > MIDDLE else "against"
