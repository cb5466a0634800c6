"""How stable the answers of a panel are, compared with strangers.

The unit is the person. Answers are compared between neighbouring waves, question by question. `same` is the share of equal
answers. `strangers` is the null: the share of equal answers if the second answer came from another person, as with independent
draws from the marginals. `partners` is the same for another person of the same party. Both are exact means over all pairs of
people. `r` is the test-retest correlation over people, the mean over questions and pairs of waves.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import (
    FEWEST,
    SIGNED,
    Floats,
    clustered_share_interval,
    interval,
    why_few,
    with_interval,
)
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError
from parley.llm.user_file import NONE

COLUMNS = ("person", "wave", "question", "answer")
FEW = f"fewer than {FEWEST} people"
FEWEST_POINTS = 3
"""People that a correlation of one question needs."""


def read_panel(path: Path) -> pd.DataFrame:
    """Return the answers of a user's panel: person, party ("": none), wave, question, answer (number or text; NaN: missing).

    Errors: UserError for a file that does not fit.
    """
    table = read_table(path, COLUMNS, "docs/personas.md", filled=COLUMNS[:3])
    if (twice := table.duplicated(["person", "wave", "question"])).any():
        raise UserError(
            f"{path}, row {twice.idxmax()}: a person has two answers to one question in one wave: keep one of them"
        )
    party = table["party"] if "party" in table.columns else ""
    columns = {"wave": _as_numbers(table["wave"]), "answer": _as_numbers(table["answer"])}
    return table.assign(party=party, **columns).reset_index(drop=True)


def _as_numbers(texts: pd.Series) -> pd.Series:
    """Return numbers if all texts but missing ones are; else the texts. A missing one is NaN."""
    present = texts.where(~texts.isin(NONE))
    numbers = pd.to_numeric(present, errors="coerce")
    return texts.where(texts != "") if (numbers.isna() & present.notna()).any() else numbers


def stability(table: pd.DataFrame) -> dict[str, Any]:
    """Return the stability of a panel, given its answers (columns as in `read_panel`).

    people, compared (pairs of answers), missing (pairs in which one is missing), same with its interval, strangers, excess (same
    minus strangers) with its interval, party_people (those with a party), partners, beyond (same minus partners, of people with a
    party) with its interval, r with its interval, and reason (why there is no interval). NaN: unknown.
    """
    packed, missing = _packed(table)
    hits, sizes = _own(packed)
    row: dict[str, Any] = {"people": int((sizes > 0).sum()), "compared": int(sizes.sum()), "missing": missing}
    low, high = clustered_share_interval(hits, sizes)
    row |= {"same": hits.sum() / sizes.sum() if sizes.sum() else np.nan, "same_low": low, "same_high": high}
    for name, gap, party in (("strangers", "excess", False), ("partners", "beyond", True)):

        def statistic(answers: Floats, party: bool = party) -> float:
            return _same(answers) - _chance(answers, party)

        people = packed[np.isfinite(packed[:, 0])] if party else packed
        row |= {name: _chance(people, party), **_estimate(people, statistic, gap)}
    row["party_people"] = int((np.isfinite(packed[:, 0]) & (sizes > 0)).sum())
    row |= _correlation(packed) if _is_numeric(table) else dict.fromkeys(("r", "r_low", "r_high"), np.nan)
    few = FEW if row["people"] < FEWEST else why_few(row["people"], "person", sizes)
    return row | {"reason": few if row["compared"] else "no question has answers in two neighbouring waves"}


def _packed(table: pd.DataFrame) -> tuple[Floats, int]:
    """Return (people, 1 + 2 cells) and how many pairs lack an answer: party (NaN: none), first and second answers.

    A cell is a question and two neighbouring waves.
    """
    codes = table["answer"] if _is_numeric(table) else table["answer"].astype("category").cat.codes.replace(-1, np.nan)
    wide = table.assign(code=codes.astype(float)).pivot(index="person", columns=["question", "wave"], values="code")
    waves, party = _waves(table), table.drop_duplicates("person").set_index("person")["party"]
    pairs = [
        ((question, earlier), (question, other))
        for question in dict.fromkeys(table["question"])
        for earlier, other in pairwise(waves)
    ]
    pairs = [(earlier, other) for earlier, other in pairs if earlier in wide.columns and other in wide.columns]
    first, second = (wide[[pair[side] for pair in pairs]].to_numpy(dtype=float) for side in (0, 1))
    lost = np.isnan(first) | np.isnan(second)
    first, second = np.where(lost, np.nan, first), np.where(lost, np.nan, second)
    party_codes = party.reindex(wide.index).replace("", np.nan).astype("category").cat.codes
    own_party = party_codes.replace(-1, np.nan).to_numpy(dtype=float)
    return np.column_stack([own_party, first, second]), int(lost.sum())


def _waves(table: pd.DataFrame) -> list[Any]:
    """Return the waves in their order: numbers by size, words as they first come in the table."""
    waves = list(table["wave"].unique())
    return sorted(waves) if table["wave"].dtype.kind in "fi" else waves


def _is_numeric(table: pd.DataFrame) -> bool:
    return table["answer"].dtype.kind in "fi"


def _sides(packed: Floats) -> tuple[Floats, Floats]:
    cells = (packed.shape[1] - 1) // 2
    return packed[:, 1 : 1 + cells], packed[:, 1 + cells :]


def _own(packed: Floats) -> tuple[Floats, Floats]:
    """Return by person how many answers are equal, and how many were compared."""
    first, second = _sides(packed)
    return (first == second).sum(axis=1).astype(float), np.isfinite(first).sum(axis=1).astype(float)


def _same(packed: Floats) -> float:
    hits, sizes = _own(packed)
    return float(hits.sum() / sizes.sum()) if sizes.sum() else np.nan


def _chance(packed: Floats, party: bool) -> float:
    """Return the share of equal answers between a person and every other one, of all or of its party; NaN without others."""
    equal, people = 0.0, 0.0
    for first, second in zip(*(side.T for side in _sides(packed)), strict=True):
        answered = np.isfinite(first)
        groups = packed[answered, 0] if party else np.zeros(int(answered.sum()))
        for group in np.unique(groups):
            answers, other = first[answered][groups == group], second[answered][groups == group]
            if (count := len(answers)) > 1:
                kinds = np.union1d(answers, other)
                counts = [np.bincount(np.searchsorted(kinds, side), minlength=len(kinds)) for side in (answers, other)]
                alike = float(counts[0] @ counts[1]) - (answers == other).sum()
                equal += alike / (count - 1)
                people += count
    return equal / people if people else np.nan


def _estimate(packed: Floats, statistic: Callable[[Floats], float], name: str) -> dict[str, float]:
    """Return a statistic of people as `name`, with the jackknife's interval over people."""
    ends = interval(packed, lambda drawn: np.array([statistic(sample) for sample in drawn]), _own(packed)[1])
    return with_interval(name, statistic(packed), ends)


