"""What a reader of a card sees: one rule for decimals, nothing invented where nothing varies, what never happened told once."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from data_checks import check_each

from parley.analysis.card.card import BY_TOPIC, _tables, model_line
from parley.analysis.card.comparison import RATIO, SHOWN, SavedCard, comparison_figure
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import ALL, CardEstimate
from parley.analysis.card.figure import forest_plot, panels_of
from parley.analysis.card.labels import (
    DIFFERENCE,
    below,
    cell,
    condition,
    directed,
    ends,
    judge,
    percent,
    unit,
    units,
    value,
)
from parley.analysis.card.sections import Quantity, sections
from parley.analysis.contrasts import HIGHER
from parley.analysis.statistics.intervals import NO_VARIATION
from parley.model.scenario import Scenario, load_preset

TOPICS = ("racism", "climate_change")
POINTS, SHARE = Quantity("moved", "points"), Quantity("refused to speak", "share")


def base(**settings: object) -> Scenario:
    return load_preset("three_way").with_settings({"topic": ",".join(TOPICS), "llm": "oracle"} | settings)


def claim(quantity: str = "moved", topic: str = ALL, *numbers: float, n: int = 4, kind: str = "block") -> CardEstimate:
    return CardEstimate(quantity, topic, *numbers, n=n, unit=kind)


@check_each(
    ("number", "told", "shown"),
    [
        (0.0524, Quantity("", "rate"), "5.2"),
        (-0.004, Quantity("", "points"), "0.00"),
        (0.43, Quantity("", "share", DIFFERENCE), "+43.0"),
        (-0.45, Quantity("", "share", DIFFERENCE), "-45.0"),
        (0.987, Quantity("", "correlation"), "0.99"),
    ],
)
def test_percent_has_one_decimal_all_else_two(number: float, told: Quantity, shown: str) -> None:
    """An estimate and its ends are told alike; a difference of percentages has its sign; never a minus before zero."""
    assert value(number, told) == shown


def test_estimates_in_sentences() -> None:
    """Where nothing varied no interval of no width is claimed; what is below 0 is told as how far below; ends may be missing."""
    assert percent(claim("x", ALL, 0.06, 0.0561, 0.0642)) == "6.0% (5.6% to 6.4%)"
    assert directed(claim("x", ALL, -2.29, -2.46, -2.12), HIGHER) == "2.29 points lower (95% interval 2.12 to 2.46)"
    assert (
        percent(replace(claim("x", ALL, 1.0, n=10), reason=NO_VARIATION))
        == "100.0% (no variation observed, n = 10 blocks)"
    )
    assert percent(below(claim("x", ALL, -0.71, -0.78, -0.64))) == "71.0% (64.0% to 78.0%)"
    assert cell(claim("x", ALL, 2.0), POINTS) == "2.00"
    assert cell(claim("x", ALL, 2.0, 1.0, math.inf), POINTS) == "2.00 (1.00 or more)"
    assert cell(replace(claim("x", ALL, 2.0), reason=NO_VARIATION), POINTS) == "2.00 (no variation)"


def test_agents_are_no_humans() -> None:
    """A persona is an agent; who was asked by Pew is a human."""
    assert units(claim("gender_moved", n=1, kind="person")) == "1 agent"
    assert units(claim("people_gap", n=5115, kind="person")) == "5,115 humans"
    assert (unit(SHARE), unit(POINTS), unit(Quantity("", "share", DIFFERENCE))) == ("%", "points", DIFFERENCE)


def test_what_never_happened_is_told_once() -> None:
    """Three of four shares are 0: one sentence with their limits, and in the table what did happen alone."""
    told = {
        f"{kind}_{where}": Quantity(f"{kind}: {where}", "share") for kind in ("refused", "unread") for where in "ab"
    }
    found = [claim(name, ALL, 0.0, 1e-18, 0.01, n=400, kind="turn") for name in list(told)[:3]]
    found.append(claim("unread_b", ALL, 0.25, 0.2, 0.3, n=400, kind="turn"))
    table, never = _tables(found, told, TOPICS)
    assert "25.0 (20.0 to 30.0)" in table
    assert "refused" not in table
    assert never.startswith("The share is 0 for: refused (in all 2 conditions); unread (a). n = 400 turns; upper limit")
    assert never.endswith("1.0%.")
    flat = replace(claim("moved", ALL, 0.0), reason=NO_VARIATION)
    assert "no variation" in next(_tables([flat], {"moved": POINTS}, TOPICS)), "no movement at all is a result"


def test_topics_stand_in_the_order_of_the_card() -> None:
    """Whatever order they were counted in; unit and n once where all rows have the same, a wording's effect once likewise."""
    found = [CardEstimate("moved", topic, 1.0, 0.5, 1.5, n=4, instrument=0.2) for topic in reversed(TOPICS)]
    table, chance, note = next(_tables(found, {"moved": POINTS}, TOPICS)).split("\n\n")
    assert chance == BY_TOPIC, "the page counts its intervals once: two counts on a page were read as a contradiction"
    assert table.splitlines()[0] == "| by topic (points; n = 4 blocks) | racism | climate change |"
    assert "±" not in table
    assert note == "With other wordings of the question, the estimates above change by 0.20 points (SD)."
    found[0] = CardEstimate("moved", TOPICS[1], 1.0, 0.5, 1.5, n=3, instrument=0.3)
    other = next(_tables(found, {"moved": POINTS}, TOPICS))
    assert "(points; n = 3 to 4 blocks)" in other
    assert "1.00 (0.50 to 1.50) ± 0.30" in other


