"""What a pilot says of a plan: sources of variance, the power of the test, the units it needs.

The model: difference = average + effect of the topic + of the people + of the seed + residual, all random and crossed (REML). A
unit of the test is a seed with other people, and averages over its topics. So its variance is that of people and seeds, plus that
of the residual divided by the number of topics. The topics of a plan are fixed, so their variance is no part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import chi2

from parley.analysis.formatting import count_phrase, format_number
from parley.analysis.statistics.intervals import ALIKE, LEVEL, Floats
from parley.analysis.statistics.power import power_of_mean, units_needed
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError
from parley.studies.claims.claim import Claim
from parley.studies.claims.curve import FEWEST_UNITS, MOST_MISSING
from parley.studies.claims.variance import RESIDUAL, indicators, variance_components

TABLE = "differences.csv"
TOPIC, PEOPLE, SEED, GROUP = "topic", "people", "seed", "group in a seed"
FEWEST_LEVELS = 5
"""Fewest levels of a source for which its variance is shown."""
MOST = 10_000
ALL = 0.995
"""A power that is printed as 1.00."""
POWER = 0.8
COLUMNS = ("topic", "repetition", "people", "seed", "difference")


@dataclass(frozen=True)
class Components:
    """variance, levels: by source; the residual has no levels. unit: the variance of a unit's mean over the topics of the plan.

    df: the degrees of freedom of that variance (Satterthwaite).
    """

    variance: Mapping[str, float]
    levels: Mapping[str, int]
    unit: float
    df: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the variance of a unit, by chi squared."""
        ends = chi2.ppf([(1 + LEVEL) / 2, (1 - LEVEL) / 2], self.df)
        low, high = self.unit * self.df / ends
        return float(low), float(high)


@dataclass(frozen=True)
class Power:
    """Of a plan: the power, and the units for `POWER` (None: more than MOST). Each has the ends that follow from those of the
    variance of a unit.
    """

    components: Components
    power: tuple[float, float, float]
    needed: tuple[int | None, int | None, int | None]


def read_pilot(folder: Path) -> pd.DataFrame:
    """Return the differences of a folder of `run.py study confirm` or `run.py study claim`. Errors: UserError."""
    path = folder / TABLE
    try:
        rows = pd.read_csv(path, dtype={"topic": str, "people": str, "seed": int, "difference": float})
    except (OSError, ValueError) as error:
        raise UserError(
            f"cannot read {path}: --pilot is the folder of run.py study confirm or run.py study claim"
        ) from error
    if lacking := sorted(set(COLUMNS) - set(rows)):
        raise UserError(
            f"{path} lacks {', '.join(lacking)}: --pilot is the folder of run.py study confirm or run.py study claim"
        )
    return rows


def check_compared(pilot: pd.DataFrame, claim: Claim, where: Path) -> None:
    """Errors: UserError for a pilot of another scenario, contrast or outcome: its variance is that of other differences."""
    for name, wanted in claim.compared.items():
        pilot_value = " ".join(map(str, pilot.get(name, pd.Series(["unknown"])).unique()))
        if pilot_value != wanted:
            raise UserError(
                f"{where} has another {name.replace('_', ' ')} than the claim ({pilot_value}, not {wanted}): "
                "run a pilot of this claim"
            )


def check_seeds(pilot: pd.DataFrame, first: int, units: int, where: Path) -> None:
    """Errors: UserError for a plan that would test on the seeds of its pilot."""
    if set(range(first, first + units)) & set(pilot["seed"]):
        other = int(pilot["seed"].max()) + 1
        raise UserError(f"{where} has run some of these seeds already: give another --seed, such as {other}")


def estimate_components(rows: pd.DataFrame, topics: int) -> Components:
    """Return the components of the differences of a pilot (without missing ones), for a plan with so many topics or fewer."""
    factors = _factors(rows)
    variance = variance_components(rows["difference"].to_numpy(dtype=float), factors)
    levels = {name: len(np.unique(codes)) for name, codes in factors.items()}
    # All units are means over the same topics: effects of topics do not vary between units, and residuals average out.
    weights = np.array([0.0 if name == TOPIC else 1 / topics if name == RESIDUAL else 1.0 for name in variance])
    unit = float(weights @ list(variance.values()))
    error = float(weights @ np.linalg.pinv(_information(variance, factors, len(rows))) @ weights)
    df = 2 * unit**2 / error if error > 0 else math.inf
    return Components(variance, levels, unit, min(max(df, 1.0), len(rows) - 1.0))


