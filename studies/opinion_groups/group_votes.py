"""What groups of opinion agree on: shares, the two tests by which Polis calls a statement representative, common ground."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

Floats = NDArray[np.float64]
CLEAR = float(norm.ppf(0.9))
"""Polis calls z above this (90%, one-sided) clear. Groups were formed from the same votes, so it is a rule of choice, no test."""
SHOWN = 5


def group_votes(votes: pd.DataFrame, groups: pd.Series) -> pd.DataFrame:
    """Return a row per group and statement: votes, agree, disagree, and for both directions p, r, z of the share, z of the gap.

    p: (votes for + 1) / (votes + 2). r: p divided by p of all other groups. Formulas and names are those of Polis.
    """
    return pd.concat([_one_group(votes, groups, group) for group in sorted(groups.unique())], ignore_index=True)


def _one_group(votes: pd.DataFrame, groups: pd.Series, group: int) -> pd.DataFrame:
    inside = votes.loc[groups.index[groups == group]]
    outside = votes.loc[groups.index[groups != group]]
    number, others = inside.notna().sum().to_numpy(float), outside.notna().sum().to_numpy(float)
    rows = pd.DataFrame({"group": group, "statement": votes.columns, "votes": number.astype(int)})
    for name, vote in (("agree", 1), ("disagree", -1)):
        count, other = (inside == vote).sum().to_numpy(float), (outside == vote).sum().to_numpy(float)
        rows[name] = count.astype(int)
        rows[f"p_{name}"] = share = (count + 1) / (number + 2)
        rows[f"r_{name}"] = share * (others + 2) / (other + 1)
        rows[f"z_{name}"] = 2 * np.sqrt(number + 1) * ((count + 1) / (number + 1) - 0.5)
        rows[f"z_gap_{name}"] = _z_of_gap(count + 1, other + 1, number + 1, others + 1)
    return rows


def _z_of_gap(count: Floats, other: Floats, number: Floats, others: Floats) -> Floats:
    """Return z of the difference of two shares; 0 where all agree."""
    pooled = (count + other) / (number + others)
    error = np.sqrt(np.maximum(0, pooled * (1 - pooled)) * (1 / number + 1 / others))
    gap = count / number - other / others
    return np.asarray(np.divide(gap, error, out=np.zeros_like(gap), where=pooled < 1))


def representative_votes(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each group at most five statements that it accepts (or rejects) clearly, and clearly more than others do.

    Polis adds the best statement of a group without any; here such a group has none. Columns: group, statement, direction,
    share, votes, strength (the product of p, r and both z), the strongest first.
    """
    parts = []
    for name in ("agree", "disagree"):
        clear = rows[(rows[f"z_{name}"] > CLEAR) & (rows[f"z_gap_{name}"] > CLEAR)]
        strength = clear[[f"p_{name}", f"r_{name}", f"z_{name}", f"z_gap_{name}"]].prod(axis=1)
        parts.append(
            clear[["group", "statement", "votes"]].assign(
                direction=name, share=clear[name] / clear["votes"], strength=strength
            )
        )
    chosen = pd.concat(parts).sort_values(["group", "strength"], ascending=[True, False], kind="stable")
    return chosen.groupby("group").head(SHOWN).reset_index(drop=True)


def common_ground(rows: pd.DataFrame) -> pd.Series:
    """Return group-aware consensus by statement, the highest first: the product of p_agree over groups (0 to 1)."""
    return rows.groupby("statement")["p_agree"].prod().sort_values(ascending=False, kind="stable")
