"""How often the test of a registered claim supports it, where nothing is planted and where it is true.

python benchmarks/registered_tests.py [--tests 2000] [--units 20] [--only "nothing, two looks"]

A generator makes the differences of each unit (seed) on two topics: SD 1 between units, and SD 1 within. Each line is the
share of tests that support the claim at level 5%, with its 95% interval. 2,000 tests of all lines take about two minutes of
processor time; `--tests 200000` takes hours, so name a line with `--only`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import share_interval
from parley.studies.claims.claim import Claim, Contrast, Direction, Population
from parley.studies.claims.registration import corrected_level
from parley.studies.claims.confirmation import make_look

TOPICS = ("a", "b")


class Case(NamedTuple):
    """A claim and the effect that is planted. looks: how often the test looks at its units, at equal steps."""

    expected: Direction
    effect: float
    looks: int = 1


CASES: Mapping[str, Case] = {
    "nothing": Case("less", 0.0),
    "nothing, two looks": Case("less", 0.0, 2),
    "an effect of -1": Case("less", -1.0),
    "an effect as large as the bound": Case("equivalent", 1.0),
    "nothing, claimed to be equivalent": Case("equivalent", 0.0),
}


def draw_differences(rng: np.random.Generator, mean: float, units: int) -> pd.DataFrame:
    """Return the differences of two topics in each unit: seed, topic, difference."""
    unit_effects = np.repeat(rng.normal(size=units), len(TOPICS))
    values = mean + unit_effects + rng.normal(size=len(unit_effects))
    seeds = np.repeat(np.arange(units), len(TOPICS))
    return pd.DataFrame({"seed": seeds, "topic": [*TOPICS] * units, "difference": values})


def supported(case: Case, rng: np.random.Generator, units: int) -> bool:
    """Draw one test, and return whether it supports its claim at one of its looks. units: at the first look."""
    claim = Claim("", "", (), "", case.expected, 1.0, Contrast(), Population((), (), ()))
    rows, level = draw_differences(rng, case.effect, units * case.looks), corrected_level(case.looks, 1)
    counts = (units * look for look in range(1, case.looks + 1))
    return any(make_look(claim, rows[rows["seed"] < count], 0.0).decides(level) for count in counts)


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=2000)
    parser.add_argument("--units", type=int, default=20)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    for place, (name, case) in enumerate(CASES.items()):
        if options.only in (None, name):
            rng = np.random.default_rng([30, place])
            supported_count = sum(supported(case, rng, options.units) for _ in range(options.tests))
            low, high = share_interval(supported_count, options.tests)
            print(
                f"{name}: {supported_count / options.tests:.4f} ({low:.4f} to {high:.4f}) of {options.tests} tests",
                flush=True,
            )


if __name__ == "__main__":
    main()
