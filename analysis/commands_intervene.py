"""The command `run.py intervene`: the same debates with interventions and without."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from analysis.commands import hold_all
from model.commandline import Parser
from model.options import add_limits, add_scenario, budget, chosen


def intervene(arguments: Sequence[str]) -> int:
    """`run.py intervene`"""
    parser = Parser(
        prog="run.py intervene",
        description="Hold the same debates with interventions and without, from the same seed, and say what these changed "
        "(docs/interventions.md).",
    )
    add_scenario(parser)
    parser.set_defaults(scenario="intervention")
    parser.add_argument("--seed", metavar="N", help="same seed, same records")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/intervene-<time>); an unfinished one is resumed"
    )
    add_limits(parser, "study's folder")
    parser.add_argument(
        "--placebo",
        action="store_true",
        help="a third branch: the same timetable, in which what is said has no content",
    )
    options = parser.parse_args(arguments)
    from analysis.report import SUMMARY, write_report
    from analysis.studies.intervention import BRANCHES, PLACEBO, WITH, WITHOUT, intervention
    from analysis.studies.intervention_report import write
    from llm.journal import shared
    from llm.several import open_all
    from model.session import JOURNAL

    base, given = chosen(options)
    study = intervention(base, options.placebo)
    branches = (WITHOUT, PLACEBO, WITH) if options.placebo else BRANCHES
    out = options.out or Path("runs") / f"intervene-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    (limits,) = budget(options, base)
    begun = [
        branch for branch in branches if (out / branch / JOURNAL).exists()
    ]  # each has the journal of the one before
    ledger = shared(limits, [(out / branch / JOURNAL, limits) for branch in begun[-1:]])
    opened = open_all(base.llm, base.own_llms())
    found = hold_all(study, branches, out, given, opened, [limits] * len(branches), ledger)
    for branch in branches:
        if not (out / branch / SUMMARY).exists():
            write_report(out / branch)
    print(f"report   {write(found, out)}\nfigure   {out / 'intervention.png'}")
    return 0
