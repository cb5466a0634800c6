"""Shuffled graphs with the degrees of a given one: the null of measures that degrees alone could explain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parley.analysis.metrics._network import Ints, Links

SWEEPS = 3
"""Times that exchanges are offered between one shuffled graph and the next: on average to half of the links each time."""


def shuffled_links(links: Links, size: int, draws: int, generator: np.random.Generator) -> Iterator[Links]:
    """Yield shuffled graphs. In each, every agent hears as many agents, and is heard by as many, as in `links`.

    Two links a -> b and c -> d are exchanged for a -> d and c -> b, unless an agent would hear itself or a link would be there
    twice (Maslov and Sneppen 2002, Science 296). If every link is mutual, mutual links are exchanged as wholes, so the shuffled
    graphs are undirected too. An exchange and its reverse are equally probable. The given graph takes a random place in the
    chain of shuffled ones, so that a p-value is exact however long the chain takes to mix (Besag and Clifford 1989, Biometrika
    76, serial method).
    """
    codes = links.source * size + links.target
    undirected = bool(np.isin(links.target * size + links.source, codes).all())
    first = codes[links.source < links.target] if undirected else codes
    if len(first) < 2:
        yield from [links] * draws
        return
    before = int(generator.integers(draws + 1))
    for steps in (before, draws - before):
        state = first
        for _ in range(steps):
            for _ in range(SWEEPS):
                state = _exchanged(state, size, undirected, generator)
            yield _decoded(state, size, undirected)


def _decoded(codes: Ints, size: int, undirected: bool) -> Links:
    source, target = codes // size, codes % size
    if not undirected:
        return Links(source, target)
    return Links(np.concatenate((source, target)), np.concatenate((target, source)))


def _exchanged(codes: Ints, size: int, undirected: bool, generator: np.random.Generator) -> Ints:
    """Offer exchanges to a random share of all pairs of links, at once. codes: source * size + target, each once."""
    half = int(generator.random() * (len(codes) // 2)) + 1
    pairs = generator.permutation(len(codes))[: 2 * half].reshape(2, -1)
    source, target = codes[pairs] // size, codes[pairs] % size
    if undirected:
        turned = generator.random(pairs.shape) < 0.5
        source, target = np.where(turned, target, source), np.where(turned, source, target)
    offered = _encoded(source, target[::-1], size, undirected)
    accepted = (source != target[::-1]).all(axis=0) & ~_clashes(offered, codes, codes[pairs]).any(axis=0)
    exchanged = codes.copy()
    exchanged[pairs[:, accepted]] = offered[:, accepted]
    return exchanged


def _encoded(source: Ints, target: Ints, size: int, undirected: bool) -> Ints:
    if undirected:
        source, target = np.minimum(source, target), np.maximum(source, target)
    return source * size + target


def _clashes(offered: Ints, codes: Ints, given_up: Ints) -> NDArray[np.bool_]:
    """Return (2, pairs) whether an offered link is there already or offered twice, or the link given up is offered elsewhere.

    The last condition makes the reverse exchange possible.
    """
    ordered = np.sort(offered, axis=None)
    twice = np.searchsorted(ordered, offered, side="right") - np.searchsorted(ordered, offered) > 1
    return _among(offered, np.sort(codes)) | twice | _among(given_up, ordered)


def _among(values: Ints, ordered: Ints) -> NDArray[np.bool_]:
    """Return which values are in an ordered array."""
    found: NDArray[np.bool_] = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values
    return found
