"""Large populations: a step of each law, compared with NDlib and plain loops; growth; a record and its memory.

    python benchmarks/population.py              ratios, on one core
    python benchmarks/population.py growth       docs/population_growth.svg as well
    python benchmarks/population.py changes      a step with a feed, rewiring and interventions
    python benchmarks/population.py record       100,000 agents, 20 steps, with record: seconds and peak memory

Seconds are those of the processor, not of the wall: on a shared machine they are what can be compared; best of three. Mean
degree 10. NDlib is measured where it is installed. "Plain" is the same law written without lots and blocks (a Python loop of
meetings, NumPy's bincount), the reference of docs/populations.md. Nothing is asserted.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import networkx as nx
import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws import Floats, Law, People, open_law
from parley.agents.laws.motion import Motion
from parley.agents.laws.surrogate import NAMES, Surrogate
from parley.environments.sparse_graphs import small_world

SPECS = ("degroot", "friedkin_johnsen", "hegselmann_krause", "deffuant")
MORE = ("voter", "q_voter", "sznajd", "altafini", "jager_amblard", "deffuant,noise=0.1,stubborn=0.1,pull=0.1,toward=8")
PARTY = dict(zip(NAMES, (0.1, 0.5, 0.2, 0.9, -0.2, 0.1, 0.2, 0.0, 10.0, 0.0, 10.0), strict=True))
MILLION, COMPARED, DEGREE, DIMENSIONS, BEST_OF = 1_000_000, 100_000, 10, 3, 3
SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
ACTS = ("message round=1 value=8", "mute round=1 share=0.1", "shock round=1 share=0.1 shift=1")
EACH = [f"{act} every=1" for act in ACTS]
FIGURE = Path(__file__).resolve().parent.parent / "docs" / "population_growth"


def laws() -> dict[str, Law]:
    return {spec: open_law(spec) for spec in SPECS} | {"surrogate": Surrogate(fit={"parties": {"all": PARTY}})}


def seconds(work: Callable[[], object], best_of: int = BEST_OF) -> float:
    times = []
    for _ in range(best_of):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def people(size: int) -> tuple[csr_array, Floats]:
    rng = np.random.default_rng(1)
    return small_world(size, DEGREE, 0.1, rng), rng.random(size) * 10


def steps(size: int) -> dict[str, float]:
    """Seconds of a step of every law of the figure."""
    graph, start = people(size)
    return {name: step(law, start, graph) for name, law in laws().items()}


def step(law: Law, start: Floats, graph: csr_array) -> float:
    """Seconds of a step of a law, with the options that every law has. start: (n,) or (n, dimensions)."""
    rng, opinions = np.random.default_rng(2), law.admit(start)
    motion = Motion.start(law, opinions, People.alike(len(start)), rng)
    return seconds(lambda: motion.step(opinions, graph, rng, 0))


def more() -> None:
    """Seconds of a step of other laws, and of vectors."""
    graph, start = people(MILLION)
    vectors = np.random.default_rng(3).random((MILLION, DIMENSIONS)) * 10
    for spec in MORE:
        print(f"{spec:<60} {step(open_law(spec), start, graph):7.3f} s")
    for spec in SPECS:
        label = f"{spec}, {DIMENSIONS} dimensions"
        print(f"{label:<60} {step(open_law(spec), vectors, graph):7.3f} s")


def plain_deffuant(graph: csr_array, start: Floats) -> Floats:
    """One meeting after the other, in Python."""
    rng, size = np.random.default_rng(2), len(start)
    ones, chances = rng.integers(size, size=size).tolist(), rng.random(size).tolist()
    ends, others, opinions = graph.indptr.tolist(), graph.indices.tolist(), start.tolist()
    for agent, chance in zip(ones, chances, strict=True):
        other = others[ends[agent] + int(chance * (ends[agent + 1] - ends[agent]))]
        gap = opinions[other] - opinions[agent]
        if abs(gap) < 2.0:
            opinions[agent], opinions[other] = opinions[agent] + 0.5 * gap, opinions[other] - 0.5 * gap
    return np.array(opinions)


def plain_hegselmann_krause(graph: csr_array, start: Floats) -> Floats:
    """All links at once, summed by bincount."""
    rows = np.repeat(np.arange(len(start)), np.diff(graph.indptr))
    near = np.abs(start[graph.indices] - start[rows]) <= 2.0
    total = np.bincount(rows[near], start[graph.indices][near], len(start)) + start
    return total / (np.bincount(rows[near], minlength=len(start)) + 1)


def ndlib(kind: str, size: int) -> float | None:
    """Seconds of an iteration of NDlib's model; None where it is not installed."""
    try:
        from ndlib.models import opinions
        from ndlib.models.ModelConfig import Configuration
    except ImportError:
        return None
    np.random.seed(1)  # NDlib draws from the global stream
    model = getattr(opinions, kind)(nx.watts_strogatz_graph(size, DEGREE, 0.1, seed=1))
    config = Configuration()
    config.add_model_parameter("epsilon", 0.2)
    if kind == "AlgorithmicBiasModel":
        config.add_model_parameter("gamma", 0)
    model.set_initial_status(config)
    model.iteration()
    return seconds(model.iteration, best_of=1)


