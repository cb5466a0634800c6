"""Reads rows of tokens on several cores, and shares what they have in common.

Rows of one call that begin alike share blocks, too: the first such row reads them, and the others are read after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field

import numpy as np

from parley.llm.backends.pocket.kernels import read_tokens
from parley.llm.backends.pocket.layout import BLOCK, WIDTH, Weights
from parley.llm.backends.pocket.prefix_pool import TOKEN_BYTES, PrefixPool
from parley.llm.request import Request


@dataclass(eq=False)
class Row:
    """A request with the token ids of its prompt, as bytes of int32. `place` is its position in the list of requests."""

    place: int
    request: Request
    ids: bytes
    stop: tuple[str, ...] = ()
    model: int = 0
    blocks: list[int] = field(default_factory=list)
    read: int = 0
    """Tokens whose keys and values are in the blocks, or will be, by rows before this one."""
    wave: int = 0
    """Rows of a wave share no block that one of them has yet to read."""
    entered: int = 0
    """Blocks that are in the tree."""

    @property
    def count(self) -> int:
        return len(self.ids) // TOKEN_BYTES

    @property
    def tokens(self) -> np.ndarray:
        return np.frombuffer(self.ids, np.int32)


class Reader:
    """Several models of one shape (one for each adapter), a pool for what they read, and threads that read."""

    def __init__(self, models: Sequence[Weights], pool: PrefixPool, workers: int):
        self.models, self.pool, self.workers = models, pool, workers
        self.width = models[0].logits.shape[1] * WIDTH
        self._threads = ThreadPoolExecutor(workers) if workers > 1 else None

    def seat(self, rows: Sequence[Row], more: Callable[[Row], int], spare: int = 0) -> int:
        """Give rows their blocks, for their prompt and `more` tokens each; return how many of the rows have room.

        Besides, there is room for `spare` blocks a row.
        """
        readers: dict[int, int] = {}  # waves of the blocks that rows of this call will read
        for number, row in enumerate(rows):
            shared = self.pool.find(-1 - row.model, row.ids[: (row.count - 1) * TOKEN_BYTES])
            missing = -(-(row.count + more(row)) // BLOCK) - len(shared)
            if missing + spare * (number + 1) > self.pool.available:
                self.pool.leave(shared)
                return number
            row.blocks = shared + self.pool.take(missing)
            row.read = len(shared) * BLOCK
            row.wave = 1 + readers.get(shared[-1], -1) if shared else 0
            row.entered = len(shared)
            self._enter(row)
            readers |= dict.fromkeys(row.blocks[len(shared) : row.entered], row.wave)
        return len(rows)

    def _enter(self, row: Row) -> None:
        """Enter the full blocks of a row into the tree."""
        size = BLOCK * TOKEN_BYTES
        for number in range(row.entered, len(row.ids) // size):
            before = row.blocks[number - 1] if number else -1 - row.model
            if not self.pool.add(before, row.blocks[number], row.ids[number * size : (number + 1) * size]):
                return
            row.entered = number + 1

    def leave(self, row: Row, reply: Sequence[int] = ()) -> None:
        """End a row whose blocks hold the keys and values of its prompt, and of a reply."""
        if row.entered == row.count // BLOCK:  # else another row holds the same tokens in other blocks
            row.ids += np.array(reply, np.int32).tobytes()
            self._enter(row)
        self.pool.leave(row.blocks)
        row.blocks = []

    def leave_question(self, row: Row, tail: int) -> None:
        """End a row whose last `tail` tokens no other prompt goes on from: blocks with nothing else are not kept."""
        for number in reversed(range(-(-(row.count - tail) // BLOCK), row.entered)):
            if not self.pool.forget(row.blocks[number]):
                break
        self.pool.leave(row.blocks)
        row.blocks = []

    def read(self, rows: Sequence[Row]) -> np.ndarray:
        """Read what is unread of each row; return the logits behind its last token, (rows, tokens)."""
        logits = np.empty((len(rows), self.width), np.float32)
        self.read_into(rows, [[-1] * (row.count - row.read - 1) + [number] for number, row in enumerate(rows)], logits)
        return logits

    def read_into(self, rows: Sequence[Row], wanted: Sequence[Sequence[int]], logits: np.ndarray) -> None:
        """Read rows; write the logits behind each unread token to the line `wanted` for it, -1 for none."""
        waves: dict[int, list[int]] = {}
        for number, row in enumerate(rows):
            waves.setdefault(row.wave if self._threads else 0, []).append(number)
        for _, numbers in sorted(waves.items()):
            self.spread(
                numbers,
                [len(wanted[number]) for number in numbers],
                lambda batch: self._read_part(
                    [rows[number] for number in batch], [wanted[number] for number in batch], logits
                ),
            )
        for row in rows:
            row.read = row.count

    def _read_part(self, rows: Sequence[Row], wanted: Sequence[Sequence[int]], logits: np.ndarray) -> None:
        counts = [row.count - row.read for row in rows]
        numbers = np.repeat(np.arange(len(rows), dtype=np.int32), counts)
        tokens = np.concatenate([row.tokens[row.read :] for row in rows])
        positions = np.concatenate([np.arange(row.read, row.count, dtype=np.int32) for row in rows])
        lines = np.concatenate([np.asarray(line, np.int32) for line in wanted])
        weights = self.models[rows[0].model]
        read_tokens(weights, self.pool.blocks, tables(rows), tokens, numbers, positions, lines, logits)

    def spread(self, rows: Sequence[int], sizes: Sequence[int], work: Callable[[Sequence[int]], None]) -> None:
        """Do work for rows, in parts of about the same size on as many threads."""
        if self._threads is None or len(rows) == 1:
            work(rows)
            return
        ends = np.cumsum(sizes)
        share = -(-int(ends[-1]) // self.workers)
        worker = (ends - 1) // max(share, 1)
        parts = [[rows[place] for place in np.flatnonzero(worker == number).tolist()] for number in range(self.workers)]
        running = [self._threads.submit(work, batch) for batch in parts if batch]
        wait(running)
        for part_done in running:
            part_done.result()


def tables(rows: Sequence[Row]) -> np.ndarray:
    """Return the blocks of each row, (rows, blocks)."""
    table = np.zeros((len(rows), max(len(row.blocks) for row in rows)), np.int32)
    for number, row in enumerate(rows):
        table[number, : len(row.blocks)] = row.blocks
    return table
