"""What a model has read and said, kept: a prompt that begins like an earlier one is not read again from its beginning.

Prompts of a debate only grow, and a survey is put on a copy of what was said: with its keys and values kept, each line is read
once. `Roomy` layers are the library's, but grow in place: the library's concatenate all that was read at every new token.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

ROOM = 64
BLOCK = 32
"""Tokens between two points at which a kept prompt can be found; from there on, tokens are compared one by one."""
CONTINUED = 0.75
"""Share of a kept prompt from which on a longer one that goes on from it takes its place."""


class Roomy(DynamicLayer):
    """Keys and values of one layer, (rows, heads, length, width), with room for more tokens behind them."""

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self._all = [key_states[..., :0, :], value_states[..., :0, :]]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        at = self.get_seq_length()
        length = at + key_states.shape[-2]
        if length > self._all[0].shape[-2]:
            self._all = [_grown(held[..., :at, :], length + ROOM) for held in self._all]
        for held, new in zip(self._all, (key_states, value_states), strict=True):
            held[..., at:length, :] = new
        return self._show(length)

    def start(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        """Take keys and values whose first `length` places are filled."""
        self.lazy_initialization(keys, values)
        self._all = [keys, values]
        self._show(length)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        length = self.get_seq_length()
        self._all = [held[indices] for held in self._all]
        self._show(length)

    def batch_repeat_interleave(self, repeats: int) -> None:
        length = self.get_seq_length()
        self._all = [held.repeat_interleave(repeats, 0) for held in self._all]
        self._show(length)

    def _show(self, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys, self.values = (held[..., :length, :] for held in self._all)
        return self.keys, self.values


def _grown(held: torch.Tensor, length: int) -> torch.Tensor:
    rows, heads, filled, width = held.shape
    out = held.new_zeros(rows, heads, length, width)
    out[..., :filled, :] = held
    return out


@dataclass(eq=False)
class Kept:
    """Tokens read, and their keys and values: for each layer a pair of tensors (heads, tokens, width)."""

    ids: list[int]
    variant: str
    layers: list[tuple[torch.Tensor, torch.Tensor]]

    @property
    def bytes(self) -> int:
        return sum(keys.nbytes + values.nbytes for keys, values in self.layers)


class Prefixes:
    """Prompts kept, up to `most` bytes. Beyond that some are dropped at random: of a population that takes turns, the least
    recently used is always the one that is needed next, so that dropping it would leave nothing to be found.
    """

    def __init__(self, most: int):
        self.most, self.used = most, 0
        self._by_mark: dict[int, Kept] = {}
        self._all: list[Kept] = []
        self._drawn = random.Random(0)

    def find(self, ids: Sequence[int], variant: str) -> tuple[Kept | None, int]:
        """The kept prompt with the longest common beginning, and its length (never all of `ids`: the last token is read anew)."""
        marks = list(_marks(ids, variant))
        kept = next((self._by_mark[mark] for mark in reversed(marks) if mark in self._by_mark), None)
        if kept is None:
            return None, 0
        shared, longest = 0, min(len(ids) - 1, len(kept.ids))
        while shared < longest and ids[shared] == kept.ids[shared]:
            shared += 1
        return (kept, shared) if shared >= BLOCK else (None, 0)

    def keep(self, new: Kept, source: Kept | None, shared: int) -> None:
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


BY_COLUMN = frozenset({"gpt_neo", "mpt"})
"""Kinds of models that count distances in columns of the cache, not in positions: no padding may stand inside a row."""
BY_LENGTH = frozenset({"longrope", "dynamic"})
"""Ways of encoding positions that depend on the longest row of a batch."""


def can_keep(model: Any) -> bool:
    """Does every layer see all that was read (no sliding window, no recurrent state), at positions that are its own?"""
    layers, config = DynamicCache(config=model.config).layers, model.config.get_text_config()
    rope = getattr(config, "rope_parameters", None) or {}
    own = config.model_type not in BY_COLUMN and rope.get("rope_type") not in BY_LENGTH
    return own and bool(layers) and all(type(layer) is DynamicLayer for layer in layers)


def fresh(model: Any, roomy: bool) -> Cache:
    """An empty cache for a batch."""
    if not roomy:
        return DynamicCache(config=model.config)
    return Cache(layers=[Roomy() for _ in DynamicCache(config=model.config).layers])
