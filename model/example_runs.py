"""Recorded runs of real models in the folder examples/ of a checkout, as text: what models replied, and the records.

A journal is a database, which a change of the repository cannot show. So `tools/examples.py` writes it as lines of JSON, without
the times of its starts, and `restore_run` makes it again.
"""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

from parley.llm.errors import UserError
from parley.llm.journal import journal_errors, open_database
from parley.model.files import JOURNAL, RECORD

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
"""An installed package has no such folder."""
REPLIES = "journal.jsonl"
OUTCOMES = ("key", "attempt", "purpose", "voice", "failure", "prompt_tokens", "completion_tokens", "reply")


def example_titles() -> dict[str, str]:
    """Return the examples that are one run: by name the first line of its README.md. Empty in an installed package."""
    folders = sorted(record.parent for record in EXAMPLES.glob(f"*/{RECORD}"))
    return {
        folder.name: (folder / "README.md").read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
        for folder in folders
    }


def restore_run(kept: Path, folder: Path) -> Path:
    """Make a folder of results from its text, journals included, and return it. Errors: UserError where the folder is there."""
    if folder.exists():
        raise UserError(f"{folder} exists already: choose another folder")
    for path in sorted(kept.rglob("*")):
        place = path.relative_to(kept)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        if path.name == REPLIES:
            _write_journal(path, folder / place.with_name(JOURNAL))
        elif path.is_file():
            shutil.copyfile(path, folder / place)
    return folder


def _write_journal(lines: Path, journal: Path) -> None:
    first, *rest = map(json.loads, lines.read_text(encoding="utf-8").splitlines())
    for line in rest:
        line |= {"key": bytes.fromhex(line["key"]), "reply": json.dumps(line["reply"])}
    with journal_errors(journal), closing(open_database(journal)) as database, database:
        database.execute("BEGIN")
        database.execute("INSERT INTO meta VALUES ('identity', ?)", (json.dumps(first["identity"], sort_keys=True),))
        database.executemany(
            f"INSERT INTO outcomes VALUES ({', '.join('?' * len(OUTCOMES))})",
            [tuple(map(line.get, OUTCOMES)) for line in rest],
        )
