"""What `run.py arena` and `run.py rehearse` share: their options, the models that read and write messages, and how they run."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import print_calls, print_paths, results_folder
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk


def message_parser(command: str, about: str, example: str, topic: str, readers: str, file: str) -> Parser:
    """Return the parser of a command in which personas read messages that a model writes.

    topic: what is taken without --topic. readers: what --llm plays. file: what is in FILE.
    """
    asking = cli.asking(f"runs/{command}-<time>", f"the model that plays the {readers}")
    plan = cli.dry_run("print the largest number of calls and the servers, and stop: no model is called")
    parser = Parser(command, about, example, cli.society(), cli.topic(topic, default=""), *asking, plan)
    add_option(parser, "FILE", file, Path, nargs="?")
    add_option(parser, "--writer SPEC", "the model that writes (default: that of --llm)")
    add_option(parser, "--personas SET", "name of the set of personas", default="voters")
    add_option(
        parser, "--temperature X", "sampling temperature of the personas' answers (default: 1)", amount, default=1.0
    )
    add_option(parser, "--words N", "most words of a message that is written", positive, default=60)
    return parser


def fields_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return these options by name, with those that both studies have."""
    return {name: getattr(options, name) for name in (*names, "words", "temperature", "seed")}


def run_messages(
    options: argparse.Namespace,
    command: str,
    planned: str,
    study: Callable[[str, str, CallDesk], Any],
    write: Callable[[Any, str, str, Path], Path],
) -> int:
    """Run a study with the model of --llm and that of --writer in a folder, and write its report.

    planned: what --dry-run prints. study: takes both models and the desk, and returns what `write` takes first, before both
    models and the folder.
    """
    from parley.analysis.journaled_calls import CallDesk

    *models, given = models_from_args(options, "writer")
    reader = only_model(models)
    writer, folder = given or reader, results_folder(options, command)
    if options.dry_run:
        return print_calls(planned, reader, writer)
    print_paths(folder=folder)
    desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, *dict.fromkeys((reader, writer))))
    found = study(reader, writer, desk)
    print(desk.tally.line)
    print_paths(report=write(found, reader, writer, folder))
    return 0
