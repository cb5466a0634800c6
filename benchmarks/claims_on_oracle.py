"""How often an audit of `study claim` on the oracle finds settings that the oracle does not read.

    python benchmarks/claims_on_oracle.py [--audits 200] [--out claims_on_oracle.csv]     (about 8 s an audit on one core)

The oracle (the rule-based speaker) reads neither wording nor white space, so no setting matters. A row of the file is an audit:
seed, share of all settings together, and its interval. Seeds that the file has are not run again.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

from parley.analysis.outcomes import RoomMeasure
from parley.analysis.statistics.intervals import share_interval
from parley.llm.budget import Budget
from parley.model.sweep.cell_runner import SweepJob
from parley.model.sweep.runner import run_cells
from parley.studies.claims.claim import load_claim
from parley.studies.claims.curve import whole_specifications
from parley.studies.claims.multiverse import Multiverse, given_fields
from parley.studies.claims.variance import setting_share

SPECIFICATIONS, REPETITIONS = 24, 3
CLAIM = """
claim = "Agents disagree less after four rounds than after two."
scenario = "two_way"
outcome = "polarisation.variance"
expected = "less"
smallest = 0.5

[contrast]
first = ["rounds=4"]
second = ["rounds=2"]

[population]
topics = ["racism"]
personas = ["enhanced", "simple"]
models = ["oracle"]
"""


def audit(seed: int) -> tuple[float, float, float]:
    """Return the share of the variance that all settings together have, and its 95% interval."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "claim.toml")
        file.write_text(CLAIM, encoding="utf-8")
        multiverse = Multiverse(load_claim(file), SPECIFICATIONS, REPETITIONS, seed)
        jobs = [SweepJob(cell, Path(folder), given_fields(multiverse)) for cell in multiverse.cells()]
        results = run_cells(jobs, RoomMeasure(multiverse.claim.measure), 1, Budget(), None, _silent, _silent)
        measured = {place: result.found for place, result in results}
    used = whole_specifications(multiverse.differences(measured))
    meant = [dimension.name for dimension in multiverse.dimensions if dimension.meant]
    fit = setting_share(used, meant, [], [dimension.name for dimension in multiverse.dimensions if not dimension.meant])
    return fit.share, fit.low, fit.high


def _silent(*_: object) -> None:
    pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("claims_on_oracle.csv"))
    options = parser.parse_args()
    rows = list(csv.reader(options.out.open())) if options.out.exists() else []
    low_by_seed = {int(row[0]): float(row[2]) for row in rows}
    for seed in range(options.audits):
        if seed not in low_by_seed:
            measured_share = audit(seed)
            with options.out.open("a", newline="") as file:
                csv.writer(file).writerow([seed, *measured_share])
            low_by_seed[seed] = measured_share[1]
    held = sum(low <= 0 for low in low_by_seed.values())
    low, high = share_interval(held, len(low_by_seed))
    print(
        f"The interval holds 0 in {held} of {len(low_by_seed)} audits ({held / len(low_by_seed):.3f}, {low:.3f} to {high:.3f})."
    )


if __name__ == "__main__":
    main()
