"""`run.py personas`, `questions`, `case`: what a debate is held with, written by any model."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.errors import BudgetSpent, Unreachable, UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args
from parley.model.cli import Parser, add_option, natural

if TYPE_CHECKING:
    from parley.llm.request import Backend


@contextmanager
def _writer(options: argparse.Namespace, spec: str, journal: Path) -> Iterator[Backend]:
    """The model, within its budget. Its replies are kept in `journal` until all is written, so that the same command goes on
    where the budget ended or the model went away; replies of which nothing can be made are not kept.
    """
    from parley.analysis.journaled_calls import open_journal
    from parley.llm.backends import open_spec

    backend, (limits,) = open_spec(spec), budgets_from_args(options, spec)
    new, keep = not journal.parent.exists(), True
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use the folder {journal.parent}: {error.strerror}") from error
    try:
        with open_journal(backend, journal, limits) as opened:
            yield opened
        keep = False
    except UserError as error:
        keep = isinstance(error, BudgetSpent | Unreachable)
        raise
    finally:
        if not keep:
            _remove(journal, new)


def _remove(journal: Path, new: bool) -> None:
    """The journal, and its folder where that is `new` and holds nothing else."""
    for path in journal.parent.glob(f"{journal.name}*"):
        path.unlink()
    if new and not any(journal.parent.iterdir()):
        journal.parent.rmdir()


def personas_parser() -> Parser:
    """The options of `run.py personas`."""
    parser = Parser(
        "personas",
        "Let a model write the personas of a set, with the prompts in agents/prompts (docs/personas.md).",
        "personas --party democrat --out mine",
        cli.topic("the shipped ones; voters take a position on each", default=""),
        *cli.asking("", "the model that writes", "oracle"),
    )
    add_option(
        parser,
        "--set",
        "the set to write\nvoters: 40 people per party\nenhanced: detailed people\ntwins: the same "
        "people as men and as women",
        default="voters",
        choices=("voters", "enhanced", "twins"),
    )
    add_option(
        parser, "--party", "one party (default: all that the set has)", choices=("republican", "democrat", "default")
    )
    return parser


def personas(arguments: Sequence[str]) -> int:
    """`run.py personas`: write persona files anew with any model."""
    options = personas_parser().parse_args(arguments)
    from parley.agents.persona_generator import check_unused, write_personas
    from parley.agents.persona_variants import write_enhanced, write_twins
    from parley.agents.topic import load_topic, topic_names
    from parley.model.validation import check_topics

    write, known = {
        "voters": (write_personas, ("republican", "democrat")),
        "enhanced": (write_enhanced, ("republican", "democrat", "default")),
        "twins": (write_twins, ("republican", "democrat", "default")),
    }[options.set]
    wanted, spec = (options.party,) if options.party else known, model_from_args(options, "oracle")
    if not set(wanted) <= set(known):
        raise UserError(f"the {options.set} that are written are {' and '.join(known)}; the Default is one sentence")
    if options.set == "voters":
        check_topics(spec, [topic for topic in map(load_topic, topic_names()) if topic.in_backstories])
    for party in wanted:
        check_unused(options.out, party)
    topics = [topic.strip() for topic in options.topic.split(",") if topic.strip()]
    if topics and options.set != "voters":
        raise UserError(f"--topic is for --set voters: personas of {options.set} name no topic of a debate")
    more = {"topics": topics} if topics else {}
    with _writer(options, spec, options.out / "personas.sqlite") as backend:
        for party in wanted:
            print(f"personas {write(party, options.out, backend, spec, options.seed, **more)}")
    return 0


def questions_parser() -> Parser:
    """The options of `run.py questions`."""
    parser = Parser(
        "questions",
        "Let a model write divisive questions with a statement for each, filtered and split for training and test "
        "(docs/questions.md).",
        "questions --llm openai:gpt-4o-mini --count 20 --out mine.toml",
        *cli.asking("", "the model that writes", file="the new file, .toml"),
    )
    add_option(parser, "--count N", "how many questions", natural, default=150)
    return parser


def questions(arguments: Sequence[str]) -> int:
    """`run.py questions`: have a model write divisive questions."""
    options = questions_parser().parse_args(arguments)
    from parley.agents.question_generator import question_text, write_questions

    spec = model_from_args(options)
    with _writer(options, spec, options.out.with_suffix(".sqlite")) as backend:
        written = write_questions(options.count, options.out, backend, spec, options.seed)
    print(f"questions {options.out}: {len(written.questions)} (dropped: {question_text(written.dropped)})")
    return 0


def case_parser() -> Parser:
    """The options of `run.py case`."""
    parser = Parser(
        "case",
        "Let a model write the case that opens a structured debate, from arguments for and against. The result is a topic file; "
        "in agents/topics it is a topic of its own (--topic <file name>).",
        "case --topic abortion --for 'It is her body.' --against 'It is a life.' --out mine.toml",
        cli.topic("", required=True),
        *cli.asking("", "the model that writes", "oracle", file="the new topic file, .toml"),
    )
    for name, dest, about in (
        ("--for", "pro", "an argument for the claim (repeatable)"),
        ("--against", "con", "an argument against the claim (repeatable)"),
        ("--refine", "refine", "a change to the case (repeatable, made in this order)"),
    ):
        add_option(parser, f"{name} TEXT", about, default=[], dest=dest, action="append")
    return parser


def case(arguments: Sequence[str]) -> int:
    """`run.py case`: write the case of a structured debate into a topic file."""
    options = case_parser().parse_args(arguments)
    from parley.agents.case_generator import write_topic
    from parley.agents.topic import load_topic

    topic, spec = load_topic(options.topic), model_from_args(options, "oracle")
    arguments_ = options.pro, options.con, options.refine
    with _writer(options, spec, options.out.with_suffix(".sqlite")) as backend:
        path = write_topic(topic, *arguments_, options.out, backend, options.seed)
    print(f"topic    {path}")
    return 0
