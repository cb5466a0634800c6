"""Tests of the tests: by hand, beside a second implementation, under shifts and scales, under the null with rooms that differ."""

from __future__ import annotations

import ast
import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st
from null_simulation import TESTS
from scipy import stats
from scipy.stats import binomtest

from parley.analysis.statistics.groups import (
    COLUMNS,
    Result,
    compare_paired,
    compare_two,
    hedges,
    holm,
    level,
    permutation_test,
    spread,
    table,
    weighted_means,
)
from parley.analysis.statistics.null import Null, share_as_large
from parley.analysis.statistics.power import deviation_interval, rooms_needed

ONE, OTHER, THIRD = np.arange(0.0, 5), np.arange(2.0, 7), np.arange(7.0, 12)
GROUPS = {"a": ONE, "b": OTHER, "c": THIRD}
NUMBERS = st.lists(st.floats(-10, 10).map(lambda value: round(value, 3)), min_size=5, max_size=12, unique=True)
ALPHA = 0.05
ROOT = Path(__file__).parents[2]


def test_a_one_way_anova_by_hand() -> None:
    """Means 2, 4, 9 around 5: between 5 * 26 = 130 on 2, within 3 * 10 = 30 on 12, so F = 26; omega^2 2 * 25 / (2 * 25 + 15)."""
    found = level("order", GROUPS, "room", equal=True)
    assert (found.n, found.df, found.df_within) == (15, 2, 12)
    assert (found.statistic, found.estimate) == (pytest.approx(26), pytest.approx(50 / 65))
    assert found.p == pytest.approx(stats.f.sf(26, 2, 12))
    assert 0 < found.low < found.estimate < found.high < 1


def test_welchs_anova_beside_scipys() -> None:
    rng = np.random.default_rng(0)
    groups = {str(number): rng.normal(0, 1 + number, 12) for number in range(3)}
    found, second = level("x", groups, "room"), stats.f_oneway(*groups.values(), equal_var=False)
    assert (found.statistic, found.p) == (pytest.approx(second.statistic), pytest.approx(second.pvalue))


@check_each("apart", [1.0, 30.0, 1000.0, 1e6])
def test_omega_squared_lies_within_its_interval(apart: float) -> None:
    """Of conditions far apart too: the inverse of noncentral F in scipy ends at 10,000, and so did the interval."""
    scores = {str(place): np.array([-1.0, 0.0, 1.0, 2.0, -2.0]) + place * apart for place in range(3)}
    result = level("x", scores, "run")
    assert result.low < result.estimate < result.high < 1


def test_the_interval_of_omega_squared_is_that_of_the_test() -> None:
    """Equal means, five units of SD 4 and twice 20 of SD 1: pooled F gave intervals above 0 in 28% (Welch's p: 4.5%)."""
    rng = np.random.default_rng(3)
    sizes = ((5, 4.0), (20, 1.0), (20, 1.0))
    found = [
        level("x", {str(place): rng.normal(0, sd, n) for place, (n, sd) in enumerate(sizes)}, "room") for _ in range(60)
    ]
    assert sum(row.low > 1e-9 for row in found) <= 5
    assert all((row.low > 1e-9) == (row.p < 0.025) for row in found)


def test_what_cannot_be_tested_has_its_means() -> None:
    """Exactly 4 and exactly 5 in all rooms: no test, and the difference is not hidden."""
    row = level("x", {"a": np.full(5, 4.0), "b": np.full(5, 5.0)}, "room")
    assert (math.isnan(row.p), row.reason) == (True, "no unit of a, b differs from another: a 4.00, b 5.00")


def test_spread_beside_an_anova_of_distances_from_the_median() -> None:
    """What Levene's test by medians is."""
    rng = np.random.default_rng(1)
    groups = {str(number): rng.normal(0, 1 + number, 10) for number in range(3)}
    by_hand = stats.f_oneway(*[abs(values - np.median(values)) for values in groups.values()])
    found = spread("x", groups, "room")
    assert (found.statistic, found.p) == (pytest.approx(by_hand.statistic), pytest.approx(by_hand.pvalue))
    assert found.estimate == pytest.approx(np.std(groups["2"], ddof=1) / np.std(groups["0"], ddof=1), rel=0.5)


def test_two_conditions_by_hand() -> None:
    """Second minus first; spreads of sqrt(2.5): g = 2 / sqrt(2.5) * (1 - 3/31), t = 2 / sqrt(2.5 / 5 * 2)."""
    found = compare_two("gender", ONE, OTHER, "room")
    assert (found.estimate, found.size) == (2.0, pytest.approx(2 / math.sqrt(2.5) * (1 - 3 / 31)))
    assert found.statistic == pytest.approx(2)
    assert found.low < 2 < found.high


