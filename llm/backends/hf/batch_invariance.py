"""Checks on the machine at hand that a reply depends on its request alone: not on the batch, on what was kept, on guesses.

The last digits of a sum depend on its order, and the order that a library chooses depends on the sizes of the
matrices. batch_columns.py
keeps to sizes at which it was found not to; here the model itself is asked. Some tokens are read alone and whole; then in pieces
of several sizes, behind a beginning that was kept, beside other rows. Every number that follows must be the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from parley.llm.backends.hf.batch_columns import COLUMNS, ColumnBatch
from parley.llm.backends.hf.loading import Loaded
from parley.llm.backends.hf.prefill import PromptRow
from parley.llm.request import Request, Sampling

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