def compare() -> None:
    graph, start = people(COMPARED)
    ours = steps(COMPARED)
    plain = {
        "deffuant": seconds(lambda: plain_deffuant(graph, start)),
        "hegselmann_krause": seconds(lambda: plain_hegselmann_krause(graph, start)),
    }
    print(f"\n{COMPARED:,} agents, small world")
    for name, kind, size in (
        ("deffuant", "AlgorithmicBiasModel", COMPARED),
        ("hegselmann_krause", "HKModel", COMPARED // 10),
    ):
        theirs = ndlib(kind, size)
        told = "NDlib is not installed"
        if theirs is not None:
            same = ours[name] if size == COMPARED else steps(size)[name]
            told = f"NDlib on {size:,}: {theirs:7.3f} s ({theirs / same:6.1f}x)"
        print(
            f"{name:<20} {ours[name]:7.4f} s   plain {plain[name]:7.3f} s ({plain[name] / ours[name]:5.1f}x)   {told}"
        )


def growth() -> Path:
    """Seconds of a step by number of agents, on axes of which both are logarithmic."""
    from matplotlib.figure import Figure

    from parley.analysis.figures import save, style

    seconds_by_size = {size: steps(size) for size in SIZES}
    looks = zip(("o-", "s--", "^-.", "D:", "v-"), ("#c1272d", "#1f5fa8", "#00785a", "#8a5a00", "#777777"), strict=True)
    with style():
        figure = Figure(figsize=(4.6, 3.2), layout="constrained")
        axis = figure.subplots()
        for name, (look, colour) in zip(laws(), looks, strict=True):
            axis.loglog(
                SIZES, [seconds_by_size[size][name] for size in SIZES], look, color=colour, label=name, markersize=4
            )
        axis.loglog(SIZES, [size * 2e-7 for size in SIZES], color="#bbbbbb", linewidth=0.8, label="linear")
        axis.set(xlabel="Agents", ylabel="Seconds a step (one core)", title=f"Small world, mean degree {DEGREE}")
        axis.legend(fontsize=7)
    for size in SIZES:
        print(
            f"{size:>10,} agents   "
            + "   ".join(f"{name} {taken:.4f} s" for name, taken in seconds_by_size[size].items())
        )
    save(figure, FIGURE).unlink()  # the PNG next to it
    return FIGURE.with_suffix(".svg")


def changes() -> None:
    """Seconds of a whole step of the model, its columns included, with what people read, hear and follow."""
    from parley.model.population import PopulationModel

    feeds = ({"feed": f"{name},length=5"} for name in ("chronological", "homophilous", "hot"))
    rest = ({"rewiring": "nearer"}, *({"interventions": f"{act} every=1"} for act in ACTS))
    for settings in ({}, *feeds, *rest, {"feed": "homophilous,length=5", "rewiring": "nearer", "interventions": EACH}):
        model = PopulationModel("degroot", agents=MILLION, steps=5, rng=1, **settings)
        model.step()
        print(f"{settings!s:<130} {seconds(model.step):7.2f} s", flush=True)


def record() -> None:
    from parley.model.population import PopulationModel
    from parley.model.population_record import ATTITUDES, ToParquet

    with tempfile.TemporaryDirectory() as folder:
        started = time.process_time()
        recorder = ToParquet(Path(folder), 1, {})
        PopulationModel("deffuant", agents=COMPARED, steps=20, rng=1, recorder=recorder).run()
        recorder.close()
        taken, size = time.process_time() - started, (Path(folder) / ATTITUDES).stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(
        f"{COMPARED:,} agents, 20 steps, recorded: {taken:.1f} s, {size / 1e6:.1f} MB on disk, peak memory {peak:.2f} GiB"
    )


def main(chosen: str = "") -> None:
    if chosen == "record":
        return record()
    if chosen == "changes":
        return changes()
    print(f"{MILLION:,} agents, small world, mean degree {DEGREE}; seconds of the processor a step, one core")
    for name, taken in steps(MILLION).items():
        print(f"{name:<20} {taken:7.3f} s   {taken / MILLION * 1e6:6.3f} us an agent")
    more()
    compare()
    if chosen == "growth":
        print(f"figure   {growth()}")
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
