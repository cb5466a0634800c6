"""Which conditions differ and for whom, what speaking first does, how many runs a difference needs.

The unit is the cast if there are several (the same people in both conditions, compared in pairs), else the run (table.py). If
the texts of two conditions differ (men and women) and there is one cast, there is no test: two texts differ in everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from parley.analysis.scores.table import MANY, Of, bounds, by_run, casts, mean_of, missing, same_texts, values
from parley.analysis.statistics.groups import (
    Result,
    compare_paired,
    compare_two,
    permutation_test,
    table,
    weighted_means,
)
from parley.analysis.statistics.intervals import FEWEST, Floats, slope
from parley.analysis.statistics.power import deviation_interval, rooms_needed

MOMENTS = {"opening": 0, "closing": -1}
ONE_EACH = "one persona a cell: no test"
ONE_CAST = "these people alone: persons were not varied"
SAME_PEOPLE = "the same people in both conditions"
ONE_CONDITION = "one condition: differences between persons and between runs cannot be separated"
Pairs = Iterable[tuple[str, str]]


def contrast(scores: pd.DataFrame, people: pd.DataFrame | None, first: str, other: str, of: Of = mean_of) -> Result:
    """Return the second condition minus the first: paired over casts, else by Welch's t over runs, else a reason.

    scores: of one topic and of the agents that are compared. people: who sat where (`PEOPLE`); None: runs are independent.
    """
    effect = f"{other} - {first}"
    runs = by_run(scores[scores["condition"].isin([first, other])], of)
    values_by_condition, nothing = values(runs), np.array([])
    over_runs = compare_two(
        effect, values_by_condition.get(first, nothing), values_by_condition.get(other, nothing), "run"
    )
    if people is None:
        return over_runs
    seated = people[people["condition"].isin([first, other])]
    wide = by_cast(runs, seated)
    if {first, other} <= set(wide) and len(both := wide[[first, other]].dropna()) >= FEWEST:
        return compare_paired(effect, (both[other] - both[first]).to_numpy(), "cast")
    if same_texts(seated):
        return over_runs
    few = ONE_EACH if len(wide) == 1 else f"fewer than {FEWEST} casts in both: no test"
    return Result(effect, "cast", len(wide), "difference", "paired t", over_runs.estimate, reason=few)


def by_cast(runs: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return one row per cast, one column per condition: the mean of the cast's runs."""
    joined = runs.join(casts(people), on=["condition", "run"]).dropna(subset=["unit"])
    return joined.pivot_table(index="unit", columns="condition", values="value", aggfunc="mean")


