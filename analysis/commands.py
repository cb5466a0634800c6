"""The command of this floor, `run.py analyse`: what it asks for and says."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from model.commandline import Parser


def analyse(arguments: Sequence[str]) -> int:
    """`run.py analyse FILE`: a table of scores by single statements."""
    parser = Parser(
        prog="run.py analyse",
        description="Compare conditions in any CSV of scores: topic, condition, run, agent, statement, score (1-7).",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the CSV")
    parser.add_argument(
        "--mode",
        choices=("run", "ucl"),
        default="run",
        help="ucl: the procedure of the UCL study, smoothing and all (run)",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/analyse-<time>)")
    options = parser.parse_args(arguments)
    from analysis.scores.report import write
    from analysis.scores.table import read

    scores = read(options.file)
    out = options.out or Path("runs") / f"analyse-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"report   {write(scores, out, options.mode == 'ucl', options.file.name)}\nfigure   {out / 'scores.png'}")
    return 0
