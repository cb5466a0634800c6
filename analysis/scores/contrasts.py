"""What differs between two conditions for whom, and what speaking first does.

The unit is the cast where there are several (the same people in both conditions, paired), else the run (table.py).
Conditions whose texts differ (men and women) with one cast have no test: one text differs from another in everything.

What scores differ by (person, run, statement), and how many runs a difference needs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import FEWEST, Floats, slope
from parley.analysis.scores.table import MANY, Of, bounds, by_run, casts, mean_of, missing, same_texts, values
from parley.analysis.statistics.groups import compare_paired, compare_two, permutation_test, weighted_means
from parley.analysis.statistics.power import rooms_needed
from parley.analysis.statistics.results import Result, table

MOMENTS = {"opening": 0, "closing": -1}
ONE_EACH = "one persona a cell: no test"
Pairs = Iterable[tuple[str, str]]


def contrast(scores: pd.DataFrame, people: pd.DataFrame | None, one: str, other: str, of: Of = mean_of) -> Result:
    """Return the second condition less the first: paired over casts, else by Welch's t over runs, else a reason.

    scores: of one topic and of the agents that are compared. people: who sat where (`PEOPLE`); None: runs are independent.
    """
    effect = f"{other} - {one}"
    runs = by_run(scores[scores["condition"].isin([one, other])], of)
    if people is None:
        return _over_runs(effect, runs, one, other)
    seated = people[people["condition"].isin([one, other])]
    wide = by_cast(runs, seated)
    if {one, other} <= set(wide) and len(both := wide[[one, other]].dropna()) >= FEWEST:
        return compare_paired(effect, (both[other] - both[one]).to_numpy(), "cast")
    if same_texts(seated):
        return _over_runs(effect, runs, one, other)
    few = ONE_EACH if len(wide) == 1 else f"fewer than {FEWEST} casts in both: no test"
    found = _over_runs(effect, runs, one, other)
    return Result(effect, "cast", len(wide), "difference", "paired t", found.estimate, reason=few)


def _over_runs(effect: str, runs: pd.DataFrame, one: str, other: str) -> Result:
    known = values(runs)
    return compare_two(effect, known.get(one, np.array([])), known.get(other, np.array([])), "run")


def by_cast(runs: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Return a row a cast, a column a condition: the mean of the cast's runs."""
    joined = runs.join(casts(people), on=["condition", "run"]).dropna(subset=["unit"])
    return joined.pivot_table(index="unit", columns="condition", values="value", aggfunc="mean")


