"""How likely a representative finds the person's own critique (Eq. 19).

    per_token       log-probability per token, all tokens alike (nats; exp of its negative is the perplexity)
    per_critique    its sum over a critique, the end included: Eq 19; long critiques weigh most
    per_character   per character: for models with different tokenizers
    by_length       per token within thirds of the critiques by length, then the mean of the three: no length weighs more

Higher is better in all of them. Intervals are over participants. `text_distance` says how far two texts are apart, by
their words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher

import numpy as np
import pandas as pd

from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.statistics.intervals import Floats, interval

THIRDS = ("short", "middle", "long")
_WORD = re.compile(r"\w+(?:['’]\w+)?")


def per_token(rows: pd.DataFrame) -> ClusteredMean:
    """Return log-probability per token. rows: logp, tokens, characters, participant; one per critique."""
    return clustered_mean(rows["logp"] / rows["tokens"], rows["participant"], weights=rows["tokens"])


def per_critique(rows: pd.DataFrame) -> ClusteredMean:
    """Return log-probability per critique."""
    return clustered_mean(rows["logp"], rows["participant"])


def per_character(rows: pd.DataFrame) -> ClusteredMean:
    """Return log-probability per character."""
    return clustered_mean(rows["logp"] / rows["characters"], rows["participant"], weights=rows["characters"])


def by_length(rows: pd.DataFrame) -> ClusteredMean:
    """Return the mean over thirds of log-probability per token; NaN where a third has no critique."""
    third = thirds(rows)
    columns = [rows[column].where(third == label, 0.0) for label in THIRDS for column in ("logp", "tokens")]
    sums = pd.concat(columns, axis=1).groupby(rows["participant"]).sum().to_numpy(dtype=float)
    if not set(THIRDS) <= set(third):
        return ClusteredMean(np.nan, np.nan, np.nan, len(rows), len(sums))
    tokens = (sums[:, 1::2] / sums[:, 1::2].sum(axis=0)).sum(axis=1)  # each third weighs the same
    ends = interval(sums, _mean_of_thirds, tokens)
    return ClusteredMean(float(_mean_of_thirds(sums[None])[0]), *ends, len(rows), len(sums))


def thirds(rows: pd.DataFrame) -> pd.Series:
    """Return which third of the critiques by length (characters, ties by order) each is in."""
    ranks = rows["characters"].rank(method="first")
    place = np.minimum((ranks - 1) * len(THIRDS) // max(len(rows), 1), len(THIRDS) - 1)
    return place.map(lambda number: THIRDS[int(number)])


MEASURES: Mapping[str, Callable[..., ClusteredMean]] = {
    "per_token": per_token,
    "per_critique": per_critique,
    "per_character": per_character,
    "by_length": by_length,
}


def against(rows: pd.DataFrame, baseline: pd.DataFrame) -> ClusteredMean:
    """Return log-probability per critique minus the baseline's for the same critiques; above 0: more likely than the baseline."""
    both = rows.set_index("case").join(baseline.set_index("case")["logp"].rename("other"), how="inner")
    return clustered_mean(both["logp"] - both["other"], both["participant"])


def _mean_of_thirds(drawn: Floats) -> Floats:
    """(..., participants, 6) to (...): the mean of three rates; NaN where a third has no tokens."""
    sums = drawn.sum(axis=-2)
    tokens = sums[..., 1::2]
    return np.asarray((sums[..., 0::2] / np.where(tokens > 0, tokens, np.nan)).mean(axis=-1))


def text_distance(written: str, other: str) -> float:
    """Return 1 minus the ratio of matching words (Ratcliff and Obershelp): 0 for the same words in order, 1 for none in
    common.

    Case and punctuation do not count. Two texts without words are the same.

    >>> text_distance("Say who pays.", "say WHO pays!"), text_distance("Say who pays", "say nothing")
    (0.0, 0.6)
    """
    first, second = (_WORD.findall(text.lower().replace("’", "'")) for text in (written, other))
    return 1.0 - SequenceMatcher(None, first, second, autojunk=False).ratio()
