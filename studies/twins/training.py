"""Trains a model on the talks of some people (SFT), and compares it on others with the untrained model and a null.

Two halves of the file share no person and no group. An example of the training half is a point: the prompt of the person's
twin, and what the person really answered or wrote. In the null the same answers and messages follow the prompts of
strangers, so that a model learns topics and style, and nothing about what follows from a history. What is measured: how
near the twins of the other half are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.formatting import Column, estimate, format_estimate, number
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import verdict, with_interval
from parley.llm.seeding import stream
from parley.training.base_model import BaseModel
from parley.training.tuning.adapter import make_adapter
from parley.training.tuning.dataset import Example, chat
from parley.training.tuning.pipeline import trainable_model
from parley.training.tuning.recipe import Recipe

from .asking import Twins, compose_answer, compose_message, said
from .history import Point
from .measures import TITLES, WHAT, gap
from .nats import Scorer, measure_nats
from .people_file import ANSWER, MESSAGE
from .study import SMALLER, STRANGER, TWIN, TwinStudy, predict_answers, told

UNTRAINED, TRAINED, SHUFFLED = "untrained", "trained", "trained on shuffled"
USE = """## What it is for

This adapter is a **research instrument** that speaks as people of one file of recorded talks. Do not use the adapter to judge a
person, to speak for a person, or in place of asking people. The adapter may repeat what people wrote: protect the adapter as you
protect the file."""


@dataclass(frozen=True)
class TwinTraining:
    """A training on the talks of half of the people of a study, in a folder. shuffles: trainings on shuffled talks."""

    study: TwinStudy
    recipe: Recipe
    folder: Path
    shuffles: int = 1

    @cached_property
    def halves(self) -> tuple[TwinStudy, TwinStudy]:
        """The study of the people that are trained on, and that of the people that are held out. Errors: UserError."""
        trained, held_out = (replace(self.study, people=people) for people in self.study.people.halves(self.study.seed))
        return trained, held_out

    def base(self) -> BaseModel:
        """Return the model to be trained. Errors: UserError where it cannot be, before anything is asked."""
        for half in self.halves:
            half.check()
        return trainable_model(self.study.llm, "training on talks of people")

    def examples(self, words: int, shuffled: bool = False) -> list[Example]:
        """Return {"prompt", "completion"} for each point of the training half, in an order drawn with the seed.

        words: as twins are asked for. shuffled: with the history of a stranger. A point without a stranger is left out of both
        where there is a training on shuffled talks: the two have the same answers, and as many steps.
        """
        trained, _ = self.halves
        examples = []
        for point in trained.points:
            histories = trained.by_stranger[point.key]
            if histories or not self.shuffles:
                examples.append(_example(trained, point, histories[0] if shuffled else point, words))
        stream(self.study.seed, "order").shuffle(examples)
        return examples

    def measure(self, desk: CallDesk, words: int) -> pd.DataFrame:
        """Train all adapters that are not there yet; return the measured points of the held-out half with their `condition`."""
        base, (_, held_out) = self.base(), self.halves
        paths: dict[str, Path | None] = {UNTRAINED: None, TRAINED: self._adapter(TRAINED, 0, words, base, desk)}
        for place in range(1, self.shuffles + 1):
            paths[f"{SHUFFLED} {place}"] = self._adapter(SHUFFLED, place, words, base, desk)
        return pd.concat(
            [
                _measured(held_out, base, path, words, desk, self.folder).assign(condition=name)
                for name, path in paths.items()
            ],
            ignore_index=True,
        )

    def _adapter(self, name: str, shuffle: int, words: int, base: BaseModel, desk: CallDesk) -> Path:
        recipe = replace(self.recipe, party="twins", shuffle=shuffle, seed=self.study.seed + shuffle).filled(base.kind)
        examples = self.examples(words, bool(shuffle))
        data = {"examples": len(examples), "people": self.study.people.name, "talks": name}
        return make_adapter(self.folder, recipe, base, examples, data, USE, desk.bar)


def _example(study: TwinStudy, point: Point, whose: Point, words: int) -> Example:
    event, past = point.event, told(point, whose)
    if event.kind == MESSAGE:
        request, reply = compose_message(past, event.topic, words, study.language, 0), event.text
    else:
        request, reply = compose_answer(past, event.topic, event.scale, study.language, 0), said(event)
    return {
        "prompt": [turn for message in request.messages for turn in chat(*message)],
        "completion": chat("assistant", reply),
    }


def _measured(
    study: TwinStudy, base: BaseModel, path: Path | None, words: int, desk: CallDesk, folder: Path
) -> pd.DataFrame:
    """Return the answers and messages of held-out people, measured with an adapter (None: without)."""
    spec = f"{study.llm},adapters={path}" if path else study.llm
    twins = Twins(study.llm, study.language, desk, study.seed, study.samples, words, path.name if path else "", spec)
    parts = []
    if study.of_kind(ANSWER):
        parts.append(predict_answers(study, twins)[0])
    if study.of_kind(MESSAGE):
        scores = folder / "held_out" / f"{path.name if path else UNTRAINED}.json"
        parts.append(measure_nats(study, words, Scorer(base, path), scores))
    return pd.concat(parts, ignore_index=True)


def compare_trainings(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row per measure and condition: mean, gain over strangers' twins, and how much nearer than untrained twins are.

    Columns: measure, condition, people, groups, twin, compared (the people who have a stranger), gain, nearer (both with
    intervals over groups; of untrained no `nearer`).
    """
    rows = []
    for measure, part in measured.groupby("measure", sort=False):
        sign = 1 if measure in SMALLER else -1
        plain = part[part["condition"] == UNTRAINED].set_index("key")[TWIN]
        for condition, of_one in part.groupby("condition", sort=False):
            over = gap(of_one, sign * (of_one[STRANGER] - of_one[TWIN]))
            nearer = gap(of_one, sign * (of_one["key"].map(plain) - of_one[TWIN]))
            row: dict[str, Any] = {
                "measure": measure,
                "condition": condition,
                "people": nearer.people,
                "groups": nearer.groups,
                "twin": of_one[TWIN].mean(),
                "compared": over.people,
            }
            row |= with_interval("gain", over.value, (over.low, over.high))
            ends = (float("nan"), float("nan")) if condition == UNTRAINED else (nearer.low, nearer.high)
            value = float("nan") if condition == UNTRAINED else nearer.value
            rows.append(row | with_interval("nearer", value, ends))
    return pd.DataFrame(rows)


