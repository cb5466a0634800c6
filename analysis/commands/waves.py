"""The commands `run.py wave` and `run.py compare-waves`: the same questionnaire on several models and dates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar


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
