"""Randomness by name: one stream per purpose, so that a new draw in one never shifts another."""

from __future__ import annotations

import random
from hashlib import blake2b

SEED_BITS = 31
"""Seeds stay below 2**31: the smallest range that every endpoint accepts."""


def digest(*parts: object) -> bytes:
    """16-byte BLAKE2b of the parts; each is length-prefixed, so ("ab", "c") differs from ("a", "bc")."""
    texts = [str(part) for part in parts]
    joined = "".join([f"{len(text)}:{text}" for text in texts])
    return blake2b(joined.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def derive(seed: int, *name: object) -> int:
    """The integer seed in [0, 2**31) of the stream called `name` under the run's `seed`."""
    return int.from_bytes(digest(seed, *name)[:8], "big") >> (64 - SEED_BITS)


def stream(seed: int, *name: object) -> random.Random:
    """The generator of the stream called `name` under the run's `seed`."""
    return random.Random(derive(seed, *name))
