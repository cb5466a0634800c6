"""The command `study conjoint`: which levels matter, compared with choices of people."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parley.analysis.commands.runs import add_people, ask_questions
from parley.model import cli
from parley.model.arguments import model_from_args, society_from_args
from parley.model.cli import Parser, add_option

EXAMPLES = """study conjoint candidates --llm oracle,worth=age/52:0.1
study conjoint design.toml --llm openai:gpt-4o-mini --people people.csv"""


def parser() -> Parser:
    """Return the options of `run.py study conjoint`."""
    options = Parser(
        "study conjoint",
        "Let personas choose between two profiles with random attributes; each pair is shown in both "
        "orders. The report estimates how much each value of an attribute matters, and which profile is "
        "the best (studies/conjoint/README.md).",
        EXAMPLES,
        cli.society(),
        *cli.asking("runs/conjoint-<time>"),
        cli.dry_run("print the number of respondents and calls, and stop without calling a model"),
    )
    about = "the design: candidates or kandidaten (Parley's own), or a .toml file of your own"
    add_option(options, "DESIGN", about, nargs="?", default="candidates")
    add_option(
        options, "--people FILE", "a CSV with choices of people, to compare with (studies/conjoint/README.md)", Path
    )
    add_people(options, "respondents")
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study conjoint`."""
    options = parser().parse_args(words)
    from parley.llm.backends import check_spec

    from .choices import ConjointStudy, read_choices
    from .design import load_design
    from .report import write_conjoint

    design, spec = load_design(options.design), model_from_args(options)
    check_spec(spec)
    personas = society_from_args(options).qualified(options.personas)
    study = ConjointStudy(design, spec, personas, options.respondents or 0, options.seed)
    people = read_choices(options.people, design) if options.people else None
    planned = f"{len(study.people):,} respondents, {len(study.tasks):,} pairs, {2 * len(study.tasks):,} calls"
    write = partial(write_conjoint, study, people=people)
    return ask_questions(options, "conjoint", study, planned, "conjoint experiment", write)