def learned(measured: pd.DataFrame, measure: str) -> dict[str, Any] | None:
    """Return how much nearer twins are by the training than by the first one on shuffled talks; None without it."""
    rows = measured[measured["measure"] == measure]
    sign = 1 if measure in SMALLER else -1
    null = rows[rows["condition"] == f"{SHUFFLED} 1"].set_index("key")[TWIN]
    trained = rows[rows["condition"] == TRAINED]
    if not len(null) or not len(trained):
        return None
    difference = gap(trained, sign * (trained["key"].map(null) - trained[TWIN]))
    return {"measure": measure, "people": difference.people, "groups": difference.groups} | with_interval(
        "nearer", difference.value, (difference.low, difference.high)
    )


def learned_sentence(row: dict[str, Any]) -> str:
    """Return what the difference from a training on shuffled talks shows."""
    what = f"the training on talks of other people brings twins nearer ({TITLES[row['measure']].split(':')[0]})"
    if math.isnan(row["nearer_low"]):
        return f"It is unknown whether {what} than a training on shuffled talks, because too few groups are held out."
    size = f"{format_estimate(row['nearer'], row['nearer_low'], row['nearer_high'], 3)} {WHAT[row['measure']][1]}"
    size += f" ({row['people']} people in {row['groups']} groups)"
    return verdict(
        row["nearer_low"], row["nearer_high"],
        f"On held-out people, {what} than a training on shuffled talks does, by {size}.",
        f"On held-out people, the training on shuffled talks brings twins nearer than the real training does: {size}.",
        f"On held-out people it is not shown that {what} than a training on shuffled talks does: {size}.",
    )  # fmt: skip


def add_training(report: Report, measured: pd.DataFrame) -> None:
    """Add the section on the training, and its table `training`."""
    rows = compare_trainings(measured)
    report.section(
        "Training",
        "Half of the groups were used for training, and the other half of the groups is measured. The column *gain* compares "
        "a twin with a stranger's twin of the same model. The column *nearer than untrained* compares a twin with the "
        "untrained model's twin. Intervals are over held-out groups, of one training each: another training may differ. The "
        "column *with a stranger* counts the people of *gain*.",
    )
    report.data(training=rows, held_out_points=measured)
    columns: dict[str, Column] = {
        "measure": lambda row: TITLES[str(row["measure"])], "model": "condition", "people": "people", "groups": "groups",
        "twin": number("twin", 3), "with a stranger": "compared", "gain": estimate("gain", 3),
        "nearer than untrained": estimate("nearer", 3),
    }  # fmt: skip
    report.table(rows, columns)


def learned_lines(measured: pd.DataFrame) -> Sequence[str]:
    """Return a sentence per measure on what the training did."""
    differences = [learned(measured, measure) for measure in dict.fromkeys(measured["measure"])]
    return [learned_sentence(row) for row in differences if row]
