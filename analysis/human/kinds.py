"""Two kinds of people by their trajectories: those who stay and those who move, in people and in a run.

K-means with k = 2, as Moore, Goodman, Haber and Kleiman-Weiner 2026 do. Its features are the change since before at 20 equal
parts of the talk (between turns: a straight line) and the number of turns, each divided by its SD. The kinds are found in people,
and each agent of a run belongs to the kind whose centre is nearer. K-means finds two kinds in any data, so the share of spread
that they explain is compared with that in shuffled steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.vq import kmeans2

from parley.analysis.human.measures import average
from parley.analysis.human.readers import TRACES, Source, find, parse_turns, table
from parley.analysis.human.trajectories import Trajectories, shuffle_steps, trajectories
from parley.analysis.statistics.groups import Result
from parley.analysis.statistics.intervals import Floats, with_interval
from parley.analysis.statistics.null import share_as_large
from parley.llm.errors import UserError
from parley.llm.seeding import derive

GRID = np.linspace(0, 1, 21)
STARTS, NULLS = 60, 99
LEAST = 20
"""Talks below which there are no kinds."""
FEW_TALKS, ALIKE = f"fewer than {LEAST} talks with turns", "all trajectories are the same"
PUBLISHED = ("persuasiontrace_human_clusters_k2_summary.csv", "human_clusters_k2_summary.csv")
DAYS = ("2026-04-29", "2026-04-30")
"""The days of the export with the 84 talks that the published clusters are made of."""
OF_PUBLISHED = "the talks of the published clusters"
COLUMNS = ["people", "condition", "talks", "rooms", "moving", "moving_low", "moving_high", "run_moving", "run_moving_low",
           "run_moving_high", "explained", "explained_shuffled", "p", "reason"]  # fmt: skip


class Kinds(NamedTuple):
    """Two kinds of people: mean and SD of each feature, and the two centres, (2, features); the second kind moves farther.

    explained: the share of the features' spread that the kinds explain.
    """

    mean: Floats
    spread: Floats
    centres: Floats
    explained: float


def features(ways: Trajectories) -> Floats:
    """Return (people, 21): the change since before at 20 equal parts of the talk, and the number of turns."""
    at = GRID[1:] * ways.turns[:, None]
    # a product such as 2.9999999 is turn 3; the end of the talk belongs to its last interval
    before = np.minimum(np.floor(at + 1e-9).astype("int64"), ways.turns[:, None] - 1)
    people = np.arange(len(at))[:, None]
    left, right = ways.beliefs[people, before], ways.beliefs[people, before + 1]
    return np.column_stack([left + (right - left) * (at - before) - ways.beliefs[:, :1], ways.turns])


def find_kinds(ways: Trajectories, starts: int = STARTS) -> Kinds | None:
    """Return the two kinds with the least spread within, over k-means runs from random pairs of people; None if all are alike."""
    values = features(ways)
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread = np.where(spread > 1e-9, spread, 1.0)
    scaled = (values - mean) / spread
    points = np.unique(scaled.round(9), axis=0)  # two people who are alike would give two centres in one place
    if len(points) < 2:
        return None
    rng, best, least = np.random.default_rng(derive(0, "kinds")), scaled[:2], np.inf
    for _ in range(starts):
        pair = points[rng.choice(len(points), 2, replace=False)]
        centres, labels = kmeans2(scaled, pair, minit="matrix", iter=30)
        within = float(((scaled - centres[labels]) ** 2).sum())
        if within < least - 1e-9:
            best, least = centres, within
    # by the change at the end of the talk; the last column is the number of turns
    best = best[np.argsort(best[:, -2], kind="stable")]
    return Kinds(mean, spread, best, 1 - least / float((scaled**2).sum()))


def is_mover(ways: Trajectories, kinds: Kinds) -> NDArray[np.bool_]:
    """Return for each person whether the nearer centre is that of the kind that moves farther."""
    scaled = (features(ways) - kinds.mean) / kinds.spread
    distances = ((scaled[:, None] - kinds.centres) ** 2).sum(axis=2)
    return np.asarray(distances[:, 1] < distances[:, 0])


def explained_by_chance(ways: Trajectories, kinds: Kinds) -> tuple[float, float]:
    """Return the mean share of spread that two kinds explain in shuffled steps, and p of a share as large as the people's."""
    rng = np.random.default_rng(derive(0, "kinds", "shuffled"))
    drawn = [find_kinds(shuffle_steps(ways, rng), starts=10) for _ in range(NULLS)]
    shares = np.array([shuffled_kinds.explained for shuffled_kinds in drawn if shuffled_kinds])
    return float(shares.mean()), share_as_large(shares, kinds.explained)


