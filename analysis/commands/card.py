"""The commands `run.py audit` (the bias card of a model) and `run.py compare` (cards side by side)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.budget import NO_LIMIT
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, fields_from_args, prices_from_args, with_base_url
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.interviews import InterviewBench
    from parley.analysis.card.protocol import Sections
    from parley.analysis.card.records import ConditionRecords
    from parley.analysis.card.remedies import Remedy
    from parley.analysis.human.readers import Source
    from parley.model.scenario import Scenario


Say = Callable[[str], object]
PROBE, BLOCKS, MOST = "attitude_labelled", 10, 8
FIXED = {
    "repetitions": "use --blocks",
    "llm": "use --llm",
    **dict.fromkeys(
        ("environment", "seats", "parties", "size", "default_agent", "cast", "order", "also", "forecast"),
        "the card sets this for each condition; leave it out",
    ),
}
"""Fields that are not the user's to set, and why."""
OWN = ("oracle", "pocket")
"""Speakers whose sentences the known-truth speaker grades."""


def audit_parser() -> Parser:
    """The options of `run.py audit`."""
    parser = Parser(
        "audit",
        "Measure what a model does to the opinions of agents that speak with it, compared with control conditions, and write its "
        "bias card\n(docs/card.md).",
        "audit --llm oracle\naudit --llm openai:gpt-4o-mini --topic racism --max-cost 5\naudit --llm oracle --dry-run",
        cli.topic("the four of the three-way debate"),
        cli.settings(),
        cli.model("the model whose card is made", required=True, parties=True),
        cli.budget(),
        cli.seed(None),
        cli.out("runs/audit-<time>"),
        cli.dry_run("print conditions, calls, and the smallest effect that can be found; ask nothing"),
    )
    add_option(parser, "--sections NAME[,NAME]", "sections of the card, by name (default: all)", default="")
    about = "the model that judges answers and statements (default: oracle where our own speakers speak, else none)"
    add_option(parser, "--judge SPEC", about)
    about = (
        "repeat the core of the card with each remedy: names of analysis/card/remedies.toml, or a FILE.toml "
        "(default: none; without a name: all)"
    )
    add_option(parser, "--remedies NAME[,NAME]", about, default="", nargs="?", const="all")
    add_option(parser, "--tuned DIR", "one more remedy: adapters per seat, from a folder of run.py train")
    add_option(parser, "--blocks N", "groups of people per batch, each in every condition", natural, BLOCKS)
    add_option(parser, "--batches N", f"most batches (default: 1; with --tight {MOST})", natural)
    about = "add batches until half of each confidence interval is at most X of its range, such as 0.02"
    add_option(parser, "--tight X", about, amount)
    add_option(parser, "--spread X", "SD between blocks, in points, assumed by --dry-run", amount, 0.5)
    add_option(parser, "--data FOLDER", "human data to compare with (docs/human.md)", Path)
    return parser


def audit(arguments: Sequence[str]) -> int:
    """`run.py audit --llm SPEC`: the bias card of a model."""
    options = audit_parser().parse_args(arguments)
    if options.dry_run:
        _planned(options)
    else:
        make_card(options, partial(print, flush=True))
    return 0


def make_card(options: argparse.Namespace, say: Say) -> Path:
    """Run the conditions of a card and write it; its folder. options: as of audit_parser.

    Errors: UserError, also where a budget is spent: the card then holds what there is.
    """
    from parley.analysis.card.protocol import run_conditions

    people = _people(options.data)
    first, chosen, batches, remedies = _design(options)
    bench = _bench(first, options, say)
    say(f"folder   {first.folder}")
    held, stopped = run_conditions(first, chosen, batches, options.tight, bench)
    if not held.records:
        raise UserError(stopped)
    held.people = people
    _written(first, chosen, held, stopped, say)
    if remedies and not stopped:
        stopped = _with_remedies(first, held, remedies, bench)
    if stopped:
        raise UserError(stopped)
    return first.folder


def _planned(options: argparse.Namespace) -> None:
    """`--dry-run`: conditions and calls."""
    from parley.analysis.card.protocol import plan_lines
    from parley.analysis.card.remedies import plan

    first, chosen, batches, remedies = _design(options)
    print("\n".join(plan_lines(first, chosen, batches, options.spread, prices_from_args(options, first.base))))
    if remedies:
        print("\n".join(plan(first, remedies, batches, chosen)))


def _design(options: argparse.Namespace) -> tuple[Batch, Sections, int, list[Remedy]]:
    """The first batch, the sections, the number of batches and the remedies. Errors: UserError."""
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.sections import sections

    chosen = sections([name.strip() for name in options.sections.split(",") if name.strip()])
    *models, named = with_base_url([*options.llm, options.judge or ""], options.base_url)
    base = _base(options, models, named)
    folder = options.out or Path("runs") / f"audit-{time.strftime('%Y%m%d-%H%M%S')}"
    first = Batch(base, folder, judge=_judge(named, base))
    return first, chosen, options.batches or (MOST if options.tight is not None else 1), _remedies(options, first)


