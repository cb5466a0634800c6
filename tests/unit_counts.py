"""Whether a table with an interval says over how many units it is."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

UNITS = (
    "blocks|cases|debates|differences|groups|items|levels|messages|n|of|pairings|pairs|people|posts|problems|questions|repetitions|"
    "respondents|rooms|runs|seeds|sessions|statements|texts|topics|units|versions"
)  # fmt: skip
COUNT = re.compile(rf"(.*_)?({UNITS})")
"""The name of a column that counts units: `rooms`, `win_cases`, `n`."""


def lacks_count(columns: Iterable[object]) -> bool:
    """Return whether a table has an interval (NAME_low, or low) and no count of units.

    >>> lacks_count(["appeal", "difference", "difference_low", "difference_high"])
    True
    >>> lacks_count(["appeal", "rooms", "difference", "difference_low", "difference_high"])
    False
    """
    names = [str(name) for name in columns]
    return any(re.fullmatch("(.*_)?low", name) for name in names) and not any(map(COUNT.fullmatch, names))


def tables_without_counts(folder: Path) -> list[str]:
    """Return the paths of the tables in a folder that lack a count of units."""
    found = []
    for path in sorted(folder.rglob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            if lacks_count(next(csv.reader(file), [])):
                found.append(path.relative_to(folder).as_posix())
    return found


def check_what_is_written() -> None:
    """From now on, writing a table with an interval and no count of units is an AssertionError.

    It does nothing before the module that writes tables is loaded: most tests write none.
    """
    export: Any = sys.modules.get("parley.analysis.table_export")
    if export is None or hasattr(export.harmless, "checked"):
        return
    harmless = export.harmless

    def checked(frame: Any) -> Any:
        assert not lacks_count(frame), f"a table with an interval has no count of units (rooms, people): {list(frame)}"
        return harmless(frame)

    checked.checked = True  # type: ignore[attr-defined]
    export.harmless = checked
