"""Planted points of the map: rule-based people, and the law of the oracle, as the measurement should find them."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import Floats

from .environment import TwoAnswers
from .fit import NO_NOISE, Answers, fit
from .law import ResponseLaw
from .measures import fit_both, fit_row
from .theory import Curve

RULES: Mapping[str, ResponseLaw] = {
    "independent": ResponseLaw(0.3, 0.1),
    "one side by bias": ResponseLaw(0.8, 0.7),
    "either side": ResponseLaw(1.8, 0.0, 0.05),
}
"""Rule-based people in three phases."""
MANY = 1e5
"""Answers that stand for the expected shares of a law."""
DEVIATIONS = 101


class Design(NamedTuple):
    """How a curve is measured: people, size of rooms, different numbers, and questions in both orders of each person."""

    people: int
    size: int
    levels: int = 5

    @property
    def told(self) -> Floats:
        """The mean answers of the others that people are told."""
        numbers = np.array(TwoAnswers(size=self.size, levels=self.levels).numbers)
        return np.asarray(2 * numbers / (self.size - 1) - 1)


def expected_shares(law: ResponseLaw, told: Floats, temperature: float = 1.0) -> Floats:
    """Return the expected share for the claim at each number told, over both orders and all people.

    A temperature T raises the probabilities of the two answers to the power 1 / T, as sampling does; 0 takes the likelier answer.
    """
    deviations = _normal_scores() if law.side_spread else np.zeros(1)
    shares = np.array(
        [[[law.share(float(m), first, float(z)) for m in told] for first in (True, False)] for z in deviations]
    )
    if temperature == 0:
        return np.asarray(np.where(shares > 0.5, 1.0, 0.0).mean(axis=(0, 1)))
    hot = shares ** (1 / temperature)
    return np.asarray((hot / (hot + (1 - shares) ** (1 / temperature))).mean(axis=(0, 1)))


def _normal_scores() -> Floats:
    return np.array([NormalDist().inv_cdf((place + 0.5) / DEVIATIONS) for place in range(DEVIATIONS)])


def found_by_measurement(law: ResponseLaw, told: Floats, temperature: float = 1.0) -> Curve:
    """Return the place on the map that the measurement finds with ever more answers of this law."""
    if not (law.side_spread or law.first_option or law.side_noise) and temperature == 1:
        return law.curve
    hits = MANY * expected_shares(law, told, temperature)
    fitted = fit(Answers(told, hits[None], np.full((1, len(told)), MANY)), np.random.default_rng(0), NO_NOISE, 1)
    assert fitted is not None
    return fitted.curve


def simulate(law: ResponseLaw, design: Design, rng: np.random.Generator) -> Answers:
    """Return the answers of people by this law: each question once in both orders."""
    deviations, hits = rng.standard_normal(design.people), np.zeros((design.people, len(design.told)))
    for first in (True, False):
        chances = np.array([[law.share(float(m), first, float(z)) for m in design.told] for z in deviations])
        hits += rng.random(chances.shape) < chances
    return Answers(design.told, hits, np.full(hits.shape, 2.0))


def rule_rows(design: Design, seed: int) -> pd.DataFrame:
    """Return a row per rule: its name, planted_pull and planted_bias, and what the same measurement finds of simulated people."""
    rows: list[dict[str, Any]] = []
    for name, law in RULES.items():
        place = found_by_measurement(law, design.told)
        fits = fit_both(simulate(law, design, np.random.default_rng([seed, len(name)])), (seed, len(name)))
        planted = {"planted_pull": place.pull, "planted_bias": place.bias}
        rows.append({"who": name, "people": design.people} | planted | fit_row(fits))
    return pd.DataFrame(rows)
