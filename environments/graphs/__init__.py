"""Graphs of a population. A module defines one frozen dataclass, a `Graph`, with the options of `graph = "small_world,degree=6"`.

`build(seats, rng)` gives a networkx graph on the seat numbers from 0; an arc a -> b of a directed one says that a hears b, an
edge of an undirected one that both hear each other. `placed`: the graph itself says who of which party sits where; on all others
the people are put at random, so that neither the order of the seats nor the age of a node goes with a party.

`array(members, generator)` gives the same graph for a population of any size, as a sparse array, where it can.
"""

from __future__ import annotations

from parley.llm.registry import Registry

GRAPHS = Registry("graph", __name__, "parley.graphs", ("build", "pairs", "fits"), shared=())
