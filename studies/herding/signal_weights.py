"""Weights of the own signal and of the choices of others: how do people combine the two?

Source: after Anderson and Holt 1997.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.formatting import format_p
from parley.analysis.metrics._cells import spans
from parley.analysis.rooms import each_row
from parley.analysis.statistics.clusters import effective_clusters
from parley.analysis.statistics.intervals import FEWEST, LEVEL, Floats, clustered_share_interval, why_few, with_interval
from parley.analysis.statistics.null import share_as_large
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.seeding import derive

from .law import TIE, A, log_odds
from .periods import Period, periods

ORDER = 33
TITLE = "Own signal and choices of others"
NOTE = (
    "A logistic regression fits the log-odds of choosing A. The weight `own` belongs to the log-odds of the person's own "
    "signal. The weight `others` belongs to the log-odds of A for a Bayesian who sees the earlier choices. The constant `lean` "
    "shows a liking for the letter A. A person who chooses each option with the probability that it is right has the weights 1 "
    "and 1; a person who chooses at random has the weights 0 and 0. If the model gives the probability of A, the probability is "
    "used in place of the choice. Intervals take rooms as clusters. A common taste of the people in a room also gives `others` "
    "a weight, in any order of choosing. The column `by order` has the mean weight of `others` in 99 random orders of the "
    "people of a period. The column p says how often a random order has a weight at least as large (only if the interval is "
    "above 0). The column `against` has the share of people who follow their signal against earlier choices that outweigh the "
    "signal (0 for Bayesians, 0.5 at random, 1 for people who follow only their signal)."
)
LABELS = {
    "rooms": "rooms", "own": "own", "others": "others", "by_order": "by order", "p": "p", "lean": "lean",
    "against": "against", "reason": "reason if missing",
}  # fmt: skip
NEEDS = "decisions"
ORDERS = 99
CHANCE = 0.05
WEIGHTS = ("lean", "others", "own")
WITHOUT_ERROR = "choices follow from signal and belief without error, so weights have no scale"
EXACT = "the probabilities follow one law without error, so weights have no interval"
NO_SPREAD = "signals or beliefs do not vary"
ENDLESS = 25.0
"""A weight beyond this is one that the fit could not bound."""


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic and group: rooms, choices, lean, others, own, by_order and p (of others, in random orders; NaN
    where the interval of others is not above 0), conflicts (people whose signal is outweighed), against, reason.
    """
    seen: dict[tuple[str, str], list[Period]] = defaultdict(list)
    for period in periods(tables):
        seen[period.topic, period.group].append(period)
    rows = []
    for keys, of in seen.items():
        if len(group_choices := choices(of)):
            row = dict(zip(("topic", "group"), keys, strict=True)) | _row(group_choices)
            rows.append(row | (_in_random_orders(of, row["others"], *keys) if row.get("others_low", 0) > 0 else {}))
    kinds = {"topic": "object", "group": "object", "rooms": "int64", "choices": "int64"} | spans(*WEIGHTS)
    kinds |= {"by_order": "float64", "p": "float64"}
    kinds |= {"conflicts": "int64"} | spans("against") | {"reason": "object"}
    return pd.DataFrame(rows, columns=list(kinds)).astype(kinds)


def headline(table: pd.DataFrame) -> str:
    return each_row(table, _sentence)


def _sentence(row: Mapping[Any, Any]) -> str:
    if row["reason"] == EXACT:
        weights = f"its own signal by {row['own']:.2f} and the choices of others by {row['others']:.2f}"
        return f"The model weighs {weights}, without error."
    if np.isnan(row["own_low"]):
        return unknown_sentence("how people weigh their own signal against the choices of others", row["reason"])
    ends = [f"{row[name]:.2f} ({row[f'{name}_low']:.2f} to {row[f'{name}_high']:.2f})" for name in ("own", "others")]
    if row["p"] >= CHANCE:
        return (
            f"People give their own signal the weight {ends[0]}. Whether people weigh the choices of others is unclear: the "
            f"weight is {ends[1]}, but random orders give {row['by_order']:.2f} (p {format_p(row['p'])}), as a taste that a "
            "room shares does."
        )
    by_order = "" if math.isnan(row["p"]) else f" (orders at random: {row['by_order']:.2f})"
    return (
        f"People give their own signal the weight {ends[0]} and the choices of others {ends[1]}{by_order}; a Bayesian gives "
        "both the weight 1."
    )


