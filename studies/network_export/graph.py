"""The network of a run as a graph file: who hears whom and when, and the opinions of everyone after each survey.

A node has the attributes `party`, `attitude_first`, `attitude_last` and `attitude_round_0`, `attitude_round_1`, ... (0 to
10, after the survey of that round; in a population `attitude_step_0`, in several dimensions `attitude_2_step_0`), and
those of the user's own network. A node of a debate also has `name`, `persona` and `seat`. An opinion that is missing has
no attribute. A link has `weight` and `sign` if the user's network has them, and `start` and `end` (or `spells`) if it
does not exist in all rounds of the run.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from parley.analysis.metrics._network import populations
from parley.analysis.tables import Tables, load
from parley.environments.link_attributes import SIGN, WEIGHT, Spell, write_spells
from parley.environments.sparse_graphs import MOST
from parley.llm.errors import UserError, unknown_name
from parley.llm.seeding import derive
from parley.model.population_record import AGENTS, ATTITUDES, LINKS
from parley.model.population_setup import build_links, choose_graph

POPULATION = "population.json"
OPINION, ROUND, STEP = "attitude", "round", "step"
_EXPORTED = re.compile(rf"{OPINION}(_\d+)?_(first|last|({ROUND}|{STEP})_\d+)")


def network_of(folder: Path, room: str = "") -> nx.Graph:
    """Return the graph of a room of a run, or of a population.

    room: its name; the first networked room if it is empty. The graph is undirected if every link leads both ways.
    Errors: UserError if there is no such room or no network, or if a population is too large.
    """
    if (folder / POPULATION).exists():
        if room:
            raise UserError(f"{folder} is a population, which has no rooms: leave out --room")
        return population_graph(folder)
    return room_graph(load(folder), room)


def network_rooms(tables: Tables) -> list[str]:
    """Return the names of the rooms that have a network."""
    return [population.room.name for population in populations(tables)]


def room_graph(tables: Tables, room: str = "") -> nx.Graph:
    """Return the graph of a room; see `network_of`."""
    if not (names := network_rooms(tables)):
        raise UserError(
            "the run has no network to export, because its agents meet in separate rooms: run --scenario network"
        )
    if room and room not in names:
        raise unknown_name("room", room, names)
    room = room or names[0]
    seats = tables.agents[tables.agents["room"] == room]
    key = "node" if seats["node"].notna().all() else "name"
    name_of = dict(zip(seats["agent"], seats[key].astype(str), strict=True))
    opinions = _ratings(tables, room).reindex(seats["agent"])
    graph = nx.DiGraph()
    for seat, values in zip(seats.to_dict("records"), opinions.to_numpy(dtype=float), strict=True):
        about = {column: seat[column] for column in ("name", "persona", "party", "seat")}
        graph.add_nodes_from([(name_of[seat["agent"]], _given(seat) | about | _opinions(opinions.columns, values))])
    links = _links(tables.links[tables.links["room"] == room])
    graph.add_edges_from((name_of[source], name_of[target], data) for (source, target), data in links.items())
    return _undirected(graph)


def _ratings(tables: Tables, room: str) -> pd.DataFrame:
    """Return the attitudes of a room: a row per agent, a column per round."""
    ratings = tables.attitudes
    ratings = ratings[(ratings["room"] == room) & (ratings["probe"] == tables.header.scenario["probe"])]
    return ratings.pivot(index="agent", columns="round", values=OPINION).sort_index(axis=1)


def _given(seat: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of the user's node, without opinions of an earlier export; a list or the like becomes text."""
    given = json.loads(seat["attributes"]) if isinstance(seat["attributes"], str) else {}
    kept = {key: value for key, value in given.items() if value is not None and not _EXPORTED.fullmatch(key)}
    return {key: value if isinstance(value, str | int | float) else json.dumps(value) for key, value in kept.items()}


def _opinions(
    rounds: Iterable[int], values: Iterable[float], opinion: str = OPINION, time: str = ROUND
) -> dict[str, float]:
    """Return the present attributes of opinions by round or step (`time`). opinion: with what their names begin."""
    attributes = {f"{time}_{round_}": float(value) for round_, value in zip(rounds, values, strict=True)}
    if not attributes:
        return {}
    first, last = next(iter(attributes)), next(reversed(attributes))
    named = {"first": attributes[first], "last": attributes[last]} | attributes
    return {f"{opinion}_{name}": value for name, value in named.items() if not math.isnan(value)}


