"""Sentences that compare never contradict their numbers: the words say the sign, the numbers are sizes.

The truth is computed again from the planted numbers; directions, sizes and ends are read from the text of the sentence.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from parley.analysis import contrasts
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.labels import directed
from parley.analysis.contrasts import (
    HIGHER,
    MORE,
    NEARER,
    TO_AND_FRO,
    UP_AND_DOWN,
    Sides,
    amount,
    contrast,
    to_and_from,
)
from parley.analysis.deliberation.consensus_report import GAIN, Measure, _verdict
from parley.analysis.findings import _one_topic
from parley.analysis.metrics.emotional_contagion import _sentence as contagion
from parley.analysis.metrics.herd_effect import _effect as herd_effect
from parley.analysis.metrics.recommender_effect import _sentence as recommender_effect

Triple = tuple[float, float, float]
ENDS = ((0.41, 0.97), (0.004, 1.2), (-0.3, 0.7), (-0.7, 0.3), (-0.97, -0.41), (-1.2, -0.004), (math.nan, math.nan))
"""Intervals: above 0, hardly above, on both sides, below, hardly below, and none."""
MOVEMENTS = (-3.0, -0.92, -0.23, 0.0, 0.23, 0.92, 3.0)


def estimates() -> list[Triple]:
    """Numbers with an interval around them, and numbers whose interval lies on the other side, as of few skewed rooms."""
    middles = [((low + high) / 2 if math.isfinite(low) else 0.5, low, high) for low, high in ENDS]
    return [*middles, (-0.5, math.nan, math.nan), (-0.01, 0.41, 0.97), (0.0, -0.3, 0.3)]


def told(sentence: str, sides: Sides) -> tuple[float, float | None, float | None]:
    """Return the signed number, and the signed ends of its interval, as a reader takes them from a sentence."""
    above, below = map(re.escape, sides)
    unit = r"(?: of [\d.]+ points| [a-z]+ points| points| votes)?"
    ends = r"(?: \(95% interval (.+?)\))?(?=[.;,: ]|$)"
    found = re.search(rf"(?<![\w.])(\d+\.\d+){unit}(?: ({above}|{below}))?{ends}", sentence)
    assert found, sentence
    side = -1 if found[2] == sides.below else 1
    value = side * float(found[1])
    if not found[3]:
        return value, None, None
    pair = re.match(rf"([\d.]+)(?: ({above}|{below}))? to ([\d.]+)(?: ({above}|{below}))?", found[3])
    assert pair, sentence
    assert bool(pair[2]) == bool(pair[4]), f"one end of the interval has no side: {sentence}"
    if pair[2]:
        return value, *(float(pair[at]) * (-1 if pair[at + 1] == sides.below else 1) for at in (1, 3))
    low, high = sorted(side * float(pair[at]) for at in (1, 3))
    return value, low, high


def is_true(sentence: str, estimate: Triple, sides: Sides, digits: int = 2) -> bool:
    """Return whether a sentence says this number and this interval, without a sign in front of any number."""
    said, close = told(sentence, sides), 0.5 * 10**-digits + 1e-9
    wanted = [number if math.isfinite(number) else None for number in estimate]
    same = all(
        (one is None) == (other is None) and (one is None or other is None or abs(one - other) <= close)
        for one, other in zip(said, wanted, strict=True)
    )
    return same and not re.search(r"(?<![\d\w])[+-]\d", sentence)


@pytest.mark.parametrize("sides", [HIGHER, MORE, NEARER, TO_AND_FRO, UP_AND_DOWN])
@pytest.mark.parametrize("estimate", estimates())
def test_a_size_has_the_side_of_its_sign(estimate: Triple, sides: Sides) -> None:
    assert is_true(f"It is {amount(estimate, sides)}.", estimate, sides)


def planted() -> Iterator[tuple[float, float, Triple, Sides]]:
    """Both signs of both movements, by the sides of the interval and the frame."""
    for here, there, (half_low, half_high) in itertools.product(MOVEMENTS, MOVEMENTS, ((0.1, 0.1), (5.0, 5.0))):
        apart = here - there
        for ways in (UP_AND_DOWN, TO_AND_FRO):
            yield here, there, (apart, apart - half_low, apart + half_high), ways


def is_true_contrast(sentence: str, here: float, there: float, apart: Triple, ways: Sides) -> bool:
    """Recompute what the sentence of a contrast has to say, and compare it with its words."""
    moved = r"Voters moved (.+) in “one”, and (.+) in “two”, which is "
    found = re.fullmatch(
        rf"{moved}(a difference of )?([\d.]+) points( more in “one”| less in “one”)?( \(.+\))?\.", sentence
    )
    if not found:
        return False
    second = f"{found[2]} {ways.of(there)}" if here * there > 0 else found[2]  # the same way is said once
    for points, words in ((here, found[1]), (there, second)):
        if words != ("not at all" if points == 0 else f"{abs(points):.2f} points {ways[points < 0]}"):
            return False
    if abs(float(found[4]) - abs(apart[0])) > 0.0051:
        return False
    if here * there < 0:  # opposite ways: neither moved more, and the ends are said in the frame
        return bool(found[3]) and not found[5] and _ends_are_true(found[6], apart, ways)
    bigger = abs(here) - abs(there)
    word = "" if bigger == 0 else f" {'more' if bigger > 0 else 'less'} in “one”"
    sign = -1 if min(here, there) < 0 else 1
    framed = (sign * apart[0], *sorted((sign * apart[1], sign * apart[2])))
    return (found[5] or "") == word and _ends_are_true(found[6], framed, Sides("more in “one”", "less in “one”"))


def _ends_are_true(brackets: str, apart: Triple, sides: Sides) -> bool:
    said = re.search(r"interval ([\d.]+) ?(.*?) to ([\d.]+) ?(.*?), 6 rooms", brackets)
    if not said:
        return False
    if min(apart) > 0 or max(apart) < 0:
        want = [f"{end:.2f}" for end in sorted(map(abs, apart[1:]))]
        return [said[1], said[3]] == want and not said[2] and not said[4]
    return [said[1], said[2], said[3], said[4]] == [
        text for end in apart[1:] for text in (f"{abs(end):.2f}", sides[end < 0])
    ]


def contrast_faults() -> list[str]:
    cases = list(planted())
    assert len(cases) >= 192
    made = [
        (contrast("Voters", (here, there), ("“one”", "“two”"), apart, ways, "6 rooms"), here, there, apart, ways)
        for here, there, apart, ways in cases
    ]
    return [sentence for sentence, *truth in made if not is_true_contrast(sentence, *truth)]


def test_no_contrast_says_a_wrong_direction() -> None:
    """None of the planted cases is worded wrongly: what fell less is never said to have risen."""
    assert contrast_faults() == []


def test_the_check_sees_a_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence with the sign of the difference in place of that of the movements, as of an earlier version, is found."""
    monkeypatch.setattr(contrasts, "movement", lambda points, ways: f"{points:+.2f} points {ways.above}")
    assert len(contrast_faults()) > 100


