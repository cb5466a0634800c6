"""What a graph of the user says about its links: weight, sign, and the rounds in which a link exists.

A link may have these attributes:

    weight      a number above 0
    sign        1 (the default) or -1: a hostile link
    start, end  the first and the last round in which the link exists; without one of them, it has no such bound

A link may exist in several periods. Then the graph has parallel links with other `start` and `end`, or one link with
the attribute `spells`: `1-2 5-` is rounds 1 and 2 and all rounds from 5. `simple_graph` turns parallel links into one
with `spells`. Debates count rounds from 1, and populations steps. All errors are ValueErrors of one line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import networkx as nx

WEIGHT, SIGN, START, END, SPELLS = "weight", "sign", "start", "end", "spells"
TIMES = (START, END, SPELLS)
SPELL = re.compile(r"(\d*)-(\d*)")
Pair = tuple[int, int]


class Spell(NamedTuple):
    """A period in which a link exists: its first and its last round; None for no bound."""

    start: int | None = None
    end: int | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The first and the last round as numbers, which may be infinite."""
        return -math.inf if self.start is None else self.start, math.inf if self.end is None else self.end

    def covers(self, round_: int) -> bool:
        """Return whether the link exists in a round."""
        first, last = self.bounds
        return first <= round_ <= last


@dataclass(frozen=True)
class Ties:
    """Weights and signs of links, and how links change, by pairs of members: the first of a pair hears the second.

    `spells` has the periods of all links, and is empty if no link has a first or a last round.
    """

    weights: Mapping[Pair, float] = field(default_factory=dict)
    signs: Mapping[Pair, int] = field(default_factory=dict)
    spells: Mapping[Pair, tuple[Spell, ...]] = field(default_factory=dict)

    def changes(self, round_: int) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
        """Return the links that vanish before a round and those that appear, sorted."""
        before, now = self.at(round_ - 1), self.at(round_)
        return tuple(sorted(before - now)), tuple(sorted(now - before))

    def at(self, round_: int) -> set[Pair]:
        """Return the links with periods that exist in a round."""
        return {pair for pair, spells in self.spells.items() if any(spell.covers(round_) for spell in spells)}

    def renamed(self, ids: Mapping[int, int] | list[int]) -> Ties:
        """Return the same for other numbers of the members."""
        maps: Iterable[Mapping[Pair, Any]] = (self.weights, self.signs, self.spells)
        return Ties(*({(ids[a], ids[b]): value for (a, b), value in by_pair.items()} for by_pair in maps))


NO_TIES = Ties()


def read_ties(graph: nx.Graph, places: list[int]) -> Ties:
    """Return weights, signs and periods of a graph whose nodes are numbered from 0. places: the seat of each node."""
    links = [(places[a], places[b], data) for a, b, data in graph.to_directed().edges(data=True)]
    return Ties(
        {(a, b): float(data[WEIGHT]) for a, b, data in links if data.get(WEIGHT) is not None},
        {(a, b): int(data[SIGN]) for a, b, data in links if data.get(SIGN) is not None},
        {(a, b): spells_of(data) for a, b, data in links} if is_temporal(graph) else {},
    )


def is_temporal(graph: nx.Graph) -> bool:
    """Return whether some link of a graph has a first or a last round."""
    return any(data.get(name) is not None for *_, data in graph.edges(data=True) for name in TIMES)


def spells_of(data: Mapping[str, Any]) -> tuple[Spell, ...]:
    """Return the periods of a link from its attributes: ordered, without overlap.

    >>> spells_of({"start": 2}), spells_of({"spells": "1-2 5-"})
    ((Spell(start=2, end=None),), (Spell(start=1, end=2), Spell(start=5, end=None)))
    """
    if (spells := data.get(SPELLS)) is None:
        return (_spell(data.get(START), data.get(END)),)
    if isinstance(spells, str):
        matches = [SPELL.fullmatch(text) for text in spells.split()]
        if not matches or not all(matches):
            raise ValueError(f"spells is {spells!r}, but must be periods such as 1-2 5-")
        spells = [match.groups() for match in matches if match]
    return _union(_spell(start, end) for start, end in spells)


def _spell(start: Any, end: Any) -> Spell:
    spell = Spell(_round(START, start), _round(END, end))
    first, last = spell.bounds
    if last < first:
        raise ValueError(f"its end, {end}, is before its start, {start}")
    return spell


def _round(name: str, value: Any) -> int | None:
    """Return a round as a whole number; None if it is missing."""
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (number >= 0 and number.is_integer()):
        raise ValueError(f"{name} is {value!r}, but must be the number of a round, a whole number of at least 0")
    return int(number)


def _union(spells: Iterable[Spell]) -> tuple[Spell, ...]:
    """Return periods in order; those that meet or overlap become one."""
    merged: list[Spell] = []
    for spell in sorted(spells, key=lambda period: period.bounds):
        if merged and spell.bounds[0] <= merged[-1].bounds[1] + 1:
            last = max(merged[-1], spell, key=lambda period: period.bounds[1])
            spell = Spell(merged.pop().start, last.end)
        merged.append(spell)
    return tuple(merged)


def write_spells(data: dict[str, Any], spells: tuple[Spell, ...]) -> None:
    """Set the periods of a link in its attributes: `start` and `end` for one period, `spells` for several."""
    for name in TIMES:
        data.pop(name, None)
    if len(spells) > 1:
        data[SPELLS] = " ".join("-".join("" if bound is None else str(bound) for bound in spell) for spell in spells)
    elif spells:
        data.update({name: value for name, value in zip((START, END), spells[0], strict=True) if value is not None})


def simple_graph(graph: nx.Graph) -> nx.Graph:
    """Return a copy with at most one link of each pair of nodes. Parallel links become one link with all their periods.

    Nodes, links and other attributes stay. Errors: ValueError if an attribute of a link cannot be read, or if parallel
    links have different weights or signs.
    """
    simple = nx.DiGraph(graph) if graph.is_directed() else nx.Graph(graph)
    for source, other, data in simple.edges(data=True):
        many = list(graph.get_edge_data(source, other).values()) if graph.is_multigraph() else [data]
        try:
            _check_numbers(many)
            if any(link.get(name) is not None for link in many for name in TIMES):
                write_spells(data, _union(spell for link in many for spell in spells_of(link)))
        except ValueError as error:
            raise ValueError(f"the link of {source} and {other}: {error}") from error
    return simple


def _check_numbers(links: list[dict[str, Any]]) -> None:
    """Errors: ValueError on a weight that is not above 0, a sign that is neither 1 nor -1, and parallel links that differ."""
    for name in (WEIGHT, SIGN):
        values = {link[name] for link in links if link.get(name) is not None}
        if len(values) > 1:
            raise ValueError(f"it is listed with several values of {name}: keep one")
        for value in values:
            _check_number(name, value)


def _check_number(name: str, value: Any) -> None:
    number = isinstance(value, Real) and not isinstance(value, bool)
    if name == WEIGHT and not (number and 0 < value < math.inf):
        raise ValueError(f"its weight is {value!r}, but must be a number above 0 (sign=-1 marks a hostile link)")
    if name == SIGN and not (number and value in (1, -1)):
        raise ValueError(f"its sign is {value!r}, but must be 1 or -1")
