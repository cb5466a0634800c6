"""The commands `run.py analyse`, `human`, `judge`, `report` and `validate`, and what drives a study."""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, model_from_args, models_from_args
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import Progress, bar, summary_line

if TYPE_CHECKING:
    from parley.analysis.tables import Tables
    from parley.llm.budget import Budget, Ledger
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario


def analyse_parser() -> Parser:
    """The options of `run.py analyse`."""
    parser = Parser(
        "analyse",
        "Compare conditions in any CSV of scores: topic, condition, run, agent, statement, score (1-7).",
        "analyse scores.csv --out runs/compared",
        cli.out("runs/analyse-<time>"),
    )
    add_option(parser, "FILE", "the CSV of scores", Path)
    add_option(
        parser,
        "--mode",
        "run: tests by run (default)\nucl: the procedure of the UCL study, with smoothing",
        default="run",
        choices=("run", "ucl"),
    )
    add_option(
        parser,
        "--smoothed",
        "the scores are smoothed already, so do not smooth them again (found by itself where scores are in thirds)",
        action="store_true",
    )
    return parser


def analyse(arguments: Sequence[str]) -> int:
    """`run.py analyse FILE`: a table of scores by single statements."""
    options = analyse_parser().parse_args(arguments)
    from parley.analysis.judge_quality import warning_of
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


def human_parser() -> Parser:
    """The options of `run.py human`."""
    parser = Parser(
        "human",
        "Measure how opinions change in a run and in public data of people, with the same measures (docs/human.md).",
        "human runs/a --data FOLDER",
        cli.out("RUN/human"),
    )
    add_option(parser, "RUN", "a run folder", Path)
    add_option(parser, "--data FOLDER", "the folder with the human data (default: the run alone)", Path)
    add_option(parser, "--verdicts FILE", "verdicts.csv of run.py judge, to measure what was posted too", Path)
    return parser


def human(arguments: Sequence[str]) -> int:
    """`run.py human RUN`: how people change their opinions and how the agents of a run do, by the same measures."""
    options = human_parser().parse_args(arguments)
    from parley.analysis.human.report import write
    from parley.analysis.tables import load

    out = options.out or (options.run if options.run.is_dir() else options.run.parent) / "human"
    report = write(load(options.run), options.data, out, options.verdicts)
    print(f"report   {report}\nfigure   {out / 'human.png'}")
    return 0


def judge_parser() -> Parser:
    """The options of `run.py judge`."""
    parser = Parser(
        "judge",
        "Let a model score every statement of a run, 1-7, on the topic's claim, and report how good a judge it is.",
        "judge runs/a --llm oracle",
        *cli.asking("RUN/judge", "the model that judges"),
    )
    add_option(parser, "RUN", "a run folder", Path)
    add_judging(parser)
    add_option(parser, "--temperature X", "the judge's temperature", amount, default=0.01)
    add_option(parser, "--rubric FILE", "a rubric of your own, in place of agreement (docs/structured.md)")
    return parser


def add_judging(parser: Parser) -> None:
    """How a judge is asked."""
    calls = "calls per statement, for a model that tells no probabilities"
    add_option(parser, "--calls N", calls, natural, default=3)
    examples = "scored statements in the judge's prompt"
    add_option(parser, "--examples N", examples, natural, default=4)
    tell = "what the judge is told about the speaker: name, party (default: nothing)"
    add_option(parser, "--tell name,party", tell, default="")


def judge(arguments: Sequence[str]) -> int:
    """`run.py judge RUN --llm SPEC`: every statement of a run before a judge."""
    options = judge_parser().parse_args(arguments)
    from parley.agents.topic import load_topic
    from parley.analysis.deliberation.consensus_report import deliberates
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.judge_quality import against_truth, warning, write
    from parley.analysis.statement_judge import Judging, judge_run, score_table
    from parley.analysis.tables import load
    from parley.model.validation import check_topics

    told = tuple(part.strip() for part in options.tell.split(",") if part.strip())
    judging, spec = (
        Judging(options.calls, options.temperature, options.examples, told, options.seed),
        model_from_args(options),
    )
    tables, out = load(options.run), options.out or options.run / "judge"
    if options.rubric:
        return _judge_by_rubric(options, tables, spec)
    if deliberates(tables):
        raise UserError(
            f"{options.run} holds private deliberations, which have no topic's claim to be judged by: ratings are in its "
            f"summary, and run.py representatives substitute {options.run} --judge SPEC compares statements"
        )
    if tables.utterances["text"].notna().sum() == 0:
        raise UserError(f"{options.run} holds no statement to judge")
    check_topics(spec, map(load_topic, sorted(set(tables.utterances["topic"]))))
    (limits,) = budgets_from_args(options, spec)
    found = judge_run(tables, out, spec, judging, bar, limits)
    said = found[found["text"].notna()]
    print(missing_lines(said[["score"]], said["reasons"], "verdicts"))
    score_table(found).to_csv(out / "scores.csv", index=False)
    print(
        f"verdicts {out / 'verdicts.csv'}\nscores   {out / 'scores.csv'}  (python run.py analyse {out / 'scores.csv'})"
    )
    print(f"report   {write(found, tables, out, spec, judging)}")
    if said := warning(against_truth(found)):
        print(said.replace("**", ""))
    return 0


