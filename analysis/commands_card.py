"""The commands `run.py audit` (the bias card of a model) and `run.py compare` (cards side by side)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.llm.errors import UserError
from parley.model.commandline import Parser, amount, bar, natural, price
from parley.model.options import add_keep_going, addressed, prices

if TYPE_CHECKING:
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.interviews import InterviewBench
    from parley.analysis.card.protocol import Sections
    from parley.analysis.card.records import ConditionRecords
    from parley.analysis.card.remedies import Remedy
    from parley.analysis.human.table import Source
    from parley.llm.budget import Budget
    from parley.model.scenario import Scenario

PROBE, BLOCKS, MOST = "attitude_labelled", 10, 8
FIXED = {
    "repetitions": "use --blocks",
    "llm": "use --llm",
    **dict.fromkeys(
        ("environment", "seats", "parties", "size", "default_agent", "cast", "order", "also", "forecast"),
        "every condition of a card has its own",
    ),
}
"""Fields that are not the user's to set, and why."""
OWN = ("oracle", "pocket")
"""Speakers whose sentences the known-truth speaker grades."""


def audit(arguments: Sequence[str]) -> int:
    """`run.py audit --llm SPEC`: the bias card of a model."""
    parser = Parser(
        prog="run.py audit",
        description="Measure what a model does to a society made of it, beside null conditions, and write its bias card.",
    )
    _add(parser)
    options = parser.parse_args(arguments)
    from parley.analysis.card.budget import audit_limit
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.runner import run_conditions
    from parley.analysis.card.sections import sections

    chosen = sections([name.strip() for name in options.sections.split(",") if name.strip()])
    base, people = _base(options), _people(options.data)
    folder = options.out or Path("runs") / f"audit-{time.strftime('%Y%m%d-%H%M%S')}"
    first, most = Batch(base, folder, judge=_judge(options, base)), audit_limit(options.budget)
    batches = options.batches or (MOST if options.tight is not None else 1)
    remedies = _remedies(options, first)
    if options.dry_run:
        from parley.analysis.card.budget import plan_lines

        print("\n".join(plan_lines(first, chosen, batches, options.spread, prices(base, options))))
        if remedies:
            from parley.analysis.card.remedies import plan

            print("\n".join(plan(first, remedies, batches, chosen)))
        return 0
    print(f"folder   {folder}", flush=True)
    bench = _bench(first, options, most)
    held, stopped = run_conditions(first, chosen, batches, options.tight, bench)
    if not held.records:
        raise UserError(stopped)
    held.people = people
    _written(first, chosen, held, stopped)
    if remedies and not stopped:
        stopped = _with_remedies(first, held, remedies, bench)
    if stopped:
        raise UserError(stopped)
    return 0


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the model whose card it is")
    parser.add_argument("--base-url", metavar="URL[+URL]", help="where the model of --llm openai:MODEL is served")
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (the four of the three-way debate)")
    parser.add_argument("--sections", metavar="NAME[,NAME]", default="", help="names of analysis/card/sections (all)")
    parser.add_argument(
        "--judge", metavar="SPEC", help="who judges answers and lines (oracle of our own speakers, else nobody)"
    )
    parser.add_argument(
        "--remedies",
        metavar="NAME[,NAME]",
        nargs="?",
        const="all",
        default="",
        help="then the core again with each remedy, or those of a FILE.toml (analysis/card/remedies.toml; all)",
    )
    parser.add_argument("--tuned", metavar="DIR", help="a remedy more: adapters per seat, of a folder of run.py train")
    parser.add_argument(
        "--blocks",
        metavar="N",
        type=natural,
        default=BLOCKS,
        help=f"the same people under every condition, a batch ({BLOCKS})",
    )
    parser.add_argument("--batches", metavar="N", type=natural, help=f"batches at most (1; with --tight {MOST})")
    parser.add_argument(
        "--tight", metavar="X", type=amount, help="go on until half an interval is at most X of its range, such as 0.02"
    )
    parser.add_argument(
        "--budget", metavar="N", help="stop cleanly after 5000calls, 2Mtokens or 10money in this folder"
    )
    parser.add_argument(
        "--price", metavar="IN,OUT", type=price, help="money per million tokens in and out (llm/prices.toml knows some)"
    )
    parser.add_argument("--prices", metavar="FILE", type=Path, help="a table of your own, as llm/prices.toml")
    parser.add_argument(
        "--spread",
        metavar="X",
        type=amount,
        default=0.5,
        help="how much blocks are thought to differ, in points, for the plan (0.5)",
    )
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="human data to measure beside it (docs/human.md)")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], help="set any field of the scenario (repeatable)"
    )
    parser.add_argument("--seed", metavar="N", help="same seed, same card")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/audit-<time>); an unfinished one is resumed"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print conditions, calls and what can be found, and ask nothing"
    )
    add_keep_going(parser)


