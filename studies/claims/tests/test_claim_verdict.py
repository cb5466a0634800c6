"""What is said of a claim: it holds, it does not, or this is unknown, and why."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from benchmarks.claims import CLAIM, NAMES, STRATA, draw_differences
from parley.studies.claims.claim import Claim
from parley.studies.claims.context import about_bound, generality
from parley.studies.claims.curve import Curve, all_swaps, draw_curve
from parley.studies.claims.dependence import dependence_table
from parley.studies.claims.variance import setting_share
from parley.studies.claims.verdict import depends, whether


def test_what_is_said_of_a_claim() -> None:
    """It holds where an effect is planted, not where the opposite is, and is unknown without one or with few people."""
    said = {}
    for name, truth in {
        "holds": {"average": 3.0}, "reversed": {"average": -3.0}, "nothing": {"people": 2.0, "topic": 0.0, "groups": 8},
        "few": {"average": 3.0, "groups": 2}, "one": {"average": 3.0, "groups": 1, "topics": 1},
    }.items():  # fmt: skip
        rng = np.random.default_rng(11)
        differences = draw_differences(rng, **truth)  # type: ignore[arg-type]
        said[name] = whether(CLAIM, draw_curve(CLAIM, differences, rng))
    assert said["holds"].startswith(
        "The claim holds here: the effect reaches 0.50, the smallest effect of interest (on average "
    )
    assert said["reversed"].startswith("The claim does not hold")
    for name in ("nothing", "few", "one"):
        assert said[name].startswith("It is unknown whether the claim holds, because "), said[name]
    assert "6 are needed" in said["few"]
    assert "The median effect is " in said["holds"]
    assert " above 0 in 64 of 64 specifications (one-sided permutation p " in said["holds"]


LESS = replace(CLAIM, expected="less")


def curve_of(effects: np.ndarray, claim: Claim = LESS) -> Curve:
    """The curve of an audit in which each group of people has one effect."""
    rows = [("s", "topic", f"s p {group}", effect) for group, effect in enumerate(effects)]
    table = pd.DataFrame(rows, columns=["specification", "topic", "people", "difference"])
    return draw_curve(claim, table, np.random.default_rng(1))


def test_a_long_tail_to_the_other_side_leaves_a_claim_unknown() -> None:
    """It protects effects of groups with a mean of 0 and a long tail from being called a direction away from the tail (20% of
    audits of lognormal effects), and a planted effect from being lost: nearly all groups are on its side.
    """
    lognormal = np.exp(norm.ppf((np.arange(20) + 0.5) / 20))
    skewed = curve_of(lognormal - np.exp(0.5) - 0.6)
    assert skewed.p < 0.05
    assert "unknown" in whether(LESS, skewed)
    assert "far larger effects to the opposite side (skewness 2." in whether(LESS, skewed)
    opposite = whether(CLAIM, curve_of(skewed.units["effect"].to_numpy(), CLAIM))
    assert "far larger effects to the opposite side" in opposite, "the p of the direction that is not expected"
    assert "holds" in whether(LESS, curve_of(lognormal - 9))
    assert "holds" in whether(LESS, curve_of(-lognormal))
    assert "not skewed" not in whether(LESS, curve_of(-lognormal))
    assert "not skewed, which so few groups hardly show" in whether(LESS, curve_of(-lognormal[::3]))


def test_an_effect_below_the_smallest_of_interest_is_called_so() -> None:
    """A planted 0.2 with 40 groups is found, and is not 0.5; a planted 0.5 is called smaller in no more than 1 of 20 audits."""
    rng = np.random.default_rng(11)
    sharp = {"people": 0.1, "topic": 0.0, "common": 0.0, "groups": 20}
    small = draw_curve(CLAIM, draw_differences(rng, average=0.2, **sharp), rng)
    assert whether(CLAIM, small).startswith("The direction of the claim holds here, but the effect does not reach 0.50")
    turned = replace(CLAIM, expected="less")
    other = draw_curve(turned, draw_differences(rng, average=-0.2, **sharp), rng)
    assert whether(turned, other).startswith(
        "The direction of the claim holds here, but the effect does not reach -0.50"
    )
    exact = [draw_curve(CLAIM, draw_differences(rng, average=0.5, **sharp), rng) for _ in range(20)]
    said = [whether(CLAIM, one) for one in exact]
    assert sum("does not reach" in one for one in said) <= 1
    assert (
        sum("effect reaches 0.50, the smallest effect of interest (" in one and "unknown" not in one for one in said)
        <= 1
    )


def test_what_is_said_of_a_claim_that_nothing_changes() -> None:
    """Equivalent: holds for a planted 0, not for a planted 2, unknown with much noise; at the bound in no more than 1 of 20."""
    rng, alike = np.random.default_rng(5), replace(CLAIM, expected="equivalent", smallest=0.5)
    sharp = {"people": 0.1, "topic": 0.0, "common": 0.0, "groups": 20}
    holds = whether(alike, draw_curve(alike, draw_differences(rng, average=0.0, **sharp), rng))
    assert holds.startswith("The claim holds here: on average the effect is 0.")
    assert "within 0.50 of 0 (equivalence test p below 0.001). The effect of a specification is within" in holds
    small = whether(alike, draw_curve(alike, draw_differences(rng, average=0.2, **sharp), rng))
    assert "The effect is not 0, but smaller than the bound of the claim." in small
    beyond = whether(alike, draw_curve(alike, draw_differences(rng, average=2.0, **sharp), rng))
    assert beyond.startswith("The claim does not hold: on average the effect is ")
    loose = draw_differences(rng, average=0.0, people=4.0, topic=0.0, groups=8)
    assert "may be beyond 0.50" in whether(alike, draw_curve(alike, loose, rng))
    at = [whether(alike, draw_curve(alike, draw_differences(rng, average=0.5, **sharp), rng)) for _ in range(20)]
    assert sum(one.startswith("The claim holds") for one in at) <= 1


def test_specifications_that_cancel_out_hold_on_average_only() -> None:
    """Planted: +2 in half of the specifications and -2 in the others. The average is 0, and no specification is near 0."""
    rng, alike = np.random.default_rng(3), replace(CLAIM, expected="equivalent", smallest=0.5)
    differences = draw_differences(rng, effect=4.0, people=0.05, topic=0.0, common=0.0, chance=0.05, groups=4)
    said = whether(alike, draw_curve(alike, differences, rng))
    assert said.startswith("The claim holds on average only: on average the effect is ")
    assert "within 0.50 of 0 in 0 of 64" in said
    moved = differences.assign(difference=differences["difference"] + 0.2)
    directed = whether(CLAIM, draw_curve(CLAIM, moved, rng))
    assert directed.startswith("The direction of the claim holds on average only, but the effect does not reach 0.50")


def test_groups_that_are_all_alike_have_no_interval() -> None:
    """Every difference is 2: there is nothing to judge chance by, and the sentence has no empty numbers."""
    rng, alike = np.random.default_rng(3), replace(CLAIM, expected="equivalent", smallest=0.5)
    differences = draw_differences(rng, people=0.0, topic=0.0, common=0.0, chance=0.0, groups=4).assign(difference=2.0)
    said = whether(alike, draw_curve(alike, differences, rng))
    assert said.startswith(
        "It is unknown whether the claim holds, because every group of people has the same effect (2.00)"
    )
    assert "(2.00 in every group of people)" in whether(CLAIM, draw_curve(CLAIM, differences, rng))


def test_what_the_bound_lets_pass_is_said() -> None:
    """A bound beyond the whole movement of the debate is called wide; single differences beyond it are counted."""
    rng, alike = np.random.default_rng(1), replace(CLAIM, expected="equivalent", smallest=0.5)
    differences = draw_differences(rng, chance=0.1, people=0.0, topic=0.0, common=0.0)
    moved = differences.assign(first=6.4, start_first=6.0, second=6.3, start_second=6.0)
    counted, wide = about_bound(alike, moved)
    assert counted.startswith("Of single differences, 0 of ")
    assert "on average the debate itself moved the outcome by 0.40 or less" in wide
    assert len(list(about_bound(alike, moved.assign(first=8.0)))) == 1
    assert not list(about_bound(CLAIM, moved))


def test_what_is_said_without_variation_and_without_replies() -> None:
    """Equal arms, missing differences, and a handful of specifications give no verdict and no share."""
    rng = np.random.default_rng(7)
    equal = draw_differences(rng).assign(difference=0.0)
    assert "both conditions are equal" in whether(CLAIM, draw_curve(CLAIM, equal, rng))
    assert setting_share(equal, NAMES, [], STRATA).reason == "all differences are equal"
    lost = draw_differences(rng, average=3.0)
    lost.loc[rng.random(len(lost)) < 0.4, "difference"] = np.nan
    assert "differences are missing" in whether(CLAIM, draw_curve(CLAIM, lost, rng))
    few = draw_differences(rng)
    few = few[few["specification"] <= 12]
    share = setting_share(few, NAMES, [], STRATA)
    assert np.isnan(share.low)
    assert "because there are too few specifications" in depends(dependence_table(few, NAMES, STRATA), share)
    assert next(generality(CLAIM, few)).startswith(
        "It is unknown whether the claim holds for other topics, because there are 4 topics"
    )


def test_few_groups_have_an_exact_p() -> None:
    """With six groups there are 64 ways to swap arms, so no p is below 1 in 64, and the same data have the same p."""
    assert len(all_swaps(6)) == 64
    rng = np.random.default_rng(9)
    differences = draw_differences(rng, average=5.0)
    found = {draw_curve(CLAIM, differences, np.random.default_rng(seed)).p for seed in range(3)}
    assert found == {1 / 64}