def report_parser() -> Parser:
    """The options of `run.py report`."""
    parser = Parser(
        "report",
        "Write one HTML file about runs and studies, with figures, tables, caveats and examples. It needs no other file.",
        "report runs/a runs/b --out both.html",
        cli.out("report.html in the first folder", "FILE"),
    )
    add_option(parser, "RUN", "folders of runs and studies", Path, name="runs", nargs="+")
    return parser


def _judge_by_rubric(options: argparse.Namespace, tables: Tables, spec: str) -> int:
    """Score every statement by a rubric of the user's own, and print averages by party."""
    from parley.analysis.journaled_calls import missing_lines
    from parley.analysis.judging import judge_by_rubric, load_rubric, open_judge

    rubric, seed = load_rubric(options.rubric), {"seed": options.seed}
    out = options.out or options.run / rubric.name
    (limits,) = budgets_from_args(options, spec)
    with open_judge(rubric, spec, out, bar, seed, limits) as judge:
        found = judge_by_rubric(rubric, tables, judge, options.seed)
        found.to_csv(out / "verdicts.csv", index=False)
    said = found[found["text"].notna()]
    print(missing_lines(said[[rubric.name]], said["reasons"], "verdicts"))
    print(said.groupby("party")[rubric.name].agg(["count", "mean"]).round(2).to_string())
    print(f"verdicts {out / 'verdicts.csv'}")
    return 0


def report(arguments: Sequence[str]) -> int:
    """`run.py report RUN...`: one HTML file."""
    options = report_parser().parse_args(arguments)
    from parley.analysis.html_report import write

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
                print(summary_line(scenario, out / name, outcome))
            if outcome.stopped:
                raise UserError(outcome.stopped)
            before = out / name
            scenario = study.send(load(out / name))
    except StopIteration as done:
        return done.value
    raise RuntimeError("the study wants more runs than it has names for")


def validate_parser() -> Parser:
    """The options of `run.py validate`."""
    parser = Parser(
        "validate",
        "Interview every persona with the 21 questions of the UCL study, and let a judge say whether the answers fit.\n"
        "With --review: compare the judge's verdicts with those of people.",
        "validate --llm oracle --judge oracle",
        *cli.asking("runs/validate-<time>", "the model to interview (repeatable)", "none"),
    )
    add_option(parser, "--judge SPEC", "the model that judges; another one than those interviewed")
    add_option(parser, "--personas SET[,SET]", "sets of personas", default="simple,enhanced")
    add_option(
        parser, "--review FILE", "a review.csv that people have filled in; --out is then the verdicts' folder", Path
    )
    return parser


def validate(arguments: Sequence[str]) -> int:
    """`run.py validate`: do personas answer as their leaning says? And what people who checked it found."""
    options = validate_parser().parse_args(arguments)
    if options.review:
        return _review(options.review, options.out, options.llm, options.judge)
    if not options.llm or not options.judge:
        raise UserError(f"name {'a model to interview: --llm SPEC' if not options.llm else 'a judge: --judge SPEC'}")
    from parley.analysis.alignment.persona_validation import Validation, interview_items, validate_personas
    from parley.analysis.alignment.report import write
    from parley.analysis.journaled_calls import missing_lines

    sets = tuple(part.strip() for part in options.personas.split(",") if part.strip())
    *models, named = models_from_args(options, "judge")
    validation = Validation(tuple(models), named, sets, options.seed)
    out = options.out or Path("runs") / f"validate-{time.strftime('%Y%m%d-%H%M%S')}"
    calls, budgets = (
        len(interview_items(validation)) * len(validation.models),
        budgets_from_args(options, *models, named),
    )
    print(f"folder   {out}\ncalls    {calls:,} answers and as many verdicts", flush=True)
    answers = validate_personas(validation, out, bar, budgets)
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
