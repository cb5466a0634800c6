"""The commands `run.py study arena` and `run.py study rehearse`: personas read messages that a model writes.

arena     messages are compared in pairs before a panel
rehearse  advice, candidates, a simulated audience, a choice, and other people who rate it
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import open_desk, print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, amount, natural, positive

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.arena.contest import Arena
    from parley.studies.arena.rehearsal import Rehearsal


def message_parser(command: str, about: str, example: str, topic: str, readers: str, file: str) -> Parser:
    """Return the parser of a command in which personas read messages that a model writes.

    topic: what is taken without --topic. readers: what --llm plays. file: what is in FILE.
    """
    asking = cli.asking(f"runs/{command}-<time>", f"the model that plays the {readers}")
    plan = cli.dry_run("print the largest number of calls and the servers, and stop without calling a model")
    parser = Parser(
        f"study {command}", about, f"study {example}", cli.society(), cli.topic(topic, default=""), *asking, plan
    )
    add_option(parser, "FILE", file, Path, nargs="?")
    add_option(parser, "--writer SPEC", "the model that writes (default: the model of --llm)")
    add_option(parser, "--personas SET", "name of the set of personas", default="voters")
    add_option(
        parser, "--temperature X", "sampling temperature of the personas' answers (default: 1)", amount, default=1.0
    )
    add_option(parser, "--words N", "maximum number of words of a message that the model writes", positive, default=60)
    return parser


def fields_of(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return these options by name, with those that both commands have."""
    society = society_from_args(options)
    shared_fields = {"personas": society.qualified(options.personas), "language": society.language.code}
    return shared_fields | {name: getattr(options, name) for name in (*names, "words", "temperature", "seed")}


def run_messages(
    options: argparse.Namespace,
    names: tuple[str, str, str],
    task: Arena | Rehearsal,
    study: Callable[[Any, str, str, CallDesk], Any],
    write: Callable[[Any, Any, str, str, Path], Path],
) -> int:
    """Run a study with the model of --llm and that of --writer in a folder, and write its report.

    names: of the command, of the study, and of those who read. study: takes the task, both models and the desk, and returns what
    `write` takes first, before the task, both models and the folder.
    """
    from parley.llm.backends import identity_spec

    task.readers()  # too few personas are an error before the first call
    *models, given = models_from_args(options, "writer")
    reader, (command, name, role) = only_model(models), names
    writer, folder = given or reader, results_folder(options, command)
    if options.dry_run:
        return print_calls(f"at most {task.calls:,} calls", reader, writer)
    print_paths(folder=folder)
    spending = shared_budget(options, folder, *dict.fromkeys((reader, writer)))
    about = {role: identity_spec(reader), "writer": identity_spec(writer)} | asdict(task)
    with open_desk(options, folder / f"{name}.json", about, name, spending) as desk:
        outcome = study(task, reader, writer, desk)
        print(desk.tally.line)
    print_paths(report=write(outcome, task, reader, writer, folder))
    return 0


def arena_parser() -> Parser:
    """Return the options of `run.py study arena`."""
    parser = message_parser(
        "arena",
        "Let a panel of personas compare messages in pairs, each pair in both orders, and score how "
        "persuasive each message is. With --rewrite, a model rewrites each message, and the panel "
        "compares the old message with the new one (studies/arena/README.md).",
        "arena messages.csv --llm openai:gpt-4o-mini --aim 'to convince people that taxes are fair'\n"
        "arena --topic racism --llm oracle --rewrite",
        topic="the first topic of the society, if no file is given",
        readers="panel",
        file="messages (CSV with the column message, or .jsonl; studies/arena/README.md); if you give no file, a "
        "model writes messages on the topic",
    )
    add_option(parser, "--aim TEXT", "what the messages are to achieve (default: the aim in the file, or in the topic)")
    add_option(parser, "--write N", "number of messages that the model writes if you give no file", natural, default=6)
    add_option(parser, "--panel N", "number of personas that compare", positive, default=20)
    add_option(parser, "--pairs N", "number of pairs that each persona compares (default: all)", natural, default=0)
    about = "the person to persuade in each question to the panel\nyou: the persona\ngroup: people like the persona"
    add_option(parser, "--whom", about, default="you", choices=("you", "group"))
    add_option(
        parser,
        "--rewrite",
        "also rewrite each message, and let the panel compare the old message with the new one",
        action="store_true",
    )
    add_option(
        parser,
        "--votes FILE",
        "votes of people on pairs of the messages (CSV or .jsonl; studies/arena/README.md)",
        Path,
    )
    return parser