def _base(options: argparse.Namespace, models: Sequence[str], judge: str) -> Scenario:
    """Whom is asked about what. Errors: UserError."""
    from parley.llm.backends import check_spec
    from parley.model.scenario import load_preset, parse_settings
    from parley.model.validation import check_topics

    if options.blocks < 2:
        raise UserError("--blocks must be at least 2; below 5 blocks in all there is no interval")
    given = parse_settings(options.set)
    if own := sorted(FIXED.keys() & given.keys()):
        raise UserError(f"--set {own[0]}={given[own[0]]}: {FIXED[own[0]]}")
    settings = {"probe": PROBE} | fields_from_args(options, models) | {"repetitions": options.blocks}
    if "llm" not in settings:
        raise UserError("--llm names a model for one party only: name the model whose card is made")
    base = load_preset("three_way").with_settings(settings)
    if base.surveys.survey != "rounds" or base.interventions or base.rounds < 1:
        raise UserError("a card needs survey=rounds, at least one round and no interventions of its own")
    for one in (base.models.llm, *base.llm_by_party.values(), *filter(None, [judge])):
        check_spec(one)
        check_topics(one, base.subject.all_topics)
    return base


def _people(data: Path | None) -> Sequence[Source] | None:
    """The human data in the folder; None: none were given. Errors: UserError."""
    from parley.analysis.human.report import read

    return read(data)[0] if data else None


def _judge(named: str, base: Scenario) -> str:
    """The spec of the judge: the known-truth speaker reads what our own speakers say; of others nobody does, unless told."""
    from parley.llm.backends import split_spec

    return named or ("oracle" if split_spec(base.models.llm)[0] in OWN else "")


def _remedies(options: argparse.Namespace, first: Batch) -> list[Remedy]:
    from parley.analysis.card.remedies import choose_remedies

    found = (
        choose_remedies(options.remedies, options.tuned, first.base.models.llm)
        if options.remedies or options.tuned
        else []
    )
    for one in found:
        one.batch(first)  # before anything is asked: a field may not go with the card's
    return found


def _bench(first: Batch, options: argparse.Namespace, say: Say) -> InterviewBench:
    """What asks, within a limit. Errors: UserError for a limit on cost where a price is not known."""
    from parley.analysis.card.interviews import InterviewBench
    from parley.analysis.card.protocol import audit_ledger, open_models

    asked = (first.base, first.judge) if first.judge else (first.base,)
    found = budgets_from_args(options, *asked)
    both = found[0], found[-1] if first.judge else NO_LIMIT
    return InterviewBench(open_models, bar, say, audit_ledger(first.folder, both), both)


def _written(first: Batch, chosen: Sections, held: ConditionRecords, stopped: str, say: Say) -> None:
    from parley.analysis.card import card, protocol

    header = next(iter(held.records.values()))[0].header
    made = card.Card(
        first,
        chosen,
        protocol.card_estimates(held, first, chosen),
        header,
        card.blocks_of(held),
        card.calls_of(held),
        stopped,
        card.rounded(held),
    )
    say(f"card     {card.write(made)}\nfigure   {first.folder / 'card.png'}")
    say("\n".join(sentence.replace("**", "") for sentence in (*made.warnings, *made.sentences)))


def _with_remedies(first: Batch, plain: ConditionRecords, remedies: Sequence[Remedy], bench: InterviewBench) -> str:
    """The core with each remedy beside that without; why it was stopped, if it was."""
    from parley.analysis.card.protocol import run_conditions
    from parley.analysis.card.remedies import core_conditions, differences, keeps_people, measure_remedy, write

    batches, found, stopped = max(len(plain.tables.get("three", ())), 1), [], ""
    if not keeps_people(plain, first):
        plain, stopped = run_conditions(first, core_conditions(), batches, None, bench)
    for one in remedies if not stopped else ():
        bench.say(f"remedy   {one.title}")
        held, stopped = run_conditions(one.batch(first), core_conditions(), batches, None, bench)
        if stopped:
            break
        found.append((one, measure_remedy(held, one.batch(first))))
    if found:
        header, table = plain.records["three"][0].header, differences(measure_remedy(plain, first), found)
        path = write(table, [one for one, _ in found], first, header, stopped)
        bench.say(f"remedies {path}\nfigure   {first.folder / 'remedies.png'}")
    return stopped


def compare_parser() -> Parser:
    """The options of `run.py compare`."""
    parser = Parser(
        "compare",
        "Compare bias cards: one page with a table and a figure, and differences where the cards used the same conditions.",
        "compare runs/a runs/b",
        cli.out("runs/compare-<time>"),
    )
    add_option(parser, "CARD", "folders of cards, or their card.json", Path, name="cards", nargs="+")
    return parser


def compare(arguments: Sequence[str]) -> int:
    """`run.py compare CARD CARD ...`: the cards of several models side by side."""
    options = compare_parser().parse_args(arguments)
    from parley.analysis.card.comparison import read_card, write_comparison

    if len(options.cards) < 2:
        raise UserError("name two cards or more: python run.py compare runs/a runs/b")
    out = options.out or Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
    print(
        f"page     {write_comparison([read_card(path) for path in options.cards], out)}\nfigure   {out / 'compare.png'}"
    )
    return 0
