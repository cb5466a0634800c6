"""Chooses the next question to a person by expected information gain, and compares this with other orders.

Half of a person's answers are the rest, which is predicted; the other half may be asked. After each question the rest is
predicted again from all answers so far. The orders: `adaptive` (the question that tells most about the rest), `random` (the
average of several random orders), `fixed` (the order of the file). The information of a question about one answer of the rest
is computed exactly, by going through both of its answers:

    I = H(mean) - [p H(rest | 1) + (1 - p) H(rest | 0)],  mean = p P(rest | 1) + (1 - p) P(rest | 0),

where p is the model's probability of answer 1. It is at least 0, and is summed over the rest. The error is the mean squared error
of the predicted rest. The unit is the person.
Source: *Adaptive Elicitation of Latent Information Using Natural Language*, 2025; README.md lists the departures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import entr

from parley.analysis import disclaimers
from parley.analysis.contrasts import LARGER, amount
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import Column, estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import ALIKE, FEWEST, POSITIVE, mean_interval, verdict
from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.llm.seeding import stream

from .asking import Asked, Interviewer, KnownPerson
from .survey import Survey

ADAPTIVE, RANDOM, FIXED = "adaptive", "random", "fixed"
ORDERS: Mapping[str, str] = {
    ADAPTIVE: "the question with the largest expected information gain about the other answers",
    RANDOM: "a random order",
    FIXED: "the order of the questions in the file",
}


@dataclass(frozen=True)
class ElicitationStudy:
    """A survey, the model that predicts answers, and how it is asked.

    steps: questions asked to each person. candidates, rest: the most questions that may be asked, and that are predicted.
    repeats: random orders of each person, whose errors are averaged. samples: draws where the model gives no probability.
    """

    survey: Survey
    llm: str
    steps: int = 3
    candidates: int = 6
    rest: int = 6
    repeats: int = 3
    samples: int = 10
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""
        return {
            "survey": self.survey.digest, "llm": identity_spec(self.llm), "steps": self.steps, "candidates": self.candidates,
            "rest": self.rest, "repeats": self.repeats, "samples": self.samples, "seed": self.seed,
        }  # fmt: skip

    def walks(self) -> list[Walk]:
        """Return the walks of all people who answered enough questions. Errors: UserError if there is none."""
        walks = []
        for person, name in enumerate(self.survey.people):
            drawn = stream(self.seed, "questions of a person", name).sample(
                answered_items := self.survey.answered(person), len(answered_items)
            )
            half = min(len(answered_items) // 2, self.candidates)
            to_ask, rest = sorted(drawn[:half]), tuple(sorted(drawn[half : half + self.rest]))
            if half < self.steps + 1:
                continue
            walks += [Walk(person, ADAPTIVE, 0, rest, to_ask), Walk(person, FIXED, 0, rest, to_ask)]
            for repeat in range(self.repeats):
                order = stream(self.seed, "random order", name, repeat).sample(to_ask, half)
                walks.append(Walk(person, RANDOM, repeat, rest, order))
        if not walks:
            raise UserError(
                f"--steps {self.steps} needs a person with at least {2 * (self.steps + 1)} answers, and no "
                f"person of {self.survey.name} has so many: set fewer --steps"
            )
        return walks

    def planned_calls(self) -> int:
        """Return the most questions that the model is asked. Equal questions about different people are asked once."""
        calls = 0
        for walk in self.walks():
            calls += (self.steps + 1) * len(walk.rest)
            if walk.order == ADAPTIVE:
                calls += sum((len(walk.left) - count) * (1 + 2 * len(walk.rest)) for count in range(self.steps))
        return calls


@dataclass
class Walk:
    """One person asked in one order. left: the questions not asked yet, in their order. known: those asked."""

    person: int
    order: str
    repeat: int
    rest: tuple[int, ...]
    left: list[int]
    known: list[int] = field(default_factory=list)
    gain: float = float("nan")
    """The expected information gain of the last question, in nats, if it was chosen by it."""

    def take(self, item: int) -> None:
        """Ask a question."""
        self.left = [other for other in self.left if other != item]
        self.known = [*self.known, item]


def run_elicitation(study: ElicitationStudy, interviewer: Interviewer) -> pd.DataFrame:
    """Ask all people in all orders; return one row per walk and number of questions asked (0 to `steps`).

    Columns: person, order, repeat, asked, question (the last one), gain, error (NaN if a prediction of the rest is missing).
    """
    walks, rows = study.walks(), []
    for asked_count in range(study.steps + 1):
        if asked_count:
            _choose(study, walks, interviewer, asked_count)
        errors = _errors(study, walks, interviewer, asked_count)
        for walk, error in zip(walks, errors, strict=True):
            last = study.survey.items[walk.known[-1]].name if walk.known else ""
            person = study.survey.people[walk.person]
            rows.append([person, walk.order, walk.repeat + 1, asked_count, last, walk.gain, error])
    return pd.DataFrame(rows, columns=["person", "order", "repeat", "asked", "question", "gain", "error"])


def _errors(study: ElicitationStudy, walks: Sequence[Walk], interviewer: Interviewer, asked_count: int) -> list[float]:
    survey = study.survey
    questions = [_questions(survey.respondent(walk.person, walk.known), survey, walk.rest) for walk in walks]
    flat = iter(
        interviewer.predict(
            [question for walk_questions in questions for question in walk_questions],
            f"predictions after {asked_count}",
        )
    )
    errors = []
    for walk in walks:
        predicted = np.array([next(flat) for _ in walk.rest], dtype=float)
        errors.append(float(np.mean((predicted - survey.values[walk.person, list(walk.rest)]) ** 2)))
    return errors


def _choose(study: ElicitationStudy, walks: Sequence[Walk], interviewer: Interviewer, asked_count: int) -> None:
    """Ask each person the next question of its order."""
    adaptive = [walk for walk in walks if walk.order == ADAPTIVE]
    for walk, gains in zip(adaptive, _gains(study, adaptive, interviewer, asked_count), strict=True):
        readable = [gain for gain in gains if np.isfinite(gain)]
        best = gains.index(max(readable)) if readable else 0
        walk.gain = gains[best]
        walk.take(walk.left[best])
    for walk in walks:
        if walk.order != ADAPTIVE:
            walk.take(walk.left[0])


def _gains(study: ElicitationStudy, walks: Sequence[Walk], interviewer: Interviewer, count: int) -> list[list[float]]:
    """Return the expected information gain of each question left, by walk; NaN where a prediction is missing."""
    survey, questions = study.survey, list[Asked]()
    for walk in walks:
        now = survey.respondent(walk.person, walk.known)
        for item in walk.left:
            questions += _questions(now, survey, [item])
            for value in (1, 0):
                questions += _questions(_with_answer(now, survey, item, value), survey, walk.rest)
    flat, gains = iter(interviewer.predict(questions, f"choices of question {count}")), []
    for walk in walks:
        walk_gains = []
        for _ in walk.left:
            chance = np.array(next(flat), dtype=float)
            yes, no = (np.array([next(flat) for _ in walk.rest], dtype=float) for _ in (1, 0))
            walk_gains.append(information_gain(float(chance), yes, no))
        gains.append(walk_gains)
    return gains


def _questions(respondent: KnownPerson, survey: Survey, items: Iterable[int]) -> list[Asked]:
    return [(respondent, survey.items[item]) for item in items]


def _with_answer(respondent: KnownPerson, survey: Survey, item: int, value: int) -> KnownPerson:
    """Return what would be known after an answer, with all answers in the order of the file."""
    places = {item.name: place for place, item in enumerate(survey.items)}
    stated = [*respondent.stated, (survey.items[item], value)]
    return respondent._replace(stated=tuple(sorted(stated, key=lambda answer: places[answer[0].name])))


def information_gain(chance: float, yes: np.ndarray, no: np.ndarray) -> float:
    """Return how much an answer is expected to tell about the rest, in nats, summed over the rest; NaN if one is missing.

    chance: the probability of answer 1. yes, no: the probabilities of 1 of the rest after answer 1 and after answer 0.

    >>> round(information_gain(0.5, np.array([1.0]), np.array([0.0])), 3), information_gain(0.5, np.array([0.3]), np.array([0.3]))
    (0.693, 0.0)
    """
    mean = chance * yes + (1 - chance) * no
    gains = _entropy(mean) - chance * _entropy(yes) - (1 - chance) * _entropy(no)
    return max(float(gains.sum()), 0.0) if np.isfinite(gains).all() else float("nan")


def _entropy(share: np.ndarray) -> np.ndarray:
    return np.asarray(entr(share) + entr(1 - share), dtype=float)


def by_person(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the error of each person (rows: person and questions asked; columns: orders), random orders averaged.

    A person with a missing error in one repeat of an order has none in that order.
    """
    wide = rows.groupby(["person", "asked", "order"], sort=False)["error"].agg(lambda errors: errors.mean(skipna=False))
    return wide.unstack("order")[list(ORDERS)]


