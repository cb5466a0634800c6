"""A metric: how many words are said."""

from __future__ import annotations

import pandas as pd

from parley.analysis.tables import Tables

ORDER = 95
TITLE = "Words said"
NOTE = "Words of all replies."
LABELS = {"words": "words"}


def compute(tables: Tables) -> pd.DataFrame:
    """One row: words."""
    return pd.DataFrame({"words": [int(tables.utterances["text"].str.split().str.len().sum())]})