def by_party(
    scores: pd.DataFrame, parties: Mapping[str, str], pairs: Pairs, people: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return second condition less the first, by topic and party: the mean score of the party's statements.

    Rows are results (see `Result`) with topic, party, missing (share of scores, in the condition that lacks most), and from
    `MANY` of them on bound_low and bound_high: what the difference could be, whatever had been said. A party that sits in one
    of the two only has no row. p is corrected over the whole table.
    """
    return _compared(scores, parties, list(pairs), people, mean_of)


def drifts(
    scores: pd.DataFrame, parties: Mapping[str, str], pairs: Pairs, people: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return whether scores change otherwise in the second condition: the difference of slopes, points a statement.

    One slope a run (the mean of its agents'), then as in `by_party`.
    """
    found = _compared(scores, parties, list(pairs), people, slope)
    return found.assign(measure="points per statement").drop(columns=["bound_low", "bound_high"])


def _compared(
    scores: pd.DataFrame,
    parties: Mapping[str, str],
    pairs: list[tuple[str, str]],
    people: pd.DataFrame | None,
    of: Of,
) -> pd.DataFrame:
    known = scores.assign(party=scores["agent"].map(parties)).dropna(subset=["party"])
    rows, results = [], []
    for (topic, party), part in known.groupby(["topic", "party"], sort=False):
        for one, other in pairs:
            both = part[part["condition"].isin([one, other])]
            if both["condition"].nunique() == 2 and both["score"].notna().any():
                results.append(contrast(both, people, one, other, of))
                share = missing(both)
                ends = bounds(both, one, other) if share > MANY else (np.nan, np.nan)
                rows.append((str(topic), str(party), share, *ends))
    where = pd.DataFrame(rows, columns=["topic", "party", "missing", "bound_low", "bound_high"])
    return pd.concat([where[["topic", "party"]], table(results), where[["missing", "bound_low", "bound_high"]]], axis=1)


def first_speaker(scores: pd.DataFrame, first: Mapping[str, str], people: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return whether it matters who speaks first. first: the party that does, by condition.

    One row a topic and moment (all agents' opening, all agents' closing): the mean of a run's scores by who spoke first (a
    column a party), and the permutation test of it: labels are shuffled over runs, among the runs of a cast where there are
    several. UCL study, section 3.5.
    """
    rows, results = [], []
    for topic, part in scores.groupby("topic", sort=False):
        for moment, place in MOMENTS.items():
            statements = sorted(part["statement"].unique())
            runs = by_run(part[part["statement"] == statements[place]])
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
    people: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return whether the Neutral sides with the partisan that runs on its own model: points toward that side, by topic.

    quartets: by name, four conditions of two models. The Neutral shares a model with the Democrat, with the Republican, and the
    same two again with the models exchanged. What the partisans' models do by themselves cancels out. Positive: the Neutral is
    nearer to the side of whoever shares its model. UCL study, section 5.1.
    """
    results, topics = [], []
    for topic, part in scores.groupby("topic", sort=False):
        known = part.assign(party=part["agent"].map(parties))
        sides = known.groupby("party")["score"].mean()
        toward = np.sign(sides.get("democrat", np.nan) - sides.get("republican", np.nan))
        for name, conditions in quartets.items():
            neutral = known[(known["party"] == "default") & known["condition"].isin(conditions)]
            if toward and np.isfinite(toward) and neutral["condition"].nunique() == len(conditions):
                weights = dict(zip(conditions, toward * np.array([0.5, -0.5, 0.5, -0.5]), strict=True))
                results.append(_weighed(name, neutral, people, weights))
                topics.append(str(topic))
    found = table(results)
    found.insert(0, "topic", topics)
    return found


def _weighed(name: str, scores: pd.DataFrame, people: pd.DataFrame | None, weights: Mapping[str, float]) -> Result:
    runs = by_run(scores)
    if people is not None:
        wide = by_cast(runs, people[people["condition"].isin(list(weights))]).reindex(columns=list(weights)).dropna()
        if len(wide) >= FEWEST:
            return compare_paired(name, (wide * pd.Series(weights)).sum(axis=1).to_numpy(), "cast")
    return weighted_means(name, values(runs), weights, "run")


def sorted_by_p(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows, the smallest p first and those without one last."""
    return found.sort_values("p", kind="stable", na_position="last")


ONE_CAST = "these people alone: persons were not varied"
SAME_PEOPLE = "the same people in both conditions"
ONE_CONDITION = "one condition: persons and runs cannot be told apart"


def components(scores: pd.DataFrame, people: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row a topic and agent: what its scores differ by, as standard deviations in points of 1-7.

    person: between people (NaN where they were not varied). run: between runs of the same people in the same condition, with
    what a condition does to one person more than to another. statement: of single statements around a straight line over the
    run. freedom: degrees of freedom of `run`. casts: how many different ones.
    """
    rows = []
    for (topic, agent), part in scores.groupby(["topic", "agent"], sort=False):
        runs = by_run(part).dropna(subset=["value"])
        units = casts(people[people["condition"].isin(part["condition"])]) if people is not None else None
        if units is not None:
            runs = runs.join(units, on=["condition", "run"])
        persons = runs["unit"] if units is not None and runs["unit"].nunique() > 1 else None
        row = {"topic": topic, "agent": agent, "casts": 1 if persons is None else persons.nunique()}
        rows.append({**row, **_deviations(runs, persons), "statement": _scatter(part)})
    return pd.DataFrame(rows)


def _deviations(runs: pd.DataFrame, persons: pd.Series | None) -> dict[str, float]:
    """SDs between persons and between runs, by analysis of variance with additive conditions (and persons)."""
    values, conditions = runs["value"].to_numpy(dtype=float), pd.get_dummies(runs["condition"]).to_numpy(dtype=float)
    within, left = _residual(values, conditions)
    if persons is None:
        return {"person": math.nan, "run": _root(within, left), "freedom": left}
    both = np.hstack([conditions, pd.get_dummies(persons).to_numpy(dtype=float)])
    rest, spare = _residual(values, both)
    if spare < 1:
        return {"person": math.nan, "run": math.nan, "freedom": 0}
    between = (within - rest) / (left - spare) - rest / spare
    each = len(values) / persons.nunique()
    return {"person": math.sqrt(max(between, 0.0) / each), "run": _root(rest, spare), "freedom": spare}


def _residual(values: Floats, design: Floats) -> tuple[float, int]:
    """Sum of squares that a design leaves, and its degrees of freedom."""
    found, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    return float(((values - design @ found) ** 2).sum()), len(values) - int(rank)


def _root(squares: float, freedom: int) -> float:
    return math.sqrt(squares / freedom) if freedom > 0 else math.nan


def _scatter(scores: pd.DataFrame) -> float:
    squares, freedom = 0.0, 0
    for _, line in scores.dropna(subset=["score"]).groupby(["condition", "run"], sort=False):
        if len(line) > 2:
            at = line["statement"].to_numpy(dtype=float)
            rest, left = _residual(line["score"].to_numpy(dtype=float), np.column_stack([np.ones(len(at)), at]))
            squares, freedom = squares + rest, freedom + left
    return _root(squares, freedom)


def runs_needed(found: pd.DataFrame) -> pd.DataFrame:
    """Return runs a condition for a difference in an agent's mean score, from `components`.

    Where people were varied: the same people in both conditions, new ones in each run, tested in pairs. Else runs of the same
    people, independent (`basis` says so). Columns: topic, agent, difference, power, rooms, rooms_low, rooms_high (see
    `rooms_needed`), basis.
    """
    parts = []
    for row in found.to_dict("records"):
        varied = row["casts"] > 1
        deviation = row["run"] * (math.sqrt(2) if varied else 1)
        needed = rooms_needed(deviation, paired=varied, freedom=row["freedom"])
        basis = (SAME_PEOPLE if row["freedom"] else ONE_CONDITION) if varied else ONE_CAST
        parts.append(needed.assign(topic=row["topic"], agent=row["agent"], basis=basis))
    columns = ["topic", "agent", "difference", "power", "rooms", "rooms_low", "rooms_high", "basis"]
    return pd.concat(parts, ignore_index=True)[columns]
