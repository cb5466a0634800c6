"""Rules of what is written: a table with an interval says over how many units it is, and "In short" is short."""

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

    So is a page whose "In short" has no sentence, or more than five. It does nothing before the modules that write are loaded:
    most tests write none.
    """
    _check_pages(sys.modules.get("parley.analysis.report"))
    export: Any = sys.modules.get("parley.analysis.table_export")
    if export is None or hasattr(export.harmless, "checked"):
        return
    harmless = export.harmless

    def checked(frame: Any) -> Any:
        assert not lacks_count(frame), f"a table with an interval has no count of units (rooms, people): {list(frame)}"
        return harmless(frame)

    checked.checked = True  # type: ignore[attr-defined]
    export.harmless = checked


SHORT = re.compile(r"## In short\n\n((?:- .*\n?)+)")
SENTENCE = re.compile(r"[.!?][”)*]*(?= [A-Z0-9`“*(]|$)")
"""The end of a sentence."""


def sentences_in_short(page: str) -> int | None:
    """Return how many sentences the list under "In short" has; None for a page without one.

    >>> sentences_in_short("# A\\n\\n## In short\\n\\n- **Up.** It rose by 0.4 (A et al. 2023). 3 fell.\\n- So.\\n\\n## B")
    4
    """
    found = SHORT.search(page)
    if "## In short" not in page:
        return None
    lines = found[1].strip().split("\n") if found else []
    return sum(len(SENTENCE.findall(line.replace("et al. ", "et al "))) for line in lines)


def _check_pages(reports: Any) -> None:
    if reports is None or hasattr(reports.Report.write, "checked"):
        return
    write = reports.Report.write

    def checked(report: Any) -> Path:
        path: Path = write(report)
        count = sentences_in_short(path.read_text(encoding="utf-8"))
        assert count is None or 1 <= count <= 5, f"{count} sentences in the section In short of {path.name}"
        return path

    checked.checked = True  # type: ignore[attr-defined]
    reports.Report.write = checked