@given(NUMBERS, NUMBERS, st.floats(-5, 5), st.floats(0.1, 10))
def test_shifts_and_scales_do_not_show(first: list[float], second: list[float], shift: float, scale: float) -> None:
    """A test of level and spread is the same on any scale of the ratings; the difference scales with it."""
    one, other = np.array(first), np.array(second)
    moved = {"a": one * scale + shift, "b": other * scale + shift}
    for found, before in (
        (level("x", moved, "room"), level("x", {"a": one, "b": other}, "room")),
        (spread("x", moved, "room", least=5), spread("x", {"a": one, "b": other}, "room", least=5)),
    ):
        assert found.p == pytest.approx(before.p, abs=1e-6)
    assert compare_two("x", *moved.values(), "room").estimate == pytest.approx(
        scale * compare_two("x", one, other, "room").estimate, abs=1e-9
    )
    assert hedges(other, one) == pytest.approx(-hedges(one, other))


@given(st.permutations(list(GROUPS)))
def test_the_order_of_conditions_does_not_show(names: list[str]) -> None:
    reordered = {name: GROUPS[name] for name in names}
    assert level("x", reordered, "room").p == pytest.approx(level("x", GROUPS, "room").p)
    assert spread("x", reordered, "room", least=5).p == pytest.approx(spread("x", GROUPS, "room", least=5).p)


@check_each("groups", [{"a": ONE}, {"a": ONE, "b": ONE[:1]}, {"a": ONE, "b": np.array([1.0, math.nan])}, {}])
def test_too_few_units_are_a_reason_and_no_number(groups: dict[str, np.ndarray]) -> None:
    for found in (level("x", groups, "room"), spread("x", groups, "room")):
        assert found.reason
        assert math.isnan(found.p)


def test_units_that_are_all_alike_are_a_reason() -> None:
    assert level("x", {"a": np.ones(5), "b": np.ones(5)}, "room").reason == ("no unit of a, b differs from another")


def test_one_condition_without_any_spread_is_a_reason_where_each_is_divided_by_its_own() -> None:
    """Welch's test has no answer then; Fisher's, which pools the spreads, has."""
    groups = {"a": np.array([3.0, 3.0, 3.0 + 4e-16, 3.0, 3.0]), "b": np.array([1.0, 2.0, 3.0, 2.0, 4.0])}
    assert level("x", groups, "room").reason == "no unit of a differs from another"
    assert level("x", groups, "room", equal=True).reason == ""


def test_the_interval_of_nothing_explained_is_none_and_not_sure() -> None:
    """Near F = 0 both ends fall on 0, which would look like certainty."""
    groups = {"a": ONE, "b": ONE + 0.001}
    found = level("x", groups, "room")
    assert (found.p > 0.9, math.isnan(found.high) or found.high > 0.05) == (True, True)


def test_a_missing_unit_is_left_out_and_not_zero() -> None:
    with_gap = {"a": np.array([*ONE, math.nan]), "b": OTHER}
    assert level("x", with_gap, "room") == level("x", {"a": ONE, "b": OTHER}, "room")


def test_corrected_p_by_hand() -> None:
    """Holm: the smallest times 3, the next times 2, never below the one before."""
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    found = table(
        [
            Result("a", "room", 3, "m", "t", p=0.01),
            Result("b", "room", 3, "m", "t", reason="none"),
            Result("c", "room", 3, "m", "t", p=0.02),
        ]
    )
    assert found["p_holm"].tolist()[::2] == pytest.approx([0.02, 0.02])
    assert math.isnan(found["p_holm"][1])
    assert table([]).columns.tolist() == [
        *COLUMNS[: COLUMNS.index("p") + 1],
        "p_holm",
        *COLUMNS[COLUMNS.index("p") + 1 :],
    ]


def test_shuffled_labels_beside_every_shuffle() -> None:
    """Of the 252 ways to label ten rooms, these are as far apart as the true one; the true one counts as a draw."""
    rooms = pd.DataFrame({"value": [1.0, 2, 3, 4, 8, 5, 6, 7, 9, 10], "order": list("aaaaabbbbb")})
    found = permutation_test("order", rooms, "value", "order")
    ways = [abs(rooms["value"][list(way)].mean() - 5.5) for way in itertools.combinations(range(10), 5)]
    assert found.p == pytest.approx(np.mean(np.array(ways) >= 1.9 - 1e-9), abs=0.01)
    assert found.estimate == pytest.approx(10 * 1.9**2 / 82.5)
    few = permutation_test("order", rooms[1:], "value", "order")
    assert (few.reason, math.isnan(few.p)) == ("fewer than 5 units in a condition", True)


