"""How ratings were read, and how probable the allowed answers were to the model: sentences for a summary."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

FORCED = "choice"
"""The way in which a schema allows no other reply (llm/backends/openai)."""
LOW = 0.1
"""Below this median probability of the allowed answers a summary warns."""


def ways_read(ratings: pd.DataFrame) -> str:
    """Return how ratings were read, and the median probability of the allowed answers: `strict, exact: 45; ...`."""
    ways = "; ".join(f"{way}: {count:,}" for way, count in ratings["how"].value_counts().items())
    covered = ratings["covered"].dropna()
    if covered.empty:
        return ways
    return f"{ways}; probability of the allowed answers: median {_percent(covered.median())}, lowest {_percent(covered.min())}"


def warnings(ratings: pd.DataFrame) -> Iterator[str]:
    """Yield that answers were forced, or that the allowed answers were improbable."""
    forced = ratings[ratings["how"].str.endswith(f", {FORCED}")]
    covered = ratings["covered"].drop(forced.index).dropna()
    if len(forced):
        yield f"**{_share(len(forced), len(ratings))} were forced by a schema:** {_instead(forced['covered'].dropna())}."
    if len(covered) and covered.median() < LOW:
        yield (
            f"**The allowed answers had only {_percent(covered.median())} of the model's probability** (median of ratings): the "
            "model was mostly about to say something else. Read its replies (`transcript.md`) before you trust its ratings."
        )


def _instead(covered: pd.Series) -> str:
    if covered.empty:
        return "what the model itself would have said is unknown, so a complete table of ratings proves nothing"
    return f"the model itself would have said something else in {_percent(1 - covered.mean())} of cases"


def _share(count: int, of: int) -> str:
    return f"All {of:,} ratings" if count == of else f"{count:,} of {of:,} ratings"


def _percent(share: float) -> str:
    """Return a share as a percentage.

    >>> _percent(0.0042), _percent(0.93), _percent(1.0)
    ('0.42%', '93%', '100%')
    """
    return f"{100 * share:.2g}%" if share < 0.1 else f"{share:.0%}"
