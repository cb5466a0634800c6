"""The commands `run.py population` and `surrogate`."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.model.population import PopulationModel

LABEL = "population.json"
BYTES = 4
"""Of one recorded attitude, before compression."""


def population_parser() -> Parser:
    """Return the options of `run.py population`."""
    parser = Parser(
        "population",
        "Simulate up to millions of agents with an opinion-dynamics model on a sparse graph (docs/populations.md).",
        "population --law deffuant --agents 10000",
        cli.seed(),
        cli.out("runs/population-<time>"),
        cli.dry_run("set up the population, print its size and the expected time, and stop without writing a file"),
    )
    about = (
        "the opinion-dynamics model: deffuant, hegselmann_krause, degroot, friedkin_johnsen, voter, q_voter, sznajd, altafini, "
        "jager_amblard, dissonance, surrogate:FILE of run.py study surrogate, or ./FILE.py\noptions of every model: noise=SD, "
        "stubborn=SHARE, pull=SHARE,toward=POINT,fade=FACTOR"
    )
    add_option(parser, "--law NAME[:FILE][,key=value]", about, required=True)
    about = (
        "the network, with the options of docs/networks.md: small_world,degree=10 (default), random, ring, blocks, scale_free, "
        "geometric, complete, or file,path=FILE"
    )
    add_option(parser, "--graph NAME[,key=value]", about, default="small_world,degree=10")
    add_option(parser, "--agents N", "number of agents", positive, default=100_000)
    add_option(parser, "--steps N", "number of steps to simulate", natural, default=20)
    about = "stop when no opinion moves more than SHIFT points in a step (default: run all steps)"
    add_option(parser, "--until SHIFT", about, amount)
    about = (
        "number of opinions of each agent; more than 1 is possible with the models degroot, "
        "friedkin_johnsen, hegselmann_krause, deffuant and dissonance"
    )
    add_option(parser, "--dimensions N", about, positive, default=1)
    add_option(
        parser,
        "--every K",
        "save the attitudes after every K-th step (default: 1, so after each step)",
        natural,
        default=1,
    )
    about = (
        "parties, with the mean and SD of their first attitudes, and their weight (default: the parties of a fitted "
        "law; otherwise one party with uniform attitudes)"
    )
    add_option(parser, "--parties NAME[:MEAN:SD][:WEIGHT],...", about, default="")
    about = (
        "a survey file (.csv): each agent gets the opinions and the party of a respondent, drawn by weight\noptions: "
        "opinion=COLUMN,low=ANSWER,high=ANSWER, party=COLUMN, names=(VALUE:NAME,...), weight=COLUMN, missing=VALUE, "
        "margins=FILE (docs/populations.md)"
    )
    add_option(parser, "--people FILE[,key=value]", about, default="")
    about = (
        "which agents an agent reads: homophilous (nearest opinions first), chronological or hot\n"
        "option: length=5, the number of agents that an agent reads (default: all neighbours of the "
        "agent)"
    )
    add_option(parser, "--feed NAME[,key=value]", about, default="")
    about = "how links change between steps: nearer,probability=0.2,beyond=3,choices=10 (default: links do not change)"
    add_option(parser, "--rewiring NAME[,key=value]", about, default="")
    about = (
        "add a social medium on which people post, share, vote and follow (docs/networks.md). NAME is "
        "the order of posts: hot, chronological, homophilous or random (default: no social medium)\n"
        "options: length=5, lasting=3, acts=(post,like,nothing), activation=clock, homophily=0.3, herd=0"
    )
    add_option(parser, "--platform NAME[,key=value]", about, default="")
    about = (
        "an event before a step: message, shock, mute, unmute, join, leave or links (repeatable; docs/interventions.md). "
        'Example: "message round=3 to=green value=8"'
    )
    add_option(parser, '--intervene "KIND KEY=VALUE ..."', about, action="append")
    return parser


def population(words: Sequence[str]) -> int:
    """Run `run.py population --law LAW`."""
    options = population_parser().parse_args(words)
    if options.every < 1 or options.steps % options.every:
        raise UserError(
            f"--every {options.every}: {options.steps} steps are not a multiple of {options.every}, so the "
            "last step would not be saved: change --steps or --every"
        )
    run = {name: getattr(options, name) for name in ("law", "graph", "agents", "steps", "every", "parties", "seed")}
    run |= {"dimensions": options.dimensions} if options.dimensions > 1 else {}
    run |= {"until": options.until} if options.until is not None else {}
    run |= {name: value for name in ("people", "feed", "rewiring", "platform") if (value := getattr(options, name))}
    run |= {"interventions": options.intervene} if options.intervene else {}
    if options.dry_run:
        _print_plan(run)
        return 0
    folder = results_folder(options, "population")
    summary = _simulate(run, folder, f"python run.py population {shlex.join(words)}")
    print_paths(summary=summary, figure=folder / "figures" / "distribution.png")
    return 0


def _simulate(run: dict[str, Any], folder: Path, command: str) -> Path:
    """Simulate a population, unless the folder has it already; return its summary."""
    from parley.agents.laws import open_law
    from parley.analysis.population_report import SUMMARY, convergence, write
    from parley.environments.survey_table import describe_survey

    law = open_law(run["law"])
    manifest = run | {"fit": law.digest} | _graph_digest(run["graph"]) | _survey_digest(run.get("people"))
    if (folder / SUMMARY).exists():
        _claim(folder, manifest)
        print("this population is already finished, so nothing was run")
        return folder / SUMMARY
    model = _set_up(run)
    _claim(folder, manifest)  # only now: settings of which no population can be made leave no folder
    print_paths(folder=folder)
    _record(model, folder, run)
    surveyed = describe_survey(model.people.survey) if model.people else ()
    for line in filter(
        None, (*surveyed, convergence(run, model.converged), law.caption, law.extrapolation(run["steps"]))
    ):
        print(line)
    scalars = model.datacollector.get_model_vars_dataframe()
    return write(
        folder, scalars, run, law, command, model.converged, model.traits, model.people, model.happened, model.medium
    )


def _set_up(run: Mapping[str, Any]) -> PopulationModel:
    from parley.model.population import PopulationModel

    arguments = {name: value for name, value in run.items() if name not in ("seed", "every")}
    return PopulationModel(rng=run["seed"], **arguments)


def _print_plan(run: Mapping[str, Any]) -> None:
    """Print the size of a population, and the time of its steps, which the first step takes here."""
    from parley.analysis.formatting import count_phrase  # it loads pandas

    model = _set_up(run)
    agents, links, steps = run["agents"], model.network.graph.nnz, run["steps"]
    print(f"{run['law']} on {run['graph']}: {count_phrase(agents, 'agent')}, {count_phrase(links, 'link')}")
    recorded = steps // run["every"] + 1
    size = recorded * agents * model.dimensions * BYTES / 1e6
    print(f"  {count_phrase(steps, 'step')}, {recorded:,} recorded: at most {size:,.1f} MB on disk")
    if steps:
        began = time.perf_counter()
        model.step()
        print(f"  about {steps * (time.perf_counter() - began):.1f} s, as the first step takes on this machine now")


def _graph_digest(graph: str) -> dict[str, str]:
    """Return the digest of the file that a graph is read from: a changed file is another population."""
    from parley.environments.graphs import GRAPHS
    from parley.environments.mapped_graph import digest_of
    from parley.llm.seeding import digest

    if not graph.startswith("file,"):
        return {}
    try:
        chosen = GRAPHS.get(graph)
        if chosen.is_mapped:
            return {"file": digest_of(chosen.path)}
        files = chosen.files
        return {"file": digest(*[Path(file).read_bytes().hex() for file in files]).hex()}
    except OSError as error:
        raise UserError(f"graph {graph}: cannot read {error.filename}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"graph {graph}: {error}") from error


def _survey_digest(people: str | None) -> dict[str, str]:
    """Return the digest of the files of a survey: a changed file is another population."""
    from parley.environments.survey_table import open_survey
    from parley.llm.seeding import digest

    if not people:
        return {}
    try:
        return {"survey": digest(*[Path(file).read_bytes().hex() for file in open_survey(people).files]).hex()}
    except OSError as error:
        raise UserError(f"--people: cannot read {error.filename}: {error.strerror}") from error


def _record(model: PopulationModel, folder: Path, run: dict[str, Any]) -> None:
    """Run the model, and record its attitudes from the start."""
    from parley.model.population_record import ToParquet
    from parley.model.run_folder import code_revision, package_versions

    header = run | {"revision": code_revision(), "versions": package_versions()}
    recorder = model.recorder = ToParquet(folder, run["every"], header, model.dimensions)
    with bar(run["law"], run["steps"], "step") as progress:
        try:
            model.open_record(recorder)
            model.run(progress)
        finally:
            recorder.close(whole=model.over and model.error is None)


def _claim(folder: Path, manifest: dict[str, Any]) -> None:
    """Mark the folder as that of this population. Errors: UserError on a folder that holds something else."""
    from parley.analysis.journaled_calls import check_manifest

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / LABEL).exists():
            raise UserError(f"{folder} is not empty and is not the folder of a population: give another --out")
        check_manifest(folder / LABEL, manifest, "population")
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error


def surrogate_parser() -> Parser:
    """Return the options of `run.py study surrogate`."""
    parser = Parser(
        "study surrogate",
        "Fit how the agents of a run respond to what they read, and check the fit on other rooms. The result is a file for "
        "`run.py population --law surrogate:FILE` (docs/populations.md).",
        "study surrogate runs/a",
        cli.out("RUN/surrogate.json", "FILE"),
    )
    add_option(parser, "RUN", "a run folder with a survey after each round", path_options.recorded_run)
    about = (
        "what agents respond to\n"
        "grades: the text that agents read, graded by the rule-based speaker (default if only oracle or "
        "pocket speaks)\n"
        "attitudes: the attitude of the agent that spoke (default otherwise)"
    )
    add_option(parser, "--heard", about, default="", choices=("grades", "attitudes"))
    return parser


def surrogate(words: Sequence[str]) -> int:
    """Run `run.py study surrogate RUN`: fit a response to a recorded run, and say how well it predicts rooms it has not seen."""
    options = surrogate_parser().parse_args(words)
    from parley.analysis.surrogate import report
    from parley.analysis.tables import load

    fit = report.surrogate(load(options.run), options.heard)
    for topic in fit["topics"].values():
        print("\n".join(topic["told"]))
    print_paths(surrogate=report.write(fit, options.out or options.run / "surrogate.json"))
    return 0
