"""Odds of more agreement with the opponent after a debate, by condition: a proportional odds regression.

The measure of Salvi et al. 2025: agreement with the opponent's side on five points, after the debate, by condition and agreement
before it. An odds ratio of 2 doubles the odds of each higher answer. Intervals allow for people of one debate, or of one set
that meets in several debates, being alike. They are Student's, with a degree of freedom less than effective debates or sets
(analysis/statistics/clusters.py), because normal ones are too narrow for few (Cameron and Miller 2015, Journal of Human
Resources 50(2)).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import stdtrit
from statsmodels.miscmodels.ordinal_model import OrderedModel
from statsmodels.tools.sm_exceptions import ConvergenceWarning, HessianInversionWarning

from parley.analysis.human.readers import Source
from parley.analysis.statistics.clusters import effective_clusters
from parley.analysis.statistics.intervals import FEWEST, LEVEL, Floats

STEPS = 4
"""Steps from one end of the scale of five points to the other."""
LARGEST = 10.0
"""Logits beyond which an estimate means that the conditions do not overlap, and that no finite one exists."""


def odds_table(source: Source, conditions: Sequence[str]) -> pd.DataFrame:
    """Return one row per condition after the first, which is the reference: condition, people, groups, odds, low, high, reason.

    source: people with `side`, `before` and `after` (0 to 1); ratings between two points count as the nearer one.
    odds: the ratio (1: no difference) with its 95% interval, clustered by the unit of the source; NaN with a reason where it
    is unknown.
    """
    people = source.people.assign(unit=source.units(source.people["group"]))
    people = people[people["condition"].isin(conditions)]
    sign = np.where(people["side"] > 0, 1.0, -1.0)
    rounded = people.assign(
        after=np.rint(STEPS * (0.5 + sign * (people["after"] - 0.5))), before=sign * (people["before"] - 0.5)
    )
    complete = rounded[(rounded["side"] != 0) & rounded[["after", "before", "side"]].notna().all(axis=1)]
    of = [complete[complete["condition"] == name] for name in conditions]
    by_condition: dict[str, tuple[float, float, float]] = {}
    kind = "sets of people" if source.casts else "debates"
    reason = _why_unknown(complete, [condition_people["unit"].nunique() for condition_people in of], kind)
    if not reason:
        by_condition, reason = _fit(complete, list(conditions[1:]))
    rows = []
    for name, condition_people in zip(conditions[1:], of[1:], strict=True):
        odds, low, high = by_condition.get(name, (np.nan,) * 3)
        counts = {"condition": name, "people": len(condition_people), "groups": condition_people["group"].nunique()}
        rows.append({**counts, "odds": odds, "low": low, "high": high, "reason": reason})
    return pd.DataFrame(rows)


def _why_unknown(complete: pd.DataFrame, units: Sequence[int], kind: str) -> str:
    if min(units) < FEWEST:
        return f"fewer than {FEWEST} {kind} of a condition have ratings before and after"
    return "all people agree equally after the debate" if complete["after"].nunique() < 2 else ""


def _fit(complete: pd.DataFrame, names: Sequence[str]) -> tuple[dict[str, tuple[float, float, float]], str]:
    """Return the odds ratios with their ends by condition, or none and why."""
    design = pd.DataFrame({name: (complete["condition"] == name).astype(float) for name in names})
    if complete["before"].nunique() > 1:
        design["before"] = complete["before"]
    clusters = pd.factorize(complete["unit"])[0]
    answers = pd.Categorical(complete["after"], ordered=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        warnings.simplefilter("error", HessianInversionWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            model = OrderedModel(answers, design, distr="logit")
            fit = model.fit(method="bfgs", disp=0, maxiter=500, cov_type="cluster", cov_kwds={"groups": clusters})
        except (ConvergenceWarning, HessianInversionWarning, np.linalg.LinAlgError):
            return {}, "the regression does not converge"
    estimates, errors = (np.asarray(values, dtype=float)[: len(names)] for values in (fit.params, fit.bse))
    if not np.isfinite(errors).all() or np.max(np.abs(estimates)) > LARGEST:
        return {}, "the conditions do not overlap, so no finite odds exist"
    units = np.array([effective_clusters(_shares(complete, name, names)) for name in names])
    needed = FEWEST if complete.groupby("unit")["condition"].nunique().max() > 1 else 2 * FEWEST  # of both conditions
    if (np.rint(units) < needed).any():
        worth = f"{units.min():.1f} equal ones"
        return {}, f"too unequal: the debates of two conditions are worth {worth}, and {needed} are needed"
    reaches = stdtrit(units - 1, (1 + LEVEL) / 2) * errors
    ends = np.exp(np.column_stack([estimates, estimates - reaches, estimates + reaches]))
    return {name: (float(row[0]), float(row[1]), float(row[2])) for name, row in zip(names, ends, strict=True)}, ""


def _shares(complete: pd.DataFrame, name: str, names: Sequence[str]) -> Floats:
    """Return what each unit weighs in the odds of a condition: its share of the people in it, and in the reference."""
    both = (complete["condition"] == name) | ~complete["condition"].isin(names)
    compared = complete[both].assign(of=complete["condition"] == name)
    shares = (1 / compared.groupby("of")["unit"].transform("size")).groupby(compared["unit"]).sum()
    return np.asarray(shares, dtype=np.float64)
