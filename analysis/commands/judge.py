"""The commands `run.py judge`, `rhetoric`, `deviation` and `sentiment`: a model scores or tags every statement of a run."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import judge_from_args, print_calls, print_paths, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    import pandas as pd

    from parley.analysis.tables import Tables


def reading_parser(command: str, about: str, examples: str, model: str) -> Parser:
    """Return the options of a command in which a model reads what was said in a run."""
    plan = cli.dry_run("print the number of questions and the servers that are asked, and stop: no model is called")
    parser = Parser(command, about, examples, *cli.asking(f"RUN/{command}", model), plan)
    add_option(parser, "RUN", "a run folder", Path)
    return parser


def judge_parser() -> Parser:
    """Return the options of `run.py judge`."""
    about = "Let a model score every statement of a run from 1 to 7 on the topic's claim, and report how reliable the scores are."
    parser = reading_parser("judge", about, "judge runs/a --llm oracle", "the model that judges")
    add_judging(parser)
    about = "also judge the private notes of agents with think=latent or bdi: do they say what agents think? (docs/abilities.md)"
    add_option(parser, "--notes", about, action="store_true")
    add_option(parser, "--temperature X", "sampling temperature of the judge", amount, default=0.01)
    add_option(
        parser,
        "--rubric FILE",
        "file with your own rubric (default: agreement with the topic's claim; docs/structured.md)",
    )
    return parser


def add_judging(parser: Parser) -> None:
    """Add the options that say how a judge is asked."""
    calls = "number of calls per statement; used only for a model that gives no answer probabilities"
    add_option(parser, "--calls N", calls, positive, default=3)
    add_option(parser, "--examples N", "number of scored example statements to show the judge", natural, default=4)
    tell = "what to tell the judge about the speaker: name, party, or both (default: nothing)"
    add_option(parser, "--tell name,party", tell, default="")


def judge(words: Sequence[str]) -> int:
    """Run `run.py judge RUN --llm SPEC`."""
    options = judge_parser().parse_args(words)
    from parley.agents.topic import load_topic
    from parley.analysis.deliberation.consensus_report import deliberates
    from parley.analysis.judge_quality import against_truth, warning, write
    from parley.analysis.note_alignment import with_notes, write_notes
    from parley.analysis.statement_judge import Judging, judge_run, score_table
    from parley.analysis.table_export import write_csv
    from parley.analysis.tables import load
    from parley.model.validation import check_topics

    shown = tuple(split_names(options.tell))
    judging = Judging(options.calls, options.temperature, options.examples, shown, options.seed)
    tables = load(options.run)
    if options.rubric:
        return _judge_by_rubric(options, tables)
    if deliberates(tables):
        raise UserError(
            f"{options.run} has private deliberations, whose statements have no claim to be judged by. Their ratings are in its "
            f"summary; to compare statements, use run.py representatives substitute {options.run} --judge SPEC"
        )
    _check_statements(tables, options.run)
    noted = with_notes(tables) if options.notes else None
    folder, spec, budget = judge_from_args(options, tables, "judge")
    if options.dry_run:
        spoken = _count(tables) + (_count(noted) if noted else 0)
        return print_calls(f"{spoken:,} statements, at most {spoken * judging.calls:,} calls", spec)
    check_topics(spec, map(load_topic, sorted(set(tables.utterances["topic"]))))
    verdicts = judge_run(tables, folder, spec, judging, bar, budget)
    print_missing(verdicts, ["score"], "reasons", "verdicts")
    scores = folder / "scores.csv"
    write_csv(score_table(verdicts), scores)
    print_paths(verdicts=folder / "verdicts.csv", scores=f"{scores}  (python run.py analyse {scores})")
    print_paths(report=write(verdicts, tables, folder, spec, judging))
    if noted:
        (folder / "notes").mkdir(exist_ok=True)
        read = judge_run(noted, folder / "notes", spec, judging, bar, budget)
        print_paths(notes=write_notes(tables, read, verdicts, folder, spec))
    if doubt := warning(against_truth(verdicts)):
        print(doubt.replace("**", ""))
    return 0


def _judge_by_rubric(options: argparse.Namespace, tables: Tables) -> int:
    """Score every statement by a rubric of the user's own, and print averages by party."""
    from parley.analysis.judging import journaled_verdicts, judge_by_rubric, load_rubric

    rubric, seed = load_rubric(options.rubric), options.seed
    folder, spec, budget = judge_from_args(options, tables, rubric.name)
    if options.dry_run:
        return print_calls(f"{_count(tables):,} statements", spec)
    verdicts = journaled_verdicts(
        rubric, spec, folder, bar, seed, lambda judge: judge_by_rubric(rubric, tables, judge, seed), budget
    )
    spoken = print_missing(verdicts, [rubric.name], "reasons", "verdicts")
    print(spoken.groupby("party")[rubric.name].agg(["count", "mean"]).round(2).to_string())
    print_paths(verdicts=folder / "verdicts.csv")
    return 0