def row(name: str, estimate: Triple, **rest: Any) -> dict[str, Any]:
    return dict(zip((name, f"{name}_low", f"{name}_high"), estimate, strict=True)) | {"reason": "", **rest}


def claim(estimate: Triple, null: float = 0.5) -> CardEstimate:
    return CardEstimate("three_alone", estimate=estimate[0], low=estimate[1], high=estimate[2], null=null, n=6)


VOTES = Sides("above posts without", "below posts without")
CONTROL = Sides("above that of the control", "below that of the control")
BUILDERS: dict[str, tuple[Callable[[Triple], str], Sides]] = {
    "herd effect": (lambda of: herd_effect(row("up", of), "up", "for"), VOTES),
    "recommender": (lambda of: recommender_effect(row("variance", of, group="a under b")), CONTROL),
    "contagion": (lambda of: contagion(row("contagion", of, emotion="joy", p=0.01)), to_and_from("it")),
    "agreement": (lambda of: _verdict(Measure("gain", "", *of, 9, 9), GAIN, HIGHER), HIGHER),
    "card": (lambda of: directed(claim(of), HIGHER), HIGHER),
    "drift": (
        lambda of: _one_topic("Voters", row("drift", of, start=2.0, end=2.0 + of[0], default=9.0, rooms=6)).partition(
            " and "  # how far they began comes before it
        )[2],
        to_and_from("it"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BUILDERS))
@pytest.mark.parametrize("estimate", [(0.69, 0.41, 0.97), (-0.69, -0.97, -0.41)])
def test_every_builder_of_sentences_says_the_sign(name: str, estimate: Triple) -> None:
    build, sides = BUILDERS[name]
    assert is_true(build(estimate), estimate, sides, 1 if name == "drift" else 2)


SIGNED = re.compile(r"\{[^{}\n]*:\+[.\d]*[%efg]?\}")
DATA = ("studies/competing_debates/training.py", "studies/corrections/training.py", "model/population_interventions.py",
        "studies/representatives/outcome_report.py", "analysis/transcript.py")  # fmt: skip
"""Files in which such a number is a table's cell, an option or a plan, and no sentence says its direction."""


def test_no_report_prints_a_sign() -> None:
    """A sentence with a signed number beside a word for its direction can contradict itself, so `contrasts` words all of them."""
    home = Path(contrasts.__file__).parents[1]
    places = [path for folder in ("analysis", "studies", "model", "training") for path in (home / folder).rglob("*.py")]
    found = [
        str(path.relative_to(home))
        for path in places
        if "tests" not in path.parts and SIGNED.search(path.read_text(encoding="utf-8"))
    ]
    assert sorted(set(found) - set(DATA)) == []
