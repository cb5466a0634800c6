"""All numbers of an audit of a claim, from the differences of its specifications."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parley.analysis.bootstrap import Floats
from parley.analysis.claims.bayes import Posterior, interval_of, sample_posterior
from parley.analysis.claims.curve import Curve, draw_curve, topic_effects
from parley.analysis.claims.multiverse import SPECIFICATION, Multiverse
from parley.analysis.claims.variance import RESIDUAL, Share, dependence_table, setting_share, variance_components
from parley.llm.seeding import derive

ALWAYS = ("topic", "people")
"""Sources of variance within every specification."""


@dataclass(frozen=True)
class Audit:
    """What is known of a claim. differences: `Multiverse.differences`.

    settings: a row per setting that means the same (`dependence_table`), with family. together: the share of all of them.
    parts: a row per source of variance: source, levels, share (REML), and its posterior median, low and high. topics: a row per
    topic: effect, differences, and pooled, low, high. average: the posterior median of the average effect and its ends.
    """

    multiverse: Multiverse
    differences: pd.DataFrame
    curve: Curve
    settings: pd.DataFrame
    together: Share
    parts: pd.DataFrame
    topics: pd.DataFrame
    average: tuple[float, float, float]


def audit_claim(multiverse: Multiverse, differences: pd.DataFrame) -> Audit:
    """Return all numbers. Nothing here asks a model; the same differences give the same numbers."""
    meant = [one for one in multiverse.dimensions if one.meant]
    names, strata = [one.name for one in meant], [one.name for one in multiverse.dimensions if not one.meant]
    rng = np.random.default_rng(derive(multiverse.seed, "claim"))
    settings = dependence_table(differences, names, strata)
    settings.insert(1, "family", [one.family for one in meant])
    known = differences.dropna(subset="difference")
    values, factors = known["difference"].to_numpy(dtype=float), variance_factors(known, [*strata, *names])
    topics = topic_effects(differences).assign(pooled=np.nan, low=np.nan, high=np.nan)
    parts, average = pd.DataFrame(columns=PARTS), (np.nan, np.nan, np.nan)
    if len(values) and np.ptp(values) > 0:
        posterior = sample_posterior(values, factors, rng)
        parts = variance_parts(values, factors, posterior)
        drawn = posterior.mean_beyond("topic")
        average = float(np.median(drawn)), *interval_of(drawn)
        topics = pooled_topics(topics, posterior)
    curve = draw_curve(multiverse.claim, differences, rng)
    together = setting_share(differences, names, [], strata)
    return Audit(multiverse, differences, curve, settings, together, parts, topics, average)


PARTS = ["source", "levels", "share", "posterior", "low", "high"]


def variance_factors(known: pd.DataFrame, columns: list[str]) -> dict[str, np.ndarray]:
    """Return the level of each difference in each crossed factor: topic, people, the dimensions, and the specification.

    A factor with one level is left out, and so is one that divides the differences as an earlier one does (with one group of
    people for each seed, the two are one) or one by one.
    """
    factors: dict[str, np.ndarray] = {}
    for name in (*ALWAYS, *columns, SPECIFICATION):
        codes = pd.factorize(known[name])[0]  # in order of appearance, so equal divisions are equal arrays
        same = any(np.array_equal(codes, other) for other in factors.values())
        if 1 < len(np.unique(codes)) < len(codes) and not same:
            factors[name] = codes
    return factors


def variance_parts(values: Floats, factors: Mapping[str, np.ndarray], posterior: Posterior) -> pd.DataFrame:
    """Return a row per source of variance, with PARTS as columns."""
    components = variance_components(values, factors)
    total, shares = sum(components.values()), posterior.shares()
    rows = []
    for name, variance in components.items():
        levels = len(values) if name == RESIDUAL else len(np.unique(factors[name]))
        low, high = interval_of(shares[name])
        rows.append((name, levels, variance / total, float(np.median(shares[name])), low, high))
    return pd.DataFrame(rows, columns=PARTS)


def pooled_topics(topics: pd.DataFrame, posterior: Posterior) -> pd.DataFrame:
    """Return the topics with their effects pooled in part, for these people and specifications: median and 95% interval."""
    if "topic" not in posterior.effects:
        return topics
    drawn = posterior.mean_beyond("topic")[:, None] + posterior.effects["topic"]
    ends = np.array([interval_of(column) for column in drawn.T])
    return topics.assign(pooled=np.median(drawn, axis=0), low=ends[:, 0], high=ends[:, 1])
