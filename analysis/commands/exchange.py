"""Files that others read or wrote: the commands `export bundle`, `export eval` and `study import-log`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli, path_options
from parley.model.cli import Parser, add_option


def export_bundle_parser() -> Parser:
    """Return the options of `run.py export bundle`."""
    parser = Parser(
        "export bundle",
        "Write runs with prompts, raw replies, tables and figures into one sealed zip: an RO-Crate with the SHA-256 of each file "
        "(docs/files.md).",
        "export bundle runs/a --out a.zip --author 'A. Author' --license CC-BY-4.0",
        cli.out("", "FILE", "the zip to write", required=True),
    )
    add_option(parser, "RUN", "folders of runs", Path, name="runs", nargs="+")
    add_option(parser, "--author NAME", "the author of the runs, for the metadata", default="")
    about = "the licence of the bundle: an SPDX name such as CC-BY-4.0, or a web address (default: not stated)"
    add_option(parser, "--license NAME", about, default="")
    return parser


def export_bundle(words: Sequence[str]) -> int:
    """Run `run.py export bundle RUN... --out FILE`."""
    options = export_bundle_parser().parse_args(words)
    from parley.analysis.bundles.bundle import write_bundle

    written_seal = write_bundle(options.runs, options.out, options.author, options.license)
    if not options.license:
        print(
            "licence  not stated: without a licence others may not reuse the bundle; add --license, such as CC-BY-4.0"
        )
    print_paths(bundle=options.out, seal=written_seal)
    return 0


EVAL = ".eval"


def import_log_parser() -> Parser:
    """Return the options of `run.py study import-log`."""
    parser = Parser(
        "study import-log",
        "Convert a log of another framework to a run folder of Parley, and write a report. Where the log "
        "lacks the data of a section, the report says which data are missing (docs/files.md).",
        "study import-log ratings.csv --format csv --map map.toml --out runs/read",
        cli.out("runs/log-<time>"),
    )
    add_option(parser, "FILE", "the log: a file, a folder, or several tables", Path, name="files", nargs="+")
    about = "the format of the log: csv, edsl, inspect, oasis, socsim, or the path of a format of your own"
    add_option(parser, "--format NAME", about, str, required=True)
    add_option(
        parser, "--map MAP.toml", "a file that says what each column means, and which scale the ratings have", Path
    )
    return parser


def import_log(words: Sequence[str]) -> int:
    """Run `run.py study import-log FILE --format NAME`."""
    options = import_log_parser().parse_args(words)
    from parley.analysis.logs.formats import FORMATS
    from parley.analysis.logs.mapping import read_map
    from parley.analysis.logs.record import write_run
    from parley.analysis.run_report import SUMMARY, write_report
    from parley.llm.user_file import file_spec

    form, folder = FORMATS.find(options.format), results_folder(options, "log")
    if missing := [path for path in options.files if not file_spec(path).path.exists()]:
        raise UserError(f"{missing[0]} does not exist: give the path of a log ({form.ABOUT})")
    log = form.read(options.files, read_map(options.map))
    write_run(log, [file_spec(path).path for path in options.files], options.format, folder)
    print(
        f"{len(log.people):,} people, {len(log.ratings):,} ratings, {len(log.lines):,} texts, {len(log.deeds):,} acts"
    )
    print_paths(folder=folder)
    figure = write_report(folder)
    print_paths(summary=folder / SUMMARY, **({"figure": figure} if figure.exists() else {}))
    return 0


def export_eval_parser() -> Parser:
    """Return the options of `run.py export eval`."""
    parser = Parser(
        "export eval",
        "Write a run as an .eval file, which the viewer of Inspect opens: one sample per room, with "
        "texts, ratings and tokens (docs/files.md). The command needs the package inspect-ai: pip "
        "install 'parley-debates[inspect]'.",
        "export eval runs/a --out a.eval",
        cli.out("run.eval in the folder", "FILE"),
    )
    add_option(parser, "RUN", "a run folder", path_options.recorded_run)
    return parser


def export_eval(words: Sequence[str]) -> int:
    """Run `run.py export eval RUN`."""
    options = export_eval_parser().parse_args(words)
    path = options.out or options.run / f"run{EVAL}"
    if path.suffix != EVAL:
        raise UserError(f"--out {path}: the name must end in {EVAL}")
    from parley.analysis.logs.eval_file import write_eval
    from parley.analysis.tables import load
    from parley.model.scenario_run import record_of

    made = record_of(options.run).stat().st_mtime if record_of(options.run).exists() else 0.0
    print(f"{write_eval(load(options.run), path, made):,} samples, one per room")
    print_paths(log=path)
    return 0