def mover_share(ways: Trajectories, kinds: Kinds) -> Result:
    """Return the share of people of the kind that moves farther, with its interval over groups (talks, rooms)."""
    values, groups = pd.Series(is_mover(ways, kinds).astype(float)), pd.Series(ways.groups)
    return average(Result("", "group", 0, "share", ""), values, groups)


def published_talks(path: Path) -> pd.DataFrame:
    """Return the talks of the published clusters as people (group, before, after, side, turns): text, a given claim, four turns
    at most, exported on DAYS, all turns kept. Errors: UserError.
    """
    flags = ["control_dialogue", "audio", "participant_proposition", "persuader_supports"]
    numbers = {"initial_belief": (0, 1), "final_belief": (0, 1), "turn_limit": (0, 1_000_000)}
    raw = table(path, [*flags, "belief_after_each_turn", "export_date"], numbers, flags)
    raw = raw[~raw[flags[:3]].any(axis=1) & (raw["turn_limit"] == 4) & raw["export_date"].isin(DAYS)]
    sides = np.where(raw["persuader_supports"], 1.0, -1.0)
    turns = [parse_turns(text, path) for text in raw["belief_after_each_turn"]]
    return pd.DataFrame(
        {
            "group": raw.index,
            "before": raw["initial_belief"],
            "after": raw["final_belief"],
            "side": sides,
            "turns": turns,
        }
    )


def compare_published(summary: Path, traces: Path) -> pd.DataFrame:
    """Return a row per kind: published and recomputed n, first step and change at the last turn, and the change right after the
    talk; least movers first. Empty if the traces hold none of the talks. Errors: UserError.
    """
    published = table(summary, [], {"n": (0, 1e6), "mean_first_delta": (-1, 1), "mean_end_delta": (-1, 1)})
    if published["n"].isna().any():
        raise UserError(
            f"{summary}, row {int(published['n'].isna().argmax()) + 2}: n is empty: enter the number of talks of the kind"
        )
    people = published_talks(traces)
    published, ways = published.sort_values("mean_end_delta"), trajectories(people)
    kinds = find_kinds(ways) if len(people) else None
    if kinds is None or len(ways.groups) != len(people):
        return pd.DataFrame()
    movers, after = is_mover(ways, kinds), ((people["after"] - people["before"]) * people["side"]).to_numpy()
    last = ways.beliefs[np.arange(len(people)), ways.turns]
    first, end = (beliefs - ways.beliefs[:, 0] for beliefs in (ways.beliefs[:, 1], last))
    rows = [
        {"kind": name, "published_n": int(row.n), "n": int(is_kind.sum()),
         "published_first": row.mean_first_delta, "first": first[is_kind].mean(),
         "published_end": row.mean_end_delta, "end": end[is_kind].mean(), "after": np.nanmean(after[is_kind])}
        for (name, is_kind), row in zip((("stays", ~movers), ("moves", movers)), published.itertuples(), strict=False)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def compare_kinds(run: Source, people: Sequence[Source], folder: Path | None) -> pd.DataFrame:
    """Return a row per condition of people (COLUMNS): the share of the kind that moves farther, in people and in the run.

    folder: where the human files are; its published clusters have a row of their own.
    """
    parts = [
        (source.name, condition, condition_people)
        for source in people
        for condition, condition_people, _ in source.parts()
    ]
    traces = find(folder, TRACES) if folder and find(folder, PUBLISHED) else None
    if traces:
        parts.append(("PersuasionTrace", OF_PUBLISHED, published_talks(traces)))
    run_ways, rows = trajectories(run.by_unit()), []
    for name, condition, condition_people in parts:
        if len((ways := trajectories(condition_people)).groups):
            rows.append({"people": name, "condition": condition} | _compare(run_ways, ways))
    return pd.DataFrame(rows, columns=COLUMNS)


def _compare(run: Trajectories, ways: Trajectories) -> dict[str, object]:
    row: dict[str, object] = {"talks": len(set(ways.groups)), "rooms": len(set(run.groups)), "reason": ""}
    kinds = find_kinds(ways) if len(set(ways.groups)) >= LEAST else None
    if kinds is None:
        return row | {"reason": FEW_TALKS if len(set(ways.groups)) < LEAST else ALIKE}
    for prefix, sample in (("moving", ways), ("run_moving", run)):
        if len(sample.groups):
            share = mover_share(sample, kinds)
            row |= with_interval(prefix, share.estimate, (share.low, share.high))
    shuffled, p = explained_by_chance(ways, kinds)
    return row | {"explained": kinds.explained, "explained_shuffled": shuffled, "p": p}