def by_party(
    scores: pd.DataFrame, parties: Mapping[str, str], pairs: Pairs, people: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the second condition minus the first, by topic and party: the mean score of the party's statements.

    Rows are results (see `Result`) with topic, party, missing (share of scores, in the condition that lacks most), and, from
    `MANY` missing scores on, bound_low and bound_high: the lowest and highest difference that any values of the missing scores
    could give. A party that sits in one of the two conditions only has no row. p is corrected over the whole table.
    """
    return _compared(scores, parties, list(pairs), people, mean_of)


def drifts(
    scores: pd.DataFrame, parties: Mapping[str, str], pairs: Pairs, people: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return whether scores change differently in the second condition: the difference of slopes, points per statement.

    One slope per run (the mean of its agents'), then as in `by_party`.
    """
    table = _compared(scores, parties, list(pairs), people, slope)
    return table.assign(measure="points per statement").drop(columns=["bound_low", "bound_high"])


def _compared(
    scores: pd.DataFrame, parties: Mapping[str, str], pairs: list[tuple[str, str]], people: pd.DataFrame | None, of: Of
) -> pd.DataFrame:
    with_party = scores.assign(party=scores["agent"].map(parties)).dropna(subset=["party"])
    rows, results = [], []
    for (topic, party), party_scores in with_party.groupby(["topic", "party"], sort=False):
        for first, other in pairs:
            both = party_scores[party_scores["condition"].isin([first, other])]
            if both["condition"].nunique() == 2 and both["score"].notna().any():
                results.append(contrast(both, people, first, other, of))
                share = missing(both)
                ends = bounds(both, first, other) if share > MANY else (np.nan, np.nan)
                rows.append((str(topic), str(party), share, *ends))
    where = pd.DataFrame(rows, columns=["topic", "party", "missing", "bound_low", "bound_high"])
    return pd.concat([where[["topic", "party"]], table(results), where[["missing", "bound_low", "bound_high"]]], axis=1)


def first_speaker(scores: pd.DataFrame, first: Mapping[str, str], people: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return whether it matters who speaks first. first: the party that speaks first, by condition.

    One row per topic and moment (the opening or the closing of all agents): the mean of a run's scores by who spoke first (one
    column per party), and its permutation test. Labels are shuffled over runs; if there are several casts, among the runs of
    a cast. UCL study, section 3.5.
    """
    rows, results = [], []
    for topic, topic_scores in scores.groupby("topic", sort=False):
        for moment, place in MOMENTS.items():
            runs = by_run(topic_scores[topic_scores["statement"] == sorted(topic_scores["statement"].unique())[place]])
            runs["first"] = runs["condition"].map(first)
            if people is not None:
                runs = runs.join(casts(people), on=["condition", "run"])
            strata = ["unit"] if people is not None and runs["unit"].nunique() > 1 else []
            results.append(permutation_test(f"{topic} {moment}", runs, "value", "first", strata, unit="run"))
            rows.append({"topic": topic, "moment": moment, **runs.groupby("first")["value"].mean().to_dict()})
    return pd.concat([pd.DataFrame(rows), table(results)[["n", "estimate", "p", "p_holm", "reason"]]], axis=1)


def sharing(
    scores: pd.DataFrame,
    parties: Mapping[str, str],
    quartets: Mapping[str, tuple[str, str, str, str]],
    partisans: tuple[str, str],
    people: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return whether the Neutral sides with the partisan that runs on its own model: points toward that side, by topic.

    quartets: by name, four conditions of two models. The Neutral shares a model with the second of the partisans, with the first,
    and the same two again with the models exchanged, so that what the partisans' models do by themselves cancels out. Positive:
    the Neutral is nearer to the side of the partisan with its model. UCL study, section 5.1.
    """
    results, topics = [], []
    for topic, topic_scores in scores.groupby("topic", sort=False):
        with_party = topic_scores.assign(party=topic_scores["agent"].map(parties))
        sides = with_party.groupby("party")["score"].mean()
        first, second = (sides.get(party, np.nan) for party in partisans)
        toward = np.sign(second - first)
        for name, conditions in quartets.items():
            neutral = with_party[(with_party["party"] == "default") & with_party["condition"].isin(conditions)]
            if toward and np.isfinite(toward) and neutral["condition"].nunique() == len(conditions):
                weights = dict(zip(conditions, toward * np.array([0.5, -0.5, 0.5, -0.5]), strict=True))
                results.append(_weighted(name, neutral, people, weights))
                topics.append(str(topic))
    rows = table(results)
    rows.insert(0, "topic", topics)
    return rows


def _weighted(name: str, scores: pd.DataFrame, people: pd.DataFrame | None, weights: Mapping[str, float]) -> Result:
    runs = by_run(scores)
    if people is not None:
        wide = by_cast(runs, people[people["condition"].isin(list(weights))]).reindex(columns=list(weights)).dropna()
        if len(wide) >= FEWEST:
            return compare_paired(name, (wide * pd.Series(weights)).sum(axis=1).to_numpy(), "cast")
    return weighted_means(name, values(runs), weights, "run")


def sorted_by_p(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, the smallest p first and those without one last."""
    return rows.sort_values("p", kind="stable", na_position="last")


def components(scores: pd.DataFrame, people: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row per topic and agent: what its scores vary by, as standard deviations in points of 1-7.

    person: between people (NaN if they were not varied). run: between runs of the same people in the same condition, including
    what a condition does to one person more than to another. statement: of single statements around a straight line over the
    run. runs: how many. run_low, run_high: the 95% interval of `run` (`deviation_interval`). freedom: its degrees of freedom.
    casts: how many different ones.
    """
    rows = []
    for (topic, agent), agent_scores in scores.groupby(["topic", "agent"], sort=False):
        runs, persons = by_run(agent_scores).dropna(subset=["value"]), None
        if people is not None:
            runs = runs.join(
                casts(people[people["condition"].isin(agent_scores["condition"])]), on=["condition", "run"]
            )
            persons = runs["unit"] if runs["unit"].nunique() > 1 else None
        row = {"topic": topic, "agent": agent, "runs": len(runs), "casts": 1 if persons is None else persons.nunique()}
        rows.append({**row, **_deviations(runs, persons), "statement": _scatter(agent_scores)})
    return pd.DataFrame(rows)


def _deviations(runs: pd.DataFrame, persons: pd.Series | None) -> dict[str, float]:
    """SDs between persons and between runs, by analysis of variance with additive conditions (and persons)."""
    values, conditions = runs["value"].to_numpy(dtype=float), pd.get_dummies(runs["condition"]).to_numpy(dtype=float)
    within, freedom = _residuals(values, conditions)
    if persons is None:
        return {"person": math.nan, **_run_spread(within, freedom)}
    rest, spare = _residuals(values, np.hstack([conditions, pd.get_dummies(persons).to_numpy(dtype=float)]))
    if spare < 1:
        return {"person": math.nan, **_run_spread(rest, 0)}
    between = (_squares(within) - _squares(rest)) / (freedom - spare) - _squares(rest) / spare
    each = len(values) / persons.nunique()
    return {"person": math.sqrt(max(between, 0.0) / each), **_run_spread(rest, spare)}


def _run_spread(residuals: Floats, freedom: int) -> dict[str, float]:
    low, high = deviation_interval(residuals, freedom)
    return {"run": _root(_squares(residuals), freedom), "run_low": low, "run_high": high, "freedom": freedom}


def _residuals(values: Floats, design: Floats) -> tuple[Floats, int]:
    """What a design leaves of values, and its degrees of freedom."""
    weights, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    left: Floats = values - design @ weights
    return left, len(values) - int(rank)


def _squares(residuals: Floats) -> float:
    return float((residuals**2).sum())


def _root(squares: float, freedom: int) -> float:
    return math.sqrt(squares / freedom) if freedom > 0 else math.nan


def _scatter(scores: pd.DataFrame) -> float:
    squares, freedom = 0.0, 0
    for _, line in scores.dropna(subset=["score"]).groupby(["condition", "run"], sort=False):
        if len(line) > 2:
            at = line["statement"].to_numpy(dtype=float)
            rest, spare = _residuals(line["score"].to_numpy(dtype=float), np.column_stack([np.ones(len(at)), at]))
            squares, freedom = squares + _squares(rest), freedom + spare
    return _root(squares, freedom)


def runs_needed(parts: pd.DataFrame) -> pd.DataFrame:
    """Return the runs per condition for a difference in an agent's mean score, from the rows of `components`.

    If people were varied: the same people in both conditions, new ones in each run, tested in pairs. Otherwise: runs of the same
    people, independent (`basis` says so). Columns: topic, agent, difference, power, rooms, rooms_low, rooms_high (see
    `rooms_needed`), basis.
    """
    tables = []
    for row in parts.to_dict("records"):
        varied = row["casts"] > 1
        times = math.sqrt(2) if varied else 1.0
        ends = row["run_low"] * times, row["run_high"] * times
        needed = rooms_needed(row["run"] * times, paired=varied, ends=ends)
        basis = (SAME_PEOPLE if row["freedom"] else ONE_CONDITION) if varied else ONE_CAST
        tables.append(needed.assign(topic=row["topic"], agent=row["agent"], basis=basis))
    columns = ["topic", "agent", "difference", "power", "rooms", "rooms_low", "rooms_high", "basis"]
    return pd.concat(tables, ignore_index=True)[columns]
