"""How weights, keys and values lie in memory, and what compiles the code that reads them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

BLOCK = 16
"""Tokens of a block of keys and values."""
WIDTH = 32
"""Width of a head, and columns of a panel of weights."""
HALF = 16
AT_ONCE = 128
"""Tokens that go through a layer at once."""
AHEAD = 4
"""Blocks between the one in use and the one that the processor is asked to fetch."""
LARGEST = 32767.0
"""Keys and values are whole numbers up to this one, times a scale for each token and head."""


class Weights(NamedTuple):
    """The weights of a model, float32. Matrices lie in panels of 32 columns: (layers, panels, rows, 32)."""

    embedding: np.ndarray  # (tokens, width)
    norms: (
        np.ndarray
    )  # (2 * layers + 1, width): before attention and before the feed-forward part of each layer, and last
    project: np.ndarray  # queries, keys and values of all heads, side by side
    combine: np.ndarray  # what attention adds
    gate_up: np.ndarray
    down: np.ndarray
    logits: np.ndarray  # (1, panels, width, 32)
    cosine: np.ndarray  # (positions, 16)
    sine: np.ndarray
    heads: int
    key_heads: int
    epsilon: float


class Blocks(NamedTuple):
    """Keys and values of all rows. A block has the keys (32, 16 tokens) and values (16 tokens, 32) of each layer and head."""

    numbers: np.ndarray  # int16 (layers, key heads, 2, blocks, 512)
    scales: np.ndarray  # float32 (layers, key heads, 2, blocks, 16)


def compiled(function: Any) -> Any:
    """Compile a function, once on this machine. It does not hold Python's lock while it runs."""
    return njit(nogil=True, cache=True, error_model="numpy")(function)
