"""Which answers of a survey are hidden, and what is known when they are predicted.

A share of the people is new: no answer of theirs is trained on. A share of the questions is unasked: no one's answer to them is
known. Of the other answers of each person a share is hidden. The hidden answers are four test sets (SETS). The sets `unasked` and
`new people, unasked` share no question with the training, the sets of new people no person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parley.analysis.survey_prediction.answers import Survey
from parley.llm.errors import UserError
from parley.llm.seeding import stream

Mask = NDArray[np.bool_]
RETRODICTION, UNASKED, NEW, NEW_UNASKED = "retrodiction", "unasked", "new people", "new people, unasked"
SETS: Mapping[str, str] = {
    RETRODICTION: "hidden answers of people in the training, to questions in the training",
    UNASKED: "answers of people in the training to questions that no one was asked in the training",
    NEW: "hidden answers of people who are not in the training, to questions in the training",
    NEW_UNASKED: "answers of people who are not in the training, to questions that no one was asked in the training",
}
FEWEST_PEOPLE, FEWEST_ITEMS = 8, 4


@dataclass(frozen=True)
class Split:
    """new: (people,). unasked: (questions,). hidden: (people, questions), the answers to predict. known: those that are shown."""

    new: Mask
    unasked: Mask
    hidden: Mask
    known: Mask

    @property
    def training(self) -> Mask:
        """(people, questions): the answers that a model or a baseline may be trained on."""
        return self.known & ~self.new[:, None]

    def sets(self) -> dict[str, Mask]:
        """Return the hidden answers of each test set."""
        new, unasked = self.new[:, None], self.unasked[None, :]
        masks = (~new & ~unasked, ~new & unasked, new & ~unasked, new & unasked)
        return {name: self.hidden & mask for name, mask in zip(SETS, masks, strict=True)}


def split_survey(survey: Survey, seed: int = 0, share: float = 0.25) -> Split:
    """Hide a share of the people, of the questions, and of each person's other answers, drawn with the seed.

    Errors: UserError for a survey of fewer than 8 people or 4 questions, and for a share that is not between 0 and 1.
    """
    people, items = survey.values.shape
    if people < FEWEST_PEOPLE or items < FEWEST_ITEMS:
        raise UserError(
            f"{survey.name} has {people} people and {items} questions: at least {FEWEST_PEOPLE} and {FEWEST_ITEMS} are needed"
        )
    if not 0 < share < 1:
        raise UserError("--held-out must be a share between 0 and 1, such as 0.25")
    new, unasked = _drawn(people, share, seed, "new people"), _drawn(items, share, seed, "unasked questions")
    answered = np.isfinite(survey.values)
    hidden = answered & unasked
    for person in range(people):
        own = [item for item in survey.answered(person) if not unasked[item]]
        count = min(max(round(share * len(own)), 1), len(own) - 1) if len(own) > 1 else 0
        hidden[person, stream(seed, "hidden answers", survey.people[person]).sample(own, count)] = True
    return Split(new, unasked, hidden, answered & ~hidden)


def _drawn(size: int, share: float, seed: int, name: str) -> Mask:
    chosen = np.zeros(size, dtype=bool)
    chosen[stream(seed, name).sample(range(size), min(max(round(share * size), 1), size - 1))] = True
    return chosen
