"""How people of a recorded run choose their acts on a social medium, fitted by maximum likelihood; the unit is the room.

A visit is one choice among all acts that were offered, each with each post that it could be about. The law is the conditional
logit of llm/backends/oracle/act_law.py: a constant for each act, `homophily` for each point of distance between the person's
attitude and a post, and `herd` for the sign of the score that was shown. People of all parties have the same numbers.

Distance is measured to the grade of a post, or to its author's attitude if posts have no grades, by the ratings of the
survey before. Intervals are 95%, by the jackknife over rooms.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.agents.act_names import ACTS, NOTHING, UNTARGETED
from parley.analysis.statistics.intervals import FEWEST, NONE, Floats, mean_interval
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.act_law import FAR, NEAR, SIGNS, WIDTH

SLOPES = ("homophily", "herd")
STEPS, SMALL, LARGEST = 50, 1e-8, 20.0
"""Newton steps at most; the largest step at which the fit has arrived; the end of a number that would otherwise grow without end,
as that of an act that is always or never chosen."""
VISIT = ["room", "round", "agent"]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Choices:
    """The options of all visits, one row each, those of a visit together.

    names: of the numbers. design: (options, numbers), so that the utility of an option is its row times the numbers. visit:
    (options,) the place of its visit. chosen: (options,) whether it was chosen. rooms: (visits,) the place of the room of each
    visit. left_out: visits left out, by reason. baseline: the act with the utility 0.
    """

    names: tuple[str, ...]
    design: Floats
    visit: Ints
    chosen: NDArray[np.bool_]
    rooms: Ints
    left_out: Mapping[str, int]
    baseline: str

    def of_rooms(self, kept: NDArray[np.bool_]) -> Choices:
        """Return the choices of some rooms. kept: (rooms,)."""
        visits = kept[self.rooms]
        options, places = visits[self.visit], np.cumsum(visits) - 1
        return replace(
            self,
            design=self.design[options],
            visit=places[self.visit[options]],
            chosen=self.chosen[options],
            rooms=self.rooms[visits],
        )


def fit_acts(tables: Tables, levels: pd.DataFrame, lines: pd.DataFrame) -> dict[str, Any] | None:
    """Return the fitted law of acts; None for a run without acts.

    levels: attitude by (room, agent) and survey. lines: room, round, iteration, agent and grade of every post (NaN: unknown).
    The result: homophily, herd, and constants by act, each with the two ends of its interval (None below 5 rooms); visits,
    rooms, left_out. An act that was never chosen has no number, and people of a surrogate never choose it.
    """
    if tables.acts.empty:
        return None
    choices = collect_choices(tables, levels, lines)
    if not choices.names:
        return None
    whole, places = fit_choices(choices), np.unique(choices.rooms)
    kept = [np.arange(np.max(places) + 1) != place for place in places] if len(places) >= FEWEST else []
    without = np.array([fit_choices(choices.of_rooms(rooms_left), whole) for rooms_left in kept]).reshape(
        -1, len(whole)
    )
    pseudo = len(places) * whole - (len(places) - 1) * without
    pseudo[:, (np.abs(without) > LARGEST / 2).any(axis=0)] = np.nan  # an act that was chosen in one room alone
    sizes = np.array([float((choices.rooms == place).sum()) for place in places])
    estimates = {
        name: [float(value), *_ends(values, sizes)]
        for name, value, values in zip(choices.names, whole, pseudo.T, strict=True)
    }
    slopes = {name: estimates.pop(name) for name in SLOPES if name in estimates}
    counts = {"visits": int(np.max(choices.visit)) + 1, "rooms": len(places), "left_out": dict(choices.left_out)}
    return {**slopes, "constants": {choices.baseline: [0.0, None, None]} | estimates, **counts}


def _ends(values: Floats, sizes: Floats) -> list[float | None]:
    low, high = mean_interval(values, sizes) if np.isfinite(values).all() else NONE
    return [None, None] if np.isnan(low) else [low, high]


def collect_choices(tables: Tables, levels: pd.DataFrame, lines: pd.DataFrame) -> Choices:
    """Return the options of every first choice of a visit.

    A search is left out as an option, and so are visits that chose it: in a conditional logit, the odds of other options do
    not depend on it. The same holds for posts without a grade.
    """
    acts = tables.acts.drop_duplicates(VISIT)
    acts = acts.assign(own=_before(levels, acts, acts["round"]), offered=acts["offered"].map(json.loads))
    unread, searched = acts["act"].isna() | acts["reason"].notna(), acts["act"] == "search"
    left_out = {"not readable": int(unread.sum()), "a search": int((searched & ~unread).sum())}
    acts = acts[~unread & ~searched]
    left_out["no attitude before"] = int(acts["own"].isna().sum())
    acts = acts[acts["own"].notna()].reset_index(drop=True).rename_axis("visit").reset_index()
    options = _options(acts, _shown_posts(tables, levels, lines))
    options["chosen"] = (options["act"] == options["did"]) & (
        (options["target"] == options["iteration"]) | options["act"].isin(list(UNTARGETED))
    )
    has_choice = options.groupby("visit")["chosen"].transform("sum") == 1
    left_out["an act about a post without a grade"] = len(acts) - int(options.loc[has_choice, "visit"].nunique())
    return _encoded(options[has_choice], {reason: count for reason, count in left_out.items() if count})


def _before(levels: pd.DataFrame, rows: pd.DataFrame, rounds: pd.Series) -> Floats:
    """Return the attitude of each row's agent at the latest survey before a round."""
    surveys = np.asarray(levels.columns)
    columns = np.searchsorted(surveys, rounds.to_numpy(dtype=float)) - 1
    agents = levels.index.get_indexer(pd.MultiIndex.from_frame(rows[["room", "agent"]]))
    values = levels.to_numpy(dtype=float)[agents, columns]
    return np.where((agents >= 0) & (columns >= 0), values, np.nan)


