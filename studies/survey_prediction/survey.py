"""A survey as a table: people, questions with two answers, who gave which answer, and which answers are hidden.

README.md has the schema of the two files, the answers (wide or long) and the questions. Invented surveys have
people with hidden positions, who answer statements of planted strength:

planted      answers depend on one hidden position, some of them strongly
independent  answers do not depend on the person
shuffled     as planted, but the answers to each statement are dealt to other people: statements seem to be related, and are not

A share of the people is new: no answer of theirs is trained on. A share of the questions is unasked: no one's answer to them is
known. Of the other answers of each person a share is hidden. The hidden answers are four test sets (SETS). The sets `unasked` and
`new people, unasked` share no question with the training, the sets of new people no person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.agents.language import ENGLISH, Language, language_of_study, load_language
from parley.analysis.statistics.intervals import Floats
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError
from parley.llm.seeding import derive, digest, stream

from .asking import HOME, KnownPerson, SurveyItem
from .oracle import INDEPENDENT, PLANTED, statements

PERSON, WEIGHT, QUESTION, ANSWER = "person", "weight", "question", "answer"
ITEM_COLUMNS = ("question", "text", "yes", "no")
PAGE = "studies/survey_prediction/README.md"


@dataclass(frozen=True)
class Survey:
    """Answers of people to questions.

    values: (people, questions), 1 for the first answer of the question, 0 for the second, NaN for none. facts: what else is known
    of each person, by name. weights: of each person. truth: the probability of 1 that was planted, where it is known. absent:
    names of questions that the table of answers lacks.
    """

    name: str
    people: tuple[str, ...]
    items: tuple[SurveyItem, ...]
    values: Floats
    facts: tuple[tuple[tuple[str, str], ...], ...]
    weights: Floats
    language: Language = ENGLISH
    truth: Floats | None = None
    absent: tuple[str, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Identifies people, questions, answers, facts and weights."""
        parts = (self.people, self.items, self.facts, self.values.tobytes(), self.weights.tobytes(), self.language.code)
        return digest(*map(repr, parts)).hex()

    @property
    def absent_line(self) -> str:
        """Say which questions the table of answers lacks; "" if it has all."""
        return f"The table of answers lacks: {', '.join(self.absent)}." if self.absent else ""

    def answered(self, person: int) -> list[int]:
        """Return the numbers of the questions that a person answered."""
        return [int(item) for item in np.flatnonzero(np.isfinite(self.values[person]))]

    def respondent(self, person: int, known_items: Sequence[int]) -> KnownPerson:
        """Return what a model is shown of a person: the facts, and the answers to the questions `known_items`, in their order."""
        stated = tuple((self.items[item], int(self.values[person, item])) for item in sorted(known_items))
        return KnownPerson(self.facts[person], stated)

    def drawn(self, count: int, seed: int) -> Survey:
        """Return the survey of at most `count` people, drawn with the seed."""
        if count >= len(self.people):
            return self
        kept = sorted(stream(seed, "people of a survey").sample(range(len(self.people)), count))
        people, facts = tuple(self.people[n] for n in kept), tuple(self.facts[n] for n in kept)
        truth = None if self.truth is None else self.truth[kept]
        return replace(
            self, people=people, facts=facts, values=self.values[kept], weights=self.weights[kept], truth=truth
        )


def read_survey(answers: Path, questions: Path, language: Language = ENGLISH) -> Survey:
    """Read a survey from a table of answers (wide or long) and a table of questions.

    Errors: UserError for a file or column that is missing, a person or question that is there twice, an answer to a question
    that is not in the table of questions, an answer that is neither of the two of its question, and a weight that is no
    positive number.
    """
    items = read_items(questions)
    table = read_table(answers, (PERSON,), PAGE, filled=(PERSON,), numbers=(WEIGHT,))
    facts = table
    if {QUESTION, ANSWER} <= set(table.columns):
        facts, table = _spread(table, answers)
        if unknown := [name for name in table.columns if name not in {PERSON, *(item.name for item in items)}]:
            raise UserError(f"{answers}: {questions} has no question {unknown[0]}: add it, or leave its rows out")
    if twice := list(table[PERSON][table[PERSON].duplicated()]):
        raise UserError(
            f"{answers}: person {twice[0]} has two rows: give each person one row, or use the columns question and "
            "answer"
        )
    shown = [item for item in items if item.name in table.columns]
    if not shown:
        raise UserError(f"{answers} has no column named like a question of {questions} ({items[0].name}, ...)")
    cells = [zip(table[PERSON], table[item.name], strict=True) for item in shown]
    rows_of_items = [
        [_value(cell, item, f"{answers}, person {person}") for person, cell in column]
        for item, column in zip(shown, cells, strict=True)
    ]
    values = np.array(rows_of_items).T.reshape(-1, len(shown))
    columns = [
        name for name in facts.columns if name not in {PERSON, WEIGHT, QUESTION, ANSWER, *(item.name for item in items)}
    ]
    rows = facts.drop_duplicates(PERSON).set_index(PERSON).loc[list(table[PERSON])]
    about = tuple(
        tuple((name, cell) for name, cell in zip(columns, row, strict=True) if cell) for row in rows[columns].to_numpy()
    )
    if WEIGHT in facts and (wrong := ~(facts[WEIGHT] > 0)).any():
        raise UserError(
            f"{answers}, row {wrong.idxmax()}: weight is {facts[WEIGHT][wrong].iloc[0]:g}, but must be a number above 0"
        )
    weights = rows[WEIGHT].to_numpy(dtype=float) if WEIGHT in rows else np.ones(len(table))
    absent = tuple(item.name for item in items if item not in shown)
    people = tuple(table[PERSON])
    return Survey(answers.name, people, tuple(shown), values, about, weights, language, absent=absent)


