"""All numbers of an audit of a claim, from the differences of its specifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import Floats
from parley.llm.seeding import derive
from parley.studies.claims.bayes import Posterior, interval_of, sample_posterior
from parley.studies.claims.curve import Curve, draw_curve, topic_effects, whole_specifications
from parley.studies.claims.dependence import dependence_table
from parley.studies.claims.design import largest_correlation
from parley.studies.claims.multiverse import SPECIFICATION, Multiverse
from parley.studies.claims.variance import RESIDUAL, Share, setting_share, variance_components

ALWAYS = ("topic", "people")
"""Sources of variance within every specification."""
TOGETHER = "topic and people together"
"""What is particular to a group of people on a topic, in all specifications."""


@dataclass(frozen=True)
class Audit:
    """What is known of a claim. differences: `Multiverse.differences`.

    dropped: specifications that are left out (`whole_specifications`). settings: a row per setting that means the same
    (`dependence_table`), with family. together: the share of all of them. lost: the same table of whether a difference is missing
    (no rows: none is). confounding: the largest correlation between two settings among the differences that are used.
    parts: a row per source of variance: source, levels, share (REML), and its posterior median, low and high. topics: a row per
    topic: effect, differences, and pooled, low, high. average: the posterior median of the average effect and its ends.
    """

    multiverse: Multiverse
    differences: pd.DataFrame
    dropped: int
    curve: Curve
    settings: pd.DataFrame
    together: Share
    lost: pd.DataFrame
    confounding: float
    parts: pd.DataFrame
    topics: pd.DataFrame
    average: tuple[float, float, float]


def audit_claim(multiverse: Multiverse, differences: pd.DataFrame) -> Audit:
    """Return all numbers. Nothing here asks a model; the same differences give the same numbers."""
    meant = [dimension for dimension in multiverse.dimensions if dimension.meant]
    names, strata = (
        [dimension.name for dimension in meant],
        [dimension.name for dimension in multiverse.dimensions if not dimension.meant],
    )
    rng = np.random.default_rng(derive(multiverse.seed, "claim"))
    used = whole_specifications(differences)
    settings = dependence_table(used, names, strata)
    settings.insert(1, "family", [dimension.family for dimension in meant])
    measured = used.dropna(subset="difference")
    values, factors = measured["difference"].to_numpy(dtype=float), variance_factors(measured, [*strata, *names])
    topics = topic_effects(used).assign(pooled=np.nan, low=np.nan, high=np.nan)
    parts, average = pd.DataFrame(columns=PARTS), (np.nan, np.nan, np.nan)
    if len(values) and np.ptp(values) > 0:
        posterior = sample_posterior(values, factors, rng)
        parts = variance_parts(values, factors, posterior)
        drawn = posterior.mean_beyond("topic")
        average = float(np.median(drawn)), *interval_of(drawn)
        topics = pooled_topics(topics, posterior, pd.unique(measured["topic"]))
    curve = draw_curve(multiverse.claim, differences, rng)
    together = setting_share(used, names, [], strata)
    missing = differences["difference"].isna()
    marked = differences.assign(difference=missing.astype(float)) if missing.any() else differences.iloc[:0]
    lost = dependence_table(marked, names if len(marked) else [], strata)
    codes = [pd.factorize(measured[dimension.name])[0] for dimension in multiverse.dimensions]
    confounding = largest_correlation(np.column_stack(codes)) if codes and len(measured) else np.nan
    dropped = differences[SPECIFICATION].nunique() - used[SPECIFICATION].nunique()
    return Audit(multiverse, differences, dropped, curve, settings, together, lost, confounding, parts, topics, average)


PARTS = ["source", "levels", "share", "posterior", "low", "high"]


def variance_factors(measured: pd.DataFrame, columns: list[str]) -> dict[str, np.ndarray]:
    """Return the level of each difference in each crossed factor: topic, people, both, the dimensions, the specification.

    A factor with one level is left out, and so is one that divides the differences as an earlier one does (with one group of
    people for each seed, the two are one) or one by one.
    """
    factors: dict[str, np.ndarray] = {}
    both = measured[ALWAYS[0]].astype(str) + " " + measured[ALWAYS[1]].astype(str)
    named = {name: measured[name] for name in (*columns, SPECIFICATION)}
    for name, labels in {**{name: measured[name] for name in ALWAYS}, TOGETHER: both, **named}.items():
        codes = pd.factorize(labels)[0]  # in order of appearance, so equal divisions are equal arrays
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


def pooled_topics(topics: pd.DataFrame, posterior: Posterior, levels: Sequence[str]) -> pd.DataFrame:
    """Return the topics with their effects pooled in part, for these people and specifications: median and 95% interval.

    levels: the topics in the order of the effects of the posterior.
    """
    if "topic" not in posterior.effects:
        return topics
    drawn = posterior.mean_beyond("topic")[:, None] + posterior.effects["topic"]
    rows = [(name, float(np.median(draws)), *interval_of(draws)) for name, draws in zip(levels, drawn.T, strict=True)]
    pooled = pd.DataFrame(rows, columns=["topic", "pooled", "low", "high"])
    return topics.drop(columns=["pooled", "low", "high"]).merge(pooled, on="topic", how="left")
