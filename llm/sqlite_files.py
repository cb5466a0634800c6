"""Opens SQLite files so that what is in them is data: a file of a stranger may hold views that never end, or triggers.

Source of the rules: "Defense Against The Dark Arts" in the documentation of SQLite.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

LONGEST_VALUE = 1 << 26
"""The bytes of the longest text or row: a function in a schema can ask for a gigabyte."""
STEP, STEPS_PER_BYTE, FEWEST_STEPS = 1_000_000, 20, 5
"""A reading connection may take so many instructions of SQLite's machine a byte of its file, counted in STEPs, and at least
FEWEST_STEPS of them: several times what our own queries need, which read each row once.
"""
_ODD = """
SELECT type || ' ' || name FROM sqlite_master WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'
UNION ALL
SELECT 'column ' || found.name FROM sqlite_master AS master, pragma_table_xinfo(master.name) AS found
WHERE master.type = 'table' AND found.hidden
LIMIT 1
"""


def read_sqlite(path: Path) -> sqlite3.Connection:
    """Open a file for reading only, with a limit on the work. Errors: sqlite3.Error, as `check_schema`."""
    log = path.with_name(f"{path.name}-wal")
    # without a log no process writes, and the folder may be read-only
    mode = "mode=ro" if log.exists() else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?{mode}", uri=True)
    left = FEWEST_STEPS + STEPS_PER_BYTE * (path.stat().st_size if path.is_file() else 0) // STEP

    def is_spent() -> int:
        nonlocal left
        left -= 1
        return int(left < 0)

    connection.set_progress_handler(is_spent, STEP)
    return check_schema(connection)


def check_schema(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection whose file has only plain tables; close any other. Errors: sqlite3.Error, which names what it has."""
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        if odd := connection.execute(_ODD).fetchone():
            raise sqlite3.DatabaseError(f"it has a {odd[0]}, and Parley reads plain tables only")
    except sqlite3.Error:
        connection.close()
        raise
    return connection
