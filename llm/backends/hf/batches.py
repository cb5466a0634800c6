"""Which rows go through the model together: alike in length, few enough for memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

Row = TypeVar("Row")
Out = TypeVar("Out")


def by_length(rows: Sequence[Row], length: Callable[[Row], int], most: int) -> Iterator[list[Row]]:
    """Batches of rows in order of length, each of at most `most` tokens with padding (a single row may be longer)."""
    batch: list[Row] = []
    for row in sorted(rows, key=length):
        if batch and length(row) * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def halving(batch: Sequence[Row], run: Callable[[Sequence[Row]], list[Out]]) -> list[Out]:
    """Run a batch; one that does not fit into memory is run in two halves. A single row that does not fit is an error."""
    try:
        return run(batch)
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if len(batch) == 1 or not _out_of_memory(error):
            raise
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(batch) // 2
    return halving(batch[:middle], run) + halving(batch[middle:], run)


def _out_of_memory(error: BaseException) -> bool:
    said = str(error).lower()
    return (
        isinstance(error, torch.OutOfMemoryError | MemoryError) or "out of memory" in said or "can't allocate" in said
    )


def left_padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device) -> dict[str, torch.Tensor]:
    """Token ids (rows, longest) padded on the left, with their mask."""
    width = max(len(row) for row in rows)
    ids = torch.tensor([[pad] * (width - len(row)) + list(row) for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
