"""How likely a model finds the critiques that people wrote: the study's Eq 19, with measures that length cannot decide.

    per_token       log-probability per token, all tokens alike (nats; exp of its negative is the perplexity)
    per_critique    its sum over a critique, the end included: Eq 19 as it stands; long critiques weigh most
    per_character   per character: for models with tokenizers of their own
    by_length       per token within thirds of the critiques by their characters, then the mean of the three: no length
                    weighs more than another (`thirds` has each)

Higher is better in all of them. Intervals are over participants.

How far a text is from another, by its words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats, interval
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean

THIRDS = ("short", "middle", "long")


def per_token(rows: pd.DataFrame) -> ClusteredMean:
    """rows: logp, tokens, characters, participant; one a critique."""
    return clustered_mean(rows["logp"] / rows["tokens"], rows["participant"], weights=rows["tokens"])


def per_critique(rows: pd.DataFrame) -> ClusteredMean:
    return clustered_mean(rows["logp"], rows["participant"])


def per_character(rows: pd.DataFrame) -> ClusteredMean:
    rate = rows["logp"] / rows["characters"]
    return clustered_mean(rate, rows["participant"], weights=rows["characters"])


def by_length(rows: pd.DataFrame) -> ClusteredMean:
    """NaN where there are fewer than three critiques, or one third has none."""
    third = thirds(rows)
    parts = [(third == label).to_numpy() for label in THIRDS]
    logp, tokens = (rows[column].to_numpy(dtype=float) for column in ("logp", "tokens"))
    columns = [np.where(part, values, 0.0) for part in parts for values in (logp, tokens)]
    sums = pd.DataFrame(np.stack(columns, 1)).groupby(rows["participant"].to_numpy()).sum().to_numpy()
    if len(rows) < len(THIRDS) or not all(part.any() for part in parts):
        return ClusteredMean(np.nan, np.nan, np.nan, len(rows), len(sums))
    low, high = interval(sums, _of_thirds)
    return ClusteredMean(float(_of_thirds(sums[None])[0]), low, high, len(rows), len(sums))


def thirds(rows: pd.DataFrame) -> pd.Series:
    """Which third of the critiques by length (characters, ties by order) each is in."""
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
    """Log-probability per critique minus the baseline's, of the same critiques. Above 0: more likely than by the baseline."""
    both = rows.set_index("case").join(baseline.set_index("case")["logp"].rename("other"), how="inner")
    return clustered_mean(both["logp"] - both["other"], both["participant"])


def _of_thirds(drawn: Floats) -> Floats:
    """(..., participants, 6) to (...): the mean of three rates; NaN where a third has no tokens."""
    sums = drawn.sum(axis=-2)
    tokens = sums[..., 1::2]
    rates = sums[..., 0::2] / np.where(tokens > 0, tokens, np.nan)
    found: Floats = rates.mean(axis=-1)
    return found


_WORD = re.compile(r"\w+(?:['’]\w+)?")


def text_distance(one: str, other: str) -> float:
    """1 minus the ratio of matching words (Ratcliff and Obershelp): 0 the same words in the same order, 1 none in
    common.

    Case and punctuation do not count. Two texts without words are the same.

    >>> text_distance("Say who pays.", "say WHO pays!"), text_distance("Say who pays", "say nothing")
    (0.0, 0.6)
    """
    first, second = words(one), words(other)
    return 1.0 - SequenceMatcher(None, first, second, autojunk=False).ratio()


def words(text: str) -> list[str]:
    """In lower case, without punctuation."""
    return _WORD.findall(text.lower().replace("’", "'"))
