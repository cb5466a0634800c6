"""The commands `study human` (a run compared with people) and `export own-lines` (lines of a person)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option, out
from parley.model.files import write_whole


def human_parser() -> Parser:
    """Return the options of `run.py study human`."""
    parser = Parser(
        "study human",
        "Measure how opinions change in a run and in public data of people, with the same measures (docs/personas.md).",
        "study human runs/a --data FOLDER",
        cli.out("RUN/human"),
    )
    add_option(parser, "RUN", "a run folder", path_options.recorded_run)
    about = (
        "the folder with the human data (default: measure only the run). For a run on a platform, a .csv "
        "table of real cascades of posts is also possible (docs/networks.md)"
    )
    add_option(parser, "--data FOLDER", about, Path)
    add_option(
        parser,
        "--verdicts FILE",
        "the file verdicts.csv of run.py study judge, to measure opinions in posts as well (default: surveys only)",
        Path,
    )
    return parser


def human(words: Sequence[str]) -> int:
    """Run `run.py study human RUN`."""
    options = human_parser().parse_args(words)
    from parley.analysis.human.cascades import write_cascades
    from parley.analysis.human.report import write
    from parley.analysis.tables import load
    from parley.llm.user_file import file_spec

    folder = options.out or (options.run if options.run.is_dir() else options.run.parent) / "human"
    if options.data and file_spec(options.data).path.suffix.lower() == ".csv":
        print_paths(report=write_cascades(load(options.run), options.data, folder))
        return 0
    report = write(load(options.run), options.data, folder, options.verdicts)
    print_paths(report=report, figure=folder / "human.png")
    return 0


def export_own_lines_parser() -> Parser:
    """Return the options of `run.py export own-lines`."""
    parser = Parser(
        "export own-lines",
        "Write a JSON file with everything that one person in a run wrote, rated and agreed to. Messages "
        "of other participants are left out.",
        'export own-lines runs/a --seat "labour 1" --out mine.json',
        out("own-lines.json", "FILE"),
    )
    add_option(parser, "RUN", "the folder of a run; it may be unfinished or still going on", path_options.recorded_run)
    add_option(parser, "--seat NAME", 'the seat of the person, such as "labour 1"', required=True)
    return parser


def export_own_lines(words: Sequence[str]) -> int:
    """Run `run.py export own-lines RUN --seat NAME`."""
    options = export_own_lines_parser().parse_args(words)
    from parley.analysis.sent_prompts import own_file

    path = options.out or Path("own-lines.json")
    write_whole(path, own_file(options.run, options.seat).decode())
    print(f"wrote {path}")
    return 0
