"""How far does a line carry? Who hears it, and what is said by those who heard it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.metrics._network import Population, populations
from parley.analysis.rooms import RoomMeasurement, room_means
from parley.analysis.statistics.intervals import POSITIVE
from parley.analysis.tables import Tables

ORDER = 14
TITLE = "Cascades"
NOTE = (
    "Audience is the number of agents that hear a reply. A reply follows the latest reply that the speaker heard earlier in the "
    "same round. If all agents speak at once, or read their feed after posting, the round before counts instead. A reply starts "
    "a new tree if the speaker had heard no reply before. Depth is the longest chain of replies in a room. Virality is the mean "
    "distance between two replies of the largest tree (Goel et al. 2016): at most 2 for a broadcast, more for a chain. A tree "
    "shows who spoke after whom, but not who persuaded whom. The table shows means over rooms."
)
LABELS = {
    "rooms": "rooms", "audience": "audience", "size": "lines per tree", "largest": "largest tree", "depth": "depth",
    "virality": "virality", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "links"
MEASURES = ("audience", "size", "largest", "depth", "virality")
BOUNDS = dict.fromkeys(MEASURES, POSITIVE)


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, missing (turns without text), audience, size, largest, depth, virality, reason."""
    scenario = tables.header.scenario
    turns = scenario["environment"] == "platform" or in_turn(scenario["options"])  # on a platform the feed comes first
    spoken, heard = (dict(iter(table.groupby("room", sort=False))) for table in (tables.utterances, tables.heard))
    rows = [
        _row(
            room, spoken.get(room.room.name, tables.utterances[:0]), heard.get(room.room.name, tables.heard[:0]), turns
        )
        for room in populations(tables)
    ]
    return room_means(rows, MEASURES, by=(), bounds=BOUNDS)


def _row(population: Population, spoken: pd.DataFrame, heard: pd.DataFrame, turns: bool) -> dict[str, Any]:
    lines = spoken[spoken["text"].notna()]
    row = {**population.room.keys, "missing": len(spoken) - len(lines)}
    if lines.empty:
        return row | dict.fromkeys(MEASURES, RoomMeasurement(None, "no agent spoke"))
    parents = heard_before(lines, heard, turns)
    trees = cascades(list(lines["iteration"]), parents)
    largest = max(trees, key=len)
    audience = heard[heard["iteration"].isin(lines["iteration"])].drop_duplicates(["agent", "iteration"])
    values = (len(audience) / len(lines), len(lines) / len(trees), float(len(largest)), float(depth(parents)))
    return row | dict(zip(MEASURES, (*map(RoomMeasurement, values), virality(largest, parents)), strict=True))


def in_turn(options: Mapping[str, Any]) -> bool:
    """Return whether agents speak one after another, by the options of environments/network.py (default: all at once)."""
    rule = str(options.get("rule", "")).partition(",")[0]
    return rule == "sequential" or (options.get("timing") == "sequential" and rule != "posts")


def heard_before(lines: pd.DataFrame, heard: pd.DataFrame, turns: bool) -> dict[int, int]:
    """Return the parent of each line that has one, both as iterations: the latest line that its speaker had heard (see NOTE)."""
    heard = heard[heard["iteration"].isin(lines["iteration"])]  # a turn without text has no children
    heard = heard.assign(round=heard["round"] + (0 if turns else 1))[["round", "agent", "iteration"]]
    pairs = lines[["round", "agent", "iteration"]].merge(heard, on=["round", "agent"], suffixes=("", "_heard"))
    latest = pairs[pairs["iteration_heard"] < pairs["iteration"]].groupby("iteration")["iteration_heard"].max()
    return {int(line): int(parent) for line, parent in latest.items()}


def cascades(lines: Sequence[int], parents: Mapping[int, int]) -> list[list[int]]:
    """Return the trees, each as its lines in order, the root first. Numbers of lines grow: a parent comes before its child."""
    trees: dict[int, list[int]] = {}
    root: dict[int, int] = {}
    for line in sorted(lines):
        root[line] = root[parents[line]] if line in parents else line
        trees.setdefault(root[line], []).append(line)
    return list(trees.values())


def depth(parents: Mapping[int, int]) -> int:
    """Return the steps from a root to the line farthest from it; 0 where no line has a parent.

    >>> depth({2: 1, 3: 2, 4: 1})
    2
    """
    steps: dict[int, int] = {}
    for line in sorted(parents):
        steps[line] = steps.get(parents[line], 0) + 1
    return max(steps.values(), default=0)


def virality(tree: Sequence[int], parents: Mapping[int, int]) -> RoomMeasurement:
    """Return the structural virality: the mean distance between two lines of a tree.

    An edge that cuts off s of n lines lies on the path between s (n - s) pairs.
    Source: Goel, Anderson, Hofman and Watts 2016, Management Science 62(1), eq. 1.

    >>> virality([1, 2, 3], {2: 1, 3: 2}).value  # a chain: 1, 1, 2
    1.3333333333333333
    """
    n = len(tree)
    if n < 2:
        return RoomMeasurement(None, "no agent spoke after hearing")
    below = dict.fromkeys(tree, 1)
    for line in reversed(tree[1:]):
        below[parents[line]] += below[line]
    sizes = np.array([below[line] for line in tree[1:]], dtype=float)
    return RoomMeasurement(float((sizes * (n - sizes)).sum() / (n * (n - 1) / 2)))
