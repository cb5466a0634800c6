"""A batch of prompts on its way through the model: what is kept of each is taken over, the rest is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from llm.backends.hf.cache import ROOM, Kept, Roomy, fresh
from llm.backends.hf.loading import Loaded
from llm.request import Reply, Request


class Row(NamedTuple):
    """One request and its prompt's token ids; `place` is its position in the list asked.

    `kept` is what was read before of a prompt that begins alike, in its first `shared` tokens.
    """

    place: int
    request: Request
    ids: list[int]
    kept: Kept | None = None
    shared: int = 0

    @property
    def length(self) -> int:
        return len(self.ids) + self.request.sampling.max_tokens

    @property
    def unread(self) -> int:
        return len(self.ids) - self.shared


class Answered(NamedTuple):
    """A row's reply, what was read and said for it (None where nothing is kept), and the tokens of an open one."""

    reply: Reply
    read: Kept | None
    said: Sequence[int] = ()


class Batch:
    """Rows read. Columns: shared tokens (padded on the left), unread ones (padded on the left), then what is said.

    `mask` (rows, columns) tells the tokens that count, `place` (rows,) the position of the next token of each row.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Row], keep: bool):
        self.loaded, self.rows, self.keep = loaded, list(rows), keep
        self.shared, self.unread = max(row.shared for row in rows), max(row.unread for row in rows)
        device = loaded.model.device
        self.cache = fresh(loaded.model, keep)
        self.mask = torch.tensor(
            [_ones(row.shared, self.shared) + _ones(row.unread, self.unread) for row in rows], device=device
        )
        self.place = torch.tensor([len(row.ids) for row in rows], device=device)
        self._take_over()
        pad = loaded.tokenizer.pad_token_id
        ids = torch.tensor([[pad] * (self.unread - row.unread) + row.ids[row.shared :] for row in rows], device=device)
        places = (self.mask.cumsum(1) - 1).clamp(min=0)[:, self.shared :]
        self.logits = self.all_logits(ids, places, 1)[:, -1]

    def all_logits(self, ids: torch.Tensor, places: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Logits after each (or the last `keep`) of some tokens (rows, tokens) at their positions; the mask must hold them."""
        variants = (
            {"adapter_names": [row.request.adapter or "__base__" for row in self.rows]} if self.loaded.adapters else {}
        )
        out: Any = self.loaded.model(
            input_ids=ids,
            attention_mask=self.mask,
            position_ids=places,
            past_key_values=self.cache,
            use_cache=True,
            logits_to_keep=keep,
            **variants,
        )
        logits: torch.Tensor = out.logits
        return logits

    def say(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Add some tokens to every row (padded on the right); logits (rows, tokens, vocabulary) of what follows each.

        `settle` then says how many of them count.
        """
        width, device = max(map(len, tokens)), self.mask.device
        pad = self.loaded.tokenizer.pad_token_id
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in tokens], device=device)
        self.mask = torch.cat([self.mask, self.mask.new_ones(ids.shape)], 1)
        places = self.place[:, None] + torch.arange(width, device=device)
        return self.all_logits(
            ids, places.clamp(max=self.loaded.context - 1)
        )  # rows that are over go along for a while

    def settle(self, width: int, counts: Sequence[int]) -> None:
        """Of the last `width` tokens of each row, the first so many count; the others are as if never read."""
        held = torch.tensor(counts, device=self.mask.device)
        self.mask[:, self.mask.shape[1] - width :] = torch.arange(width, device=held.device) < held[:, None]
        self.place = self.place + held

    def select(self, numbers: list[int]) -> None:
        """Go on with some of the rows."""
        index = torch.tensor(numbers, device=self.mask.device)
        self.rows = [self.rows[number] for number in numbers]
        self.mask, self.place = self.mask[index], self.place[index]
        self.cache.batch_select_indices(index)

    def read(self, number: int, said: list[int]) -> Kept | None:
        """A row's prompt and the tokens that it has said so far, as they can be kept."""
        if not self.keep:
            return None
        row = self.rows[number]
        columns = self.mask[number].nonzero()[: len(row.ids) + len(said), 0]
        layers = [
            (layer.keys[number].index_select(1, columns), layer.values[number].index_select(1, columns))
            for layer in self.cache.layers
        ]
        return Kept(row.ids + said, row.request.adapter, layers)

    def _take_over(self) -> None:
        """Copy the kept keys and values into the cache, right-aligned, with room for what follows."""
        if not self.shared:
            return
        example = next(row.kept for row in self.rows if row.kept)
        assert example is not None
        for number, layer in enumerate(self.cache.layers):
            length = self.shared + self.unread + ROOM
            pair = [one.new_zeros(len(self.rows), one.shape[0], length, one.shape[2]) for one in example.layers[number]]
            for at, row in enumerate(self.rows):
                if row.kept:
                    for held, kept in zip(pair, row.kept.layers[number], strict=True):
                        held[at, :, self.shared - row.shared : self.shared] = kept[:, : row.shared]
            assert isinstance(layer, Roomy)
            layer.start(pair[0], pair[1], self.shared)


def _ones(count: int, width: int) -> list[int]:
    return [0] * (width - count) + [1] * count
