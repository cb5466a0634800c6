"""Entries on people: choices, comparisons in pairs, predictions, comparison with people."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import pandas as pd
from mixed_subjects import draw as draw_sample
from scipy.stats import spearmanr
from uneven import UNEVEN, rows_of

from examined.entry import Draw, Entry, Outcome, claimed, outside
from parley.agents.traits import trait_names
from parley.analysis.alignment import report
from parley.analysis.human.measures import measure_source, partner_correlation
from parley.analysis.human.readers import MOVES, Source
from parley.analysis.metrics.believers_by_trait import trait_rows
from parley.analysis.statistics.attenuation import correct_correlation
from parley.analysis.statistics.crossed_ratings import fit_ratings, why_no_fit
from parley.analysis.statistics.groups import Result
from parley.analysis.statistics.intervals import Floats
from parley.analysis.statistics.random_raters import fit_random_raters, why_no_sample
from parley.studies.arena.measures import equal_length
from parley.studies.mixed_subjects.estimators import ESTIMATORS, estimate
from parley.studies.mixed_subjects.people import Arm, Sample
from parley.studies.mixed_subjects.worth import measure_worth
from parley.studies.persuasive_debates.odds import odds_table
from parley.studies.stereotypes import individuation
from parley.studies.truthfulness import measures as truthfulness

EVEN, RARE = np.full(3, 1 / 3), np.array([0.9, 0.07, 0.03])
KNOWN = 0.7
"""A rater knows the true category with this probability, and otherwise draws one by its share: kappa is its square."""
NAMES = np.array(["a", "b", "c"])


def _ratings(rng: np.random.Generator, items: int, kind: str, raters: int) -> pd.DataFrame:
    shares = RARE if kind == "rare" else EVEN
    true = rng.choice(3, (items, 1), p=shares)
    given = np.where(rng.random((items, raters)) < KNOWN, true, rng.choice(3, (items, raters), p=shares))
    named = np.where(rng.random(given.shape) < 0.2, "", NAMES[given]) if kind == "missing" else NAMES[given]
    return pd.DataFrame(named)


def _of_kappa(rng: np.random.Generator, items: int, kind: str) -> Outcome:
    agreement = report.kappa(_ratings(rng, items, kind, 2))
    return outside((agreement.low, agreement.high), KNOWN**2)


def _of_ac1(rng: np.random.Generator, items: int, kind: str) -> Outcome:
    shares = RARE if kind == "rare" else EVEN
    agreed = KNOWN**2 + (1 - KNOWN**2) * float((shares**2).sum())
    chance = float((shares * (1 - shares)).sum()) / 2
    drawn = _ratings(rng, items, kind, 2)
    if len(set(drawn.to_numpy().ravel()) - {""}) < len(NAMES):
        return None  # without one of the categories it is another number
    agreement = report.ac1(drawn)
    return outside((agreement.low, agreement.high), (agreed - chance) / (1 - chance))


def _of_alpha(rng: np.random.Generator, items: int, kind: str) -> Outcome:
    agreement = report.alpha(_ratings(rng, items, kind, 3))
    return outside((agreement.low, agreement.high), KNOWN**2)


def _of_interval_alpha(rng: np.random.Generator, statements: int, kind: str) -> Outcome:
    """Ratings of which half of the variance is that of statements."""
    given = rng.normal(0, 1, (statements, 1)) + rng.normal(0, 1, (statements, 5))
    given = np.where(rng.random(given.shape) < 0.3, np.nan, given) if kind == "missing" else given
    return outside(truthfulness.alpha(given)[1:], 0.5)


def _pair(rng: np.random.Generator, size: int, kind: str, r: float = 0.6) -> tuple[Floats, Floats]:
    both = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], size).T
    first, second = np.round(both) if kind == "rounded" else np.exp(both) if kind == "skewed" else both
    return first, second


@cache
def _true_rho(kind: str) -> float:
    return float(spearmanr(*_pair(np.random.default_rng(0), 400_000, kind)).statistic)


def _of_rho(rng: np.random.Generator, statements: int, kind: str) -> Outcome:
    return outside(truthfulness.rank_correlation(*_pair(rng, statements, kind))[1:], _true_rho(kind))


def _answers(rng: np.random.Generator, people: int, groups: Floats, questions: int = 4) -> pd.DataFrame:
    """Answers of so many people in each of three groups, who differ by `groups`."""
    index = pd.MultiIndex.from_product([list("abc"), range(people)], names=["group", "name"])
    values = np.repeat(groups, people, axis=0) + rng.normal(0, 1, (3 * people, questions))
    return pd.DataFrame(values, index=index, columns=[f"q{at}" for at in range(questions)])


LEVELS = np.array([[-1.0, 1, 0, 2], [0, -1, 1, -2], [1, 0, -1, 0]])


def _of_group_share(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    return claimed(individuation.group_share(_answers(rng, people, 0 * LEVELS), "null", int(rng.integers(1 << 30))).p)


def _of_slope(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    slope = individuation.slope(_answers(rng, people, LEVELS), _answers(rng, people, LEVELS))
    return outside((slope.low, slope.high), 1.0)


def _of_spread(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    spread = individuation.spread(_answers(rng, people, LEVELS), _answers(rng, people, LEVELS))
    return outside((spread.low, spread.high), 1.0)


def _of_likeness(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Personas whose answers have a correlation of .5 with those of their own person."""
    own_answers = _answers(rng, people, LEVELS)
    alike = 0.5 * (own_answers - np.repeat(LEVELS, people, axis=0)) + np.sqrt(0.75) * _answers(rng, people, 0 * LEVELS)
    likeness = individuation.likeness(alike + np.repeat(LEVELS, people, axis=0), own_answers)
    return outside((likeness.low, likeness.high), 0.5)


