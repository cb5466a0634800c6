"""Laws of opinion dynamics on arrays: `--law NAME[:FILE][,option=value...]` chooses one (docs/populations.md).

Each subclass of `Law` here is one law. Its fields, except those with `repr=False`, are its options, and a field `file`
is what stands after the colon. Opinions are (n,) float64 on the axis of attitudes, 0-10. A graph is a
`scipy.sparse.csr_array` (n, n): row i says whom i hears, the data are weights (> 0; 1 in an unweighted graph), and the
diagonal is empty. An agent that hears no one keeps its opinion. In the formulas, W is the graph with rows that sum to
1.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from parley.llm.errors import UserError, unknown_name
from parley.llm.registry import Registry
from parley.llm.seeding import digest

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
LAWS = Registry("law", __name__, "parley.laws", ("begin", "step"), colon="file")
LINKS = 1 << 18
"""HegselmannKrause looks at about so many links at once, so that they stay in the processor's cache."""
STRETCHES = 8
"""Deffuant cuts a step into so many stretches: in a short stretch few meetings have to wait for another."""
SCHEMA = 4
"""The format of the files that Surrogate reads."""
RESPONSE = ("offset", "noise", "stay", "intercept", "own", "heard", "spread")
"""The numbers of a party's fitted response, in order."""
NAMES = (*RESPONSE, "own_low", "own_high", "heard_low", "heard_high")
"""The last four say between which values the response was fitted."""


class Law(ABC):
    """One step of a whole population. A law is frozen: `begin` tells it what it needs to know of the start.

    The properties, `extrapolation` and `beyond` are about laws that were fitted to a run; other laws leave them empty.
    """

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        """The parties that the law was fitted to: name, share of the people, quantiles of first opinions."""
        return ()

    @property
    def told(self) -> tuple[str, ...]:
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

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> Law:
        """Return the law for a population that starts here. parties: (n,) places in `names`. Errors: ValueError."""
        return self

    def beyond(self, opinions: Floats, graph: csr_array) -> float | None:
        """Return the share of people with values that the law was never fitted to; None for a law that is no fit."""
        return None

    @abstractmethod
    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        """Return the opinions after one step; `opinions` is not changed."""


@dataclass(frozen=True)
class DeGroot(Law):
    """Everyone takes the mean of what it hears: x(t+1) = own x(t) + (1 - own) W x(t).

    `own`: the weight of one's own opinion. Source: DeGroot 1974, Journal of the American Statistical Association
    69(345), 118-121. In a strongly connected graph opinions converge (for own > 0 in any, for own = 0 if W is
    aperiodic) to v x(0), where v is the left eigenvector of W with eigenvalue 1 and sum 1: in an undirected graph the
    mean weighted by degree.
    """

    own: float = 0.5
    name = "degroot"

    def __post_init__(self) -> None:
        _check_share("own", self.own)

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        return self.own * opinions + (1 - self.own) * neighbour_mean(opinions, graph)


@dataclass(frozen=True)
class FriedkinJohnsen(Law):
    """As DeGroot, but everyone holds on to its first opinion: x(t+1) = (1 - s) W x(t) + s x(0).

    `stubbornness` is s, the same for all; `begin` sets `initial`, x(0). Source: Friedkin and Johnsen 1990, Journal of
    Mathematical Sociology 15(3-4), 193-206 (their susceptibility is 1 - s). For s > 0 opinions converge to (I - (1 - s)
    W)^-1 s x(0), which is no consensus unless all began with the same opinion.
    """

    stubbornness: float = 0.2
    initial: Floats | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_share("stubbornness", self.stubbornness)

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> FriedkinJohnsen:
        return replace(self, initial=opinions.copy())

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        if self.initial is None:
            raise ValueError("friedkin_johnsen needs the first opinions: call law.begin(opinions, ...)")
        return (1 - self.stubbornness) * neighbour_mean(opinions, graph) + self.stubbornness * self.initial


@dataclass(frozen=True)
class HegselmannKrause(Law):
    """Bounded confidence, synchronous: everyone takes the mean of the opinions near its own, all at once.

        x_i(t+1) = mean of x_j(t) over j = i and the neighbours j of i with |x_j(t) - x_i(t)| <= epsilon

    `epsilon`: the confidence, in points of the axis. Weights of links are ignored. Source: Hegselmann and Krause 2002,
    Journal of Artificial Societies and Social Simulation 5(3), 2, where everyone is everyone's neighbour. On a complete
    graph opinions keep their order, and stop after finitely many steps. NDlib's `HKModel` (6.0.1) differs: it goes
    through N agents drawn at random, leaves the agent itself out of the mean, takes those nearer than epsilon (<), and
    moves only the last one drawn.
    """

    epsilon: float = 2.0

    def __post_init__(self) -> None:
        if self.epsilon < 0:
            raise ValueError(f"epsilon must be 0 or more, not {self.epsilon:g}")

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        moved = opinions.copy()
        for rows in _row_blocks(graph.indptr):
            moved[rows] = self._means(opinions, graph, rows)
        return moved

    def _means(self, opinions: Floats, graph: csr_array, rows: slice) -> Floats:
        own, ends = opinions[rows], graph.indptr[rows.start : rows.stop + 1]
        degree, links = np.diff(ends), slice(ends[0], ends[-1])
        others = opinions[graph.indices[links]]
        near = (np.abs(others - np.repeat(own, degree)) <= self.epsilon).astype(float)
        some, total, count = degree > 0, own.copy(), np.ones(len(own))
        if some.any():
            starts = (ends[:-1] - ends[0])[some]
            total[some] += np.add.reduceat(others * near, starts)
            count[some] += np.add.reduceat(near, starts)
        return total / count