def arena(words: Sequence[str]) -> int:
    """Run `run.py study arena`."""
    options = arena_parser().parse_args(words)
    from parley.studies.arena import contest, report
    from parley.studies.arena.writer import MessageSet, read_messages, read_votes

    if options.votes and not options.file:
        raise UserError("--votes needs the messages that people compared: give the file of these messages")
    given = read_messages(options.file) if options.file else MessageSet({})
    fields = fields_of(options, "panel", "pairs", "whom", "rewrite")
    task = contest.Arena(aim_of(options, given.aim), given.texts, options.write, **fields)
    votes = read_votes(options.votes, list(given.texts)) if options.votes else None
    names = ("arena", "arena", "panel")
    return run_messages(options, names, task, contest.run_arena, partial(report.write, votes=votes))


def aim_of(options: argparse.Namespace, stated: str = "") -> str:
    """Return the aim: that of --aim, of the file (`stated`), or of the claim of --topic. Errors: UserError without one."""
    if options.aim or (stated and not options.topic):
        return str(options.aim or stated)
    if options.file and not options.topic:
        raise UserError("the file does not say what its messages are to achieve: add --aim TEXT, or --topic SLUG")
    from parley.studies.arena.writer import aim_of_topic

    society = society_from_args(options)
    return aim_of_topic(society.qualified(options.topic or society.topics[0]))


def rehearse_parser() -> Parser:
    """Return the options of `run.py study rehearse`."""
    parser = message_parser(
        "rehearse",
        "Ask a model for advice on a message, let the model write candidate messages, and choose the "
        "candidate that personas rate best. Other personas then rate the chosen candidate, a random "
        "candidate and a message without advice (studies/arena/README.md).",
        "rehearse problems.csv --llm openai:gpt-4o-mini\nrehearse --topic racism,inflation --llm oracle",
        topic="all topics of the society, if no file is given; each topic is one problem",
        readers="audience",
        file=(
            "problems (CSV with the column aim, or .jsonl; studies/arena/README.md); without a file, each "
            "topic is a problem"
        ),
    )
    about = "number of personas that choose; the same number of other personas rate the choice"
    add_option(parser, "--audience N", about, positive, default=15)
    about = (
        "number of pieces of advice that the model gives in each of three ways; each piece of advice "
        "leads to a candidate message"
    )
    add_option(parser, "--pieces N", about, positive, default=2)
    add_option(parser, "--plain N", "number of messages without advice, for comparison", natural, default=2)
    return parser


def rehearse(words: Sequence[str]) -> int:
    """Run `run.py study rehearse`."""
    options = rehearse_parser().parse_args(words)
    from parley.agents.topic import load_topic, topic_names
    from parley.studies.arena import rehearsal
    from parley.studies.arena.writer import Aim, aim_of_topic, read_problems

    if options.file:
        problems = read_problems(options.file)
    else:  # to convince people of the claim of each topic
        society = society_from_args(options)
        slugs = split_topics(options.topic) or topic_names(society.folder / "topics")
        topics = [society.qualified(slug) for slug in slugs]
        problems = {load_topic(topic).slug: Aim(aim_of_topic(topic)) for topic in topics}
    task = rehearsal.Rehearsal(problems, **fields_of(options, "pieces", "plain", "audience"))
    names = ("rehearse", "rehearsal", "audience")
    return run_messages(options, names, task, rehearsal.run_rehearsal, rehearsal.write)
