"""The share of answers that fit the persona's leaning, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from parley.analysis.alignment.interview import ALIGNED
from parley.analysis.bootstrap import clustered_share_interval

CELL = ["personas", "party", "variant", "model"]
POOLED = ("none", "21", "35", "67")
"""The variants that the study's published "baseline" pools (84 answers a cell: 4 personas, 21 questions)."""


def shares(answers: pd.DataFrame, by: Sequence[str] = tuple(CELL)) -> pd.DataFrame:
    """A row a cell: answers (asked for), judged, missing, aligned, share (of those judged; NaN when none is), people (of whom an
    answer was judged) and the 95% interval of the share over people, low to high: the answers of one person are one person's.
    """
    rows = [dict(zip(by, key, strict=True)) | _row(part) for key, part in answers.groupby(list(by), sort=False)]
    return pd.DataFrame(
        rows, columns=[*by, "answers", "judged", "missing", "aligned", "share", "people", "low", "high"]
    )


def pooled(answers: pd.DataFrame) -> pd.DataFrame:
    """Shares by set, party and model over the variants of the study's published baseline: none and the three ages."""
    return shares(answers[answers["variant"].isin(POOLED)], ["personas", "party", "model"])


def _row(part: pd.DataFrame) -> dict[str, Any]:
    known = part[part["verdict"] != ""]
    by_person = (known["verdict"] == ALIGNED).groupby([known["party"], known["name"]]).agg(["sum", "size"])
    hits, sizes = by_person.to_numpy(dtype=float).T
    low, high = clustered_share_interval(hits, sizes)
    judged, aligned = len(known), int(hits.sum())
    share = aligned / judged if judged else float("nan")
    counts = {"answers": len(part), "judged": judged, "missing": len(part) - judged, "aligned": aligned}
    return {**counts, "share": share, "people": len(by_person), "low": low, "high": high}