def _shown_posts(tables: Tables, levels: pd.DataFrame, lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row per post in a feed: room, round, agent, iteration, score, grade, and whether the author was followed."""
    posts = lines.assign(own=_before(levels, lines, lines["round"]))
    posts["grade"] = posts["grade"].where(~posts["ungraded"], posts["own"])
    posts = posts.rename(columns={"agent": "author"})[["room", "iteration", "author", "grade"]]
    feeds = tables.exposures[tables.exposures["source"] == "feed"].merge(posts, on=["room", "iteration"], how="left")
    links = tables.links.rename(columns={"source": "agent", "target": "author"})
    links = links[["room", "round", "agent", "author", "change"]].sort_values("round", kind="stable")
    by = {name: links[name].dtype for name in ("round", "agent", "author")}
    feeds = feeds[feeds["author"].notna()].astype(by).sort_values("round", kind="stable")
    feeds = pd.merge_asof(feeds, links, on="round", by=["room", "agent", "author"])
    return feeds.assign(followed=feeds["change"] == "added")


def _options(acts: pd.DataFrame, feeds: pd.DataFrame) -> pd.DataFrame:
    """Return a row per visit, offered act and post that it can be about: visit, room, own, did, target, act, iteration, ..."""
    offered = acts.rename(columns={"act": "did", "offered": "act"}).explode("act")
    offered = offered.loc[offered["act"] != "search", ["visit", *VISIT, "own", "did", "target", "act"]]
    alone = offered["act"].isin(list(UNTARGETED))
    about = offered[~alone].merge(feeds[[*VISIT, "iteration", "score", "grade", "followed"]], on=VISIT)
    links = about["act"].isin(["follow", "unfollow"])
    about = about[about["grade"].notna() & (~links | (about["followed"] == (about["act"] == "unfollow")))]
    return pd.concat([offered[alone], about]).sort_values("visit", kind="stable", ignore_index=True)


def _encoded(options: pd.DataFrame, left_out: Mapping[str, int]) -> Choices:
    did = options.loc[options["chosen"], "act"]
    chosen = [act for act in ACTS if (did == act).any()]
    options = options[options["act"].isin(chosen)]
    baseline = NOTHING if NOTHING in chosen else (chosen or [NOTHING])[-1]
    act, distance = options["act"], (options["grade"] - options["own"]).abs()
    gap = np.where(act.isin(list(NEAR)), distance, np.where(act.isin(list(FAR)), WIDTH - distance, 0.0))
    columns = {"homophily": -gap, "herd": act.map(SIGNS).fillna(0) * np.sign(options["score"].fillna(0))}
    columns |= {name: act == name for name in chosen if name != baseline}
    arrays = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
    design = {name: column for name, column in arrays.items() if len(column) and np.ptp(column) > 0}
    visits, first = np.unique(options["visit"], return_index=True)
    return Choices(
        tuple(design),
        np.column_stack(list(design.values())) if design else np.empty((len(options), 0)),
        np.searchsorted(visits, options["visit"].to_numpy()),
        options["chosen"].to_numpy(dtype=np.bool_),
        pd.factorize(options["room"].to_numpy()[first])[0],
        left_out,
        baseline,
    )


def fit_choices(choices: Choices, start: Floats | None = None) -> Floats:
    """Return the numbers of maximum likelihood, by Newton's method. Numbers that the data leave open stay near the start."""
    numbers = np.zeros(len(choices.names)) if start is None else start
    first = np.flatnonzero(np.diff(choices.visit, prepend=-1))
    for _ in range(STEPS):
        utility = choices.design @ numbers
        # the largest utility of a visit becomes 0, so that no exponential overflows
        weight = np.exp(utility - np.maximum.reduceat(utility, first)[choices.visit])
        share = weight / np.add.reduceat(weight, first)[choices.visit]
        slope = choices.design.T @ (choices.chosen - share)
        means = np.add.reduceat(choices.design * share[:, None], first)
        curvature = (choices.design * share[:, None]).T @ choices.design - means.T @ means
        step = np.linalg.lstsq(curvature, slope)[0]
        numbers = np.clip(numbers + np.clip(step, -2, 2), -LARGEST, LARGEST)
        if np.max(np.abs(step)) < SMALL:
            break
    return numbers
