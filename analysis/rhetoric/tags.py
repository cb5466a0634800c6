"""Which of Aristotle's three appeals an utterance makes, by a judge's word: each is asked for by itself, one may hold several."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis.judging import Item, Judge, load_rubric, one_line, open_judge
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar

RUBRIC = load_rubric("appeal")
APPEALS = {
    "logos": "an appeal to reason: facts, figures, causes, consequences",
    "pathos": "an appeal to feeling: fear, anger, pity, hope, pride",
    "ethos": "an appeal to character: the speaker's own experience, honesty or standing, or that of somebody who is named",
}


def tag_run(tables: Tables, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """The table of `tags`, journaled in the folder and written to tags.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "appeals": APPEALS}, budget) as judge:
        found = tags(tables, judge, seed)
        found.to_csv(folder / "tags.csv", index=False)
    return found


def tags(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """A row an utterance: WHO, text, logos, pathos, ethos (1, 0, or NaN), reasons."""
    items = {appeal: partial(appeal_item, appeal) for appeal in APPEALS}
    return judge.judge_utterances(RUBRIC, tables, seed, items, "appeals").drop(columns="readings")


def appeal_item(appeal: str, row: Any) -> Item:
    """The question about one appeal; the speaker is not told."""
    slots = {"statement": one_line(str(row.text)), "appeal": appeal, "meaning": APPEALS[appeal]}
    return Item((f"{row.room} {row.iteration}", appeal), slots)