def test_labels_are_compared_as_by_welch() -> None:
    """Ten rooms against five of four times the spread and the same mean were "different" in 24% when means were compared without
    their errors. The statistic of two labels is the square of Welch's t."""
    rng = np.random.default_rng(3)
    few, many = rng.normal(0, 1, 5), rng.normal(0, 0.25, 10)
    rooms = pd.DataFrame({"value": np.concatenate([few, many]), "order": list("aaaaabbbbbbbbbb")})
    t = float(stats.ttest_ind(few, many, equal_var=False).statistic)
    assert permutation_test("order", rooms, "value", "order").statistic == pytest.approx(t**2)


def test_labels_are_shuffled_within_topics() -> None:
    """What topics differ in is no effect of the order, however unevenly orders fall on them."""
    rng = np.random.default_rng(0)
    rooms = pd.DataFrame(
        {"topic": ["x"] * 20 + ["y"] * 20, "order": list("ab" * 10 + "aaab" * 5), "value": rng.normal(0, 1, 40)}
    )
    rooms.loc[rooms["topic"] == "y", "value"] += 100
    assert permutation_test("order", rooms, "value", "order", ["topic"]).p > 0.1
    assert (
        permutation_test(
            "order", rooms.assign(value=rooms["value"] + (rooms["order"] == "b") * 3), "value", "order", ["topic"]
        ).p
        < 0.01
    )


def test_rooms_needed_by_hand() -> None:
    """Cohen's table: a difference of half a standard deviation wants 64 a condition at 80%, 34 pairs."""
    assert rooms_needed(1.0, [0.5], [0.8])["rooms"].tolist() == [64]
    assert rooms_needed(1.0, [0.5], [0.8], paired=True)["rooms"].tolist() == [34]
    assert rooms_needed(0.05, [1.0], [0.8])["rooms"].tolist() == [5]  # never fewer than conclude anything
    assert rooms_needed(0.0, [0.5], [0.8])["rooms"].isna().all()


@pytest.mark.thorough
@check_each(("test", "sets"), [("level", 400), ("two", 400), ("interval", 200)])
def test_false_alarms_are_one_in_twenty(test: str, sets: int) -> None:
    """Under the null, with rooms that differ: what so few data sets can tell from 5%; benchmarks/exam.py takes more."""
    rng = np.random.default_rng(5)
    alarms = sum(TESTS[test](rng) < ALPHA for _ in range(sets))
    assert binomtest(alarms, sets, ALPHA).pvalue > 0.01


def test_an_echo_chamber_is_seldom_said_to_have_formed_of_nothing() -> None:
    """Two agents have to be sure of the same side: fewer alarms than half of the 5% that one slope has."""
    rng = np.random.default_rng(5)
    assert sum(TESTS["echo chamber"](rng) < ALPHA for _ in range(40)) <= 3


def test_the_pooled_anova_cries_wolf() -> None:
    """The same data: what is published as 5% is most of the time an alarm."""
    rng = np.random.default_rng(5)
    assert sum(TESTS["pooled"](rng) < ALPHA for _ in range(100)) > 40


def test_a_condition_in_which_all_are_alike_is_compared_quietly() -> None:
    """Warnings are errors here: of rooms that all end at 3 scipy says that digits are lost, and none that count are."""
    found = compare_two("x", np.array([3.0, 3.0 + 1e-15, 3.0, 3.0, 3.0]), OTHER, "room")
    assert found.estimate == pytest.approx(1)
    assert found.df_within == pytest.approx(4)  # that of the other alone


def test_few_units_have_a_difference_and_no_test() -> None:
    """At two or three rooms every test is far from its 5%; Levene's by medians up to nine: it would find next to nothing."""
    few, more = {"a": ONE[:4], "b": OTHER[:4]}, {"a": np.arange(9.0), "b": np.arange(9.0) * 2}
    found = compare_two("x", *few.values(), "room")
    assert (found.estimate, found.reason) == (2.0, "fewer than 5 units in a condition")
    assert level("x", few, "room").reason == "fewer than 5 units in a condition"
    assert compare_paired("x", OTHER[:4] - ONE[:4], "cast").reason == "fewer than 5 units in a condition"
    assert spread("x", more, "room").reason == "fewer than 10 units in a condition"
    assert all(math.isnan(test("x", few, "room").p) for test in (level, spread))


def test_differences_within_pairs_beside_scipys() -> None:
    """The same people in both conditions: what people differ by is no noise."""
    rng = np.random.default_rng(4)
    people, change = rng.normal(0, 3, 12), rng.normal(0.5, 0.3, 12)
    found, second = compare_paired("x", change, "cast"), stats.ttest_rel(people + change, people)
    assert (found.statistic, found.p, found.n) == (pytest.approx(second.statistic), pytest.approx(second.pvalue), 12)
    assert compare_two("x", people, people + change, "run").p > 0.1 > found.p


