"""Trees of insights: which memories an insight cites, down to the lines that were said (table `insights`)."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pandas as pd

from parley.analysis.formatting import count_phrase, escape_markdown

LONGEST = 100


def tree_summary(insights: pd.DataFrame) -> str:
    """Return how many insights there are, how deep they go, and how many cite nothing that can be read."""
    if insights.empty:
        return "No insight cites memories: set `reflect=N` and `evidence=true`."
    depths = insights["depth"].dropna()
    unknown = int(insights["depth"].isna().sum())
    levels = ", ".join(f"{count} of depth {depth}" for depth, count in depths.value_counts().sort_index().items())
    known = f"{levels}. An insight of depth 1 cites lines alone, one of depth 2 also an insight of depth 1, and so on."
    return f"{count_phrase(len(insights), 'insight')}: {known} {unknown} without a depth, because no memory was cited."


def tree_lines(insights: pd.DataFrame) -> list[str]:
    """Return the tree of the deepest insight of a run as lines of a Markdown list, each cited memory below what cites it."""
    known = insights.dropna(subset=["depth"])
    if known.empty:
        return []
    deepest = known.loc[known["depth"].astype(int).idxmax()]
    own = insights[(insights["room"] == deepest["room"]) & (insights["agent"] == deepest["agent"])]
    return list(_branch(own.set_index("number"), int(deepest["number"]), 0, set()))


def _branch(own: pd.DataFrame, number: int, level: int, seen: set[int]) -> Iterator[str]:
    """Yield an insight and what it cites. What has come before is named only once."""
    row, pad = own.loc[number], "  " * level
    yield f"{pad}- insight {number} (round {row['round']}): {escape_markdown(row['text'])}"
    if number in seen:
        return
    seen.add(number)
    for parent in json.loads(row["parents"]):
        yield from _branch(own, parent, level + 1, seen)
    for line in json.loads(row["lines"]):
        yield f"{pad}  - {escape_markdown(line[:LONGEST])}{'...' if len(line) > LONGEST else ''}"
