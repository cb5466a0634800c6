"""Commands that ask people questions outside of debates: `questionnaire` and `validate`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.agents.own_topic import split_topics
from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, models_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from parley.analysis.studies.questionnaire import Questionnaire


REPEATS = {"wave": 5, "panel": 3, "orders": 10}
OF_KIND = {
    "steering": ("wave",),
    "date": ("wave",),
    "data": ("panel",),
    "people": ("panel", "orders"),
    "personas": ("panel", "orders"),
}
"""Options that only some kinds of questionnaire have."""


def questionnaire_parser() -> Parser:
    """Return the options of `run.py study questionnaire`."""
    parser = Parser(
        "study questionnaire",
        "Ask survey questions outside of debates, several times, and measure what changes the answers (docs/personas.md).",
        "study questionnaire wave --llm oracle --out runs/november\nstudy questionnaire panel --llm oracle --topic "
        "racism,abortion --people 10\nstudy questionnaire orders --llm oracle --topic racism --repeats 20",
        cli.society(),
        cli.topic("all topics of the society; with orders: its first topic"),
        *cli.asking("runs/<kind>-<time>"),
    )
    about = (
        "wave: ask the model without a persona on one date, with and without steering sentences; run.py "
        "compare compares waves\n"
        "panel: ask personas repeatedly, with and without their earlier answers in the prompt: how "
        "stable are the answers?\n"
        "orders: show the possible answers of a question in three orders: how much do personas differ, "
        "and how much does one persona vary?"
    )
    add_option(parser, "KIND", about, choices=tuple(REPEATS))
    add_option(parser, "--probes NAMES", "names of the survey questions to ask on each topic", default="attitude")
    about = "how often each person answers each question; with panel: the number of waves (default: 5; panel: 3; orders: 10)"
    add_option(parser, "--repeats N", about, positive)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    add_option(parser, "--personas SET", "panel, orders: name of the set of personas to ask (default: voters)")
    add_option(parser, "--people N", "panel, orders: number of people of each party (default: all)", positive)
    about = (
        "wave: which steering sentences to use\n"
        "parties: 'You are ...' for each party (default)\n"
        "none: no steering sentences\n"
        "FILE.csv: a table with the columns name, sentence and opposite"
    )
    add_option(parser, "--steering WHICH", about)
    add_option(parser, "--date DATE", "wave: date of the wave in the report (default: today)")
    about = (
        "panel: a .csv table of your own, with the columns person, wave, question and answer; the column "
        "party is optional"
    )
    add_option(parser, "--data FILE", about, Path)
    return parser


def questionnaire(words: Sequence[str]) -> int:
    """Run `run.py study questionnaire KIND --llm SPEC`."""
    options = questionnaire_parser().parse_args(words)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies.stability import read_panel
    from parley.model.validation import check_topics

    for name, kinds in OF_KIND.items():
        if getattr(options, name) is not None and options.kind not in kinds:
            raise UserError(
                f"--{name} does not apply to {options.kind} (only to {' and '.join(kinds)}): leave out --{name}"
            )
    data = read_panel(options.data) if options.data else None
    folder = results_folder(options, options.kind)
    questions = _questionnaire(options, folder)
    spec = model_from_args(options)
    check_topics(spec, list({item.topic.slug: item.topic for item in questions.items}.values()))
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    answers = questions.ask(spec, folder, bar, budget)
    print(missing_lines(answers[["rating"]], answers["reason"], "ratings"))
    print_paths(report=_write(answers, questions, spec, folder, data))
    return 0


def _questionnaire(options: argparse.Namespace, folder: Path) -> Questionnaire:
    """Return what the options describe. Errors: UserError, before the first call."""
    from parley.analysis.respondents import of_each_party
    from parley.analysis.studies import panel, probe_audit, wave
    from parley.analysis.studies.questionnaire import ORDERS, WAVE, Condition, Questionnaire, items_of

    society, kind = society_from_args(options), options.kind
    topics = split_topics(options.topic or (society.topics[0] if kind == ORDERS else ""))
    items = items_of(society, topics, split_names(options.probes))
    repeats = options.repeats or REPEATS[kind]
    if kind == WAVE:
        usual = {"parties": lambda: wave.party_steerings(society), "none": list}
        steering = options.steering or "parties"
        sentences = usual.get(steering, lambda: wave.read_steerings(Path(steering)))()
        date = options.date or wave.date_of(folder, time.strftime("%Y-%m-%d"))
        conditions = (Condition(wave.PLAIN), *sentences)
        return Questionnaire(kind, items, conditions, (), repeats, options.temperature, options.seed, date)
    conditions = probe_audit.CONDITIONS if kind == ORDERS else panel.CONDITIONS
    people = of_each_party(society.qualified(options.personas or "voters"), options.people or 0)
    return Questionnaire(kind, items, conditions, people, repeats, options.temperature, options.seed)


def _write(answers: pd.DataFrame, questions: Questionnaire, spec: str, folder: Path, data: pd.DataFrame | None) -> Path:
    """Write the report of a kind of questionnaire; return its path."""
    from parley.analysis.studies.panel import write_panel
    from parley.analysis.studies.probe_audit import write_orders
    from parley.analysis.studies.questionnaire import ORDERS, WAVE
    from parley.analysis.studies.wave_comparison import load_waves
    from parley.analysis.studies.wave_report import write_waves

    if questions.kind == WAVE:
        return write_waves(load_waves([folder]), folder)
    if questions.kind == ORDERS:
        return write_orders(answers, questions, spec, folder)
    return write_panel(answers, questions, spec, folder, data)


def validate_parser() -> Parser:
    """Return the options of `run.py study validate`."""
    parser = Parser(
        "study validate",
        "Interview every persona with the questions of its society (us: the 21 questions of the UCL "
        "study), and let a judge say whether the answers fit.\n"
        "With --review, the command compares the judge's verdicts with people's verdicts.",
        "study validate --llm oracle --judge oracle",
        cli.society(),
        *cli.asking("runs/validate-<time>", "the model to interview; give --llm again for another", "none"),
    )
    add_option(
        parser, "--judge SPEC", "the model that judges the answers, which must differ from the interviewed models"
    )
    about = (
        "names of the sets of personas to interview (default: the sets simple and enhanced, if the society has them)"
    )
    add_option(parser, "--personas SET[,SET]", about, default="")
    about = "the file review.csv, filled in by people; --out must be the folder of the judge's verdicts"
    add_option(parser, "--review FILE", about, Path)
    return parser


def validate(words: Sequence[str]) -> int:
    """Run `run.py study validate`."""
    options = validate_parser().parse_args(words)
    if options.review:
        return _review(options)
    if not options.llm or not options.judge:
        raise UserError(
            "no "
            f"{'model to interview was given: add --llm SPEC' if not options.llm else 'judge was given: add --judge SPEC'}"
        )
    from parley.analysis.alignment.persona_validation import Validation, interview_items, validate_personas
    from parley.analysis.alignment.report import write
    from parley.analysis.journaled_calls import missing_lines

    *models, judge = models_from_args(options, "judge")
    society = society_from_args(options)
    usual = [name for name in ("simple", "enhanced") if name in society.persona_sets]
    named = tuple(split_names(options.personas) or usual)
    validation = Validation(tuple(models), judge, named, options.seed, society.name)
    calls, budgets = len(interview_items(validation)) * len(models), budgets_from_args(options, *models, judge)
    folder = results_folder(options, "validate")
    print_paths(folder=folder, calls=f"{calls:,} answers of the models, and {calls:,} verdicts of the judge")
    answers = validate_personas(validation, folder, bar, budgets)
    print(missing_lines(answers[["verdict"]].replace("", None), answers["reason"], "verdicts"))
    report = write(answers, validation, folder)
    print_paths(report=report, figure=folder / "alignment.png", review=folder / "review.csv")
    return 0


def _review(options: argparse.Namespace) -> int:
    """Compare the verdicts of a folder with those of people."""
    if not options.out or options.llm or options.judge:
        raise UserError(
            "--review needs a judge's earlier verdicts: name the folder of the verdicts with --out, and leave out "
            "--llm and --judge"
        )
    from parley.analysis.alignment.report import write_review

    print_paths(report=write_review(options.review, options.out), table=options.out / "agreement.csv")
    return 0
