"""Rules of what is written: a table with an interval says over how many units it is, an interval has its estimate within it
and ends where the quantity ends, and "In short" is short."""

from __future__ import annotations

import csv
import math
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

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


ENDS = {
    re.compile(r"(.*_)?(share|accuracy|sensitivity|specificity|power)"): (0.0, 1.0),
    re.compile(r"(.*_)?(correlation|tau|rho)"): (-1.0, 1.0),
    re.compile(r"(.*_)?(alpha|kappa|ac1)"): (-math.inf, 1.0),
}
"""Where quantities end, by the names of their columns."""
ROUNDING = 1e-6


def wrong_intervals(frame: pd.DataFrame) -> list[str]:
    """Return what is wrong with the intervals of a table: ends in the wrong order, an estimate outside, an end that cannot be.

    >>> wrong_intervals(pd.DataFrame({"share": [0.9], "share_low": [0.7], "share_high": [1.2], "rooms": [5]}))
    ['share_high is up to 1.2, and share ends at 1.0']
    >>> wrong_intervals(pd.DataFrame({"estimate": [0.9, None], "low": [1.0, None], "high": [1.2, None], "rooms": [5, 5]}))
    ['estimate 0.9 lies outside its interval (1.0 to 1.2)']
    """
    numbers = frame.apply(pd.to_numeric, errors="coerce")
    return [fault for name in map(str, frame) if re.fullmatch("(.*_)?low", name) for fault in _faults(numbers, name)]


def _faults(numbers: pd.DataFrame, name: str) -> Iterator[str]:
    stem = name.removesuffix("low").removesuffix("_")
    low, high = numbers[name], numbers.get(f"{stem}_high" if stem else "high")
    estimate = numbers.get(stem or "estimate")
    # An interval over these units, beside another over others; a range of shuffled draws, whose mean ties may put outside.
    if high is None or COUNT.fullmatch(stem) or stem.endswith("_null"):
        return
    if (low > high + ROUNDING).any():
        yield f"{name} lies above its high end"
    if estimate is None:
        return
    for outside in numbers.index[(estimate < low - ROUNDING) | (estimate > high + ROUNDING)]:
        yield f"{estimate.name} {estimate[outside]} lies outside its interval ({low[outside]} to {high[outside]})"
    if "share_reason" in numbers:  # the share of a movement has no ends: a part of it may go against the whole
        return
    for kind, (lowest, highest) in ENDS.items():
        if kind.fullmatch(stem) and low.min() < lowest - ROUNDING:
            yield f"{low.name} is down to {low.min()}, and {stem} begins at {lowest}"
        if kind.fullmatch(stem) and high.max() > highest + ROUNDING:
            yield f"{high.name} is up to {high.max()}, and {stem} ends at {highest}"


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
        assert not (wrong := wrong_intervals(frame)), f"a table of {list(frame)}: {'; '.join(wrong[:5])}"
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
        page = path.read_text(encoding="utf-8")
        count = sentences_in_short(page)
        assert count is None or 1 <= count <= 5, (
            f"{count} sentences under In short of {path.name}: {SHORT.findall(page)}"
        )
        return path

    checked.checked = True  # type: ignore[attr-defined]
    reports.Report.write = checked
