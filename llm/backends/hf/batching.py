"""Which rows go through the model together: alike in length, few enough for memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

ALIKE = 32
"""Tokens by which rows may differ and still count as alike."""
Row = TypeVar("Row")
Out = TypeVar("Out")


def batches_by_length(rows: Sequence[Row], parts: Callable[[Row], tuple[int, int]], most: int) -> Iterator[list[Row]]:
    """Batches of alike rows, each of at most `most` tokens with padding (a single row may be longer).

    parts: tokens of a row that have to be read, and all others (read before, or to be said); both are padded to the longest. A
    batch ends as well where padding would be more than half of what is read.
    """
    batch: list[Row] = []
    widest, unread = (0, 0), 0
    for row in sorted(rows, key=lambda row: (parts(row)[0] // ALIKE, parts(row)[1])):
        wider = (max(widest[0], parts(row)[0]), max(widest[1], parts(row)[1]))
        padded = wider[0] * (len(batch) + 1) > 2 * (unread + parts(row)[0]) + ALIKE * (len(batch) + 1)
        if batch and (sum(wider) * (len(batch) + 1) > most or padded):
            yield batch
            batch, wider, unread = [], parts(row), 0
        batch.append(row)
        widest, unread = wider, unread + parts(row)[0]
    if batch:
        yield batch


def halve_on_memory_error(batch: Sequence[Row], run: Callable[[Sequence[Row]], list[Out]]) -> list[Out]:
    """Run a batch; one that does not fit into memory is run in two halves. A single row that does not fit is an error."""
    try:
        return run(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(batch) // 2
    return halve_on_memory_error(batch[:middle], run) + halve_on_memory_error(batch[middle:], run)


def _out_of_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return (
        isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in said or "can't allocate" in said
    )
