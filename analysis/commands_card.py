"""The commands `run.py audit` (the bias card of a model) and `run.py compare` (cards side by side)."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from llm.errors import UserError
from model.commandline import Parser, Progress, amount, natural, price, told
from model.options import addressed, prices

if TYPE_CHECKING:
    from analysis.card.battery import Sections, Step
    from analysis.card.conditions import Batch
    from llm.limits import Ledger, Price
    from llm.request import Backend
    from model.scenario import Scenario

PROBE, BLOCKS, MOST = "attitude_labelled", 10, 8


def audit(arguments: Sequence[str]) -> int:
    """`run.py audit --llm SPEC`: the bias card of a model."""
    parser = Parser(
        prog="run.py audit",
        description="Measure what a model does to a society made of it, beside null conditions, and write its bias card.",
    )
    _add(parser)
    options = parser.parse_args(arguments)
    from analysis.card.conditions import Batch
    from analysis.card.sections import sections

    chosen = sections([name.strip() for name in options.sections.split(",") if name.strip()])
    base = _base(options)
    folder = options.out or Path("runs") / f"audit-{time.strftime('%Y%m%d-%H%M%S')}"
    first, paid = Batch(base, folder), prices(base, options).get("")
    batches = options.batches or (MOST if options.tight is not None else 1)
    if options.dry_run:
        from analysis.card.plan import lines

        print("\n".join(lines(first, chosen, batches, options.spread, paid)))
        return 0
    print(f"folder   {folder}", flush=True)
    return _held(first, chosen, batches, options.tight, _ledger(options.budget, paid, folder), paid)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the model whose card it is")
    parser.add_argument("--base-url", metavar="URL[+URL]", help="where the model of --llm openai:MODEL is served")
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (the four of the three-way debate)")
    parser.add_argument(
        "--sections", metavar="NAME[,NAME]", default="", help="bias, pull, nulls, instrument, foresight (all)"
    )
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


def _base(options: argparse.Namespace) -> Scenario:
    """Whom is asked about what. Errors: UserError."""
    from llm.backends import check_spec
    from model.scenario import load_preset, parse_settings

    if options.blocks < 2:
        raise UserError("--blocks must be at least 2: of one block there is no interval")
    spec = addressed(options.llm, options.base_url)
    check_spec(spec)
    named = {"topics": options.topic, "seed": options.seed, "llm": spec, "repetitions": options.blocks}
    settings = (
        {"probe": PROBE}
        | parse_settings(options.set)
        | {key: value for key, value in named.items() if value is not None}
    )
    base = load_preset("three_way").with_settings(settings)
    if base.survey != "rounds" or base.interventions or base.rounds < 1:
        raise UserError("a card needs survey=rounds, at least one round and no interventions of its own")
    return base


def _ledger(budget: str | None, paid: Price | None, folder: Path) -> Ledger | None:
    """What may be spent in the folder, less what was. Errors: UserError."""
    from analysis.card.plan import read_budget
    from llm.journal import spent_in
    from llm.limits import Budget, Ledger
    from model.session import JOURNAL

    if not budget:
        return None
    unit, most = read_budget(budget)
    if unit == "money" and paid is None:
        raise UserError(
            "--budget in money needs --price IN,OUT, money per million tokens: no price is known for this model"
        )
    limits = {"calls": Budget(calls=int(most)), "tokens": Budget(tokens=int(most)), "money": Budget(cost=most)}
    ledger = Ledger(limits[unit])
    for journal in sorted(folder.glob(f"batch-*/*/{JOURNAL}")):
        calls, used = spent_in(journal)
        ledger.spend(calls, sum(map(sum, used.values())), Budget(prices={"": paid} if paid else {}).money(used))
    return ledger


def _held(
    first: Batch, chosen: Sections, batches: int, tight: float | None, ledger: Ledger | None, paid: Price | None
) -> int:
    """Hold what the battery wants, as far as the budget goes, then write the card."""
    from analysis.card import battery, card
    from analysis.card.held import Held
    from analysis.load import load

    study, held, stopped = battery.audit(first, chosen, batches, tight), Held(), ""
    try:
        step = next(study)
        while True:
            if stopped := _sit(step, ledger, paid):
                break
            tables = load(step.folder)
            held.add(step.condition, tables)
            step = study.send(tables)
    except StopIteration:
        pass
    if not held.records:
        raise UserError(stopped)
    header = next(iter(held.records.values()))[0].header
    made = card.Card(
        first,
        chosen,
        battery.claims(held, first, chosen),
        header,
        card.blocks_of(held),
        card.calls_of(held),
        stopped,
        card.rounded(held),
    )
    print(f"card     {card.write(made)}\nfigure   {first.folder / 'card.png'}")
    print("\n".join(sentence.replace("**", "") for sentence in made.sentences))
    if stopped:
        raise UserError(stopped)
    return 0


def _sit(step: Step, ledger: Ledger | None, paid: Price | None) -> str:
    """Hold one condition; why it was stopped, if it was."""
    from llm.limits import Budget
    from model.session import RECORD, Ask, sit, whole

    task = Ask(step.scenario, step.folder, budget=Budget(prices={"": paid} if paid else {}), ledger=ledger)
    backend = None if whole(step.folder / RECORD) else _model(step.scenario)
    with Progress(step.scenario) as bar:
        outcome = sit(task, bar.calls, bar.step, backend)
    print(f"{step.condition}: {told(step.scenario, step.folder, outcome)}", flush=True)
    return outcome.stopped or ""


def _model(scenario: Scenario) -> Backend:
    """The scenario's models, of which each is opened once for all conditions."""
    from llm.backends import split_spec
    from llm.several import Several

    first = _opened(scenario.llm)
    if not scenario.llms or split_spec(scenario.llm)[0] == "recorded":
        return first
    return Several(first, {voice: _opened(spec) for voice, spec in scenario.own_llms().items()})


@cache
def _opened(spec: str) -> Backend:
    from llm.backends import open_spec

    return open_spec(spec)


def compare(arguments: Sequence[str]) -> int:
    """`run.py compare CARD CARD ...`: the cards of several models side by side."""
    parser = Parser(
        prog="run.py compare",
        description="Put bias cards side by side: one page, a table, a figure, differences where the batteries are alike.",
    )
    parser.add_argument("cards", metavar="CARD", type=Path, nargs="+", help="folders of cards, or their card.json")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/compare-<time>)")
    options = parser.parse_args(arguments)
    from analysis.card.compare import read, write

    if len(options.cards) < 2:
        raise UserError("name two cards or more: python run.py compare runs/a runs/b")
    out = options.out or Path("runs") / f"compare-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"page     {write([read(path) for path in options.cards], out)}\nfigure   {out / 'compare.png'}")
    return 0