def _of_mixed(name: str) -> Draw:
    def draw(rng: np.random.Generator, people: int, kind: str) -> Outcome:
        estimated = estimate(draw_sample(rng, people, 5 * people, 0.6, kind), ESTIMATORS[name])  # type: ignore[arg-type]
        return outside((estimated.low, estimated.high), 0.5)

    return draw


def _of_clusters(name: str) -> Draw:
    """Three of ten texts of each room (or more) are coded; the truth is the mean of rooms."""

    def draw(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
        room = np.repeat(np.arange(rooms), rows_of(rooms, kind, 10))
        outcome = rng.normal(0, 0.7, rooms)[room] + rng.normal(0, 1, len(room))
        predicted = 0.6 * outcome + rng.normal(0, 0.5, rooms)[room] + rng.normal(0, 0.6, len(room))
        coded = rng.random(len(room)) < 0.3
        arm = Arm(outcome[coded], predicted[coded], predicted[~coded], room[coded], room[~coded])
        estimated = estimate(Sample((arm,)), ESTIMATORS[name])
        return outside((estimated.low, estimated.high), 0.0)

    return draw


def _of_worth(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    y, s = _pair(rng, people, kind)
    worth = measure_worth(Sample((Arm(y, s, rng.normal(0, 1, 5)),)), rng)
    return outside((worth.low, worth.high), _true_r(kind))


@cache
def _true_r(kind: str) -> float:
    return float(np.corrcoef(*_pair(np.random.default_rng(0), 400_000, kind))[0, 1])


def _of_length(rng: np.random.Generator, messages: int, kind: str) -> Outcome:
    longer = rng.normal(0, 0.5, messages)
    noise = rng.exponential(1, messages) - 1 if kind == "skewed" else rng.normal(0, 1, messages)
    level = equal_length(0.3 + 0.5 * longer + noise, longer)
    return outside((level["level_low"], level["level_high"]), 0.3)


def _talks(rng: np.random.Generator, debates: int, spread: float, kind: str) -> pd.DataFrame:
    """Debates of two people (or more) in two conditions that do not differ; people of one debate are alike."""
    people = np.tile(rows_of(debates, kind, 2), 2)
    group = np.repeat(np.arange(2 * debates), people)
    common, size = rng.normal(0, spread, 2 * debates)[group], len(group)
    before = rng.integers(0, 5, size) / 4
    after = np.clip(np.rint(4 * (before + 0.2 * (common + rng.normal(0, 1, size)))), 0, 4) / 4
    return pd.DataFrame({"condition": np.where(group < debates, "a", "b"), "group": group,
                         "person": np.arange(size), "before": before, "after": after, "partner": np.nan,
                         "side": 1.0, "turns": [()] * size})  # fmt: skip


def _of_odds(rng: np.random.Generator, debates: int, kind: str) -> Outcome:
    people = _talks(rng, debates, 0.0 if kind == "independent" else 1.0, kind)
    row = odds_table(Source("null", people, pd.DataFrame(columns=MOVES), "debate", ""), ["a", "b"]).iloc[0]
    return outside((row["low"], row["high"]), 1.0)


def _of_partners(rng: np.random.Generator, groups: int, kind: str) -> Outcome:
    """Groups of three who return halfway to the mean; partners have no influence.

    drifting: with a drift of each group. alike: the opinions of a group have something in common, and ratings of them are noisy.
    """
    common = rng.normal(0, 0.5, (groups, 1)) if kind == "alike" else 0.0
    held = common + rng.normal(0, 1, (groups, 3))
    before = held + rng.normal(0, 0.5, (groups, 3)) if kind == "alike" else held
    drift = rng.normal(0, 1, (groups, 1)) if kind == "drifting" else 0.0
    after = 0.5 * held + drift + rng.normal(0, 0.5, (groups, 3))
    partner = (before.sum(axis=1, keepdims=True) - before) / 2
    people = pd.DataFrame({"condition": "null", "group": np.repeat(np.arange(groups), 3), "person": np.tile(list("abc"), groups),
                           "before": before.ravel(), "after": after.ravel(), "partner": partner.ravel()})  # fmt: skip
    correlation = partner_correlation(Result("", "", 0, "r", ""), people, people["group"])
    return outside((correlation.low, correlation.high), 0.0)


def _of_talks(key: str, ends: bool) -> Draw:
    """A measure of people in groups of two, where nothing changes on average."""

    def draw(rng: np.random.Generator, groups: int, kind: str) -> Outcome:
        before, change = rng.normal(0, 1, (2, groups, 2))
        before, change = (
            np.round(2 * opinions) / 2 if kind == "rounded" else opinions for opinions in (before, change)
        )
        people = pd.DataFrame({"condition": f"null {rng.integers(1 << 30)}", "group": np.repeat(np.arange(groups), 2),
                               "person": np.tile([0, 1], groups), "before": before.ravel(), "after": change.ravel(),
                               "partner": before[:, ::-1].ravel(), "side": 1.0, "turns": [()] * (2 * groups)})  # fmt: skip
        measured = measure_source(Source("null", people, pd.DataFrame(columns=MOVES), "group", ""))
        row = measured[measured["key"] == key].iloc[0]
        return outside((row["low"], row["high"]), 0.0) if ends else claimed(row["p"])

    return draw


def _of_traits(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """People of 12 personas in rooms of six (`small`: of 40 in rooms of three); a persona has its traits and a change of its
    own, which are independent.
    """
    names, (many, size) = trait_names(), (40, 3) if kind == "small" else (12, 6)
    traits, persona_changes = rng.integers(0, 2, (many, len(names))).astype(float), rng.normal(0, 1, many)
    persona = np.concatenate([rng.permutation(many)[:size] for _ in range(rooms)])
    people = pd.DataFrame(traits[persona], columns=names).assign(
        group="null", room=np.repeat(np.arange(rooms), size), persona=persona.astype(str),
        change=persona_changes[persona] + rng.normal(0, 1, len(persona)),
    )  # fmt: skip
    row = trait_rows(people)[0]
    return outside((row["effect_low"], row["effect_high"]), 0.0)


def _of_corrected(rng: np.random.Generator, people: int, kind: str) -> Outcome:
    """Two quantities whose true values correlate by .6 (`null`: 0), each measured twice with a reliability of .7."""
    r = 0.0 if kind == "null" else 0.6
    first, second = rng.multivariate_normal([0, 0], [[1, r], [r, 1]], people).T
    measurements = [true[:, None] + np.sqrt(3 / 7) * rng.normal(0, 1, (people, 2)) for true in (first, second)]
    return outside(correct_correlation(measurements[0], measurements[1]).ends, r)


def _of_judged(rng: np.random.Generator, rooms: int, kind: str) -> Outcome:
    """Ten texts a room, read three times by a judge, with grades that correlate by .6 (`null`: 0) between and within rooms.

    Rooms have .3 of the variance of true values; the reliability of a mean of three readings is .8. `missing`: 20% of readings.
    """
    r = 0.0 if kind == "null" else 0.6
    draw = partial(rng.multivariate_normal, [0, 0], [[1, r], [r, 1]])
    true, graded = (np.sqrt(0.3) * np.repeat(draw(rooms), 10, axis=0) + np.sqrt(0.7) * draw(rooms * 10)).T
    readings = true[:, None] + np.sqrt(3 / 4) * rng.normal(0, 1, (rooms * 10, 3))
    if kind == "missing":
        readings[rng.random(readings.shape) < 0.2] = np.nan
    names = np.repeat(np.arange(rooms), 10).tolist()
    return outside(correct_correlation(readings, graded[:, None], names).ends, r)


def _of_raters(place: int, truth: float) -> Draw:
    """Scores of four raters with severities from -.6 to .6 and errors of SD .5 to 1; `missing`: without 30% of them."""

    def draw(rng: np.random.Generator, items: int, kind: str) -> Outcome:
        errors = np.linspace(0.5, 1, 4) * rng.normal(0, 1, (items, 4))
        scores = 4 + rng.normal(0, 1, (items, 1)) + np.linspace(-0.6, 0.6, 4) + errors
        if kind == "missing":
            scores[rng.random(scores.shape) < 0.3] = np.nan
        scores = scores[np.isfinite(scores).any(axis=1)]
        return None if why_no_fit(scores) else outside(fit_ratings(scores).ends[place], truth)

    return draw


def _of_debates(rng: np.random.Generator, debates: int, kind: str) -> Outcome:
    """Texts of debates, which have an SD of 1 in common, scored by three raters; the truth is the mean of debates."""
    debate = np.repeat(np.arange(debates), rows_of(debates, kind, 10))
    true = rng.normal(0, 1, debates)[debate] + rng.normal(0, 1, len(debate))
    scores = 4 + true[:, None] + np.array([-0.5, 0, 0.5]) + rng.normal(0, 0.7, (len(debate), 3))
    return None if why_no_fit(scores) else outside(fit_ratings(scores, debate).ends[0], 4.0)


def _in_general(quantity: str) -> Draw:
    """Scores of 30 items by raters drawn at random: severities of SD .8, errors of SD .7 (`unequal`: .35, .7 or 1.05)."""

    def draw(rng: np.random.Generator, raters: int, kind: str) -> Outcome:
        errors = 0.7 * (rng.choice([0.5, 1.0, 1.5], raters) if kind == "unequal" else np.ones(raters))
        other = 0.8**2 + 0.7**2 * (3.5 / 3 if kind == "unequal" else 1)
        scores = 4 + rng.normal(0, 1, (30, 1)) + rng.normal(0, 0.8, raters) + errors * rng.normal(0, 1, (30, raters))
        truth = {
            "mean": 4.0,
            "severity": 0.8,
            "agreement": 1 / (1 + other),
            "agreement_of_means": 1 / (1 + other / raters),
        }
        return (
            None
            if why_no_sample(scores)
            else outside(getattr(fit_random_raters(scores), quantity).ends, truth[quantity])
        )

    return draw


RATERS = {"corrected mean": (0, 4.0), "severity": (1, -0.6), "error": (8, 1.0), "reliability": (12, 0.5)}
"""By what is estimated: its place among the ends of a fit, and its planted value (of the first or of the last rater)."""
IN_GENERAL = {"mean": "mean", "severity, SD": "severity", "ICC of one": "agreement", "ICC of all": "agreement_of_means"}
ALIGNMENT, HUMAN, MIXED, CONJOINT = (
    "analysis.alignment.", "analysis.human.", "studies.mixed_subjects.", "studies.conjoint.measures.",
)  # fmt: skip
PREDICTED, STEREOTYPES = "studies.survey_prediction.measures.", "studies.stereotypes.individuation."
SMALL = (3, 5, 10, 40)
ENTRIES = (
    Entry("kappa", (ALIGNMENT + "report.kappa", "analysis.statistics.intervals.fisher_interval"), _of_kappa, ("even", "rare",
          "missing"), unit="item", sets=200, sizes=SMALL),
    Entry("AC1", (ALIGNMENT + "report.ac1",), _of_ac1, ("even", "rare", "missing"), unit="item", sets=300, sizes=SMALL),
    Entry("alpha (categories)", (ALIGNMENT + "report.alpha",), _of_alpha, ("even", "rare", "missing"), unit="item", sets=300,
          sizes=SMALL),
    Entry("alpha (numbers)", ("studies.truthfulness.measures.alpha",), _of_interval_alpha, ("normal", "missing"),
          unit="statement", sets=300, sizes=SMALL),
    Entry("rank correlation", ("studies.truthfulness.measures.rank_correlation",), _of_rho, ("normal", "rounded"),
          unit="statement", sets=500),
    Entry("share of groups", (STEREOTYPES + "group_share",), _of_group_share, ("normal",), unit="person a group",
          role="test", sizes=(3, 5, 20), sets=200),
    Entry("slope on groups", (STEREOTYPES + "slope",), _of_slope, ("normal",), unit="person a group",
          sizes=(3, 5, 10, 20), sets=200),
    Entry("spread within groups", (STEREOTYPES + "spread", STEREOTYPES + "estimate_measure"), _of_spread,
          ("normal",), unit="person a group", sizes=(3, 5, 10, 20), sets=200),
    Entry("likeness to the own person", (STEREOTYPES + "likeness",), _of_likeness, ("normal",), unit="person a group",
          sizes=(3, 5, 20), sets=200),
    *[Entry(f"mixed subjects: {name}", (MIXED + "estimators.estimate",), _of_mixed(name), ("normal", "skewed"),
          unit="person a condition",
            sets=200, sizes=SMALL) for name in ESTIMATORS],
    *[Entry(f"mixed subjects: {name}, over clusters", (MIXED + "estimators.estimate",), _of_clusters(name), ("rooms", *UNEVEN),
            sets=300, sizes=SMALL) for name in ("people alone", "ppi++")],
    Entry("worth of a model (r)", (MIXED + "worth.measure_worth",), _of_worth, ("normal", "skewed"), unit="person", sets=200,
          sizes=SMALL),
    Entry("correlation without measurement error", ("analysis.statistics.attenuation.correct_correlation",), _of_corrected,
          ("related", "null"), unit="person", sets=300, sizes=(3, 10, 40)),
    Entry("correlation without the judge's error", ("analysis.statistics.attenuation.correct_correlation",), _of_judged,
          ("related", "null", "missing"), sets=1000, sizes=(5, 10, 20, 40)),
    *[Entry(f"raters: {name}", ("analysis.statistics.crossed_ratings.fit_ratings",), _of_raters(*planted),
            ("complete", "missing"),
            unit="item", sets=200, sizes=(3, 10, 40)) for name, planted in RATERS.items()],
    Entry("raters: corrected mean, over clusters", ("analysis.statistics.crossed_ratings.fit_ratings",), _of_debates,
          ("debates", *UNEVEN), unit="debate", sets=200, sizes=SMALL),
    *[Entry(f"raters in general: {name}", ("analysis.statistics.random_raters.fit_random_raters",), _in_general(quantity),
            ("equal", "unequal"), unit="rater", sets=200, sizes=(2, 3, 5, 10)) for name, quantity in IN_GENERAL.items()],
    Entry("rewritings of equal length", ("studies.arena.measures.equal_length",), _of_length, ("normal", "skewed"),
          unit="message",
          sets=300, sizes=SMALL),
    Entry("people: odds of agreement", ("studies.persuasive_debates.odds.odds_table",), _of_odds,
          ("independent", "clustered", *UNEVEN),
          unit="debate a condition", sets=200, sizes=(3, 5, 10, 40)),
    Entry("people: change and partner's opinion", (HUMAN + "measures.partner_correlation",), _of_partners,
          ("returning", "drifting", "alike"), unit="group", sizes=(3, 5, 10, 20), sets=300),
    Entry("people: change toward the other side", (HUMAN + "measures.average",), _of_talks("toward", True), ("normal", "rounded"),
          unit="group", sizes=(3, 5, 20), sets=200),
    Entry("people: change of group SD", (HUMAN + "measures.measure_source",), _of_talks("spread", False), ("normal", "rounded"),
          unit="group", role="test", sizes=(2, 3, 5, 20), sets=200),
    Entry("traits of believers", ("analysis.metrics.believers_by_trait.trait_rows",), _of_traits, ("personas", "small"),
          sizes=(3, 5, 10, 20), sets=200, at_most=True),
)  # fmt: skip
