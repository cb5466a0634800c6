"""Mixed models of repeated measures: ratings within rooms, with rooms as random effects. For data with several ratings per room.

statsmodels gives the estimates (restricted maximum likelihood), but tests them by z, as for many rooms. Rooms are few, so the
tests here use t, with the number of rooms minus the number of parameters fitted between them as degrees of freedom.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.linalg import LinAlgError
from scipy.stats import t as student
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.tools.sm_exceptions import ConvergenceWarning, SingularMatrixWarning

from parley.analysis.bootstrap import FEWEST, Floats
from parley.analysis.statistics.results import LEVEL, Result

TOO_FEW = "too few rooms"
METHODS = ("powell", "lbfgs", "nm")
UNFIT = f"the model could not be fitted ({', '.join(METHODS)})"


def slopes(
    effect: str,
    ratings: pd.DataFrame,
    value: str,
    predictors: Sequence[str],
    unit: str = "room",
    varying: Sequence[str] | None = None,
) -> list[Result]:
    """What each predictor (a column of numbers) adds to `value`, all of them together; one row per observation.

    A predictor that varies within rooms (the round) gets a random slope for each room. Without it, an effect whose strength
    differs between rooms would be tested against the noise of single ratings. varying: the predictors with a random slope, if
    these are not all that vary within rooms: for round, condition and their product only the round. Size: points per standard
    deviation of the observations, after rooms.
    """
    kept = ratings[[unit, value, *predictors]].dropna()
    rooms = int(kept[unit].nunique())
    within = [name for name in predictors if (kept.groupby(unit)[name].nunique() > 1).any()]
    spare = rooms - 1 - (len(predictors) - len(within))
    rows = [Result(f"{effect}: {name}", unit, rooms, f"points per {name}", "mixed model, t") for name in predictors]
    if spare < 1 or rooms < FEWEST:
        return [replace(row, reason=TOO_FEW) for row in rows]
    columns = ([value], predictors, within if varying is None else varying)
    values, fixed, random = (kept[list(names)].to_numpy(dtype=float) for names in columns)
    fit = _fit(values[:, 0], fixed, random, kept[unit].to_numpy())
    if fit is None:
        return [replace(row, reason=UNFIT) for row in rows]
    estimates, errors, noise = fit
    reach = float(student.ppf((1 + LEVEL) / 2, spare))
    tested = []
    for row, estimate, error in zip(rows, map(float, estimates), map(float, errors), strict=True):
        ends, statistic = (estimate - reach * error, estimate + reach * error), estimate / error
        size = estimate / noise if noise > 0 else math.nan
        row = replace(row, estimate=estimate, size=size, size_name="per residual SD")
        tested.append(row.with_test(ends, statistic, (1, spare), float(2 * student.sf(abs(statistic), spare))))
    return tested


def _fit(values: Floats, fixed: Floats, varying: Floats, rooms: np.ndarray) -> tuple[Floats, Floats, float] | None:
    """Estimates, standard errors, residual standard deviation; None if no optimiser of `METHODS` finds any.

    A variance between rooms of zero lies at the edge of what is possible; statsmodels warns, but its numbers are right. Its usual
    optimiser, which follows gradients, stops short of that edge with standard errors several times too wide; Powell's does not.
    In some data sets (3 of 224) Powell's runs off to an infinite likelihood, and the others find the edge.
    """
    ones = np.ones((len(values), 1))
    model = MixedLM(values, np.hstack([ones, fixed]), groups=rooms, exog_re=np.hstack([ones, varying]))
    with warnings.catch_warnings():
        for category in (ConvergenceWarning, SingularMatrixWarning, RuntimeWarning):
            warnings.simplefilter("ignore", category)
        return next(filter(None, (_optimised(method, model) for method in METHODS)), None)


def _optimised(method: str, model: MixedLM) -> tuple[Floats, Floats, float] | None:
    """The fit of one optimiser; None if it finds no finite one."""
    try:
        found = model.fit(reml=True, method=method)
        estimates, errors = np.asarray(found.fe_params)[1:], np.asarray(found.bse_fe)[1:]
    except (LinAlgError, ValueError):
        return None
    sound = np.isfinite([*estimates, *errors, found.llf, found.scale]).all() and (errors > 0).all()
    return (estimates, errors, math.sqrt(found.scale)) if sound else None
