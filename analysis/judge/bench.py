"""Every statement of a run before a judge: journaled, so that a killed judging goes on and asks nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from agents.topic import load_topic
from analysis.judge.verdicts import Judging, Statement, Verdict, judge, prompts
from analysis.load import Tables
from llm.backends import essence, open_spec
from llm.driver import drive
from llm.errors import UserError
from llm.journal import Journal
from llm.limits import Limits
from llm.request import Backend
from llm.retry import Retry
from model.session import locked

Bar = Callable[[str, int], AbstractContextManager[Callable[[int], object]]]
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]


def judged(tables: Tables, folder: Path, spec: str, judging: Judging, bar: Bar) -> pd.DataFrame:
    """A row a statement: WHO, statement (the agent's first, second, ...), text, score (1-7 on the topic's claim, NaN: none),
    readings (how many), reasons (why replies were not read). Errors: UserError on a folder of another judging.
    """
    backend = open_spec(spec)
    with locked(folder):
        _claim(folder, spec, judging)
        with closing(Journal(folder / "verdicts.sqlite", Limits(Retry(backend)))) as journal:
            found = verdicts(tables, journal, judging, bar)
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdicts(tables: Tables, backend: Backend, judging: Judging, bar: Bar) -> pd.DataFrame:
    """The same without a folder."""
    said = tables.utterances[tables.utterances["text"].notna()]
    names = tables.agents.set_index(["room", "agent"])["name"]
    statements = [
        Statement(f"{row.room} {row.iteration}", load_topic(row.topic), row.text, names[row.room, row.agent], row.party)
        for row in said.itertuples()
    ]
    with bar("verdicts", 0) as progress:
        found = drive([judge(statement, judging) for statement in statements], backend, progress)
    rows = said[[*WHO, "text"]].reset_index(drop=True)
    place = rows.groupby(["room", "agent"]).cumcount() + 1
    rows.insert(len(WHO), "statement", place)
    return rows.assign(**_columns(found))


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): the group is the condition, the room the run, the seat the agent."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]


def _columns(found: list[Verdict]) -> dict[str, pd.Series]:
    return {
        "score": pd.Series([one.score for one in found], dtype="float64"),
        "readings": pd.Series([len(one.readings) for one in found], dtype="int64"),
        "reasons": pd.Series([", ".join(one.reasons) for one in found], dtype="object"),
    }


def _claim(folder: Path, spec: str, judging: Judging) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in prompts()}
    wanted = json.dumps({"llm": essence(spec), **asdict(judging), "prompts": texts}, indent=1)
    path = folder / "judge.json"
    if path.exists() and path.read_text(encoding="utf-8") != wanted:
        raise UserError(f"{folder} holds another judging (judge.json): give another --out")
    path.write_text(wanted, encoding="utf-8")
