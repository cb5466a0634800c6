"""Do the agents of a room come to use the same words? Distinct words, by group and round.

Sources: McCarthy and Jarvis 2010 (HD-D); Li et al. 2016.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from pandas import DataFrame
from scipy.special import gammaln

from parley.analysis.rooms import RoomMeasurement, room_means, rooms
from parley.analysis.statistics.intervals import POSITIVE, SHARE
from parley.analysis.tables import Tables

ORDER = 8
TITLE = "Diversity of the text"
NOTE = (
    "Long texts repeat more words, so Parley compares texts at the same length of 42 words. *Distinct of 42* is the share of "
    "different words among 42 words drawn at random from a room's replies in a round (1: no word occurs twice; known as HD-D). "
    "*Words per reply* is the mean length of a reply. The table shows means over rooms."
)
LABELS = {"rooms": "rooms", "distinct": "distinct of 42", "words": "words per reply", "reason": "reason if missing"}
NEEDS = "utterances"
BOUNDS = {"distinct": SHARE, "words": POSITIVE}
SAMPLE = 42
_WORD = re.compile(r"\w+(?:['’-]\w+)*")


def compute(tables: Tables) -> DataFrame:
    """Return a row per topic, group and round: rooms, missing (replies without text), distinct, words, reason."""
    return room_means(_rows(tables), tuple(BOUNDS), bounds=BOUNDS)


def _rows(tables: Tables) -> Iterator[dict[str, Any]]:
    debating = {room.name: room for room in rooms(tables)}
    for (name, round_), round_turns in tables.utterances.groupby(["room", "round"], sort=False):
        if name in debating:
            texts = round_turns["text"].dropna()
            row = {**debating[name].keys, "round": round_, "missing": len(round_turns) - len(texts)}
            yield row | {"distinct": distinct(texts), "words": _mean_length(texts)}


def distinct(texts: Iterable[str], sample: int = SAMPLE) -> RoomMeasurement:
    """Return the expected share of distinct words among `sample` words drawn without replacement from some texts.

    A word that occurs f times among N is missed by a draw of m with probability C(N - f, m) / C(N, m). Sources:
    McCarthy and Jarvis 2010, Behavior Research Methods 42(2) (HD-D, 42 words); it is distinct-1 (Li et al. 2016, NAACL)
    at a fixed length.

    >>> round(distinct(["a b a", "b"], sample=2).value, 4)  # C(2, 2) / C(4, 2) = 1/6 miss a, as many b: (5/6 + 5/6) / 2
    0.8333
    """
    counts = np.array(list(Counter(word for text in texts for word in _words(text)).values()), dtype=float)
    whole, left = counts.sum(), counts.sum() - counts
    if whole < sample:
        return RoomMeasurement(None, f"fewer than {sample} words")
    # a word that leaves fewer others than the sample is never missed (0 below); the floor keeps the logarithm defined
    ratio = np.exp(_log_choose(np.maximum(left, sample), sample) - _log_choose(whole, sample))
    return RoomMeasurement(float((1 - np.where(left < sample, 0.0, ratio)).sum() / sample))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _log_choose(whole: Any, chosen: int) -> Any:
    """Return the logarithm of the binomial coefficient."""
    return gammaln(whole + 1) - gammaln(chosen + 1) - gammaln(whole - chosen + 1)


def _mean_length(texts: Iterable[str]) -> RoomMeasurement:
    lengths = [len(_words(text)) for text in texts]
    return RoomMeasurement(float(np.mean(lengths))) if lengths else RoomMeasurement(None, "no agent spoke")
