"""Answers of the same people to a survey at several depths, compared with the shares of a group of people.

Each person answers every question alone, with its backstory at that depth as system message. The unit is the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.deep_personas import DeepPersona
from parley.agents.respondent import Group, Respondent
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.polls.asking import EXACT, ModelAnswer, Poll, StudyAnswers, answer_question
from parley.analysis.polls.distances import NAMED, SECOND, TVD, UNNAMED, measure, score, total_variation
from parley.analysis.statistics.intervals import SHARE, SIGNED, Ends, Floats, mean_interval
from parley.llm.driver import Conversation
from parley.llm.request import Request
from parley.llm.seeding import derive, stream

STRANGERS = "strangers"
"""The condition in which people have the attributes of others, with their own core: the null of depth."""


@dataclass(frozen=True)
class DepthStudy:
    """A survey of one group, and the people who answer it at each depth and with the attributes of strangers.

    base: survey, model, language, number of replies and seed.
    """

    base: Poll
    people: tuple[DeepPersona, ...]
    depths: tuple[int, ...]

    def texts(self) -> dict[str, list[str]]:
        """Return the backstories of all people by condition: each depth, and strangers at the largest."""
        texts = {str(depth): [person.text(depth) for person in self.people] for depth in self.depths}
        texts[STRANGERS] = [person.text(self.depths[-1]) for person in exchange_attributes(self.people, self.base.seed)]
        return texts

    @property
    def calls(self) -> int:
        """How many distributions are asked for."""
        return len({text for texts in self.texts().values() for text in texts}) * len(self.base.table.questions)

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {**self.base.to_dict(), "depths": list(self.depths), "people": self.texts()[str(self.depths[-1])]}

    def ask(self, desk: CallDesk) -> dict[str, Floats]:
        """Return the shares of each condition: (people, questions, options), NaN without a reply.

        Questions with fewer options than others have NaN at the end. Errors: Unreadable, BudgetSpent.
        """
        texts, questions = self.texts(), self.base.table.questions
        different = list(dict.fromkeys(text for condition_texts in texts.values() for text in condition_texts))
        conversations = [answer_as(text, *question, self.base) for text in different for question in questions]
        replies = desk.ask(conversations, self.base.llm, "answers", lambda answer: answer.reason)
        width = max(len(options) for _, options in questions)
        shares = np.full((len(different), len(questions), width), np.nan)
        for place, reply in enumerate(replies):
            if reply.shares is not None:
                shares[place // len(questions), place % len(questions), : len(reply.shares)] = reply.shares
        places = {text: place for place, text in enumerate(different)}
        return {name: shares[[places[text] for text in condition_texts]] for name, condition_texts in texts.items()}


def answer_as(text: str, question: str, options: tuple[str, ...], base: Poll) -> Conversation[ModelAnswer]:
    """Ask a question of a person with this backstory until the distribution of its answers is known."""
    respondent = Respondent(base.language, "persona")

    def compose(number: int) -> Request:
        seed = derive(base.seed, "deep answer", text, question, options, number)
        return respondent.compose(question, options, Group("", text), seed)

    return answer_question(compose, options, base.samples)


def exchange_attributes(people: Sequence[DeepPersona], seed: int) -> list[DeepPersona]:
    """Return people with their own core and the attributes of another person of the set, each given once."""
    order = stream(seed, STRANGERS).sample(range(len(people)), len(people))
    given = {order[place]: people[order[place - 1]].values for place in range(len(order))}
    return [person._replace(values=given[place]) for place, person in enumerate(people)]


class DepthEffect(NamedTuple):
    """What a condition gives: score, and by how much it is nearer to people than depth 0 (`nearer`) and, at the largest depth,
    than with the attributes of strangers (`fitting`), in total variation; `spread`: how far a person is from the mean of all.
    """

    condition: str
    questions: int
    score: float
    score_ends: Ends
    nearer: float
    nearer_ends: Ends
    fitting: float
    fitting_ends: Ends
    spread: float
    spread_ends: Ends


def compare_depths(
    study: DepthStudy, shares: dict[str, Floats]
) -> tuple[pd.DataFrame, list[DepthEffect], tuple[float, Ends]]:
    """Return a row per question and condition (as `measure`), the effects, and the score of a second sample of people.

    The answer of a condition is the mean over the people who gave one.
    """
    questions = study.base.table.questions
    pooled = {
        name: [_pool(condition_shares[:, place], len(options)) for place, (_, options) in enumerate(questions)]
        for name, condition_shares in shares.items()
    }
    plain = dict(zip(questions, pooled[str(study.depths[0])], strict=True))
    rows = {
        name: measure(
            study.base, StudyAnswers([answers[questions.index(row.asked)] for row in study.base.table.rows], plain)
        )
        for name, answers in pooled.items()
    }
    far = rows[STRANGERS][f"{TVD}_{NAMED}"]
    effects = []
    for name, table in rows.items():
        nearer = _difference(table[f"{TVD}_{UNNAMED}"] - table[f"{TVD}_{NAMED}"])
        fitting = (
            _difference(far - table[f"{TVD}_{NAMED}"]) if name == str(study.depths[-1]) else (np.nan, (np.nan, np.nan))
        )
        effects.append(DepthEffect(name, len(table), *score(table, NAMED), *nearer, *fitting, *_spread(shares[name])))
    table = pd.concat(rows, names=["condition"]).reset_index("condition")
    return table, effects, score(rows[STRANGERS], SECOND)


def _pool(shares: Floats, options: int) -> ModelAnswer:
    answered = shares[np.isfinite(shares[:, :options]).all(axis=1), :options]
    lost = (("missing", len(shares) - len(answered)),) if len(answered) < len(shares) else ()
    return ModelAnswer(tuple(answered.mean(axis=0).tolist()) if len(answered) else None, EXACT, 0, lost)


def _difference(values: pd.Series) -> tuple[float, Ends]:
    differences = values.dropna().to_numpy(dtype=float)
    differences = np.where(np.abs(differences) < 1e-12, 0.0, differences)
    return (float(differences.mean()) if len(differences) else np.nan), mean_interval(differences, bounds=SIGNED)


def _spread(shares: Floats) -> tuple[float, Ends]:
    """Return the total variation between a person and the mean of all people, by question."""
    each = []
    for place in range(shares.shape[1]):
        question_shares = shares[:, place]
        question_shares = (
            question_shares[:, np.isfinite(question_shares).any(axis=0)]
            if np.isfinite(question_shares).any()
            else question_shares[:, :0]
        )
        complete = question_shares[np.isfinite(question_shares).all(axis=1)]
        if len(complete) > 1 and complete.shape[1]:
            each.append(float(total_variation(complete, complete.mean(axis=0)).mean()))
    values = np.array(each)
    return (float(values.mean()) if len(values) else np.nan), mean_interval(values, bounds=SHARE)
