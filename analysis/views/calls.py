"""What the run has asked so far: calls by purpose, tokens, failures."""

from __future__ import annotations

import pandas as pd
import solara

from parley.analysis.formatting import count_table
from parley.analysis.tables import Tables
from parley.analysis.views._html import table
from parley.analysis.views._session import Shown

ORDER = 6
TITLE = "Calls"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    calls = shown.tables.calls
    calls = calls[calls["round"] <= shown.round]
    rows = [
        [str(purpose), f"{len(made):,}", _told(made, "prompt_tokens"), _told(made, "completion_tokens"),
         count_table(made["failure"].dropna()) or "none"]
        for purpose, made in calls.groupby("purpose", sort=False)
    ]  # fmt: skip
    table(["purpose", "calls", "tokens in", "tokens out", "failures"], rows, "Calls to the model")


def _told(made: pd.DataFrame, column: str) -> str:
    """Tokens of some calls, as far as the server told them."""
    missing, known = int(made["uncounted"].sum()), f"{made[column].sum():,}"
    if not missing:
        return known
    return "not told" if missing == len(made) else f"{known} ({missing:,} calls not told)"
