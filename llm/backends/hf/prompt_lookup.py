"""Tokens guessed ahead from what was said before: the model checks several of them in the time of one (prompt lookup decoding).

Agents who debate repeat themselves and each other. What followed the same few tokens the last time is a good guess of what
follows now; a wrong guess costs a little time and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

LONGEST, SHORTEST = 4, 2
"""Tokens by which a place is known; the longest that was met before counts."""
MOST = 1 << 20
"""Places known; beyond that all are forgotten."""


class PromptLookup:
    """What followed each few tokens the last time they were said. Guesses `ahead` tokens; none where `ahead` is 0."""

    def __init__(self, ahead: int):
        self.ahead = ahead
        self._next: dict[tuple[int, ...], int] = {}

    def learn(self, prompt: Sequence[int], said: Sequence[int]) -> None:
        """Remember a reply."""
        if not self.ahead:
            return
        if len(self._next) > MOST:
            self._next.clear()
        ids = [*prompt[-LONGEST:], *said]
        for end in range(len(ids) - len(said), len(ids)):
            for length in range(SHORTEST, min(LONGEST, end) + 1):
                self._next[tuple(ids[end - length : end])] = ids[end]

    def guess(self, prompt: Sequence[int], said: Sequence[int], most: int) -> list[int]:
        """Up to `most` tokens that may follow; fewer where nothing like the last tokens was said before."""
        ids = [*prompt[-LONGEST:], *said[-LONGEST:]]
        first = len(ids)
        while len(ids) - first < min(self.ahead, most):
            lengths = range(min(LONGEST, len(ids)), SHORTEST - 1, -1)
            following = next((self._next[key] for n in lengths if (key := tuple(ids[-n:])) in self._next), None)
            if following is None:
                break
            ids.append(following)
        return ids[first:]
