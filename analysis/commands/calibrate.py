"""`run.py calibrate`: the check of the instruments on speakers whose bias is planted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from parley.model import cli
from parley.model.arguments import fields_from_args, models_from_args, study_budgets
from parley.model.cli import Parser


def calibrate_parser() -> Parser:
    """The options of `run.py calibrate`."""
    own = {
        "topic": "the four of the three-way debate",
        "repetitions": "40",
        "rounds": "5",
        "llm": "both, each with its control",
    }
    return Parser(
        "calibrate",
        "Check the instruments: run the same debates with speakers of a known bias, and compare it with what is measured.\n"
        "Speakers of a known bias are --llm oracle and --llm pocket.",
        "calibrate --llm oracle --repetitions 10",
        *cli.debating("runs/calibrate-<time>", own),
    )


def calibrate(arguments: Sequence[str]) -> int:
    """`run.py calibrate`: speakers whose bias is planted debate, and the instruments look for it."""
    options = calibrate_parser().parse_args(arguments)
    from parley.analysis.commands.runs import hold_all
    from parley.analysis.studies import calibrate as study
    from parley.model.scenario import load_preset

    speakers = study.chosen(models_from_args(options))
    settings = study.SETTINGS | fields_from_args(options, models=())
    base = load_preset("three_way").with_settings(settings)
    folder = options.out or Path("runs") / f"calibrate-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {folder}", flush=True)
    names = [speaker.title.replace(", ", "_") for speaker in speakers]
    limits = study_budgets(options, base, folder, names)
    found = hold_all(study.calibrate(base, speakers), names, folder, tuple(settings), None, *limits)
    print(f"report   {study.write(found, folder, base)}\nfigure   {folder / 'calibration.png'}")
    return 0
