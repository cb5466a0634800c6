"""How often the numbers of `study claim` are right on differences of known truth.

    python benchmarks/claims.py            (200 audits a row, and 200 draws for the calibration of the sampler: about 5 minutes)

A generator makes the differences of 64 specifications of the usual settings, for 4 topics, 3 groups of people and 2 sets of
personas: topics, people, a planted effect of a setting, chance common to a specification, and chance.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import chisquare
from scipy.stats import f as fisher

from parley.studies.claims.bayes import FREEDOM, sample_posterior
from parley.studies.claims.claim import Claim, Contrast, Population
from parley.studies.claims.curve import draw_curve
from parley.studies.claims.dependence import people_p
from parley.studies.claims.design import contrasts, factorial_design
from parley.studies.claims.dimensions import MEANT, POPULATION, Dimension, field
from parley.studies.claims.multiverse import SPECIFICATION
from parley.studies.claims.variance import setting_share


def draw_half_t(rng: np.random.Generator) -> float:
    """Return a draw from the prior of a standard deviation, of scale 1."""
    return abs(float(rng.standard_t(FREEDOM)))


PEOPLE = Dimension("set of personas", POPULATION, field("personas", "one", "other"))
DIMENSIONS = (*MEANT, PEOPLE)
NAMES, STRATA = [dimension.name for dimension in MEANT], [PEOPLE.name]
PLANTED = "word for the event"
CLAIM = Claim("", "", (), "", "greater", 0.5, Contrast(), Population((), (), ()))


@cache
def design_of(size: int) -> np.ndarray:
    """Return the design of all audits: what is drawn anew is the differences."""
    return factorial_design([len(dimension.levels) for dimension in DIMENSIONS], size, np.random.default_rng(0))


def draw_differences(
    rng: np.random.Generator,
    effect: float = 0.0,
    average: float = 0.0,
    topic: float = 1.0,
    people: float = 1.0,
    common: float = 0.3,
    chance: float = 1.0,
    whole: bool = False,
    topics: int = 4,
    groups: int = 3,
    size: int = 64,
    uneven: float = 0.0,
) -> pd.DataFrame:
    """Return differences as `Multiverse.differences` has them. effect: of the second level of PLANTED, minus the first.

    uneven: how much this effect varies between groups of people. It and topic, people, common (to a specification) and chance
    are standard deviations; whole: rounded to whole points.
    """
    design = design_of(size)
    of_topic, of_people = rng.normal(0, topic, topics), rng.normal(0, people, (2, groups))
    group_effects = effect + rng.normal(0, uneven, (2, groups)) if uneven else np.full((2, groups), effect)
    rows = []
    for number, row in enumerate(design, 1):
        levels = {dimension.name: dimension.levels[place] for dimension, place in zip(DIMENSIONS, row, strict=True)}
        base = average + rng.normal(0, common)
        for at in range(topics):
            for group in range(groups):
                value = base + group_effects[row[-1], group] * (row[0] - 0.5)
                value += of_topic[at] + of_people[row[-1], group] + rng.normal(0, chance)
                people_name = f"{levels[PEOPLE.name]} {group}"
                rows.append(
                    (number, f"topic {at}", group, people_name, round(value) if whole else value, *levels.values())
                )
    names = [dimension.name for dimension in DIMENSIONS]
    columns = [SPECIFICATION, "topic", "repetition", "people", "difference", *names]
    return pd.DataFrame(rows, columns=columns).astype({"difference": "float64"})


def true_share(differences: pd.DataFrame, effect: float) -> float:
    """Return the share of the variance between these differences that the planted effect has."""
    planted = (differences[PLANTED] == DIMENSIONS[0].levels[1]) * effect
    rest = differences["difference"] - planted
    return float(planted.var(ddof=0) / (planted.var(ddof=0) + rest.var(ddof=0)))


def coverage(rng: np.random.Generator, audits: int, **truth: float | bool) -> tuple[float, float, float]:
    """Return how often the interval of all settings holds the true share, that of PLANTED does, and that of all excludes 0."""
    effect, hits = float(truth.get("effect", 0.0)), []
    for _ in range(audits):
        differences = draw_differences(rng, **truth)  # type: ignore[arg-type]
        share = true_share(differences, effect)
        together = setting_share(differences, NAMES, [], STRATA)
        alone = setting_share(differences, [PLANTED], NAMES[1:], STRATA)
        hits.append((together.low <= share <= together.high, alone.low <= share <= alone.high, together.low > 0))
    first, second, third = (float(np.mean(column)) for column in zip(*hits, strict=True))
    return first, second, third


def null_coverage(
    rng: np.random.Generator, audits: int, topics: int = 4, groups: int = 3, common: float = 0.3, whole: bool = False
) -> float:
    """Return how often the interval of all settings holds 0 with nothing planted: where p of their F test is .05 or more.

    The same test as `setting_share`, on means of specifications and many audits at once.
    """
    design, strata = design_of(64), design_of(64)[:, -1]
    nuisance = _basis(design[:, -1:])
    full = _basis(design)
    df, df_error = full.shape[1] - nuisance.shape[1], len(design) - full.shape[1]
    held = []
    for _ in range(audits // 1000):
        people = rng.normal(0, 1, (1000, 2, 1, groups))[:, strata]
        values = rng.normal(0, common, (1000, len(design), 1, 1)) + rng.normal(0, 1, (1000, 1, topics, 1)) + people
        values = values + rng.normal(0, 1, (1000, len(design), topics, groups))
        values = np.round(values) if whole else values
        for stratum in (0, 1):
            values[:, strata == stratum] -= values[:, strata == stratum].mean(axis=1, keepdims=True)
        means = values.mean(axis=(2, 3)).T
        squares = [(means**2).sum(axis=0) - ((basis.T @ means) ** 2).sum(axis=0) for basis in (nuisance, full)]
        statistic = (squares[0] - squares[1]) / df / (squares[1] / df_error)
        held.append(fisher.sf(statistic, df, df_error) >= 0.05)
    return float(np.mean(held))


def _basis(design: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the main effects of a design, with the constant."""
    columns = np.hstack([np.ones((len(design), 1)), *(contrasts(column) for column in design.T)])
    return np.asarray(np.linalg.qr(columns)[0])