def error_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per order and number of questions asked: people, error, and its difference from random orders.

    Intervals are over people; a difference is within people who have an error in both orders.
    """
    people, table = by_person(rows), []
    for order in ORDERS:
        for asked_count, count_rows in people.groupby(level="asked"):
            values = count_rows[order].dropna().to_numpy(dtype=float)
            pairs = (count_rows[order] - count_rows[RANDOM]).dropna().to_numpy(dtype=float)
            (low, high), (less, more) = mean_interval(values, bounds=POSITIVE), mean_interval(pairs)
            mean, difference = (float(numbers.mean()) if len(numbers) else np.nan for numbers in (values, pairs))
            table.append([order, asked_count, len(values), mean, low, high, len(pairs), difference, less, more])
    ends = ["error", "error_low", "error_high", "pairs", "difference", "difference_low", "difference_high"]
    return pd.DataFrame(table, columns=["order", "asked", "people", *ends])


def overall_difference(rows: pd.DataFrame, order: str = ADAPTIVE, other: str = RANDOM) -> dict[str, float]:
    """Return the error of an order minus that of another, averaged over 1 to all questions asked, within people."""
    people = by_person(rows)
    after_asking = people[people.index.get_level_values("asked") > 0]
    means = (
        (after_asking[order] - after_asking[other])
        .groupby(level="person", sort=False)
        .agg(lambda errors: errors.mean(skipna=False))
    )
    values = means.dropna().to_numpy(dtype=float)
    low, high = mean_interval(values)
    return {
        "people": len(values),
        "difference": float(values.mean()) if len(values) else np.nan,
        "low": low,
        "high": high,
    }


_difference = estimate("difference", 3)
COLUMNS: Mapping[str, Column] = {
    "order": "order", "questions asked": "asked", "people": "people", "error": estimate("error", 3),
    "minus random": lambda row: "" if row["order"] == RANDOM or not row["asked"] else _difference(row),
}  # fmt: skip
READING = (
    "The error is the mean squared error of the predicted answers to questions that are not asked (0.25 if every prediction is "
    f"0.5). Brackets hold 95% intervals over people, if there are {FEWEST} people or more. Differences are within people. The "
    "table is not corrected for the number of comparisons. The sentences at the top average over all numbers of questions."
)


def write_elicitation(study: ElicitationStudy, rows: pd.DataFrame, interviewer: Interviewer, folder: Path) -> Path:
    """Write elicitation.md, its tables and the figure; return the page's path."""
    table, people = error_table(rows), rows["person"].nunique()
    report = Report(folder, "elicitation", "Which question to ask next")
    report.data(walks=rows, errors=table)
    report.add(
        f"{study.llm} predicted the rest of the answers of {people} of {len(study.survey.people)} people ({study.survey.name}) "
        f"after 0 to {study.steps} questions{_left_out(len(study.survey.people) - people)}.",
        "\n".join(f"- **{name}**: {meaning}" for name, meaning in ORDERS.items()),
    )
    report.plain(study.survey.absent_line)
    report.disclaim_models(study.llm)
    reasons = interviewer.reasons()
    listed = ", ".join(f"{name} {count}" for name, count in sorted(reasons.items()))
    report.missing(sum(reasons.values()), len(interviewer.answered), "different questions have no prediction", listed)
    report.in_short(sentences(rows))
    report.figure(_figure(table, study), "elicitation", "Error of the rest by number of questions asked and order")
    report.section("Errors", READING)
    report.table(table, COLUMNS)
    report.add("The file `walks.csv` has every question that was chosen, with its expected information gain in nats.")
    return report.write()


