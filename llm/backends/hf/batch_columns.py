"""A batch in which every token has its place: the token at a position is in the column of that number, in every batch.

So a row's keys and values lie where they would lie if the row were alone, whatever its batch, its pieces and what was kept of
it. On a CPU in float32 nothing else may change the last digit either. Two things would (docs/log.md, 2026-11-23):

- a matrix product of fewer than `LEAST` rows is added up in another order: no pass has fewer tokens, and attention no fewer
  queries (grouped_attention.py);
- attention adds up its keys in blocks of `COLUMNS`, and a block that is cut short in another order: columns come in whole blocks.

batch_invariance.py checks on the machine at hand that this is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.functional import pad
from transformers import Cache
from transformers.cache_utils import DynamicLayer

from parley.llm.backends.hf.grouped_attention import LEAST, NAME
from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.prefill import PrefilledBatch

COLUMNS = 512
"""Keys that attention on a CPU adds up in one go."""
ROOM = 64
"""Columns in a block on other devices, where the order of sums is not ours to choose."""


class GrowingCacheLayer(DynamicLayer):
    """Keys and values of one layer, (rows, heads, columns, width), with `room` columns. New ones are put `at` (rows, tokens);
    the first `shown` columns are seen.
    """

    room, shown = 0, 0
    at: torch.Tensor

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self._all = [_zeros(new, self.room) for new in (key_states, value_states)]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        row = torch.arange(len(self.at), device=self.at.device)[:, None]
        for held, new in zip(self._all, (key_states, value_states), strict=True):
            held[row, :, self.at] = new.transpose(1, 2)
        self.keys, self.values = (held[:, :, : self.shown] for held in self._all)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self._all = [held[indices] for held in self._all]


def _zeros(like: torch.Tensor, columns: int) -> torch.Tensor:
    rows, heads, _, width = like.shape
    return like.new_zeros(rows, heads, columns, width)


class ColumnBatch(PrefilledBatch):
    """A batch whose rows may have been read in part before, and can be kept."""

    layers: list[GrowingCacheLayer]

    def _read(self) -> torch.Tensor:
        config = self.loaded.model.config.get_text_config()
        self.plainly = config._attn_implementation == NAME
        self.layers = [GrowingCacheLayer() for _ in range(config.num_hidden_layers)]
        self.cache = Cache(layers=list(self.layers))
        self._make_room(self._whole(max(row.length for row in self.rows) + 1))
        self._take_over()
        width = self._at_least(max(row.unread for row in self.rows))
        filler = self.loaded.tokenizer.pad_token_id
        read = [[filler] * (width - row.unread) + row.ids[row.shared :] for row in self.rows]
        at = [[len(row.ids)] * (width - row.unread) + [*range(row.shared, len(row.ids))] for row in self.rows]
        ids, last = torch.tensor(read, device=self.device), -(-LEAST // len(self.rows))
        return self._pass(ids, torch.tensor(at, device=self.device), last)[:, -1]

    def say(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        return self._pass(*self.next(tokens, self._at_least(max(map(len, tokens)))))

    def read(self, number: int, said: list[int]) -> CachedPrefix | None:
        row = self.rows[number]
        length = len(row.ids) + len(said)
        layers = [
            (keys[number, :, :length].clone(), values[number, :, :length].clone()) for keys, values in self._held()
        ]
        return CachedPrefix(row.ids + said, row.request.adapter, layers)

    def _pass(self, ids: torch.Tensor, at: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Logits after tokens put in some columns; padding goes to columns that are not yet filled."""
        shown = self._whole(int(at.max()) + 1)
        self._make_room(shown)
        for layer in self.layers:
            layer.at, layer.shown = at, shown
        queries = (
            pad(at, (0, -at.shape[1] % LEAST)) if self.plainly else at
        )  # as grouped_attention.py will pad its queries
        unseen = torch.arange(shown, device=self.device) > queries[:, None, :, None]
        dtype = self.loaded.model.dtype
        mask = torch.zeros(unseen.shape, dtype=dtype, device=self.device).masked_fill_(unseen, torch.finfo(dtype).min)
        return self.forward(ids, mask, at.clamp(max=self.loaded.context - 1), keep)

    def _at_least(self, width: int) -> int:
        """Tokens a row for a pass: no product has fewer than LEAST rows, nor that of an adapter with one row in the batch."""
        rows = 1 if self.loaded.adapters else len(self.rows)
        return max(width, -(-LEAST // rows))

    def _whole(self, length: int) -> int:
        """Columns for so many tokens."""
        block = COLUMNS if self.plainly else ROOM
        return -(-length // block) * block

    def _make_room(self, columns: int) -> None:
        for layer in self.layers:
            if columns > layer.room:
                layer.room = columns
                if layer.is_initialized:
                    layer._all = [_grown(held, columns) for held in layer._all]

    def _held(self) -> list[list[torch.Tensor]]:
        return [layer._all for layer in self.layers]

    def _take_over(self) -> None:
        """Copy the kept keys and values to their columns."""
        example = next((row.kept for row in self.rows if row.kept), None)
        if example is None:
            return
        for number, layer in enumerate(self.layers):
            pair = [one.new_zeros(len(self.rows), *one.shape) for one in example.layers[number]]
            layer.lazy_initialization(pair[0], pair[1])
            for at, row in enumerate(self.rows):
                if row.kept:
                    for held, kept in zip(layer._all, row.kept.layers[number], strict=True):
                        held[at, :, : row.shared] = kept[:, : row.shared]

    def _select(self, index: torch.Tensor) -> None:
        """Nothing but keys and values is held by row."""


def _grown(held: torch.Tensor, columns: int) -> torch.Tensor:
    out = _zeros(held, columns)
    out[:, :, : held.shape[2]] = held
    return out
