"""Bradley-Terry scores of messages from comparisons in pairs, with intervals over the people who compared them.

A message a is preferred to b with the probability logistic(score a - score b). Scores are in logits around 0: two messages that
are 1 apart are preferred in 73% and 27%. Each comparison is a share from 0 to 1 (a probability, or 1, 0.5, 0), so a tie counts
half. A normal prior of PRIOR_SD keeps the score of a message that wins always finite, and draws all scores slightly to 0.

The unit is the person: all comparisons of one person are left out at once (Tukey's jackknife;
statistics/intervals.py), because they go together; a person with most comparisons counts as in
statistics/clusters.py. Source: Bradley and Terry 1952, Biometrika 39(3/4).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from parley.analysis.formatting import format_p
from parley.analysis.statistics.intervals import FEWEST as FEWEST_MEMBERS
from parley.analysis.statistics.intervals import Floats, mean_interval, p_of_mean, why_few
from parley.analysis.unknown import unknown_sentence

PRIOR_SD = 3.0
STEPS, TINY = 50, 1e-10
"""Newton steps at most, and the largest step at which the fit has arrived."""
CHANCE = 0.05


def fit_scores(wins: Floats, games: Floats, design: Floats) -> Floats:
    """Return the scores (draws, messages) by Newton's method, each row with mean 0.

    wins, games: (draws, pairs), how much the first of each pair was preferred, of how many comparisons. design: (pairs,
    messages), 1 for the first and -1 for the second.

    >>> pair = np.array([[1.0, -1.0]])
    >>> fit_scores(np.array([[75.0]]), np.array([[100.0]]), pair).round(2).tolist()  # log(3) is 1.10; the prior takes .01
    [[0.55, -0.55]]
    """
    scores, prior = np.zeros((len(wins), design.shape[1])), np.eye(design.shape[1]) / PRIOR_SD**2
    for _ in range(STEPS):
        preferred = 1 / (1 + np.exp(-scores @ design.T))
        slope = (wins - games * preferred) @ design - scores / PRIOR_SD**2
        weight = games * preferred * (1 - preferred)
        step = np.linalg.solve((design.T[None] * weight[:, None, :]) @ design + prior, slope[..., None])[..., 0]
        scores = scores + np.clip(step, -2, 2)  # where one message nearly always wins, a full step overshoots
        if np.abs(step).max(initial=0.0) < TINY:
            break
    return scores


def groups(pairs: pd.DataFrame, ids: Sequence[str]) -> list[list[str]]:
    """Return the groups of messages that comparisons connect; one if all scores can be compared. pairs: of `pair_values`."""
    graph = nx.Graph()
    graph.add_nodes_from(ids)
    graph.add_edges_from(pairs.dropna(subset=["value"])[["a", "b"]].itertuples(index=False))
    return [sorted(component, key=list(ids).index) for component in nx.connected_components(graph)]


def why_unknown(pairs: pd.DataFrame, ids: Sequence[str]) -> str:
    """Return why there are no scores: comparisons do not connect the messages; "" if they do."""
    parts = groups(pairs, ids)
    if len(parts) < 2:
        return ""
    named = "; ".join(", ".join(group[:5]) + (", ..." if len(group) > 5 else "") for group in parts[:4])
    return (
        f"no readable comparison connects these {len(parts)} groups of messages, so their scores cannot be compared: "
        f"{named}{'; ...' if len(parts) > 4 else ''}"
    )


def score_messages(pairs: pd.DataFrame, ids: Sequence[str]) -> pd.DataFrame:
    """Return one row per message: message, score with low and high (95%, over people), wins (share of its comparisons in which
    it is preferred), people, comparisons. All scores are NaN where `why_unknown` has a reason.

    pairs: one row per person and pair: member, a, b, value (share that prefers a; NaN: missing).
    """
    readable = pairs.dropna(subset=["value"])
    rows = pd.concat([
        readable.assign(message=readable["a"], won=readable["value"]),
        readable.assign(message=readable["b"], won=1 - readable["value"]),
    ])  # fmt: skip
    about = rows.groupby("message").agg(wins=("won", "mean"), people=("member", "nunique"), comparisons=("won", "size"))
    about = about.reindex(list(ids)).rename_axis("message").reset_index()
    about[["people", "comparisons"]] = about[["people", "comparisons"]].fillna(0).astype("int64")
    nothing = np.full((len(ids), 3), np.nan)
    numbers = nothing if why_unknown(pairs, ids) else _scores(readable, ids)
    scores = pd.DataFrame(numbers, columns=["score", "low", "high"])
    return pd.concat([about[["message"]], scores, about[["wins", "people", "comparisons"]]], axis=1)


def clear_difference(pairs: pd.DataFrame, ids: Sequence[str]) -> str:
    """Return whether messages differ for people like these: the two that are furthest apart for their error; or why unknown.

    Each pair of scores is tested over people by Student's t of their jackknife values, and the p of each is multiplied by the
    number of pairs of messages (Bonferroni), so that with any number of messages a difference is claimed by chance in 5% at most.
    """
    if why_unknown(pairs, ids):
        return "It is unknown which message persuades most, because there are no scores."
    fit = _jackknife(pairs.dropna(subset=["value"]), ids)
    if len(fit.leaves) < FEWEST_MEMBERS:
        return f"It is unknown whether the messages differ, because fewer than {FEWEST_MEMBERS} people compared them."
    every = list(combinations(range(len(ids)), 2))
    tests = [(_p_of_difference(fit, first, other) * len(every), first, other) for first, other in every]
    finite_tests = [test for test in tests if not np.isnan(test[0])]
    if not finite_tests:
        few = why_few(len(fit.leaves), "person", fit.games)
        return unknown_sentence("whether the messages differ", few or "all people answered the same")
    p, first, other = min(finite_tests)
    if p >= CHANCE:
        return "No message persuades clearly more than another (all pairs tested over people, Bonferroni)."
    more, less = sorted((first, other), key=lambda place: -fit.whole[place])
    return (
        f"{ids[more]} persuades more than {ids[less]}: p {format_p(p)}, over people, corrected for {len(every)} pairs."
    )


def _scores(readable: pd.DataFrame, ids: Sequence[str]) -> Floats:
    """Return score, low, high of each message."""
    fit = _jackknife(readable, ids)
    return np.column_stack([fit.whole, np.array([mean_interval(leaves, fit.games) for leaves in fit.leaves.T])])


class _Fit(NamedTuple):
    """The scores (messages,), Tukey's pseudo-values of them (people, messages), and the comparisons of each person (people,)."""

    whole: Floats
    leaves: Floats
    games: Floats


