"""Choices and predictions of people: conjoint tasks, comparisons of messages in pairs, predicted answers of a survey.

In the kinds `heavy` and `tailed` a few people have most of the tasks, comparisons or answers. Answers of a survey are `crossed`:
the same people answer all questions, and lean to one answer, as the predictions of a person do.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from uneven import UNEVEN, rows_of

from examined.entry import Draw, Entry, Outcome, claimed, outside
from parley.agents.language import ENGLISH
from parley.analysis.persuasion.bradley_terry import clear_difference, score_messages
from parley.analysis.statistics.intervals import Floats
from parley.studies.conjoint.design import ConjointDesign
from parley.studies.conjoint.measures import compare_effects, estimate_effects, exchange_test, position_bias
from parley.studies.survey_prediction.measures import auc_difference, measure

DESIGN = ConjointDesign("", {"a": ("0", "1"), "b": ("0", "1", "2")}, (), 5, ENGLISH)


def choices_of(rng: np.random.Generator, tasks: NDArray[np.int64], taste: float = 0.4) -> pd.DataFrame:
    """Return choices between pairs by people whose taste for `a` differs around `taste` (an AMCE of half of it).

    tasks: (people,), the pairs of each.
    """
    person = np.repeat(np.arange(len(tasks)), tasks)
    a, b = rng.integers(0, 2, (len(person), 2)), rng.integers(0, 3, (len(person), 2))
    own_taste = (taste + rng.choice([-0.4, 0.4], len(tasks)))[person]
    first = rng.random(len(person)) < 0.5 + own_taste * (a[:, 0] - a[:, 1]) / 2
    chosen = np.stack([first, ~first], -1).astype(float)
    frame = pd.DataFrame({"respondent": np.repeat(person, 2).astype(str), "a": a.ravel().astype(str),
                          "b": b.ravel().astype(str), "chosen": chosen.ravel()})  # fmt: skip
    return frame.assign(in_a=np.where(np.arange(len(frame)) % 2 == 0, frame["chosen"], np.nan))


def _choices(rng: np.random.Generator, people: int, kind: str, taste: float) -> pd.DataFrame:
    return choices_of(rng, rows_of(people, kind, DESIGN.tasks), taste)


def _of_amce(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    row = estimate_effects(_choices(rng, people, kind, 0.4), DESIGN).iloc[1]
    return outside((row["amce_low"], row["amce_high"]), 0.2)


def _of_marginal(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    row = estimate_effects(_choices(rng, people, kind, 0.4), DESIGN).iloc[1]
    return outside((row["mean_low"], row["mean_high"]), 0.6)


def _of_two_amces(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    both = [estimate_effects(_choices(rng, people, kind, 0.4), DESIGN) for _ in range(2)]
    row = compare_effects(*both).iloc[0]
    return outside((row["difference_low"], row["difference_high"]), 0.0)


def _of_exchange(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    return claimed(exchange_test(_choices(rng, people, kind, 0.0), DESIGN, rng).p)


def _of_position(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    bias = position_bias(_choices(rng, people, kind, 0.0))
    return outside((bias["low"], bias["high"]), 0.5)


MESSAGES = ("m1", "m2", "m3", "m4")
PAIRS = np.array([(a, b) for a in range(4) for b in range(a + 1, 4)])


def _comparisons(rng: np.random.Generator, people: int, kind: str) -> pd.DataFrame:
    """All pairs of four equal messages, judged by people with tastes of their own; so often as `rows_of` says."""
    times = rows_of(people, kind, 4 if kind in UNEVEN else 1)
    person = np.repeat(np.arange(people), times * len(PAIRS))
    a, b = np.tile(PAIRS, (int(times.sum()), 1)).T
    taste = rng.normal(0, 1, (people, 4))
    prefers = rng.random(len(person)) < 1 / (1 + np.exp(taste[person, b] - taste[person, a]))
    names = np.array(MESSAGES)
    return pd.DataFrame({"member": person.astype(str), "a": names[a], "b": names[b], "value": prefers.astype(float)})


def _of_scores(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    row = score_messages(_comparisons(rng, people, kind), MESSAGES).iloc[0]
    return outside((row["low"], row["high"]), 0.0)


def _of_best(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    sentence = clear_difference(_comparisons(rng, people, kind), MESSAGES)
    return None if "unknown" in sentence else float(sentence[0] == "m")


QUESTIONS = 8


def _survey(rng: np.random.Generator, people: int, kind: str, predictors: int) -> list[Floats]:
    """Return answers 0 and 1 of people who lean to one, predictions that know half of it, and which answers there are."""
    most = int(rows_of(people, kind, QUESTIONS).max())
    lean = rng.normal(0, 1, (people, 1))
    answers = (rng.random((people, most)) < 1 / (1 + np.exp(-lean))).astype(float)
    there = np.arange(most) < rows_of(people, kind, QUESTIONS)[:, None]
    return [answers, *[lean + rng.normal(0, 1, answers.shape) for _ in range(predictors)], there]


def _of_prediction(name: str, truth: float) -> Draw:
    """A prediction that knows nothing of the answers, though it leans to one answer of each person."""

    def draw(rng: np.random.Generator, people: int, kind: str) -> Outcome:
        answers, there = _survey(rng, people, kind, 0)
        guess = rng.normal(0, 1, (people, 1)) + rng.normal(0, 1, answers.shape)
        if name == "rho":  # questions are the unit: as many as people, with shares that differ
            answers, guess, there = _questions(rng, people)
        measures = measure(answers, guess, there.astype(bool), np.ones(len(answers)))
        return outside((measures[f"{name}_low"], measures[f"{name}_high"]), truth)

    return draw


def _questions(rng: np.random.Generator, questions: int) -> tuple[Floats, Floats, Floats]:
    """Return answers of 60 people who lean to one answer, predictions unrelated to them, and which answers there are."""
    lean, popular = rng.normal(0, 1, (60, 1)), rng.normal(0, 1, questions)
    answers = (rng.random((60, questions)) < 1 / (1 + np.exp(-lean - popular))).astype(float)
    guess = rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, questions) + rng.normal(0, 1, (60, questions))
    return answers, guess, np.ones((60, questions))


def _of_auc_difference(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    answers, first, second, there = _survey(rng, people, kind, 2)
    difference = auc_difference(answers, first, second, there.astype(bool))
    return outside((difference["difference_low"], difference["difference_high"]), 0.0)


CONJOINT, PERSUASION = "studies.conjoint.measures.", "analysis.persuasion.bradley_terry."
PREDICTED, SIZES = "studies.survey_prediction.measures.", (3, 5, 10, 40)
TASTES, CROSSED = ("tastes", *UNEVEN), ("crossed", *UNEVEN)
ENTRIES = (
    Entry("conjoint: AMCE", (CONJOINT + "estimate_effects",), _of_amce, TASTES, unit="respondent", sets=200, sizes=SIZES),
    Entry("conjoint: marginal mean", (CONJOINT + "marginal_mean",), _of_marginal, TASTES, unit="respondent", sets=200,
          sizes=SIZES),
    Entry("conjoint: personas minus people", (CONJOINT + "compare_effects",), _of_two_amces, TASTES, unit="respondent",
          sets=200, sizes=SIZES),
    Entry("conjoint: exchanged choices", (CONJOINT + "exchange_test",), _of_exchange, TASTES, unit="respondent", role="test",
          sets=200, sizes=SIZES),
    Entry("conjoint: position", (CONJOINT + "position_bias",), _of_position, TASTES, unit="respondent", sets=200, sizes=SIZES),
    Entry("arena: score of a message", (PERSUASION + "score_messages",), _of_scores, TASTES, unit="person", sets=200,
          sizes=SIZES),
    Entry("arena: which message is better", (PERSUASION + "clear_difference",), _of_best, TASTES, unit="person", role="test",
          sets=200, sizes=SIZES, at_most=True),
    Entry("AUC", (PREDICTED + "clustered_auc", PREDICTED + "measure"), _of_prediction("auc", 0.5), CROSSED, unit="person",
          sets=300, sizes=SIZES),
    Entry("AUC within a question", (PREDICTED + "auc_within",), _of_prediction("auc_within", 0.5), CROSSED, unit="person",
          sets=300, sizes=SIZES),
    Entry("predictions: r", (PREDICTED + "measure",), _of_prediction("r", 0.0), CROSSED, unit="person", sets=300, sizes=SIZES),
    Entry("predictions: rho", (PREDICTED + "measure",), _of_prediction("rho", 0.0), ("crossed",), unit="question", sets=300,
          sizes=SIZES),
    Entry("difference of two AUCs", (PREDICTED + "auc_difference",), _of_auc_difference, CROSSED, unit="person", sets=300,
          sizes=SIZES),
)  # fmt: skip
