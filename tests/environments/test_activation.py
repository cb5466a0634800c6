"""Who speaks when: shares, rates, and a self-exciting process against what is known of it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from data_checks import check_each

from parley.environments._social_graph import Links, SocialGraph
from parley.environments.activation import ACTIVATION, Hawkes

PEOPLE = tuple(range(1, 2001))


def society() -> SocialGraph:
    return SocialGraph(Links((), ()), lambda one: None, lambda *of: random.Random(repr(of)))


def active(spec: str, round_: int, found: SocialGraph | None = None) -> tuple[int, ...]:
    people: tuple[int, ...] = ACTIVATION.get(spec).active(PEOPLE, round_, found or society())
    return people


@check_each("spec", ["every", "share", "poisson", "hawkes", "clock"])
def test_the_same_round_wakes_the_same_people(spec: str) -> None:
    """Whether the rounds before it were asked about or not."""
    asked = society()
    for round_ in (1, 2, 3):
        active(spec, round_, asked)
    again = active(spec, 3, asked)
    assert again == active(spec, 3) == active(spec, 3)
    assert len(set(again)) == len(again)
    assert set(again) <= set(PEOPLE)
    assert spec == "every" or again != active(spec, 2)


@check_each(("spec", "count"), [("every", 2000), ("share,share=0.3", 600), ("share,share=0", 0)])
def test_shares_are_exact(spec: str, count: int) -> None:
    assert len(active(spec, 1)) == count


@pytest.mark.parametrize("rate", [0.1, 1.0])
def test_a_constant_rate_wakes_as_many_as_it_should(rate: float) -> None:
    """1 - exp(-rate) of them speak at least once (4 sd of a binomial share)."""
    expected = 1 - math.exp(-rate)
    found = len(active(f"poisson,rate={rate}", 1)) / len(PEOPLE)
    assert abs(found - expected) < 4 * (expected * (1 - expected) / len(PEOPLE)) ** 0.5


def impulses(process: Hawkes, people: int, rounds: int) -> np.ndarray:
    """Impulses by round and person, from a start without excitation."""
    generator, excess, counts = np.random.default_rng(7), np.zeros(people), []
    for _ in range(rounds):
        made, excess = process.round(excess, generator)
        counts.append(made)
    return np.array(counts)


@check_each(("base", "branching", "decay"), [(0.2, 0.5, 1.0), (0.5, 0.8, 3.0), (0.3, 0.0, 1.0)])
def test_the_intensity_is_that_of_a_hawkes_process(base: float, branching: float, decay: float) -> None:
    """At every time, not only in the long run: E lambda(t) = m + (base - m) exp(-decay (1 - branching) t).

    m = base / (1 - branching) (Dassios and Zhao 2013). Expected impulses of a round are its integral; 4 standard errors.
    """
    process, people, rounds = Hawkes(base, branching, decay), 4000, 12
    counts = impulses(process, people, rounds)
    mean, speed = process.settled, decay * (1 - branching)
    for number in range(rounds):
        fading = (math.exp(-speed * number) - math.exp(-speed * (number + 1))) / speed
        expected = mean + (base - mean) * fading
        error = counts[number].std(ddof=1) / people**0.5
        assert abs(counts[number].mean() - expected) < 4 * error, number


def test_the_branching_ratio_can_be_found_again() -> None:
    """Of the counts of a long window variance / mean goes to 1 / (1 - branching)^2 (Hawkes 1971): a Poisson process has 1."""
    for branching in (0.0, 0.5):
        counts = impulses(Hawkes(0.5, branching, 4.0), 1500, 60)[10:].sum(axis=0)
        ratio = 1 - (counts.mean() / counts.var(ddof=1)) ** 0.5
        assert ratio == pytest.approx(branching, abs=0.06)


def test_who_spoke_is_more_likely_to_speak_again() -> None:
    """Self-exciting, each for itself: after a round with an impulse the next one is more likely than after one without."""
    counts = impulses(Hawkes(0.2, 0.6, 1.0), 4000, 10) > 0
    before, after = counts[-2], counts[-1]
    assert after[before].mean() > after[~before].mean() + 0.1


def test_the_clock_wakes_more_people_at_its_peak() -> None:
    """Peak at 20 h, rounds of 12 h from 8 h: the factor is 1 - swing in round 1 and 1 + swing in round 2 (4 sd)."""
    spec = "clock,rate=0.5,spread=0,swing=0.6,peak=20,hours=12,start=8"
    for round_, factor in ((1, 0.4), (2, 1.6), (3, 0.4)):
        expected = 1 - math.exp(-0.5 * factor)
        found = len(active(spec, round_)) / len(PEOPLE)
        assert abs(found - expected) < 4 * (expected * (1 - expected) / len(PEOPLE)) ** 0.5


def test_the_clock_gives_each_person_a_rate_of_its_own() -> None:
    """With a spread, who was active in one round is active in others more often than chance; without one, it is not."""
    for spread, alike in ((0, True), (1.5, False)):
        spec = f"clock,rate=0.5,spread={spread},swing=0"
        first, *others = [set(active(spec, round_)) for round_ in range(1, 11)]
        among = np.mean([len(first & other) / len(first) for other in others])
        overall = np.mean([len(other) / len(PEOPLE) for other in others])
        assert (among - overall < 0.05) == alike
