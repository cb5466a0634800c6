"""Files that others read or wrote: the commands `bundle`, `verify`, `import-log` and `export-eval`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.cli import Parser, add_option


def bundle_parser() -> Parser:
    """Return the options of `run.py bundle`."""
    parser = Parser(
        "bundle",
        "Write runs with prompts, raw replies, tables and figures into one sealed zip: an RO-Crate with the SHA-256 of each file "
        "(docs/bundles.md).",
        "bundle runs/a --out a.zip --author 'A. Author' --license CC-BY-4.0",
        cli.out("", "FILE", "the zip to write", required=True),
    )
    add_option(parser, "RUN", "folders of runs", Path, name="runs", nargs="+")
    add_option(parser, "--author NAME", "the author of the runs, for the metadata", default="")
    about = "the licence of the bundle: an SPDX name such as CC-BY-4.0, or an address (default: not stated)"
    add_option(parser, "--license NAME", about, default="")
    return parser


def bundle(words: Sequence[str]) -> int:
    """Run `run.py bundle RUN... --out FILE`."""
    options = bundle_parser().parse_args(words)
    from parley.analysis.bundles.bundle import write_bundle

    written_seal = write_bundle(options.runs, options.out, options.author, options.license)
    if not options.license:
        print("licence  not stated: without one others may not reuse the bundle; add --license, such as CC-BY-4.0")
    print_paths(bundle=options.out, seal=written_seal)
    return 0


def verify_parser() -> Parser:
    """Return the options of `run.py verify`."""
    parser = Parser(
        "verify",
        "Check a bundle (hashes, and whether tables and figures come out of the record again), a card.json, a table, or all "
        "tables of a run, against the published schema. No model is called (docs/bundles.md).",
        "verify a.zip\nverify runs/card/card.json\nverify runs/a",
    )
    add_option(parser, "FILE", "a bundle (.zip), a card.json, a table (.csv or .parquet), or the folder of a run", Path)
    add_option(parser, "--seal HEX", "the seal that the author published; another bundle is refused", default="")
    return parser


def verify(words: Sequence[str]) -> int:
    """Run `run.py verify FILE`."""
    options = verify_parser().parse_args(words)
    file: Path = options.file
    if options.seal and file.suffix != ".zip":
        raise UserError(f"--seal is for a bundle (.zip), not for {file}")
    if file.suffix == ".zip":
        return _verify_bundle(file, options.seal)
    from parley.analysis.schemas.validation import check_card, check_folder, check_table

    if not file.is_dir():
        print(check_card(file) if file.suffix == ".json" else check_table(file))
        return 0
    card = file / "card.json"
    print("\n".join([check_card(card)] if card.exists() else check_folder(file)))
    return 0


def _verify_bundle(file: Path, seal: str) -> int:
    """Print what is found in a bundle. Errors: UserError where a file does not come out of the record."""
    from parley.analysis.bundles.check import DIFFERS, check_bundle

    findings = check_bundle(file, seal)
    for finding in findings:
        print(f"{finding.verdict:<8} {f'{finding.run}: ' if finding.run else ''}{finding.sentence}")
    if differing := [finding for finding in findings if finding.verdict == DIFFERS]:
        raise UserError(f"{file} does not hold what it shows: {differing[0].run}: {differing[0].sentence}")
    return 0


EVAL = ".eval"


def import_log_parser() -> Parser:
    """Return the options of `run.py import-log`."""
    parser = Parser(
        "import-log",
        "Read a log of another framework as a run folder of Parley, and write its report: the sections that apply, and what the "
        "log lacks for the others (docs/logs.md).",
        "import-log ratings.csv --format csv --map map.toml --out runs/read",
        cli.out("runs/log-<time>"),
    )
    add_option(parser, "FILE", "the log: a file, a folder, or several tables", Path, name="files", nargs="+")
    about = "csv, edsl, inspect, oasis, socsim, or the path of a format of your own"
    add_option(parser, "--format NAME", about, str, required=True)
    add_option(parser, "--map MAP.toml", "which column is what, and the scale of the ratings", Path)
    return parser


def import_log(words: Sequence[str]) -> int:
    """Run `run.py import-log FILE --format NAME`."""
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
    """Return the options of `run.py export-eval`."""
    parser = Parser(
        "export-eval",
        "Write a run as an .eval file, which the viewer of Inspect opens: one sample per room, with texts, ratings and tokens "
        "(docs/logs.md). Needs the package inspect-ai: pip install 'parley-debates[inspect]'.",
        "export-eval runs/a --out a.eval",
        cli.out("run.eval in the folder", "FILE"),
    )
    add_option(parser, "RUN", "a run folder", Path)
    return parser


def export_eval(words: Sequence[str]) -> int:
    """Run `run.py export-eval RUN`."""
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
