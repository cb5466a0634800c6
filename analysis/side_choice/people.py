"""Reads the choices of people: a CSV with one row per choice of a side (docs/competing_debates.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.side_chooser import FOR, KNOWN, NOTHING, SIDES
from parley.analysis.studies.side_choice import COLUMNS
from parley.analysis.table_files import read_table
from parley.llm.errors import UserError, unknown_name

NEEDED = ["person", "topic", "stance", "known", "judge", "side"]
STANCES = {"for": 10.0, "against": 0.0, "": None}


def read_choices(path: Path) -> pd.DataFrame:
    """Return one row per choice, as `SideChoiceStudy.run`; party is "". Errors: UserError for a file that does not fit."""
    table = read_table(path, NEEDED, "docs/competing_debates.md", filled=("person", "topic"))
    for row in table.itertuples():
        _check(row, f"{path}, row {row.Index}")
    if len(wrong := table[table.duplicated(["person", "topic", "known", "judge"])]):
        first = wrong.iloc[0]
        judge = " ".join(filter(None, (first["known"], first["judge"])))
        raise UserError(f"{path}: {first['person']} chooses twice on {first['topic']} ({judge}): keep one row")
    share = table["side"].map({"for": 1.0, "against": 0.0})
    reason = table["side"].map(lambda side: "" if side else "missing")
    stance = table["stance"].map(STANCES)
    frame = table.assign(party="", stance=stance, share_for=share, first=float("nan"), reason=reason)[COLUMNS]
    return frame.astype(dict.fromkeys(("stance", "share_for", "first"), "float64")).reset_index(drop=True)


def _check(row: Any, where: str) -> None:
    known, judge = str(row.known), str(row.judge)
    if known not in KNOWN:
        raise UserError(f"{where}: {unknown_name('value of known', known, KNOWN)}")
    if (judge != "") if known == NOTHING else (judge not in SIDES):
        raise UserError(
            f"{where}: judge must be {FOR} or {SIDES[1]}, and empty where known is {NOTHING}, not {judge!r}"
        )
    for name in ("stance", "side"):
        if (value := str(getattr(row, name))) not in (*SIDES, ""):
            raise UserError(f"{where}: {name} must be {FOR} or {SIDES[1]}, or empty if it is missing, not {value!r}")
