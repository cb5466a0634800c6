"""The command `run.py check`: what you wrote (a society, a topic, personas), or files that a run wrote and you were given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.llm.errors import UserError
from parley.model.cli import Parser, add_option
from parley.model.files import PARTIAL, RECORD

BUNDLE, CARD, TABLES = ".zip", "card.json", "tables"
WRITTEN = (BUNDLE, ".json", ".csv", ".parquet")
"""Endings of files that runs write."""


def check_parser() -> Parser:
    """Return the options of `run.py check`."""
    parser = Parser(
        "check",
        "List what is wrong with a society, a party, a topic, a set of personas (docs/societies.md) or "
        "the wording of a paper (studies/structured/README.md). The command also checks results: a card, "
        "a table or a run is compared with the published schema. The files of a bundle are compared with "
        "their hashes, and the bundle's tables and figures are made again from the record "
        "(docs/files.md). No model is called.",
        "check germany\ncheck a.zip\ncheck runs/a",
    )
    add_option(
        parser,
        "PATH",
        "what to check\n"
        "a society: its name or folder\n"
        "a party or a topic: its .toml file\n"
        "a set of personas or a wording: its folder\n"
        "results: a bundle (.zip), a card.json, a table (.csv or .parquet), or the folder of a run",
    )
    add_option(
        parser,
        "--seal HEX",
        "the seal that the author of a bundle published; a bundle with another seal is refused",
        default="",
    )
    return parser


def check(words: Sequence[str]) -> int:
    """Run `run.py check PATH`. The exit status is 1 if something is wrong with what the user wrote."""
    options = check_parser().parse_args(words)
    path = Path(options.path).expanduser()
    if options.seal and path.suffix != BUNDLE:
        raise UserError(f"--seal is for a bundle (.zip), not for {path}")
    if path.suffix in WRITTEN and not path.exists():
        raise UserError(f"there is no file {path}: give a bundle, a card.json or a table that a run wrote")
    if path.suffix == BUNDLE:
        return _check_bundle(path, options.seal)
    if path.suffix in WRITTEN or any((path / name).exists() for name in (RECORD, PARTIAL, TABLES, CARD)):
        return _check_results(path)
    return _check_own(options.path)


def _check_own(path: str) -> int:
    """Print the faults of a society, a party, a topic or personas, and what Parley makes up where they are silent."""
    from parley.agents.society_check import check_path, derived_parts

    problems = check_path(path)
    print("\n".join(problems) if problems else f"{path}: no fault found")
    if made_up := derived_parts(path):
        print("\nThese files leave out some parts, and Parley chose them (no fault):")
        print("\n".join(f"  {line}" for line in made_up))
    return 1 if problems else 0


def _check_results(path: Path) -> int:
    """Print whether a card, a table, or those of a folder are as the schema says. Errors: UserError where they are not."""
    from parley.analysis.schemas.validation import check_card, check_folder, check_table

    if not path.is_dir():
        print(check_card(path) if path.suffix == ".json" else check_table(path))
        return 0
    card = path / CARD
    print("\n".join([check_card(card)] if card.exists() else check_folder(path)))
    return 0


def _check_bundle(file: Path, seal: str) -> int:
    """Print what is found in a bundle. Errors: UserError where a file does not come out of the record."""
    from parley.analysis.bundles.check import DIFFERS, check_bundle

    findings = check_bundle(file, seal)
    for finding in findings:
        print(f"{finding.verdict:<8} {f'{finding.run}: ' if finding.run else ''}{finding.sentence}")
    if differing := [finding for finding in findings if finding.verdict == DIFFERS]:
        raise UserError(f"{file} does not show what its record gives: {differing[0].run}: {differing[0].sentence}")
    return 0
