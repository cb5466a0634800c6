"""Draws tokens by a race: the token with the shortest waiting time wins; likelier ones wait less.

Each token of each step has a random number of its own, from the seed of the request. So a difference in the last digits of
probabilities changes one reply in a thousand; with one random number for all tokens, it would change one in twenty. Models of the
pocket kind draw in this way, in compiled code (pocket/decode.py) and here. The law is that of the probabilities (the exponential
race; Gumbel-max is its logarithm).
"""

from __future__ import annotations

import numpy as np

STEP, FIRST, SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B
"""Constants of the mixing function lowbias32 (Wellons, 2018), which turns key and token into a random number."""


def race_keys(seed: int, count: int) -> np.ndarray:
    """Return a random number for each token of a reply, uint32: they depend on the request's seed alone."""
    return np.random.Generator(np.random.PCG64(seed % (1 << 64))).integers(1 << 32, size=count, dtype=np.uint32)


def waiting_times(keys: np.ndarray, vocabulary: int) -> np.ndarray:
    """Return exponential waiting times, (keys, tokens).

    >>> waiting_times(race_keys(0, 1), 20_000).mean().round(1)
    np.float64(1.0)
    """
    mixed = keys[:, None] + np.arange(vocabulary, dtype=np.uint32) * np.uint32(STEP)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(FIRST)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(SECOND)
    uniform = (mixed ^ (mixed >> np.uint32(16))).astype(np.float32) * np.float32(2.0**-32)
    times: np.ndarray = -np.log1p(-np.minimum(uniform, np.float32(1 - 2.0**-24)).astype(np.float64))
    return times
