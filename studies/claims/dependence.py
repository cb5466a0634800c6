"""On which settings does the effect depend: among these people, and for other people too?

The F test of `variance.py` compares specifications: it says whether a setting changes the effect among these people. For people
like these, groups of people vary as well: each separate group has a mean difference at every level. The variance of what a
setting changes is that between specifications plus that between groups, minus the chance of single debates, which is in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import f as fisher

from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import ALIKE, FEWEST, Floats
from parley.studies.claims.multiverse import SPECIFICATION
from parley.studies.claims.people import separate_groups
from parley.studies.claims.variance import Share, setting_share


def dependence_table(differences: pd.DataFrame, settings: Sequence[str], strata: Sequence[str]) -> pd.DataFrame:
    """Return a row per setting: setting, Share, p_holm over all settings, p_people, means (difference at each level)."""
    rows = []
    for name in settings:
        others = [other for other in settings if other != name]
        share = setting_share(differences, [name], others, strata)
        means = differences.groupby(name, sort=True)["difference"].mean()
        rows.append(
            {"setting": name, **vars(share), "means": means.to_dict(), "p_people": people_p(differences, name, share)}
        )
    table = pd.DataFrame(rows, columns=["setting", *vars(Share()), "means", "p_people"])
    table["p_holm"] = holm(table["p"].to_numpy(dtype=float))
    return table


def people_p(differences: pd.DataFrame, setting: str, share: Share) -> float:
    """Return the p of no effect of a setting for people like these. share: of the setting, over specifications.

    Groups without a difference at one of the levels are left out. NaN where there is no share, with fewer than `FEWEST` groups
    (one more for each level beyond two), and where groups do not vary. The degrees of freedom are those of Satterthwaite 1946.
    """
    measured = differences.dropna(subset="difference")
    measured = measured.assign(unit=measured["people"].map(separate_groups(measured["people"])))
    cells = measured.groupby([SPECIFICATION, "unit", setting], sort=False)["difference"].mean().reset_index()
    means = cells.groupby(["unit", setting])["difference"].mean().unstack().dropna()
    between = share.df * float(fisher.isf(share.p, share.df, share.df_error)) if share.df else math.nan
    apart = distance(means.to_numpy(dtype=float))
    if math.isnan(apart) or math.isnan(between):
        return math.nan
    if min(apart, between) < ALIKE:
        return 1.0
    chance, df_chance = _chance(cells[cells["unit"].isin(means.index)], setting, means)
    parts = (1 / between, share.df_error), (1 / apart, len(means) - means.shape[1] + 1), (-chance, df_chance)
    whole = max(sum(size for size, _ in parts), 1 / between, 1 / apart)
    freedom = whole**2 / sum(size**2 / df for size, df in parts)
    return float(fisher.sf(1 / whole / share.df, share.df, freedom))


def distance(means: Floats) -> float:
    """Return how far the columns of (groups, levels) are apart, in units of their variance over groups; NaN if unknown.

    Source: Hotelling 1931, Annals of Math. Statistics 2(3), scaled so that it is compared with an F times its first degrees of
    freedom.

    >>> round(distance(np.array([[0, 1], [0, 2], [0, 3], [0, 2], [0, 1]])), 2)  # t squared of 1, 2, 3, 2, 1
    23.14
    """
    count, levels = means.shape
    if levels < 2 or count < FEWEST + levels - 2:
        return math.nan
    steps = np.diff(means, axis=1)
    spread = np.atleast_2d(np.cov(steps, rowvar=False))
    if np.linalg.matrix_rank(spread, tol=ALIKE) < levels - 1:
        return math.nan
    middle = steps.mean(axis=0)
    size = float(middle @ np.linalg.solve(spread, middle))
    return float(count * size * (count - levels + 1) / (count - 1))


def _chance(cells: pd.DataFrame, setting: str, means: pd.DataFrame) -> tuple[float, int]:
    """Return the variance of what a setting changes that is chance of single debates, in units of that change squared, and its
    degrees of freedom.

    cells: the mean difference of each group in each specification. What neither the specification nor the group at a level
    explains is chance. means: of (groups, levels).
    """
    factors = [cells[SPECIFICATION], cells["unit"].astype(str) + " " + cells[setting].astype(str)]
    design = np.hstack([pd.get_dummies(factor).to_numpy(dtype=float) for factor in factors])
    values = cells["difference"].to_numpy(dtype=float)
    fitted, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    df = len(values) - int(rank)
    if df < 1:
        return 0.0, 1
    noise = float(((values - design @ fitted) ** 2).sum()) / df
    counts = cells.groupby(["unit", setting]).size().unstack().to_numpy(dtype=float)
    steps = np.diff(np.eye(means.shape[1]), axis=0)
    spread = steps @ np.diag(noise * (1 / counts).sum(axis=0) / len(means) ** 2) @ steps.T
    middle = np.diff(means.mean(axis=0).to_numpy(dtype=float))
    size = float(middle @ np.linalg.pinv(spread) @ middle)
    return (1 / size if size > 0 else 0.0), df
