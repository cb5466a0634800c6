"""The command `run.py arena`: messages compared in pairs before a panel of personas."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parley.analysis.commands.messages import fields_of, message_parser, run_messages
from parley.llm.errors import UserError
from parley.model.arguments import society_from_args
from parley.model.cli import Parser, add_option, natural, positive


def arena_parser() -> Parser:
    """Return the options of `run.py arena`."""
    parser = message_parser(
        "arena",
        "Let a panel of personas compare messages in pairs, each pair in both orders, and score how persuasive they are. "
        "With --rewrite, a model rewrites each message, and the panel compares old and new (docs/arena.md).",
        "arena messages.csv --llm openai:gpt-4o-mini --aim 'to convince people that taxes are fair'\n"
        "arena --topic racism --llm oracle --rewrite",
        topic="the first of the society, if no file is given",
        readers="panel",
        file="messages (CSV with the column message, or .jsonl; docs/arena.md); without a file, they are written on the topic",
    )
    add_option(parser, "--aim TEXT", "what the messages are to achieve (default: that of the file, or of the topic)")
    add_option(parser, "--write N", "number of messages to write, without a file", natural, default=6)
    add_option(parser, "--panel N", "number of personas that compare", positive, default=20)
    add_option(parser, "--pairs N", "number of pairs that each persona compares (default: all)", natural, default=0)
    about = "who is to be persuaded, as the panel is asked\nyou: the persona\ngroup: people like the persona"
    add_option(parser, "--whom", about, default="you", choices=("you", "group"))
    add_option(parser, "--rewrite", "also rewrite each message, and compare old and new", action="store_true")
    add_option(parser, "--votes FILE", "votes of people on pairs of the messages (CSV or .jsonl; docs/arena.md)", Path)
    return parser


def arena(words: Sequence[str]) -> int:
    """Run `run.py arena`."""
    options = arena_parser().parse_args(words)
    from parley.analysis.persuasion.message_files import MessageSet, read_messages, read_votes
    from parley.analysis.studies import arena as study

    if options.votes and not options.file:
        raise UserError("--votes needs the messages that people compared: give their file")
    given = read_messages(options.file) if options.file else MessageSet({})
    society = society_from_args(options)
    own: dict[str, Any] = {
        "personas": society.qualified(options.personas),
        "language": society.language.code,
        "count": options.write,
    }
    names = fields_of(options, "panel", "pairs", "whom", "rewrite")
    task = study.Arena(aim_of(options, given.aim), given.texts, **own, **names)
    votes = read_votes(options.votes, list(given.texts)) if options.votes else None
    task.readers()  # too few personas are an error before the first call
    return run_messages(
        options,
        "arena",
        f"at most {task.calls:,} calls",
        lambda panel, writer, desk: study.run_arena(task, panel, writer, desk),
        lambda outcome, panel, writer, folder: study.write(outcome, task, panel, writer, folder, votes),
    )


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