def test_the_judge_is_named(tmp_path: Path) -> None:
    """And a reader is told where the model is its own judge; a name is text of somebody else."""
    assert (
        judge(Batch(base(), tmp_path, judge="oracle,mu=0"))
        == "the judge (oracle,mu=0, which is also the audited model, so this is not independent evidence)"
    )
    assert judge(Batch(base(), tmp_path, judge="openai:a*b")) == "the judge (openai:a\\*b)"


def test_every_condition_and_scale_has_words(tmp_path: Path) -> None:
    """One name for each condition of the battery; the ends of the scale, or that topics differ in them."""
    batch = Batch(base(), tmp_path)
    held = {name for section in sections().values() for need in section.NEEDS for name in need(batch)}
    names = [condition(name, batch.society) for name in held]
    assert len(names) == len(set(names)) == 18
    assert condition("empty republican", batch.society) == "empty talk, Republicans rated"
    assert ends(TOPICS) == ("not a problem at all", "a very big problem")
    assert ends(("racism", "abortion"))[0] == "the low end of a topic's scale"


def test_titles_say_minus_and_never_less() -> None:
    """A reader took `A less B` for a smaller A, and simulated people for people."""
    titles = [told.title for section in sections().values() for told in section.QUANTITIES.values()]
    words = [word for title in titles for word in title.replace(",", "").split()]
    assert not {"less", "null", "people"} & set(words)


def test_a_condition_and_its_control_are_a_pair(tmp_path: Path) -> None:
    """The condition is drawn where it moved to, control and difference together, and the control where that moved to."""
    found = [CardEstimate("three_empty", ALL, 0.85, 0.7, 1.0, null=1.44, n=10)]
    right = forest_plot(found, base().society, base().subject.topic, "made").axes[0]
    assert sorted(round(float(line.get_xdata()[0]), 2) for line in right.lines if line.get_marker() in "oD") == [
        1.44,
        2.29,
    ]


def test_the_line_of_a_ratio_is_at_one() -> None:
    """The caption "The grey line is no effect" was false under a ratio, whose line was drawn at 0."""
    found = tuple(CardEstimate(name, ALL, 0.8, 0.6, 1.0, n=10) for name in (RATIO, "kappa"))
    saved = SavedCard("a", "oracle", "", ("Republicans", "Democrats"), {}, {}, {}, {}, found, ())
    places = [
        {float(line.get_xdata()[0]) for line in axis.lines if len(set(line.get_xdata())) == 1}
        for axis in comparison_figure([saved, replace(saved, name="b")]).axes
    ]
    names = [*SHOWN]
    assert (1.0 in places[names.index(RATIO)], 1.0 in places[names.index("kappa")]) == (True, False)
    assert 0.0 in places[names.index("kappa")]


def test_a_panel_without_a_number_has_no_axis() -> None:
    """A card of two sections had an empty panel of movements with an axis from 0 to 1 that nothing was measured on."""
    society = load_preset("three_way").society
    empty = forest_plot([], society, ["climate_change"], "").axes[1]
    assert [*empty.get_xticks()] == []
    assert [text.get_text() for text in empty.texts] == ["not measured"]
    measured = forest_plot(
        [CardEstimate("three_alone", ALL, 0.8, 0.6, 1.0, null=0.1, n=10)], society, ["climate_change"], ""
    )
    assert len(measured.axes[0].get_xticks()) > 0


def test_a_panel_of_a_section_that_was_not_run_is_left_out() -> None:
    """The figure of a card of `bias` alone was half "not measured"; what was looked for and not found keeps its panel."""
    society = load_preset("three_way").society
    level = CardEstimate("default", "climate_change", 5.0, 4.0, 6.0, n=10)
    failed = CardEstimate("three_alone", ALL, reason="no party begins away from the Default")
    assert panels_of([level], society) == ["levels"]
    assert panels_of([failed], society) == ["effects"]
    assert panels_of([level, failed], society) == panels_of([], society) == ["levels", "effects"]
    assert len(forest_plot([level], society, ["climate_change"], "").axes) == 1


def test_a_page_names_the_file_of_its_model() -> None:
    """The card said `smollm2`: not which size, which quantisation, or which weights."""
    model = {"backend": "gguf", "model": "SmolLM2-135M-Instruct-Q4_1", "weights": "0123456789abcdef0123"}
    header = SimpleNamespace(model=model, scenario={"llm": "smollm2", "llms": []}, stand_ins=[], branch={}, checks=())
    assert model_line(header) == "Model: smollm2 (SmolLM2-135M-Instruct-Q4_1, weights 0123456789ab)."
