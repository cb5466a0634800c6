"""What is measured, on any source alike. Intervals: 95%, over groups (debates, rooms), the unit of analysis.

**Regression to the mean.** Who says something extreme by chance says something less extreme the next time. A negative
correlation of change with the opinion before is there without any influence; with equal spread before and after it is
-sqrt((1 - r) / 2), r the correlation of before and after. It compares sources, it proves nothing. The distance to a partner
holds the opinion before as well, with the other sign, and is no better. Oldham's correlation, of change with the mean of before
and after, has no such part as long as chance is as large after as before: it is negative when opinions really draw together.
**Shuffled partners** are the null condition of the distance: each one's partner is exchanged for that of the same seat in another
group, with which they never spoke. What is left of the correlation is what there is without hearing anybody.

Sources: Oldham 1962, Journal of Chronic Diseases 15 (the third); DEBATE, arXiv 2510.25110 (the others and the spread).
"""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel

from parley.analysis.bootstrap import Floats, correlation, correlation_interval, interval, mean_interval
from parley.analysis.human.readers import Source, complete
from parley.analysis.statistics.results import Result
from parley.llm.seeding import derive

FEWEST = 10
"""People below which no correlation is told, as in `analysis/judge_quality.py`."""
SHUFFLES = 999
EQUAL = 1e-9
"""Opinions that differ by less are equal; what is above it is rounding."""
NO_PEOPLE = "the source tells of groups alone"
FEW = f"fewer than {FEWEST} people"
ALIKE = "nobody differs from anybody"
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
    """One row a condition and measure: source, condition, groups, people (known before and after), missing (people not so),
    key (of TITLES), and the columns of a Result.
    """
    rows = []
    for condition, people, moves in source.parts():
        known = complete(people)
        counted = {
            "groups": (people if len(people) else moves)["group"].nunique(),
            "people": len(known) if len(people) else int(moves["persons"].sum()),
            "missing": len(people) - len(known) if len(people) else int(moves["missing"].sum()),
        }
        for key, result in _results(source, condition, known, moves).items():
            rows.append({"source": source.name, "condition": condition, **counted, "key": key, **asdict(result)})
    return pd.DataFrame(rows)


def _results(source: Source, condition: str, people: pd.DataFrame, moves: pd.DataFrame) -> dict[str, Result]:
    blank = Result(condition, source.unit, 0, "r", "")
    change = people["after"] - people["before"]
    found = {
        "own": change_correlation(blank, change, people["before"], people["group"]),
        "oldham": change_correlation(blank, change, (people["before"] + people["after"]) / 2, people["group"]),
        "distance": change_correlation(
            blank, change, people["partner"] - people["before"], people["group"], NO_PARTNER
        ),
        "shuffled": shuffled_partner_null(blank, people),
        "still": average(replace(blank, measure="share"), stayed_put(change, source.still), people["group"]),
        "toward": average(replace(blank, measure="mean"), change * people["side"], people["group"], NO_SIDE),
        "majority": average(replace(blank, measure="mean"), moves["moved"], moves["group"], NO_MAJORITY),
        **spreads(replace(blank, measure="mean"), people),
    }
    if people.empty:
        found |= {key: replace(blank, reason=NO_PEOPLE) for key in found if key != "majority"}
    return found


def stayed_put(change: pd.Series, still: float) -> pd.Series:
    """1 for who did not move: `still` and less (0-1), or, where that is 0, the same point of the scale; else 0.

    >>> stayed_put(pd.Series([0.0, 0.1, -0.3]), 0.1).tolist()
    [1.0, 1.0, 0.0]
    """
    return (change.abs() <= still + EQUAL).astype(float)


def change_correlation(
    blank: Result, change: pd.Series, other: pd.Series, groups: pd.Series, absent: str = FEW
) -> Result:
    """Pearson's r of the changes with another number of the same people; see the module on regression to the mean.

    Pairs with a gap are left out; `absent` is the reason when none is left.
    """
    there = change.notna() & other.notna()
    one, two, groups = change[there], other[there], groups[there]
    begun = replace(blank, n=groups.nunique())
    if len(one) < FEWEST:
        return replace(begun, reason=FEW if len(one) else absent)
    x, y = (one - one.mean()).to_numpy(), (two - two.mean()).to_numpy()
    sums = _by_group(np.column_stack([np.ones(len(x)), x, y, x * x, y * y, x * y]), groups)
    r = float(correlation(sums.sum(axis=0))) if min(np.ptp(x), np.ptp(y)) > EQUAL else math.nan
    if math.isnan(r):
        return replace(begun, reason=ALIKE)
    return _spanned(begun, r, correlation_interval(sums))