def _factors(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return the sources that can be separated: other groupings of the rows than those before, and not a level for each row."""
    factors: dict[str, np.ndarray] = {}
    groupings = {TOPIC: ["topic"], SEED: ["seed"], PEOPLE: ["people"], GROUP: ["seed", "repetition", "people"]}
    for name, columns in groupings.items():
        codes = rows.groupby(columns, sort=True).ngroup().to_numpy()
        several = 1 < len(np.unique(codes)) < len(rows)
        if several and all(_differ(codes, other_codes) for other_codes in factors.values()):
            factors[name] = codes
    return factors


def _differ(first: np.ndarray, second: np.ndarray) -> bool:
    """Return whether two groupings of the rows differ."""
    pairs = len({*zip(first.tolist(), second.tolist(), strict=True)})
    return not pairs == len(np.unique(first)) == len(np.unique(second))


def _information(variance: Mapping[str, float], factors: Mapping[str, np.ndarray], rows: int) -> Floats:
    """Return the expected information of the components in the restricted likelihood. A component of 0 is one of them.

    Source: Searle, Casella and McCulloch 1992, Variance Components, 6.6.
    """
    parts = [*(indicators(codes) for codes in factors.values()), np.eye(rows)]
    whole = np.zeros((rows, rows))
    for size, block in zip(variance.values(), parts, strict=True):
        whole += size * block @ block.T
    inverse = np.linalg.inv(whole)
    ones = inverse.sum(axis=1, keepdims=True)
    projected = inverse - ones @ ones.T / ones.sum()
    halves = [projected @ block for block in parts]
    return np.array([[float(((first.T @ half) ** 2).sum()) / 2 for half in halves] for first in parts])


def why_unknown(pilot: pd.DataFrame, topics: int, missing: float) -> str:
    """Return why a pilot says nothing of the power of a plan; empty if it does. missing: as registered."""
    usable, lost = _units(pilot, missing)
    if len(usable) < FEWEST_UNITS:
        return (
            f"the pilot has {count_phrase(len(usable), 'unit')} with a number, but at least {FEWEST_UNITS} are needed"
        )
    if lost > MOST_MISSING:
        return f"{lost:.0%} of the units (seeds) of the pilot would be left out"
    if float(usable.std()) ** 2 < ALIKE:
        return "all units of the pilot have the same effect"
    if (count := pilot["topic"].nunique()) < topics:
        return f"the pilot has {count_phrase(count, 'topic')}, and the plan {topics}"
    return ""


def _units(pilot: pd.DataFrame, missing: float) -> tuple[pd.Series, float]:
    """Return the effect of each unit that the plan would keep, and the share of units that it would leave out."""
    keys = [pilot["seed"], pilot["repetition"], pilot["people"]]
    effects = pilot["difference"].groupby(keys).mean()
    lost = pilot["difference"].isna().groupby(keys).mean()
    kept = effects[effects.notna() & (lost <= missing)]
    return kept, 1 - len(kept) / len(effects) if len(effects) else 1.0


def plan_power(claim: Claim, pilot: pd.DataFrame, units: int, level: float, missing: float) -> Power:
    """Return the power of the test at its last look, if the effect is the smallest of interest (with `equivalent`: 0).

    units: at the last look. level: of the test at each look. The share of units that the pilot lost is lost in the test too.
    """
    components = estimate_components(pilot.dropna(subset="difference"), len(claim.population.topics))
    kept = 1 - _units(pilot, missing)[1]
    power = partial(power_of_mean, claim.smallest, level=level, alike=claim.expected == "equivalent")
    low, high = components.interval
    number = max(2, math.floor(units * kept))
    middle, least, most = (power(variance, number) for variance in (components.unit, high, low))
    needed = (units_needed(power, variance, POWER, FEWEST_UNITS, MOST) for variance in (components.unit, low, high))
    usual, fewest, largest = (None if count is None else math.ceil(count / kept) for count in needed)
    return Power(components, (middle, least, most), (usual, fewest, largest))


def power_lines(claim: Claim, pilot: pd.DataFrame, looks: tuple[int, ...], level: float, missing: float) -> list[str]:
    """Return what `run.py study register --pilot` prints."""
    if reason := why_unknown(pilot, len(claim.population.topics), missing):
        return [unknown_sentence("the power of the test", reason)]
    plan = plan_power(claim, pilot, looks[-1], level, missing)
    middle, low, high = plan.power
    size, least = format_number(claim.smallest), "at least " if len(looks) > 1 and middle < ALL else ""
    effect = f"0 and the bound is {size}" if claim.expected == "equivalent" else size
    needed, fewest, most = map(_count, plan.needed)
    return [
        *_source_lines(plan.components),
        f"The power with {looks[-1]} units is {least}{middle:.2f} ({low:.2f} to {high:.2f}), if the effect is {effect}.",
        f"A power of {POWER:.2f} needs {needed} units ({fewest} to {most}).",
    ]


def _source_lines(components: Components) -> list[str]:
    """Return a line for each source of variance, as a standard deviation, and one for a unit with its interval."""
    lines = []
    for name, variance in components.variance.items():
        levels = components.levels.get(name)
        if levels is not None and levels < FEWEST_LEVELS:
            lines.append(f"SD of {name} is unknown, because the pilot has {levels}, and {FEWEST_LEVELS} are needed")
        else:
            lines.append(
                f"SD of {name}: {format_number(math.sqrt(variance))}" + (f" ({levels} levels)" if levels else "")
            )
    size, low, high = (format_number(math.sqrt(variance)) for variance in (components.unit, *components.interval))
    return [*lines, f"SD of a unit: {size} ({low} to {high})"]


def _count(units: int | None) -> str:
    return f"more than {MOST:,}" if units is None or units > MOST else f"{units:,}"
