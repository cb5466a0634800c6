"""Repeated measures: ratings within rooms, rooms at random. The default for everything that has more than one rating a room.

statsmodels gives the estimates (restricted maximum likelihood); it tests them by z, as if the rooms were many. They are few, so t
is used here with as many degrees of freedom as there are rooms less what was fitted between them.
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
    """What each predictor (a column of numbers) adds to `value`, all of them at once; one row an observation.

    A predictor that varies within rooms (the round) gets a slope of its own in each room, at random: without it an effect that
    rooms have in different strength is tested against the noise of single ratings. `varying` names those that do, where not all
    that vary within rooms should: of round, condition and their product only the round. Size: points per standard deviation of
    the observations, after rooms.
    """
    kept = ratings[[unit, value, *predictors]].dropna()
    rooms = int(kept[unit].nunique())
    within = [name for name in predictors if (kept.groupby(unit)[name].nunique() > 1).any()]
    spare = rooms - 1 - (len(predictors) - len(within))
    begun = [Result(f"{effect}: {name}", unit, rooms, f"points per {name}", "mixed model, t") for name in predictors]
    if spare < 1 or rooms < FEWEST:
        return [replace(row, reason=TOO_FEW) for row in begun]
    found = _fitted(kept[value].to_numpy(dtype=float), kept[list(predictors)].to_numpy(dtype=float),
                    kept[list(within if varying is None else varying)].to_numpy(dtype=float), kept[unit].to_numpy())  # fmt: skip
    if found is None:
        return [replace(row, reason=UNFIT) for row in begun]
    estimates, errors, noise = found
    reach = float(student.ppf((1 + LEVEL) / 2, spare))
    return [
        replace(
            row,
            estimate=float(estimate),
            low=float(estimate - reach * error),
            high=float(estimate + reach * error),
            statistic=float(estimate / error),
            df=1,
            df_within=spare,
            p=float(2 * student.sf(abs(estimate / error), spare)),
            size=float(estimate / noise) if noise > 0 else math.nan,
            size_name="per residual SD",
        )
        for row, estimate, error in zip(begun, estimates, errors, strict=True)
    ]


def _fitted(values: Floats, fixed: Floats, varying: Floats, rooms: np.ndarray) -> tuple[Floats, Floats, float] | None:
    """Estimates, standard errors, residual standard deviation; None when no optimiser of `METHODS` finds any.

    A variance between rooms of zero lies at the edge of what is possible: statsmodels warns and is right all the same. Its usual
    optimiser, which follows gradients, stops short of that edge with standard errors several times too wide; Powell's does not.
    Powell's walks off to an infinite likelihood instead in some (3 of 224) data sets, in which the others find the edge.
    """
    ones = np.ones((len(values), 1))
    model = MixedLM(values, np.hstack([ones, fixed]), groups=rooms, exog_re=np.hstack([ones, varying]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", SingularMatrixWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        return next(filter(None, (_by(method, model) for method in METHODS)), None)


def _by(method: str, model: MixedLM) -> tuple[Floats, Floats, float] | None:
    """What one optimiser finds; None where it is no number."""
    try:
        found = model.fit(reml=True, method=method)
        estimates, errors = np.asarray(found.fe_params)[1:], np.asarray(found.bse_fe)[1:]
    except (LinAlgError, ValueError):
        return None
    sound = np.isfinite([*estimates, *errors, found.llf, found.scale]).all() and (errors > 0).all()
    return (estimates, errors, math.sqrt(found.scale)) if sound else None
