"""Laws on large populations: compiled loops against arrays, mapped graphs against ones in memory, Parley against NDlib."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws import Floats, People, base, deffuant, open_law
from parley.agents.laws.motion import Motion
from parley.environments.mapped_graph import open_graph, save_graph
from parley.environments.sparse_graphs import small_world

LAWS = ("degroot", "deffuant")
SIZES, DEGREE, REWIRED, BEST_OF = (1_000_000, 10_000_000), 10, 0.1, 4
COMPARED = 100_000
"""People of the comparison with NDlib, whose agents are Python objects."""


def section() -> None:
    """Print seconds of a step and ratios of one run."""
    for size in SIZES:
        began = time.process_time()
        graph, opinions = people(size)
        print(
            f"{size:,} people, degree {DEGREE}: graph made in {time.process_time() - began:.1f} s of the processor; {memory()}"
        )
        for spec in LAWS:
            compiled, arrays = step(spec, graph, opinions), as_arrays(spec, graph, opinions)
            print(f"  {spec:9} {told(compiled)}; as arrays {told(arrays)}; ratio {compiled[0] / arrays[0]:.2f}")
        mapped_ratios(graph, opinions)
    ndlib_ratio()


def mapped_ratios(graph: csr_array, opinions: Floats) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_graph(graph, Path(folder) / "people.graph")
        began = time.process_time()
        mapped = open_graph(Path(folder) / "people.graph").links
        print(f"  mapped graph opened and checked in {time.process_time() - began:.2f} s of the processor")
        for spec in LAWS:
            theirs, ours = step(spec, mapped, opinions), step(spec, graph, opinions)
            print(f"  {spec:9} mapped {told(theirs)}; in memory {told(ours)}; ratio {theirs[0] / ours[0]:.2f}")


def ndlib_ratio() -> None:
    """The same laws on the same graph. Deffuant (epsilon 2 of 10, mu 0.5) is AlgorithmicBiasModel with gamma 0 and epsilon 0.2;
    a step of both is a meeting for each person. DeGroot (own 0) is FJModel with stubbornness 0."""
    try:
        from ndlib.models.ModelConfig import Configuration
        from ndlib.models.opinions import AlgorithmicBiasModel, FJModel
    except ImportError:
        print("NDlib is not installed: python -m pip install --target FOLDER ndlib, and PYTHONPATH=FOLDER")
        return
    graph, opinions = people(COMPARED)
    theirs = nx.from_scipy_sparse_array(graph)
    for spec, kind, values in (
        ("deffuant", AlgorithmicBiasModel, {"epsilon": 0.2, "gamma": 0}),
        ("degroot,own=0", FJModel, {}),
    ):
        np.random.seed(1)  # NDlib draws from the global stream
        model, config = kind(theirs), Configuration()
        for name, value in values.items():
            config.add_model_parameter(name, value)
        if kind is FJModel:
            config.add_node_set_configuration("stubbornness", dict.fromkeys(range(COMPARED), 0.0))
        model.set_initial_status(config)
        model.status = dict(enumerate((opinions / 10).tolist()))
        model.iteration()  # the first only returns the start
        their_step, ours = best(lambda time, model=model: model.iteration(), 2), step(spec, graph, opinions)
        print(
            f"{COMPARED:,} people, {spec}: NDlib {told(their_step)}; Parley {told(ours)}; ratio {their_step[0] / ours[0]:.0f}"
        )
        if kind is FJModel:
            for _ in range(2):
                opinions = open_law(spec).step(opinions, graph, np.random.default_rng())
            gap = np.abs(np.array([model.status[node] for node in range(COMPARED)]) * 10 - opinions).max()
            print(f"  largest difference after two steps: {gap:.1e} of 10 points")


def people(size: int) -> tuple[csr_array, Floats]:
    return small_world(size, DEGREE, REWIRED, np.random.default_rng(1)), np.random.default_rng(2).random(size) * 10


def step(spec: str, graph: csr_array, opinions: Floats) -> tuple[float, float]:
    """Return the seconds of a step of a law, of the processor and of the wall: the best of some."""
    motion = Motion.start(open_law(spec), opinions, People.alike(len(opinions)), np.random.default_rng(3))
    motion.step(opinions, graph, np.random.default_rng(4), 0)  # compiles the loops
    return best(lambda time: motion.step(opinions, graph, np.random.default_rng(5 + time), time), BEST_OF)


def as_arrays(spec: str, graph: csr_array, opinions: Floats) -> tuple[float, float]:
    """Return the same for the way in which smaller populations are moved, whose weights are an array too."""
    full = csr_array((np.ones(graph.nnz), graph.indices, graph.indptr), shape=graph.shape)
    large = base.LARGE
    base.LARGE = deffuant.LARGE = len(opinions) + 1
    try:
        return step(spec, full, opinions)
    finally:
        base.LARGE = deffuant.LARGE = large


def best(work: Callable[[int], object], count: int) -> tuple[float, float]:
    seconds = []
    for number in range(count):
        began = time.process_time(), time.perf_counter()
        work(number)
        seconds.append((time.process_time() - began[0], time.perf_counter() - began[1]))
    return min(processor for processor, _ in seconds), min(wall for _, wall in seconds)


def told(seconds: tuple[float, float]) -> str:
    return f"{seconds[0]:.3f} s (wall {seconds[1]:.3f})"


def memory() -> str:
    return f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2:.2f} GiB"