def _p_of_difference(fit: _Fit, first: int, other: int) -> float:
    """Return the p of the difference of two scores."""
    return p_of_mean(fit.leaves[:, first] - fit.leaves[:, other], fit.games)


def _jackknife(readable: pd.DataFrame, ids: Sequence[str]) -> _Fit:
    wins, games, design = _counts(readable, ids)
    whole = fit_scores(wins.sum(0, keepdims=True), games.sum(0, keepdims=True), design)[0]
    without = fit_scores(wins.sum(0) - wins, games.sum(0) - games, design)
    return _Fit(whole, len(wins) * whole - (len(wins) - 1) * without, games.sum(axis=1))


def _counts(readable: pd.DataFrame, ids: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Return wins and games (people, pairs) and the design (pairs, messages), as `fit_scores` takes them."""
    keys = readable.groupby(["a", "b"], sort=False).ngroup().to_numpy()
    first = readable.assign(key=keys).drop_duplicates("key").sort_values("key")
    place = {name: number for number, name in enumerate(ids)}
    design = np.zeros((len(first), len(ids)))
    design[np.arange(len(first)), first["a"].map(place)] = 1
    design[np.arange(len(first)), first["b"].map(place)] = -1
    people, codes = np.unique(readable["member"].to_numpy(dtype=str), return_inverse=True)
    wins, games = (np.zeros((len(people), len(first))) for _ in range(2))
    np.add.at(wins, (codes, keys), readable["value"].to_numpy(dtype=float))
    np.add.at(games, (codes, keys), 1.0)
    return wins, games, design
