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
        "Ask a model the questions of a survey as a member of each group, and compare the model's "
        "answers with the answers of the group. The report compares each score with the best possible "
        "score and with a random score, and shows what naming the group changes "
        "(studies/distributions/README.md).",
        EXAMPLES,
        *cli.asking("runs/distributions-<time>"),
        cli.dry_run("print the number of questions, groups and calls, and stop without calling a model"),
    )
    about = (
        "the survey\n"
        "a .csv or .jsonl file in the format of Parley, GlobalOpinionQA or SimBench\n"
        "the folder of a wave of OpinionQA\n"
        "planted: an invented survey whose true answers the oracle knows"
    )
    add_option(options, "FILE", about)
    about = "how a group is named: prefix (a sentence before the question) or persona (a system message)"
    add_option(options, "--ask WAY", about, default="prefix", choices=("prefix", "persona"))
    add_option(options, "--groups A[,B]", "names of the groups to ask for (default: all)", default="")
    add_option(options, "--questions N", "only N questions, drawn with the seed (default: all)", positive)
    about = "number of replies to each question if the model gives no probabilities"
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
