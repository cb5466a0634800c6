"""Reads a batch of prompts, so that the model can go on from there.

`PrefilledBatch` pads on the left and keeps nothing. It is for models that cannot be read in pieces, because of a sliding window
or because positions depend on the batch.

`ColumnBatch` is for all other models. The token at a position is in the column of that number, in every batch. So the keys and
values of a row lie where they would lie if the row were alone, whatever its batch, its pieces and its cached prefix. On a CPU in
float32 two more things could change the last digit of a result, and are prevented (tools/log, 2026-11-23):

- The product of few rows is added up in another order. So products and attention take rows and queries in multiples of a number
  that is found on this machine (same_sums.py).
- Attention adds up its keys in blocks of `BLOCK`, and a shorter block in another order. So columns come in whole blocks.

`is_batch_invariant` checks on this machine that this is enough. It reads some tokens alone and in one piece, then in several
pieces, behind a cached prefix, next to other rows. All logits must be the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch.nn.functional import pad
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

from parley.llm.backends.hf.answer_tokens import TokenTree
from parley.llm.backends.hf.grouped_attention import BLOCK, step_of
from parley.llm.backends.hf.kv_cache import CachedPrefix
from parley.llm.backends.hf.loading import Loaded
from parley.llm.request import Reply, Request, Sampling

OTHER_BLOCK = 64
"""Columns of a block on other devices, where the order of sums is the library's."""


class PromptRow(NamedTuple):
    """A request with its prompt's token ids. `place` is its position in the list of requests.

    The first `shared` tokens are those of the cached `prefix`. The reply ends at a `stop` string.
    """

    place: int
    request: Request
    ids: list[int]
    prefix: CachedPrefix | None = None
    shared: int = 0
    stop: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        """Tokens of the prompt and of the longest reply."""
        return len(self.ids) + self.request.sampling.max_tokens

    @property
    def unread(self) -> int:
        return len(self.ids) - self.shared


class AnsweredRow(NamedTuple):
    """A row's reply, and what the cache can keep of it (None: nothing)."""

    reply: Reply
    prefix: CachedPrefix | None


