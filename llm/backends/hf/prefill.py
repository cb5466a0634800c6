"""A batch of prompts read by the model, which can go on from there. Padding is on the left, and nothing is kept.

This is for models that cannot be read in pieces (a sliding window, positions that depend on the batch). All others:
batch_columns.py.

A batch in which every token has its place: the token at a position is in the column of that number, in every batch.

So a row's keys and values lie where they would lie if the row were alone, whatever its batch, its pieces and what was kept of
it. On a CPU in float32 nothing else may change the last digit either. Two things would (docs/log.md, 2026-11-23):

- a matrix product of fewer than `LEAST` rows is added up in another order: no pass has fewer tokens, and attention no fewer
  queries (grouped_attention.py);
- attention adds up its keys in blocks of `COLUMNS`, and a block that is cut short in another order: columns come in whole blocks.

batch_invariance.py checks on the machine at hand that this is enough.

Checks on the machine at hand that a reply depends on its request alone: not on the batch, on what was kept, on guesses.

The last digits of a sum depend on its order, and the order that a library chooses depends on the sizes of the
matrices. batch_columns.py
keeps to sizes at which it was found not to; here the model itself is asked. Some tokens are read alone and whole; then in pieces
of several sizes, behind a beginning that was kept, beside other rows. Every number that follows must be the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import pad
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from parley.llm.backends.hf.grouped_attention import LEAST, NAME
from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.loading import Loaded
from parley.llm.request import Reply, Request, Sampling


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


READ = (40, COLUMNS - 9)
"""Tokens read before the pieces: of a short prompt, and up to where a block of columns ends within them."""
PIECES = (1, 1, 4, 2, 3, 1, 6)
LOOKS = (0, 1, 4, 7)
"""Pieces after which the numbers are compared."""
ROWS = (1, 2, 7)
"""Rows in a batch."""


def is_batch_invariant(loaded: Loaded) -> bool:
    """Is a row the same to the last bit, alone or in a batch, whole or in pieces? Only asked of a model that can_keep."""
    more = sum(PIECES)
    lengths = [length for length in READ if length + more < loaded.context]
    drawn = torch.Generator().manual_seed(0)
    words = loaded.model.get_input_embeddings().num_embeddings
    ids = torch.randint(words, (max(lengths, default=0) + more,), generator=drawn).tolist()
    with torch.inference_mode():
        return bool(lengths) and all(_same(loaded, ids[: length + more], length) for length in lengths)


def _same(loaded: Loaded, ids: list[int], length: int) -> bool:
    """Do all ways of reading agree with reading all tokens in one go, alone?"""
    ends = [length + sum(PIECES[:place]) for place in range(len(PIECES) + 1)]
    alone = {place: ColumnBatch(loaded, [_row(ids[: ends[place]])]).logits[0] for place in LOOKS}
    kept = ColumnBatch(loaded, [_row(ids[: length // 2])]).read(0, [])
    for rows in ROWS:
        others = [_row(ids[place : 9 * place + 9]) for place in range(rows - 1)]
        batch = ColumnBatch(loaded, [*others, _row(ids[:length])._replace(kept=kept, shared=length // 2)])
        found = {0: batch.logits[-1]}
        for place, piece in enumerate(PIECES):
            said = batch.say([*[other.ids[:piece] for other in others], ids[ends[place] : ends[place + 1]]])
            found[place + 1] = said[-1, piece - 1]
            batch.settle([piece] * rows)
        if not all(torch.equal(found[place], alone[place]) for place in LOOKS):
            return False
    return True


def _row(ids: Sequence[int]) -> PromptRow:
    return PromptRow(0, Request((), Sampling(max_tokens=sum(PIECES)), 0), list(ids))
