"""What a law is: the class `Law`, and what a law knows of the people that it moves.

Opinions are float64 on the axis of attitudes, from 0 to 10: (n,), or (n, d) in several dimensions. A graph is a
`scipy.sparse.csr_array` (n, n): row i says whom i hears, the data are weights (1 in an unweighted graph), and the
diagonal is empty. Weights are above 0, or also below 0 for a law that is `signed`. An agent that hears no one keeps its
opinion. In the formulas, W is the graph with rows that sum to 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
AXIS = (0.0, 10.0)
"""The ends of the axis of attitudes."""
LARGE = 1_000_000
"""From so many people on, loops are compiled (_compiled.py); for fewer, compiling takes longer than it saves."""


@dataclass(frozen=True, eq=False)
class People:
    """What a law knows of n people.

    parties   (n,) the place of each person's party in `names`
    names     the names of the parties
    traits    (n,) numbers by name, from the nodes of the user's graph: those that the law `reads`
    stubborn  (n,) whether a person never moves; None if everyone may move
    outside   so many of the last people are lines from outside: they say exactly their opinion, and hear no one
    """

    parties: Codes
    names: tuple[str, ...] = ("all",)
    traits: Mapping[str, Floats] = field(default_factory=dict)
    stubborn: Flags | None = None
    outside: int = 0

    def with_outside(self, count: int, stubborn: Flags | None) -> People:
        """Return these people, and `count` lines from outside after them, which never move."""
        added = np.zeros(count)
        still = np.zeros(len(self.parties), dtype=np.bool_) if stubborn is None else stubborn
        return replace(
            self,
            parties=np.append(self.parties, added.astype(np.int64)),
            traits={name: np.append(values, added) for name, values in self.traits.items()},
            stubborn=np.append(still, added == 0),
            outside=count,
        )

    @classmethod
    def alike(cls, size: int) -> People:
        """Return people of one party, without traits."""
        return cls(np.zeros(size, dtype=np.int64))


@dataclass(frozen=True)
class Law(ABC):
    """The base class of laws. A law is frozen: `begin` returns the law with what it needs to know of the start.

    `step` is the law's own move. The fields are the options that every law has; `Motion` (agents/laws/motion.py)
    applies them around `step`:

    noise     SD of normal noise that is added to every opinion in each step, in points of the axis
    stubborn  share of people, drawn by the seed, who never move
    pull      share of the distance to `toward` that every opinion moves in each step
    toward    a point of the axis, from 0 to 10
    fade      in step t (from 0) the pull is pull * fade ** t

    `people`, `report_lines`, `caption`, `digest`, `extrapolation` and `beyond` are about laws that were fitted to a run; other
    laws leave them empty.
    """

    noise: float = field(default=0.0, kw_only=True)
    stubborn: float = field(default=0.0, kw_only=True)
    pull: float = field(default=0.0, kw_only=True)
    toward: float | None = field(default=None, kw_only=True)
    fade: float = field(default=1.0, kw_only=True)

    reads: ClassVar[tuple[str, ...]] = ()
    """The attributes of nodes that the law uses, where the nodes of the user's graph have them."""
    vectors: ClassVar[bool] = False
    """Whether the law can move opinions of several dimensions."""
    signed: ClassVar[bool] = False
    """Whether the law can use hostile links, whose weight is below 0 (`sign` -1 in the user's graph)."""
    mutual: ClassVar[bool] = False
    """Whether an agent can be moved by one that it does not hear, because both speak in a meeting. A muted agent then
    has no meetings."""

    def __post_init__(self) -> None:
        self.check_options()

    def check_options(self) -> None:
        """Check the options that every law has. Errors: ValueError."""
        for name in ("stubborn", "pull", "fade"):
            check_share(name, getattr(self, name))
        if not 0 <= self.noise < np.inf:
            raise ValueError(f"noise is {self.noise:g}, but must be 0 or more")
        if self.toward is not None and not AXIS[0] <= self.toward <= AXIS[1]:
            raise ValueError(f"toward is {self.toward:g}, but must be between 0 and 10")
        if self.pull and self.toward is None:
            raise ValueError(f"pull needs the opinion toward which it moves people: write pull={self.pull:g},toward=8")

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        """The parties that the law was fitted to: name, share of the people, quantiles of first opinions."""
        return ()

    @property
    def report_lines(self) -> tuple[str, ...]:
        """What a reader has to know of the fit, as lines of Markdown."""
        return ()

    @property
    def caption(self) -> str:
        """The same in one line, for figures."""
        return ""

    @property
    def digest(self) -> str:
        """The digest of the file that the law was read from."""
        return ""

    def extrapolation(self, steps: int) -> str:
        """Return what a reader has to know if the law runs for more steps than it was fitted to; otherwise ""."""
        return ""

    def admit(self, opinions: Floats) -> Floats:
        """Return the first opinions as the law can hold them: unchanged, unless the law has discrete opinions."""
        return opinions

    def settle(self, opinions: Floats, generator: np.random.Generator) -> Floats:
        """Return opinions after pull and noise as the law can hold them, with the same expectation."""
        return opinions

    def begin(self, opinions: Floats, people: People) -> Law:
        """Return the law for people who start with these opinions. Errors: ValueError."""
        return self

    def beyond(self, opinions: Floats, graph: csr_array) -> float | None:
        """Return the share of people with values that the law was never fitted to; None for a law that is no fit."""
        return None

    def speak(self, opinions: Floats, generator: np.random.Generator) -> Floats:
        """Return what people with these opinions say, as grades: their opinions, unless the law was fitted to lines of a run."""
        return opinions

    @abstractmethod
    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        """Return the opinions after the law's own move; `opinions` is not changed."""


def neighbour_mean(opinions: Floats, graph: csr_array, spoken: Floats | None = None) -> Floats:
    """Return the weighted mean of the opinions (or of those `spoken`) that each agent hears; its own opinion if it
    hears no one. Opinions are (n,) or (n, d), and so is the mean.

    >>> neighbour_mean(np.array([0.0, 4.0, 7.0]), csr_array([[0, 1, 3], [1, 0, 0], [0, 0, 0]])).tolist()
    [6.25, 0.0, 7.0]
    """
    if len(opinions) >= LARGE and opinions.ndim == 1:
        from parley.agents.laws._compiled import compiled_means

        return compiled_means(opinions, graph, opinions if spoken is None else spoken)
    weight = along(graph @ np.ones(len(opinions)), opinions)
    means = opinions.copy()
    np.divide(graph @ (opinions if spoken is None else spoken), weight, out=means, where=weight > 0)
    return means


def distances(gaps: Floats) -> Floats:
    """Return the length of gaps between opinions: (n,), from gaps (n,) or (n, d), there the Euclidean length.

    >>> distances(np.array([[3.0, 4.0], [0.0, -1.0]])).tolist()
    [5.0, 1.0]
    """
    lengths: Floats = np.abs(gaps) if gaps.ndim == 1 else np.sqrt((gaps * gaps).sum(axis=1))
    return lengths


def along(values: NDArray[Any], opinions: Floats) -> NDArray[Any]:
    """Return one value a person in a shape that fits the opinions: (n,), or (n, 1) for opinions of shape (n, d)."""
    return values if opinions.ndim == 1 else values[:, None]


def check_share(name: str, value: float) -> None:
    """Errors: ValueError on a value that is not from 0 to 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value:g}, but must be between 0 and 1")