def _row_blocks(ends: np.ndarray) -> Iterator[slice]:
    """Yield consecutive rows that together have about LINKS links (more if a single row has more)."""
    start, size = 0, len(ends) - 1
    while start < size:
        stop = max(int(np.searchsorted(ends, ends[start] + LINKS, side="right")) - 1, start + 1)
        yield slice(start, min(stop, size))
        start = stop


@dataclass(frozen=True)
class Deffuant(Law):
    """Bounded confidence, pairwise: linked agents meet, and if they are near enough, each moves toward the other.

        |x_i - x_j| < epsilon:   x_i <- x_i + mu (x_j - x_i),   x_j <- x_j + mu (x_i - x_j)

    A step is n meetings, one after the other: i is drawn from all agents, j from its neighbours, with equal chances and
    replacement; an agent without neighbours meets no one. The mean is conserved. Weights of links are ignored. Source:
    Deffuant, Neau, Amblard and Weisbuch 2000, Advances in Complex Systems 3, 87-98. With mu = 0.5 it is NDlib's
    `AlgorithmicBiasModel` with gamma = 0 (NDlib itself stops at an agent without neighbours). Meetings of different
    agents do not affect each other, so they are computed in batches, with exactly the outcome of one after the other.

    epsilon   the confidence, in points of the axis
    mu        how far each moves, as a share of the way to the other (0.5: they meet in the middle)
    """

    epsilon: float = 2.0
    mu: float = 0.5

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 < self.mu <= 0.5:
            raise ValueError("epsilon must be 0 or more, and mu above 0 and at most 0.5")

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        one, other = draw_meetings(graph, generator)
        moved = opinions.copy()
        for batch in concurrent_batches(one, other, len(opinions)):
            first, second = one[batch], other[batch]
            gap = moved[second] - moved[first]
            change = np.where(np.abs(gap) < self.epsilon, self.mu * gap, 0.0)
            moved[first] += change
            moved[second] -= change
        return moved


def draw_meetings(graph: csr_array, generator: np.random.Generator) -> tuple[Codes, Codes]:
    """Draw who meets whom, in order: two arrays of at most n agents."""
    size = graph.shape[0]
    one = generator.integers(size, size=size)
    degree, chance = np.diff(graph.indptr)[one], generator.random(size)
    some = degree > 0
    one = one[some]
    return one, graph.indices[graph.indptr[one] + (chance * degree)[some].astype(np.int64)]


def concurrent_batches(one: Codes, other: Codes, size: int) -> Iterator[Codes]:
    """Split meetings into batches: no agent is twice in a batch, and each agent's meetings keep their order.

    >>> [batch.tolist() for batch in concurrent_batches(np.array([0, 1, 3]), np.array([1, 2, 4]), 5)]
    [[0, 2], [1]]
    """
    turn = np.empty(size, dtype=np.int64)
    for left in np.array_split(np.arange(len(one)), STRETCHES if len(one) > 1000 else 1):
        while len(left):
            ends, numbers = np.column_stack((one[left], other[left])).ravel(), np.repeat(np.arange(len(left)), 2)
            turn[ends[::-1]] = numbers[::-1]  # written backwards, so the earliest meeting of each agent remains
            first = turn[ends].reshape(-1, 2)
            ready = (first == np.arange(len(left))[:, None]).all(axis=1)
            yield left[ready]
            left = left[~ready]