class PrefilledBatch:
    """Rows that the model has read.

    `logits` (rows, vocabulary) say what follows each prompt, `position` (rows,) is that of the next token.
    """

    mask: torch.Tensor

    def __init__(self, loaded: Loaded, rows: Sequence[PromptRow]):
        self.loaded, self.rows, self.device = loaded, list(rows), loaded.model.device
        self.padding = loaded.tokenizer.pad_token_id
        self.position = self._tensor([len(row.ids) for row in rows])
        self.logits = self._read()

    def _tensor(self, values: Sequence[Any]) -> torch.Tensor:
        return torch.tensor(values, device=self.device)

    def _read(self) -> torch.Tensor:
        self.cache: Cache = DynamicCache(config=self.loaded.model.config)
        padding = [max(len(row.ids) for row in self.rows) - len(row.ids) for row in self.rows]
        self.mask = self._tensor([[0] * n + [1] * len(row.ids) for n, row in zip(padding, self.rows, strict=True)])
        ids = self._tensor([[self.padding] * n + row.ids for n, row in zip(padding, self.rows, strict=True)])
        return self.forward(ids, self.mask, (self.mask.cumsum(1) - 1).clamp(min=0), 1)[:, -1]

    def append(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Read more tokens of every row; return logits (rows, tokens, vocabulary) of what follows each of them."""
        ids = self.pad_right(tokens)
        positions = self.position[:, None] + torch.arange(ids.shape[1], device=self.device)
        self.position = self.position + self._tensor(list(map(len, tokens)))
        return self._append(ids, positions)

    def append_tree(self, tree: TokenTree) -> torch.Tensor:
        """Read the tokens of a tree behind every row; return logits (rows, nodes, vocabulary) of what follows each node.

        This is the last thing that a batch reads.
        """
        count, paths = len(self.rows), tree.paths()
        self.select([number for number in range(count) for _ in paths])
        logits = self.append([[tree.tokens[node] for node in path] for path in paths] * count)
        places = {node: (row, place) for row, path in enumerate(paths) for place, node in enumerate(path)}
        rows, at = zip(*(places[node] for node in range(len(tree.tokens))), strict=True)
        return logits.view(count, len(paths), *logits.shape[1:])[:, list(rows), list(at)]

    def pad_right(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return tokens (rows, tokens) padded to the longest row."""
        width = max(map(len, tokens))
        return self._tensor([[*row, *[self.padding] * (width - len(row))] for row in tokens])

    def _append(self, ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        self.mask = torch.cat([self.mask, self.mask.new_ones(ids.shape)], 1)
        return self.forward(ids, self.mask, positions.clamp(max=self.loaded.context - 1))  # of a row that has finished

    def select(self, numbers: list[int]) -> None:
        """Go on with some of the rows. A number may come several times."""
        index = self._tensor(numbers)
        self.rows, self.position = [self.rows[number] for number in numbers], self.position[index]
        self.cache.batch_select_indices(index)
        self._select_mask(index)

    def _select_mask(self, index: torch.Tensor) -> None:
        self.mask = self.mask[index]

    def prefix(self, number: int, reply: list[int]) -> CachedPrefix | None:
        """Return a row's prompt and the tokens of its reply, for the cache."""
        return None

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, positions: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Return the logits after each (or the last `keep`) of some tokens (rows, tokens) at their positions."""
        adapters = [row.request.adapter or "__base__" for row in self.rows]
        output: Any = self.loaded.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            cache=self.cache,
            use_cache=True,
            logits_to_keep=keep,
            **({"adapter_names": adapters} if self.loaded.adapters else {}),
        )
        logits: torch.Tensor = output.logits
        return logits


ReadBatch = Callable[[Loaded, Sequence[PromptRow]], PrefilledBatch]
"""Reads a batch: `PrefilledBatch` or `ColumnBatch`."""


class GrowingCacheLayer(DynamicLayer):
    """Keys and values of one layer, (rows, heads, columns, width), with `room` columns.

    New ones go to the columns `at` (rows, tokens); attention sees the first `shown` columns.
    """

    room, shown = 0, 0
    at: torch.Tensor

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        self.tensors = [new.new_zeros(*new.shape[:2], self.room, new.shape[3]) for new in (key_states, value_states)]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        row = torch.arange(len(self.at), device=self.at.device)[:, None]
        for tensor, new in zip(self.tensors, (key_states, value_states), strict=True):
            tensor[row, :, self.at] = new.transpose(1, 2)
        self.keys, self.values = (tensor[:, :, : self.shown] for tensor in self.tensors)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        self.tensors = [tensor[indices] for tensor in self.tensors]

    def grow(self, columns: int) -> None:
        """Make room for so many columns."""
        if columns > self.room and self.is_initialized:
            self.tensors = [pad(tensor, (0, 0, 0, columns - self.room)) for tensor in self.tensors]
        self.room = max(self.room, columns)


class ColumnBatch(PrefilledBatch):
    """A batch whose rows may have a cached prefix, and can be cached."""

    layers: list[GrowingCacheLayer]

    def _read(self) -> torch.Tensor:
        config = self.loaded.model.config.get_text_config()
        self.step = step_of(config._attn_implementation)
        self.layers = [GrowingCacheLayer() for _ in range(config.num_hidden_layers)]
        self.cache = Cache(layers=list(self.layers))
        self._grow(self._whole_blocks(max(row.length for row in self.rows) + 1))
        self._copy_prefixes()
        step = self.step or 1
        width = -(-max(row.unread for row in self.rows) // step) * step  # so that no layer has to fill up its rows
        padding = [width - row.unread for row in self.rows]
        ids = [[self.padding] * n + row.ids[row.shared :] for n, row in zip(padding, self.rows, strict=True)]
        columns = [
            [len(row.ids)] * n + [*range(row.shared, len(row.ids))] for n, row in zip(padding, self.rows, strict=True)
        ]
        return self._append(self._tensor(ids), self._tensor(columns), keep=1)[:, -1]

    def _append(self, ids: torch.Tensor, positions: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Read tokens into the columns of their positions; padding goes to columns that are not yet filled."""
        shown = self._show(positions)
        unseen = torch.arange(shown, device=self.device) > positions[:, :, None]
        return self._pass(ids, unseen, positions, keep)

    def append_tree(self, tree: TokenTree) -> torch.Tensor:
        """Read the tokens of a tree behind every row, in one pass and with no copy of a row.

        A node lies in a column of its own, at the position of its depth, and sees the prompt and the nodes above it.
        """
        nodes = torch.arange(len(tree.tokens), device=self.device)
        columns = self.position[:, None] + nodes
        shown = self._show(columns)
        number = (
            torch.arange(shown, device=self.device) - self.position[:, None]
        )  # of the node in a column; below 0: the prompt
        above = self._tensor(tree.above())[:, number.clamp(0, len(nodes) - 1)].transpose(0, 1)
        within = (number < len(nodes))[:, None]
        unseen = ~((number < 0)[:, None] | (above & within))
        ids = self._tensor([tree.tokens] * len(self.rows))
        return self._pass(ids, unseen, self.position[:, None] + self._tensor(tree.depths()))

    def _show(self, columns: torch.Tensor) -> int:
        """Prepare the layers to take tokens into columns (rows, tokens); return the number of columns that attention sees."""
        shown = self._whole_blocks(int(columns.max()) + 1)
        self._grow(shown)
        for layer in self.layers:
            layer.at, layer.shown = columns, shown
        return shown

    def _pass(self, ids: torch.Tensor, unseen: torch.Tensor, positions: torch.Tensor, keep: int = 0) -> torch.Tensor:
        """Read tokens (rows, tokens). `unseen` (rows, tokens, columns) says which columns a token does not see."""
        dtype = self.loaded.model.dtype
        mask = torch.zeros(unseen.shape, dtype=dtype, device=self.device).masked_fill_(unseen, torch.finfo(dtype).min)
        return self.forward(ids, mask[:, None], positions.clamp(max=self.loaded.context - 1), keep)

    def _whole_blocks(self, length: int) -> int:
        """Return the number of columns for so many tokens."""
        block = BLOCK if self.step else OTHER_BLOCK
        return -(-length // block) * block

    def _grow(self, columns: int) -> None:
        for layer in self.layers:
            layer.grow(columns)

    def _copy_prefixes(self) -> None:
        example = next((row.prefix for row in self.rows if row.prefix), None)
        if example is None:
            return
        for number, layer in enumerate(self.layers):
            keys, values = (tensor.new_zeros(len(self.rows), *tensor.shape) for tensor in example.layers[number])
            layer.lazy_initialization(keys, values)
            for place, row in enumerate(self.rows):
                if row.prefix:
                    for tensor, cached in zip(layer.tensors, row.prefix.layers[number], strict=True):
                        tensor[place, :, : row.shared] = cached[:, : row.shared]

    def _select_mask(self, index: torch.Tensor) -> None:
        """Each pass makes its own mask."""

    def prefix(self, number: int, reply: list[int]) -> CachedPrefix | None:
        ids = self.rows[number].ids + reply
        layers = [[tensor[number, :, : len(ids)].clone() for tensor in layer.tensors] for layer in self.layers]
        return CachedPrefix(ids, self.rows[number].request.adapter, layers)


CHECKED, PIECES = 40, (1, 4, 2, 1, 6)
"""Tokens that are read before the pieces, and the tokens of each piece."""


def is_batch_invariant(loaded: Loaded) -> bool:
    """Are a row's logits the same to the last bit, alone or with others, whole or in pieces? The model must be `can_cache`."""
    length = min(CHECKED, loaded.context - sum(PIECES) - 1)
    vocabulary = loaded.model.get_input_embeddings().num_embeddings
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(vocabulary, (length + sum(PIECES),), generator=generator).tolist()
    with torch.inference_mode():
        whole = ColumnBatch(loaded, [_row(ids)]).logits[0]
        begun = ColumnBatch(loaded, [_row(ids[:length])])
        others = [_row(ids[place : 9 * place + 9]) for place in range(2)]
        beside = _row(ids[:length])._replace(prefix=begun.prefix(0, []), shared=length // 2)
        batch = ColumnBatch(loaded, [*others, beside])
        same = torch.equal(batch.logits[-1], begun.logits[0])
        for piece in PIECES:
            appended = batch.append([*[row.ids[:piece] for row in others], ids[length : length + piece]])
            length += piece
        return bool(same and torch.equal(appended[-1, PIECES[-1] - 1], whole))


def _row(ids: Sequence[int]) -> PromptRow:
    return PromptRow(0, Request((), Sampling(max_tokens=sum(PIECES)), 0), list(ids))
