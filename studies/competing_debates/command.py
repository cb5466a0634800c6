"""`study bets`: debaters bet in private on how well they do; `study prior-beliefs`: for their own belief or against it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import (
    conditions_parser,
    each_condition,
    hold_all,
    open_desk,
    print_paths,
    print_plan,
    results_folder,
    run_conditions,
)
from parley.llm.errors import UserError
from parley.model.arguments import (
    models_from_args,
    party_of,
    scenario_from_args,
    shared_budget,
    society_from_args,
    study_budgets,
)
from parley.model.cli import Parser, add_option, positive
from parley.training.commands.optional_training import NUMBERS, add_training, check_train_only, training_from_args

if TYPE_CHECKING:
    from parley.agents.persona import Persona
    from parley.agents.society import Society
    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario

    from .training import DebaterTraining

SAMPLES, REPETITIONS, HELD_OUT = 6, 10, 0.5
PANEL = 10


def parser() -> Parser:
    """Return the options of `run.py study bets`."""
    options = conditions_parser(
        "bets",
        "Let debaters bet in private on whether they will win, against another debater and against a "
        "copy of themselves. With --judge, a model decides who wins, and the report compares the bets "
        "with the verdicts. If --llm is given several times, the models debate each other "
        "(studies/competing_debates/README.md).",
    )
    about = "the model that says who made the better case in each debate; needed with several --llm"
    add_option(options, "--judge SPEC", about)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study bets`."""
    options = parser().parse_args(words)
    from .bets import CONDITIONS, tournament, write

    models = list(dict.fromkeys(spec for spec in options.llm if not party_of(spec)))
    if not options.judge:
        if len(models) > 1:
            raise UserError("several models need a judge who says which one wins: add --judge SPEC")
        return run_conditions(options, "bets", "bets", lambda base: CONDITIONS, write)
    if any(map(party_of, options.llm)):
        raise UserError("with --judge all debaters of a model are compared: leave out PARTY= in --llm")
    if len(models) < 2:
        return _judged(options, CONDITIONS)
    return _judged(options, tournament(models_from_args(options), society_from_args(options)))


def _judged(options: argparse.Namespace, conditions: Mapping[str, Mapping[str, Any]]) -> int:
    """Run the conditions, let the judge decide every debate, and write the report."""
    from parley.llm.backends import check_spec, identity_spec

    from .bets import WINNING, write_judged
    from .verdicts import judge_debates

    judge = models_from_args(argparse.Namespace(**vars(options) | {"llm": []}), "judge")[0]
    check_spec(judge)
    options.llm = options.llm[:1]
    base, given = scenario_from_args(options, "bets")
    settings = {name: {**condition_settings, "also": [WINNING]} for name, condition_settings in conditions.items()}
    scenarios = [base.with_settings(condition_settings) for condition_settings in settings.values()]
    if options.dry_run:
        return print_plan(dict(zip(settings, scenarios, strict=True)), options, judge)
    folder, names = results_folder(options, "bets"), [name.replace(", ", "_").replace(" ", "_") for name in settings]
    budgets, ledger = study_budgets(options, scenarios, folder, names)
    print_paths(folder=folder)
    study = each_condition(base, settings)
    runs = hold_all(study, names, folder, given, None, budgets, ledger, not options.no_qualify)
    manifest, about = folder / "verdicts" / "judge.json", {"judge": identity_spec(judge)}
    with open_desk(options, manifest, about, "judge", shared_budget(options, folder, judge)) as desk:
        verdicts = judge_debates(runs, judge, desk, base.seed)
        print(desk.tally.line)
    models = {name: _models_of(scenario) for name, scenario in zip(settings, scenarios, strict=True)}
    print_paths(report=write_judged(runs, verdicts, models, judge, base.seed, folder))
    return 0


def _models_of(scenario: Scenario) -> tuple[str, str]:
    """Return the models of the first and the second seat."""
    specs = scenario.llm_by_party
    first, second = (specs.get(seat, scenario.models.llm) for seat in scenario.groups[0].labels)
    return first, second


def prior_beliefs_parser() -> Parser:
    """Return the options of `run.py study prior-beliefs`."""
    options = conditions_parser(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for or against their own belief, in turn or "
        "at the same time. With --compare, personas also compare speeches for one side by debaters who "
        "believe in that side and by debaters who do not believe in that side. With --train, the model "
        "is trained on the verdicts of --compare (studies/competing_debates/README.md).",
    )
    add_option(options, "--compare SPEC", "the model that plays the personas who compare speeches")
    about = f"with --compare: number of personas that compare each pair (default: {PANEL})"
    add_option(options, "--panel N", about, positive)
    training_options(options)
    return options


def training_options(parser: Parser) -> None:
    """Add the options of the training."""
    about = (
        "train the model on the verdicts of --compare, and compare its speeches before and after the training; takes pocket "
        f"or hf:MODEL as --llm, and {REPETITIONS} repetitions unless you give another number\nsft: train on the best speech "
        "for each prompt\ndpo: train on pairs of a better and a worse speech"
    )
    add_option(parser, "--train METHOD", about, choices=("sft", "dpo"))
    add_option(
        parser, "--samples N", f"with --train: number of speeches for each prompt (default: {SAMPLES})", positive
    )
    add_training(parser, "topics", "verdicts", HELD_OUT)


def prior_beliefs(words: Sequence[str]) -> int:
    """Run `run.py study prior-beliefs`."""
    options = prior_beliefs_parser().parse_args(words)
    from .beliefs import CONDITIONS, write

    check_options(options)
    if options.train:
        return _train(options)
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
        raise UserError("--dry-run plans debates, but not a training: leave out --train")
    if options.train and options.rounds is not None:
        raise UserError(
            "with --train only first statements are compared, so a debate has one round: leave out --rounds"
        )


def debater_training(options: argparse.Namespace, folder: Path) -> tuple[DebaterTraining, tuple[str, ...]]:
    """Return the training that the options describe, and the fields that are set. Errors: UserError where it is not possible."""
    from parley.llm.backends import check_spec

    from .training import DebaterTraining

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


def _train(options: argparse.Namespace) -> int:
    """Train a debater on verdicts, and write the report."""
    from parley.llm.backends import identity_spec

    from .training_report import write_training

    folder = results_folder(options, "prior-beliefs")
    training, given = debater_training(options, folder)
    print_paths(folder=folder)
    spending = shared_budget(options, folder, *dict.fromkeys((training.llm, training.panel)))
    about = {"panel": identity_spec(training.panel), "people": training.people, "trained": options.train}
    with open_desk(options, folder / "panel" / "panel.json", about, "panel", spending) as desk:
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
    from parley.llm.backends import identity_spec

    from .beliefs import beliefs_report
    from .speeches import add_quality, compare_speeches, speech_pairs, speeches

    header = next(iter(runs.values())).header
    seed, personas = int(header.scenario["seed"]), str(header.scenario["personas"])
    panel = _draw_panel(options, next(iter(runs.values())).society, personas, seed)
    pairs = speech_pairs([speech for name, tables in runs.items() for speech in speeches(name, tables)], seed)
    manifest, about = folder / "panel" / "panel.json", {"panel": identity_spec(spec), "people": options.panel}
    with open_desk(options, manifest, about, "panel", shared_budget(options, folder, spec)) as desk:
        comparisons = compare_speeches(pairs, panel, spec, desk, seed)
        print(desk.tally.line)
    print_paths(panel=manifest.parent)
    report = beliefs_report(runs, folder)
    add_quality(report, pairs, comparisons, spec)
    return report.write()
