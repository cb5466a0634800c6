"""Keeps finished runs of real models in examples/, and makes them again from there.

python -m tools.examples keep RUN NAME TITLE COMMAND   the run's text and a page about it go to examples/NAME
python -m tools.examples restore NAME FOLDER           a run folder, with its journal
python -m tools.examples check NAME                    is every record what its journal gives, byte for byte?
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parley.llm.errors import UserError
from parley.llm.journal import query
from parley.model.example_runs import EXAMPLES, OUTCOMES, REPLIES, restore_run
from parley.model.files import JOURNAL, RECORD
from parley.model.recorder import to_line
from parley.model.sent_requests import replay_record

KEPT = {".jsonl", ".json", ".md", ".csv", ".toml"}
"""Endings of the files that are kept: text that no command makes again from the others, and pages to read."""
MADE_AGAIN = {"tables", "figures"}
MACHINE = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|Users|mnt|srv)\b[^\s\"']*")
"""The path of a machine, which no example may name."""


def keep(folder: Path, name: str, title: str, command: str) -> None:
    """Keep a folder of results as examples/NAME. Errors: UserError where a file names a path of this machine."""
    kept = EXAMPLES / name
    keep_run(folder, kept)
    (kept / "README.md").write_text(page(folder, title, command), encoding="utf-8")
    for path in kept.rglob("*"):
        if path.is_file() and (match := MACHINE.search(path.read_text(encoding="utf-8"))):
            raise UserError(f"{path} names a path of this machine: {match[0]}")


def keep_run(folder: Path, kept: Path) -> None:
    """Copy a folder of results as text: records, settings and pages as they are, journals as lines of JSON."""
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        if MADE_AGAIN & set(place.parts) or not path.is_file():
            continue
        (kept / place).parent.mkdir(parents=True, exist_ok=True)
        if path.name == JOURNAL:
            (kept / place.with_name(REPLIES)).write_text(_lines(path), encoding="utf-8")
        elif path.suffix in KEPT:
            shutil.copyfile(path, kept / place)


def _lines(journal: Path) -> str:
    identity = query(journal, "SELECT value FROM meta WHERE name = 'identity'")[0][0]
    rows = query(journal, f"SELECT lower(hex(key)), {', '.join(OUTCOMES[1:])} FROM outcomes ORDER BY key, attempt")
    outcomes = [dict(zip(OUTCOMES, (*row[:-1], json.loads(row[-1])), strict=True)) for row in rows]
    return "".join(json.dumps(line) + "\n" for line in ({"identity": json.loads(identity)}, *outcomes))


def page(folder: Path, title: str, command: str) -> str:
    """The page of an example: what was run, on which weights, when, and how long it took."""
    journals = sorted(folder.rglob(JOURNAL))
    identities = {
        json.dumps(identity, sort_keys=True): identity
        for journal in journals
        for (text,) in query(journal, "SELECT value FROM meta WHERE name = 'identity'")
        for identity in identities_of(json.loads(text))
        if "weights" in identity  # scripted partners of a bias card have none
    }.values()
    sittings = [
        sitting for journal in journals for sitting in query(journal, "SELECT started, seconds, asked FROM sittings")
    ]
    started = datetime.fromtimestamp(min(start for start, _, _ in sittings), UTC)
    call_count, seconds = sum(calls for _, _, calls in sittings), sum(time or 0 for _, time, _ in sittings)
    models = "".join(
        f"- model: {identity['model']}, weights `{identity['weights']}` (digest of the file's length and samples), "
        f"{', '.join(f'{package} {version}' for package, version in identity.get('versions', {}).items())}\n"
        for identity in identities
    )
    return (
        f"# {title}\n\n```sh\n{command}\n```\n\n- date: {started:%Y-%m-%d}\n{models}- {call_count:,} calls in "
        f"{seconds / 60:.0f} minutes on a share of two cores that other work used\n"
    )


def identities_of(identity: dict[str, Any]) -> list[dict[str, Any]]:
    """The models of a journal: one, or several by name."""
    if "model" in identity:
        return [identity]
    return [
        model_identity
        for inner in identity.values()
        if isinstance(inner, dict)
        for model_identity in identities_of(inner)
    ]


def differing(kept: Path, folder: Path) -> list[str]:
    """Restore an example and replay its records; return the first line of each that its journal does not give."""
    differences = []
    for record in sorted(restore_run(kept, folder).rglob(RECORD)):
        lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
        replayed = list(map(to_line, replay_record(record)))
        differs = [
            number for number, pair in enumerate(zip(lines[1:-1], replayed, strict=False), 2) if pair[0] != pair[1]
        ]
        if differs or len(replayed) != len(lines) - 2:
            differences.append(
                f"{record.parent.relative_to(folder)}, line {differs[0] if differs else len(replayed) + 2}"
            )
    return differences


def main(arguments: list[str]) -> int:
    """Run the command. Returns 1 where a record is not what its journal gives."""
    match arguments:
        case ["keep", folder, name, title, command]:
            keep(Path(folder), name, title, command)
        case ["restore", name, folder]:
            print(restore_run(EXAMPLES / name, Path(folder)))
        case ["check", name]:
            with TemporaryDirectory() as folder:
                differ = differing(EXAMPLES / name, Path(folder) / name)
            print("\n".join(differ) or "every record comes out of its journal")
            return bool(differ)
        case _:
            raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
