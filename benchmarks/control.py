"""How often reports claim something where nothing happens (null_reports.py): false lines of whole reports.

python benchmarks/control.py [--seeds 20] [--first 0] [--rooms 5,10] [--reports summary,card,...] [--minutes 12] [--out docs]

A seed is a report with people and chance of its own. The rows of a seed depend on each other, so that the unit of the interval
is the seed. A row of exam_reports.csv is one kind of line of a report: seeds, lines, claimed, share, low and high (95% interval
of the share over seeds; empty below five seeds), chance (the most false lines that independent lines have by chance: the 97.5%
point of the binomial distribution at 5%), and verdict. `too often`: the interval over seeds is above 5%. Counts by seed are kept
in --keep and are not made again; --minutes stops between seeds after that much processor time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd
from scipy.stats import binom

from null_reports import ALPHA, REPORTS
from parley.analysis.statistics.intervals import clustered_share_interval

KEY = ["report", "rooms"]
WHOLE = "whole report"
OFTEN, WITHIN, NO_VERDICT = "too often", "within", "no verdict"


def count_seed(report: str, rooms: int, seed: int) -> pd.DataFrame:
    """Return one row per kind of line of one report: report, rooms, seed, line, lines, claimed, seconds."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        made = pd.DataFrame(REPORTS[report](seed, rooms, Path(folder)), columns=["line", "claimed"])
    counted = made.groupby("line", sort=False)["claimed"].agg(lines="size", claimed="sum").reset_index()
    where = pd.DataFrame({"report": report, "rooms": rooms, "seed": seed}, index=counted.index)
    return pd.concat([where, counted], axis=1).assign(seconds=round(time.process_time() - began, 1))


def count_lines(by_seed: pd.DataFrame) -> pd.DataFrame:
    """Return one row per report, rooms and kind of line, the whole report last: the columns of exam_reports.csv."""
    rows = []
    for (report, rooms), report_counts in by_seed.groupby(KEY, sort=False):
        kinds = [
            *((str(name), lines) for name, lines in report_counts.groupby("line", sort=False)),
            (WHOLE, report_counts),
        ]
        for name, lines in kinds:
            sums = lines.groupby("seed")[["claimed", "lines"]].sum().astype(float)
            rows.append({"report": report, "rooms": rooms, "line": name, **_row(sums)})
    return pd.DataFrame(rows)


def _row(sums: pd.DataFrame) -> dict[str, object]:
    claimed, lines = int(sums["claimed"].sum()), int(sums["lines"].sum())
    low, high = clustered_share_interval(sums["claimed"].to_numpy(), sums["lines"].to_numpy())
    verdict = NO_VERDICT if np.isnan(low) else OFTEN if low > ALPHA else WITHIN
    ends = {name: None if np.isnan(end) else round(end, 4) for name, end in (("low", low), ("high", high))}
    counts = {"seeds": len(sums), "lines": lines, "claimed": claimed, "share": round(claimed / lines, 4)}
    return {**counts, **ends, "chance": int(binom.ppf(0.975, lines, ALPHA)), "verdict": verdict}


def hold_control(
    keep: Path, reports: Sequence[str], rooms: Sequence[int], seeds: Sequence[int], minutes: float
) -> pd.DataFrame:
    """Return the counts by seed, and write them after each seed; those that are there are not made again."""
    tables = [pd.read_csv(keep)] if keep.is_file() else []
    counted = {key for frame in tables for key in zip(frame["report"], frame["rooms"], frame["seed"], strict=True)}
    began = time.process_time()
    keep.parent.mkdir(parents=True, exist_ok=True)
    for seed, report, count in product(seeds, reports, rooms):
        if (report, count, seed) not in counted and time.process_time() - began < 60 * minutes:
            tables.append(count_seed(report, count, seed))
            pd.concat(tables).to_csv(keep, index=False, lineterminator="\n")
            print(f"{report}, {count} rooms, seed {seed}: {tables[-1]['seconds'].iloc[0]} s", flush=True)
    return pd.concat(tables, ignore_index=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--rooms", default="5,10")
    parser.add_argument("--reports", default=",".join(REPORTS))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of processor time")
    parser.add_argument("--keep", type=Path, default=Path("runs/control.csv"), help="the counts by seed")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of exam_reports.csv")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    rooms = [int(count) for count in options.rooms.split(",")]
    by_seed = hold_control(options.keep, options.reports.split(","), rooms, seeds, options.minutes)
    table = count_lines(by_seed)
    table.to_csv(options.out / "exam_reports.csv", index=False, lineterminator="\n")
    print(table.to_string(index=False))


if __name__ == "__main__":
    main()
