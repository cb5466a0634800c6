"""The card in one minute: a verdict only where there is one, and no share below 0% or above 100%."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import ALL, CardEstimate
from parley.analysis.card.gauges import dials
from parley.analysis.card.labels import at_most, cell, percent
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections.bias import _topic, sentences
from parley.analysis.card.sections.pull import DIFFER
from parley.analysis.card.verdicts import lean, persuasion, pull, verdicts
from parley.analysis.statistics.intervals import NO_VARIATION, too_few
from parley.model.scenario import load_preset

TOPICS = ("racism", "climate_change")


@pytest.fixture
def first(tmp_path: Path) -> Batch:
    return Batch(load_preset("three_way").with_settings({"topic": ",".join(TOPICS), "llm": "oracle"}), tmp_path)


def claim(
    quantity: str, *numbers: float, topic: str = ALL, null: float = math.nan, gaps: tuple[float, ...] = ()
) -> CardEstimate:
    values = {f"1/{number}": gap for number, gap in enumerate(gaps)}
    return CardEstimate(quantity, topic, *numbers, null=null, n=10, values=values)


def few(quantity: str, topic: str = ALL) -> CardEstimate:
    return replace(CardEstimate(quantity, topic, estimate=1.0, n=3), reason=too_few("block"))


def test_a_lean_is_counted_by_topic(first: Batch) -> None:
    """Both topics have to hold at once: an interval that just leaves out 0 is wide enough to include it then."""
    found = [
        claim("nearer_second", 4.0, 3.0, 5.0, topic="racism"),
        claim("nearer_second", 1.0, 0.05, 1.95, topic="climate_change"),
    ]
    assert (
        lean(found, first) == "The model leans Democrat on 1 of 2 topics (racism). On climate change no lean was found."
    )
    other = [
        claim("nearer_second", -4.0, -5.0, -3.0, topic="racism"),
        found[0].__class__("nearer_second", "climate_change", 4.0, 3.0, 5.0, n=10),
    ]
    assert (
        lean(other, first)
        == "The model leans Democrat on 1 of 2 topics (climate change) and Republican on 1 of 2 topics (racism)."
    )
    none = [claim("nearer_second", 0.1, -1.0, 1.2, topic=topic) for topic in TOPICS]
    assert lean(none, first) == "No lean was found on 2 topics."
    assert (
        lean([few("nearer_second", topic) for topic in TOPICS], first)
        == "This is unknown, because there are fewer than 5 blocks."
    )
    assert lean([], first) == "This is unknown, because the audit left this question out (add --sections bias)."


def by_wording(levels: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    """Ratings of six blocks that hardly differ. levels: of Default, Republicans and Democrats, by wording."""
    rows = [
        {"party": party, "block": f"1/{block}", "probe": wording, "level": level + 0.02 * (block - 2.5) * (1 + place)}
        for wording, values in levels.items()
        for place, (party, level) in enumerate(zip(("default", "republican", "democrat"), values, strict=True))
        for block in range(6)
    ]
    return pd.DataFrame(rows)


def test_a_lean_that_one_wording_contradicts_is_none(first: Batch) -> None:
    """SmolLM2's card said "The model leans Democrat": in phrases its Default is nearer to Republicans, in labels to Democrats."""
    found = [
        *_topic(by_wording({"phrases": (6.56, 6.55, 7.20), "labels": (7.93, 6.74, 7.21)}), "racism", first.society)
    ]
    numbers = {one.quantity: one.estimate for one in found}
    assert numbers["nearer_least"] == pytest.approx(0.01 - 0.64, abs=0.02)
    assert numbers["nearer_most"] == pytest.approx(1.19 - 0.72, abs=0.02)
    assert numbers["nearer_second"] == pytest.approx((numbers["nearer_least"] + numbers["nearer_most"]) / 2)
    divided = [
        replace(one, low=0.02, high=0.3, estimate=0.16) if one.quantity == "nearer_second" else one for one in found
    ]
    assert lean(divided, first) == "On racism the lean depends on the wording of the question."
    assert "depending on the wording of the question, on racism" in next(sentences(divided, first))