def _correlation(packed: Floats) -> dict[str, float]:
    """Return the mean test-retest correlation, with an interval on Fisher's scale so that it stays between -1 and 1."""

    def on_scale(sample: Floats) -> float:
        return float(np.arctanh(_mean_r(sample))) if abs(_mean_r(sample)) < 1 else np.nan

    low, high = interval(packed, lambda drawn: np.array([on_scale(sample) for sample in drawn]), _own(packed)[1])
    return with_interval("r", _mean_r(packed), (np.tanh(low), np.tanh(high)))


def _mean_r(packed: Floats) -> float:
    values = []
    for first, second in zip(*(side.T for side in _sides(packed)), strict=True):
        first_answers, other = first[np.isfinite(first)], second[np.isfinite(first)]
        if len(first_answers) >= FEWEST_POINTS and np.ptp(first_answers) > 0 and np.ptp(other) > 0:
            values.append(float(np.corrcoef(first_answers, other)[0, 1]))
    return float(np.mean(values)) if values else np.nan


def difference(first: pd.DataFrame, second: pd.DataFrame) -> dict[str, Any]:
    """Return how much larger the share of equal answers is in the second condition: people (in both), difference with its
    interval over people, reason."""
    shares = []
    for table in (first, second):
        packed, _ = _packed(table)
        hits, sizes = _own(packed)
        people = np.unique(table["person"].to_numpy(dtype=str))  # the order of the rows of a pivot
        shares.append(pd.Series(np.divide(hits, sizes, out=np.full(len(hits), np.nan), where=sizes > 0), people))
    gaps = (shares[1] - shares[0]).dropna().to_numpy(dtype=float)
    row = {"people": len(gaps), **mean_row(gaps, "difference", "difference_", SIGNED)}
    has_interval = np.isfinite(row["difference_low"])
    return row | {"reason": "" if has_interval else FEW if len(gaps) < FEWEST else "no variation"}
