"""The calls to models so far: by purpose, with tokens and failures."""

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
    rows = [
        [str(purpose), f"{len(purpose_calls):,}", _tokens(purpose_calls, "prompt_tokens"),
         _tokens(purpose_calls, "completion_tokens"), count_table(purpose_calls["failure"].dropna()) or "none"]
        for purpose, purpose_calls in calls[calls["round"] <= shown.round].groupby("purpose", sort=False)
    ]  # fmt: skip
    table(["purpose", "calls", "tokens in", "tokens out", "failures"], rows, "Calls to the model")


def _tokens(calls: pd.DataFrame, column: str) -> str:
    """Return the tokens of some calls, and of how many calls the server reported none."""
    uncounted = int(calls["uncounted"].sum())
    if uncounted and uncounted == len(calls):
        return "not reported"
    more = f" ({uncounted:,} calls not reported)" if uncounted else ""
    return f"{calls[column].sum():,}{more}"