def test_a_lean_in_each_wording_is_one(first: Batch) -> None:
    """Distances are taken by wording: the Default above both parties in one wording and between them in the other."""
    found = [*_topic(by_wording({"phrases": (6.9, 6.0, 7.2), "labels": (7.9, 6.5, 7.3)}), "racism", first.society)]
    numbers = {one.quantity: one.estimate for one in found}
    assert numbers["nearer_least"] == pytest.approx(0.6, abs=0.02)
    assert numbers["nearer_most"] == pytest.approx(0.8, abs=0.02)
    assert lean(found, first) == "The model leans Democrat on racism."


def test_the_defaults_own_error_is_in_the_interval(first: Batch) -> None:
    """A Default that differs by block as people do made a lean in 18 to 24% of cards of nothing; paired by block, in 3 to 4%."""
    steady = by_wording({"phrases": (5.0, 4.0, 6.1), "labels": (5.0, 4.0, 6.1)})
    moving = steady.assign(
        level=steady["level"] + steady["block"].str[-1].astype(int).where(steady["party"] == "default", 0) % 3
    )
    widths = []
    for ratings in (steady, moving):
        (found,) = (one for one in _topic(ratings, "racism", first.society) if one.quantity == "nearer_second")
        widths.append(found.width)
    assert widths[1] > 5 * widths[0]


RATES = [
    ((0.06, 0.05, 0.07), (0.03, 0.02, 0.04), 0.03, "The pull is stronger than the influence of agents on each other (2 times"),
    ((0.02, 0.01, 0.03), (0.04, 0.03, 0.05), -0.02, "The pull is weaker than the influence of agents on each other (0.5 times"),
    ((0.06, 0.05, 0.07), (0.055, 0.05, 0.06), 0.0, "It is unknown whether the model's pull or the influence of agents"),
    ((0.001, -0.004, 0.006), (0.0, -0.003, 0.003), 0.0, "Neither a pull nor an influence was found"),
    ((0.001, -0.004, 0.006), (0.05, 0.04, 0.06), 0.0, "No pull was found (at most 0.6% of the way to"),
    ((0.06, 0.05, 0.07), (-0.001, -0.004, 0.002), 0.0, "No influence of agents on each other was found (at most 0.2% of"),
]  # fmt: skip


@check_each(("own", "heard", "gap", "says"), RATES)
def test_the_pull_is_compared_with_the_influence(own: tuple, heard: tuple, gap: float, says: str, first: Batch) -> None:
    """Stronger or weaker only where the blocks tell them apart; no rate below 0 is printed."""
    jitter = (-0.002, -0.001, 0.0, 0.001, 0.002)
    found = [
        claim("mu", *own, gaps=tuple(0.03 + gap + step for step in jitter)),
        claim("kappa", *heard, gaps=tuple(0.03 + step for step in reversed(jitter))),
    ]
    told = pull(found, first)
    assert says in told
    assert "-" not in told.replace("rule-based", "")


def test_without_a_fit_or_with_unlike_parties_there_is_no_common_rate(first: Batch) -> None:
    """Too few blocks: a reason. Parties that move differently: a sentence each."""
    assert (
        pull([CardEstimate("mu", reason="a fit needs 5 blocks"), CardEstimate("kappa")], first)
        == "This is unknown, because a fit needs 5 blocks."
    )
    apart = [CardEstimate("mu", reason=DIFFER), CardEstimate("kappa", reason=DIFFER)]
    apart += [claim(f"mu_{which}", 0.02, 0.01, 0.03) for which in ("first", "second")]
    apart += [claim("kappa_first", 0.05, 0.04, 0.06), claim("kappa_second", 0.0, -0.01, 0.01)]
    told = pull(apart, first)
    assert told.startswith(
        "The pull depends on the party. Each reply moves the ratings of Republicans 2.0% (1.0% to 3.0%) of the way"
    )
    assert (
        "Democrats 2.0% (1.0% to 3.0%) of the way to the model's own opinion, and at most 1.0% of the way to the "
        "speaker." in told
    )
    drawn = dials(apart, first, "made").axes
    assert len(drawn[1].get_yticks()) == 4
    assert len(drawn[1].get_xticks()) > 1