def _links(changes: pd.DataFrame) -> dict[tuple[int, int], dict[str, Any]]:
    """Return every link that existed in some round of a room, with its attributes."""
    links: dict[tuple[int, int], dict[str, Any]] = {}
    spells: dict[tuple[int, int], list[Spell]] = {}
    for row in changes.to_dict("records"):
        pair = (row["source"], row["target"])
        data = links.setdefault(pair, {})
        if row["change"] == "added":
            spells.setdefault(pair, []).append(Spell(row["round"] or None))
            data.update({WEIGHT: row[WEIGHT]} if row[WEIGHT] == row[WEIGHT] else {})
            data.update({SIGN: int(row[SIGN])} if row[SIGN] == row[SIGN] else {})
        else:
            spells[pair].append(spells[pair].pop()._replace(end=row["round"] - 1))
    lived = {pair: tuple([spell for spell in of if spell.bounds[0] <= spell.bounds[1]]) for pair, of in spells.items()}
    for pair, data in links.items():
        write_spells(data, lived[pair])
    return {pair: data for pair, data in links.items() if lived[pair]}


def _link(weight: float, weighted: bool) -> dict[str, float]:
    """Return the attributes of a link: its weight, if links have weights, and the sign of a hostile one."""
    return ({WEIGHT: abs(weight)} if weighted else {}) | ({SIGN: -1} if weight < 0 else {})


def _undirected(graph: nx.DiGraph) -> nx.Graph:
    """Return the graph as an undirected one, if every link also leads back with the same attributes."""
    if any(graph.get_edge_data(other, source) != data for source, other, data in graph.edges(data=True)):
        return graph
    return graph.to_undirected()


def population_graph(folder: Path) -> nx.Graph:
    """Return the graph of a population, drawn or read again; see `network_of`."""
    run = json.loads((folder / POPULATION).read_text(encoding="utf-8"))
    if run["agents"] > MOST:
        raise UserError(
            f"{run['agents']:,} agents are too many for a graph file (at most {MOST:,}): read {AGENTS} and "
            f"{ATTITUDES} instead"
        )
    agents = pq.read_table(folder / AGENTS)
    party = agents["party"].combine_chunks()
    codes, parties = np.asarray(party.indices, dtype=np.int64), party.dictionary.to_pylist()
    chosen = choose_graph(run["graph"], run["agents"])
    draws = np.random.default_rng(derive(run["seed"], "population", "graph"))  # as in model/population.py
    array = build_links(chosen, codes, parties, draws)
    names = agents["node"].to_pylist() if "node" in agents.column_names else list(map(str, range(len(codes))))
    if chosen.nodes and chosen.nodes != names:
        raise UserError("the graph file has changed since the population was run: put the earlier file back")
    graph = nx.DiGraph()
    record = pd.read_parquet(folder / ATTITUDES)
    graph.add_nodes_from((name, {"party": parties[code]}) for name, code in zip(names, codes, strict=True))
    for opinion in record.columns.drop(["step", "agent"]):
        attitudes = record.pivot(index="agent", columns="step", values=opinion)
        for name, values in zip(names, attitudes.to_numpy(dtype=float), strict=True):
            graph.nodes[name].update(_opinions(attitudes.columns, values, opinion, STEP))
    weighted = bool((np.abs(array.data) != 1).any())
    coo = array.tocoo()
    links = list(zip(*map(np.ndarray.tolist, (*coo.coords, coo.data)), strict=True))
    if (folder / LINKS).exists():
        graph.add_edges_from(
            (names[source], names[other], data)
            for (source, other), data in _links(_changes(links, folder, weighted)).items()
        )
    else:
        graph.add_edges_from((names[source], names[other], _link(weight, weighted)) for source, other, weight in links)
    return _undirected(graph)


def _changes(links: Iterable[tuple[int, int, float]], folder: Path, weighted: bool) -> pd.DataFrame:
    """Return the links of a population at the start and those that changed, as in the table `links` of a run."""
    start = pd.DataFrame(links, columns=["source", "target", WEIGHT]).assign(round=0, added=True)
    later = pd.read_parquet(folder / LINKS).rename(columns={STEP: ROUND})
    changes = pd.concat([start, later], ignore_index=True)
    hostile = changes[WEIGHT] < 0
    return changes.assign(
        change=np.where(changes["added"], "added", "removed"),
        **{WEIGHT: changes[WEIGHT].abs() if weighted else np.nan, SIGN: np.where(hostile, -1.0, np.nan)},
    )
