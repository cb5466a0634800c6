"""A batch of prompts read by the model, which can go on from there. Padding is on the left, and nothing is kept.

This is for models that cannot be read in pieces (a sliding window, positions that depend on the batch). All others:
batch_columns.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from transformers import Cache, DynamicCache

from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.loading import Loaded
from parley.llm.request import Reply, Request


class PromptRow(NamedTuple):
    """One request and its prompt's token ids; `place` is its position in the list asked.

    `kept` is what was read before of a prompt that begins alike, in its first `shared` tokens. At a `stop` string its reply ends.
    """

    place: int
    request: Request
    ids: list[int]
    kept: CachedPrefix | None = None
    shared: int = 0
    stop: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        return len(self.ids) + self.request.sampling.max_tokens

    @property
    def unread(self) -> int:
        return len(self.ids) - self.shared


class AnsweredRow(NamedTuple):
    """A row's reply, what was read and said for it (None where nothing is kept), and the tokens of an open one."""

    reply: Reply
    read: CachedPrefix | None
    said: Sequence[int] = ()


class PrefilledBatch:
    """Rows read. `logits` (rows, vocabulary): what follows each prompt; `place` (rows,): the position of its next token."""

    def __init__(self, loaded: Loaded, rows: Sequence[PromptRow]):
        self.loaded, self.rows, self.device = loaded, list(rows), loaded.model.device
        self.place = torch.tensor([len(row.ids) for row in rows], device=self.device)
        self.logits = self._read()

    def _read(self) -> torch.Tensor:
        self.cache: Cache = DynamicCache(config=self.loaded.model.config)
        widest, pad = max(len(row.ids) for row in self.rows), self.loaded.tokenizer.pad_token_id
        self.mask = torch.tensor([_ones(len(row.ids), widest) for row in self.rows], device=self.device)
        ids = torch.tensor([[pad] * (widest - len(row.ids)) + row.ids for row in self.rows], device=self.device)
        return self.forward(ids, self.mask, (self.mask.cumsum(1) - 1).clamp(min=0), 1)[:, -1]

    def say(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Add some tokens to every row (padded on the right); logits (rows, tokens, vocabulary) of what follows each.

        `settle` then says how many of them count.
        """
        ids, places = self.next(tokens)
        self.mask = torch.cat([self.mask, self.mask.new_ones(ids.shape)], 1)
        return self.forward(ids, self.mask, places.clamp(max=self.loaded.context - 1))  # a row that is over goes along

    def next(self, tokens: Sequence[Sequence[int]], width: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """Some tokens of every row, padded on the right to `width` or the longest, and their positions."""
        width, pad = max(width, *map(len, tokens)), self.loaded.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in tokens], device=self.device)
        return ids, self.place[:, None] + torch.arange(width, device=self.device)

    def settle(self, counts: Sequence[int]) -> None:
        """Of the tokens last added to each row, the first so many count; the others are as if never read."""
        self.place = self.place + torch.tensor(counts, device=self.device)

    def select(self, numbers: list[int]) -> None:
        """Go on with some of the rows."""
        index = torch.tensor(numbers, device=self.device)
        self.rows, self.place = [self.rows[number] for number in numbers], self.place[index]
        self.cache.batch_select_indices(index)
        self._select(index)

    def repeat(self, times: int) -> None:
        """Go on with each row so many times."""
        self.select([number for number in range(len(self.rows)) for _ in range(times)])

    def read(self, number: int, said: list[int]) -> CachedPrefix | None:
        """A row's prompt and the tokens that it has said so far, as they can be kept."""
        return None

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, places: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Logits after each (or the last `keep`) of some tokens (rows, tokens) at their positions."""
        variants = (
            {"adapter_names": [row.request.adapter or "__base__" for row in self.rows]} if self.loaded.adapters else {}
        )
        out: Any = self.loaded.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=places,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=keep,
            **variants,
        )
        logits: torch.Tensor = out.logits
        return logits

    def _select(self, index: torch.Tensor) -> None:
        self.mask = self.mask[index]


Read = Callable[[Loaded, Sequence[PromptRow]], PrefilledBatch]
"""Reads a batch: `PrefilledBatch`, or that of batch_columns.py."""


def _ones(count: int, width: int) -> list[int]:
    return [0] * (width - count) + [1] * count
