"""The command `run.py ablation`: what agents recall with parts of their memory left out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import judge_from_args, print_calls, print_paths
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def parser() -> Parser:
    """Return the options of `run.py ablation`."""
    options = Parser(
        "ablation",
        "Let a model score what the agents of a run recall in their interviews, with all of their memory and without reflection, "
        "planning or memory (docs/days.md).",
        "ablation runs/days --llm oracle",
        *cli.asking("RUN/ablation", "the model that scores the answers"),
        cli.dry_run("print the number of questions and the servers that are asked, and stop: no model is called"),
    )
    add_option(options, "RUN", "a run folder with interviews (--scenario days)", Path)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py ablation RUN --llm SPEC`."""
    options = parser().parse_args(words)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.tables import load
    from parley.studies.ablation.recollection import check_interviews, judge_interviews, write_ablation

    tables = load(options.run)
    if problem := check_interviews(tables):
        raise UserError(f"{options.run} {problem}")
    folder, spec, budget = judge_from_args(options, tables, "ablation")
    if options.dry_run:
        return print_calls(f"{len(tables.interviews):,} answers", spec)
    verdicts = judge_interviews(tables, folder, spec, options.seed, bar, budget)
    print(missing_lines(verdicts[["recall"]], verdicts["reason"], "answers"))
    print_paths(verdicts=folder / "verdicts.csv", report=write_ablation(verdicts, tables, folder, spec))
    return 0