def _in_random_orders(of: Sequence[Period], others: float, *keys: str) -> dict[str, float]:
    """Return the mean weight of others when the people of each period choose in orders at random, and its p (one-sided)."""
    rng = np.random.default_rng(derive(0, "orders of choosing", *keys))
    weights = []
    for _ in range(ORDERS):
        orders = [[period.choices[place] for place in rng.permutation(len(period.choices))] for period in of]
        reordered = choices([replace(period, choices=tuple(order)) for period, order in zip(of, orders, strict=True)])
        weights.append(_fitted(reordered).params[WEIGHTS.index("others")])
    return {"by_order": float(np.mean(weights)), "p": share_as_large(weights, others)}


def choices(of: Iterable[Period]) -> pd.DataFrame:
    """Return a row per readable choice: topic, group, room, others (log-odds of A by the choices before), own (of the signal,
    with its sign), y (P(A) if the model tells it, else the act), act (1 for A), follows (1 if the act is the signal's option).
    """
    rows = []
    for period in of:
        for belief, choice in zip(period.beliefs, period.choices, strict=False):
            own_signal = log_odds(choice.precision) * (1 if choice.signal == A else -1)
            act, follows = float(choice.act == A), float(choice.act == choice.signal)
            y = act if math.isnan(choice.probability) else choice.probability
            rows.append((period.topic, period.group, period.room, belief, own_signal, y, act, follows))
    return pd.DataFrame(rows, columns=["topic", "group", "room", "others", "own", "y", "act", "follows"])


def _row(choice_rows: pd.DataFrame) -> dict[str, Any]:
    rooms = choice_rows["room"].nunique()
    row: dict[str, Any] = {"rooms": rooms, "choices": len(choice_rows)}
    weights, reason = fit(choice_rows)
    row |= {name: value for triple in weights for name, value in with_interval(*triple).items()} if weights else {}
    outweighed = choice_rows[
        (choice_rows["others"] * choice_rows["own"] < 0)
        & (choice_rows["others"].abs() > choice_rows["own"].abs() + TIE)
    ]
    counts = outweighed.groupby("room")["follows"]
    hits, sizes = counts.sum().to_numpy(dtype=float), counts.size().to_numpy(dtype=float)
    share = hits.sum() / sizes.sum() if len(sizes) else np.nan
    row |= {"conflicts": len(outweighed)} | with_interval("against", share, clustered_share_interval(hits, sizes))
    return row | {"reason": reason}


def fit(choice_rows: pd.DataFrame) -> tuple[list[tuple[str, float, tuple[float, float]]], str | None]:
    """Return each weight with its interval, or none and the reason. Below `FEWEST` rooms weights have no interval.

    The interval is Student's with the sandwich variance of rooms. choice_rows: rows of `choices`.
    """
    x, y = _design(choice_rows), choice_rows["y"].to_numpy(dtype=float)
    if len(choice_rows) < 4 or np.linalg.matrix_rank(x) < x.shape[1]:
        return [], NO_SPREAD
    rooms = choice_rows["room"].nunique()
    fitted = _fitted(choice_rows, by_room=rooms >= FEWEST)
    values: Floats = np.asarray(fitted.params)
    exact = bool(np.allclose(fitted.fittedvalues, y, atol=1e-6))
    if not np.isfinite(values).all() or np.abs(values).max() > ENDLESS or (exact and {0.0, 1.0} & set(y)):
        return [], WITHOUT_ERROR
    sizes = choice_rows.groupby("room").size().to_numpy(dtype=float)
    reason = why_few(rooms, sizes=sizes) or (EXACT if exact else None)
    freedom = effective_clusters(sizes) - 1
    reach = np.full(3, np.nan) if reason else float(stdtrit(freedom, (1 + LEVEL) / 2)) * np.asarray(fitted.bse)
    triples = zip(WEIGHTS, values, reach, strict=True)
    return [(name, float(at), (at - by, at + by)) for name, at, by in triples], reason


def _design(choice_rows: pd.DataFrame) -> Floats:
    return np.column_stack([np.ones(len(choice_rows)), choice_rows[["others", "own"]]])


def _fitted(choice_rows: pd.DataFrame, by_room: bool = False) -> Any:
    """Return the fit of the weights. by_room: with the sandwich variance of rooms."""
    from statsmodels.genmod.families import Binomial  # both take a third of a second to load, for one scenario alone
    from statsmodels.genmod.generalized_linear_model import GLM

    clusters: Any = (
        {"cov_type": "cluster", "cov_kwds": {"groups": choice_rows["room"].factorize()[0]}} if by_room else {}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return GLM(choice_rows["y"].to_numpy(dtype=float), _design(choice_rows), family=Binomial()).fit(**clusters)
