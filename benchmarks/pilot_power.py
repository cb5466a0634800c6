"""How often the interval that a pilot gives for the power of a registered test contains the true power.

python benchmarks/pilot_power.py [--pilots 200] [--only "no variance between seeds"]

A generator makes the differences of pilots with known components. Each line: the share of pilots whose interval of the power with
40 units, and whose interval of the units for a power of .80, contain the truth; the true numbers; and the medians found.
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
from parley.studies.claims.claim import Claim, Contrast, Population
from parley.studies.claims.pilot import FEWEST_UNITS, MOST, POWER, plan_power
from parley.analysis.statistics.power import power_of_mean, units_needed

UNITS, LEVEL, SMALLEST = 40, 0.05, 0.5


class Case(NamedTuple):
    """A pilot, and standard deviations. people: so many groups that all sit in every seed; 0: each seed has its own."""

    seeds: int = 12
    topics: int = 4
    planned: int = 4
    topic: float = 1.0
    seed: float = 1.0
    person: float = 0.0
    chance: float = 1.0
    people: int = 0


CASES: Mapping[str, Case] = {
    "12 seeds, 4 topics": Case(),
    "6 seeds, 2 topics": Case(seeds=6, topics=2, planned=2),
    "40 seeds, one topic": Case(seeds=40, topics=1, planned=1),
    "no variance between seeds": Case(seed=0.0),
    "no variance between topics": Case(topic=0.0),
    "almost no residual": Case(chance=0.05),
    "a plan of 2 of the topics": Case(planned=2),
    "8 groups of people in 6 seeds": Case(seeds=6, people=8, person=1.0),
    "8 groups of people that do not differ": Case(seeds=6, people=8),
}


def draw_pilot(rng: np.random.Generator, case: Case) -> pd.DataFrame:
    """Return the differences of a pilot."""
    seed, group, topic = (axis.ravel() for axis in np.indices((case.seeds, max(case.people, 1), case.topics)))
    people = group if case.people else seed
    person_effects = rng.normal(0, case.person, people.max() + 1)[people]
    levels = rng.normal(0, case.topic, case.topics)[topic] + rng.normal(0, case.seed, case.seeds)[seed]
    values = levels + person_effects + rng.normal(0, case.chance, len(seed))
    names = {"topic": topic.astype(str), "people": people.astype(str)}
    return pd.DataFrame({**names, "repetition": group, "seed": seed, "difference": values})


def claim_of(topics: int) -> Claim:
    """Return a claim on so many topics whose smallest effect of interest is SMALLEST."""
    population = Population(tuple(map(str, range(topics))), (), ())
    return Claim("", "", (), "", "greater", SMALLEST, Contrast(), population)


def true_variance(case: Case) -> float:
    """Return the variance of a unit of the plan: a seed with other people, over its topics."""
    return case.seed**2 + case.person**2 + case.chance**2 / case.planned


def true_power(variance: float, units: int) -> float:
    """Return the power if the variance between units is known."""
    return power_of_mean(SMALLEST, variance, units, LEVEL)


def examine(
    case: Case, pilots: int, rng: np.random.Generator
) -> tuple[list[bool], list[bool], list[tuple[float, float]]]:
    """Return for each pilot whether each of its two intervals contains the truth, and its power and units."""
    variance = true_variance(case)
    power, needed = true_power(variance, UNITS), _number(units_needed(true_power, variance, POWER, FEWEST_UNITS, MOST))
    of_power, of_units, middles = [], [], []
    for _ in range(pilots):
        plan = plan_power(claim_of(case.planned), draw_pilot(rng, case), UNITS, LEVEL, 0.0)
        (middle, low, high), (units, fewest, most) = plan.power, map(_number, plan.needed)
        of_power.append(low <= power <= high)
        of_units.append(fewest <= needed <= most)
        middles.append((middle, units))
    return of_power, of_units, middles


def _number(units: int | None) -> float:
    return np.inf if units is None else float(units)


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pilots", type=int, default=200)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    for place, (name, case) in enumerate(CASES.items()):
        if options.only not in (None, name):
            continue
        of_power, of_units, middles = examine(case, options.pilots, np.random.default_rng([31, place]))
        low, high = share_interval(sum(of_power), options.pilots)
        power, units = np.median(middles, axis=0)
        variance = true_variance(case)
        print(
            f"{name}: power {np.mean(of_power):.3f} ({low:.3f} to {high:.3f}), units {np.mean(of_units):.3f}; true "
            f"{true_power(variance, UNITS):.2f} and {units_needed(true_power, variance, POWER, FEWEST_UNITS, MOST)}, "
            f"found {power:.2f} and {units:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
