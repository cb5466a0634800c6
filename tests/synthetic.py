"""Episodes made up on the spot, of people with planted habits: an opening phrase and a standing demand each."""

from __future__ import annotations

import random

from parley.agents.question import Question
from parley.analysis.deliberation.episode import Episode, Voice

OPENINGS = ("I broadly agree", "Good start", "This misses the point", "Fair enough", "I am not happy", "Well put")
DEMANDS = (
    "say who pays",
    "protect the countryside",
    "ask the experts first",
    "mention small firms",
    "keep it voluntary",
)
MATTERS = ("schools", "trains", "rents", "farms", "parks", "phones", "pensions", "police", "buses", "libraries")


def question(number: int) -> Question:
    matter = MATTERS[number % len(MATTERS)]
    asked = f"Should the state pay {number} pounds more for {matter}?"
    return Question(
        f"q{number}", asked, f"The state should pay {number} pounds more for {matter}.", "It should not.", matter
    )


def voice(name: str, opening: str, demand: str, rng: random.Random, matter: str) -> Voice:
    position = float(rng.randint(1, 7))
    opinion = f"{'Yes' if position > 4 else 'No'}, {matter} matter to me, and we must {demand}."
    critique = f"{opening}, but on {matter} you should {demand}."
    ratings = {"draft": float(rng.randint(1, 7)), "revision": float(rng.randint(1, 7))}
    return Voice(name, opinion, critique, position, ratings, float(rng.randint(1, 7)), {"age": "30 to 39"}, {})


def episodes(sessions: int, size: int = 3, each: int = 3, seed: int = 0) -> list[Episode]:
    """Sessions of `each` episodes on questions of their own, `size` people with habits of their own in each."""
    rng = random.Random(seed)
    found = []
    for session in range(sessions):
        people = [(f"s{session}p{place}", rng.choice(OPENINGS), rng.choice(DEMANDS)) for place in range(size)]
        for turn in range(each):
            asked = question(session * each + turn)
            voices = tuple(voice(*person, rng, asked.topic) for person in people)
            draft = f"The group says yes to more money for {asked.topic}."
            revision = f"The group says yes, if money for {asked.topic} is well spent."
            found.append(Episode(f"e{session}_{turn}", f"s{session}", asked, voices, draft, revision, "synthetic", {}))
    return found
