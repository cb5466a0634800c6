"""The command `run.py study truthfulness`: a crowd of personas rates the truthfulness of statements in seven dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parley.analysis.commands.runs import add_people, ask_questions
from parley.model import cli
from parley.model.arguments import model_from_args, society_from_args
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study truthfulness`."""
    options = Parser(
        "study truthfulness",
        "Let a crowd of personas rate statements in seven dimensions of truthfulness and overall, and compare the ratings with "
        "each other and with labels of experts (studies/truthfulness/README.md).",
        "study truthfulness statements.csv --llm oracle",
        cli.society(),
        *cli.asking("runs/truthfulness-<time>"),
        cli.dry_run("print the number of ratings, and stop without calling a model"),
    )
    add_option(options, "FILE", "a CSV file with the columns statement and speaker; the column label is optional", Path)
    add_people(options, "crowd", 20)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study truthfulness`."""
    options = parser().parse_args(words)
    from parley.llm.backends import check_spec

    from .measures import ASPECTS, TruthfulnessStudy, read_statements
    from .report import write_truthfulness

    statements, spec = read_statements(options.file), model_from_args(options)
    check_spec(spec)
    personas = society_from_args(options).qualified(options.personas)
    study = TruthfulnessStudy(statements, spec, personas, options.crowd, options.seed)
    calls = len(ASPECTS) * len(statements) * len(study.people)
    planned = f"{len(statements):,} statements, {len(study.people):,} personas, {calls:,} calls"
    return ask_questions(options, "truthfulness", study, planned, "set of ratings", partial(write_truthfulness, study))
