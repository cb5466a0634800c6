"""A judge scores how strongly each statement of a run agrees with the topic's claim (analysis/rubrics/judge.toml)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.topic import Topic, load_topic
from parley.analysis.judging import VERDICTS as VERDICTS
from parley.analysis.judging import WHO, Item, Judge, Rubric, load_rubric, open_judge
from parley.analysis.table_export import write_csv
from parley.analysis.tables import Tables
from parley.llm.backends import open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.request import Backend

SCALE = "agreement_1_7"


@dataclass(frozen=True)
class Judging:
    """How a judge is asked: `calls` per statement, `temperature`, number of examples `shown`, and what it is `told` about the
    speaker (`name`, `party`).

    A backend that gives the probabilities of answers is asked once, and their mean is taken. The defaults are those of the UCL
    study's public code (3 calls, 0.01), except for the seed, which differs between calls.
    """

    calls: int = 3
    temperature: float = 0.01
    shown: int = 4
    told: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.temperature < 0 or self.shown < 0:
            raise UserError("a judge needs --calls 1 or more, a temperature of 0 or more, and --examples 0 or more")
        if others := set(self.told) - {"name", "party"}:
            raise UserError(
                f"--tell can give a judge the name and party of the speaker, not {', '.join(sorted(others))}"
            )

    @property
    def rubric(self) -> Rubric:
        return replace(load_rubric("judge"), repeats=self.calls, temperature=self.temperature)


def judge_run(
    tables: Tables,
    folder: Path,
    spec: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """The table of `verdict_table`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    with open_judge(judging.rubric, spec, folder, bar, asdict(judging), budget, ledger, opened) as judge:
        verdicts = verdict_table(tables, judge, judging)
        write_csv(verdicts, folder / "verdicts.csv")
    return verdicts


def verdict_table(tables: Tables, judge: Judge, judging: Judging) -> pd.DataFrame:
    """One row per turn: WHO, statement, text, score, readings, reasons.

    statement: the agent's first, second, ... (a turn without words is counted too). score: 1-7 on the topic's claim; NaN: none.
    readings: how many. reasons: why replies could not be read, or why nothing was said.
    """
    names = tables.agents.set_index(["room", "agent"])["name"]

    def item(row: Any) -> Item:
        name = names[row.room, row.agent]
        return statement_item(f"{row.room} {row.iteration}", load_topic(row.topic), row.text, name, row.party, judging)

    verdicts = judge.judge_utterances(judging.rubric, tables, judging.seed, {"score": item})
    verdicts.insert(len(WHO), "statement", verdicts.groupby(["room", "agent"]).cumcount() + 1)
    return verdicts


def statement_item(place: str, topic: Topic, text: str, name: str, party: str, judging: Judging) -> Item:
    """The question about one statement; `place` is its room and turn."""
    speaker = {"name": name, "party": party}
    by = ", ".join(speaker[key] for key in judging.told)
    slots = {"statement": text, "by": f" ({by})" if by else "", "claim": topic.claim}
    shown = examples(topic.root)[: judging.shown]
    return Item((place,), slots, examples=[({"statement": text, "by": ""}, str(score)) for text, score in shown])


def examples(slug: str) -> list[tuple[str, int]]:
    """The scored statements of a topic, the extremes first, so that two examples show both ends."""
    return [(str(example["statement"]), int(example["answer"])) for example in load_rubric("judge").examples_on(slug)]


def score_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): groups are conditions, rooms are runs, seats are agents."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]
