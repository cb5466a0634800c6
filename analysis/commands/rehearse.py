"""The command `run.py rehearse`: advice, candidate messages, a simulated audience, a choice, and other people who rate it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.arena import models_of, panel_options
from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.model import cli
from parley.model.arguments import shared_budget, society_from_args
from parley.model.cli import Parser, add_option, natural, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.agents.persuasion import Aim
    from parley.agents.society import Society


def rehearse_parser() -> Parser:
    """Return the options of `run.py rehearse`."""
    parser = Parser(
        "rehearse",
        "Ask a model for advice on a message, let it write candidates, let personas rate them, and choose the best. Other "
        "personas then rate the choice, a random candidate and a message without advice (docs/arena.md).",
        "rehearse problems.csv --llm openai:gpt-4o-mini\nrehearse --topic racism,inflation --llm oracle",
        cli.society(),
        cli.topic("all of the society, if no file is given; one problem for each", default=""),
        *cli.asking("runs/rehearse-<time>", "the model that plays the audience"),
    )
    about = "problems (CSV with the column aim, or .jsonl; docs/arena.md); without a file, one for each topic"
    add_option(parser, "FILE", about, Path, nargs="?")
    panel_options(parser)
    add_option(
        parser, "--audience N", "number of personas that choose; as many others rate the choice", positive, default=15
    )
    add_option(
        parser, "--pieces N", "pieces of advice in each of three ways; each gives a candidate", positive, default=2
    )
    add_option(parser, "--plain N", "number of messages without advice, for comparison", natural, default=2)
    return parser


def rehearse(words: Sequence[str]) -> int:
    """Run `run.py rehearse`."""
    options = rehearse_parser().parse_args(words)
    from parley.analysis.journaled_calls import CallDesk
    from parley.analysis.persuasion.message_files import read_problems
    from parley.analysis.studies import rehearse as study

    society = society_from_args(options)
    problems = read_problems(options.file) if options.file else _topic_problems(society, split_names(options.topic))
    names: dict[str, Any] = {
        name: getattr(options, name) for name in ("pieces", "plain", "audience", "words", "temperature", "seed")
    }
    personas = society.qualified(options.personas)
    task = study.Rehearsal(problems, personas=personas, language=society.language.code, **names)
    task.readers()  # too few personas are an error before the first call
    (audience, writer), folder = models_of(options), results_folder(options, "rehearse")
    print_paths(folder=folder)
    desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, *dict.fromkeys((audience, writer))))
    found = study.run_rehearsal(task, audience, writer, desk)
    print(desk.tally.line)
    print_paths(report=study.write(task, found, audience, writer, folder))
    return 0


def _topic_problems(society: Society, slugs: Sequence[str]) -> dict[str, Aim]:
    """Return the problem to convince people of the claim of each topic; of all topics of the society without a name."""
    from parley.agents.persuasion import Aim
    from parley.agents.topic import load_topic, topic_names

    problems = {}
    for slug in slugs or topic_names(society.folder / "topics"):
        topic = load_topic(society.qualified(slug))
        problems[topic.slug] = Aim(topic.language.fill("persuade_aim", claim=topic.claim))
    return problems
