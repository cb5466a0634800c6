"""The command `run.py arena`: messages compared in pairs before a panel of personas."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar


def arena_parser() -> Parser:
    """Return the options of `run.py arena`."""
    parser = Parser(
        "arena",
        "Let a panel of personas compare messages in pairs, each pair in both orders, and score how persuasive they are. "
        "With --rewrite, a model rewrites each message, and the panel compares old and new (docs/arena.md).",
        "arena messages.csv --llm openai:gpt-4o-mini --aim 'to convince people that taxes are fair'\n"
        "arena --topic racism --llm oracle --rewrite",
        cli.society(),
        cli.topic("the first of the society, if no file is given", default=""),
        *cli.asking("runs/arena-<time>", "the model that plays the panel"),
    )
    about = "messages (CSV with the column message, or .jsonl; docs/arena.md); without a file, they are written on the topic"
    add_option(parser, "FILE", about, Path, nargs="?")
    panel_options(parser)
    add_option(parser, "--aim TEXT", "what the messages are to achieve (default: that of the file, or of the topic)")
    add_option(parser, "--write N", "number of messages to write, without a file", natural, default=6)
    add_option(parser, "--panel N", "number of personas that compare", positive, default=20)
    add_option(parser, "--pairs N", "number of pairs that each persona compares (default: all)", natural, default=0)
    about = "who is to be persuaded, as the panel is asked\nyou: the persona\ngroup: people like the persona"
    add_option(parser, "--whom", about, default="you", choices=("you", "group"))
    add_option(parser, "--rewrite", "also rewrite each message, and compare old and new", action="store_true")
    add_option(parser, "--votes FILE", "votes of people on pairs of the messages (CSV or .jsonl; docs/arena.md)", Path)
    return parser


def panel_options(parser: Parser) -> None:
    """Add the options that arena and rehearse share: writer, personas, temperature, words."""
    add_option(parser, "--writer SPEC", "the model that writes (default: that of --llm)")
    add_option(parser, "--personas SET", "name of the set of personas", default="voters")
    add_option(
        parser, "--temperature X", "sampling temperature of the personas' answers (default: 1)", amount, default=1.0
    )
    add_option(parser, "--words N", "most words of a message that is written", positive, default=60)


def models_of(options: argparse.Namespace) -> tuple[str, str]:
    """Return the model of --llm and that of --writer."""
    *models, writer = models_from_args(options, "writer")
    panel = only_model(models)
    return panel, writer or panel


def arena(words: Sequence[str]) -> int:
    """Run `run.py arena`."""
    options = arena_parser().parse_args(words)
    from parley.analysis.journaled_calls import CallDesk
    from parley.analysis.persuasion.message_files import MessageSet, read_messages, read_votes
    from parley.analysis.studies import arena as study

    if options.votes and not options.file:
        raise UserError("--votes needs the messages that people compared: give their file")
    given = read_messages(options.file) if options.file else MessageSet({})
    society = society_from_args(options)
    names: dict[str, Any] = {
        name: getattr(options, name) for name in ("panel", "pairs", "whom", "words", "temperature", "rewrite", "seed")
    }
    personas = society.qualified(options.personas)
    own = {"texts": given.texts, "count": options.write, "personas": personas, "language": society.language.code}
    task = study.Arena(aim_of(options, given.aim), **own, **names)
    votes = read_votes(options.votes, list(given.texts)) if options.votes else None
    task.readers()  # too few personas are an error before the first call
    (panel, writer), folder = models_of(options), results_folder(options, "arena")
    print_paths(folder=folder)
    desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, *dict.fromkeys((panel, writer))))
    outcome = study.run_arena(task, panel, writer, desk)
    print(desk.tally.line)
    print_paths(report=study.write(outcome, task, panel, writer, folder, votes))
    return 0


def aim_of(options: argparse.Namespace, stated: str = "") -> str:
    """Return the aim: that of --aim, of the file (`stated`), or of the claim of --topic. Errors: UserError without one."""
    if options.aim or (stated and not options.topic):
        return str(options.aim or stated)
    if options.file and not options.topic:
        raise UserError("the file does not say what its messages are to achieve: add --aim TEXT, or --topic SLUG")
    from parley.agents.topic import load_topic

    society = society_from_args(options)
    topic = load_topic(society.qualified(options.topic or society.topics[0]))
    return topic.language.fill("persuade_aim", claim=topic.claim)
