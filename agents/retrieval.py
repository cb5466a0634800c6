"""Which memories come to mind: by recency, importance and relevance.

Source: Park et al. 2023, "Generative Agents", section on the memory stream: each of the three scaled to 0-1 over all memories,
and summed with equal weights; recency decays by .995 a step. Departures: a step is a line said (theirs an hour of their world),
counted from when it was said (theirs from when it was last retrieved: here asking leaves no trace); relevance is the cosine of
word weights (theirs of embeddings); importance is asked of the model only where a scenario says so, else it is novelty.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DECAY = 0.995
LEAST, MOST = 1.0, 10.0
"""Ends of the scale of importance."""
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


@dataclass(slots=True)
class Trace:
    """One memory. `name` said it (None: oneself), `time` counts the lines up to it; `insight`: concluded, not heard.

    `importance` is None where it is to be asked, or could not be read.
    """

    name: str | None
    text: str
    time: int
    importance: float | None
    insight: bool = False


def top_memories(traces: Sequence[Trace], query: str, now: int, count: int) -> list[Trace]:
    """The `count` memories that score highest, in their order in time; of equals the later."""
    totals = memory_scores(traces, query, now)
    ranked = sorted(range(len(traces)), key=lambda one: (totals[one], one), reverse=True)
    return [traces[one] for one in sorted(ranked[:count])]


def memory_scores(traces: Sequence[Trace], query: str, now: int) -> list[float]:
    """Recency, importance and relevance of each memory, scaled to 0-1: their mean over those that are known."""
    columns: list[list[float | None]] = [
        [DECAY ** (now - trace.time) for trace in traces],
        [trace.importance for trace in traces],
        [*relevance(query, [trace.text for trace in traces])],
    ]
    parts = [[one for one in row if one is not None] for row in zip(*map(min_max, columns), strict=True)]
    return [sum(row) / len(row) for row in parts]


def min_max(values: Sequence[float | None]) -> list[float | None]:
    """To 0-1 between the least and the most of them; all 0 where they are equal. None stays None.

    >>> min_max([1.0, 4.0, None, 5.0])
    [0.0, 0.75, None, 1.0]
    """
    known = [value for value in values if value is not None]
    low, span = (min(known), max(known) - min(known)) if known else (0.0, 0.0)
    return [None if value is None else (value - low) / span if span else 0.0 for value in values]


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """Cosine of the word weights of each text with those of the query, 0-1: count times ln((1 + n) / (1 + texts with it)) + 1.

    >>> [round(one, 2) for one in relevance("more trains", ["trains", "buses"])]
    [0.58, 0.0]
    """
    counts = [Counter(words(text)) for text in texts]
    spread = Counter(word for count in counts for word in count)

    def weighted(count: Mapping[str, int]) -> dict[str, float]:
        return {word: many * (math.log((1 + len(texts)) / (1 + spread[word])) + 1) for word, many in count.items()}

    asked = weighted(Counter(words(query)))
    return [_cosine(asked, weighted(count)) for count in counts]


def novelty(text: str, known: set[str]) -> float:
    """Importance by how much is new: from 1 (every word was said before) to 10 (none was).

    >>> novelty("More trains, more buses!", {"more"})
    7.0
    """
    said = set(words(text))
    return LEAST + (MOST - LEAST) * len(said - known) / len(said) if said else LEAST


def words(text: str) -> list[str]:
    """Its words in small letters."""
    return _WORD.findall(text.lower())


def _cosine(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    product = sum(weight * other[word] for word, weight in one.items() if word in other)
    lengths = math.hypot(*one.values()) * math.hypot(*other.values())
    return product / lengths if product else 0.0
