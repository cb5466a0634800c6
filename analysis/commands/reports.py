"""The commands `run.py report`, `compare`, `show` and `analyse`: pages about runs, and what an agent was sent."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_paths, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option, amount

if TYPE_CHECKING:
    from parley.analysis.tables import Tables


def report_parser() -> Parser:
    """Return the options of `run.py report`."""
    parser = Parser(
        "report",
        "Write one HTML file about runs and studies, with figures, tables, caveats and examples. The "
        "page needs no other file.",
        "report runs/a runs/b --out both.html",
        cli.out("report.html in the first folder", "FILE"),
    )
    add_option(parser, "--title TEXT", "title of the document (default: the title of the run)", str, "")
    add_option(parser, "--author TEXT", "author, named below the title", str, "")
    add_option(
        parser, "--figures KINDS", "write each run's figures in these formats, such as pdf,svg,png", split_names, ()
    )
    add_option(parser, "RUN", "folders of runs and studies", Path, name="runs", nargs="+")
    return parser


def report(words: Sequence[str]) -> int:
    """Run `run.py report RUN...`."""
    options = report_parser().parse_args(words)
    if missing := next((run for run in options.runs if not run.is_dir()), None):  # said before the slow imports
        raise UserError(f"{missing} is not the folder of a run or a study")
    from parley.analysis.html_report import write
    from parley.analysis.run_report import draw_figures

    for run in options.runs if options.figures else ():
        print_paths(figures=draw_figures(run, options.figures))
    out = options.out or options.runs[0] / "report.html"
    print_paths(report=write(options.runs, out, options.title, options.author))
    return 0


def compare_parser() -> Parser:
    """Return the options of `run.py compare`."""
    parser = Parser(
        "compare",
        "Compare runs, or bias cards, with the first run or card. The report shows a figure, differences "
        "with confidence intervals, and the settings that differ\n"
        "(docs/interventions.md, docs/card.md). For waves of a questionnaire, given in order of time, "
        "the report shows what changed from wave to wave, and how far each steering sentence moves the "
        "answers (docs/personas.md).",
        "compare runs/a runs/b --within 0.5",
        cli.out("runs/compare-<time>"),
    )
    add_option(
        parser,
        "RUN",
        "what to compare\n"
        "runs: folders or records\n"
        "cards: folders or card.json files\n"
        "waves: folders of study questionnaire wave, or .csv tables with the columns question and value "
        "(0 to 10); the columns steering, model and date are optional",
        Path,
        name="given",
        nargs="+",
    )
    about = "with runs: also test which parties moved equally far, to within POINTS on the scale from 0 to 10"
    add_option(parser, "--within POINTS", about, amount)
    return parser


def compare(words: Sequence[str]) -> int:
    """Run `run.py compare RUN RUN ...`."""
    options = compare_parser().parse_args(words)
    if len(options.given) < 2:  # said before the slow imports
        raise UserError("compare needs at least two runs, cards or waves, such as runs/a and runs/b")
    if missing := next((path for path in options.given if not path.exists()), None):
        raise UserError(
            f"there is no run, card or wave {missing}: compare reads folders of results. Make a bias card of each model, such "
            f"as {cli.program()} audit --llm oracle --out runs/a, then {cli.program()} compare runs/a runs/b"
        )
    from parley.analysis.comparisons import compare as compared

    folder = results_folder(options, "compare")
    if any(path.suffix == ".csv" or (path / "wave.json").exists() for path in options.given):
        from parley.analysis.studies.wave_comparison import load_waves
        from parley.analysis.studies.wave_report import write_waves

        print_paths(page=write_waves(load_waves(options.given), folder))
        return 0
    comparison = compared(*options.given, within=options.within)
    page = comparison.report(folder)
    print("\n".join(comparison.sentences))
    print_paths(page=page, figure=folder / "compare.png")
    return 0


def show_parser() -> Parser:
    """Return the options of `run.py show`."""
    parser = Parser(
        "show",
        "Print every prompt that an agent of a run was sent, the agent's replies, and the probabilities "
        "of the agent's answers. Without --agent, the command lists the agents. The prompts are derived "
        "from the record and the journal of the run; no model is called.",
        "show runs/a\nshow runs/a --agent 1",
    )
    add_option(parser, "RUN", "the folder of a run; it may be unfinished or still going on", path_options.recorded_run)
    add_option(parser, "--agent NAME", "the agent, by its name or its number", default="")
    add_option(parser, "--room NAME", "the room of the agent, by its name or its number in the transcript", default="")
    return parser


def show(words: Sequence[str]) -> int:
    """Run `run.py show RUN`."""
    options = show_parser().parse_args(words)
    from parley.analysis.sent_prompts import find_agent, prompts_text
    from parley.analysis.tables import load
    from parley.model.sent_requests import sent_requests

    tables = load(options.run)
    if not options.agent:
        _print(_agents(tables, options.room))
        return 0
    row = find_agent(tables, options.agent, options.room)
    _print(prompts_text(tables, sent_requests(options.run), row))
    return 0


def _agents(tables: Tables, room: str) -> Iterable[str]:
    """Yield a line for each agent: number, name, seat, room."""
    from parley.analysis.sent_prompts import room_called
    from parley.model.titles import seat_label

    rows = tables.agents.to_dict("records")
    wanted = room and room_called(room, rows)
    for row in rows:
        if wanted in ("", row["room"]):
            yield f"{row['agent']:>5}  {row['name']}, {seat_label(row, tables.names)}, {row['room']}"


def _print(lines: Iterable[str]) -> None:
    """Print text of models: control characters, such as escapes of a terminal, are printed as their codes."""
    for line in lines:
        shown = "".join(
            character if character in "\n\t" or character.isprintable() else ascii(character)[1:-1]
            for character in line
        )
        sys.stdout.write(f"{shown}\n")


def analyse_parser() -> Parser:
    """Return the options of `run.py study analyse`."""
    parser = Parser(
        "study analyse",
        "Compare conditions in a CSV of scores with the columns topic, condition, run, agent, statement and score (1-7).",
        "study analyse scores.csv --out runs/compared",
        cli.out("runs/analyse-<time>"),
    )
    add_option(parser, "FILE", "the CSV of scores", Path)
    about = "run: test differences between runs (default)\nucl: the procedure of the UCL study, which smooths scores"
    add_option(parser, "--mode", about, default="run", choices=("run", "ucl"))
    about = (
        "do not smooth the scores, because the scores in the file are smoothed already (scores in thirds "
        "are recognised without this option)"
    )
    add_option(parser, "--smoothed", about, action="store_true")
    return parser


def analyse(words: Sequence[str]) -> int:
    """Run `run.py study analyse FILE`."""
    options = analyse_parser().parse_args(words)
    from parley.analysis.judge_quality import warning_of
    from parley.analysis.scores.report import ReportedTest, write
    from parley.analysis.scores.table import read
    from parley.analysis.scores.ucl import is_smoothed

    scores, folder = read(options.file), results_folder(options, "analyse")
    warning = warning_of(options.file.parent)
    notes = ReportedTest([f"> {warning}"] if warning else [])
    report = write(scores, folder, options.mode == "ucl", options.file.name, told=notes, already=options.smoothed)
    if warning:
        print(warning.replace("**", ""))
    if options.smoothed or is_smoothed(scores):
        print("note     the scores are smoothed already; they are not smoothed again")
    print_paths(report=report, figure=folder / "scores.png")
    return 0
