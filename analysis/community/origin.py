"""Can a judge distinguish posts of people from those of the model? Pairs of one of each, in both orders; 50% is the ceiling.

A share of 50% says that this judge cannot distinguish them; an interval around 50% says only that it is not shown to. The null is
pairs of two posts of people, of which one is called the tested one: its share is 50% whatever the judge can do. The unit is the
pair; each post is in one pair of a kind at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.reply_cleaning import one_line
from parley.analysis.bootstrap import FEWEST, clustered_share_interval
from parley.analysis.journaled_calls import CallDesk
from parley.analysis.judging import Item, Verdict, judge_item, load_rubric, undecided
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError
from parley.llm.seeding import stream

REAL, NULL = "a post of a person and one of the model", "two posts of people (null)"
MOST = 100
"""Pairs of a kind."""
ORDERS = 2


class PostPair(NamedTuple):
    """Two posts. tested: of a person."""

    kind: str
    tested: str
    other: str


def read_posts(path: Path) -> list[str]:
    """Return the different posts of a file (column `text`).

    Errors: UserError for a file that does not fit, and fewer than two posts.
    """
    table = read_table(path, ["text"], "docs/community.md")
    texts = list(dict.fromkeys(one_line(text) for text in table["text"] if text.strip()))
    if len(texts) < 2:
        raise UserError(
            f"{path} has {len(texts)} different posts: give at least two, one in each row of the column text"
        )
    return texts


def draw_pairs(real: Sequence[str], generated: Sequence[str], seed: int) -> list[PostPair]:
    """Return pairs of both kinds, at most MOST of each, drawn with a seed; no post comes twice in a kind."""
    people = stream(seed, "posts of people").sample(list(real), len(real))
    written = list(dict.fromkeys(generated))
    model = stream(seed, "posts of the model").sample(written, len(written))
    pairs = [PostPair(REAL, *both) for both in zip(people, model, strict=False)][:MOST]
    halves = zip(people[::2], people[1::2], strict=False)
    return pairs + [PostPair(NULL, *both) for both in halves][:MOST]


def ask_origin(pairs: Sequence[PostPair], language: str, judge: str, seed: int, desk: CallDesk) -> pd.DataFrame:
    """Return one row per pair: kind, tested, other, value, reason.

    value: 1 if the judge takes the tested one for a person's in both orders, 0.5 in one, 0 in none, NaN if it is missing.
    """
    rubric = load_rubric("origin" if language == "en" else f"origin_{language}")
    asked = [
        judge_item(rubric, Item((pair.kind, pair.tested, pair.other), {}, pair=(pair.tested, pair.other)), seed)
        for pair in pairs
    ]
    verdicts: list[Verdict] = desk.ask(asked, judge, "origins", undecided)
    rows = [(*pair, verdict.value, verdict.reason) for pair, verdict in zip(pairs, verdicts, strict=True)]
    return pd.DataFrame(rows, columns=["kind", "tested", "other", "value", "reason"]).astype({"value": "float64"})


def origin_table(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per kind: kind, pairs, missing, share (0 to 1) with low and high over pairs."""
    rows: list[dict[str, Any]] = []
    for kind in (REAL, NULL):
        values = judged.loc[judged["kind"] == kind, "value"]
        known = values.dropna().to_numpy(dtype=float)
        low, high = clustered_share_interval(ORDERS * known, np.full(len(known), float(ORDERS)))
        share = float(known.mean()) if len(known) else np.nan
        rows.append(
            {
                "kind": kind,
                "pairs": len(known),
                "missing": int(values.isna().sum()),
                "share": share,
                "low": low,
                "high": high,
            }
        )
    return pd.DataFrame(rows)


def why_unknown(row: Any) -> str:
    """Return why the share of a row of `origin_table` has no interval; "" if it has one."""
    return f"fewer than {FEWEST} pairs could be judged" if pd.isna(row["low"]) else ""
