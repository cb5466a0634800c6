"""The command `run.py audit`, which makes the bias card of a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import results_folder, split_names
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
    from parley.analysis.qualify.kept import Qualification
    from parley.model.scenario import Scenario

Say = Callable[[str], object]
BLOCKS, MOST = 10, 8
PROBE = "attitude_labelled"
"""The survey question of Parley's own speakers, whose native scale it is; other models are asked `attitude`, as in all runs."""
FIXED = {
    "repetitions": "use --blocks",
    "llm": "use --llm",
    **dict.fromkeys(
        ("environment", "seats", "parties", "size", "default_agent", "cast", "order", "also", "forecast"),
        "the bias card sets this field in each condition; leave it out",
    ),
}
"""Fields that a user cannot set, and why."""
OWN = ("oracle", "pocket")
"""Speakers whose sentences the oracle can grade, so that it is their judge by default."""


def audit_parser() -> Parser:
    """Return the options of `run.py audit`."""
    parser = Parser(
        "audit",
        "Measure how a model changes the opinions of the agents it plays, compared with control conditions, and write the "
        "bias card of the model\n(docs/card.md).",
        "audit --llm oracle\naudit --llm openai:gpt-4o-mini --topic racism --max-cost 5\naudit --llm oracle --dry-run",
        cli.society(),
        cli.topic("the topics of the society"),
        cli.settings(),
        cli.model("the model whose card is made", required=True, parties=True),
        cli.workers(),
        cli.budget(),
        cli.seed(None),
        cli.out("runs/audit-<time>"),
        cli.dry_run(
            "print the conditions, the calls and the smallest detectable effect, and stop without calling a model"
        ),
    )
    add_option(
        parser, "--sections NAME[,NAME]", "names of the sections that the card contains (default: all)", default=""
    )
    about = "the model that judges answers and statements (default: oracle for Parley's own speakers, otherwise none)"
    add_option(parser, "--judge SPEC", about)
    about = (
        "ways to reduce the bias (remedies); the measurement is repeated with each remedy. Give names "
        "from analysis/card/remedies.toml, or a FILE.toml (default: none). --remedies without a name "
        "tries all remedies"
    )
    add_option(parser, "--remedies NAME[,NAME]", about, default="", nargs="?", const="all")
    add_option(parser, "--tuned DIR", "add fine-tuned adapters as a remedy: a folder written by run.py train")
    add_option(
        parser,
        "--blocks N",
        "number of groups of personas per batch; each group debates in every condition",
        natural,
        BLOCKS,
    )
    add_option(parser, "--batches N", f"maximum number of batches (default: 1; with --tight {MOST})", natural)
    about = (
        "add batches until each 95%% confidence interval extends at most X of the scale to each side; "
        "for example, 0.02 is 0.2 of 10 points"
    )
    add_option(parser, "--tight X", about, amount)
    add_option(
        parser,
        "--spread X",
        "with --dry-run: assumed standard deviation of ratings between groups, in points",
        amount,
        0.5,
    )
    add_option(parser, "--no-qualify", cli.NO_QUALIFY, action="store_true")
    add_option(
        parser, "--data FOLDER", "folder with human data to compare with (default: none; docs/personas.md)", Path
    )
    return parser


def audit(words: Sequence[str]) -> int:
    """Run `run.py audit --llm SPEC`."""
    options = audit_parser().parse_args(words)
    if options.dry_run:
        _print_plan(options)
    else:
        make_card(options, partial(print, flush=True))
    return 0


def make_card(options: argparse.Namespace, say: Say) -> Path:
    """Run the conditions of a card, write it, and return its folder. options: those of audit_parser.

    Errors: UserError, also where a budget is spent; the card then holds the conditions that are finished.
    """
    from parley.analysis.card.derivation import begin_design
    from parley.analysis.card.protocol import run_conditions
    from parley.analysis.human.report import read
    from parley.analysis.qualify.before_run import qualify_before
    from parley.llm.backends import needs_qualification, open_spec
    from parley.model.scenario_run import lock_folder

    people = read(options.data)[0] if options.data else None
    first, sections, batches, remedies = design(options)
    bench = open_bench(first, options, say)
    say(f"folder   {first.folder}")
    with lock_folder(first.folder):
        begin_design(first, sections)
        if not options.no_qualify and needs_qualification(first.base.models.llm):
            model = open_spec(first.base.models.llm)
            result = qualify_before(first.base, model, first.folder, bar, bench.budgets[0], bench.ledger, say)
            first = _asked_as(first, result, options)
        records, stopped = run_conditions(first, sections, batches, options.tight, bench)
        if not records.records:
            raise UserError(stopped)
        records.people = people
        _write_card(first, sections, records, stopped, say)
        if remedies and not stopped:
            stopped = _run_remedies(first, sections, records, remedies, bench)
        if stopped:
            raise UserError(stopped)
    return first.folder


def _asked_as(first: Batch, result: Qualification | None, options: argparse.Namespace) -> Batch:
    """Return the batch asked in the way that serves its model; a way that the user set stays."""
    from parley.analysis.qualify.before_run import ASKED, asked_in
    from parley.model.scenario import parse_settings

    if result is None or ASKED in parse_settings(options.set):
        return first
    return replace(first, base=asked_in(first.base, result))


