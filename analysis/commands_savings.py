"""The command `run.py archetypes`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from parley.llm.errors import UserError
from parley.model.commandline import Parser, natural
from parley.model.options import add_limits, budgets_of


def archetypes(arguments: Sequence[str]) -> int:
    """`run.py archetypes`: the same debates with everybody asked and with shared answers."""
    parser = Parser(
        prog="run.py archetypes",
        description="Hold the same debates twice, asking everybody and with answers shared by people of one kind, and say what "
        "was saved and how far off the ratings are (docs/savings.md).",
    )
    parser.add_argument("--scenario", metavar="NAME", default="three_way", help="(three_way)")
    parser.add_argument("--size", metavar="N", type=natural, default=20, help="answers a kind (20)")
    parser.add_argument("--topic", metavar="SLUG[,SLUG]", help="topics (the scenario's)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic and group (the scenario's)")
    parser.add_argument("--rounds", metavar="N", help="rounds (the scenario's)")
    parser.add_argument("--seed", metavar="N", help="same seed, same record")
    parser.add_argument("--llm", metavar="NAME[:MODEL][,key=value]", help="the model (the scenario's)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="set any field (repeatable)")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/archetypes-<time>); an unfinished one is resumed"
    )
    add_limits(parser, "study's folder, by both")
    options = parser.parse_args(arguments)
    from parley.analysis.commands import hold_all
    from parley.analysis.studies.answer_sharing import ALL, SHARED, savings_headline, write_savings
    from parley.analysis.studies.answer_sharing import archetypes as study
    from parley.model.scenario import load_preset, parse_settings

    named = {"topics": options.topic} | {
        name: getattr(options, name) for name in ("repetitions", "rounds", "seed", "llm")
    }
    settings = parse_settings(options.set) | {key: value for key, value in named.items() if value is not None}
    base = load_preset(options.scenario).with_settings(settings)
    if base.survey == "never" or options.size < 2:
        raise UserError("archetypes share answers to surveys: there have to be surveys, and a --size of at least 2")
    folder = options.out or Path("runs") / f"archetypes-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {folder}", flush=True)
    names = [ALL.replace(" ", "_"), SHARED]
    limits = budgets_of(options, base, folder, names)
    found = hold_all(study(base, options.size), names, folder, tuple(settings), None, *limits)
    print(
        f"{savings_headline(found)}\nreport   {write_savings(found, folder, base, options.size)}\nfigure "
        f"  {folder / 'archetypes.png'}"
    )
    return 0
