"""What a model has read and said, kept: a prompt that begins like an earlier one is not read again from its beginning.

Prompts of a debate only grow, and a survey is put on a copy of what was said: with its keys and values kept, each line is read
once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from parley.llm.backends.hf import grouped_attention

BLOCK = 32
"""Tokens between two points at which a kept prompt can be found; from there on, tokens are compared one by one."""
CONTINUED = 0.75
"""Share of a kept prompt from which on a longer one that goes on from it takes its place."""


@dataclass(eq=False)
class CachedPrefix:
    """Tokens read, and their keys and values: for each layer a pair of tensors (heads, tokens, width)."""

    ids: list[int]
    variant: str
    layers: list[tuple[torch.Tensor, torch.Tensor]]

    @property
    def bytes(self) -> int:
        return sum(keys.nbytes + values.nbytes for keys, values in self.layers)


class PrefixCache:
    """Prompts kept, up to `most` bytes. Beyond that some are dropped at random: of a population that takes turns, the least
    recently used is always the one that is needed next, so that dropping it would leave nothing to be found.
    """

    def __init__(self, most: int):
        self.most, self.used = most, 0
        self._by_mark: dict[int, CachedPrefix] = {}
        self._all: list[CachedPrefix] = []
        self._drawn = random.Random(0)

    def find(self, ids: Sequence[int], variant: str) -> tuple[CachedPrefix | None, int]:
        """The kept prompt with the longest common beginning, and its length (never all of `ids`: the last token is read anew)."""
        marks = list(_marks(ids, variant))
        kept = next((self._by_mark[mark] for mark in reversed(marks) if mark in self._by_mark), None)
        if kept is None:
            return None, 0
        shared, longest = 0, min(len(ids) - 1, len(kept.ids))
        while shared < longest and ids[shared] == kept.ids[shared]:
            shared += 1
        return (kept, shared) if shared >= BLOCK else (None, 0)

    def keep(self, new: CachedPrefix, source: CachedPrefix | None, shared: int) -> None:
        """Keep a prompt that was continued from `source`, of which it shares the first tokens."""
        if new.bytes > self.most:
            return
        if source in self._all and source is not None and shared >= CONTINUED * len(source.ids):
            self._drop(self._all.index(source))
        self._all.append(new)
        self.used += new.bytes
        self._by_mark |= dict.fromkeys(_marks(new.ids, new.variant), new)
        while self.used > self.most:
            self._drop(self._drawn.randrange(len(self._all)))

    def _drop(self, place: int) -> None:
        self._all[place], self._all[-1] = self._all[-1], self._all[place]
        gone = self._all.pop()
        self.used -= gone.bytes
        for mark in _marks(gone.ids, gone.variant):
            if self._by_mark.get(mark) is gone:
                del self._by_mark[mark]


def _marks(ids: Sequence[int], variant: str) -> Iterator[int]:
    """A digest of the first 32, 64, ... tokens."""
    mark = hash(variant)
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        mark = hash((mark, *ids[start : start + BLOCK]))
        yield mark


MASKED = frozenset({"sdpa", grouped_attention.NAME})
"""Ways of attending that take a mask of numbers as it is given."""
BY_LENGTH = frozenset({"longrope", "dynamic"})
"""Ways of encoding positions that depend on the longest row of a batch."""


def can_cache(model: Any) -> bool:
    """Can tokens be read in pieces, each in the column of its position?

    That needs attention to all that was read (no sliding window, no recurrent state) through a mask of ours, and positions
    that are the token's own.
    """
    layers, config = DynamicCache(config=model.config).layers, model.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    masked = config._attn_implementation in MASKED and not getattr(config, "alibi", False)
    own = masked and rope.get("rope_type") not in BY_LENGTH
    return own and bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