def verdicts(rng: np.random.Generator, audits: int, **truth: float) -> float:
    """Return how often the median has p below .05, if arm labels are swapped."""
    curves = [draw_curve(CLAIM, draw_differences(rng, **truth), rng) for _ in range(audits)]  # type: ignore[arg-type]
    return float(np.mean([curve.p < 0.05 for curve in curves]))


def over_people(rng: np.random.Generator, audits: int, setting: str, **truth: float) -> tuple[float, float]:
    """Return how often p over specifications, and p over groups of people, is below .05 for a setting."""
    rejections = []
    for _ in range(audits):
        differences = draw_differences(rng, **truth)  # type: ignore[arg-type]
        share = setting_share(differences, [setting], [name for name in NAMES if name != setting], STRATA)
        rejections.append((share.p < 0.05, people_p(differences, setting, share) < 0.05))
    first, second = (float(np.mean(column)) for column in zip(*rejections, strict=True))
    return first, second


def ranks(rng: np.random.Generator, draws: int, kept: int = 99, thin: int = 10) -> dict[str, float]:
    """Return by quantity the p of uniform ranks of the truth among posterior draws (simulation-based calibration).

    Truths are drawn from the prior: 5 topics, 4 groups of people, 2 wordings, 40 differences. Source: Talts et al. 2018.
    """
    wording = np.tile([0, 0, 0, 0, 1, 1, 1, 1], 5)
    factors = {"topic": np.repeat(np.arange(5), 8), "people": np.tile(np.arange(4), 10), "wording": wording}
    ranks_by_quantity: dict[str, list[int]] = {}
    for _ in range(draws):
        effects = {name: rng.normal(0, draw_half_t(rng), codes.max() + 1) for name, codes in factors.items()}
        average, noise = rng.normal(0, 5.0), draw_half_t(rng)
        values = average + sum(effects[name][codes] for name, codes in factors.items()) + rng.normal(0, noise, 40)
        posterior = sample_posterior(values, factors, rng, scale=1.0, draws=kept * thin, warm=200)
        parts = {name: effect.var() for name, effect in effects.items()} | {"residual": noise**2}
        truths: dict[str, tuple[float, np.ndarray]] = {
            "average": (average, posterior.average),
            "residual": (noise**2, posterior.residual),
            "first topic": (effects["topic"][0], posterior.effects["topic"][:, 0]),
        }
        truths |= {
            f"share of {name}": (variance / sum(parts.values()), posterior.shares()[name])
            for name, variance in parts.items()
        }
        for name, (truth, drawn) in truths.items():
            ranks_by_quantity.setdefault(name, []).append(int((drawn[::thin] < truth).sum()))
    bins = {
        name: np.bincount(np.array(quantity_ranks) * 10 // (kept + 1), minlength=10)
        for name, quantity_ranks in ranks_by_quantity.items()
    }
    return {name: float(chisquare(counts).pvalue) for name, counts in bins.items()}


def rows(audits: int) -> Iterator[str]:
    rng = np.random.default_rng(1)
    settings: dict[str, dict[str, float | bool]] = {
        "nothing planted": {},
        "nothing, whole points": {"whole": True},
        "nothing, no common chance": {"common": 0.0},
        "nothing, 2 topics, 2 groups": {"topics": 2, "groups": 2},
        "wording 0.3": {"effect": 0.3},
        "wording 1": {"effect": 1.0},
        "wording 3": {"effect": 3.0},
    }
    for name, truth in settings.items():
        first, second, third = coverage(rng, audits, **truth)
        yield f"{name:<30} all settings {first:.3f}  {PLANTED} {second:.3f}  above 0 {third:.3f}"
    nulls: dict[str, dict[str, Any]] = {
        "nothing planted": {},
        "nothing, whole points": {"whole": True},
        "nothing, no common chance": {"common": 0.0},
        "nothing, 2 topics, 2 groups": {"topics": 2, "groups": 2},
    }
    for name, case_ in nulls.items():
        yield f"{name:<30} all settings {null_coverage(rng, 100 * audits, **case_):.4f} of {100 * audits:,} audits"
    null = {"topic": 0.0}
    cases: dict[str, Callable[[], float]] = {
        "verdict without an effect": lambda: verdicts(rng, audits, **null),
        "verdict with an effect of 1": lambda: verdicts(rng, audits, average=1.0, **null),
    }
    for name, case in cases.items():
        yield f"{name:<30} p < .05 in {case():.3f}"
    four = "scale"  # the setting with four levels
    planted: dict[str, tuple[str, dict[str, float]]] = {
        "no setting matters": (PLANTED, {}),
        "no setting matters, 4 levels": (four, {"groups": 6}),
        "uneven over people, 0 on average": (PLANTED, {"uneven": 1.0}),
        "the same for all people, 1": (PLANTED, {"effect": 1.0}),
    }
    for name, (setting, truth) in planted.items():
        first, second = over_people(rng, 5 * audits, setting, **truth)
        yield f"{name:<33} p < .05 over specifications {first:.3f}, over people {second:.3f}"
    for name, p in ranks(rng, audits).items():
        yield f"{'ranks of ' + name:<30} uniform, p {p:.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--audits", type=int, default=200)
    for line in rows(parser.parse_args().audits):
        print(line, flush=True)