def shuffled_partner_null(blank: Result, people: pd.DataFrame) -> Result:
    """`change_correlation` for the distance with partners shuffled over groups, condition by condition and seat by seat.

    The estimate is the mean r of SHUFFLES, its ends are those between which 95% of them lie; p is that of the true r among them
    (both sides, Phipson and Smyth 2010).
    """
    known = people.dropna(subset=["partner"])
    begun = replace(blank, n=known["group"].nunique(), test="permutation of partners")
    change, before, partner = (
        values.to_numpy(dtype=float) for values in (known["after"] - known["before"], known["before"], known["partner"])
    )
    seats = [places for places in known.groupby(["condition", "person"]).indices.values() if len(places) > 1]
    if len(known) < FEWEST or not seats or min(np.ptp(change), np.ptp(partner - before)) <= EQUAL:
        return replace(begun, reason=NO_PARTNER if known.empty else FEW if len(known) < FEWEST else ALIKE)
    rng, drawn = np.random.default_rng(derive(0, "strangers", blank.effect)), np.empty(SHUFFLES)
    for number in range(SHUFFLES):
        other = partner.copy()
        for places in seats:
            other[places] = rng.permutation(partner[places])
        drawn[number] = np.corrcoef(change, other - before)[0, 1]
    if np.ptp(drawn) <= EQUAL:  # a fixed cast: the same people sit in every group
        return replace(begun, reason=SAME_PARTNERS)
    true, centre = np.corrcoef(change, partner - before)[0, 1], drawn.mean()
    p = (1 + (np.abs(drawn - centre) >= abs(true - centre) - EQUAL).sum()) / (SHUFFLES + 1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return replace(begun, estimate=float(centre), low=float(low), high=float(high), p=float(p))


def average(blank: Result, values: pd.Series, groups: pd.Series, absent: str = FEW) -> Result:
    """The mean over people, every one the same weight; `absent` is the reason when there are none."""
    there = values.notna()
    values, groups = values[there], groups[there]
    begun = replace(blank, n=groups.nunique())
    if values.empty:
        return replace(begun, reason=absent)
    sums = _by_group(np.column_stack([values, np.ones(len(values))]), groups)
    return _spanned(begun, float(values.mean()), interval(sums, _ratio))


def spreads(blank: Result, people: pd.DataFrame) -> dict[str, Result]:
    """SD of opinions `within` a group, the mean over groups: before, after, and the change by a paired t-test.

    The standardised size is the mean change over its SD.
    """
    groups = within(people)
    before, after = (groups[name].to_numpy(dtype=float) for name in ("before", "after"))
    blank = replace(blank, n=len(groups))
    names = ("sd_before", "sd_after", "spread")
    if groups.empty:
        return dict.fromkeys(names, replace(blank, reason=NO_SPREAD))
    found = [_spanned(blank, float(values.mean()), mean_interval(values)) for values in (before, after, after - before)]
    return dict(zip(names, [*found[:2], _paired(found[2], before, after)], strict=True))


def within(people: pd.DataFrame) -> pd.DataFrame:
    """A row a group of two and more rated before and after: the SD (n - 1) of its opinions, before and after."""
    return people.groupby("group")[["before", "after"]].std(ddof=1).dropna()


def traces(people: pd.DataFrame) -> pd.DataFrame:
    """How far people have gone toward the other side after each turn: condition, turn (0: before; `last` the opinion after),
    last, mean (0-1 since before), low, high, n (people).

    A turn that fewer than half of those with turns were asked after is left out: the few who talk long are others.
    """
    rows = []
    known = complete(people)
    asked = known[known["turns"].map(bool) & known["side"].notna()]
    for condition, part in asked.groupby("condition", sort=False):
        longest = part["turns"].map(len).max()
        beliefs = np.array([[*turns, *[np.nan] * (longest - len(turns))] for turns in part["turns"]])
        kept = beliefs[:, np.isfinite(beliefs).sum(axis=0) * 2 >= len(part)]
        gone = (np.column_stack([kept, part["after"]]) - part[["before"]].to_numpy()) * part[["side"]].to_numpy()
        rows.append({"condition": condition, "turn": 0, "last": False, "mean": 0.0, "n": len(part)})
        for turn, values in enumerate(gone.T, 1):
            told = average(
                Result(f"{condition} {turn}", "", 0, "mean", ""), pd.Series(values, part.index), part["group"]
            )
            ends = {"mean": told.estimate, "low": told.low, "high": told.high}
            there = int(np.isfinite(values).sum())
            rows.append({"condition": condition, "turn": turn, "last": turn == gone.shape[1], **ends, "n": there})
    found = pd.DataFrame(rows, columns=["condition", "turn", "last", "mean", "low", "high", "n"])
    return found.astype(
        {"turn": "int64", "last": "bool", "n": "int64"} | dict.fromkeys(("mean", "low", "high"), "float64")
    )


def _spanned(begun: Result, estimate: float, ends: tuple[float, float]) -> Result:
    return replace(begun, estimate=estimate, low=ends[0], high=ends[1])


def _paired(found: Result, before: Floats, after: Floats) -> Result:
    found = replace(found, measure="difference", test="paired t")
    if len(before) < 2 or np.ptp(after - before) < EQUAL:
        return found
    told = ttest_rel(after, before)
    size = float((after - before).mean() / (after - before).std(ddof=1))
    p, df = float(told.pvalue), float(told.df)
    return replace(found, statistic=float(told.statistic), df=df, p=p, size=size, size_name="Cohen's dz")


def _by_group(terms: Floats, groups: pd.Series) -> Floats:
    """(groups, k): the sums of (people, k)."""
    sums: Floats = pd.DataFrame(terms).groupby(groups.to_numpy(), sort=False).sum().to_numpy(dtype=float)
    return sums


def _ratio(drawn: Floats) -> Floats:
    """(draws, groups, 2): the mean over people of each draw, from sums and numbers of people."""
    return np.asarray(drawn[..., 0].sum(axis=1) / drawn[..., 1].sum(axis=1))
