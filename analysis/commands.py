"""The commands `run.py analyse`, `human`, `judge`, `report` and `validate`, and what drives a study."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError
from parley.model.commandline import Parser, Progress, amount, bar, natural, told
from parley.model.options import add_limits, budget_of

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.llm.budget import Budget, Ledger
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario


def analyse(arguments: Sequence[str]) -> int:
    """`run.py analyse FILE`: a table of scores by single statements."""
    parser = Parser(
        prog="run.py analyse",
        description="Compare conditions in any CSV of scores: topic, condition, run, agent, statement, score (1-7).",
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the CSV")
    parser.add_argument(
        "--mode",
        choices=("run", "ucl"),
        default="run",
        help="ucl: the procedure of the UCL study, smoothing and all (run)",
    )
    parser.add_argument(
        "--smoothed",
        action="store_true",
        help="the scores are smoothed already (also found by itself where they were thirds)",
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (runs/analyse-<time>)")
    options = parser.parse_args(arguments)
    from parley.analysis.judge.quality import warning_of
    from parley.analysis.scores.report import ReportedTest, write
    from parley.analysis.scores.table import read
    from parley.analysis.scores.ucl import is_smoothed

    scores = read(options.file)
    out = options.out or Path("runs") / f"analyse-{time.strftime('%Y%m%d-%H%M%S')}"
    warned = warning_of(options.file.parent)
    told = ReportedTest([f"> {warned}"] if warned else [])
    report = write(scores, out, options.mode == "ucl", options.file.name, told=told, already=options.smoothed)
    if warned:
        print(warned.replace("**", ""))
    if options.smoothed or is_smoothed(scores):
        print("note     the scores are smoothed already; they are not smoothed again")
    print(f"report   {report}\nfigure   {out / 'scores.png'}")
    return 0


def human(arguments: Sequence[str]) -> int:
    """`run.py human RUN`: how people change their opinions and how the agents of a run do, by the same measures."""
    parser = Parser(
        prog="run.py human",
        description="Measure the change of opinions in a run and in public human data alike, side by side (docs/human.md).",
    )
    parser.add_argument("run", metavar="RUN", type=Path, help="a run folder")
    parser.add_argument("--data", metavar="FOLDER", type=Path, help="folder with the human data (none: the run alone)")
    parser.add_argument(
        "--verdicts", metavar="FILE", type=Path, help="verdicts.csv of run.py judge: what was posted in public as well"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/human)")
    options = parser.parse_args(arguments)
    from parley.analysis.human.report import write
    from parley.analysis.tables import load

    out = options.out or (options.run if options.run.is_dir() else options.run.parent) / "human"
    report = write(load(options.run), options.data, out, options.verdicts)
    print(f"report   {report}\nfigure   {out / 'human.png'}")
    return 0


def judge(arguments: Sequence[str]) -> int:
    """`run.py judge RUN --llm SPEC`: every statement of a run before a judge."""
    parser = Parser(
        prog="run.py judge",
        description="Have a model score every statement of a run, 1-7, on the topic's claim; and say how good a judge it is.",
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
    add_limits(parser, "folder")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder (RUN/judge)")
    options = parser.parse_args(arguments)
    from parley.agents.topic import load_topic
    from parley.analysis.deliberation.consensus_report import deliberates
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.judge.judging import Judging, judge_run, score_table
    from parley.analysis.judge.quality import against_truth, warning
    from parley.analysis.judge.report import write
    from parley.analysis.tables import load
    from parley.model.validation import check_topics

    told = tuple(part.strip() for part in options.tell.split(",") if part.strip())
    judging = Judging(options.calls, options.temperature, options.examples, told, options.seed)
    tables, out = load(options.run), options.out or options.run / "judge"
    if deliberates(tables):
        raise UserError(
            f"{options.run} holds private deliberations, which have no topic's claim to be judged by: ratings are in its "
            f"summary, and run.py representatives substitute {options.run} --judge SPEC compares statements"
        )
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no statement to judge")
    check_topics(options.llm, map(load_topic, sorted(set(tables.utterances["topic"]))))
    (limits,) = budget_of(options, options.llm)
    found = judge_run(tables, out, options.llm, judging, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[["score"]], said["reasons"], "verdicts"))
    score_table(found).to_csv(out / "scores.csv", index=False)
    print(
        f"verdicts {out / 'verdicts.csv'}\nscores   {out / 'scores.csv'}  (python run.py analyse {out / 'scores.csv'})"
    )
    print(f"report   {write(found, tables, out, options.llm, judging)}")
    if said := warning(against_truth(found)):
        print(said.replace("**", ""))
    return 0


def report(arguments: Sequence[str]) -> int:
    """`run.py report RUN...`: one HTML file."""
    parser = Parser(
        prog="run.py report",
        description="Write one HTML file on runs and studies that needs nothing beside it: figures, tables, caveats, examples.",
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="+", help="folders of runs and studies")
    parser.add_argument("--out", metavar="FILE", type=Path, help="(report.html in the first folder)")
    options = parser.parse_args(arguments)
    from parley.analysis.web.report import write

    print(f"report   {write(options.runs, options.out or options.runs[0] / 'report.html')}")
    return 0


def hold_all(
    study: Generator[Scenario, Tables, Any],
    names: Sequence[str],
    out: Path,
    given: tuple[str, ...],
    backend: Backend | None = None,
    budgets: Sequence[Budget] = (),
    ledger: Ledger | None = None,
) -> Any:
    """Run a study's scenarios one after the other, each in a folder of its own; what the study returns.

    backend: one for all of them, and each begins with the replies of the one before it. budgets: one for each, with the prices of
    its models; ledger: what all of them share. Errors: UserError when that is spent; what was answered is kept.
    """
    from parley.analysis.tables import load
    from parley.llm.budget import NO_LIMIT
    from parley.model.scenario_run import RunSpec, run_scenario

    scenario, before = next(study), None
    try:
        for name, budget in zip(names, budgets or [NO_LIMIT] * len(names), strict=True):
            task = RunSpec(scenario, out / name, given, budget, ledger=ledger, start=before if backend else None)
            with Progress(scenario) as progress:
                outcome = run_scenario(task, progress.calls, progress.step, backend)
                print(told(scenario, out / name, outcome))
            if outcome.stopped:
                raise UserError(outcome.stopped)
            before = out / name
            scenario = study.send(load(out / name))
    except StopIteration as done:
        return done.value
    raise RuntimeError("the study wants more runs than it has names for")


def validate(arguments: Sequence[str]) -> int:
    """`run.py validate`: do personas answer as their leaning says? And what people who checked it found."""
    parser = Parser(
        prog="run.py validate",
        description="Interview every persona with the 21 questions of the UCL study and have a judge say whether the answers "
        "fit; or, with --review, say how far people agree with the judge.",
    )
    parser.add_argument("--llm", metavar="SPEC", action="append", default=[], help="a model to interview (repeatable)")
    parser.add_argument("--judge", metavar="SPEC", help="the model that judges; another one than those interviewed")
    parser.add_argument("--personas", metavar="SET[,SET]", default="simple,enhanced", help="(simple,enhanced)")
    parser.add_argument("--seed", metavar="N", type=natural, default=0)
    parser.add_argument("--review", metavar="FILE", type=Path, help="a review.csv that people have filled in")
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/validate-<time>); with --review: that of the verdicts"
    )
    add_limits(parser, "folder")
    options = parser.parse_args(arguments)
    if options.review:
        return _review(options.review, options.out, options.llm, options.judge)
    if not options.llm or not options.judge:
        raise UserError(f"name {'a model to interview: --llm SPEC' if not options.llm else 'a judge: --judge SPEC'}")
    from parley.analysis.alignment.persona_validation import Validation, interview_items, validate_personas
    from parley.analysis.alignment.report import write
    from parley.analysis.journaled_calls import missing_lines

    sets = tuple(part.strip() for part in options.personas.split(",") if part.strip())
    validation = Validation(tuple(options.llm), options.judge, sets, options.seed)
    out = options.out or Path("runs") / f"validate-{time.strftime('%Y%m%d-%H%M%S')}"
    calls = len(interview_items(validation)) * len(validation.models)
    print(f"folder   {out}\ncalls    {calls:,} answers and as many verdicts", flush=True)
    answers = validate_personas(validation, out, bar, budget_of(options, *options.llm, options.judge))
    print(missing_lines(answers[["verdict"]].replace("", None), answers["reason"], "verdicts"))
    print(
        f"report   {write(answers, validation, out)}\nfigure   {out / 'alignment.png'}\nreview   {out / 'review.csv'}"
    )
    return 0


def _review(file: Path, out: Path | None, models: Sequence[str], judge: str | None) -> int:
    if not out or models or judge:
        raise UserError("--review goes with --out, the folder of the verdicts, and without --llm and --judge")
    from parley.analysis.alignment.report import write_review

    print(f"report   {write_review(file, out)}\ntable    {out / 'agreement.csv'}")
    return 0