def _print_plan(options: argparse.Namespace) -> None:
    """Print the conditions and calls of --dry-run."""
    from parley.analysis.card.protocol import plan_lines
    from parley.analysis.card.remedies import plan
    from parley.analysis.qualify.before_run import known_result, planned_checks

    first, sections, batches, remedies = design(options)
    checks = planned_checks([first.base], options.no_qualify, first.folder)
    if not options.no_qualify:
        first = _asked_as(first, known_result(first.base, first.folder), options)
    prices = prices_from_args(options, first.base)
    print("\n".join(plan_lines(first, sections, batches, options.spread, prices, checks=checks)))
    if checks:
        print(
            "  the check also chooses how to ask; a model that is asked in phrases needs fewer calls than "
            "this plan says"
        )
    if remedies:
        print("\n".join(plan(first, remedies, batches, sections)))


def design(options: argparse.Namespace) -> tuple[Batch, Sections, int, list[Remedy]]:
    """Return the first batch, the sections, the number of batches and the remedies. Errors: UserError."""
    from parley.analysis.card.conditions import Batch
    from parley.analysis.card.protocol import check_people
    from parley.analysis.card.remedies import choose_remedies
    from parley.analysis.card.sections import sections
    from parley.llm.backends import in_society, split_spec

    chosen = sections(split_names(options.sections))
    *models, judge = with_base_url([*options.llm, options.judge or ""], options.base_url)
    base = base_from_args(options, models, judge)
    judge = judge or ("oracle" if split_spec(base.models.llm)[0] in OWN else "")
    judge = in_society(judge, base.subject.society) if judge else ""
    first = Batch(base, results_folder(options, "audit"), judge=judge)
    remedies = []
    if options.remedies or options.tuned:
        remedies = choose_remedies(options.remedies, options.tuned, base.models.llm, base.society)
    if base.people.personas not in base.society.persona_sets:
        check_people(first, chosen)  # shipped people are enough
    for remedy in remedies:
        remedy.batch(first)  # a field that the card sets too is an error before the first call
    return first, chosen, options.batches or (MOST if options.tight is not None else 1), remedies


def base_from_args(options: argparse.Namespace, models: Sequence[str], judge: str = "") -> Scenario:
    """Return the scenario that all conditions of a card share. judge: its spec; empty: there is none. Errors: UserError."""
    from parley.llm.backends import check_spec, in_society, needs_qualification
    from parley.model.scenario import load_preset, parse_settings
    from parley.model.validation import check_topics

    if options.blocks < 2:
        raise UserError("--blocks must be at least 2 (confidence intervals need at least 5 blocks over all batches)")
    given = parse_settings(options.set)
    if fixed := sorted(FIXED.keys() & given.keys()):
        raise UserError(f"--set {fixed[0]}={given[fixed[0]]}: {FIXED[fixed[0]]}")
    settings = fields_from_args(options, models) | {"repetitions": options.blocks}
    if "llm" not in settings:
        raise UserError(
            "--llm names a model for one party only: give also the model to audit, --llm SPEC without PARTY="
        )
    if not needs_qualification(settings["llm"]):
        settings = {"probe": PROBE} | settings
    base = load_preset("three_way").with_settings(settings)
    if base.surveys.survey != "rounds" or base.interventions or base.rounds < 1:
        raise UserError(
            "a bias card needs --set survey=rounds, at least one round (--rounds 1) and no interventions: remove "
            "the setting that differs"
        )
    for spec in filter(None, (base.models.llm, *base.llm_by_party.values(), judge)):
        check_spec(spec)
        check_topics(in_society(spec, base.subject.society), base.subject.all_topics)
    return base


def open_bench(first: Batch, options: argparse.Namespace, say: Say) -> InterviewBench:
    """Return what asks the models, within the limits. Errors: UserError for a limit on cost without a known price."""
    from parley.analysis.card.interviews import InterviewBench
    from parley.analysis.card.protocol import audit_ledger, open_models

    budget, *judge_budget = budgets_from_args(options, first.base, *([first.judge] if first.judge else []))
    budgets = budget, judge_budget[0] if judge_budget else NO_LIMIT
    return InterviewBench(open_models, bar, say, audit_ledger(first.folder, budgets), budgets)


def _write_card(first: Batch, sections: Sections, records: ConditionRecords, stopped: str, say: Say) -> None:
    from parley.analysis.card import card, derivation

    made = derivation.make_card(first, sections, records, stopped)
    derivation.write_design(first, sections, records, stopped)
    say(f"card     {card.write(made)}\nfigure   {first.folder / 'card.png'}")
    say("\n".join(f"{verdict.question} {verdict.answer}" for verdict in made.verdicts))
    say("\n".join(sentence.replace("**", "") for sentence in (*made.warnings, *made.sentences)))


def _run_remedies(
    first: Batch, sections: Sections, records: ConditionRecords, remedies: Sequence[Remedy], bench: InterviewBench
) -> str:
    """Run the core of the card with each remedy, and compare it with the card; return why it stopped, if it did."""
    from parley.analysis.card.derivation import write_design
    from parley.analysis.card.protocol import run_conditions
    from parley.analysis.card.remedies import Remedies, core_conditions, has_core, write

    plain, batches, stopped = records, max(len(records.tables.get("three", ())), 1), ""
    measured: list[tuple[Remedy, ConditionRecords]] = []
    if not has_core(plain, first):
        plain, stopped = run_conditions(first, core_conditions(), batches, None, bench)
    for remedy in remedies if not stopped else ():
        bench.say(f"remedy   {remedy.title}")
        remedy_records, stopped = run_conditions(remedy.batch(first), core_conditions(), batches, None, bench)
        if stopped:
            break
        measured.append((remedy, remedy_records))
    if measured:
        tried = Remedies(plain, measured, stopped)
        write_design(first, sections, records, "", tried)
        bench.say(f"remedies {write(first, tried)}\nfigure   {first.folder / 'remedies.png'}")
    return stopped
