"""The script with which a shell completes commands and options."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import shtab

from parley.agents.topic import news_names, topic_names
from parley.llm.backends import backend_names
from parley.model import path_options
from parley.model.cli import Parser
from parley.model.scenario import preset_names

VALUES = {"--scenario": preset_names, "--topic": lambda: [*topic_names(), *news_names()], "--llm": backend_names}
"""What completes an option's value, where that is no file."""


def completion_script(shell: str, bare: Parser, commands: Mapping[str, tuple[Parser, str]]) -> str:
    """The script of a shell, for `parley` with the options of `bare` and each command's parser and line of help."""
    tree = argparse.ArgumentParser("parley", parents=[bare], add_help=False)
    _add_commands(tree, commands)
    return str(shtab.complete(tree, shell))


def _add_commands(tree: argparse.ArgumentParser, commands: Mapping[str, tuple[Parser, str]]) -> None:
    """Each command below `tree`, and those that it has itself."""
    _complete_values(tree)
    if not commands:
        return
    below = tree.add_subparsers(parser_class=argparse.ArgumentParser)
    for name, (parser, what) in commands.items():
        subcommands = {
            subcommand: (made := make(), made.description or "") for subcommand, make in parser.commands.items()
        }
        _add_commands(below.add_parser(name, parents=[parser], add_help=False, help=what), subcommands)


def _complete_values(parser: argparse.ArgumentParser) -> None:
    """Say of a parser's options how their values are completed."""
    for action in parser._actions:
        if name := next((option for option in action.option_strings if option in VALUES), ""):
            action.choices = VALUES[name]()
        elif action.type in (Path, path_options.recorded_run, path_options.given_file):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
