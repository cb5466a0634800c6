"""The command `run.py show`: the agents of a run, and the prompts and replies of one of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.model.cli import Parser, add_option

if TYPE_CHECKING:
    from parley.analysis.tables import Tables


def show_parser() -> Parser:
    """Return the options of `run.py show`."""
    parser = Parser(
        "show",
        "Print every prompt that an agent of a run was sent, its replies, and the probabilities of its answers. Without --agent: "
        "list the agents. The prompts are derived from the record and the journal of the run; no model is called.",
        "show runs/a\nshow runs/a --agent 1",
    )
    add_option(parser, "RUN", "the folder of a run; it may be unfinished or still going on", Path)
    add_option(parser, "--agent NAME", "the agent, by its name or its number", default="")
    add_option(parser, "--room NAME", "the room of the agent, where several have its name", default="")
    return parser


def show(words: Sequence[str]) -> int:
    """Run `run.py show RUN`."""
    options = show_parser().parse_args(words)
    from parley.analysis.sent_prompts import find_agent, prompts_text
    from parley.analysis.tables import load
    from parley.model.sent_requests import sent_requests

    tables = load(options.run)
    if not options.agent:
        _print(_agents(tables, options.room))
        return 0
    row = find_agent(tables, options.agent, options.room)
    _print(prompts_text(tables, sent_requests(options.run), row))
    return 0


def _agents(tables: Tables, room: str) -> Iterable[str]:
    """Yield a line for each agent: number, name, seat, room."""
    from parley.model.titles import seat_label

    for row in tables.agents.to_dict("records"):
        if room in ("", row["room"]):
            yield f"{row['agent']:>5}  {row['name']}, {seat_label(row, tables.names)}, {row['room']}"


def _print(lines: Iterable[str]) -> None:
    """Print text of models: control characters, such as escapes of a terminal, are printed as their codes."""
    for line in lines:
        shown = "".join(one if one in "\n\t" or one.isprintable() else ascii(one)[1:-1] for one in line)
        sys.stdout.write(f"{shown}\n")
