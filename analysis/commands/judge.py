"""The command `run.py study judge`: a model scores or tags every statement of a run, by one of several rubrics."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import judge_from_args, print_calls, print_paths, split_names
from parley.llm.errors import UserError
from parley.llm.studies import declared_parts
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from parley.analysis.tables import Tables


def judge_parser() -> Parser:
    """Return the options of `run.py study judge`."""
    about = (
        "Let a model score from 1 to 7 how far every statement of a run agrees with the topic's claim, "
        "and report how reliable the scores are. With --rubric, the model scores something else."
    )
    examples = "study judge runs/a --llm oracle\nstudy judge runs/a --llm oracle --rubric appeal"
    plan = cli.dry_run("print the number of questions and the servers to be asked, and stop without calling a model")
    parser = Parser("study judge", about, examples, *cli.asking("RUN/<rubric>", "the model that judges"), plan)
    add_option(parser, "RUN", "a run folder", path_options.recorded_run)
    about = (
        "what the judge scores (default: agreement with the topic's claim)\n"
        "appeal: does a statement appeal to reason, feeling or character? If the run has a survey after "
        "each turn (--set also=attitude:turns): how far did a statement move readers?\n"
        "sentiment: how negative or positive is a statement? (studies/guidance/README.md)\n"
        "recall: what do agents recall without parts of their memory? (--scenario days, "
        "docs/networks.md)\n"
        "FILE.toml: a rubric of your own (docs/files.md)"
    )
    about += "".join(
        f"\n{name}: a rubric of the study {rubric.study.name}" for name, rubric in declared_parts("rubrics").items()
    )
    add_option(parser, "--rubric NAME", about)
    add_judging(parser)
    about = (
        "also judge the private notes of agents (--set think=latent or think=bdi): do the notes say what "
        "agents think? (docs/personas.md)"
    )
    add_option(parser, "--notes", about, action="store_true")
    add_option(parser, "--temperature X", "sampling temperature of the judge", amount, default=0.01)
    about = (
        "with --rubric sentiment: your own CSV table with the columns round and sentiment; the column posts is optional"
    )
    add_option(parser, "--data FILE", about, Path)
    about = "lowest and highest value of sentiment in --data (default: 0,10)"
    add_option(parser, "--data-range LOW,HIGH", about, default="0,10")
    return parser


def add_judging(parser: Parser) -> None:
    """Add the options that say how a judge is asked."""
    calls = "number of calls per statement; used only for a model that gives no answer probabilities"
    add_option(parser, "--calls N", calls, positive, default=3)
    add_option(parser, "--examples N", "number of scored example statements to show the judge", natural, default=4)
    tell = "what to tell the judge about the speaker: name, party, or both (default: nothing)"
    add_option(parser, "--tell name,party", tell, default="")


def judge(words: Sequence[str]) -> int:
    """Run `run.py study judge RUN --llm SPEC`."""
    options = judge_parser().parse_args(words)
    from parley.agents.topic import load_topic
    from parley.analysis.deliberation.consensus_report import deliberates
    from parley.analysis.judge_quality import against_truth, warning, write
    from parley.analysis.note_alignment import with_notes, write_notes
    from parley.analysis.rubric_readings import plan_statements
    from parley.analysis.statement_judge import Judging, judge_run, score_table
    from parley.analysis.table_export import write_csv
    from parley.analysis.tables import load
    from parley.model.validation import check_topics

    shown = tuple(split_names(options.tell))
    judging = Judging(options.calls, options.temperature, options.examples, shown, options.seed)
    tables = load(options.run)
    if options.rubric or options.data:
        return _judge_by_rubric(options, tables)
    if deliberates(tables):
        raise UserError(
            f"{options.run} is a run of private deliberations. A judge scores how strongly a statement agrees with a "
            f"topic's claim, and a deliberation has no such claim. The ratings of {options.run} are in its summary; to "
            f"compare statements, use run.py study representatives substitute {options.run} --judge SPEC"
        )
    plan_statements(tables, options.run)
    noted = with_notes(tables) if options.notes else None
    folder, spec, budget = judge_from_args(options, tables, "judge")
    if options.dry_run:
        spoken = sum(int(run_tables.utterances["text"].notna().sum()) for run_tables in (tables, noted) if run_tables)
        return print_calls(f"{spoken:,} statements, at most {spoken * judging.calls:,} calls", spec)
    check_topics(spec, map(load_topic, sorted(set(tables.utterances["topic"]))))
    verdicts = judge_run(tables, folder, spec, judging, bar, budget)
    print_missing(verdicts, ["score"])
    scores = folder / "scores.csv"
    write_csv(score_table(verdicts), scores)
    print_paths(verdicts=folder / "verdicts.csv", scores=f"{scores}  (python run.py study analyse {scores})")
    print_paths(report=write(verdicts, tables, folder, spec, judging))
    if noted:
        (folder / "notes").mkdir(exist_ok=True)
        read = judge_run(noted, folder / "notes", spec, judging, bar, budget)
        print_paths(notes=write_notes(tables, read, verdicts, folder, spec))
    if doubt := warning(against_truth(verdicts)):
        print(doubt.replace("**", ""))
    return 0


def _judge_by_rubric(options: argparse.Namespace, tables: Tables) -> int:
    """Read a run by a rubric, and write the page."""
    from parley.analysis.curve_comparison import read_data
    from parley.analysis.judging import journaled_verdicts
    from parley.analysis.rubric_readings import reading_of

    if options.data and options.rubric != "sentiment":
        raise UserError(
            "--data is compared with the sentiment of statements: add --rubric sentiment, or leave out --data"
        )
    data = read_data(options.data, _range(options.data_range)) if options.data else None
    reading, seed = reading_of(options.rubric, data), options.seed
    planned = reading.plan(tables, options.run)
    folder, spec, budget = judge_from_args(options, tables, reading.rubric.name)
    if options.dry_run:
        return print_calls(planned, spec)
    verdicts = journaled_verdicts(
        reading.rubric, spec, folder, bar, seed, lambda judge: reading.judge(tables, judge, seed), budget
    )
    print_missing(verdicts, list(reading.columns))
    print_paths(verdicts=folder / "verdicts.csv", report=reading.write(verdicts, tables, folder, spec))
    return 0


def _range(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH. Errors: UserError."""
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise UserError(f"--data-range is {text}, but must be LOW,HIGH, such as -1,1") from error
    return low, high


def print_missing(verdicts: pd.DataFrame, columns: list[str]) -> None:
    """Print how many verdicts on what was said are missing, and why."""
    from parley.analysis.journaled_calls import missing_lines

    spoken = verdicts[verdicts["text"].notna()]
    print(missing_lines(spoken[columns], spoken["reasons"], "verdicts"))