def read_items(path: Path) -> tuple[SurveyItem, ...]:
    """Read the questions of a survey: one row each, with the columns question (its name), text, yes, no."""
    table = read_table(path, ITEM_COLUMNS, PAGE, filled=ITEM_COLUMNS)
    items = []
    for row in table[list(ITEM_COLUMNS)].itertuples(index=False):
        name, text, yes, no = map(str, row)
        if yes.lower() == no.lower():
            raise UserError(f"{path}: question {name!r} needs two different answers (yes, no)")
        items.append(SurveyItem(name, text, (yes, no)))
    names = [item.name for item in items]
    if len(set(names)) < len(names):
        raise UserError(f"{path}: every question needs a different name")
    return tuple(items)


def _spread(table: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of a long table (for the facts), and its answers as a wide table."""
    twice = table[table.duplicated([PERSON, QUESTION])]
    if len(twice):
        person, question = twice.iloc[0][[PERSON, QUESTION]]
        raise UserError(f"{path}: person {person} answers {question} twice: leave one row")
    wide = table.pivot(index=PERSON, columns=QUESTION, values=ANSWER).fillna("").reset_index()
    return table, wide


def _value(cell: str, item: SurveyItem, where: str) -> float:
    codes: Mapping[str, float] = {
        "": np.nan,
        "1": 1.0,
        "0": 0.0,
        item.answers[0].lower(): 1.0,
        item.answers[1].lower(): 0.0,
    }
    if cell.lower() not in codes:
        raise UserError(
            f"{where}: {cell!r} is no answer to {item.name}: write 1 or {item.answers[0]}, 0 or {item.answers[1]}, or nothing"
        )
    return codes[cell.lower()]


SHUFFLED = "shuffled"
INVENTED = (PLANTED, INDEPENDENT, SHUFFLED)
LANGUAGES = ("en", "de")


def invent_survey(name: str, people: int = 100, seed: int = 0, language: str = "en") -> Survey:
    """Return an invented survey. `truth` is the probability with which each answer was drawn."""
    bank, words = statements(INDEPENDENT if name == INDEPENDENT else PLANTED, language), load_language(language)
    rng = np.random.default_rng(derive(seed, "invented survey", name))
    positions = rng.standard_normal(people)
    truth = np.array([[statement.agreement(float(position)) for statement in bank] for position in positions])
    values = (rng.random(truth.shape) < truth).astype(float)
    if name == SHUFFLED:
        values = rng.permuted(values, axis=0)
        truth = np.tile(truth.mean(axis=0), (people, 1))
    study_language = language_of_study(words, HOME)
    answers = (study_language.words("agrees"), study_language.words("disagrees"))
    items = tuple(SurveyItem(f"q{place}", statement.text, answers) for place, statement in enumerate(bank, 1))
    ids = tuple(f"person {number}" for number in range(1, people + 1))
    return Survey(name, ids, items, values, ((),) * people, np.ones(people), words, truth)


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
        answered_items = [item for item in survey.answered(person) if not unasked[item]]
        count = (
            min(max(round(share * len(answered_items)), 1), len(answered_items) - 1) if len(answered_items) > 1 else 0
        )
        hidden[person, stream(seed, "hidden answers", survey.people[person]).sample(answered_items, count)] = True
    return Split(new, unasked, hidden, answered & ~hidden)


def _drawn(size: int, share: float, seed: int, name: str) -> Mask:
    chosen = np.zeros(size, dtype=bool)
    chosen[stream(seed, name).sample(range(size), min(max(round(share * size), 1), size - 1))] = True
    return chosen
