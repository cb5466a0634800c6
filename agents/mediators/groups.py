"""groups: drafts what unites the groups of opinion, and says in a second part what divides them.

Groups are the sides that members take when they rate the question: agreement above the middle, below it, and at it. They are
listed in the prompt without names, the smallest first. Where no two groups are known, for example because no member gave a
rating, the model is asked to find groups in what members wrote. The revision is made in the same way, from the last statement and
the critiques.

Options
    words   length of a statement that is asked for, with both parts (150)

A room has too few members for the clusters of `run.py study opinion-groups`, which needs twenty people.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from parley.agents.language import Language
from parley.agents.mediators.base import MediatorBrief, ParticipantInput, fill_instruction
from parley.agents.mediators.draft_revise import DraftRevise
from parley.agents.mediators.majority import NEUTRAL
from parley.agents.social_choice import LETTERS
from parley.llm.purposes import Facts

PROMPTS = ("draft_groups", "revision_groups")


@dataclass(frozen=True)
class Groups(DraftRevise):
    """See the module's manual page."""

    words: int = 150

    def instruction(self, brief: MediatorBrief, rng: random.Random) -> tuple[str, Facts]:
        """Return the prompt with the groups, and its facts: groups are lists of opinions."""
        members = rng.sample(brief.members, len(brief.members))
        groups, language = opinion_groups(members), brief.question.place.language
        listed = _listed(groups, language) if len(groups) > 1 else language.words("unknown_groups")
        text, facts = fill_instruction(brief, members, self.words, PROMPTS, groups=listed)
        facts |= {"groups": [[str(members[place].opinion) for place in group] for group in groups]}
        return text, facts


def opinion_groups(members: Sequence[ParticipantInput]) -> list[list[int]]:
    """Return the places of members with an opinion and a position, by side of the question; the smallest group first.

    >>> opinion_groups([ParticipantInput("a", None, 6), ParticipantInput("b", None, 2), ParticipantInput("c", None, 7)])
    [[1], [0, 2]]
    """
    positioned = [
        (place, member.position)
        for place, member in enumerate(members)
        if member.opinion is not None and member.position is not None
    ]
    sides = [
        [place for place, position in positioned if (position > NEUTRAL) - (position < NEUTRAL) == side]
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