def test_a_weighed_sum_of_conditions_is_welchs_t_where_it_is_a_difference() -> None:
    rng = np.random.default_rng(6)
    one, other = rng.normal(0, 1, 9), rng.normal(1, 2, 14)
    found = weighted_means("x", {"a": one, "b": other}, {"a": -1.0, "b": 1.0}, "run")
    second = compare_two("x", one, other, "run")
    assert (found.estimate, found.p, found.low) == pytest.approx((second.estimate, second.p, second.low))


@check_each("conditions", [2, 3, 6, 10])
def test_the_interval_of_omega_squared_holds_the_truth(conditions: int) -> None:
    """Half of the variance is between conditions; eta squared after Welch's F said .54 for .21, its interval held in 49%."""
    rng = np.random.default_rng(conditions)
    apart = np.linspace(-1, 1, conditions)
    apart = apart / apart.std()
    found = [
        level("x", {str(place): rng.normal(mean, 1, 10) for place, mean in enumerate(apart)}, "run") for _ in range(60)
    ]
    held = sum(one.low <= 0.5 <= one.high for one in found)
    assert np.mean([one.estimate for one in found]) == pytest.approx(0.5, abs=0.05)
    assert held >= 53  # 57 are expected; below 53 in 1% of the time


def test_the_rooms_that_are_recommended_have_an_interval() -> None:
    """A spread between .75 and 1.5: 64 rooms may be 37 or 143. Without an interval of the spread there is no range."""
    found = rooms_needed(1.0, [0.5], [0.8], ends=(0.75, 1.5)).iloc[0]
    assert (found["rooms_low"], found["rooms"], found["rooms_high"]) == (37, 64, 143)
    assert rooms_needed(1.0, [0.5], [0.8], ends=(math.nan, math.nan))["rooms_high"].isna().all()


def test_the_interval_of_a_spread_of_skewed_numbers_by_hand() -> None:
    """Exponential numbers missed in 8 to 12%, because few of them show how long their tail is. The kurtosis counts as 3 plus
    twice the squared skewness. Residuals of four numbers have 3/8 of their third moment, which is put right."""
    residuals = np.tile([-1.0, -1.0, -1.0, 3.0], 2)  # two cells of four
    skewness = (residuals**3).mean() / (3 * 2 / 16) / ((residuals**2).sum() / 6) ** 1.5
    kurtosis, z = 3 + 2 * skewness**2, 1.959963984540054
    wider = 7 / (7 - z)
    reach = z * wider * math.sqrt((kurtosis - 4 / 7) / 6)
    ends = [math.sqrt(wider * 4) * math.exp(side * reach / 2) for side in (-1, 1)]
    assert deviation_interval(residuals, 6) == pytest.approx(ends)


def test_the_interval_of_a_spread_by_hand() -> None:
    """Bonett's: for 1, 2, ... 9 the log of the variance, 7.5 times c = 9 / (9 - z), plus and minus z c times its error."""
    values = np.arange(1.0, 10.0)
    z = 1.959963984540054
    wider, kurtosis = 9 / (9 - z), 3.0  # not the 1.8 of these numbers: few numbers rarely show their tails
    reach = z * wider * math.sqrt((kurtosis - 6 / 9) / 8)
    ends = [math.sqrt(wider * 7.5) * math.exp(side * reach / 2) for side in (-1, 1)]
    assert deviation_interval(values - 5, 8) == pytest.approx(ends)
    heavy = np.array([-4.0, -0.1, -0.1, 0, 0, 0, 0.1, 0.1, 4.0])
    assert deviation_interval(heavy, 8)[1] / heavy.std(ddof=1) > ends[1] / math.sqrt(7.5)
    assert all(map(math.isnan, deviation_interval(values[:4] - 2.5, 3)))
    assert all(map(math.isnan, deviation_interval(np.zeros(9), 8)))


def modules_loaded(module: str) -> set[str]:
    """Return the modules of Parley that `import module` loads, from the imports at the top of each file."""
    loaded, waiting = set[str](), [module]
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split(".")[1:])
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in loaded or not name.startswith("parley") or not path.exists():
            continue
        loaded.add(name)
        waiting.append(name.rpartition(".")[0])
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                waiting += [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
    return loaded


def test_statistics_load_without_the_simulator() -> None:
    """An interval needs no debate: each file of statistics loads at most eight modules of Parley (105 once, for one interval)."""
    for path in (ROOT / "analysis" / "statistics").glob("*.py"):
        loaded = modules_loaded(f"parley.analysis.statistics.{path.stem}".removesuffix(".__init__"))
        assert len(loaded) <= 8, f"{path.name}: {sorted(loaded)}"


def test_a_finding_that_is_unknown_has_no_p() -> None:
    """No draw is as large as NaN, so it would have the smallest p that there is."""
    draws = np.arange(99.0)
    assert math.isnan(share_as_large(draws, math.nan))
    assert math.isnan(Null(draws).p(math.nan))
    assert share_as_large(draws, 98.0) == pytest.approx(0.02)
