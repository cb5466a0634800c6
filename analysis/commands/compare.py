"""The command `run.py compare`, which compares runs, or bias cards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option, amount


def compare_parser() -> Parser:
    """Return the options of `run.py compare`."""
    parser = Parser(
        "compare",
        "Compare runs, or bias cards, with the first one: what differs in a sentence, one figure, differences with intervals, "
        "and what was set differently\n(docs/branches.md, docs/card.md).",
        "compare runs/a runs/b --within 0.5",
        cli.out("runs/compare-<time>"),
    )
    add_option(
        parser, "RUN", "folders of runs or their records, or of cards or their card.json", Path, name="given", nargs="+"
    )
    about = "runs: also test which parties moved alike within so many points of the axis from 0 to 10"
    add_option(parser, "--within POINTS", about, amount)
    return parser


def compare(words: Sequence[str]) -> int:
    """Run `run.py compare RUN RUN ...`."""
    options = compare_parser().parse_args(words)
    if len(options.given) < 2:  # said before the slow imports
        raise UserError("compare needs at least two runs or two cards, such as runs/a and runs/b")
    from parley.analysis.comparisons import compare as compared

    folder = results_folder(options, "compare")
    comparison = compared(*options.given, within=options.within)
    page = comparison.report(folder)
    print("\n".join(comparison.sentences))
    print_paths(page=page, figure=folder / "compare.png")
    return 0
