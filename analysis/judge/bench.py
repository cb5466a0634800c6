"""Every statement of a run before a judge: journaled, so that a killed judging goes on and asks nothing twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.judge.verdicts import Judging, Statement, Verdict, judge, prompts
from parley.analysis.kept import claim, kept, read
from parley.analysis.load import Tables
from parley.llm.backends import essence, open_spec
from parley.llm.driver import Bar
from parley.llm.limits import NO_LIMIT, Budget, Ledger
from parley.llm.request import Backend
from parley.model.session import locked

VERDICTS = "verdicts.sqlite"
WHO = ["topic", "group", "repetition", "room", "seat", "party", "agent", "round", "iteration"]


def judged(
    tables: Tables,
    folder: Path,
    spec: str,
    judging: Judging,
    bar: Bar,
    budget: Budget = NO_LIMIT,
    ledger: Ledger | None = None,
    opened: Callable[[str], Backend] = open_spec,
) -> pd.DataFrame:
    """A row a turn: WHO, statement (the agent's first, second, ...), text, score (1-7 on the topic's claim, NaN: none),
    readings (how many), reasons (why replies were not read, or why nothing was said). A turn without words keeps its place.
    Errors: UserError on a folder of another judging; BudgetSpent, what was answered being kept.
    """
    backend = opened(spec)
    with locked(folder):
        _claim(folder, spec, judging)
        with kept(backend, folder / VERDICTS, budget, ledger) as journal:
            found = verdicts(tables, journal, judging, bar, (spec, budget.keep_going))
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdicts(
    tables: Tables, backend: Backend, judging: Judging, bar: Bar, how: tuple[str, bool] = ("the judge", True)
) -> pd.DataFrame:
    """The same without a folder. `how`: the judge's name, and whether to keep going where nothing that it says can be read."""
    turns = tables.utterances.reset_index(drop=True)
    said = turns[turns["text"].notna()]
    names = tables.agents.set_index(["room", "agent"])["name"]
    statements = [
        Statement(f"{row.room} {row.iteration}", load_topic(row.topic), row.text, names[row.room, row.agent], row.party)
        for row in said.itertuples()
    ]
    with bar("verdicts", 0) as progress:
        asking = [judge(statement, judging) for statement in statements]
        found = read(asking, backend, progress, _why, (how[0], "verdicts"), how[1])
    rows = turns[[*WHO, "text"]]
    rows.insert(len(WHO), "statement", rows.groupby(["room", "agent"]).cumcount() + 1)
    judged = pd.DataFrame(_columns(found), index=said.index).reindex(turns.index)
    judged["reasons"] = judged["reasons"].fillna(turns["reason"]).fillna("")
    return pd.concat([rows, judged.astype({"readings": "Int64"})], axis=1)


def scores(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Verdicts as a table of scores (analysis/scores): the group is the condition, the room the run, the seat the agent."""
    named = {"group": "condition", "room": "run", "seat": "agent"}
    return verdicts.drop(columns="agent").rename(columns=named)[["topic", *named.values(), "statement", "score"]]


def _why(one: Verdict) -> str | None:
    return None if one.score is not None else (*one.reasons, "empty")[0]


def _columns(found: list[Verdict]) -> dict[str, list[Any]]:
    return {
        "score": [one.score if one.score is not None else float("nan") for one in found],
        "readings": [len(one.readings) for one in found],
        "reasons": [", ".join(one.reasons) or None for one in found],
    }


def _claim(folder: Path, spec: str, judging: Judging) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in prompts()}
    claim(folder / "judge.json", {"llm": essence(spec), **asdict(judging), "prompts": texts}, "judging")
