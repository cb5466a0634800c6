"""Choices between two profiles by the law of profile_law.py, with the exact probability of each."""

from __future__ import annotations

from collections.abc import Mapping

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.profile_law import ProfileLaw
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest


def answer_profile_choice(reading: Reading, speaker: Speaker) -> Reply:
    """Answer which of two profiles a person chooses."""
    profiles, answers = reading.facts.get("profiles", ()), reading.request.answers
    if len(profiles) != 2 or len(answers) != 2:
        return unknown(reading)
    first, second = (worth(profile, reading.persona, speaker.laws.profiles) for profile in profiles)
    chance = min(max(0.5 + speaker.laws.profiles.first + first - second, 0.0), 1.0)
    reply = Reply(None)
    set_choice(reply, reading.request, [chance, 1 - chance])
    return reply


def worth(profile: Mapping[str, str], persona: str, law: ProfileLaw) -> float:
    """Return what a profile is worth to a person: the sum over its levels of the planted worth and of the person's spread."""
    total = 0.0
    for attribute, level in profile.items():
        own = law.spread * normal(digest("spread", persona, attribute, level)) if law.spread else 0.0
        total += law.worth.get(f"{attribute}/{level}", 0.0) + own
    return total
