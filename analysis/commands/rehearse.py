"""The command `run.py rehearse`: advice, candidate messages, a simulated audience, a choice, and other people who rate it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.messages import fields_of, message_parser, run_messages
from parley.analysis.commands.runs import split_names
from parley.model.arguments import society_from_args
from parley.model.cli import Parser, add_option, natural, positive

if TYPE_CHECKING:
    from parley.agents.persuasion import Aim
    from parley.agents.society import Society


def rehearse_parser() -> Parser:
    """Return the options of `run.py rehearse`."""
    parser = message_parser(
        "rehearse",
        "Ask a model for advice on a message, let it write candidates, let personas rate them, and choose the best. Other "
        "personas then rate the choice, a random candidate and a message without advice (docs/arena.md).",
        "rehearse problems.csv --llm openai:gpt-4o-mini\nrehearse --topic racism,inflation --llm oracle",
        topic="all of the society, if no file is given; one problem for each",
        readers="audience",
        file="problems (CSV with the column aim, or .jsonl; docs/arena.md); without a file, one for each topic",
    )
    about = "number of personas that choose; as many others rate the choice"
    add_option(parser, "--audience N", about, positive, default=15)
    about = "pieces of advice in each of three ways; each gives a candidate"
    add_option(parser, "--pieces N", about, positive, default=2)
    add_option(parser, "--plain N", "number of messages without advice, for comparison", natural, default=2)
    return parser


def rehearse(words: Sequence[str]) -> int:
    """Run `run.py rehearse`."""
    options = rehearse_parser().parse_args(words)
    from parley.analysis.persuasion.message_files import read_problems
    from parley.analysis.studies import rehearse as study

    society = society_from_args(options)
    problems = read_problems(options.file) if options.file else _topic_problems(society, split_names(options.topic))
    own: dict[str, Any] = {"personas": society.qualified(options.personas), "language": society.language.code}
    task = study.Rehearsal(problems, **own, **fields_of(options, "pieces", "plain", "audience"))
    task.readers()  # too few personas are an error before the first call
    return run_messages(
        options,
        "rehearse",
        f"at most {task.calls:,} calls",
        lambda audience, writer, desk: study.run_rehearsal(task, audience, writer, desk),
        lambda found, audience, writer, folder: study.write(task, found, audience, writer, folder),
    )


def _topic_problems(society: Society, slugs: Sequence[str]) -> dict[str, Aim]:
    """Return the problem to convince people of the claim of each topic; of all topics of the society without a name."""
    from parley.agents.persuasion import Aim
    from parley.agents.topic import load_topic, topic_names

    problems = {}
    for slug in slugs or topic_names(society.folder / "topics"):
        topic = load_topic(society.qualified(slug))
        problems[topic.slug] = Aim(topic.language.fill("persuade_aim", claim=topic.claim))
    return problems
