"""Do the answers of people of known position come in the order in which their positions were planted?

A pair is two people of one block (topic and wording) who state different positions. It is ranked right if the one with the higher
position has the higher answer; equal answers count half. A model that ignores what its persona says ranks half of the pairs
right. The null exchanges the answers within each block, which changes nothing for such a model: its people of a block differ in
the position alone.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from parley.analysis.qualify.questions import ASKED, UNSTATED
from parley.analysis.statistics.intervals import SHARE, Floats, mean_interval
from parley.analysis.statistics.null import share_as_large
from parley.llm.seeding import derive

SHUFFLES = 1999
"""Shuffles of the null; the smallest P is 1 in 2,000."""
MOST_LOST = 0.5
"""The share of answers that may be missing before nothing is said about their order."""


def planted_order(answers: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return one row per way and form of asking, without the people who state no position.

    answers, missing; right (share of pairs ranked as planted) with its interval over blocks, pairs, blocks; p (of the null);
    ends (mean answer at the high position minus that at the low one, points of 0-10) with its interval over blocks; unstated
    (mean answer of people without a position, asked in this way); covered (median), distributions (answers with one).
    """
    rows = []
    for (way, form), form_answers in answers.groupby(["way", "form"], sort=False):
        if form != UNSTATED:
            neutral = answers[(answers["way"] == way) & (answers["form"] == UNSTATED)]
            rows.append(
                {"way": way, "form": form}
                | _order(form_answers, derive(seed, way, form))
                | {"unstated": level(neutral)}
            )
    return pd.DataFrame(rows)


def values(answers: pd.DataFrame) -> pd.Series:
    """Return one number an answer, of one kind for all: the mean of its distribution if most answers have one, else the answer.

    >>> values(pd.DataFrame({"mean": [5.5, 6.5, np.nan], "attitude": [5.0, 7.0, 1.0]})).tolist()
    [5.5, 6.5, nan]
    """
    return answers["mean"] if answers["mean"].notna().mean() > MOST_LOST else answers["attitude"]


def level(answers: pd.DataFrame) -> float:
    """Return the mean of the answers; NaN without any."""
    return float(values(answers).mean()) if len(answers) else np.nan


def _order(answers: pd.DataFrame, seed: int) -> dict[str, float]:
    table = (
        answers.assign(value=values(answers)).pivot(index="block", columns="level", values="value").sort_index(axis=1)
    )
    grid = table.to_numpy(dtype=float)
    rights, pairs = pair_shares(grid)
    has_pairs = pairs > 0
    top, bottom = grid[:, -1], grid[:, 0]
    apart = (top - bottom)[np.isfinite(top - bottom)]
    low, high = mean_interval(rights[has_pairs] / pairs[has_pairs], bounds=SHARE)
    ends_low, ends_high = mean_interval(apart)
    total = float(pairs.sum())
    return {
        "answers": len(answers),
        "missing": int(np.isnan(grid).sum()),
        "right": float(rights.sum()) / total if total else np.nan,
        "right_low": low,
        "right_high": high,
        "pairs": int(total),
        "blocks": int(has_pairs.sum()),
        "p": shuffled_p(grid, seed),
        "ends": float(apart.mean()) if len(apart) else np.nan,
        "ends_low": ends_low,
        "ends_high": ends_high,
        "covered": float(answers["covered"].median()),
        "distributions": int(answers["mean"].notna().sum()),
    }


def pair_shares(grid: Floats) -> tuple[Floats, Floats]:
    """Return by block how many pairs are ranked right, and how many there are. grid: (blocks, levels), NaN for a missing answer.

    >>> rights, pairs = pair_shares(np.array([[1.0, 2.0, 2.0], [3.0, 1.0, np.nan]]))
    >>> rights.tolist(), pairs.tolist()
    ([2.5, 0.0], [3.0, 1.0])
    """
    rights, pairs = np.zeros(len(grid)), np.zeros(len(grid))
    for low in range(grid.shape[1]):
        for high in range(low + 1, grid.shape[1]):
            gap = grid[:, high] - grid[:, low]
            rights += np.where(np.isfinite(gap), (np.sign(np.nan_to_num(gap)) + 1) / 2, 0.0)
            pairs += np.isfinite(gap)
    return rights, pairs


def shuffled_p(grid: Floats, seed: int) -> float:
    """Return how often at least as many pairs are ranked right if the answers of each block are exchanged; NaN without pairs.

    >>> shuffled_p(np.full((4, 4), 10.0), 0)
    1.0
    """
    rights, pairs = pair_shares(grid)
    if not pairs.sum():
        return np.nan
    stream = np.random.default_rng(seed)
    shuffled = [pair_shares(stream.permuted(grid, axis=1))[0].sum() for _ in range(SHUFFLES)]
    return share_as_large(shuffled, rights.sum())


def main_rows(order: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the question as a debate asks it, by way."""
    return order[order["form"] == ASKED].set_index("way")
