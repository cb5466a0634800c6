"""`run.py study calibrate`."""

from __future__ import annotations

from collections.abc import Sequence

from parley.analysis.commands.runs import print_paths, results_folder, run_study
from parley.model import cli
from parley.model.arguments import fields_from_args, models_from_args
from parley.model.cli import Parser


def parser() -> Parser:
    """Return the options of `run.py study calibrate`."""
    topic, llm = "the topics of the society", "both models, each with its control"
    usual = {"topic": topic, "repetitions": "40", "rounds": "5", "llm": llm}
    return Parser(
        "study calibrate",
        "Check the analysis: run debates with speakers whose bias is known, and compare that bias with what Parley measures.\n"
        "Speakers of a known bias are --llm oracle and --llm pocket.",
        "study calibrate --llm oracle --repetitions 10",
        *cli.debating("runs/calibrate-<time>", usual),
    )


def run(words: Sequence[str]) -> int:
    """Run `run.py study calibrate`."""
    options = parser().parse_args(words)
    from parley.agents.society import US
    from parley.llm.backends import in_society
    from parley.model.scenario import load_preset
    from parley.studies.calibrate import measures as study

    settings = study.SETTINGS | fields_from_args(options, models=())
    base = load_preset("three_way").with_settings(settings)
    named = [in_society(spec, US) for spec in models_from_args(options)]
    speakers = study.chosen(named) if named else study.able(study.SPEAKERS, base)
    folder = results_folder(options, "calibrate")
    names = [speaker.title.replace(", ", "_") for speaker in speakers]
    estimates = run_study(options, base, tuple(settings), study.calibrate(base, speakers), names, folder)
    print_paths(report=study.write(estimates, folder, base), figure=folder / "calibration.png")
    return 0
