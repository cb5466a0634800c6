"""The planted law of motion, by hand and by its statistics."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from data_checks import check_each
from scipy import stats

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.dynamics import Parameters, attitude, dither, move, normal, planted, start
from parley.llm.backends.oracle.phrases import banks
from parley.llm.request import Request
from parley.llm.seeding import digest

US = banks()
LAW = Parameters(bias=8.0, kappa=0.05, mu=0.06, sigma=0.0, epsilon=10.0, start={"republican": 2.0, "democrat": 9.0})
NOBODY = "You are an American."
CLIMATE = "climate_change"


def test_a_move_by_hand() -> None:
    """0.05 * (8 - 2) + 0.06 * (8 - 2) = 0.66; 0.05 * (0 - 2) + 0.36 = 0.26."""
    assert move(2.0, 8.0, LAW) == pytest.approx(0.66)
    assert move(2.0, 0.0, LAW) == pytest.approx(0.26)
    assert move(8.0, 8.0, LAW) == 0.0


def test_an_unread_line_leaves_only_the_pull() -> None:
    """A line without a grade must not act like a line of some grade."""
    assert move(2.0, None, LAW) == pytest.approx(0.36)


def test_bounded_confidence_includes_its_bound() -> None:
    """At a distance of epsilon a line still counts, beyond it only the pull is left."""
    near = replace(LAW, epsilon=2.0)
    assert move(4.0, 6.0, near) == pytest.approx(0.05 * 2 + 0.24)
    assert move(4.0, 6.1, near) == pytest.approx(0.24)
    assert move(4.0, 1.9, near) == pytest.approx(0.24)


def test_two_lines_by_hand(line: Callable[..., str]) -> None:
    """From the bias 8: heard 0 -> 7.6; then 10 -> 7.6 + 0.12 + 0.024 = 7.744. The other way: 8.1, then 7.689."""
    heard = [("Bob", line(CLIMATE, 0)), ("Cleo", line(CLIMATE, 10))]
    assert attitude(US, NOBODY, CLIMATE, heard, LAW) == (pytest.approx(7.744), 0)
    assert attitude(US, NOBODY, CLIMATE, heard[::-1], LAW)[0] == pytest.approx(7.689)


def test_unread_lines_are_counted(line: Callable[..., str]) -> None:
    """Missing is not zero: what could not be read shows in the count and moves nobody at the bias."""
    heard = [("Bob", "Hello there."), ("Bob", line(CLIMATE, 8)), ("Cleo", line("racism", 0))]
    assert attitude(US, NOBODY, CLIMATE, heard, LAW) == (8.0, 2)


def test_attitudes_stay_on_the_axis(line: Callable[..., str]) -> None:
    """Overshooting law, clipped at both ends after every line."""
    wild = replace(LAW, kappa=3.0, mu=0.0)
    assert attitude(US, NOBODY, CLIMATE, [("Bob", line(CLIMATE, 10))], wild)[0] == 10.0
    assert attitude(US, NOBODY, CLIMATE, [("Bob", line(CLIMATE, 0))], wild)[0] == 0.0


def test_start_by_stated_level_by_party_or_none() -> None:
    """A stated level counts more than the party; nobody in particular starts at the bias, without a quirk."""
    quirks = {name: 0.5 * normal(digest("quirk", name, CLIMATE)) for name in ("Republican.", "A Democrat.")}
    assert start(US, NOBODY, CLIMATE, LAW) == 8.0
    assert start(US, "Republican.", CLIMATE, LAW) == pytest.approx(2.0 + quirks["Republican."])
    assert start(US, "A Democrat.", CLIMATE, LAW) == pytest.approx(min(9.0 + quirks["A Democrat."], 10))
    persona = (
        "You are a Republican. You see climate change as a moderately big problem. Racism is not a problem at all."
    )
    assert start(US, persona, CLIMATE, LAW) == pytest.approx(6.0 + 0.5 * normal(digest("quirk", persona, CLIMATE)))
    assert start(US, persona, "racism", LAW) == pytest.approx(
        max(1.0 + 0.5 * normal(digest("quirk", persona, "racism")), 0)
    )
    assert start(US, persona, "gun_violence", LAW) == pytest.approx(
        max(2.0 + 0.5 * normal(digest("quirk", persona, "gun_violence")), 0)
    )


def test_both_parties_named_alike_is_none() -> None:
    """A persona that names both as often is not pushed to a side."""
    assert start(US, "A Democrat married to a Republican.", CLIMATE, LAW) == 8.0


def test_changes_are_set_over_every_topic() -> None:
    """`--llm oracle,kappa=0` means every topic, and leaves the rest of the truth alone."""
    plain, changed = planted(), planted({"kappa": 0.0})
    assert {values.kappa for values in changed.values()} == {0.0}
    assert all(changed[slug] == replace(plain[slug], kappa=0.0) for slug in plain)


def test_same_text_same_attitude(oracle: Oracle, turn: Callable[..., Request], line: Callable[..., str]) -> None:
    """No hidden state: neither the order of requests nor the batches they come in can change a reply."""
    names = ("Bob", "Cleo", "Dev")
    requests = [
        turn([(name, line(CLIMATE, grade))], seed=seed) for name in names for grade in (0, 6, 10) for seed in (1, 2)
    ]
    at_once = [reply.text for reply in oracle.complete(requests)]
    backwards = [oracle.complete([request])[0].text for request in reversed(requests)][::-1]
    assert at_once == backwards == [reply.text for reply in Oracle().complete(requests)]
    assert len(set(at_once)) > 12


def noise(number: int) -> float:
    """The shock of one line with sigma 1, seen from the middle of the axis."""
    law = replace(LAW, bias=5.0, kappa=0.0, mu=0.0, sigma=1.0)
    return attitude(US, NOBODY, CLIMATE, [("Bob", f"Line {number}.")], law)[0] - 5


def test_noise_has_mean_zero_and_the_stated_spread() -> None:
    """Over 4000 digests: mean 0 within 4 standard errors, sd 1 within 5 percent."""
    drawn = [noise(number) for number in range(4000)]
    assert abs(statistics.fmean(drawn)) < 4 / 4000**0.5
    assert statistics.stdev(drawn) == pytest.approx(1, abs=0.05)


def test_noise_depends_on_persona_topic_and_all_lines() -> None:
    """Two agents who hear the same must not be shaken alike, nor one agent alike by two histories."""
    law = replace(LAW, bias=5.0, kappa=0.0, mu=0.0, sigma=1.0)

    def value(persona: str, slug: str, heard: Sequence[tuple[str, str]]) -> float:
        return attitude(US, persona, slug, heard, law)[0]

    said = [("Bob", "One."), ("Bob", "Two.")]
    varied = [
        value(NOBODY, CLIMATE, said),
        value("You are somebody.", CLIMATE, said),
        value(NOBODY, "racism", said),
        value(NOBODY, CLIMATE, said[::-1]),
        value(NOBODY, CLIMATE, [("Cleo", "One."), ("Bob", "Two.")]),
    ]
    assert len(set(varied)) == 5


def test_normal_is_standard_normal() -> None:
    """Kolmogorov-Smirnov over 5000 fixed digests (a fixed figure: it cannot fail by chance)."""
    drawn = [normal(digest("normal", number)) for number in range(5000)]
    assert stats.kstest(drawn, "norm").pvalue > 0.01
    assert normal(b"\xff" * 16) == pytest.approx(0.0, abs=1e-6)
    assert abs(normal(b"\x00" * 16)) < 10


@check_each(("value", "step"), [(3.3, 2), (7.9, 2), (0.0, 2), (10.0, 2), (9.4, 1), (5.0, 1)])
def test_dither_is_unbiased_and_stays_next_door(value: float, step: int) -> None:
    """What is said is right on average, and never further off than a step."""
    rng = random.Random(0)
    drawn = [dither(value, step, rng.random()) for _ in range(20_000)]
    assert statistics.fmean(drawn) == pytest.approx(value, abs=4 * step / 2 / 20_000**0.5)
    assert all(abs(point - value) < step and 0 <= point <= 10 and point % step == 0 for point in drawn)


def test_dither_without_a_generator_takes_the_nearer_one() -> None:
    """Temperature 0 draws nothing."""
    assert [dither(value, 2, None) for value in (3.3, 2.9, 7.9, 10.0)] == [4, 2, 8, 10]