def _base(options: argparse.Namespace) -> Scenario:
    """Whom is asked about what. Errors: UserError."""
    from parley.llm.backends import check_spec
    from parley.model.scenario import load_preset, parse_settings
    from parley.model.validation import check_topics

    if options.blocks < 2:
        raise UserError("--blocks must be at least 2; below 5 blocks in all there is no interval")
    spec = addressed(options.llm, options.base_url)
    check_spec(spec)
    named = {"topics": options.topic, "seed": options.seed, "llm": spec, "repetitions": options.blocks}
    given = parse_settings(options.set)
    if own := sorted(FIXED.keys() & given.keys()):
        raise UserError(f"--set {own[0]}={given[own[0]]}: {FIXED[own[0]]}")
    settings = {"probe": PROBE} | given | {key: value for key, value in named.items() if value is not None}
    base = load_preset("three_way").with_settings(settings)
    if base.survey != "rounds" or base.interventions or base.rounds < 1:
        raise UserError("a card needs survey=rounds, at least one round and no interventions of its own")
    for one in (base.llm, *base.own_llms().values(), *filter(None, [options.judge])):
        check_topics(one, base.subjects())
    return base


def _people(data: Path | None) -> Sequence[Source] | None:
    """The human data in the folder; None: none were given. Errors: UserError."""
    from parley.analysis.human.report import read

    return read(data)[0] if data else None


def _judge(options: argparse.Namespace, base: Scenario) -> str:
    """The spec of the judge: the known-truth speaker reads what our own speakers say; of others nobody does, unless told."""
    from parley.llm.backends import check_spec, split_spec

    if options.judge:
        check_spec(options.judge)
        return str(options.judge)
    return "oracle" if split_spec(base.llm)[0] in OWN else ""


def _remedies(options: argparse.Namespace, first: Batch) -> list[Remedy]:
    from parley.analysis.card.remedies import choose_remedies

    found = (
        choose_remedies(options.remedies, options.tuned, first.base.llm) if options.remedies or options.tuned else []
    )
    for one in found:
        one.batch(first)  # before anything is asked: a field may not go with the card's
    return found


def _bench(first: Batch, options: argparse.Namespace, most: Budget) -> InterviewBench:
    """What asks, within a limit. Errors: UserError for a limit on money where a price is not known."""
    from parley.analysis.card.budget import audit_ledger, step_budgets
    from parley.analysis.card.interviews import InterviewBench
    from parley.analysis.card.runner import open_models
    from parley.llm.budget import FREE, load_prices

    judge = load_prices(first.judge, {}, options.prices)[""] if first.judge else FREE
    found = step_budgets(most, prices(first.base, options), judge)
    known = found[0]._replace(keep_going=options.keep_going), found[1]._replace(keep_going=options.keep_going)
    return InterviewBench(open_models, bar, partial(print, flush=True), audit_ledger(most, first.folder, known), known)


def _written(first: Batch, chosen: Sections, held: ConditionRecords, stopped: str) -> None:
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
    print(f"card     {card.write(made)}\nfigure   {first.folder / 'card.png'}")
    print("\n".join(sentence.replace("**", "") for sentence in (*made.warnings, *made.sentences)))


def _with_remedies(first: Batch, plain: ConditionRecords, remedies: Sequence[Remedy], bench: InterviewBench) -> str:
    """The core with each remedy beside that without; why it was stopped, if it was."""
    from parley.analysis.card.remedies import core_conditions, differences, keeps_people, measure_remedy
    from parley.analysis.card.remedies_report import write
    from parley.analysis.card.runner import run_conditions

    batches, found, stopped = max(len(plain.tables.get("three", ())), 1), [], ""
    if not keeps_people(plain, first):
        plain, stopped = run_conditions(first, core_conditions(), batches, None, bench)
    for one in remedies if not stopped else ():
        print(f"remedy   {one.title}", flush=True)
        held, stopped = run_conditions(one.batch(first), core_conditions(), batches, None, bench)
        if stopped:
            break
        found.append((one, measure_remedy(held, one.batch(first))))
    if found:
        header, table = plain.records["three"][0].header, differences(measure_remedy(plain, first), found)
        path = write(table, [one for one, _ in found], first, header, stopped)
        print(f"remedies {path}\nfigure   {first.folder / 'remedies.png'}")
    return stopped


def compare(arguments: Sequence[str]) -> int:
    """`run.py compare CARD CARD ...`: the cards of several models side by side."""
    parser = Parser(
        prog="run.py compare",
        description="Put bias cards side by side: one page, a table, a figure, differences where the batteries are alike.",
    )
    parser.add_argument("cards", metavar="CARD", type=Path, nargs="+", help="folders of cards, or their card.json")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/compare-<time>)")
    options = parser.parse_args(arguments)
    from parley.analysis.card.comparison import read_card, write_comparison

    if len(options.cards) < 2:
        raise UserError("name two cards or more: python run.py compare runs/a runs/b")
    out = options.out or Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
    print(
        f"page     {write_comparison([read_card(path) for path in options.cards], out)}\nfigure   {out / 'compare.png'}"
    )
    return 0
