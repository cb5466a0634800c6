"""The command `run.py prior-beliefs`: debaters argue before a judge, for their own belief or against it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import conditions_parser, hold_all, print_paths, results_folder, run_conditions
from parley.llm.errors import UserError
from parley.model.arguments import models_from_args, scenario_from_args, shared_budget
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import bar
from parley.training.commands.optional_training import NUMBERS, add_training, check_train_only, training_from_args

if TYPE_CHECKING:
    from parley.agents.persona import Persona
    from parley.agents.society import Society
    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario
    from parley.training.debaters import DebaterTraining

SAMPLES, REPETITIONS, HELD_OUT = 6, 10, 0.5
PANEL = 10


def prior_beliefs_parser() -> Parser:
    """Return the options of `run.py prior-beliefs`."""
    parser = conditions_parser(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for their own belief or against it, in turn or at once. With "
        "--compare, personas also compare speeches for one side by debaters who hold the belief or not. With --train, the model "
        "is trained on such verdicts (docs/competing_debates.md).",
    )
    add_option(parser, "--compare SPEC", "the model that plays the personas who compare speeches")
    about = f"with --compare: number of personas that compare each pair (default: {PANEL})"
    add_option(parser, "--panel N", about, positive)
    training_options(parser)
    return parser


def training_options(parser: Parser) -> None:
    """Add the options of the training."""
    about = (
        "train the model on the verdicts of --compare, and compare its speeches with those before; takes pocket or hf:MODEL as "
        f"--llm, and {REPETITIONS} repetitions unless others are given\n"
        "sft: on the best speech for each prompt\ndpo: on pairs of a better and a worse speech"
    )
    add_option(parser, "--train METHOD", about, choices=("sft", "dpo"))
    add_option(parser, "--samples N", f"with --train: speeches for each prompt (default: {SAMPLES})", positive)
    add_training(parser, "topics", "verdicts", HELD_OUT)


def prior_beliefs(words: Sequence[str]) -> int:
    """Run `run.py prior-beliefs`."""
    options = prior_beliefs_parser().parse_args(words)
    from parley.analysis.studies.prior_beliefs import CONDITIONS, write

    check_options(options)
    if options.train:
        return train(options)
    if options.panel and not options.compare:
        raise UserError("--panel only works with --compare: add --compare SPEC, or leave out --panel")
    if not options.compare:
        return run_conditions(options, "prior-beliefs", "prior_beliefs", lambda base: CONDITIONS, write)
    from parley.llm.backends import check_spec

    spec = models_from_args(argparse.Namespace(**vars(options) | {"llm": []}), "compare")[0]
    check_spec(spec)
    options.panel = options.panel or PANEL

    def conditions(base: Scenario) -> Mapping[str, Mapping[str, Any]]:
        _draw_panel(options, base.society, base.people.personas, base.seed)  # too few personas: before the first call
        return CONDITIONS

    def compare(runs: dict[str, Tables], folder: Path) -> Path:
        return _compare(options, spec, runs, folder)

    return run_conditions(options, "prior-beliefs", "prior_beliefs", conditions, compare, spec)


def _draw_panel(options: argparse.Namespace, society: Society, personas: str, seed: int) -> list[Persona]:
    """Return the personas that compare speeches. Errors: UserError if the set has fewer."""
    from parley.analysis.persuasion.comparisons import draw_people

    return draw_people(society.qualified(personas), options.panel, seed)


def check_options(options: argparse.Namespace) -> None:
    """Errors: UserError for a setting of the training without --train, and for what a training does not use."""
    check_train_only(options, (*NUMBERS, "samples", "shuffles", "held_out"))
    if options.train and not options.compare:
        raise UserError("--train needs a panel whose verdicts are learned: add --compare SPEC")
    if options.train and options.dry_run:
        raise UserError("--dry-run plans debates, and no training: leave out --train")
    if options.train and options.rounds is not None:
        raise UserError(
            "with --train only first statements are compared, so a debate has one round: leave out --rounds"
        )


def debater_training(options: argparse.Namespace, folder: Path) -> tuple[DebaterTraining, tuple[str, ...]]:
    """Return the training that the options describe, and the fields that are set. Errors: UserError where it is not possible."""
    from parley.llm.backends import check_spec
    from parley.training.debaters import DebaterTraining

    panel = models_from_args(options, "compare")[-1]
    check_spec(panel)
    options.repetitions = options.repetitions or REPETITIONS
    base, given = scenario_from_args(options, "prior_beliefs")
    recipe, share, shuffles = training_from_args(options, "debater", options.train, HELD_OUT)
    options.panel = options.panel or PANEL
    sizes = options.panel, options.samples or SAMPLES
    training = DebaterTraining(base, panel, *sizes, recipe, folder, share, shuffles)
    training.model()
    training.readers(options.panel)  # too few personas are an error before the first call
    return training, given


def train(options: argparse.Namespace) -> int:
    """Train a debater on verdicts, and write the report."""
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.studies.debater_report import write_training
    from parley.llm.backends import identity_spec
    from parley.model.scenario_run import lock_folder

    folder = results_folder(options, "prior-beliefs")
    training, given = debater_training(options, folder)
    print_paths(folder=folder)
    spending = shared_budget(options, folder, *dict.fromkeys((training.llm, training.panel)))
    desk_folder = folder / "panel"
    desk_folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(desk_folder):
        about = {"panel": identity_spec(training.panel), "people": training.people, "trained": options.train}
        check_manifest(desk_folder / "panel.json", about, "panel")
        desk = CallDesk(desk_folder, bar, options.keep_going, spending)
        budgets = [spending.of(training.llm)] * len(training.runs)
        outcome = hold_all(training.run(desk), training.runs, folder, given, None, budgets, spending.ledger)
        print(desk.tally.line)
    specs = training.llm, training.panel
    tables = outcome.values, outcome.table, outcome.texts, outcome.scored
    page = write_training(*tables, outcome.lines(training.llm, options.train), specs, folder)
    print_paths(report=page, figure=folder / "trained.png", adapters=folder / "adapters")
    return 0


def _compare(options: argparse.Namespace, spec: str, runs: dict[str, Tables], folder: Path) -> Path:
    """Let a panel compare the speeches of the runs; return the path of the report."""
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.studies.prior_beliefs import beliefs_report
    from parley.analysis.studies.speech_quality import add_quality, compare_speeches, speech_pairs, speeches
    from parley.llm.backends import identity_spec
    from parley.model.scenario_run import lock_folder

    header = next(iter(runs.values())).header
    seed, personas = int(header.scenario["seed"]), str(header.scenario["personas"])
    panel = _draw_panel(options, next(iter(runs.values())).society, personas, seed)
    pairs = speech_pairs([one for name, tables in runs.items() for one in speeches(name, tables)], seed)
    desk_folder = folder / "panel"
    desk_folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(desk_folder):
        about = {"panel": identity_spec(spec), "people": options.panel}
        check_manifest(desk_folder / "panel.json", about, "panel")
        desk = CallDesk(desk_folder, bar, options.keep_going, shared_budget(options, folder, spec))
        found = compare_speeches(pairs, panel, spec, desk, seed)
        print(desk.tally.line)
    print_paths(panel=desk_folder)
    report = beliefs_report(runs, folder)
    add_quality(report, pairs, found, spec)
    return report.write()
