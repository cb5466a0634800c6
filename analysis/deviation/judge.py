"""How far each utterance of a run is from a piece of news, 0-10, by a judge's word. It is not told who speaks, or when."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.judging import WHO, Item, Judge, load_rubric, one_line, open_judge
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar
from parley.llm.errors import UserError

RUBRIC = load_rubric("deviation")
NO_ROLE = "no role"


def source_of(tables: Tables, run: str) -> str:
    """The first thing that was said from outside. Errors: UserError where nothing was."""
    said = tables.interventions["text"].dropna()
    if said.empty:
        raise UserError(f"{run} has no news that came from outside: give the text with --source")
    return str(said.iloc[0])


def judge_deviation(
    tables: Tables, source: str, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT
) -> pd.DataFrame:
    """The table of `verdicts`, journaled in the folder and written to verdicts.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "source": source}, budget) as judge:
        found = verdicts(tables, source, judge, seed)
        found.to_csv(folder / "verdicts.csv", index=False)
    return found


def verdicts(tables: Tables, source: str, judge: Judge, seed: int) -> pd.DataFrame:
    """A row an utterance: WHO, role, text, deviation (0-10, or NaN), reason."""

    def item(row: Any) -> Item:
        slots = {"source": one_line(source), "statement": one_line(str(row.text))}
        return Item((f"{row.room} {row.iteration}",), slots)

    found = judge.judge_utterances(RUBRIC, tables, seed, {"deviation": item})
    roles = tables.characters.set_index("agent")["role"].to_dict()
    found.insert(len(WHO), "role", [roles.get(agent) or NO_ROLE for agent in found["agent"]])
    return found.drop(columns="readings").rename(columns={"reasons": "reason"})
