"""Every statement of a run before a judge: how strongly each agrees with the topic's claim (analysis/rubrics/judge.toml)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.topic import Topic, load_topic
from parley.analysis.judging import VERDICTS, WHO, Item, Judge, Rubric, load_rubric, open_judge
from parley.analysis.tables import Tables
from parley.llm.backends import open_spec
from parley.llm.budget import NO_LIMIT, Budget, Ledger
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.request import Backend

__all__ = ["SCALE", "VERDICTS", "Judging", "examples", "judge_run", "score_table", "statement_item", "verdict_table"]
SCALE = "agreement_1_7"


@dataclass(frozen=True)
class Judging:
    """How a judge is asked: `calls` times a statement at `temperature`; `shown` examples; whether it is told who speaks (`name`,
    `party`). A backend that gives the distribution of answers is asked once and its mean taken. The values are those of the
    UCL study's public code (3 calls, 0.01), but for the seed: a different one each call.
    """

    calls: int = 3
    temperature: float = 0.01
    shown: int = 4
    told: tuple[str, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.calls < 1 or self.temperature < 0 or self.shown < 0:
            raise UserError("a judge is asked at least once, at a temperature of 0 or more, with 0 or more examples")
        if unknown_ := set(self.told) - {"name", "party"}:
            raise UserError(f"a judge can be told name and party, not {', '.join(sorted(unknown_))}")

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
        found = verdict_table(tables, judge, judging)
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdict_table(tables: Tables, judge: Judge, judging: Judging) -> pd.DataFrame:
    """A row a turn: WHO, statement (the agent's first, second, ...), text, score (1-7 on the topic's claim, NaN: none),
    readings (how many), reasons (why replies were not read, or why nothing was said). A turn without words keeps its place.
    """
    names = tables.agents.set_index(["room", "agent"])["name"]

    def item(row: Any) -> Item:
        name = names[row.room, row.agent]
        return statement_item(f"{row.room} {row.iteration}", load_topic(row.topic), row.text, name, row.party, judging)

    found = judge.judge_utterances(judging.rubric, tables, judging.seed, {"score": item})
    found.insert(len(WHO), "statement", found.groupby(["room", "agent"]).cumcount() + 1)
    return found


def statement_item(place: str, topic: Topic, text: str, name: str, party: str, judging: Judging) -> Item:
    """The question about one statement; `place` is its room and turn."""
    speaker = {"name": name, "party": party}
    by = ", ".join(speaker[key] for key in judging.told)
    slots = {"statement": text, "by": f" ({by})" if by else "", "claim": topic.claim}
    shown = [({"statement": said, "by": ""}, str(score)) for said, score in examples(topic.root)[: judging.shown]]
    return Item((place,), slots, examples=shown)


def examples(slug: str) -> list[tuple[str, int]]:
    """The scored statements of a topic, the extremes first (a judge that is shown two has seen both ends)."""
    return [(str(one["statement"]), int(one["answer"])) for one in load_rubric("judge").examples_on(slug)]


def score_table(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): the group is the condition, the room the run, the seat the agent."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]