def sentences(rows: pd.DataFrame) -> list[str]:
    """Return a sentence each on adaptive against random and against fixed order; no verdict without an interval."""
    lines = []
    for other in (RANDOM, FIXED):
        difference = overall_difference(rows, ADAPTIVE, other)
        start = f"The error with adaptive questions, compared with the {other} order"
        if not np.isfinite(difference["low"]):
            lines.append(_no_interval(start, difference))
            continue
        low, high = difference["low"], difference["high"]
        people = f"{difference['people']} people"
        way = verdict(low, high, *LARGER, "not clearly smaller or larger")
        lines.append(f"{start}, is {way}: {amount((difference['difference'], low, high), LARGER, '', 3, of=people)}.")
    return lines


def _left_out(people: int) -> str:
    return f"; {people} answered too few questions" if people else ""


def _no_interval(start: str, difference: Mapping[str, float]) -> str:
    if difference["people"] < FEWEST:
        return f"{start}, is unknown, because fewer than {FEWEST} people have predictions in both orders."
    if abs(difference["difference"]) < ALIKE:
        return f"{start}, is the same for all {difference['people']} people: the order of asking makes no difference."
    return f"{start}, is unknown, because the difference does not vary between people."


def _figure(table: pd.DataFrame, study: ElicitationStudy) -> Figure:
    caption = f"{disclaimers.spec_label(study.llm)}; {study.survey.name}"
    note = f"Points are means over people, bars are 95% intervals over people. {caption}"
    with new_figure(4.6, 3.4, note, title="Error of the answers not asked") as figure:
        axis = figure.subplots()
        for place, (order, look) in enumerate(zip(ORDERS, OTHERS, strict=False)):
            points = table[table["order"] == order]
            plot_line(axis, points.assign(asked=points["asked"] + 0.04 * (place - 1)), "asked", "error", order, look)
        axis.set(xlabel="Questions asked", ylabel="Mean squared error")
        axis.set_ylim(bottom=0)
        add_legend(figure, [axis], 3)
    return figure
