"""The command `run.py prior-beliefs`: debaters argue before a judge, for their own belief or against it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import conditions_parser, print_paths, run_conditions
from parley.model.arguments import models_from_args, shared_budget
from parley.model.cli import Parser, add_option, positive

if TYPE_CHECKING:
    from parley.analysis.tables import Tables


def prior_beliefs_parser() -> Parser:
    """Return the options of `run.py prior-beliefs`."""
    parser = conditions_parser(
        "prior-beliefs",
        "Run debates before a judge in which debaters argue for their own belief or against it, in turn or at once. With "
        "--compare, personas also compare speeches for one side by debaters who hold the belief or not "
        "(docs/competing_debates.md).",
    )
    add_option(parser, "--compare SPEC", "the model that plays the personas who compare speeches")
    add_option(parser, "--panel N", "with --compare: number of personas that compare each pair", positive, default=10)
    return parser


def prior_beliefs(words: Sequence[str]) -> int:
    """Run `run.py prior-beliefs`."""
    options = prior_beliefs_parser().parse_args(words)
    from parley.analysis.studies.prior_beliefs import CONDITIONS, write

    if not options.compare:
        return run_conditions(options, "prior-beliefs", "prior_beliefs", lambda base: CONDITIONS, write)
    return run_conditions(
        options,
        "prior-beliefs",
        "prior_beliefs",
        lambda base: CONDITIONS,
        lambda runs, folder: _compare(options, runs, folder),
    )


def _compare(options: argparse.Namespace, runs: dict[str, Tables], folder: Path) -> Path:
    """Let a panel compare the speeches of the runs; return the path of the report."""
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.persuasion.comparisons import draw_people
    from parley.analysis.studies.prior_beliefs import beliefs_report
    from parley.analysis.studies.speech_quality import add_quality, compare_speeches, speech_pairs, speeches
    from parley.llm.backends import identity_spec
    from parley.model.progress import bar
    from parley.model.scenario_run import lock_folder

    header = next(iter(runs.values())).header
    spec = models_from_args(argparse.Namespace(**vars(options) | {"llm": []}), "compare")[0]
    seed, personas = int(header.scenario["seed"]), str(header.scenario["personas"])
    society = next(iter(runs.values())).society
    panel = draw_people(society.qualified(personas), options.panel, seed)
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
