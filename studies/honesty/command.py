"""The command `study honesty`: the same conversation in a neutral frame, for a reward, under pressure, before an audience."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import PLANNED, judged_runs, print_paths, print_plan, results_folder
from parley.model import cli
from parley.model.arguments import scenario_from_args
from parley.model.cli import Parser, add_option


def parser() -> Parser:
    """Return the options of `run.py study honesty`."""
    parser = Parser(
        "study honesty",
        "Run a conversation in a neutral frame (twice), for a reward, under an order, under threat of exclusion, and before "
        "an audience. A judge grades the messages, and the report compares the grades with private ratings "
        "(studies/honesty/README.md).",
        "study honesty --llm oracle,tact=reward:2 --repetitions 5",
        cli.scenario("honesty"),
        *cli.debating("runs/honesty-<time>"),
        cli.dry_run(PLANNED),
    )
    add_option(parser, "--judge SPEC", "the model that grades messages (default: the model of --llm)")
    add_option(
        parser,
        "--lines FILE",
        "a CSV file of your own messages of known grade, with the columns topic, text and grade (0 to 10)",
        Path,
    )
    return parser


def run(words: Sequence[str]) -> int:
    """Run `run.py study honesty`."""
    options = parser().parse_args(words)
    from parley.analysis.statement_judge import Judging, verdict_table
    from parley.llm.backends import in_society
    from parley.studies.honesty import measures
    from parley.studies.honesty.measures import judge_lines, known_lines, read_lines
    from parley.studies.honesty.report import write

    base, given = scenario_from_args(options)
    conditions = {name: base.with_settings(settings) for name, settings in measures.conditions(base).items()}
    lines = known_lines(base.subject.topic, read_lines(options.lines, base.subject.topic) if options.lines else None)
    judge, judging = in_society(options.judge or base.models.llm, base.subject.society), Judging(seed=base.seed)
    if options.dry_run:
        return print_plan(conditions, options, judge)
    folder = results_folder(options, "honesty")
    study = measures.honesty(base), measures.CONDITIONS, folder, judge, judging.rubric
    with judged_runs(options, base, given, *study) as (runs, opened):
        judged = judge_lines(lines, opened, judging)
        verdicts = {name: verdict_table(tables, opened, judging) for name, tables in runs.items()}
    path = write(runs, verdicts, judged, judge, folder)
    print_paths(report=path, figure=folder / "honesty.png")
    return 0
