"""What archetypes save and what they cost: the same debates with everybody asked, and with shared answers (llm/archetypes.py).

Same people, same seats, same seed. A survey is never remembered, so that where nothing in the environment depends on attitudes
what is said is the same in both runs, word for word, and every difference is that of the answers alone.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.bootstrap import Floats, interval
from analysis.load import Tables
from analysis.metrics._cells import REFERENCE, spans, with_interval
from analysis.summary import asked_of_model
from model.events import Header
from model.scenario import Scenario

KEYS = ("topic", "group", "party", "round")
ALL, SHARED = "everybody asked", "archetypes"
"""The two runs, and their folders in a study's folder."""


@dataclass(frozen=True)
class Found:
    """cells: see `compare`. savings: one row a run: calls, ratings (wanted), surveys (calls for them), tokens_in, tokens_out,
    renewed and drifted (samples). same: share of the lines that are the same in both runs.
    """

    header: Header
    cells: pd.DataFrame
    savings: pd.DataFrame
    same: float


def archetypes(base: Scenario, size: int) -> Generator[Scenario, Tables, Found]:
    """Yields the scenario with everybody asked, then with `size` answers a kind; is sent the tables of their records."""
    whole = yield replace(base, archetypes=0)
    shared = yield replace(base, archetypes=size)
    savings = pd.DataFrame([{"run": ALL, **used(whole)}, {"run": SHARED, **used(shared)}])
    lines = ["room", "iteration", "text"]
    said = whole.utterances[lines].merge(shared.utterances[lines], on=["room", "iteration"])
    same = said["text_x"].eq(said["text_y"]) | said[["text_x", "text_y"]].isna().all(axis=1)
    return Found(whole.header, compare(whole, shared), savings, float(same.mean()) if len(same) else np.nan)


def used(tables: Tables) -> dict[str, int]:
    """What a run asked and used."""
    asked = asked_of_model(tables.calls)
    return {
        "calls": len(asked),
        "ratings": len(tables.attitudes),
        "surveys": int((asked["purpose"] == "survey").sum()),
        "tokens_in": int(asked["prompt_tokens"].sum()),
        "tokens_out": int(asked["completion_tokens"].sum()),
        "renewed": int(tables.calls["checked"].sum()),
        "drifted": int(tables.calls["drifted"].sum()),
    }


def compare(whole: Tables, shared: Tables) -> pd.DataFrame:
    """One row a topic, group, party and round.

    n (people rated in both runs), missing (in either), rooms; mean and sd (over people) of both runs (`mean_all`, `sd_all`,
    `mean_shared`, `sd_shared`); `mean_off` and `sd_off`, shared minus all, and `error`, the mean absolute difference of a
    person's two ratings, each with a 95% interval over rooms; `shuffled`, the error if everybody had the rating of another person
    of its cell: what archetypes that know nothing but topic, group, party and round would cost.
    """
    who = [*KEYS, "room", "agent"]
    both = _rated(whole)[[*who, "attitude"]].merge(
        _rated(shared)[[*who, "attitude"]], on=who, suffixes=("_all", "_shared")
    )
    rows = [_row(dict(zip(KEYS, key, strict=True)), part) for key, part in both.groupby([*KEYS], sort=False)]
    kinds = {"round": "int64", "n": "int64", "missing": "int64", "rooms": "int64"}
    kinds |= dict.fromkeys(("mean_all", "mean_shared", "sd_all", "sd_shared"), "float64")
    kinds |= spans("mean_off", "sd_off", "error") | {"shuffled": "float64"}
    columns = [*KEYS, *[name for name in kinds if name != "round"]]
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def _rated(tables: Tables) -> pd.DataFrame:
    ratings = tables.attitudes
    return ratings[(ratings["group"] != REFERENCE) & (ratings["probe"] == tables.header.scenario["probe"])]


def _row(keys: dict[str, Any], part: pd.DataFrame) -> dict[str, Any]:
    kept = part.dropna(subset=["attitude_all", "attitude_shared"])
    row = {**keys, "n": len(kept), "missing": len(part) - len(kept), "rooms": kept["room"].nunique()}
    if kept.empty:
        return row
    one, other = (kept[f"attitude_{run}"].to_numpy(dtype=float) for run in ("all", "shared"))
    sums = _sums(kept["room"].to_numpy(), one, other)
    name = ("archetypes", *map(str, keys.values()))
    mean_off = float(other.mean() - one.mean())
    row |= {"mean_all": one.mean(), "mean_shared": other.mean()}
    row |= with_interval("mean_off", mean_off, interval(sums, _mean_off, *name, "mean"))
    row |= with_interval("error", float(np.abs(other - one).mean()), interval(sums, _error, *name, "error"))
    if len(kept) < 2:
        return row
    spread = {"sd_all": float(one.std(ddof=1)), "sd_shared": float(other.std(ddof=1))}
    sd_off = spread["sd_shared"] - spread["sd_all"]
    row |= spread | with_interval("sd_off", sd_off, interval(sums, _sd_off, *name, "sd"))
    return row | {"shuffled": strangers(one)}


def _sums(rooms: np.ndarray, one: Floats, other: Floats) -> Floats:
    """By room: people, sums of both ratings, of their squares, and of their absolute difference."""
    places = pd.factorize(rooms)[0]
    columns = (np.ones(len(one)), one, other, one**2, other**2, np.abs(other - one))
    return np.column_stack([np.bincount(places, column) for column in columns])


def _mean_off(drawn: Floats) -> Floats:
    n, one, other, *_ = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray((other - one) / n)


def _error(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    return np.asarray(sums[..., 5] / sums[..., 0])


def _sd_off(drawn: Floats) -> Floats:
    n, one, other, ones, others, _ = np.moveaxis(drawn.sum(axis=1), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = ((squares - total**2 / n) / (n - 1) for total, squares in ((one, ones), (other, others)))
        return np.asarray(np.sqrt(np.maximum(after, 0)) - np.sqrt(np.maximum(before, 0)))


def strangers(values: Floats) -> float:
    """The mean absolute difference of two different people's ratings.

    >>> strangers(np.array([1.0, 2.0, 4.0]))
    2.0
    """
    ordered, n = np.sort(values), len(values)
    weights = 2 * np.arange(1, n + 1) - n - 1
    return float((weights @ ordered) * 2 / (n * (n - 1)))
