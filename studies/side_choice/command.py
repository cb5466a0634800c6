"""The command `run.py study choose-side`: debaters choose which side to argue before a judge."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import ask_questions
from parley.model import cli
from parley.model.arguments import model_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive

EXAMPLES = """study choose-side --llm oracle,flattery=0.4
study choose-side --llm openai:gpt-4o-mini --topic racism,abortion --people people.csv"""


def parser() -> Parser:
    """Return the options of `run.py study choose-side`."""
    options = Parser(
        "study choose-side",
        "Let debaters choose which side of a claim they argue before a judge, and measure how far debaters follow the judge's "
        "belief instead of their own (studies/side_choice/README.md).",
        EXAMPLES,
        cli.society(),
        cli.topic("all topics on which personas take a position", default=""),
        *cli.asking("runs/choose-side-<time>", "the model that plays the debaters"),
        cli.dry_run("print the number of people and calls, and stop without calling a model"),
    )
    add_option(
        options, "--people FILE", "a CSV with choices of people, to compare with (studies/side_choice/README.md)", Path
    )
    add_option(options, "--personas SET", "name of the set of personas that choose", default="voters")
    add_option(
        options,
        "--respondents N",
        "number of personas, taken from each party in turn (default: 20)",
        positive,
        default=20,
    )
    add_option(options, "--temperature X", "sampling temperature of the answers (default: 1)", amount, default=1.0)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study choose-side`."""
    options = parser().parse_args(words)
    from parley.agents.persona_generator import in_backstories
    from parley.agents.topic import load_topic
    from parley.analysis.formatting import count_phrase
    from parley.llm.backends import check_spec

    from .choices import SideChoiceStudy, read_choices
    from .report import write_side_choice

    spec, society = model_from_args(options), society_from_args(options)
    check_spec(spec)
    topics = tuple(map(society.qualified, split_topics(options.topic) or in_backstories(society)))
    for topic in topics:
        load_topic(topic)
    personas = society.qualified(options.personas)
    study = SideChoiceStudy(spec, topics, personas, options.respondents, options.temperature, options.seed)
    people = read_choices(options.people) if options.people else None
    planned = f"{count_phrase(len(study.people), 'persona')}, {count_phrase(len(topics), 'topic')}, at most {study.calls:,} calls"
    write = partial(write_side_choice, study, people=people)
    return ask_questions(options, "choose-side", study, planned, "choice of sides", write)
