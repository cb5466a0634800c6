"""Invented societies whose groups of opinion are known, and how well groups that were found agree with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.special import comb

PLANTED = "planted"


def planted_votes(
    rng: np.random.Generator,
    groups: int,
    people: int = 100,
    statements: int = 30,
    noise: float = 0.2,
    missing: float = 0.3,
) -> tuple[pd.DataFrame, list[int]]:
    """Return votes and each person's true group. Each group agrees or disagrees with each statement by lot.

    noise: share of votes that are agree, pass or disagree by lot. missing: share of votes that are not there. With one group,
    statements differ in agreement and people do not.
    """
    patterns = rng.choice([-1.0, 1.0], (groups, statements))
    own = np.sort(np.arange(people) % groups)
    return _with_noise(patterns[own], rng, noise, missing), own.tolist()


def _with_noise(table: np.ndarray, rng: np.random.Generator, noise: float, missing: float) -> pd.DataFrame:
    table = np.where(rng.random(table.shape) < noise, rng.choice([-1.0, 0.0, 1.0], table.shape), table)
    table[rng.random(table.shape) < missing] = np.nan
    people, statements = (
        [f"{kind}{number:03}" for number in range(size)] for kind, size in zip("ps", table.shape, strict=True)
    )
    return pd.DataFrame(table, people, statements)


def rand_index(one: Sequence[int], other: Sequence[int]) -> float:
    """Return the adjusted Rand index of two groupings (Hubert and Arabie 1985): 1 for the same groups, 0 by chance."""
    table = pd.crosstab(np.asarray(one), np.asarray(other)).to_numpy()
    both, rows, columns = (float(comb(part, 2).sum()) for part in (table, table.sum(axis=1), table.sum(axis=0)))
    expected = rows * columns / float(comb(len(one), 2))
    return 1.0 if rows == columns == both else (both - expected) / ((rows + columns) / 2 - expected)
