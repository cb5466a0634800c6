"""Where people met in a run with several places: the stage, place and table of each turn, and the rounds of its stages."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from parley.analysis.tables import Tables
from parley.environments.base import MEDIATOR

TURNS_BESIDES_MEMBERS = {"rooms": 0, "echo": 0, "mediated": 1}
"""By kind of place in which each member has one turn a round: further turns at a table, those of a mediator."""


def meetings(tables: Tables) -> dict[tuple[str, int], str]:
    """Return where each turn was taken, by room and iteration: `stage 2, echo, table 1`; empty without several places.

    The record goes table by table. At a table each member has one turn a round; a network or a medium has those that are left.
    """
    if tables.places.empty:
        return {}
    turns = pd.concat([tables.utterances[["room", "round", "iteration"]], tables.acts[["room", "round", "iteration"]]])
    by_round = turns.drop_duplicates().sort_values("iteration").groupby(["room", "round"])["iteration"].agg(list)
    seats = dict(iter(tables.places.groupby("room", sort=False)))
    found = {}
    for (room, round_), iterations in by_round.items():
        for iteration, label in zip(iterations, _labels(seats[room], int(round_), len(iterations)), strict=False):
            found[str(room), int(iteration)] = label
    return found


def _labels(seats: pd.DataFrame, round_: int, turns: int) -> Iterator[str]:
    """Yield where each turn of a round was taken, in order; nothing where that is unknown."""
    stage = seats.loc[seats["round"] <= max(round_, 1), "stage"].max()
    here = seats[seats["stage"] == stage]
    counts: dict[tuple[str, int], int | None] = {}
    for (place, table), members in here.groupby(["place", "table"], sort=False):
        known = TURNS_BESIDES_MEMBERS.get(str(place))
        counts[str(place), int(table)] = None if known is None else known + int((members["agent"] != MEDIATOR).sum())
    unknown = sum(count is None for count in counts.values())
    left = turns - sum(count or 0 for count in counts.values())
    if unknown > 1 or left < 0:
        return
    several = {place for place, table in counts if table > 1}
    for (place, table), count in counts.items():
        label = f"stage {stage}, {place}" + (f", table {table}" if place in several else "")
        yield from [label] * (left if count is None else count)


def stage_starts(tables: Tables, group: str, topic: str) -> list[tuple[int, str]]:
    """Return the first round of each stage on a topic, and its name: `2: echo + network`; empty where a run has no stages."""
    if tables.places["stage"].nunique() < 2:
        return []
    seats = tables.places[(tables.places["group"] == group) & (tables.places["topic"] == topic)]
    return [(max(int(rows["round"].iloc[0]), 1), f"{stage}: {' + '.join(map(str, rows['place'].unique()))}")
            for stage, rows in seats.groupby("stage")]  # fmt: skip


def stages_sentence(tables: Tables) -> str:
    """Return which round begins each stage, and what people remember of the stages before it; "" with fewer than two stages."""
    firsts = tables.places.groupby(["topic", "stage"], sort=False)["round"].first().reset_index()
    if firsts["stage"].nunique() < 2:
        return ""
    places = tables.places.groupby("stage")["place"].unique()
    named = [
        f"stage {stage} ({' and '.join(names)}) begins with round {_begins(tables, firsts, stage)}"
        for stage, names in places.items()
    ]
    topology = str(tables.header.scenario["options"].get("topology", ""))
    notes = {
        "carry=swapped": "remember what another person of their party heard",
        "carry=none": "do not remember the stages before",
    }
    remembered = "".join(f" In a stage with {word}, people {what}." for word, what in notes.items() if word in topology)
    return f"People meet in stages: {'; '.join(named)}. Rounds are counted within a topic.{remembered} "


def _begins(tables: Tables, firsts: pd.DataFrame, stage: int) -> str:
    rounds = firsts[firsts["stage"] == stage]
    several = firsts["topic"].nunique() > 1
    starts = [(max(int(row["round"]), 1), tables.title(row["topic"])) for row in rounds.to_dict("records")]
    return ", ".join(f"{start} of {title}" if several else str(start) for start, title in starts)
