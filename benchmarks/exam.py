"""The exam of every statistic: coverage and false alarms on data of known truth.

python benchmarks/exam.py [--out docs] [--only NAME] [--again] [--share 1.0]

A row of exam.csv is one statistic (examined/) on one kind of data with one number of units: sets, known (sets with a
result), unknown
(share without), missed (share of results that miss the truth: an interval that leaves it out,
      a test that claims what is not there),
low and high (95% interval of that share, Wilson), uniform (p that the ranks of the truth among the draws of a fit are
uniform), and
verdict. The bar is 3.5 to 6.5% of misses. A row that is there with all its sets is not counted again (--again counts those
of --only anew). Then the page
exam.md, exam_statistics.csv and the figure exam.svg are written anew. --share: that part of the sets, for a quick look.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd
from scipy.stats import kstest

from examined import ENTRIES
from examined.entry import Entry
from examined.page import draw_figure, write_page
from parley.analysis.statistics.intervals import share_interval

LOW, HIGH = 0.035, 0.065
"""Of misses: the bar."""
UNEVEN = 0.001
"""A p below this: the ranks are not uniform."""
FEWEST = 30
"""Results that a verdict on a statistic needs."""
NO_VERDICT, WITHIN, OFTEN, SELDOM, CROOKED = "no verdict", "within", "too often", "too seldom", "not uniform"
KEY = ["statistic", "data", "units"]


def examine(entry: Entry, kind: str, units: int, sets: int) -> dict[str, object]:
    """Return one row of exam.csv."""
    began = time.process_time()
    rng = np.random.default_rng([units, crc32(f"{entry.name} {kind}".encode())])
    outcomes: list[float] = []
    for number in range(sets):
        outcome = entry.draw(rng, units, kind)
        outcomes += [] if outcome is None else [float(outcome)]
        if number == FEWEST and not outcomes:
            break  # a statistic that has said nothing of so many data sets says nothing
    row: dict[str, object] = {
        "statistic": entry.name,
        "data": kind,
        "units": units,
        "unit": entry.unit,
        "role": entry.role,
    }
    row |= {"sets": number + 1, "known": len(outcomes), "unknown": round(1 - len(outcomes) / (number + 1), 4)}
    row |= _judged(entry, outcomes)
    return row | {"seconds": round(time.process_time() - began, 2)}


def _judged(entry: Entry, outcomes: list[float]) -> dict[str, object]:
    """Return missed, low, high, uniform and the verdict."""
    nothing = {"missed": None, "low": None, "high": None, "uniform": None, "verdict": NO_VERDICT}
    if len(outcomes) < FEWEST:
        return nothing
    missed = sum(map(entry.missed, outcomes))
    low, high = share_interval(missed, len(outcomes))
    verdict = OFTEN if low > HIGH else SELDOM if high < LOW and not entry.at_most else WITHIN
    uniform = float(kstest(outcomes, "uniform").pvalue) if entry.role == "rank" else None
    if uniform is not None and uniform < UNEVEN and verdict == WITHIN:
        verdict = CROOKED
    numbers = {"missed": missed / len(outcomes), "low": low, "high": high, "uniform": uniform}
    return {name: None if value is None else round(value, 4) for name, value in numbers.items()} | {"verdict": verdict}


def sit_exam(path: Path, entries: Iterable[Entry], again: bool, share: float) -> pd.DataFrame:
    """Count the rows that are missing, and return all. Each row is written as soon as it is counted."""
    done = pd.read_csv(path, keep_default_na=False, na_values=[""]).to_dict("records") if path.is_file() else []
    chosen = [(entry, kind, units) for entry in entries for kind in entry.kinds for units in entry.sizes]
    chosen_keys = {(entry.name, kind, units) for entry, kind, units in chosen}
    rows = [row for row in done if _key(row) not in chosen_keys or not (again or row["sets"] < wanted(row, share))]
    counted_keys = set(map(_key, rows))
    for entry, kind, units in chosen:
        if (entry.name, kind, units) not in counted_keys:
            rows.append(examine(entry, kind, units, max(FEWEST, round(entry.sets * share))))
            write_rows(rows, path)
            print(f"{entry.name}, {kind}, {units}: {rows[-1]['seconds']} s", flush=True)
    return write_rows(rows, path)


def _key(row: Mapping[str, object]) -> tuple[object, ...]:
    return tuple(row[name] for name in KEY)


def wanted(row: Mapping[str, object], share: float) -> int:
    """Return how many data sets make a row complete: those of its entry, fewer where none of the first has a result."""
    sets = next((entry.sets for entry in ENTRIES if entry.name == row["statistic"]), 0)
    return min(max(FEWEST, round(sets * share)), sets if row["known"] else FEWEST + 1)


def write_rows(rows: list[dict[str, object]], path: Path) -> pd.DataFrame:
    """Write the rows of statistics of the registry in its order; return them."""
    order = {(entry.name, kind, units): place for place, (entry, kind, units) in enumerate(
        (entry, kind, units) for entry in ENTRIES for kind in entry.kinds for units in entry.sizes)}  # fmt: skip
    kept = [row for row in rows if (row["statistic"], row["data"], row["units"]) in order]
    table = pd.DataFrame(sorted(kept, key=lambda row: order[row["statistic"], row["data"], row["units"]]))
    table.to_csv(path, index=False, lineterminator="\n")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of exam.csv, exam.md and exam.svg")
    parser.add_argument("--only", default="", help="statistics whose name has this in it")
    parser.add_argument("--again", action="store_true", help="count their rows anew")
    parser.add_argument("--share", type=float, default=1.0, help="that part of the data sets, for a quick look")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    chosen = [entry for entry in ENTRIES if options.only in entry.name]
    table = sit_exam(options.out / "exam.csv", chosen, options.again, options.share)
    draw_figure(table, options.out / "exam.svg")
    write_page(table, options.out / "exam.md")
    print(table["verdict"].value_counts().to_string())


if __name__ == "__main__":
    main()