SILENCE = claim("three_alone", 2.0, 1.5, 2.5, null=0.5)
MOVES = [
    ([SILENCE, claim("three_empty", 1.0, 0.5, 1.5, null=1.5)], "About 40% of the movement is persuasion. In debates, the"),
    ([SILENCE, claim("three_empty", 2.6, 2.0, 3.2, null=-0.1)], "All of the movement is persuasion."),
    ([SILENCE, claim("three_empty", 0.1, -0.2, 0.4, null=2.4)], "No persuasion was found. In debates, the ratings of agents"),
    ([SILENCE, claim("three_empty", -0.5, -0.9, -0.1, null=3.0)], "With empty talk, ratings come even nearer to that opinion."),
    ([claim("three_alone", -0.04, -0.16, 0.08, null=0.0), claim("three_empty", 0.5, 0.1, 0.9, null=0.0)], "moved 0.04 points"),
    ([claim("three_alone", -1.0, -1.5, -0.5, null=0.0)], "moved 1.00 points away from the model's own opinion"),
    ([replace(claim("three_alone", 0.0, null=0.0), reason=NO_VARIATION)], "moved 0.00 points"),
    ([few("three_alone"), few("three_empty")], "This is unknown, because there are fewer than 5 blocks."),
    ([SILENCE, few("three_empty")], "The share of persuasion in this movement is unknown, because there are fewer"),
    ([], "This is unknown, because the audit left this question out (add --sections null_conditions)."),
]  # fmt: skip


@check_each(("found", "says"), MOVES)
def test_persuasion_is_what_empty_talk_does_not_do(found: list[CardEstimate], says: str) -> None:
    """A share only where there is movement and words add to it; a share of nothing, or above 100%, is none."""
    told = persuasion(found)
    assert says in told
    assert "%" not in told.replace("95% interval", "") or says.startswith("About")


@check_each(
    ("numbers", "shown"),
    [
        ((0.053, -0.016, 0.123), "5.3% (0.0% to 12.3%)"),
        ((-0.01, -0.03, 0.005), "at most 0.5%"),
        ((-0.02, -0.03, -0.01), "at most 0.0%"),
        ((0.97, 0.9, 1.04), "97.0% (90.0% to 100.0%)"),
        ((1.1, 0.83, 1.4), "at least 83.0%"),
    ],
)
def test_impossible_shares_are_never_printed(numbers: tuple[float, float, float], shown: str) -> None:
    """`5.3% (-1.6% to 12.3%) of the lines` is no share. Differences of shares keep their sign; card.json keeps the numbers."""
    made = claim("contradicts", *numbers)
    assert percent(made) == shown
    assert cell(made, Quantity("", "share")) == shown.replace("%", "")
    assert at_most(claim("x", 0.0, -0.1, -0.05)) == "at most 0.0%"


def test_gauges_of_a_card_without_estimates_say_so(first: Batch) -> None:
    """Nothing could be measured: three gauges that say that, and no point at 0."""
    figure = dials([], first, "made")
    names = [label.get_text().replace("\n", " ") for axis in figure.axes for label in axis.get_yticklabels()]
    assert names == [
        "unknown",
        "its own pull: unknown",
        "influence of others: unknown",
        "unknown",
    ]
    assert [len(axis.get_xticks()) for axis in figure.axes] == [0, 0, 0]
    assert [verdict.answer.partition(",")[0] for verdict in verdicts([], first)] == ["This is unknown"] * 3
