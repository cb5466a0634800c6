"""Statistics of rooms, which are the units: means, differences, shares, tests of conditions, equivalence, rooms needed."""

from __future__ import annotations

import numpy as np
import pandas as pd
from null_verdicts import DRIFT, HARDER, INTERVALS, KINDS, LOPSIDED, TESTS, ratings
from uneven import UNEVEN, rows_of

from examined.entry import Entry, Outcome, claimed, outside
from parley.analysis.card.comparison import p_of_interval
from parley.analysis.card.estimates import CardEstimate, difference, mean_estimate, simultaneous
from parley.analysis.card.sections.instrument import deviation
from parley.analysis.scores.reversion import ratios
from parley.analysis.statistics.groups import compare_paired, compare_two, level, weighted_means
from parley.analysis.statistics.intervals import (
    POSITIVE,
    SHARE,
    SIGNED,
    Floats,
    clustered_share_interval,
    mean_interval,
    means_interval,
    nanmean,
    p_of_mean,
    prediction_interval,
    reach_of_mean,
)
from parley.analysis.statistics.power import deviation_interval, p_alike, rooms_needed
from parley.analysis.studies.wave_comparison import contrast
from parley.studies.games.ending_diversity import difference_interval, permutation_p, pseudo_entropies

ALL = (*KINDS, *HARDER)
PLAIN = ("normal", "skewed", "rounded", "shared")
FEW = ("normal", "missing", "shared")
BOOT, GROUPS = "analysis.statistics.intervals.", "analysis.statistics.groups."


def _means(rng: np.random.Generator, rooms: int, kind: str) -> Floats:
    """One number a room; rooms without any are left out."""
    means = nanmean(ratings(rng, rooms, kind).reshape(rooms, -1), 1)
    return means[np.isfinite(means)]


def _changes(rng: np.random.Generator, rooms: int, kind: str) -> Floats:
    """Differences within rooms whose truth is 0: an early and a late rating of other rooms with the same people."""
    drawn = ratings(rng, rooms, kind)
    differences = nanmean(drawn[:, :, 2:3] - drawn[:, :, 1:2], 1)[:, 0]
    return differences[np.isfinite(differences)] - DRIFT.get(kind, 0.0)


