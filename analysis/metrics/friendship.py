"""The friendship paradox: are the agents that one hears better connected, and more active, than oneself?

Sources: Feld 1991; Eom and Jo 2014; Maslov and Sneppen 2002 (shuffled links). In 300 networks of chance the P value was at
most .05 in 7 (degree) and 10 (activity).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from parley.analysis.metrics._network import NO_LINKS, Ints, Links, Population, heard_mean, populations
from parley.analysis.rooms import KEYS, RoomMeasurement, room_means
from parley.analysis.statistics.intervals import SHARE, SIGNED, Floats, nanmean, with_interval
from parley.analysis.tables import Tables
from parley.llm.seeding import derive

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
    is_among: NDArray[np.bool_] = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values
    return is_among


ORDER = 15
TITLE = "Friendship paradox"
NOTE = (
    "An agent counts if its neighbours (the agents that it hears) have a higher degree or activity on average. The numbers are "
    "shares of the agents that hear any agent. Degree is the number of agents that hear an agent (Feld 1991). Activity is an "
    "agent's number of replies so far (the generalised paradox, Eom and Jo 2014). Equal values do not count. The column "
    "*shuffled* is the same share by chance: the mean and the middle 95% of 199 shuffles. For degree, links are shuffled, but "
    "each agent still hears as many agents and is heard by as many agents. For activity, the numbers of replies are shuffled "
    "among the agents of a room. Excess is a room's share minus the mean share of its shuffles, with an interval over rooms. If "
    "chance decides who hears whom, excess is 0 on average. The two-sided p in the folder `tables/` compares the mean over "
    "rooms with the shuffles. Rooms with the same graph have the same shuffles. The table shows means over rooms."
)
FEWER = "shuffles"
"""The attribute of the table with the least number of shuffles of a graph."""
LABELS = {
    "rooms": "rooms", "degree": "degree", "degree_null": "degree, shuffled", "degree_excess": "degree, excess",
    "activity": "activity", "activity_null": "activity, shuffled", "activity_excess": "activity, excess",
    "reason": "reason if missing",
}  # fmt: skip
NEEDS = "whole_network"
SHUFFLES = 199
FEWEST_SHUFFLES, SHUFFLED = 39, 20_000_000
"""The fewest shuffles, with which a two-sided p can be .05, and how many links are shuffled in all with more than the fewest."""
QUANTITIES = ("degree", "activity")
BOUNDS = dict.fromkeys(QUANTITIES, SHARE) | {f"{quantity}_excess": SIGNED for quantity in QUANTITIES}
SILENT = "no agent has spoken"
Key = tuple[str, str, int]
Nulls = dict[Key, list[Floats]]


def shuffles_of(links: int) -> int:
    """Return how often a graph is shuffled: 199 times, and less often if it has more than 100,000 links.

    >>> shuffles_of(600), shuffles_of(300_000), shuffles_of(6_000_000)
    (199, 66, 39)
    """
    return min(SHUFFLES, max(FEWEST_SHUFFLES, SHUFFLED // max(links, 1)))


def note(frame: pd.DataFrame) -> str:
    """Return what the section says, with the number of shuffles."""
    fewest = frame.attrs.get(FEWER, SHUFFLES)
    usual, fewer = (
        f"{SHUFFLES} shuffles",
        f"{fewest} shuffles (of at most {SHUFFLES}, fewer of a graph with more links)",
    )
    return NOTE if fewest == SHUFFLES else NOTE.replace(usual, fewer)


def compute(tables: Tables) -> pd.DataFrame:
    """Return a row per topic, group and round.

    rooms, missing (always 0: no rating is used); for degree and activity: the share, `_excess` (minus the mean of the shuffles),
    `_null` (mean of the shuffles, with their middle 95%) and `_p` (two-sided); reason.
    """
    nulls: dict[str, Nulls] = {quantity: {} for quantity in QUANTITIES}
    rows = list(_rows(tables, nulls))
    shares = room_means(
        rows, [name for quantity in QUANTITIES for name in (quantity, f"{quantity}_excess")], bounds=BOUNDS
    )
    keys = list(shares[[*KEYS, "round"]].itertuples(index=False, name=None))
    for quantity, null in nulls.items():
        true = shares[quantity]
        columns = [_null_columns(quantity, null.get(key, []), value) for key, value in zip(keys, true, strict=True)]
        shares = shares.join(pd.DataFrame(columns, columns=_null_names(quantity), index=shares.index).astype("float64"))
    shares = shares[[*[name for name in shares if name != "reason"], "reason"]]
    drawn = [len(null) for by_key in nulls.values() for rooms in by_key.values() for null in rooms]
    if min(drawn, default=SHUFFLES) < SHUFFLES:
        shares.attrs[FEWER] = min(drawn)
    return shares


def _rows(tables: Tables, nulls: Mapping[str, Nulls]) -> Iterator[dict[str, Any]]:
    """Yield a row per room and round; add the share in each shuffle to `nulls`."""
    spoken = tables.utterances[tables.utterances["text"].notna()]
    by_room = dict(iter(spoken.groupby("room", sort=False)))
    for population in populations(tables):
        room, lines = population.room, by_room.get(population.room.name, spoken.iloc[:0])
        shuffles = _Shuffles(population)
        for round_ in range(population.last + 1):
            row = {**room.keys, "round": round_, "missing": 0}
            counts = lines.loc[lines["round"] <= round_, "agent"].value_counts()
            activity = counts.reindex(room.parties.index, fill_value=0).to_numpy(dtype=float)
            measured = {
                "degree": shuffles.of_links(round_),
                "activity": shuffles.of_values(round_, activity)
                if counts.sum()
                else (RoomMeasurement(None, SILENT), None),
            }
            for quantity, (share, null) in measured.items():
                excess = RoomMeasurement(None)
                if null is not None and share.value is not None:
                    excess = RoomMeasurement(share.value - float(null.mean()))
                    nulls[quantity].setdefault((room.topic, room.group, round_), []).append(null)
                row |= {quantity: share, f"{quantity}_excess": excess}
            yield row


class _Shuffles:
    """The shares of one room, each with those of its shuffles. While links do not change, they are shuffled only once."""

    def __init__(self, population: Population):
        self.population, self.size = population, len(population.room.parties)
        self._known: dict[bytes, tuple[RoomMeasurement, Floats | None]] = {}

    def of_links(self, round_: int) -> tuple[RoomMeasurement, Floats | None]:
        """Return the share for degree, and that in each graph with the same degrees; None if there is no link.

        Rooms with the same graph have the same shuffles, because they say no more than one of them.
        """
        links = self.population.links(round_)
        codes = np.sort(links.source * self.size + links.target)
        key, links = codes.tobytes(), Links(codes // self.size, codes % self.size)
        if key not in self._known:
            share = paradox(links, hearers(links, self.size))
            generator = np.random.default_rng(derive(0, "friendship paradox", "links", self.size, key.hex()))
            self._known[key] = share, None if share.value is None else degree_null(links, self.size, generator)
        return self._known[key]

    def of_values(self, round_: int, values: Floats) -> tuple[RoomMeasurement, Floats | None]:
        """Return the share for these values of the agents, and that in each deal of them; None if there is no link."""
        links, name = self.population.links(round_), self.population.room.name
        generator = np.random.default_rng(derive(0, "friendship paradox", name, "values", round_))
        share = paradox(links, values)
        return share, None if share.value is None else dealt_null(links, values, generator)


def hearers(links: Links, size: int) -> Floats:
    """Return how many agents hear each agent."""
    return np.bincount(links.target, minlength=size).astype(np.float64)


def degree_null(links: Links, size: int, generator: np.random.Generator) -> Floats:
    """Return the share for degree in shuffled graphs in which every agent hears, and is heard by, as many as before."""
    degree, draws = hearers(links, size), shuffled_links(links, size, shuffles_of(len(links.source)), generator)
    return np.array([paradox(drawn, degree).value for drawn in draws], dtype=float)


def dealt_null(links: Links, values: Floats, generator: np.random.Generator) -> Floats:
    """Return the share where the values are shuffled among the agents."""
    deals = (generator.permutation(values) for _ in range(shuffles_of(len(links.source))))
    return np.array([paradox(links, dealt).value for dealt in deals], dtype=float)


def two_sided(null: Floats, true: float) -> float:
    """Return the two-sided p of a value among those of shuffles; the value counts as one of them.

    >>> two_sided(np.arange(1.0, 20.0), 20.0)
    0.1
    """
    # a shuffle that is equal but for rounding counts on both sides
    above, below = (int((sign * (null - true) >= -1e-12).sum()) + 1 for sign in (1, -1))
    return min(1.0, 2 * min(above, below) / (len(null) + 1))


def paradox(links: Links, values: Floats) -> RoomMeasurement:
    """Return the share of agents with a value below the mean of those that they hear, of the agents that hear any.

    A star, its centre linked both ways to three others: 3 of 4.

    >>> star = Links(np.array([0, 0, 0, 1, 2, 3]), np.array([1, 2, 3, 0, 0, 0]))
    >>> paradox(star, np.array([3.0, 1.0, 1.0, 1.0])).value
    0.75
    """
    heard = heard_mean(links, values)
    hearing = ~np.isnan(heard)
    if not hearing.any():
        return RoomMeasurement(None, NO_LINKS)
    return RoomMeasurement(float((heard[hearing] > values[hearing] + 1e-9).mean()))


def _null_names(quantity: str) -> list[str]:
    return [f"{quantity}{end}" for end in ("_null", "_null_low", "_null_high", "_p")]


def _null_columns(quantity: str, rooms: list[Floats], true: float) -> dict[str, float]:
    """Return the mean over rooms in each shuffle: its mean, its middle 95%, and the two-sided p of the true mean."""
    if not rooms:
        return {}
    fewest = min(map(len, rooms))
    null = nanmean(np.stack([shares[:fewest] for shares in rooms]))
    low, high = np.quantile(null, [0.025, 0.975])
    ends = {f"{quantity}_p": two_sided(null, true)}
    return with_interval(f"{quantity}_null", float(null.mean()), (float(low), float(high))) | ends