@dataclass(frozen=True)
class Surrogate(Law):
    """People who respond as agents of a recorded run did: `--law surrogate:FILE[,topic=SLUG]` (analysis/surrogate/ fits
    the file).

        said_j  = x_j + offset + noise                                   what each says, as a grade on the axis
        x_i'    = x_i                                                    with probability `stay`
                = x_i + intercept + own x_i + heard h_i + noise          otherwise

    h_i is the mean of what i hears, or its own opinion if it hears no one. The numbers are those of its party
    (RESPONSE; both noises are normal), and all values are kept within 0 and 10. The response depends on the mean of
    what is heard, not on how many say it: the rooms of the recorded run had their own number of people.

    `topic`: one of the file's topics; not needed if the file has one. `fit` is that topic, and `codes` each agent's
    party in it.
    """

    file: str = ""
    topic: str = ""
    fit: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)
    codes: Codes | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.fit:
            if not self.file:
                raise UserError(
                    "law surrogate needs a fitted file: write --law surrogate:FILE, with "
                    "a FILE written by run.py surrogate"
                )
            object.__setattr__(self, "fit", read_response(Path(self.file), self.topic))

    @property
    def people(self) -> tuple[tuple[str, float, tuple[float, ...]], ...]:
        return tuple([(name, party["share"], tuple(party["starts"])) for name, party in self.fit["parties"].items()])

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(self.fit["told"])

    @property
    def caption(self) -> str:
        return str(self.fit["caption"])

    @property
    def digest(self) -> str:
        return digest(json.dumps(self.fit, sort_keys=True)).hex()

    def extrapolation(self, steps: int) -> str:
        return extrapolation_note(self.fit, steps)

    def begin(self, opinions: Floats, parties: Codes, names: Sequence[str]) -> Surrogate:
        known = list(self.fit["parties"])
        for name in names:
            if name not in known:
                raise ValueError(f"the surrogate was fitted only to {', '.join(known)}, so it cannot play {name}")
        return replace(self, codes=np.array([known.index(name) for name in names], dtype=np.int64)[parties])

    def step(self, opinions: Floats, graph: csr_array, generator: np.random.Generator) -> Floats:
        response = self._numbers[: len(RESPONSE)]
        chance, (first, second) = generator.random(len(opinions)), generator.standard_normal((2, len(opinions)))
        heard = neighbour_mean(opinions, graph, spoken_grade(opinions, response, first))
        return next_attitude(opinions, heard, response, chance, second)

    def beyond(self, opinions: Floats, graph: csr_array) -> float:
        own_low, own_high, heard_low, heard_high = self._numbers[len(RESPONSE) :]
        heard = neighbour_mean(opinions, graph, np.clip(opinions + self._numbers[0], 0, 10))
        inside = (own_low <= opinions) & (opinions <= own_high) & (heard_low <= heard) & (heard <= heard_high)
        return float(1 - inside.mean())

    @cached_property
    def _numbers(self) -> Floats:
        """(NAMES, n): the numbers of each agent's party."""
        if self.codes is None:
            raise ValueError("a surrogate needs the party of each agent: call law.begin(...)")
        table = np.array([[party[name] for name in NAMES] for party in self.fit["parties"].values()], dtype=float)
        return np.ascontiguousarray(table.T[:, self.codes])


def spoken_grade(opinions: Floats, numbers: Floats, drawn: Floats | float) -> Floats:
    """Return the grades of what people say. numbers: (RESPONSE, n) or (RESPONSE,); drawn: standard normal."""
    offset, noise = numbers[:2]
    grades: Floats = np.clip(opinions + offset + noise * drawn, 0, 10)
    return grades


def next_attitude(
    opinions: Floats, heard: Floats | float, numbers: Floats, chance: Floats | float, drawn: Floats | float
) -> Floats:
    """Return the opinions after people heard a mean of `heard`. chance: uniform from 0 to 1; drawn: standard normal."""
    stay, intercept, own, weight, spread = numbers[2:]
    shift = intercept + own * opinions + weight * heard + spread * drawn
    return np.where(chance < stay, opinions, np.clip(opinions + shift, 0, 10))


def extrapolation_note(fit: Mapping[str, Any], steps: int) -> str:
    """Return what a reader has to know if a fit runs for more steps than it was fitted to; otherwise ""."""
    rounds = int(fit["rounds"])
    if steps <= rounds:
        return ""
    return (
        f"Extrapolation: {steps} steps, fitted to {rounds} rounds. The path error is known for the first {rounds} alone"
    )


def read_response(path: Path, topic: str) -> Mapping[str, Any]:
    """Read one topic of a file that `run.py surrogate` wrote. Errors: UserError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        topics = dict(content["topics"]) if content["schema"] == SCHEMA else {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is none"
        raise UserError(f"cannot read the surrogate {path}: {reason}") from error
    if not topics:
        raise UserError(
            f"{path} was written by another version of Parley: fit the surrogate again with run.py surrogate RUN"
        )
    if not topic and len(topics) > 1:
        raise UserError(
            f"{path} was fitted on several topics ({', '.join(topics)}): choose one (--law surrogate:{path},topic=SLUG)"
        )
    if topic and topic not in topics:
        raise unknown_name(f"topic of {path}", topic, topics)
    fit: Mapping[str, Any] = topics[topic or next(iter(topics))]
    return fit


def open_law(spec: str) -> Law:
    """Make the law of a spec. Errors: UserError if a name, option or value is wrong."""
    law: Law = LAWS.open(spec)
    return law


def neighbour_mean(opinions: Floats, graph: csr_array, said: Floats | None = None) -> Floats:
    """Return the weighted mean of the opinions (or of what is `said`) that each agent hears; its own opinion if it
    hears no one.

    >>> neighbour_mean(np.array([0.0, 4.0, 7.0]), csr_array([[0, 1, 3], [1, 0, 0], [0, 0, 0]])).tolist()
    [6.25, 0.0, 7.0]
    """
    weight = graph @ np.ones(len(opinions))
    means = opinions.copy()
    np.divide(graph @ (opinions if said is None else said), weight, out=means, where=weight > 0)
    return means


def _check_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, not {value:g}")
