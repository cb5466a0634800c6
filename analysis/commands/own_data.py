"""The command `run.py own-data`: the own lines of a person in a run, as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.model.cli import Parser, add_option, out
from parley.model.files import write_whole


def own_data_parser() -> Parser:
    """Return the options of `run.py own-data`."""
    parser = Parser(
        "own-data",
        "Write what a person in a seat of a run wrote, rated and agreed to, as a JSON file for this person. Lines of other "
        "members are left out.",
        'own-data runs/a --seat "labour 1" --out mine.json',
        out("own-data.json", "FILE"),
    )
    add_option(parser, "RUN", "the folder of a run; it may be unfinished or still going on", Path)
    add_option(parser, "--seat NAME", "the seat of the person", required=True)
    return parser


def own_data(words: Sequence[str]) -> int:
    """Run `run.py own-data RUN --seat NAME`."""
    options = own_data_parser().parse_args(words)
    from parley.analysis.own_lines import own_file

    path = options.out or Path("own-data.json")
    write_whole(path, own_file(options.run, options.seat).decode())
    print(f"wrote {path}")
    return 0
