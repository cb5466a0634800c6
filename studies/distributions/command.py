"""The command `run.py study distributions`: compare a model's distributions of answers with those of groups of people."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import ask_questions, split_names
from parley.model import cli
from parley.model.arguments import model_from_args
from parley.model.cli import Parser, add_option, positive

if TYPE_CHECKING:
    from parley.analysis.polls.asking import Poll

EXAMPLES = """study distributions planted --llm oracle
study distributions survey.csv --llm openai:gpt-4o-mini --ask persona
study distributions global_opinions.csv --llm pocket --groups Kenya,Germany --questions 50"""


def parser() -> Parser:
    """Return the options of `run.py study distributions`."""
    options = Parser(
        "study distributions",
        "Ask a model the questions of a survey as a member of each group, and compare its distributions of "
        "answers with the distributions of the group: scores with ceilings and nulls, and what naming the "
        "group changes (studies/distributions/README.md).",
        EXAMPLES,
        *cli.asking("runs/distributions-<time>"),
        cli.dry_run("print the number of questions, groups and calls, and stop without calling a model"),
    )
    about = (
        "the survey: a .csv or .jsonl file of Parley's form, of GlobalOpinionQA or of SimBench; the folder of a wave of "
        "OpinionQA; or planted, an invented survey whose truth the oracle knows"
    )
    add_option(options, "FILE", about)
    about = "how a group is named: prefix (a sentence before the question) or persona (a system message)"
    add_option(options, "--ask WAY", about, default="prefix", choices=("prefix", "persona"))
    add_option(options, "--groups A[,B]", "groups to ask for (default: all)", default="")
    add_option(options, "--questions N", "only N questions, drawn with the seed (default: all)", positive)
    about = "replies counted for each question if the model gives no probabilities"
    add_option(options, "--samples N", about, positive, 20)
    add_option(options, "--language CODE", "language of the prompts around the question", default="en")
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study distributions`."""
    options = parser().parse_args(words)
    study = study_from_args(options)
    table = study.table
    groups, most = len({row.group.name for row in table.rows}), study.calls * study.samples
    scope = f"{len(table.questions):,} questions, {groups:,} groups"
    planned = f"{scope}: {study.calls:,} calls, or {most:,} if the model gives no probabilities"
    from .report import write_distributions

    write = partial(write_distributions, study)
    return ask_questions(options, "distributions", study, planned, "set of answers", write)


def study_from_args(options: argparse.Namespace) -> Poll:
    """Return what is asked. Errors: UserError on a file, a group or a language that is not there."""
    from parley.agents.language import load_language
    from parley.analysis.polls.asking import Poll
    from parley.analysis.polls.published import read_survey
    from parley.analysis.polls.table import PLANTED, planted_survey
    from parley.llm.backends import check_spec

    llm = model_from_args(options)
    check_spec(llm)
    table = planted_survey() if options.file == PLANTED else read_survey(Path(options.file))
    chosen = table.select(split_names(options.groups), options.questions, options.seed)
    return Poll(chosen, llm, load_language(options.language), options.ask, options.samples, options.seed)
