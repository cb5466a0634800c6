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

from parley.analysis.bootstrap import Floats, interval
from parley.analysis.load import Tables
from parley.analysis.metrics._cells import REFERENCE, spans, with_interval
from parley.analysis.summary import asked_of_model
from parley.model.events import Header
from parley.model.scenario import Scenario

KEYS = ("topic", "group", "party", "round")
ALL, SHARED = "everybody asked", "archetypes"
"""The two runs, and their folders in a study's folder."""


DRAWN = "archetype"
"""How the `how` of a rating ends that was drawn from the answers of others."""


@dataclass(frozen=True)
class Found:
    """cells: see `compare`. overall: see `pooled`. savings: one row a run: calls, ratings (wanted), surveys (calls for them),
    tokens_in, tokens_out, renewed and drifted (samples). same: share of the lines that are the same in both runs.
    """

    header: Header
    cells: pd.DataFrame
    overall: dict[str, Any]
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
    both = matched(whole, shared)
    return Found(whole.header, compare(both), pooled(both), savings, float(same.mean()) if len(same) else np.nan)


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


def matched(whole: Tables, shared: Tables) -> pd.DataFrame:
    """One row a person and survey, of both runs.

    KEYS, room, agent, `attitude_all`, `attitude_shared`, `drawn` (whether the second was drawn); where both could be read
    `error`, their distance, and `stranger` (see `from_others`).
    """
    who = [*KEYS, "room", "agent"]
    both = _rated(whole)[[*who, "attitude"]].merge(
        _rated(shared)[[*who, "attitude", "how"]], on=who, suffixes=("_all", "_shared")
    )
    both["drawn"] = both.pop("how").astype("string").str.endswith(DRAWN).fillna(False).astype(bool)
    both["error"] = (both["attitude_shared"] - both["attitude_all"]).abs().astype(float)
    known = both["attitude_all"].where(both["error"].notna()).astype(float)
    return both.assign(stranger=known.groupby([both[key] for key in KEYS]).transform(from_others).astype(float))


def compare(both: pd.DataFrame) -> pd.DataFrame:
    """One row a topic, group, party and round of `matched`.

    n (people rated in both runs), missing (in either), rooms; mean and sd (over people) of both runs (`mean_all`, `sd_all`,
    `mean_shared`, `sd_shared`); `mean_off` and `sd_off`, shared minus all, each with a 95% interval over rooms; and the columns
    of `_errors`, which are over the people whose rating was drawn.
    """
    rows = [_row(dict(zip(KEYS, key, strict=True)), part) for key, part in both.groupby([*KEYS], sort=False)]
    kinds = {"round": "int64", "n": "int64", "missing": "int64", "rooms": "int64"}
    kinds |= dict.fromkeys(("mean_all", "mean_shared", "sd_all", "sd_shared"), "float64")
    kinds |= spans("mean_off", "sd_off") | {"drawn": "int64", "drawn_rooms": "int64"}
    kinds |= spans("error", "stranger", "gain") | {"error_asked": "float64"}
    columns = [*KEYS, *[name for name in kinds if name != "round"]]
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def pooled(both: pd.DataFrame) -> dict[str, Any]:
    """The columns of `_errors` over all rows of `matched`, and n."""
    known = both.dropna(subset="error")
    return {"n": len(known), **_errors(known)}


def _rated(tables: Tables) -> pd.DataFrame:
    ratings = tables.attitudes
    return ratings[(ratings["group"] != REFERENCE) & (ratings["probe"] == tables.header.scenario["probe"])]


def _row(keys: dict[str, Any], part: pd.DataFrame) -> dict[str, Any]:
    kept = part.dropna(subset="error")
    row = {**keys, "n": len(kept), "missing": len(part) - len(kept), "rooms": kept["room"].nunique()}
    row |= _errors(kept)
    if kept.empty:
        return row
    one, other = (kept[f"attitude_{run}"].to_numpy(dtype=float) for run in ("all", "shared"))
    sums = _sums(kept["room"].to_numpy(), one, other)
    row |= {"mean_all": one.mean(), "mean_shared": other.mean()}
    row |= with_interval("mean_off", float(other.mean() - one.mean()), interval(sums, _mean_off))
    if len(kept) < 2:
        return row
    spread = {"sd_all": float(one.std(ddof=1)), "sd_shared": float(other.std(ddof=1))}
    sd_off = spread["sd_shared"] - spread["sd_all"]
    return row | spread | with_interval("sd_off", sd_off, interval(sums, _sd_off))


def _errors(kept: pd.DataFrame) -> dict[str, Any]:
    """Errors of the people whose rating was drawn (`drawn`, in `drawn_rooms` rooms), with 95% intervals over rooms.

    `error`: the mean distance of their two ratings. `stranger`: the same if they had the rating of somebody else of their row.
    `gain`: stranger minus error, what the draws hold of a person beyond topic, group, party and round. `error_asked`: the error
    of those who were asked.
    """
    drawn, asked = kept[kept["drawn"]], kept[~kept["drawn"]]
    found = {"drawn": len(drawn), "drawn_rooms": drawn["room"].nunique(), "error_asked": asked["error"].mean()}
    both = drawn.assign(gain=drawn["stranger"] - drawn["error"])
    for column in ("error", "stranger", "gain"):
        sums = both.dropna(subset=column).groupby("room", sort=False)[column].agg(["size", "sum"]).to_numpy(dtype=float)
        span = interval(sums, _ratio)
        found |= with_interval(column, float(both[column].mean()), span)
    return found


def _sums(rooms: np.ndarray, one: Floats, other: Floats) -> Floats:
    """By room: people, sums of both ratings, and of their squares."""
    places = pd.factorize(rooms)[0]
    columns = (np.ones(len(one)), one, other, one**2, other**2)
    return np.column_stack([np.bincount(places, column) for column in columns])


def _mean_off(drawn: Floats) -> Floats:
    n, one, other, *_ = np.moveaxis(drawn.sum(axis=1), -1, 0)
    return np.asarray((other - one) / n)


def _ratio(drawn: Floats) -> Floats:
    sums = drawn.sum(axis=1)
    return np.asarray(sums[..., 1] / sums[..., 0])


def _sd_off(drawn: Floats) -> Floats:
    n, one, other, ones, others = np.moveaxis(drawn.sum(axis=1), -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = ((squares - total**2 / n) / (n - 1) for total, squares in ((one, ones), (other, others)))
        return np.asarray(np.sqrt(np.maximum(after, 0)) - np.sqrt(np.maximum(before, 0)))


def from_others(values: pd.Series) -> Floats:
    """For each person the mean distance from all others' ratings: what the rating of somebody else would be off by.

    NaN where a person has no rating, or there is no other.

    >>> from_others(pd.Series([1.0, 2.0, 4.0, np.nan])).tolist()
    [2.0, 1.5, 2.5, nan]
    """
    known = values.notna().to_numpy()
    found = np.full(len(values), np.nan)
    here = values.to_numpy(dtype=float)[known]
    n, order = len(here), np.argsort(here)
    if n < 2:
        return found
    ordered = here[order]
    below, rank = np.cumsum(ordered) - ordered, np.arange(n)
    above = ordered.sum() - below - ordered
    distances = np.empty(n)
    distances[order] = (ordered * rank - below + above - ordered * (n - 1 - rank)) / (n - 1)
    found[known] = distances
    return found
