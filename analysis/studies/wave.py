"""A wave: one model answers a questionnaire on one day, with and without a steering sentence before the questions.

The 2024 election study (*Large-Scale, Longitudinal Study of Large Language Models During the 2024 US Election Season*, 2025)
asked models the same survey again and again, plain and with sentences that name an identity. wave_comparison.py
compares waves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.society import DEFAULT, Society
from parley.analysis.journaled_calls import check_manifest, run_journaled
from parley.analysis.studies.questionnaire import Item, ask_item
from parley.analysis.table_export import write_csv
from parley.analysis.table_files import read_table
from parley.llm.backends import identity_spec
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.seeding import derive
from parley.model.scenario_run import lock_folder

PLAIN = "unsteered"
ABOUT, ANSWERS = "wave.json", "answers.csv"


class Steering(NamedTuple):
    """A sentence before the questions, and the name of the steering that is its opposite ("": none)."""

    name: str
    sentence: str
    opposite: str = ""


def party_steerings(society: Society) -> list[Steering]:
    """Return a sentence for each party of a society; the two parties that debate by default are opposites."""
    first, second = society.debaters[:2]
    other = {first: second, second: first}
    return [
        Steering(code, society.language.fill("identity", person=party.person), other.get(code, ""))
        for code, party in society.parties.items()
        if code != DEFAULT
    ]


def read_steerings(path: Path) -> list[Steering]:
    """Read a table with the columns name, sentence and perhaps opposite. Errors: UserError."""
    table = read_table(path, ("name", "sentence"), "docs/waves.md", filled=("name", "sentence"))
    opposite = table["opposite"] if "opposite" in table.columns else [""] * len(table)
    rows = [Steering(*row) for row in zip(table["name"], table["sentence"], opposite, strict=True)]
    names = [row.name for row in rows]
    for row in rows:
        if row.name == PLAIN or names.count(row.name) > 1:
            raise UserError(f"{path}: each row needs a different name, other than {PLAIN}, not {row.name!r}")
        if row.opposite and row.opposite not in set(names) - {row.name}:
            raise UserError(f"{path}: the opposite of {row.name} is {row.opposite}, which is no other name in the file")
    return rows


@dataclass(frozen=True)
class Wave:
    """What is asked, with which steerings, how often, and on which day."""

    items: Sequence[Item]
    steerings: Sequence[Steering]
    date: str
    repeats: int = 5
    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise UserError("a wave needs --repeats 1 or more")


def date_of(folder: Path, today: str) -> str:
    """Return the date of a wave that was begun in this folder, else today's."""
    return str(json.loads((folder / ABOUT).read_text(encoding="utf-8"))["date"]) if (folder / ABOUT).exists() else today


def ask_wave(wave: Wave, spec: str, folder: Path, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """Return one row per answer: steering, question, repeat, rating (on its scale), value (0-10; NaN: missing), reason.

    The folder keeps a journal, wave.json and answers.csv. Errors: UserError on a folder of another wave.
    """
    with lock_folder(folder):
        check_manifest(folder / ABOUT, manifest(wave, spec), "wave")
        sentences = {PLAIN: "", **{one.name: one.sentence for one in wave.steerings}}
        trials = list(product(sentences, wave.items, range(wave.repeats)))
        conversations = [
            ask_item(item, derive(wave.seed, "wave", item.name, repeat), wave.temperature, sentences[name])
            for name, item, repeat in trials
        ]
        answers = run_journaled(
            conversations, spec, folder, bar, "answers", budget, None, lambda answer: answer.reason or None
        )
        rows = [
            (name, item.name, repeat, *answer) for (name, item, repeat), answer in zip(trials, answers, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["steering", "question", "repeat", "rating", "value", "reason"])
        table = table.astype({"rating": "float64", "value": "float64"})
        write_csv(table, folder / ANSWERS)
    return table


def manifest(wave: Wave, spec: str) -> Mapping[str, Any]:
    """Return what wave.json says of a wave."""
    return {
        "llm": identity_spec(spec), "date": wave.date, "repeats": wave.repeats, "temperature": wave.temperature,
        "seed": wave.seed, "questions": {item.name: item.text for item in wave.items},
        "steerings": {one.name: one._asdict() for one in wave.steerings},
    }  # fmt: skip
