"""The command `run.py study games`: people play a game of points in several conditions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parley.analysis.commands.runs import conditions_parser, run_conditions
from parley.model.cli import Parser

GAMES = ("trust_game", "prisoners_dilemma", "public_goods", "negotiation")


def parser() -> Parser:
    """Return the options of `run.py study games`."""
    options = conditions_parser(
        "games",
        "Let people play a game of points in several conditions. The report compares what players say with what they do, and "
        "how games end.",
        page="studies/games/README.md",
        preset=GAMES[0],
    )
    options.add_argument("game", choices=GAMES, help="the game")
    options.add_argument(
        "--native",
        default="",
        metavar="MODEL",
        help="in a negotiation, add a condition with a reasoning model",
    )
    options.add_argument(
        "--human",
        type=Path,
        metavar="FILE",
        help=("a CSV file of games that people played, for comparison (studies/games/README.md)"),
    )
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study games`."""
    options = parser().parse_args(words)
    from .report import conditions, writer

    settings = partial(conditions, native=options.native, human=options.human)
    return run_conditions(options, "games", options.game, settings, writer(options.human))
