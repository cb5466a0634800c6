"""The command `run.py validate`: check whether personas answer as their party would."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, models_from_args, society_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def validate_parser() -> Parser:
    """Return the options of `run.py validate`."""
    parser = Parser(
        "validate",
        "Interview every persona with the questions of its society (us: the 21 of the UCL study), and let a judge say whether "
        "the answers fit.\n"
        "With --review: compare the judge's verdicts with those of people.",
        "validate --llm oracle --judge oracle",
        cli.society(),
        *cli.asking("runs/validate-<time>", "the model to interview; give --llm again for another", "none"),
    )
    add_option(parser, "--judge SPEC", "the model that judges the answers; it must not be one of those interviewed")
    about = "names of the sets of personas to interview (default: simple and enhanced, of those that the society has)"
    add_option(parser, "--personas SET[,SET]", about, default="")
    about = "a review.csv that people have filled in; give the folder of the judge's verdicts with --out"
    add_option(parser, "--review FILE", about, Path)
    return parser


def validate(words: Sequence[str]) -> int:
    """Run `run.py validate`."""
    options = validate_parser().parse_args(words)
    if options.review:
        return _review(options)
    if not options.llm or not options.judge:
        raise UserError(
            "no "
            f"{'model to interview was given: add --llm SPEC' if not options.llm else 'judge was given: add --judge SPEC'}"
        )
    from parley.analysis.alignment.persona_validation import Validation, interview_items, validate_personas
    from parley.analysis.alignment.report import write
    from parley.analysis.journaled_calls import missing_lines

    *models, judge = models_from_args(options, "judge")
    society = society_from_args(options)
    usual = [name for name in ("simple", "enhanced") if name in society.persona_sets]
    named = tuple(split_names(options.personas) or usual)
    validation = Validation(tuple(models), judge, named, options.seed, society.name)
    calls, budgets = len(interview_items(validation)) * len(models), budgets_from_args(options, *models, judge)
    folder = results_folder(options, "validate")
    print_paths(folder=folder, calls=f"{calls:,} answers and as many verdicts")
    answers = validate_personas(validation, folder, bar, budgets)
    print(missing_lines(answers[["verdict"]].replace("", None), answers["reason"], "verdicts"))
    report = write(answers, validation, folder)
    print_paths(report=report, figure=folder / "alignment.png", review=folder / "review.csv")
    return 0


def _review(options: argparse.Namespace) -> int:
    """Compare the verdicts of a folder with those of people."""
    if not options.out or options.llm or options.judge:
        raise UserError(
            "--review compares finished verdicts: give their folder with --out, and leave out --llm and --judge"
        )
    from parley.analysis.alignment.report import write_review

    print_paths(report=write_review(options.review, options.out), table=options.out / "agreement.csv")
    return 0
