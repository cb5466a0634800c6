"""What a person thinks that people of a party would answer, by a planted law.

For its own party it answers what this party's people think on average (`start` of the parameters). For another party it answers

    middle + exaggeration * (average of the other party - middle)

where `middle` is the mean of both parties' averages: 1 is no exaggeration, and 2 puts the party twice as far away. Each
perceiver has a quirk, and answers are kept within 0 and 10.
"""

from __future__ import annotations

import math

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import directed, pick
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.llm.seeding import digest

QUIRK = 0.5
"""Standard deviation between perceivers, in points (0-10)."""


def answer_perception(reading: Reading, speaker: Speaker) -> Reply:
    """Answer a rating, with its exact distribution, as a person of the party in the facts would."""
    facts, topic = reading.facts, reading.topic
    scale, party = facts.get("scale"), facts.get("party", "")
    starts = speaker.parameters[topic].start if topic else {}
    stated = topic and scale and directed(reading.banks, scale, reading.question, topic, facts.get("sentence", ""))
    if not stated or party not in starts:
        return unknown(reading)
    typical = starts[party]
    own_start = starts.get(reading.party, typical)
    middle = (typical + own_start) / 2
    quirk = QUIRK * normal(digest("perception", reading.persona, topic, party))
    value = min(10.0, max(0.0, middle + speaker.laws.of("stereotypes") * (typical - middle) + quirk))
    return pick(reading, stated.shares(stated.value(value)), stated.text, reading.ask, party)


def plant_exaggeration(exaggeration: float = 1.0) -> float:
    """Return how far a person sees another party from its own; 1 is right."""
    if not math.isfinite(exaggeration):
        raise UserError("oracle: exaggeration must be a finite number. Example: oracle,exaggeration=1")
    return exaggeration
