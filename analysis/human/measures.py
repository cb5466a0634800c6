"""Measures of how people change their opinions, the same for every source. Intervals: 95%, over groups (debates,
rooms).

**Regression to the mean.** An opinion that is extreme by chance is less extreme the next time. So change correlates
negatively with the opinion before even without any influence: with equal spread before and after, r is -sqrt((1 - r') /
2), where r' is the correlation of before and after. It compares sources but proves nothing. The distance to a partner
contains the opinion before, with the other sign, and is no better. Oldham's correlation, of change with the mean of
before and after, has no such part as long as chance is as large after as before: it is negative when opinions really
draw together.

**Shuffled partners** are the null condition of the distance: each partner is exchanged for that of the same seat in
another group, with whom one never spoke. The correlation that is left needs no influence.

Sources: Oldham 1962, Journal of Chronic Diseases 15; DEBATE, arXiv 2510.25110 (the other correlations and the spread).
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from itertools import zip_longest

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from parley.analysis.bootstrap import (
    Floats,
    correlation,
    correlation_interval,
    interval,
    mean_interval,
    why_no_interval,
)
from parley.analysis.human.readers import Source, complete
from parley.analysis.statistics.results import Result
from parley.llm.seeding import derive

FEWEST = 10
"""People below which there is no correlation, as in `analysis/judge_quality.py`."""
SHUFFLES = 999
EQUAL = 1e-9
"""Opinions that differ by less are equal: the difference is rounding."""
NO_PEOPLE = "the source tells of groups alone"
FEW = f"fewer than {FEWEST} people"
ALIKE = "no person differs from another"
NO_PARTNER = "no partner's opinion is known"
SAME_PARTNERS = "partners do not differ between groups"
NO_SIDE = "there is no other side"
NO_SPREAD = "no group has two people rated before and after"
NO_MAJORITY = "no group of three and more that leans to a side"
TITLES = {
    "own": "change against own initial opinion, r",
    "oldham": "change against mean of before and after, r",
    "distance": "change against distance to partner, r",
    "shuffled": "the same with shuffled partners (95% of shuffles)",
    "still": "share that does not move",
    "toward": "change toward the other side",
    "majority": "share toward the majority minus away",
    "sd_before": "group SD before",
    "sd_after": "group SD after",
    "spread": "change of group SD",
}


def measure_source(source: Source) -> pd.DataFrame:
    """Return a row per condition and measure: source, condition, groups, people (known before and after), missing (the
    others), key (of TITLES), and the columns of a Result.
    """
    rows = []
    for condition, people, moves in source.parts():
        known = complete(people)
        counts = {
            "groups": (people if len(people) else moves)["group"].nunique(),
            "people": len(known) if len(people) else int(moves["persons"].sum()),
            "missing": len(people) - len(known) if len(people) else int(moves["missing"].sum()),
        }
        for key, result in _results(source, condition, known, moves).items():
            rows.append({"source": source.name, "condition": condition, **counts, "key": key, **asdict(result)})
    return pd.DataFrame(rows)


def _results(source: Source, condition: str, people: pd.DataFrame, moves: pd.DataFrame) -> dict[str, Result]:
    r, share, mean = (Result(condition, source.unit, 0, measure, "") for measure in ("r", "share", "mean"))
    before, after, groups = people["before"], people["after"], people["group"]
    change = after - before
    results = {
        "own": change_correlation(r, change, before, groups),
        "oldham": change_correlation(r, change, (before + after) / 2, groups),
        "distance": change_correlation(r, change, people["partner"] - before, groups, NO_PARTNER),
        "shuffled": shuffled_partner_null(r, people),
        "still": average(share, stayed_put(change, source.still), groups),
        "toward": average(mean, change * people["side"], groups, NO_SIDE),
        "majority": average(mean, moves["moved"], moves["group"], NO_MAJORITY),
        **_spreads(mean, people),
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
    blank: Result, change: pd.Series, other: pd.Series, groups: pd.Series, absent: str = FEW
) -> Result:
    """Return Pearson's r of the changes with another number of the same people; see the module on regression to the
    mean.

    Pairs with a gap are left out; `absent` is the reason when no pair is left.
    """
    known = change.notna() & other.notna()
    x, y = ((values[known] - values[known].mean()).to_numpy() for values in (change, other))
    result = replace(blank, n=groups[known].nunique())
    if len(x) < FEWEST:
        return replace(result, reason=FEW if len(x) else absent)
    sums = _group_sums([np.ones(len(x)), x, y, x * x, y * y, x * y], groups[known])
    r = float(correlation(sums.sum(axis=0))) if min(np.ptp(x), np.ptp(y)) > EQUAL else math.nan
    return replace(result, reason=ALIKE) if math.isnan(r) else _with_estimate(result, r, correlation_interval(sums))


def shuffled_partner_null(blank: Result, people: pd.DataFrame) -> Result:
    """Return `change_correlation` for the distance with partners shuffled over groups, condition by condition and seat
    by seat.

    The estimate is the mean r of SHUFFLES; 95% of them lie between its ends. p: of the true r among them (two-sided,
    Phipson and Smyth 2010).
    """
    known = people.dropna(subset=["partner"])
    result = replace(blank, n=known["group"].nunique(), test="permutation of partners")
    before, after, partner = known[["before", "after", "partner"]].to_numpy(dtype=float).T
    change = after - before
    seats = [places for places in known.groupby(["condition", "person"]).indices.values() if len(places) > 1]
    if len(known) < FEWEST or not seats or min(np.ptp(change), np.ptp(partner - before)) <= EQUAL:
        return replace(result, reason=NO_PARTNER if known.empty else FEW if len(known) < FEWEST else ALIKE)
    rng, drawn = np.random.default_rng(derive(0, "strangers", blank.effect)), np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        other = partner.copy()
        for places in seats:
            other[places] = rng.permutation(partner[places])
        drawn[number] = np.corrcoef(change, other - before)[0, 1]
    if np.ptp(drawn) <= EQUAL:  # a fixed cast: the same people sit in every group
        return replace(result, reason=SAME_PARTNERS)
    true, centre = np.corrcoef(change, partner - before)[0, 1], drawn.mean()
    p = (1 + (np.abs(drawn - centre) >= abs(true - centre) - EQUAL).sum()) / (SHUFFLES + 1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return _with_estimate(replace(result, p=float(p)), float(centre), (float(low), float(high)))


def average(blank: Result, values: pd.Series, groups: pd.Series, absent: str = FEW) -> Result:
    """Return the mean over people, each with the same weight; `absent` is the reason when there are none.

    The interval of a share ends at 0 and 1.
    """
    known = values.notna()
    values, groups = values[known], groups[known]
    result = replace(blank, n=groups.nunique())
    if values.empty:
        return replace(result, reason=absent)
    sums = _group_sums([values.to_numpy(), np.ones(len(values))], groups)
    ends = interval(sums, lambda drawn: np.asarray(drawn[..., 0].sum(axis=1) / drawn[..., 1].sum(axis=1)))
    if blank.measure == "share":
        ends = (max(ends[0], 0.0), min(ends[1], 1.0))
    return _with_estimate(result, float(values.mean()), ends)


def _spreads(blank: Result, people: pd.DataFrame) -> dict[str, Result]:
    """Return the SD of opinions `within` a group, averaged over groups: before, after, and the change by a paired
    t-test.

    The standardised size is the mean change over its SD.
    """
    names, groups = ("sd_before", "sd_after", "spread"), within(people)
    blank = replace(blank, n=len(groups))
    if groups.empty:
        return dict.fromkeys(names, replace(blank, reason=NO_SPREAD))
    before, after = groups.to_numpy(dtype=float).T
    change = after - before
    results = [_with_estimate(blank, float(x.mean()), mean_interval(x)) for x in (before, after, change)]
    results[2] = replace(results[2], measure="difference", test="paired t")
    if not why_no_interval(change, "group"):
        test, size = ttest_rel(after, before), float(change.mean() / change.std(ddof=1))
        statistic, df, p = float(test.statistic), float(test.df), float(test.pvalue)
        results[2] = replace(results[2], statistic=statistic, df=df, p=p, size=size, size_name="Cohen's dz")
    return dict(zip(names, results, strict=True))


def within(people: pd.DataFrame) -> pd.DataFrame:
    """Return a row per group of two or more people: the SD (n - 1) of its opinions, before and after."""
    return people.groupby("group")[["before", "after"]].std(ddof=1).dropna()


def traces(people: pd.DataFrame) -> pd.DataFrame:
    """Return how far people have gone toward the other side after each turn: condition, turn (0: before), last (the
    opinion after the talk), mean (0-1, since before), low, high, n (people).

    Turns with opinions of fewer than half the people are left out: the few who talk long differ from the others.
    """
    rows: list[dict[str, object]] = []
    known = complete(people)
    asked = known[known["turns"].map(bool) & known["side"].notna()]
    for condition, part in asked.groupby("condition", sort=False):
        turns = np.array(list(zip_longest(*part["turns"], fillvalue=np.nan)), dtype=float).T
        frequent = turns[:, np.isfinite(turns).sum(axis=0) * 2 >= len(part)]
        opinions = np.column_stack([frequent, part["after"]])
        moved = (opinions - part[["before"]].to_numpy()) * part[["side"]].to_numpy()
        rows.append({"condition": condition, "turn": 0, "last": False, "mean": 0.0, "n": len(part)})
        for turn, values in enumerate(moved.T, 1):
            mean = average(Result("", "", 0, "mean", ""), pd.Series(values, part.index), part["group"])
            ends = {"mean": mean.estimate, "low": mean.low, "high": mean.high, "n": int(np.isfinite(values).sum())}
            rows.append({"condition": condition, "turn": turn, "last": turn == moved.shape[1], **ends})
    table = pd.DataFrame(rows, columns=["condition", "turn", "last", "mean", "low", "high", "n"])
    numbers = dict.fromkeys(("mean", "low", "high"), "float64")
    return table.astype({"turn": "int64", "last": "bool", "n": "int64"} | numbers)


def _with_estimate(result: Result, estimate: float, ends: tuple[float, float]) -> Result:
    return replace(result, estimate=estimate, low=ends[0], high=ends[1])


def _group_sums(terms: list[Floats], groups: pd.Series) -> Floats:
    """(groups, k): the sums over people of k terms."""
    people = pd.DataFrame(np.column_stack(terms))
    return np.asarray(people.groupby(groups.to_numpy(), sort=False).sum(), dtype=float)
