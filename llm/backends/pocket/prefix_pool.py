"""Blocks of keys and values: which are free, which hold the beginning of a prompt, and who uses them.

A block holds 16 tokens. Full blocks form a tree: a block is found by the block before it and its own tokens. Rows share the
blocks of a common beginning, in one call and between calls. A block that no row uses stays until its room is needed.
"""

from __future__ import annotations

import random

import numpy as np

from parley.llm.backends.pocket.layout import BLOCK, WIDTH, Blocks

TOKEN_BYTES = 4


class PrefixPool:
    """A number of blocks, in memory that the system gives when a block is first used.

    Where no block is free, the ends of some prompts are dropped at random. In a population that takes turns, the prompt that was
    used least recently is the next one needed; dropping that one would leave nothing to find.
    """

    def __init__(self, count: int, layers: int, key_heads: int):
        self.blocks = Blocks(
            np.empty((layers, key_heads, 2, count, WIDTH * BLOCK), np.int16),
            np.zeros((layers, key_heads, 2, count, BLOCK), np.float32),
        )
        self.count, self.touched = count, 0
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        count, self.used = self.count, 0
        self._free: list[int] = list(range(self.touched))
        self._tree: dict[tuple[int, bytes], int] = {}
        self._key: list[tuple[int, bytes] | None] = [None] * count
        self._users, self._children = [0] * count, [0] * count
        self._idle: list[int] = []  # blocks of the tree without users and without blocks after them
        self._place: dict[int, int] = {}  # of each idle block in the list
        self._rng = random.Random(0)

    @property
    def available(self) -> int:
        """Blocks that can be taken: those that no row uses."""
        return self.count - self.used

    def find(self, begin: int, ids: bytes) -> list[int]:
        """Return the blocks that hold the beginning of these tokens, and use them. `begin` is -1 less the number of the model."""
        blocks, before, size = [], begin, BLOCK * TOKEN_BYTES
        for start in range(0, len(ids) - size + 1, size):
            block = self._tree.get((before, ids[start : start + size]))
            if block is None:
                break
            blocks.append(block)
            before = block
        self.use(blocks)
        return blocks

    def use(self, blocks: list[int]) -> None:
        """Let one more row use blocks."""
        for block in blocks:
            if self._users[block] == 0:
                self.used += 1
                self._remove_idle(block)
            self._users[block] += 1

    def take(self, count: int) -> list[int]:
        """Return blocks for a row to write to, at most `available` ones."""
        taken = []
        for _ in range(count):
            if not self._free and self.touched == self.count:
                self._drop_one()
            if self._free:
                block = self._free.pop()
            else:
                block, self.touched = self.touched, self.touched + 1
            self._users[block] = 1
            self.used += 1
            taken.append(block)
        return taken

    def add(self, before: int, block: int, ids: bytes) -> bool:
        """Enter a block of full 16 tokens into the tree; False where the tree holds another one with the same tokens."""
        if (before, ids) in self._tree:
            return False
        self._tree[(before, ids)] = block
        self._key[block] = (before, ids)
        if before >= 0:
            self._remove_idle(before)
            self._children[before] += 1
        return True

    def forget(self, block: int) -> bool:
        """Take a block out of the tree that one row alone uses and nothing continues; False where there is more to it."""
        key = self._key[block]
        if key is None or self._users[block] != 1 or self._children[block]:
            return False
        del self._tree[key]
        self._key[block] = None
        if key[0] >= 0:
            self._children[key[0]] -= 1
        return True

    def leave(self, blocks: list[int]) -> None:
        """End a row's use of its blocks, in their order. Those of the tree stay; the others are free."""
        for block in reversed(blocks):
            self._users[block] -= 1
            if self._users[block] == 0:
                self.used -= 1
                if self._key[block] is None:
                    self._free.append(block)
                else:
                    self._add_idle(block)

    def clear(self) -> None:
        """Drop all blocks that no row uses."""
        while self._idle:
            self._drop_one()

    def _drop_one(self) -> None:
        """Drop a block at the end of a prompt, and those before it that nothing else continues."""
        block = self._idle[self._rng.randrange(len(self._idle))]
        self._remove_idle(block)
        key = self._key[block]
        assert key is not None
        del self._tree[key]
        self._key[block] = None
        self._free.append(block)
        before = key[0]
        if before >= 0:
            self._children[before] -= 1
            self._add_idle(before)

    def _add_idle(self, block: int) -> None:
        if self._users[block] == 0 and self._children[block] == 0:
            self._place[block] = len(self._idle)
            self._idle.append(block)

    def _remove_idle(self, block: int) -> None:
        place = self._place.pop(block, None)
        if place is not None:
            last = self._idle.pop()
            if last != block:
                self._idle[place], self._place[last] = last, place
