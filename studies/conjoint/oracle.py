"""The planted truth: the worth of each level, how people differ, and the weight of coming first; and choices by that law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from parley.llm.backends.oracle.dynamics import Speaker, normal
from parley.llm.backends.oracle.option_texts import parse_numbers
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.errors import UserError
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import digest

if TYPE_CHECKING:
    from .design import ProfileFacts

NO_WORTH: Mapping[str, float] = {}


class ProfileLaw(NamedTuple):
    """The probability of choosing the profile shown first is .5 + `first` + its worth - that of the other, within 0 to 1.

    worth: of each level by `attribute/level`; 0 for a level that is not named. spread: the SD over people of the worth of a
    level.
    The AMCE of a level is its worth minus that of the baseline, as long as no probability would lie outside of 0 to 1.
    """

    worth: Mapping[str, float] = NO_WORTH
    spread: float = 0.05
    first: float = 0.0

    def check(self) -> None:
        """Errors: UserError on numbers that are not finite, and on a negative spread."""
        if not all(map(math.isfinite, (*self.worth.values(), self.first))) or not 0 <= self.spread < math.inf:
            raise UserError(
                "oracle: worth and first must be finite numbers, and worth_spread must be 0 or more. Example: "
                "oracle,worth=age/52:0.1,worth_spread=0.05"
            )


def plant_profiles(worth: str = "", worth_spread: float = 0.05, first: float = 0.0) -> ProfileLaw:
    """Return the law. worth: by `attribute/level`, as `age/52:0.1+taxes/lower:-0.2`. Errors: UserError."""
    return ProfileLaw(parse_numbers("worth", worth), worth_spread, first)


def answer_profile_choice(reading: Reading, speaker: Speaker) -> Reply:
    """Answer which of two profiles a person chooses."""
    profiles, answers = cast("ProfileFacts", reading.facts).get("profiles", ()), reading.request.answers
    if len(profiles) != 2 or len(answers) != 2:
        return unknown(reading)
    law: ProfileLaw = speaker.laws.of("conjoint")
    first, second = (worth(profile, reading.persona, law) for profile in profiles)
    chance = min(max(0.5 + law.first + first - second, 0.0), 1.0)
    reply = Reply(None)
    set_choice(reply, reading.request, [chance, 1 - chance])
    return reply


def worth(profile: Mapping[str, str], persona: str, law: ProfileLaw) -> float:
    """Return what a profile is worth to a person: the sum over its levels of the planted worth and of the person's spread."""
    total = 0.0
    for attribute, level in profile.items():
        person_worth = law.spread * normal(digest("spread", persona, attribute, level)) if law.spread else 0.0
        total += law.worth.get(f"{attribute}/{level}", 0.0) + person_worth
    return total
