"""Keeps the keys and values of prompts, so that the beginning of a later prompt is not read again.

The prompts of a debate only grow, and a survey continues a copy of the debate. With its keys and values kept, each line is read
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

from parley.llm.backends.hf.grouped_attention import STEPS, name_of

BLOCK = 32
"""Tokens between two points at which a kept prompt can be found; from there on, tokens are compared one by one."""
CONTINUED = 0.75
"""A prompt that continues at least this share of a kept prompt takes its place."""
MASKED = frozenset({"sdpa", *map(name_of, STEPS)})
"""Kinds of attention that take a mask of numbers as it is."""
BY_LENGTH = frozenset({"longrope", "dynamic"})
"""Encodings of positions that depend on the longest row of a batch."""


@dataclass(eq=False)
class CachedPrefix:
    """Tokens read, and their keys and values: for each layer a pair of tensors (heads, tokens, width)."""

    ids: list[int]
    adapter: str
    layers: Sequence[Sequence[torch.Tensor]]

    @property
    def bytes(self) -> int:
        return sum(tensor.nbytes for pair in self.layers for tensor in pair)


class PrefixCache:
    """Keeps prompts up to `most` bytes, and beyond that drops some at random.

    In a population that takes turns, the prompt that was used least recently is the next one needed. Dropping that one would
    leave nothing to find.
    """

    def __init__(self, most: int):
        self.most, self.used = most, 0
        self._by_mark: dict[int, CachedPrefix] = {}
        self._prefixes: list[CachedPrefix] = []
        self._rng = random.Random(0)

    def find(self, ids: Sequence[int], adapter: str) -> tuple[CachedPrefix | None, int]:
        """Return the kept prompt with the longest common beginning, and its length.

        The length is never that of all `ids`: the last token is always read.
        """
        marks = reversed(list(_marks(ids, adapter)))
        prefix = next((self._by_mark[mark] for mark in marks if mark in self._by_mark), None)
        if prefix is None:
            return None, 0
        shared, longest = 0, min(len(ids) - 1, len(prefix.ids))
        while shared < longest and ids[shared] == prefix.ids[shared]:
            shared += 1
        return (prefix, shared) if shared >= BLOCK else (None, 0)

    def keep(self, new: CachedPrefix, source: CachedPrefix | None, shared: int) -> None:
        """Keep a prompt that shares its first tokens with `source`."""
        if new.bytes > self.most:
            return
        if source in self._prefixes and source is not None and shared >= CONTINUED * len(source.ids):
            self._drop(self._prefixes.index(source))
        self._prefixes.append(new)
        self.used += new.bytes
        self._by_mark |= dict.fromkeys(_marks(new.ids, new.adapter), new)
        while self.used > self.most:
            self._drop(self._rng.randrange(len(self._prefixes)))

    def _drop(self, place: int) -> None:
        self._prefixes[place], self._prefixes[-1] = self._prefixes[-1], self._prefixes[place]
        dropped = self._prefixes.pop()
        self.used -= dropped.bytes
        for mark in _marks(dropped.ids, dropped.adapter):
            if self._by_mark.get(mark) is dropped:
                del self._by_mark[mark]


def _marks(ids: Sequence[int], adapter: str) -> Iterator[int]:
    """Yield a digest of the first 32, 64, ... tokens."""
    mark = hash(adapter)
    for start in range(0, len(ids) - BLOCK + 1, BLOCK):
        mark = hash((mark, *ids[start : start + BLOCK]))
        yield mark


def can_cache(model: Any) -> bool:
    """Can the model be read in pieces, each token in the column of its position?

    That needs attention to all earlier tokens (no sliding window, no recurrent state) through our own mask, and positions that
    depend on the token alone.
    """
    layers, config = DynamicCache(config=model.config).layers, model.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    masked = config._attn_implementation in MASKED and not getattr(config, "alibi", False)
    own_positions = rope.get("rope_type") not in BY_LENGTH
    return masked and own_positions and bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
