"""The commands that write materials: `personas`, `questions`, `case`, `new` and `check`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import print_paths
from parley.llm.errors import BudgetSpent, Unreachable, UserError, unknown_name
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option, natural, positive

if TYPE_CHECKING:
    from parley.agents.society import Society
    from parley.llm.request import Backend

DEPTH = 20
"""Attributes of a deep persona where --depth is not given."""


@contextmanager
def _writer(options: argparse.Namespace, spec: str, journal: Path) -> Iterator[Backend]:
    """Open the model that writes, within its budget.

    The journal keeps its replies until everything is written: where the budget is spent or the model cannot be reached, the
    same command goes on from there. After any other error the replies are of no use, and the journal is removed.
    """
    from parley.analysis.journaled_calls import open_journal
    from parley.llm.backends import open_spec

    backend, (budget,) = open_spec(spec), budgets_from_args(options, spec)
    folder, keep = journal.parent, True
    new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot use the folder {folder}: {error.strerror}") from error
    try:
        with open_journal(backend, journal, budget) as opened:
            yield opened
        keep = False
    except UserError as error:
        keep = isinstance(error, BudgetSpent | Unreachable)
        raise
    finally:
        if not keep:
            for path in folder.glob(f"{journal.name}*"):
                path.unlink()
            if new and not any(folder.iterdir()):
                folder.rmdir()


def personas_parser() -> Parser:
    """Return the options of `run.py study personas`."""
    parser = Parser(
        "study personas",
        "Let a model write the personas of a set, with the prompts of the society's language (docs/personas.md).",
        "study personas --society germany --party spd --out mine",
        cli.society(),
        cli.topic("the topics of the society; voters take a position on each", default=""),
        *cli.asking("", "the model that writes", "oracle"),
    )
    about = (
        "the set to write\nvoters: 40 people per party\nenhanced: detailed people\ntwins: the same people as men and as women\n"
        "deep: people with many attributes of a taxonomy (studies/deep_personas/README.md)"
    )
    add_option(parser, "--set", about, default="voters", choices=("voters", "enhanced", "twins", "deep"))
    about = (
        "code of the only party whose personas are written; first and second are the two debating "
        "parties (default: all parties)"
    )
    add_option(parser, "--party NAME", about)
    add_option(parser, "--depth N", f"with --set deep: number of attributes of each person (default: {DEPTH})", natural)
    about = "number of people of each party, with --set deep only (default: as many as the list of first names has)"
    add_option(parser, "--count N", about, positive)
    about = "with --set enhanced or twins: a wording of the prompts, such as a paper's own (run.py new wording)"
    add_option(parser, "--wording NAME", about, default="given")
    about = "with --set deep: your own taxonomy, a .toml file (default: the taxonomy of the society's language)"
    add_option(parser, "--taxonomy FILE", about, Path)
    return parser


def personas(words: Sequence[str]) -> int:
    """Run `run.py study personas`."""
    options = personas_parser().parse_args(words)
    from parley.agents.deep_personas import write_deep
    from parley.agents.persona_generator import check_unused, in_backstories, write_personas
    from parley.agents.persona_variants import write_enhanced, write_twins
    from parley.agents.topic import load_topic
    from parley.model.validation import check_topics

    write: Any = {"voters": write_personas, "enhanced": write_enhanced, "twins": write_twins, "deep": write_deep}[
        options.set
    ]
    society = _worded_society(options)
    parties, spec = _parties_to_write(options, society), model_from_args(options, "oracle")
    if options.set == "voters":
        check_topics(spec, [load_topic(topic) for topic in in_backstories(society)])
    for party in parties:
        check_unused(options.out, party)
    topics = [society.qualified(name) for name in split_topics(options.topic)]
    if topics and options.set != "voters":
        raise UserError(
            f"--topic only works with --set voters, because personas of {options.set} name no topic: leave out --topic"
        )
    more = {"topics": topics} if topics else _depth_from_args(options, society)
    with _writer(options, spec, options.out / "personas.sqlite") as backend:
        for party in parties:
            print_paths(personas=write(party, options.out, backend, spec, options.seed, society, **more))
    if options.set == "deep":
        print(_missing_sentences(options.out))
    return 0


def _worded_society(options: argparse.Namespace) -> Society:
    """Return the society with the prompts of --wording. Errors: UserError where the set has no prompt in another wording."""
    from dataclasses import replace

    society = society_from_args(options)
    if options.wording == "given":
        return society
    if options.set not in ("enhanced", "twins"):
        raise UserError(f"--wording is for --set enhanced or twins, not for {options.set}: leave out --wording")
    return replace(society, language=society.language.worded(options.wording))


def _missing_sentences(folder: Path) -> str:
    """Return the line on sentences of deep personas that could not be used."""
    import pandas as pd

    from parley.agents.deep_personas import read_people
    from parley.analysis.journaled_calls import missing_lines

    values = [value for person in read_people(folder) for value in person.values]
    sentences = pd.DataFrame({"sentence": [value.sentence or None for value in values]})
    return missing_lines(sentences, [value.reason for value in values], "sentences")


def _depth_from_args(options: argparse.Namespace, society: Society) -> dict[str, Any]:
    """Return what only deep personas need. Errors: UserError on such an option for another set, and on a broken taxonomy."""
    given = [name for name in ("depth", "count", "taxonomy") if getattr(options, name) is not None]
    if options.set != "deep":
        if given:
            raise UserError(f"--{given[0]} only works with --set deep: add --set deep, or leave out --{given[0]}")
        return {}
    from parley.agents.taxonomy import load_taxonomy

    taxonomy, depth = (
        load_taxonomy(society.language, options.taxonomy),
        DEPTH if options.depth is None else options.depth,
    )
    return {"taxonomy": taxonomy, "depth": depth, "count": options.count or 0}


def _parties_to_write(options: argparse.Namespace, society: Society) -> list[str]:
    """Return the parties whose personas are written. Errors: UserError on a party that the set does not have."""
    from parley.agents.society import DEFAULT

    parties = [party for party in society.parties if party != DEFAULT or options.set != "voters"]
    party = society.seat(options.party or "")
    if party == DEFAULT and DEFAULT not in parties:
        raise UserError(
            f"--set {options.set} has only the parties {', '.join(parties)}; the persona of the Default is one "
            "fixed sentence, so leave out --party default"
        )
    if party and party not in parties:
        raise unknown_name("party", party, parties)
    return [party] if party else parties


def questions_parser() -> Parser:
    """Return the options of `run.py study questions`."""
    parser = Parser(
        "study questions",
        "Let a model write divisive questions, each with a statement (docs/personas.md). Parley drops "
        "unsuitable questions, and splits the other questions into training and test. The questions are "
        "in the language of the society.",
        "study questions --llm openai:gpt-4o-mini --count 20 --out mine.toml",
        cli.society(),
        *cli.asking("", "the model that writes", file="the new file, .toml"),
    )
    add_option(parser, "--count N", "number of questions to write", natural, default=150)
    return parser


def questions(words: Sequence[str]) -> int:
    """Run `run.py study questions`."""
    options = questions_parser().parse_args(words)
    from parley.agents.question_generator import question_text, write_questions

    spec = model_from_args(options)
    with _writer(options, spec, options.out.with_suffix(".sqlite")) as backend:
        written = write_questions(options.count, options.out, backend, spec, options.seed, society_from_args(options))
    print(f"questions {options.out}: {len(written.questions)} (dropped: {question_text(written.dropped)})")
    return 0


def case_parser() -> Parser:
    """Return the options of `run.py study case`."""
    parser = Parser(
        "study case",
        "Let a model write the case that opens a structured debate, from arguments for and against. The "
        "result is a topic file. Give the path of the file as --topic, or put the file into the folder "
        "topics of a society and give its name.",
        "study case --topic abortion --for 'It is her body.' --against 'It is a life.' --out mine.toml",
        cli.society(),
        cli.topic("", required=True),
        *cli.asking("", "the model that writes", "oracle", file="the new topic file, .toml"),
    )
    for name, dest, about in (
        ("--for", "pro", "an argument for the claim (repeatable)"),
        ("--against", "con", "an argument against the claim (repeatable)"),
        (
            "--refine",
            "refine",
            "a change that the model makes to the case, such as 'shorter' (repeatable; changes are made in "
            "the order given)",
        ),
    ):
        add_option(parser, f"{name} TEXT", about, default=[], dest=dest, action="append")
    return parser


def case(words: Sequence[str]) -> int:
    """Run `run.py study case`."""
    options = case_parser().parse_args(words)
    from parley.agents.case_generator import write_topic
    from parley.agents.topic import load_topic

    topic = load_topic(society_from_args(options).qualified(options.topic))
    spec = model_from_args(options, "oracle")
    with _writer(options, spec, options.out.with_suffix(".sqlite")) as backend:
        path = write_topic(topic, options.pro, options.con, options.refine, options.out, backend, options.seed)
    print_paths(topic=path)
    return 0


def new_parser() -> Parser:
    """Return the options of `run.py new`."""
    parser = Parser(
        "new",
        "Write the commented skeleton of a society, a party, a topic, a set of personas or a study. You "
        "can run a new society (docs/societies.md) or a new study (docs/extending.md) at once, without a "
        "change. The command also copies the prompts of a paper from your copy of the paper's text "
        "(studies/structured/README.md).",
        'new society ./mycountry\nnew study ./mine\nnew topic cars.toml --topic "Should cities ban cars from their centres?"\n'
        "new wording ./published --from paper.txt",
    )
    add_option(
        parser,
        "KIND",
        "what to begin: society, party, topic, personas, study, or wording (the prompts of a paper)",
        choices=("society", "party", "topic", "personas", "study", "wording"),
    )
    add_option(parser, "PATH", "the new folder; for a party or a topic, the new .toml file", Path)
    add_option(
        parser,
        "--topic TEXT",
        "with KIND topic: the yes-or-no question or the statement that agents debate",
        default="",
    )
    about = (
        "with KIND wording: the text of the paper in a UTF-8 file, copied from the HTML page or made by "
        "pdftotext (repeatable)"
    )
    add_option(parser, "--from FILE", about, Path, default=[], dest="papers", action="append")
    return parser


def new(words: Sequence[str]) -> int:
    """Run `run.py new KIND PATH`."""
    options = new_parser().parse_args(words)
    if options.papers and options.kind != "wording":
        raise UserError(f"--from is for a new wording, not for a {options.kind}: leave out --from")
    if options.kind == "wording":
        return _new_wording(options)
    from parley.agents.skeleton import write_skeleton

    print_paths(**{options.kind: write_skeleton(options.kind, options.path, options.topic)})
    return 0


def _new_wording(options: argparse.Namespace) -> int:
    """Cut the prompts of a paper, and print what was found, and what the paper does not print."""
    from parley.agents.published.cutting import read_text, write_pack

    if options.topic:
        raise UserError("--topic only works with `new topic`, not with `new wording`: leave out --topic")
    for piece in write_pack(options.papers, options.path):
        print(f"{piece.section:<16} {piece.file} ({piece.how})")
    for part in [part for file in options.papers for part in read_text(file).rules["not_printed"]]:
        print(f"not printed, so in Parley's words: {part}")
    print_paths(wording=options.path)
    return 0
