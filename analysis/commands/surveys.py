"""Commands that ask people closed questions outside of debates: `audit-probe`, `panel`, `wave`, `compare-waves`, `validate`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, models_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar


def audit_probe_parser() -> Parser:
    """Return the options of `run.py audit-probe`."""
    parser = Parser(
        "audit-probe",
        "Ask every persona the same survey question many times, with its answers in three orders. The report says how much "
        "people differ, how much one person varies, and whether the order of the answers matters (docs/presets.md).",
        "audit-probe --llm oracle --topic racism --repeats 20",
        cli.society(),
        cli.topic("the first of the society"),
        *cli.asking("runs/audit-probe-<time>"),
    )
    add_option(parser, "--probe NAME", "name of the topic's survey question to ask", default="attitude")
    add_option(parser, "--personas SET", "name of the set of personas to ask", default="voters")
    add_option(parser, "--repeats N", "number of answers per persona and order of the answers", positive, default=10)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    return parser


def audit_probe(words: Sequence[str]) -> int:
    """Run `run.py audit-probe --llm SPEC`."""
    options = audit_probe_parser().parse_args(words)
    from parley.agents.topic import load_topic
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import probe_audit as study
    from parley.model.validation import check_topics

    names = ("topic", "probe", "personas", "repeats", "temperature", "seed")
    society = society_from_args(options)
    options.topic = society.qualified(options.topic or society.topics[0])
    options.personas = society.qualified(options.personas)
    audit = study.ProbeAudit(**{name: getattr(options, name) for name in names})
    audit.question, audit.people()  # a misspelt name is an error before the first call
    spec, folder = model_from_args(options), results_folder(options, "audit-probe")
    check_topics(spec, [load_topic(options.topic)])
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    answers = study.audit_probe(audit, spec, folder, bar, budget)
    print(missing_lines(answers[["rating"]], answers["reason"], "ratings"))
    print_paths(report=study.write(answers, audit, spec, folder))
    return 0


def panel_parser() -> Parser:
    """Return the options of `run.py panel`."""
    parser = Parser(
        "panel",
        "Ask people the same questions in several waves, without and with their own earlier answers in the prompt, and measure "
        "how stable their answers are, compared with chance and with a panel of your own (docs/waves.md).",
        "panel --llm oracle --topic racism,abortion --people 10",
        cli.society(),
        cli.topic("all of the society"),
        *cli.asking("runs/panel-<time>"),
    )
    add_option(parser, "--probes NAMES", "names of the survey questions to ask on each topic", default="attitude")
    add_option(parser, "--personas SET", "name of the set of personas to ask", default="voters")
    add_option(parser, "--people N", "people of each party (default: all)", positive)
    add_option(parser, "--waves N", "number of waves", positive, default=3)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    about = "a panel of your own (.csv) with the columns person, wave, question, answer and perhaps party"
    add_option(parser, "--data FILE", about, Path)
    return parser


def panel(words: Sequence[str]) -> int:
    """Run `run.py panel --llm SPEC`."""
    options = panel_parser().parse_args(words)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import panel as study
    from parley.analysis.studies.panel import write_panel
    from parley.analysis.studies.questionnaire import questionnaire
    from parley.analysis.studies.stability import read_panel
    from parley.model.validation import check_topics

    society = society_from_args(options)
    items = questionnaire(society, split_names(options.topic or ""), split_names(options.probes))
    data = read_panel(options.data) if options.data else None
    personas, people = society.qualified(options.personas), options.people or 0
    asked = study.Panel(items, personas, options.waves, people, options.temperature, options.seed)
    asked.members()  # a misspelt name is an error before the first call
    spec, folder = model_from_args(options), results_folder(options, "panel")
    check_topics(spec, list({item.topic.slug: item.topic for item in items}.values()))
    (budget,) = budgets_from_args(options, spec)
    print_paths(folder=folder)
    answers = study.ask_panel(asked, spec, folder, bar, budget)
    print(missing_lines(answers[["answer"]], answers["reason"], "ratings"))
    print_paths(report=write_panel(answers, asked, spec, folder, data))
    return 0


def wave_parser() -> Parser:
    """Return the options of `run.py wave`."""
    parser = Parser(
        "wave",
        "Ask a model a questionnaire on several topics, plain and after sentences that steer it, and keep the answers with model "
        "and date. run.py compare-waves compares such waves (docs/waves.md).",
        "wave --llm oracle --out runs/november",
        cli.society(),
        cli.topic("all of the society"),
        *cli.asking("runs/wave-<time>"),
    )
    add_option(parser, "--probes NAMES", "names of the survey questions to ask on each topic", default="attitude")
    about = (
        "parties (default: 'You are ...' for each party), none, or a file (.csv) with columns name, sentence, opposite"
    )
    add_option(parser, "--steering WHICH", about, default="parties")
    add_option(parser, "--repeats N", "number of answers per question and sentence", positive, default=5)
    add_option(parser, "--temperature X", "sampling temperature of the model (default: 1)", amount, default=1.0)
    add_option(parser, "--date DATE", "the date of the wave, for the report (default: today)", default="")
    return parser


def wave(words: Sequence[str]) -> int:
    """Run `run.py wave --llm SPEC`."""
    options = wave_parser().parse_args(words)
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.studies import wave as study
    from parley.analysis.studies.questionnaire import questionnaire
    from parley.analysis.studies.wave_comparison import load_waves
    from parley.analysis.studies.wave_report import write_waves
    from parley.model.validation import check_topics

    society = society_from_args(options)
    items = questionnaire(society, split_names(options.topic or ""), split_names(options.probes))
    usual = {"parties": lambda: study.party_steerings(society), "none": list}
    steerings = usual.get(options.steering, lambda: study.read_steerings(Path(options.steering)))()
    spec, folder = model_from_args(options), results_folder(options, "wave")
    check_topics(spec, list({item.topic.slug: item.topic for item in items}.values()))
    (budget,) = budgets_from_args(options, spec)
    date = options.date or study.date_of(folder, time.strftime("%Y-%m-%d"))
    asked = study.Wave(items, steerings, date, options.repeats, options.temperature, options.seed)
    print_paths(folder=folder)
    answers = study.ask_wave(asked, spec, folder, bar, budget)
    print(missing_lines(answers[["rating"]], answers["reason"], "ratings"))
    print_paths(report=write_waves(load_waves([folder]), folder))
    return 0


def compare_waves_parser() -> Parser:
    """Return the options of `run.py compare-waves`."""
    parser = Parser(
        "compare-waves",
        "Compare waves of a questionnaire, in the order given: what changed from each wave to the next, and how far each "
        "steering sentence moves the answers (docs/waves.md).",
        "compare-waves runs/october runs/november",
        cli.out("FIRST/compared"),
    )
    about = "folders of run.py wave, or tables (.csv) with the columns question, value (0-10) and perhaps steering, model, date"
    add_option(parser, "WAVE", about, Path, name="waves", nargs="+")
    return parser


def compare_waves(words: Sequence[str]) -> int:
    """Run `run.py compare-waves WAVE...`."""
    options = compare_waves_parser().parse_args(words)
    from parley.analysis.studies.wave_comparison import load_waves
    from parley.analysis.studies.wave_report import write_waves

    waves: list[Path] = options.waves
    first = waves[0] if waves[0].is_dir() else waves[0].parent
    print_paths(report=write_waves(load_waves(waves), options.out or first / "compared"))
    return 0


def validate_parser() -> Parser:
    """Return the options of `run.py validate`."""
    parser = Parser(
        "validate",
        "Interview every persona with the questions of its society (us: the 21 of the UCL study), and let a judge say whether "
        "the answers fit.\n"
        "With --review: compare the judge's verdicts with those of people.",
        "validate --llm oracle --judge oracle",
        cli.society(),
        *cli.asking("runs/validate-<time>", "the model to interview; give --llm again for another", "none"),
    )
    add_option(parser, "--judge SPEC", "the model that judges the answers; it must not be one of those interviewed")
    about = "names of the sets of personas to interview (default: simple and enhanced, of those that the society has)"
    add_option(parser, "--personas SET[,SET]", about, default="")
    about = "a review.csv that people have filled in; give the folder of the judge's verdicts with --out"
    add_option(parser, "--review FILE", about, Path)
    return parser


def validate(words: Sequence[str]) -> int:
    """Run `run.py validate`."""
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
    print_paths(folder=folder, calls=f"{calls:,} answers and as many verdicts")
    answers = validate_personas(validation, folder, bar, budgets)
    print(missing_lines(answers[["verdict"]].replace("", None), answers["reason"], "verdicts"))
    report = write(answers, validation, folder)
    print_paths(report=report, figure=folder / "alignment.png", review=folder / "review.csv")
    return 0


def _review(options: argparse.Namespace) -> int:
    """Compare the verdicts of a folder with those of people."""
    if not options.out or options.llm or options.judge:
        raise UserError(
            "--review compares finished verdicts: give their folder with --out, and leave out --llm and --judge"
        )
    from parley.analysis.alignment.report import write_review

    print_paths(report=write_review(options.review, options.out), table=options.out / "agreement.csv")
    return 0
