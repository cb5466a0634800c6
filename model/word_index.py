"""The words of posts as TF-IDF weights: how much a post is like what a person wrote, and which posts a search finds.

The weight of a word is its count times ln((1 + n) / (1 + number of posts with it)) + 1, over the n posts that can be shown,
as in agents/memory.py. All numbers are cosines, 0-1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.sparse import csr_array

from parley.agents.memory import words


class WordIndex:
    """The words of the posts of one room, by the turn in which they were written, and of all that each agent wrote."""

    def __init__(self) -> None:
        self._posts: dict[int, Counter[str]] = {}
        self._own: dict[int, Counter[str]] = {}
        self._rows: dict[int, int] | None = None

    def add(self, iteration: int, author: int, text: str) -> None:
        """Add a post."""
        counts = Counter(words(text))
        self._posts[iteration] = counts
        self._own.setdefault(author, Counter()).update(counts)
        self._rows = None

    def keep(self, iterations: Iterable[int]) -> None:
        """Remove all posts but these."""
        kept = set(iterations)
        if any(iteration not in kept for iteration in self._posts):
            self._posts = {number: counts for number, counts in self._posts.items() if number in kept}
            self._rows = None

    def likeness(self, agent: int, iterations: Sequence[int]) -> list[float]:
        """Return the cosine of each post with all that an agent wrote; 0 for an agent who has written nothing."""
        counts = self._own.get(agent)
        return self._cosines(counts, iterations) if counts else [0.0] * len(iterations)

    def search(self, query: str, iterations: Sequence[int], count: int) -> list[int]:
        """Return the posts most like a query, best first, of equal ones the newest; none without a common word.

        >>> index = WordIndex()
        >>> for number, text in enumerate(["more trains", "more buses", "more trains, trains"], 1):
        ...     index.add(number, 0, text)
        >>> index.search("Trains!", [1, 2, 3], 5)
        [3, 1]
        """
        scored = list(zip(self._cosines(Counter(words(query)), iterations), iterations, strict=True))
        return [number for score, number in sorted(scored, reverse=True) if score > 0][:count]

    def _cosines(self, counts: Mapping[str, int], iterations: Sequence[int]) -> list[float]:
        if not iterations:
            return []
        if self._rows is None:
            self._weigh()
        assert self._rows is not None
        vector = np.zeros(len(self._columns))
        for word, number in counts.items():
            if word in self._columns:
                vector[self._columns[word]] = number * self._idf[self._columns[word]]
        length = float(np.linalg.norm(vector))
        cosines = self._weights @ vector / length if length else np.zeros(len(self._rows))
        return [round(float(cosines[self._rows[iteration]]), 12) for iteration in iterations]

    def _weigh(self) -> None:
        """Compute the weights of all posts, each scaled to length 1."""
        spread = Counter(word for counts in self._posts.values() for word in counts)
        self._columns = {word: column for column, word in enumerate(spread)}
        total = len(self._posts)
        self._idf = np.array([np.log((1 + total) / (1 + number)) + 1 for number in spread.values()])
        self._rows = {iteration: row for row, iteration in enumerate(self._posts)}
        rows = [row for row, counts in enumerate(self._posts.values()) for _ in counts]
        columns = [self._columns[word] for counts in self._posts.values() for word in counts]
        values = np.array([number for counts in self._posts.values() for number in counts.values()], dtype=float)
        values *= self._idf[columns] if columns else 1.0
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=total)) if rows else np.ones(total)
        values /= lengths[rows] if rows else 1.0
        self._weights = csr_array((values, (rows, columns)), shape=(total, len(spread)))
