"""The command `run.py prior-beliefs`: debaters argue before a judge, for their own belief or against it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import conditions_parser, print_paths, run_conditions
from parley.llm.errors import UserError
from parley.model.arguments import models_from_args, shared_budget
from parley.model.cli import Parser, add_option, positive

if TYPE_CHECKING:
    from parley.agents.persona import Persona
    from parley.agents.society import Society
    from parley.analysis.tables import Tables
    from parley.model.scenario import Scenario

PANEL = 10


def prior_beliefs_parser() -> Parser:
    """Return the options of `run.py prior-beliefs`."""
    parser = conditions_parser(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for their own belief or against it, in turn or at once. With "
        "--compare, personas also compare speeches for one side by debaters who hold the belief or not "
        "(docs/competing_debates.md).",
    )
    add_option(parser, "--compare SPEC", "the model that plays the personas who compare speeches")
    about = f"with --compare: number of personas that compare each pair (default: {PANEL})"
    add_option(parser, "--panel N", about, positive)
    return parser


def prior_beliefs(words: Sequence[str]) -> int:
    """Run `run.py prior-beliefs`."""
    options = prior_beliefs_parser().parse_args(words)
    from parley.analysis.studies.prior_beliefs import CONDITIONS, write

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

    return run_conditions(options, "prior-beliefs", "prior_beliefs", conditions, compare)


def _draw_panel(options: argparse.Namespace, society: Society, personas: str, seed: int) -> list[Persona]:
    """Return the personas that compare speeches. Errors: UserError if the set has fewer."""
    from parley.analysis.persuasion.comparisons import draw_people

    return draw_people(society.qualified(personas), options.panel, seed)


def _compare(options: argparse.Namespace, spec: str, runs: dict[str, Tables], folder: Path) -> Path:
    """Let a panel compare the speeches of the runs; return the path of the report."""
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.studies.prior_beliefs import beliefs_report
    from parley.analysis.studies.speech_quality import add_quality, compare_speeches, speech_pairs, speeches
    from parley.llm.backends import identity_spec
    from parley.model.progress import bar
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