def rhetoric_parser() -> Parser:
    """Return the options of `run.py rhetoric`."""
    about = (
        "Let a model tag every utterance of a run: does it appeal to reason, feeling or character? If a survey followed each "
        "utterance (--set also=attitude:turns), the report also says how far the opinions of its readers moved."
    )
    return reading_parser("rhetoric", about, "rhetoric runs/a --llm oracle", "the model that tags")


def rhetoric(words: Sequence[str]) -> int:
    """Run `run.py rhetoric RUN --llm SPEC`."""
    options = rhetoric_parser().parse_args(words)
    from parley.analysis.rhetoric import APPEALS, tag_run, write_rhetoric
    from parley.analysis.tables import load

    tables = load(options.run)
    _check_statements(tables, options.run)
    folder, spec, budget = judge_from_args(options, tables, "rhetoric")
    if options.dry_run:
        return print_calls(f"{_count(tables):,} utterances, {len(APPEALS)} questions on each", spec)
    tags = tag_run(tables, folder, spec, options.seed, bar, budget)
    print_missing(tags, list(APPEALS), "reasons", "utterances")
    print_paths(tags=folder / "tags.csv", report=write_rhetoric(tags, tables, folder, spec))
    return 0


def sentiment_parser() -> Parser:
    """Return the options of `run.py sentiment`."""
    about = (
        "Let a model score how negative or positive each post of a run is, and draw sentiment and number of posts by round, "
        "together with data of your own (docs/guidance.md)."
    )
    parser = reading_parser(
        "sentiment",
        about,
        "sentiment runs/p --llm oracle\nsentiment runs/p --llm oracle --data weibo.csv --data-range=-1,1",
        "the model that scores the posts",
    )
    add_option(
        parser,
        "--data FILE",
        "CSV table of your own with the columns round and sentiment, and posts if you know them",
        Path,
    )
    about = "lowest and highest value of sentiment in --data (default: 0,10)"
    add_option(parser, "--data-range LOW,HIGH", about, default="0,10")
    return parser


def sentiment(words: Sequence[str]) -> int:
    """Run `run.py sentiment RUN --llm SPEC`."""
    options = sentiment_parser().parse_args(words)
    from parley.analysis.sentiment import judge_sentiment, read_data, write
    from parley.analysis.tables import load

    tables = load(options.run)
    _check_statements(tables, options.run)
    data = read_data(options.data, _range(options.data_range)) if options.data else None
    folder, spec, budget = judge_from_args(options, tables, "sentiment")
    if options.dry_run:
        return print_calls(f"{_count(tables):,} posts", spec)
    verdicts = judge_sentiment(tables, folder, spec, options.seed, bar, budget)
    print_missing(verdicts, ["sentiment"], "reason", "verdicts")
    print_paths(verdicts=folder / "verdicts.csv", report=write(verdicts, tables, folder, spec, data))
    return 0


def _range(text: str) -> tuple[float, float]:
    """Return the two numbers of LOW,HIGH. Errors: UserError."""
    try:
        low, high = map(float, text.split(","))
    except ValueError as error:
        raise UserError(f"--data-range must be LOW,HIGH, such as -1,1, not {text}") from error
    return low, high


def _check_statements(tables: Tables, run: Path) -> None:
    """Errors: UserError for a run in which no agent spoke."""
    if not _count(tables):
        raise UserError(f"{run} has no statement to judge, because no agent spoke in it: choose another run")


def _count(tables: Tables) -> int:
    """Return how many statements a run has."""
    return int(tables.utterances["text"].notna().sum())


def print_missing(verdicts: pd.DataFrame, columns: list[str], reasons: str, what: str) -> pd.DataFrame:
    """Print how many verdicts are missing and why; return the rows of the statements that were made."""
    from parley.analysis.journaled_calls import missing_lines

    spoken = verdicts[verdicts["text"].notna()]
    print(missing_lines(spoken[columns], spoken[reasons], what))
    return spoken
