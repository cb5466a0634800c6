"""The commands `run.py study belief-reader` and `run.py study belief-traces`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.arguments import budgets_from_args, model_from_args
from parley.model.cli import Parser, add_option, amount
from parley.model.progress import bar

if TYPE_CHECKING:
    from .courses import Courses

USUAL = "climate_change"


def parser() -> Parser:
    """Return the options of `run.py study belief-reader`."""
    options = Parser(
        "study belief-reader",
        "Let a judge tag messages by direction, reason and appeal, and predict from the tags how beliefs "
        "move (studies/belief_reader/README.md). Before the tagging, an exam tests the judge on messages "
        "whose tags are known. Without RUN, the command only runs the exam.",
        "study belief-reader runs/a --llm oracle\nstudy belief-reader --llm oracle --topic racism",
        *cli.asking("RUN/belief-reader", "the judge that tags messages"),
        cli.dry_run("print the number of questions and the servers to be asked, and stop without calling a model"),
    )
    add_option(
        options,
        "RUN",
        "a run folder, or a CSV file with the column text; the columns before and after are optional",
        Path,
        nargs="?",
    )
    add_option(options, "--topic NAME", f"the topic of a CSV, or of an exam without RUN (default: {USUAL})", default="")
    add_option(
        options,
        "--known FILE",
        "a CSV file of your own messages for the exam, with the columns text, direction, reason and "
        "appeal; the column core is optional",
        Path,
    )
    add_option(
        options,
        "--reader FILE",
        "the file of a reader's weights, which predicts beliefs for a CSV file without ratings",
        Path,
    )
    add_option(
        options,
        "--repeat X",
        "the fraction of its weight, 0 to 1, that a reason keeps each time the reason is repeated",
        amount,
        0.5,
    )
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study belief-reader`."""
    options = parser().parse_args(words)
    import pandas as pd

    from parley.agents.topic import load_topic
    from parley.analysis.judging import open_judge

    from .exam import examine
    from .known_lines import known_lines, read_known
    from .reader import Weights, read_weights
    from .report import Read, write
    from .tags import DIRECTION, PARTS, rubric_of, tag_lines

    if options.repeat > 1:
        raise UserError(f"--repeat is {options.repeat:g}, but must be between 0 and 1")
    courses, society = _courses(options)
    topics = list(courses.lines["topic"].unique()) if courses else [options.topic or USUAL]
    if options.known and len(topics) > 1:
        raise UserError(
            f"--known has messages on one topic, but {options.run} has {len(topics)} topics: leave out --known"
        )
    known = {str(slug): read_known(options.known, slug) if options.known else known_lines(slug) for slug in topics}
    weights = read_weights(options.reader) if options.reader else Weights(repeat=options.repeat)
    spec = model_from_args(options, society=society)
    (budget,) = budgets_from_args(options, spec)
    heard = courses.lines["text"].dropna().nunique() if courses else 0
    lines = sum(map(len, known.values())) + heard
    planned = f"{lines - heard:,} known lines and {heard:,} lines to tag, at most {len(PARTS) * lines:,} calls"
    if options.dry_run:
        return print_calls(planned, spec)
    folder = options.out or _folder(options)
    folder.mkdir(parents=True, exist_ok=True)
    first = load_topic(topics[0])
    settings = {"seed": options.seed, "topics": topics}
    with open_judge(rubric_of(first, DIRECTION), spec, folder, bar, settings, budget) as judge:
        shown = pd.concat(known.values(), ignore_index=True)
        tagged = tag_lines(judge, shown[["topic", "text"]], options.seed)
        tagged = tagged.join(shown[[*PARTS, "core"]].rename(columns={part: f"true_{part}" for part in PARTS}))
        exams = {slug: examine(tagged[tagged["topic"] == slug], load_topic(slug)) for slug in known}
        lines_tagged = tag_lines(judge, courses.lines, options.seed) if courses else None
    read = Read(spec, tagged, exams, courses, lines_tagged, weights, options.repeat, options.seed)
    print_paths(report=write(read, folder))
    return 0


def _courses(options: argparse.Namespace) -> tuple[Courses | None, str]:
    """Return what was heard, and the society of a run."""
    from parley.analysis.tables import load

    from .courses import courses_of_file, courses_of_run

    if options.run is None:
        return None, ""
    if options.run.is_file() and options.run.suffix in (".csv", ".tsv"):
        return courses_of_file(options.run, options.topic or USUAL), ""
    if options.topic:
        raise UserError("the run already has topics: leave out --topic")
    tables = load(path_options.recorded_run(str(options.run)))
    return courses_of_run(tables), tables.society.name


def _folder(options: argparse.Namespace) -> Path:
    """Return the folder of results without --out: in the run, next to the file, or a new one."""
    if options.run is None:
        return results_folder(options, "belief-reader")
    return options.run / "belief-reader" if options.run.is_dir() else path_options.folder_beside(options.run)


def traces_parser() -> Parser:
    """Return the options of `run.py study belief-traces`."""
    options = Parser(
        "study belief-traces",
        "Compare the changes of people's beliefs from turn to turn with the changes of a simulated "
        "reader of known weights (studies/belief_reader/README.md).",
        "study belief-traces data",
        cli.out("runs/belief-traces-<time>"),
    )
    add_option(options, "FOLDER", "a folder with persuasiontrace_human_belief_traces.csv (docs/personas.md)", Path)
    return options


def traces(words: Sequence[str]) -> int:
    """Run `run.py study belief-traces`."""
    options = traces_parser().parse_args(words)
    from .human import read_traces, write_traces

    print_paths(
        report=write_traces(read_traces(options.folder), options.folder, results_folder(options, "belief-traces"))
    )
    return 0
