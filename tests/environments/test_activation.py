"""Who speaks when: shares, rates, and a self-exciting process against what is known of it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable

import numpy as np
import pytest
from data_checks import check_each
from scipy import stats

from parley.environments._social_graph import Links, SocialGraph
from parley.environments.activation import ACTIVATION, Hawkes
from parley.llm.errors import UserError

PEOPLE = tuple(range(1, 2001))


def society(pairs: Iterable[tuple[int, int]] = (), seed: int = 0) -> SocialGraph:
    """People who follow each other by these pairs (the first follows the second), with random streams of their own."""
    return SocialGraph(Links(PEOPLE, pairs), lambda one: None, lambda *of: random.Random(repr((seed, *of))))


def followed(count: int) -> list[tuple[int, int]]:
    """Each person follows `count` others, mostly a few popular ones."""
    rng = random.Random(5)
    popular = [*PEOPLE[:40]] * 40 + [*PEOPLE]
    return [(one, other) for one in PEOPLE for other in {rng.choice(popular) for _ in range(count)} - {one}]


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


def expected_counts(process: Hawkes, rounds: int) -> list[float]:
    """Expected impulses per person and round, if each person follows someone: the mean intensity solves a linear equation.

    Within a round, with b the intensity without excitation and n = branching, dE/dt = -decay (1 - n) (E - b / (1 - n)).
    At its end others * decay * (expected impulses of the round) is added.
    """
    excess, counts, speed = 0.0, [], process.decay * (1 - process.branching)
    for round_ in range(1, rounds + 1):
        base = process.exogenous(round_)
        rest, start = base / (1 - process.branching), base + excess
        counts.append(rest + (start - rest) * (1 - math.exp(-speed)) / speed)
        excess = rest + (start - rest) * math.exp(-speed) - base + process.others * process.decay * counts[-1]
    return counts


def network_impulses(process: Hawkes, found: SocialGraph, rounds: int) -> np.ndarray:
    """Impulses by round and person in a network."""
    process.active(PEOPLE, rounds, found)
    return np.array([found.known["hawkes", round_][0] for round_ in range(1, rounds + 1)])


@pytest.mark.thorough
@check_each(
    "process",
    [
        Hawkes(0.1, 0.3, 1.0, 0.5),
        Hawkes(0.1, 0.0, 0.5, 0.8),
        Hawkes(0.1, 0.3, 1.0, 0.4, ("3:1", "6:0")),
        Hawkes(0.2, 0.5, 2.0, 0.0, ("4:0.5",)),
    ],
)
def test_mutual_excitation_and_phases_follow_the_exact_mean(process: Hawkes) -> None:
    """In every round, with popular authors and from the first round on; 4 standard errors over 12 societies."""
    links, rounds = followed(5), 9
    counts = np.array([network_impulses(process, society(links, seed), rounds).mean(axis=1) for seed in range(12)])
    for round_, expected in enumerate(expected_counts(process, rounds)):
        error = counts[:, round_].std(ddof=1) / len(counts) ** 0.5
        assert abs(counts[:, round_].mean() - expected) < 4 * error, (process, round_ + 1)


def test_activity_settles_where_the_branching_ratio_says() -> None:
    """base / (1 - branching - others): the recursion of expected counts and the stationary law agree."""
    process = Hawkes(0.2, 0.3, 1.0, 0.3)
    assert process.settled == pytest.approx(0.5)
    assert expected_counts(process, 200)[-1] == pytest.approx(process.settled, abs=1e-9)


def test_without_excitation_it_is_a_poisson_process() -> None:
    """Counts of a round have the mean and the variance of a Poisson law, and no round depends on the one before."""
    counts = network_impulses(Hawkes(0.4, 0.0, 1.0, 0.0), society(followed(5)), 12)
    assert counts.mean() == pytest.approx(0.4, abs=4 * (0.4 / counts.size) ** 0.5)
    assert counts.var() / counts.mean() == pytest.approx(1, abs=4 * (2 / counts.size) ** 0.5)
    assert abs(np.corrcoef(counts[:-1].ravel(), counts[1:].ravel())[0, 1]) < 4 / counts.size**0.5


def rescaled(process: Hawkes, law: Hawkes, people: int, rounds: int) -> np.ndarray:
    """Compensator between consecutive impulses of each person: by the time-rescaling theorem Exp(1) under the true law.

    Impulses are those of `process`, the compensator that of `law`; each person sees the mean of all.
    """
    generator, excess, own = np.random.default_rng(3), np.zeros(people), np.zeros(people)
    passed, waits = np.zeros(people), []
    for round_ in range(1, rounds + 1):
        base = law.exogenous(round_)
        who, when, excess = process.times(excess, generator, process.exogenous(round_))
        clock = np.zeros(people)
        for one, time in sorted(zip(who, when, strict=True), key=lambda pair: pair[1]):
            gap = time - clock[one]
            fallen = own[one] * math.exp(-law.decay * gap)
            waits.append(passed[one] + base * gap + (own[one] - fallen) / law.decay)
            own[one], passed[one], clock[one] = fallen + law.branching * law.decay, 0.0, time
        fallen = own * np.exp(-law.decay * (1 - clock))
        passed += base * (1 - clock) + (own - fallen) / law.decay
        seen = len(who) / people
        own, excess = fallen + law.others * law.decay * seen, excess + process.others * process.decay * seen
    return np.array(waits)


def test_impulses_follow_their_intensity_exactly() -> None:
    """Time rescaling (Brown et al. 2002): exponential by the true law, and not by one without mutual or own excitation."""
    true = Hawkes(0.1, 0.3, 1.0, 0.4, ("10:0.3", "200:0"))
    assert stats.kstest(rescaled(true, true, 40, 300), "expon").pvalue > 0.01
    for wrong in (Hawkes(0.1, 0.3, 1.0, 0.0, true.phases), Hawkes(0.1, 0.0, 1.0, 0.4, true.phases)):
        assert stats.kstest(rescaled(true, wrong, 40, 300), "expon").pvalue < 1e-6


def test_who_follows_an_active_person_is_more_likely_to_be_active() -> None:
    """Those who follow person 1, who was active, against those who follow no one; excitation is not for strangers."""
    pairs = [(one, 1) for one in PEOPLE[1000:]]
    process, after = Hawkes(0.2, 0.0, 1.0, 0.9), []
    for seed in range(20):
        counts = network_impulses(process, society(pairs, seed), 4)
        after += [(counts[3, 1000:] > 0).mean() - (counts[3, 1:1000] > 0).mean() for _ in [0] if counts[2, 0]]
    assert len(after) > 2
    assert min(after) > 0.1


def test_an_act_that_no_one_can_see_excites_no_one() -> None:
    """Marks: on a platform only posts, replies, quotes and shares excite others; own excitation stays."""
    hidden = society(followed(5))
    hidden.public_acts |= {round_: frozenset() for round_ in range(1, 13)}
    process = Hawkes(0.2, 0.3, 1.0, 0.6)
    alone = network_impulses(Hawkes(0.2, 0.3, 1.0), society(followed(5)), 12)
    assert (network_impulses(process, hidden, 12) == alone).all()
    half = society(followed(5))
    half.public_acts |= {round_: frozenset(PEOPLE[::2]) for round_ in range(1, 13)}
    assert alone[6:].mean() + 0.05 < network_impulses(process, half, 12)[6:].mean()


@check_each(
    ("spec", "message"),
    [
        ("hawkes,branching=0.6,others=0.5", "branching [+] others is .*, but must be between 0 and 0.99"),
        ("hawkes,phases=3", "needs ROUND:RATE with rounds counted from 1, such as"),
        ("hawkes,phases=0:2", "rounds counted from 1"),
        ("hawkes,phases=(3:1,3:2)", "different rounds"),
        ("hawkes,phases=3:-1", "needs ROUND:RATE with rounds counted from 1, such as"),
    ],
)
def test_wrong_options_are_refused(spec: str, message: str) -> None:
    """One line that says what to write."""
    with pytest.raises(UserError, match=message):
        ACTIVATION.get(spec)


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
