"""`run.py calibrate`: the check of the instruments on speakers whose bias is planted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from parley.model.commandline import Parser


def calibrate(arguments: Sequence[str]) -> int:
    """`run.py calibrate`: speakers whose bias is planted debate, and the instruments look for it."""
    parser = Parser(
        prog="run.py calibrate",
        description="Check the instruments: run the same debates with speakers of a planted bias, and look for that bias.",
    )
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (the four of the three-way debate)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic (40)")
    parser.add_argument("--rounds", metavar="N", help="rounds (5)")
    parser.add_argument("--seed", metavar="N", help="same seed, same record")
    parser.add_argument("--speakers", metavar="NAME[,NAME]", help="oracle, pocket: each with its control (both)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/calibrate-<time>); an unfinished one is resumed"
    )
    options = parser.parse_args(arguments)
    from parley.analysis.commands import hold_all
    from parley.analysis.studies import calibrate as study
    from parley.model.scenario import load_preset

    named = {
        "topics": options.topic,
        "repetitions": options.repetitions,
        "rounds": options.rounds,
        "seed": options.seed,
    }
    settings = study.SETTINGS | {key: value for key, value in named.items() if value is not None}
    base = load_preset("three_way").with_settings(settings)
    speakers = study.chosen(options.speakers)
    folder = options.out or Path("runs") / f"calibrate-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {folder}", flush=True)
    names = [speaker.title.replace(", ", "_") for speaker in speakers]
    found = hold_all(study.calibrate(base, speakers), names, folder, tuple(settings))
    print(f"report   {study.write(found, folder, base)}\nfigure   {folder / 'calibration.png'}")
    return 0
