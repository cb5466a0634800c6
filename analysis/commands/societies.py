"""The commands `run.py new` and `check`: start a society, or a part of it, and say what is wrong with one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model.cli import Parser, add_option


def new_parser() -> Parser:
    """Return the options of `run.py new`."""
    parser = Parser(
        "new",
        "Write the commented skeleton of a society, a party, a topic, a set of personas or a study. A new society runs as it is "
        "(docs/societies.md), and so does a new study (docs/own_study.md).",
        "new society ./mycountry\nnew study ./mine",
    )
    add_option(
        parser,
        "KIND",
        "what to begin: society, party, topic, personas or study",
        choices=("society", "party", "topic", "personas", "study"),
    )
    add_option(parser, "PATH", "the new folder; for a party or a topic, the new .toml file", Path)
    return parser


def new(words: Sequence[str]) -> int:
    """Run `run.py new KIND PATH`."""
    options = new_parser().parse_args(words)
    from parley.agents.skeleton import write_skeleton

    print_paths(**{options.kind: write_skeleton(options.kind, options.path)})
    return 0


def check_parser() -> Parser:
    """Return the options of `run.py check`."""
    parser = Parser(
        "check",
        "Say in a line each what is wrong with a society, a party, a topic or a set of personas (docs/societies.md).",
        "check germany",
    )
    add_option(
        parser,
        "PATH",
        "the name or folder of a society, the .toml file of a party or a topic, or the folder of a set of personas",
    )
    return parser


def check(words: Sequence[str]) -> int:
    """Run `run.py check PATH`. The exit status is 1 if something is wrong."""
    options = check_parser().parse_args(words)
    from parley.agents.society_check import check_path
    from parley.agents.society_defaults import derived_parts

    problems = check_path(options.path)
    print("\n".join(problems) if problems else f"{options.path}: no fault found")
    if made_up := derived_parts(options.path):
        print("\nParley makes up what these files leave out (no fault):")
        print("\n".join(f"  {line}" for line in made_up))
    return 1 if problems else 0
