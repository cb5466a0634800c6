"""Individuation and stereotyping of personas: by hand, planted truths, and nothing where nothing is planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from parley.studies.stereotypes import individuation as measures
from parley.studies.stereotypes.individuation import (
    NO_MATCH,
    ONE_GROUP,
    group_share,
    individuation,
    likeness,
    slope,
    spread,
)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Permute 99 times instead of 999, so that the tests are quick."""
    monkeypatch.setattr(measures, "DRAWS", 99)


QUESTIONS = [f"q{number}" for number in range(6)]


def people(rng: np.random.Generator, size: int, apart: float, own: np.ndarray | None = None) -> pd.DataFrame:
    """Return two groups whose means are 5 - apart and 5 + apart; own: (2 * size, 6) what is the person's own."""
    group = np.repeat([-1.0, 1.0], size)
    own = rng.normal(0, 1, (2 * size, len(QUESTIONS))) if own is None else own
    names = [("b" if side > 0 else "a", f"p{number}") for number, side in enumerate(group)]
    index = pd.MultiIndex.from_tuples(names, names=["group", "person"])
    return pd.DataFrame(5 + apart * group[:, None] + own, index=index, columns=QUESTIONS)


def test_by_hand() -> None:
    """Means of 4 and 6 beside 4.5 and 5.5, without spread within people's groups, are a slope of 2; spread needs people's."""
    still = np.zeros((12, 6))
    found = slope(people(np.random.default_rng(0), 6, 1.0), people(np.random.default_rng(0), 6, 0.5, still))
    assert 1.5 < found.value < 2.5
    own = np.tile([[-1.0], [1.0]], (6, 6))
    assert (
        spread(people(np.random.default_rng(0), 6, 1.0, own), people(np.random.default_rng(0), 6, 1, 2 * own)).value
        == 0.5
    )
    assert group_share(people(np.random.default_rng(0), 6, 1.0, still), "x").value == 1.0


def test_planted_stereotyping_and_individuation_are_found() -> None:
    """Personas that double the distance of groups and know half of a person are found; intervals cover in most of 12 sets."""
    hit = dict.fromkeys(("slope", "individuation", "spread"), 0)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        own = rng.normal(0, 1, (40, 6))
        humans = people(rng, 20, 1.0, own)
        known = 0.6 * own + rng.normal(0, 0.8, own.shape)
        _, _, steep, wide, like = individuation(people(rng, 20, 2.0, known), humans)
        hit["slope"] += steep.low <= 2 <= steep.high and steep.low > 1
        hit["individuation"] += like.low <= 0.6 <= like.high and like.p < 0.05
        hit["spread"] += wide.low <= 1 <= wide.high
    assert min(hit.values()) >= 10, hit


def test_nothing_planted_is_not_found() -> None:
    """Fresh people of the same kind have a slope of 1 and an r of 0: false alarms stay rare in 12 sets."""
    false = dict.fromkeys(("slope", "individuation", "p", "share"), 0)
    for seed in range(12):
        rng = np.random.default_rng(1000 + seed)
        humans = people(rng, 20, 1.0)
        _, _, steep, _, like = individuation(people(rng, 20, 1.0), humans)
        false["slope"] += not steep.low <= 1 <= steep.high
        false["individuation"] += not like.low <= 0 <= like.high
        false["p"] += like.p < 0.05
        false["share"] += group_share(people(rng, 20, 0.0), "x").p < 0.05
    assert max(false.values()) <= 3, false


def test_missing_and_few() -> None:
    """Few people have no interval; other names no individuation; groups alike no slope; a missing answer is not zero."""
    rng = np.random.default_rng(5)
    few = individuation(people(rng, 3, 1.0), people(rng, 20, 1.0))
    assert few[0].reason == "fewer than 5 persons"
    assert np.isnan(few[2].low)
    strangers = people(rng, 20, 1.0).rename(index=lambda name: f"{name}x" if name.startswith("p") else name)
    assert likeness(people(rng, 20, 1.0), strangers).reason == NO_MATCH
    assert slope(people(rng, 20, 1.0), people(rng, 20, 0.0)).reason.startswith("people's groups")
    assert group_share(people(rng, 20, 1.0).loc[["a"]], "x").reason == ONE_GROUP
    full, holes = people(rng, 20, 1.0), people(rng, 20, 1.0)
    holes.iloc[0, 0] = np.nan
    assert np.isfinite([one.value for one in individuation(holes, full)]).all()


def test_refused_questions_are_not_compared() -> None:
    """Personas like people who all refuse half of the questions, or one group of whom does, have a slope and a spread of 1."""
    covered = dict.fromkeys(("slope, both", "spread, both", "slope, one", "spread, one"), 0)
    for seed in range(12):
        rng = np.random.default_rng(2000 + seed)
        own = np.array([1.0] * 3 + [2.0] * 3)
        humans = people(rng, 20, 2.0, own * rng.normal(0, 1, (40, 6)))
        personas = people(rng, 20, 2.0, own * rng.normal(0, 1, (40, 6)))
        for name, refuses in (("both", slice(None)), ("one", "a")):
            holes = personas.copy()
            holes.loc[refuses, QUESTIONS[3:]] = np.nan
            for measure in (slope, spread):
                found = measure(holes, humans)
                covered[f"{measure.__name__}, {name}"] += found.low <= 1 <= found.high
    assert min(covered.values()) >= 10, covered
