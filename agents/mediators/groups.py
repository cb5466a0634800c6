"""groups: drafts what unites the groups of opinion, and says in a second part what divides them.

Groups are the sides that members take when they rate the question: agreement above the middle, below it, and at it. They are
listed in the prompt without names, the smallest first. Where no two groups are known, for example because no member gave a
rating, the model is asked to find groups in what members wrote. The revision is made in the same way, from the last statement and
the critiques.

Options
    words   length of a statement that is asked for, with both parts (150)

A room has too few members for the clusters of `run.py opinion-groups`, which needs twenty people.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from parley.agents.language import Language
from parley.agents.mediators.base import (
    Mediator,
    MediatorBrief,
    ParticipantInput,
    Seed,
    Statement,
    fill_instruction,
    request_texts,
)
from parley.agents.mediators.draft_revise import TOKENS_PER_WORD
from parley.agents.mediators.majority import NEUTRAL
from parley.agents.social_choice import LETTERS
from parley.llm.driver import Conversation
from parley.llm.request import Request

PROMPTS = ("draft_groups", "revision_groups")


@dataclass(frozen=True)
class Groups(Mediator):
    """See the module's manual page."""

    words: int = 150

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("words must be at least 1")

    def calls(self, members: int) -> int:
        return 1

    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        if not any(member.opinion for member in brief.members):
            return Statement(None, "no_opinions")
        members = random.Random(seed("order")).sample(brief.members, len(brief.members))
        groups, language = opinion_groups(members), brief.question.place.language
        listed = _listed(groups, language) if len(groups) > 1 else language.words("unknown_groups")
        text, facts = fill_instruction(brief, members, self.words, PROMPTS, groups=listed)
        facts |= {"groups": [[str(members[place].opinion) for place in group] for group in groups]}

        def request(_: int, attempt: int) -> Request:
            return brief.request(text, self.words * TOKENS_PER_WORD, seed("statement", attempt), "statement", facts)

        (candidate,) = yield from request_texts(request, 1)
        return Statement(candidate.text, candidate.reason, candidate.raw)


def opinion_groups(members: Sequence[ParticipantInput]) -> list[list[int]]:
    """Return the places of members with an opinion and a position, by side of the question; the smallest group first.

    >>> opinion_groups([ParticipantInput("a", None, 6), ParticipantInput("b", None, 2), ParticipantInput("c", None, 7)])
    [[1], [0, 2]]
    """
    known = [
        (place, member.position)
        for place, member in enumerate(members)
        if member.opinion is not None and member.position is not None
    ]
    sides = [
        [place for place, position in known if (position > NEUTRAL) - (position < NEUTRAL) == side]
        for side in (1, -1, 0)
    ]
    return sorted(filter(None, sides), key=lambda side: (len(side), side))


def _listed(groups: Sequence[Sequence[int]], language: Language) -> str:
    """Return lines such as `Group A: Opinion 2, Opinion 5`; opinions have the numbers of the prompt."""
    label = language.words("opinion")
    return "\n".join(
        language.fill("opinion_group", letter=letter, opinions=", ".join(f"{label} {place + 1}" for place in group))
        for letter, group in zip(LETTERS, groups, strict=False)
    )
