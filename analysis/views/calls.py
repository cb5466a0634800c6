"""What the run has asked so far: calls by purpose, tokens, failures."""

from __future__ import annotations

import solara

from analysis.load import Tables
from analysis.views._html import table
from analysis.views._session import Shown
from analysis.wording import tally

ORDER = 6
TITLE = "Calls"


def shows(tables: Tables) -> bool:
    return True


@solara.component
def View(shown: Shown) -> None:
    calls = shown.tables.calls
    calls = calls[calls["round"] <= shown.round]
    rows = [
        [str(purpose), f"{len(made):,}", f"{made['prompt_tokens'].sum():,}", f"{made['completion_tokens'].sum():,}",
         tally(made["failure"].dropna()) or "none"]
        for purpose, made in calls.groupby("purpose", sort=False)
    ]  # fmt: skip
    table(["purpose", "calls", "tokens in", "tokens out", "failures"], rows, "Calls to the model")
