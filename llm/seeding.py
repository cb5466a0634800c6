"""Randomness by name: one stream per purpose, so that a new draw in one stream never shifts another."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from json.encoder import encode_basestring_ascii

SEED_BITS = 31
"""Seeds stay below 2**31: the smallest range that every endpoint accepts."""
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False).encode


def digest(*parts: object) -> bytes:
    """Return the 16-byte BLAKE2b digest of the parts as JSON, so that ("ab", "c") differs from ("a", "bc") and 1 from "1".

    Parts are strings, numbers, None, and lists and tuples of these. Errors: TypeError for anything else.
    """
    return blake2b(_encode(parts).encode("ascii"), digest_size=16).digest()


def derive(seed: int, *name: object) -> int:
    """Return the integer seed in [0, 2**31) of the stream called `name` under the run's `seed`."""
    return _seed(digest(seed, *name))


def seed_deriver(seed: int, *name: object) -> Callable[..., int]:
    """Return `derive` for the many streams whose names begin in the same way; it takes half of the time.

    >>> seed_deriver(7, "room", "Ann")(3, "speech") == derive(7, "room", "Ann", 3, "speech")
    True
    """
    return partial(_derived, _encode((seed, *name))[:-1])


def _derived(begun: str, *rest: int | str) -> int:
    parts = f"{begun},{','.join([_written(label) for label in rest])}]"
    return _seed(blake2b(parts.encode("ascii"), digest_size=16).digest())


def _written(label: int | str) -> str:
    return encode_basestring_ascii(label) if isinstance(label, str) else str(label)


def _seed(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)


def stream(seed: int, *name: object) -> random.Random:
    """Return the generator of the stream called `name` under the run's `seed`."""
    return random.Random(derive(seed, *name))
