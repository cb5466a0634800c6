"""The commands that go with presets of a source each (docs/presets.md): `run.py rhetoric`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm.errors import UserError
from model.commandline import Parser, bar, natural


def rhetoric(arguments: Sequence[str]) -> int:
    """`run.py rhetoric RUN --llm SPEC`: what every utterance of a run appeals to."""
    parser = Parser(
        prog="run.py rhetoric",
        description="Have a model say of every utterance of a run whether it appeals to reason, feeling, character; and how far "
        "those who heard it moved, where they were asked (--set also=attitude:turns).",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the judge; any model, whatever the debaters are")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/rhetoric)")
    options = parser.parse_args(arguments)
    from analysis.load import load
    from analysis.rhetoric.report import write
    from analysis.rhetoric.tags import tagged

    tables, out = load(options.run), options.out or options.run / "rhetoric"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no utterance to tag")
    found = tagged(tables, out, options.llm, options.seed, bar)
    print(f"tags     {out / 'tags.csv'}\nreport   {write(found, tables, out, options.llm)}")
    return 0