def _of_group_means(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Three topics of so many rooms each; the second has twice the spread."""
    groups = [scale * _changes(rng, rooms, kind) for scale in (1.0, 2.0, 1.0)]
    return outside(means_interval(groups), 0.0)


def _of_positive(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Numbers that are 0 or more, with a mean of 1 (`counts`: 3): exponential (`skewed`), the same with half of them 0
    (`sparse`), squares of normal ones (`squares`), Poisson (`counts`), or five SD above 0 (`normal`)."""
    drawn = {
        "skewed": lambda: rng.exponential(1, rooms),
        "sparse": lambda: np.where(rng.random(rooms) < 0.5, 0.0, rng.exponential(2, rooms)),
        "squares": lambda: rng.normal(0, 1, rooms) ** 2,
        "counts": lambda: rng.poisson(3, rooms).astype(float),
        "normal": lambda: np.maximum(rng.normal(1, 0.2, rooms), 0.0),
    }[kind]()
    return outside(mean_interval(drawn, bounds=POSITIVE), 3.0 if kind == "counts" else 1.0)


def _of_shares(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """One share a room: of six people, who are alike (beta with a sum of 3); `whole`: 0 or 1; `apart`: the minus of two."""
    share = rng.uniform(0.3, 0.7) if kind in ("middle", "whole") else 0.1
    drawn = [rng.binomial(6, rng.beta(3 * share, 3 * (1 - share), rooms)) / 6 for _ in range(2)]
    if kind == "apart":
        return outside(mean_interval(drawn[0] - drawn[1], bounds=SIGNED), 0.0)
    values = (rng.random(rooms) < share).astype(float) if kind == "whole" else drawn[0]
    return outside(mean_interval(values, bounds=SHARE), share)


def _of_waves(rng: np.random.Generator, questions: int, kind: str) -> Outcome:
    """Answers to questions on two sides with equal means; `lopsided`: 20 of SD .5 and 5 of SD 2; `rounded`: whole points."""
    (first, spread), (second, other) = ((20, 0.5), (5, 2.0)) if kind == "lopsided" else ((8, 1.0), (4, 1.0))
    draw = (lambda size: rng.exponential(1, size) - 1) if kind == "skewed" else (lambda size: rng.normal(0, 1, size))
    sides = [{str(question): size * np.asarray(draw(count)) for question in range(questions)}
             for count, size in ((first, spread), (second, other))]  # fmt: skip
    if kind == "rounded":
        sides = [{name: np.round(values) for name, values in side.items()} for side in sides]
    return claimed(contrast(*sides)["p"])


def _of_p(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    return claimed(p_of_mean(_changes(rng, rooms, kind)))


def _of_prediction(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Does it contain one more value?"""
    values = _changes(rng, rooms + 1, kind)
    return outside(prediction_interval(values[1:]), values[0]) if len(values) > 1 else None


def _of_reach(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    values = _changes(rng, rooms, kind)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    reach = float(reach_of_mean(np.array([error]), np.array([len(values)]))[0])
    return outside((values.mean() - reach, values.mean() + reach), 0.0) if len(values) else None


def _of_answers(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Shares of 20 answers of each person, whose own share differs (intraclass correlation .1; `alike`: .6); `rare`: 5%."""
    share = 0.05 if kind == "rare" else rng.uniform(0.3, 0.7)
    odds = 2 / 3 if kind == "alike" else 9.0
    own_shares = rng.beta(odds * share, odds * (1 - share), people)
    sizes = rng.integers(2, 21, people) if kind == "unequal" else rows_of(people, kind, 8 if kind in UNEVEN else 20)
    return outside(clustered_share_interval(rng.binomial(sizes, own_shares).astype(float), sizes.astype(float)), share)


def _of_paired(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    return claimed(compare_paired("null", _changes(rng, rooms, kind), "room").p)


def _of_weighted(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    groups = {name: scale * _changes(rng, rooms, kind) for name, scale in (("a", 1.0), ("b", 2.0), ("c", 1.0))}
    weighted = weighted_means("null", groups, {"a": 1.0, "b": -0.5, "c": -0.5}, "room")
    return outside((weighted.low, weighted.high), 0.0)


def _of_alike(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Conditions that differ by the bound are not alike: a claim is false in 5% at most, as often as one-sided t."""
    first, second = _means(rng, rooms, kind), _means(rng, rooms, kind) + 1.0
    compared = compare_two("null", first, second, "room")
    return claimed(p_alike(compared.estimate, compared.low, compared.high, compared.df_within, 1.0))


def _of_omega(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Three conditions with a true omega squared of one half."""
    apart = np.sqrt(1.5) * np.array([-1.0, 0.0, 1.0])  # their variance is that within
    draw = rng.standard_normal if kind == "normal" else lambda size: rng.exponential(1, size) - 1
    omega = level("null", {str(at): at + np.asarray(draw(rooms)) for at in apart}, "room")
    return outside((omega.low, omega.high), 0.5)


def _of_spread(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """The standard deviation within three conditions of so many rooms."""
    values = _values(rng, 3 * rooms, kind).reshape(3, rooms)
    return outside(deviation_interval((values - values.mean(axis=1, keepdims=True)).ravel(), 3 * (rooms - 1)), 1.0)


def _of_needed(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """The rooms needed at the true spread, in the range from the spread of so many rooms."""
    values = _values(rng, rooms, kind)
    ends = deviation_interval(values - values.mean(), rooms - 1)
    needed = rooms_needed(float(values.std(ddof=1)), [0.5], [0.8], ends=ends).iloc[0]
    if pd.isna(needed["rooms_low"]):
        return None
    truth = int(rooms_needed(1.0, [0.5], [0.8])["rooms"].iloc[0])
    return outside((needed["rooms_low"], needed["rooms_high"]), truth)


def _values(rng: np.random.Generator, size: int, kind: str) -> Floats:
    """Numbers of mean 0 and standard deviation 1."""
    if kind == "skewed":
        return rng.exponential(1, size) - 1
    values = rng.normal(0, 1, size)
    return np.round(values * 2) / np.sqrt(4 + 1 / 12) if kind == "rounded" else values


def _endings(rng: np.random.Generator, rooms: int, kind: str) -> pd.Series:
    shares = (0.9, 0.1) if kind == "rare" else (0.5, 0.3, 0.2)
    return pd.Series(rng.choice(np.array(list("abc")[: len(shares)]), rooms, p=shares))


def _of_diversity(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    first, second = (pseudo_entropies(_endings(rng, rooms, kind)) for _ in range(2))
    return outside(difference_interval(first, second), 0.0)


def _of_diversity_p(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    return claimed(permutation_p(_endings(rng, rooms, kind), _endings(rng, rooms, kind)))


def _estimate(rng: np.random.Generator, blocks: int, kind: str) -> CardEstimate:
    return mean_estimate(CardEstimate("null"), pd.Series(_changes(rng, blocks, kind)))


def _card_mean(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
    claim = _estimate(rng, blocks, kind)
    return outside((claim.low, claim.high), 0.0)


def _of_cards(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
    """Two cards with other people: the difference and its p."""
    claim = difference(CardEstimate("null"), _estimate(rng, blocks, kind), _estimate(rng, blocks, kind))
    return outside((claim.low, claim.high), 0.0)


def _of_cards_p(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
    claim = difference(CardEstimate("null"), _estimate(rng, blocks, kind), _estimate(rng, blocks, kind))
    row = {"difference": claim.estimate, "difference_low": claim.low, "difference_high": claim.high, "blocks": 0}
    return claimed(p_of_interval(row))


def _of_all_topics(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
    """Five topics at once: is one of their intervals wrong?"""
    claims = simultaneous([_estimate(rng, blocks, kind) for _ in range(5)])
    verdicts = [outside((claim.low, claim.high), 0.0) for claim in claims]
    return None if None in verdicts else max(verdict for verdict in verdicts if verdict is not None)


def _of_deviation(rng: np.random.Generator, blocks: int, kind: str) -> Outcome:
    """Blocks of three answers: their spread around the mean of the block."""
    index = pd.Index(np.repeat(np.arange(blocks), 3), name="block")
    claim = deviation(CardEstimate("null"), pd.Series(_values(rng, 3 * blocks, kind), index))
    return outside((claim.low, claim.high), 1.0)


def _of_reversion(rng: np.random.Generator, runs: int, kind: str) -> Outcome:
    """Agents go from 2 to 4, and back to 3: reversion is one half."""
    course = np.array([2.0, 3.5, 4.0, 4.5, 4.0, 3.0])
    scores = course + _values(rng, runs, kind)[:, None] + 0.7 * rng.normal(0, 1, (runs, len(course)))
    run, statement = np.indices(scores.shape)
    table = pd.DataFrame({"topic": "t", "condition": "c", "run": run.ravel().astype(str), "agent": "a",
                          "statement": statement.ravel() + 1, "score": scores.ravel()})  # fmt: skip
    reversion = ratios(table).iloc[0]
    return outside((reversion["pooled_low"], reversion["pooled_high"]), 0.5)


PERMUTED = "labels permuted over rooms"
OF_INTERVALS = {
    "mean of rooms": (BOOT + "mean_interval", "analysis.studies.paired_conditions.mean_row"),
    "paired difference within rooms": (BOOT + "mean_interval",),
    "ratio (share of gap closed)": (BOOT + "interval",),
    "correlation over people in rooms": (BOOT + "correlation_interval", BOOT + "correlation"),
    "share of rooms (Wilson)": (BOOT + "share_interval",),
    "mean over clusters": ("analysis.deliberation.position_change.clustered_mean",),
    "headline: drift": ("analysis.metrics.drift.line",),
    "headline: change to share out": ("analysis.metrics.first_cycle.line",),
    "headline: opinions spread": ("analysis.metrics.polarisation.spreading",),
    "headline: forecasts": ("analysis.metrics.forecast.line",),
    "headline: intervention": ("analysis.studies.intervention.effect",),
}
OF_TESTS = {
    "two conditions (Welch's t)": (GROUPS + "compare_two",),
    "level (Welch's ANOVA)": (GROUPS + "level",),
    "spread (Levene)": (GROUPS + "spread",),
    PERMUTED: (GROUPS + "permutation_test",),
}
CARD = "analysis.card."
SETS = {"correlation over people in rooms": 1000, "mean over clusters": 200, "headline: forecasts": 200, "headline: drift": 200,
        "headline: change to share out": 200, "headline: opinions spread": 200, "headline: intervention": 200}  # fmt: skip
"""Data sets of a condition; 400 of the others."""
ENTRIES = (
    *[Entry(name, OF_INTERVALS[name], test, ALL, sets=SETS.get(name, 400)) for name, test in INTERVALS.items()],
    *[
        Entry(name, OF_TESTS[name], test, (*(FEW if name == PERMUTED else ALL), LOPSIDED), role="test",
              sizes=(3, 5, 20) if name == PERMUTED else (3, 5, 10, 20), sets=200)
        for name, test in TESTS.items()
    ],
    Entry("mean of a positive number", (BOOT + "mean_interval", BOOT + "skewed_end"), _of_positive,
          ("normal", "counts", "skewed", "sparse", "squares"), sizes=(3, 5, 10, 20, 40), sets=1000),
    Entry("mean of shares", (BOOT + "mean_interval",), _of_shares, ("middle", "scarce", "whole", "apart"),
          sizes=(3, 5, 10, 20, 40), sets=1000),
    Entry("answers of two waves", ("analysis.studies.wave_comparison.contrast",), _of_waves,
          ("normal", "rounded", "skewed", LOPSIDED), unit="question", role="test", sizes=(3, 5, 10, 40), sets=400),
    Entry("mean of the means of three topics", (BOOT + "means_interval",), _of_group_means, ALL, sets=500),
    Entry("p of a mean", (BOOT + "p_of_mean",), _of_p, ALL, role="test"),
    Entry("range of one more value", (BOOT + "prediction_interval",), _of_prediction, ("normal", "rounded")),
    Entry("mean from its standard error", (BOOT + "reach_of_mean",), _of_reach, PLAIN),
    Entry("share of answers, several a person", (BOOT + "clustered_share_interval", CARD + "estimates.proportion"), _of_answers,
          ("normal", "unequal", "rare", "alike", *UNEVEN), unit="person", sets=500),
    Entry("paired conditions (t)", (GROUPS + "compare_paired",), _of_paired, PLAIN, role="test", sets=500),
    Entry("weighted conditions (Satterthwaite)", (GROUPS + "weighted_means",), _of_weighted, PLAIN, sets=500),
    Entry("alike within a bound (TOST)", ("analysis.statistics.power.p_alike",), _of_alike, PLAIN, role="test", sets=500,
          at_most=True),
    Entry("omega squared of .5", (GROUPS + "level",), _of_omega, ("normal",), sizes=(3, 5, 10, 20), sets=300),
    Entry("standard deviation within conditions", ("analysis.statistics.power.deviation_interval",), _of_spread,
          ("normal", "skewed"), sets=1000, at_most=True),
    Entry("rooms needed, range", ("analysis.statistics.power.rooms_needed",), _of_needed, ("normal", "skewed"),
          sets=200, sizes=(3, 5, 10, 40), at_most=True),
    Entry("difference in diversity of endings", ("studies.games.ending_diversity.difference_interval",), _of_diversity,
          ("normal", "rare"), sizes=(3, 10, 20, 40), sets=250),
    Entry("diversity of endings, permuted", ("studies.games.ending_diversity.permutation_p",), _of_diversity_p,
          ("normal", "rare"), role="test", sizes=(3, 5, 10, 20), sets=200, at_most=True),
    Entry("card: mean over blocks", (CARD + "estimates.mean_estimate",), _card_mean, ALL, unit="block", sets=500),
    Entry("card: difference of two cards", (CARD + "estimates.difference",), _of_cards, PLAIN, unit="block", sets=500),
    Entry("card: p of a difference of two cards", (CARD + "comparison.p_of_interval",), _of_cards_p, PLAIN, unit="block",
          role="test", sets=500),
    Entry("card: five topics at once", (CARD + "estimates.simultaneous",), _of_all_topics, PLAIN, unit="block", sets=300,
          at_most=True),
    Entry("card: spread of answers", (CARD + "sections.instrument.deviation",), _of_deviation, ("normal", "rounded", "skewed"),
          unit="block", sets=300, at_most=True),
    Entry("reversion, pooled", ("analysis.scores.reversion.ratios",), _of_reversion, ("normal", "rounded", "skewed"), unit="run",
          sizes=(3, 5, 10, 20), sets=200),
)  # fmt: skip
