"""The commands `run.py population` and `surrogate`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError
from parley.model.commandline import Parser, bar, natural

if TYPE_CHECKING:
    from parley.model.population import PopulationModel

LABEL = "population.json"


def population(arguments: Sequence[str]) -> int:
    """`run.py population --law LAW`: a large population moved by a law."""
    parser = Parser(
        prog="run.py population",
        description="Move a population of up to millions by a law of opinion dynamics on a sparse graph (docs/populations.md).",
    )
    parser.add_argument(
        "--law",
        metavar="NAME[:FILE][,key=value]",
        required=True,
        help="deffuant, hegselmann_krause, degroot, friedkin_johnsen; surrogate:FILE of run.py surrogate",
    )
    parser.add_argument(
        "--graph",
        metavar="NAME[,key=value]",
        default="small_world",
        help="small_world, random, ring, blocks, scale_free, geometric, complete, or file,path=FILE, with the options of "
        "docs/networks.md (small_world)",
    )
    parser.add_argument("--agents", metavar="N", type=natural, default=100_000, help="(100000)")
    parser.add_argument("--steps", metavar="N", type=natural, default=20, help="(20)")
    parser.add_argument("--every", metavar="K", type=natural, default=1, help="record each K-th step (1)")
    parser.add_argument(
        "--parties",
        metavar="NAME[:MEAN:SD][:WEIGHT],...",
        default="",
        help="who they are and where they begin (everybody alike, evenly over the axis; a fitted law knows its own)",
    )
    parser.add_argument("--seed", metavar="N", type=natural, default=0, help="same seed, same record")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/population-<time>)")
    options = parser.parse_args(arguments)
    if options.every < 1 or options.steps % options.every:
        raise UserError(
            f"--every {options.every}: {options.steps} steps must be a multiple of it, so that the last is recorded"
        )
    run = {name: getattr(options, name) for name in ("law", "graph", "agents", "steps", "every", "parties", "seed")}
    folder = options.out or Path("runs") / f"population-{time.strftime('%Y%m%d-%H%M%S')}"
    command = f"python run.py population {shlex.join(arguments)}"
    print(f"summary  {_held(run, folder, command)}\nfigure   {folder / 'figures' / 'distribution.png'}")
    return 0


def _held(run: dict[str, Any], folder: Path, command: str) -> Path:
    """Run it, unless the folder has it; its summary. What cannot be built claims no folder."""
    from parley.agents.opinion_dynamics import open_law
    from parley.analysis.population import SUMMARY, write
    from parley.model.population import PopulationModel

    law = open_law(run["law"])
    mine = run | {"fit": law.digest} | _file(run["graph"])
    if (folder / SUMMARY).exists():
        _claimed(folder, mine)
        print("this population is finished; nothing was run")
        return folder / SUMMARY
    model = PopulationModel(law, run["graph"], run["agents"], run["parties"], run["steps"], run["seed"])
    _claimed(folder, mine)
    print(f"folder   {folder}", flush=True)
    _record(model, folder, run)
    for line in filter(None, (law.caption, law.extrapolation(run["steps"]))):
        print(line)
    return write(folder, model.datacollector.get_model_vars_dataframe(), run, law, command)


def _file(graph: str) -> dict[str, str]:
    """The digest of the file that a graph is read from; a changed one is another population."""
    from parley.environments import graphs
    from parley.environments._specs import opened
    from parley.llm.seeding import digest

    if not graph.startswith("file,"):
        return {}
    try:
        return {"file": digest(Path(opened(graphs, graph).path).read_bytes().hex()).hex()}
    except (ValueError, OSError) as error:
        raise UserError(f"graph {graph}: {error}") from error


def _record(model: PopulationModel, folder: Path, run: dict[str, Any]) -> None:
    """Run a population, which stands, with its attitudes recorded from the start."""
    recorder = model.recorder = _recorder(folder, run)
    with bar(run["law"], run["steps"], "step") as progress:
        try:
            recorder.open(model.codes, [party.name for party in model.parties], model.nodes)
            recorder.write(0, model.opinions)
            model.run(progress)
        finally:
            recorder.close(whole=model.over and model.error is None)


def _recorder(folder: Path, run: dict[str, Any]) -> Any:
    from parley.model.population import ToParquet
    from parley.model.run_folder import code_revision, package_versions

    return ToParquet(folder, run["every"], run | {"revision": code_revision(), "versions": package_versions()})


def _claimed(folder: Path, run: dict[str, Any]) -> None:
    """One folder, one population. Errors: UserError on a folder of another, or of something else."""
    from parley.analysis.journaled_calls import check_manifest

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / LABEL).exists():
            raise UserError(f"{folder} is not empty and holds no population; give another --out")
        check_manifest(folder / LABEL, run, "population")
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error


def surrogate(arguments: Sequence[str]) -> int:
    """`run.py surrogate RUN`: fit a response to a recorded run, and say how near it comes to rooms that it has not seen."""
    parser = Parser(
        prog="run.py surrogate",
        description="Fit how people of a recorded run respond to what they hear, check it on rooms held out, and write it for "
        "run.py population --law surrogate:FILE (docs/populations.md).",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder with a survey after each round")
    parser.add_argument(
        "--heard",
        choices=("grades", "attitudes"),
        default="",
        help="what is heard: grades of lines, by the oracle's sentences, or the attitudes of who speaks (grades, where "
        "all speakers are ours)",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="(RUN/surrogate.json)")
    options = parser.parse_args(arguments)
    from parley.analysis.surrogate.report import surrogate as fitted
    from parley.analysis.surrogate.report import write
    from parley.analysis.tables import load

    found = fitted(load(options.run), options.heard)
    for topic in found["topics"].values():
        print("\n".join(topic["told"]))
    print(f"surrogate {write(found, options.out or options.run / 'surrogate.json')}")
    return 0
