"""The commands of this floor, `run.py analyse` and `run.py judge`: what they ask for and say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from llm.errors import UserError
from model.commandline import Parser, amount, bar, natural


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


def judge(arguments: Sequence[str]) -> int:
    """`run.py judge RUN --llm SPEC`: every statement of a run before a judge."""
    parser = Parser(
        prog="run.py judge",
        description="Have a model score every statement of a run, 1-7, on the topic's claim; and say how good a judge it is.",
        allow_abbrev=False,
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--llm", metavar="SPEC", required=True, help="the judge; any model, whatever the debaters are")
    parser.add_argument(
        "--calls", metavar="N", type=natural, default=3, help="times a statement, where no distribution is told (3)"
    )
    parser.add_argument("--temperature", metavar="X", type=amount, default=0.01, help="(0.01)")
    parser.add_argument(
        "--examples", metavar="N", type=natural, default=4, help="scored statements that it is shown (4)"
    )
    parser.add_argument("--tell", metavar="name,party", default="", help="what it is told of the speaker (nothing)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/judge)")
    options = parser.parse_args(arguments)
    from analysis.judge.bench import judged, scores
    from analysis.judge.report import write
    from analysis.judge.verdicts import Judging
    from analysis.load import load

    told = tuple(part.strip() for part in options.tell.split(",") if part.strip())
    judging = Judging(options.calls, options.temperature, options.examples, told, options.seed)
    tables, out = load(options.run), options.out or options.run / "judge"
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no statement to judge")
    found = judged(tables, out, options.llm, judging, bar)
    scores(found).to_csv(out / "scores.csv", index=False)
    print(
        f"verdicts {out / 'verdicts.csv'}\nscores   {out / 'scores.csv'}  (python run.py analyse {out / 'scores.csv'})"
    )
    print(f"report   {write(found, tables, out, options.llm, judging)}")
    return 0
