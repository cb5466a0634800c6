"""The measures of opinion change, the same for people and runs.

Intervals: 95%, over groups (debates, rooms), or over sets of people, where one set meets in several groups.

**Regression to the mean.** An opinion that is extreme by chance is less extreme the next time. So change correlates
negatively with the opinion before even without any influence: with equal spread before and after, r is -sqrt((1 - r') /
2), where r' is the correlation of before and after. It compares sources but proves nothing. The distance to a partner
contains the opinion before, with the other sign, and is no better. Oldham's correlation, of change with the mean of
before and after, has no such part as long as chance is as large after as before: it is negative when opinions really
draw together.

**Partner's opinion**: the partial correlation of change with it, given one's own opinion before, all as deviations from the mean
of that seat in that condition. It has no such part either, if partners are met by chance: it is 0 without influence, even if all
people drift or return to the mean. Example: the oracle with `kappa=0` has .8 against the distance, and about 0 here.

Sources: Oldham 1962, Journal of Chronic Diseases 15; DEBATE, arXiv 2510.25110 (the other correlations and the spread).
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from itertools import zip_longest

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from parley.analysis.human.readers import Source, complete
from parley.analysis.statistics.groups import Result
from parley.analysis.statistics.intervals import (
    POSITIVE,
    SHARE,
    Floats,
    correlation,
    correlation_interval,
    interval,
    mean_interval,
    why_no_interval,
)

FEWEST = 10
"""People below which there is no correlation, as in `analysis/judge_quality.py`."""
EQUAL = 1e-9
"""Opinions that differ by less are equal: the difference is rounding."""
NO_PEOPLE = "the source has numbers of groups only"
FEW = f"fewer than {FEWEST} people"
ALIKE = "all persons have the same value"
NO_PARTNER = "no partner's opinion is known"
SAME_PARTNERS = "partners do not differ between groups"
LIKE_PARTNERS = (
    "partners' opinions correlate with one's own opinion before the debate, and then noise in ratings looks "
    "like influence"
)
NO_SIDE = "no person has another side"
NO_SPREAD = "no group has two people rated both before and after"
NO_MAJORITY = "no group of three or more people leans to a side"
TITLES = {
    "own": "change against own initial opinion, r",
    "oldham": "change against mean of before and after, r",
    "distance": "change against distance to partner, r",
    "partner": "change against partner's opinion, own opinion fixed, r",
    "still": "share that does not move",
    "toward": "change toward the other side",
    "majority": "share toward the majority minus away",
    "sd_before": "group SD before",
    "sd_after": "group SD after",
    "spread": "change of group SD",
}


def measure_source(source: Source) -> pd.DataFrame:
    """Return a row per condition and measure: source, condition, groups, units (sets of people, or the groups), people (known
    before and after), missing (the others), key (of TITLES), and the columns of a Result.
    """
    rows = []
    for condition, people, moves in source.parts():
        rated, groups = complete(people), (people if len(people) else moves)["group"]
        counts = {
            "groups": groups.nunique(),
            "units": source.units(groups).nunique(),
            "people": len(rated) if len(people) else int(moves["persons"].sum()),
            "missing": len(people) - len(rated) if len(people) else int(moves["missing"].sum()),
        }
        for key, result in _results(source, condition, rated, moves).items():
            rows.append({"source": source.name, "condition": condition, **counts, "key": key, **asdict(result)})
    return pd.DataFrame(rows)


def _results(source: Source, condition: str, people: pd.DataFrame, moves: pd.DataFrame) -> dict[str, Result]:
    r, share, mean = (Result(condition, source.unit, 0, measure, "") for measure in ("r", "share", "mean"))
    before, after, units = people["before"], people["after"], source.units(people["group"])
    change = after - before
    results = {
        "own": change_correlation(r, change, before, units),
        "oldham": change_correlation(r, change, (before + after) / 2, units),
        "distance": change_correlation(r, change, people["partner"] - before, units, NO_PARTNER),
        "partner": partner_correlation(r, people, units),
        "still": average(share, stayed_put(change, source.still), units),
        "toward": average(mean, change * people["side"], units, NO_SIDE),
        "majority": average(mean, moves["moved"], source.units(moves["group"]), NO_MAJORITY),
        **_spreads(mean, source, people),
    }
    if people.empty:
        results |= {key: replace(r, reason=NO_PEOPLE) for key in results if key != "majority"}
    return results


def stayed_put(change: pd.Series, still: float) -> pd.Series:
    """Return 1 for a change of at most `still` (0-1; 0: the same point of the scale), else 0.

    >>> stayed_put(pd.Series([0.0, 0.1, -0.3]), 0.1).tolist()
    [1.0, 1.0, 0.0]
    """
    return (change.abs() <= still + EQUAL).astype(float)


def change_correlation(
    blank: Result, change: pd.Series, other: pd.Series, units: pd.Series, absent: str = FEW
) -> Result:
    """Return Pearson's r of the changes with another number of the same people; see the module on regression to the
    mean.

    Pairs with a gap are left out; `absent` is the reason when no pair is left.
    """
    have_both = change.notna() & other.notna()
    x, y = ((values[have_both] - values[have_both].mean()).to_numpy() for values in (change, other))
    result = replace(blank, n=units[have_both].nunique())
    if len(x) < FEWEST:
        return replace(result, reason=FEW if len(x) else absent)
    sums = _unit_sums([np.ones(len(x)), x, y, x * x, y * y, x * y], units[have_both])
    r = float(correlation(sums.sum(axis=0))) if min(np.ptp(x), np.ptp(y)) > EQUAL else math.nan
    return replace(result, reason=ALIKE) if math.isnan(r) else _with_estimate(result, r, correlation_interval(sums))


def partner_correlation(blank: Result, people: pd.DataFrame, units: pd.Series) -> Result:
    """Return the partial correlation of change with the partner's opinion, given one's own before; see the module.

    All are taken minus the mean of the same seat and condition. Seats that occur once in a condition are left out. Unknown where
    partners are not met by chance: where their opinions before correlate with one's own (the interval excludes 0).
    """
    seats = ["condition", "person"]
    met = people.dropna(subset=["before", "after", "partner"])
    met = met[met.groupby(seats)["partner"].transform("size") > 1]
    terms = pd.DataFrame({"change": met["after"] - met["before"], "partner": met["partner"], "own": met["before"]})
    terms -= terms.groupby([met[name] for name in seats]).transform("mean")
    change, partner = (_residuals(terms[name], terms["own"]) for name in ("change", "partner"))
    result = change_correlation(blank, change, partner, units[met.index], NO_PARTNER)
    if len(met) >= FEWEST and np.ptp(terms["partner"]) <= EQUAL:  # a fixed cast: the same people sit in every group
        return replace(result, reason=SAME_PARTNERS)
    alike = change_correlation(blank, terms["own"], terms["partner"], units[met.index])
    return replace(blank, n=result.n, reason=LIKE_PARTNERS) if alike.low > 0 or alike.high < 0 else result


def _residuals(values: pd.Series, given: pd.Series) -> pd.Series:
    """Return what a line through 0 on `given` leaves of values; all of it where nothing is given."""
    square = float((given**2).sum())
    return values - given * float((values * given).sum()) / square if square > EQUAL else values


def average(blank: Result, values: pd.Series, units: pd.Series, absent: str = FEW) -> Result:
    """Return the mean over people, each with the same weight; `absent` is the reason when there are none."""
    is_present = values.notna()
    values, units = values[is_present], units[is_present]
    result = replace(blank, n=units.nunique())
    if values.empty:
        return replace(result, reason=absent)
    sums = _unit_sums([values.to_numpy(), np.ones(len(values))], units)
    bounds = SHARE if blank.measure == "share" else None
    mean = lambda drawn: np.asarray(drawn[..., 0].sum(axis=1) / drawn[..., 1].sum(axis=1))  # noqa: E731
    ends = interval(sums, mean, sums[:, 1], bounds)
    return _with_estimate(result, float(values.mean()), ends)


def _spreads(blank: Result, source: Source, people: pd.DataFrame) -> dict[str, Result]:
    """Return the SD of opinions `within` a group, averaged over units: before, after, and the change by a paired
    t-test.

    The standardised size is the mean change over its SD.
    """
    names, groups = ("sd_before", "sd_after", "spread"), within(people)
    means = groups.groupby(source.units(groups.index.to_series())).mean()
    blank = replace(blank, n=len(means))
    if groups.empty:
        return dict.fromkeys(names, replace(blank, reason=NO_SPREAD))
    before, after = means.to_numpy(dtype=float).T
    change = after - before
    bounded = ((before, POSITIVE), (after, POSITIVE), (change, None))
    results = [_with_estimate(blank, float(x.mean()), mean_interval(x, bounds=bounds)) for x, bounds in bounded]
    results[2] = replace(results[2], measure="difference", test="paired t")
    if not why_no_interval(change, "group"):
        test, size = ttest_rel(after, before), float(change.mean() / change.std(ddof=1))
        statistic, df, p = float(test.statistic), float(test.df), float(test.pvalue)
        results[2] = replace(results[2], statistic=statistic, df=df, p=p, size=size, size_name="Cohen's dz")
    return dict(zip(names, results, strict=True))


def within(people: pd.DataFrame) -> pd.DataFrame:
    """Return a row per group of two or more people: the SD (n - 1) of its opinions, before and after."""
    return people.groupby("group")[["before", "after"]].std(ddof=1).dropna()


def traces(source: Source) -> pd.DataFrame:
    """Return how far people have gone toward the other side after each turn: condition, turn (0: before), last (the
    opinion after the talk), mean (0-1, since before), low, high, n (people).

    Turns with opinions of fewer than half the people are left out: the few who talk long differ from the others.
    """
    rows: list[dict[str, object]] = []
    rated = complete(source.people)
    traced = rated[rated["turns"].map(bool) & rated["side"].notna()]
    for condition, condition_people in traced.groupby("condition", sort=False):
        turns = np.array(list(zip_longest(*condition_people["turns"], fillvalue=np.nan)), dtype=float).T
        frequent = turns[:, np.isfinite(turns).sum(axis=0) * 2 >= len(condition_people)]
        opinions = np.column_stack([frequent, condition_people["after"]])
        moved = (opinions - condition_people[["before"]].to_numpy()) * condition_people[["side"]].to_numpy()
        rows.append({"condition": condition, "turn": 0, "last": False, "mean": 0.0, "n": len(condition_people)})
        for turn, values in enumerate(moved.T, 1):
            mean = average(
                Result("", "", 0, "mean", ""),
                pd.Series(values, condition_people.index),
                source.units(condition_people["group"]),
            )
            ends = {"mean": mean.estimate, "low": mean.low, "high": mean.high, "n": int(np.isfinite(values).sum())}
            rows.append({"condition": condition, "turn": turn, "last": turn == moved.shape[1], **ends})
    table = pd.DataFrame(rows, columns=["condition", "turn", "last", "mean", "low", "high", "n"])
    numbers = dict.fromkeys(("mean", "low", "high"), "float64")
    return table.astype({"turn": "int64", "last": "bool", "n": "int64"} | numbers)


def _with_estimate(result: Result, estimate: float, ends: tuple[float, float]) -> Result:
    return replace(result, estimate=estimate, low=ends[0], high=ends[1])


def _unit_sums(terms: list[Floats], units: pd.Series) -> Floats:
    """(units, k): the sums over people of k terms."""
    people = pd.DataFrame(np.column_stack(terms))
    return np.asarray(people.groupby(units.to_numpy(), sort=False).sum(), dtype=float)
