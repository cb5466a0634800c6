"""The command `run.py study dissonance`: which of two beliefs people take, by the distance to their own beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.arguments import budgets_from_args, model_from_args
from parley.model.cli import Parser, add_option
from parley.model.progress import bar


def parser() -> Parser:
    """Return the options of `run.py study dissonance`."""
    parser = Parser(
        "study dissonance",
        "Measure how strongly people who choose between two beliefs prefer the belief nearer to their "
        "own beliefs in an embedding (studies/dissonance/README.md).",
        "study dissonance choices.csv --beliefs beliefs.csv",
        cli.model("the model that embeds the texts of beliefs, if the file has no vectors", "none"),
        cli.budget(),
        cli.out("CHOICES without .csv"),
    )
    add_option(
        parser,
        "CHOICES",
        "a table (.csv) with the columns person, chosen and rejected; the column order is optional",
        Path,
    )
    about = (
        "a table (.csv) with the column belief, and either the column text or columns with the numbers "
        "of the belief's vector"
    )
    add_option(parser, "--beliefs FILE", about, Path, required=True)
    return parser


def run(words: Sequence[str]) -> int:
    """Run `run.py study dissonance CHOICES --beliefs FILE`."""
    options = parser().parse_args(words)
    from parley.studies.dissonance import choices as belief_choices
    from parley.studies.dissonance.report import write_dissonance

    choices = belief_choices.read_choices(options.choices)
    vectors, texts = belief_choices.read_beliefs(options.beliefs)
    folder = options.out or path_options.folder_beside(options.choices)
    source = f"vectors of {options.beliefs.name}"
    if vectors.empty:
        if texts is None or not options.llm:
            raise UserError(
                f"{options.beliefs} has no vectors: give columns of numbers, or name a model that embeds with --llm"
            )
        spec = model_from_args(options)
        (budget,) = budgets_from_args(options, spec)
        vectors, source = belief_choices.embed(texts, spec, folder, bar, budget), f"texts embedded by {spec}"
    print_paths(report=write_dissonance(choices, vectors, source, folder))
    return 0
