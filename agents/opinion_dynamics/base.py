"""What a law of opinion dynamics is: arrays in, arrays out. No text, no agent objects.

Opinions are (n,) float64 on the axis of attitudes, 0-10. A graph is a `scipy.sparse.csr_array` (n, n): row i holds whom i
hears, the data their weights (> 0; 1 in an unweighted graph), the diagonal is empty. Whoever hears nobody keeps its opinion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class Law(ABC):
    """One step of a whole population. A law is frozen: what it needs to know of the start it is given by `begin`."""

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        """Whom a fitted law was fitted to: name, share and where they begin (quantiles); nobody for a law that is no fit."""
        return ()

    @property
    def told(self) -> tuple[str, ...]:
        """What a fitted law has to say of itself wherever it was used, as lines of Markdown; nothing for a law that is no
        fit."""
        return ()

    @property
    def caption(self) -> str:
        """The same in a line, for figures."""
        return ""

    @property
    def digest(self) -> str:
        """Of the file that a fitted law was read from; "" for a law that is no fit."""
        return ""

    def extrapolation(self, steps: int) -> str:
        """What a reader has to know where a fitted law is run for more steps than it was fitted to; "" otherwise."""
        return ""

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> Law:
        """The law for a population that starts here. parties: (n,) places in `names`. Errors: ValueError where it cannot."""
        return self

    def beyond(self, opinions: Floats, graph: csr_array) -> float | None:
        """The share of people who are where a fitted law was never fitted; None for a law that is no fit."""
        return None

    @abstractmethod
    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        """The opinions after one step; `opinions` is left as it is."""


def neighbour_mean(opinions: Floats, graph: csr_array, said: Floats | None = None) -> Floats:
    """The weighted mean of what each hears (of opinions, or of what was `said`); its own opinion where it hears nobody.

    >>> neighbour_mean(np.array([0.0, 4.0, 7.0]), csr_array([[0, 1, 3], [1, 0, 0], [0, 0, 0]])).tolist()
    [6.25, 0.0, 7.0]
    """
    weight = graph @ np.ones(len(opinions))
    found = opinions.copy()
    np.divide(graph @ (opinions if said is None else said), weight, out=found, where=weight > 0)
    return found


def interval_share(name: str, value: float) -> None:
    """Errors: ValueError for anything but a number from 0 to 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, not {value:g}")
