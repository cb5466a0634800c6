"""Large populations are moved by compiled loops: the same bytes as the arrays of small ones, with any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from law_runs import generator, weighted
from numba import config
from scipy.sparse import csr_array

from parley.agents.laws import Floats, Law, People, _compiled, base, deffuant, open_law
from parley.agents.laws.motion import Motion
from parley.environments import sparse_graphs
from parley.environments.sparse_graphs import random_graph, small_world

SIZE = 2000


def graphs() -> dict[str, csr_array]:
    """Sparse and dense ones, with people who hear no one, with weights, and with long indices."""
    drawn = small_world(SIZE, 10, 0.1, generator(1))
    return {
        "small world": drawn,
        "isolated people": random_graph(SIZE, 1.5, generator(2)),
        "weighted, directed": weighted(SIZE // 10),
        "shared weight": csr_array((np.broadcast_to(1.0, drawn.nnz), drawn.indices, drawn.indptr), shape=drawn.shape),
        "indices of 64 bits": csr_array((drawn.data, drawn.indices, drawn.indptr.astype(np.int64)), shape=drawn.shape),
    }


def steps(law: Law, graph: csr_array, traits: dict[str, Floats]) -> list[bytes]:
    """The opinions after each of three steps, to the last bit."""
    size = graph.shape[0]
    opinions = generator(3).random(size) * 10
    people = People(np.zeros(size, dtype=np.int64), traits={name: values[:size] for name, values in traits.items()})
    motion, found = Motion.start(law, opinions, people, generator(4)), []
    for time in range(3):
        opinions = motion.step(opinions, graph, generator(5 + time), time)
        found.append(opinions.tobytes())
    return found


@pytest.fixture
def compile_all(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Small populations are compiled too, in parts of 300 people."""
    monkeypatch.setattr(_compiled, "PART", 300)
    for module in (base, deffuant):
        monkeypatch.setattr(module, "LARGE", 1)
    return monkeypatch


@pytest.mark.parametrize("threads", [1, 3])
def test_compiled_loops_give_the_same_bytes(threads: int, compile_all: pytest.MonkeyPatch) -> None:
    """A record does not tell whether its population was large enough for them, nor on how many processors it ran."""
    specs = (
        "degroot",
        "degroot,own=0.3,stubborn=0.2",
        "friedkin_johnsen",
        "deffuant",
        "deffuant,epsilon=9,mu=0.3",
        "deffuant,stubborn=0.1",
    )
    held = {"bound": generator(6).random(SIZE) * 4, "stubbornness": generator(7).random(SIZE)}
    compile_all.setattr(config, "NUMBA_NUM_THREADS", threads)
    for spec in specs:
        for name, graph in graphs().items():
            for traits in ({}, held):
                compiled = steps(open_law(spec), graph, traits)
                with pytest.MonkeyPatch.context() as small:
                    for module in (base, deffuant):
                        small.setattr(module, "LARGE", SIZE + 1)
                    assert steps(open_law(spec), graph, traits) == compiled, (spec, name)


def test_compiled_means_and_meetings_by_hand(compile_all: pytest.MonkeyPatch) -> None:
    """0 hears 1 and, three times as much, 2; 2 hears no one. In a pair that meets twice a step, both stand in the middle."""
    graph = csr_array([[0, 1, 3], [1, 0, 0], [0, 0, 0]], dtype=float)
    assert base.neighbour_mean(np.array([0.0, 4.0, 7.0]), graph).tolist() == [6.25, 0.0, 7.0]
    assert base.neighbour_mean(np.array([0.0, 4.0, 7.0]), graph, np.array([9.0, 2.0, 6.0])).tolist() == [5.0, 9.0, 7.0]
    pair = csr_array([[0, 1], [1, 0]], dtype=float)
    assert open_law("deffuant,epsilon=2.1").step(np.array([4.0, 6.0]), pair, generator()).tolist() == [5.0, 5.0]
    assert open_law("deffuant,epsilon=2").step(np.array([4.0, 6.0]), pair, generator()).tolist() == [4.0, 6.0]


def test_large_graphs_share_one_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same graph, whose weights take no memory; all who change links get weights of their own."""
    drawn = small_world(50, 4, 0.2, generator(1))
    monkeypatch.setattr(sparse_graphs, "SHARED", 1)
    shared = small_world(50, 4, 0.2, generator(1))
    assert shared.data.strides == (0,)
    assert not shared.data.flags.writeable
    assert shared.indices.tolist() == drawn.indices.tolist()
    assert (shared != drawn).nnz == 0
    assert (shared @ np.arange(50.0)).tobytes() == (drawn @ np.arange(50.0)).tobytes()
