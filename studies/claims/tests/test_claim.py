"""Claims: the file, the differences of one specification, the design, the curve, shares of variance, and the verdict."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from small_claims import written, written_small

import run
from benchmarks.claims import CLAIM, DIMENSIONS, NAMES, PLANTED, STRATA, draw_differences, true_share
from parley.analysis.bundles.bundle import write_bundle
from parley.analysis.bundles.check import DIFFERS, SAME, check_bundle
from parley.analysis.outcomes import Outcome, find_outcome
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.llm.trust import refuse_named
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.claims.audit import audit_claim
from parley.studies.claims.bayes import interval_of, sample_posterior
from parley.studies.claims.claim import Claim, load_claim
from parley.studies.claims.context import about_bound, at_the_start, generality, unevenly_missing
from parley.studies.claims.curve import Curve, all_swaps, draw_curve, start_gap, whole_specifications
from parley.studies.claims.dependence import dependence_table, distance
from parley.studies.claims.derivation import read_values
from parley.studies.claims.design import factorial_design, largest_correlation
from parley.studies.claims.differences import pair_rooms
from parley.studies.claims.dimensions import claim_dimensions
from parley.studies.claims.multiverse import Multiverse
from parley.studies.claims.variance import noncentrality_interval, setting_share, variance_components
from parley.studies.claims.verdict import depends, whether

KILLED = Path(__file__).with_name("killed_claim.py")
AUDITED: Any = SimpleNamespace(claim=CLAIM, dimensions=DIMENSIONS, seed=0)
"""As much of a multiverse as an audit of drawn differences needs."""


def unit_differences(first: Tables, second: Tables, outcome: Outcome) -> pd.DataFrame:
    """The rows of two runs."""
    return pair_rooms(outcome.measure(first), outcome.measure(second), int(first.header.scenario["seed"]))


def run_arms(claim: Claim, folder: Path, **settings: object) -> list[Tables]:
    for number, arm in enumerate(claim.arms({**claim.base_settings(), "seed": 3, "repetitions": 1, **settings})):
        run_scenario(RunSpec(arm, folder / str(number)))
    return [load(folder / str(number)) for number in (0, 1)]


FAULTS = {
    ("claim = ", "claims = "): "claims",
    ('"less"', '"lower"'): "less",
    ("smallest = 1.0", "smallest = 0"): "smallest",
    ("smallest = 1.0", 'smallest = "big"'): "smallest in claim.toml must be a number",
    ("polarisation.variance", "polarization"): "polarisation",
    ("polarisation.variance", "polarisation.varience"): "variance",
    ("second = []", 'second = ["environment=groups"]'): "equal arms",
    ('["environment=groups"]', '["seed=4"]'): "seed",
    ('["oracle"]', '["orakel"]'): "oracle",
    ('"racism", "gun_violence"', '"racism", "racism"'): "topics",
    ("[contrast]", "[contrasts]"): "[contrast]",
    ('"rounds=1"', '"round=1"'): "rounds",
    ('"enhanced", "simple"', '"enhanced", "nobody"'): "nobody",
    ("polarisation.variance", "probes.trust"): "also=trust",
    ("polarisation.variance", "moves.value"): "of games",
    ("polarisation.variance", "echo_chamber"): "needs whole network",
    ('["environment=groups"]', '["environment"]'): "first in claim.toml",
    ('"three_way"', "3"): "scenario in claim.toml must be a text",
    ('["rounds=1"]', "[1]"): "settings in claim.toml must be a list",
}


def test_faults_are_named(tmp_path: Path) -> None:
    """A user sees in one line which key of a claim is wrong; no wrong claim is run."""
    for change, expected in FAULTS.items():
        with pytest.raises(UserError) as error:
            load_claim(written(tmp_path, change))
        message = str(error.value)
        assert expected in message, change
        assert "\n" not in message, change


def test_differences_by_hand(tmp_path: Path) -> None:
    """The unit is topic and people, and its difference is that of the means of its rooms, as read from the tables."""
    claim = load_claim(written(tmp_path))
    first, second = run_arms(claim, tmp_path)
    units = unit_differences(first, second, claim.measure)
    assert list(units["topic"]) == ["gun_violence", "racism"]
    assert set(units["seed"]) == {3}

    def variances(tables: Tables, topic: str) -> float:
        last = tables.attitudes[(tables.attitudes["round"] == 1) & (tables.attitudes["topic"].str.endswith(topic))]
        return float(last.groupby("room")["expected"].var(ddof=1).mean())

    by_hand = [variances(first, topic) - variances(second, topic) for topic in units["topic"]]
    assert np.allclose(units["difference"], by_hand)
    assert set(units["seated_second"]) == {"1 room of 3 agents (republican+democrat+default)"}
    assert units.loc[0, "seated_first"].startswith("2 rooms of 3 agents (republican+republican+default, ")
    start = second.attitudes[(second.attitudes["round"] == 0) & second.attitudes["topic"].str.endswith("racism")]
    assert units.loc[1, "start_second"] == pytest.approx(start["expected"].var(ddof=1))


def test_missing_is_not_zero(tmp_path: Path) -> None:
    """A rating that cannot be read makes its unit missing with the reason, and not a mean of the others."""
    claim = load_claim(written(tmp_path))
    first, second = run_arms(claim, tmp_path)
    lost = (second.attitudes["round"] == 1) & second.attitudes["topic"].str.endswith("racism")
    for column in ("attitude", "expected"):
        second.attitudes.loc[lost.idxmax(), column] = np.nan
    second.attitudes.loc[lost.idxmax(), "reason"] = "no number"
    units = unit_differences(first, second, find_outcome("attitudes.attitude")).set_index("topic")
    assert units.loc["racism", "reason"] == "second arm: no number"
    assert pd.isna(units.loc["racism", "difference"])
    assert not pd.isna(units.loc["gun_violence", "difference"])
    spread = unit_differences(first, second, claim.measure).set_index("topic")
    assert spread.loc["racism", "reason"] == "second arm: a rating is missing (no number)"
    assert pd.isna(spread.loc["racism", "difference"]), "the variance of the others would be of other agents"
    assert not pd.isna(spread.loc["gun_violence", "difference"])


def test_design_is_balanced_and_nearly_orthogonal() -> None:
    """The effect of a setting would otherwise be that of another one; each level has to come equally often."""
    levels = [2, 2, 2, 2, 4, 2, 2, 2, 3]
    design = factorial_design(levels, 64, np.random.default_rng(1))
    for column, count in zip(design.T, levels, strict=True):
        sizes = np.bincount(column, minlength=count)
        assert sizes.max() - sizes.min() <= 1
    assert largest_correlation(design) < 0.1
    assert len(np.unique(design, axis=0)) == 64


def test_dimensions_that_a_claim_sets_are_left_out(tmp_path: Path) -> None:
    """A claim on memory does not vary memory, and a setting that an environment lacks is refused with its reason."""
    claim = load_claim(written(tmp_path, ("second = []", 'second = ["memory=last:6"]')))
    dimensions, left = claim_dimensions(claim)
    assert "memory" not in [one.name for one in dimensions]
    assert left["memory"] == "the claim sets it"
    multiverse = Multiverse(claim, 64, 2, seed=5)
    seeds = [multiverse.settings(number)["seed"] for number in (1, 2)]
    assert seeds == [50_000, 50_001]
    assert multiverse.settings(1)["cast"] == "listed"


def test_the_interval_begins_at_zero_exactly_without_significance() -> None:
    """F(1, 40) has its upper 5% at 4.085: the share of a setting is above 0 just where its p is below .05."""
    assert noncentrality_interval(4.05, 1, 40)[0] == 0
    assert noncentrality_interval(4.12, 1, 40)[0] > 0
    low, high = noncentrality_interval(30.0, 2, 40)
    assert low < 60 < high


def test_a_planted_wording_effect_is_found_and_nothing_else() -> None:
    """The generator plants an effect of 1 in the word for the event; the table has to name it, and only it, with its share."""
    differences = draw_differences(np.random.default_rng(3), effect=1.0)
    table = dependence_table(differences, NAMES, STRATA).set_index("setting")
    assert [name for name in NAMES if table.loc[name, "p_holm"] < 0.05] == [PLANTED]
    assert table.loc[PLANTED, "low"] <= true_share(differences, 1.0) <= table.loc[PLANTED, "high"]
    together = setting_share(differences, NAMES, [], STRATA)
    assert PLANTED in depends(table.reset_index(), together)
    nothing = draw_differences(np.random.default_rng(4))
    assert setting_share(nothing, NAMES, [], STRATA).low == 0


def test_variance_components_are_those_of_statsmodels() -> None:
    """REML by our own mixed model equations and by MixedLM of statsmodels agree where no variance is 0."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(2)
    factors = {"topic": np.repeat(np.arange(6), 20), "people": np.tile(np.arange(10), 12)}
    values = rng.normal(size=6)[factors["topic"]] + rng.normal(size=10)[factors["people"]] + rng.normal(size=120)
    ours = variance_components(values, factors)
    frame = pd.DataFrame({**factors, "value": values, "one": 1})
    parts = {name: f"0 + C({name})" for name in sorted(factors)}
    fit = MixedLM.from_formula("value ~ 1", frame, groups="one", re_formula="0", vc_formula=parts).fit()
    theirs = dict(zip(sorted(factors), fit.vcomp, strict=True)) | {"residual": fit.scale}
    for name, variance in theirs.items():
        assert ours[name] == pytest.approx(variance, rel=0.02), name


def test_the_hierarchical_model_pools_topics() -> None:
    """Its average is that of the frequentist fit, and a topic with little data is drawn toward the others."""
    rng = np.random.default_rng(5)
    topics = np.repeat(np.arange(5), [40, 40, 40, 40, 2])
    values = 2 + np.array([0.1, -0.1, 0.1, -0.1, 0.0])[topics] + rng.normal(0, 1, len(topics))
    values[-2:] += 2
    posterior = sample_posterior(values, {"topic": topics}, rng, draws=500, warm=200)
    low, high = interval_of(posterior.average)
    assert low < 2 < high
    own = values[-2:].mean()
    pooled = float(np.median(posterior.average + posterior.effects["topic"][:, -1]))
    assert 2 < pooled < own - 1


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
        assert said[name].startswith("Whether the claim holds is unknown: "), said[name]
    assert "6 are needed" in said["few"]
    assert "The median effect is " in said["holds"]
    assert " above 0 in 64 of 64 specifications (one-sided p " in said["holds"]


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
    assert "far larger effects to the other side (skewness 2." in whether(LESS, skewed)
    opposite = whether(CLAIM, curve_of(skewed.units["effect"].to_numpy(), CLAIM))
    assert "far larger effects to the other side" in opposite, "the p of the direction that is not expected"
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
    assert "The effect is not 0, but smaller than what the claim calls a difference." in small
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
    assert said.startswith("Whether the claim holds is unknown: every group of people has the same effect (2.00)")
    assert "(2.00 in every group of people)" in whether(CLAIM, draw_curve(CLAIM, differences, rng))


@pytest.mark.thorough
@pytest.mark.parametrize("audits", [3, pytest.param(20, marks=pytest.mark.nightly)])
def test_a_setting_that_matters_only_for_some_people_is_called_so(audits: int) -> None:
    """Planted: the wording raises the effect for some groups and lowers it for others. p over specifications finds it nearly
    always; of other people it is said in few audits, and where all groups agree it is said."""
    rng, found, general = np.random.default_rng(2), 0, 0
    for _ in range(audits):
        table = dependence_table(draw_differences(rng, uneven=2.0, common=0.0), NAMES, STRATA).set_index("setting")
        found += table.loc[PLANTED, "p"] < 0.05
        general += table.loc[PLANTED, "p_people"] < 0.05
    assert found > audits / 2
    assert general <= audits / 6
    same = draw_differences(np.random.default_rng(3), effect=2.0, groups=8)
    said = depends(dependence_table(same, NAMES, STRATA), setting_share(same, NAMES, [], STRATA))
    assert said.startswith(f"The effect depends on {PLANTED} (")
    uneven = draw_differences(np.random.default_rng(4), uneven=3.0, common=0.0)
    said = depends(dependence_table(uneven, NAMES, STRATA), setting_share(uneven, NAMES, [], STRATA))
    assert said.startswith(f"Among these people the effect depends on {PLANTED} (")
    assert f"Whether it depends on {PLANTED} for other people too is unknown." in said


def test_the_p_of_people_by_hand() -> None:
    """Hotelling's distance of two levels is the square of the paired t; none of too few or equal groups."""
    means = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    steps = means[:, 1]
    assert distance(means) == pytest.approx((steps.mean() / (steps.std(ddof=1) / np.sqrt(5))) ** 2)
    assert np.isnan(distance(means[:4]))
    assert np.isnan(distance(np.column_stack([means, means[:, 0]])[:5]))
    assert np.isnan(distance(np.zeros((8, 2))))


def test_what_the_bound_lets_pass_is_said() -> None:
    """A bound beyond the whole movement of the debate is called wide; single differences beyond it are counted."""
    rng, alike = np.random.default_rng(1), replace(CLAIM, expected="equivalent", smallest=0.5)
    differences = draw_differences(rng, chance=0.1, people=0.0, topic=0.0, common=0.0)
    moved = differences.assign(first=6.4, start_first=6.0, second=6.3, start_second=6.0)
    counted, wide = about_bound(alike, moved)
    assert counted.startswith("The claim is about the average: 0 of ")
    assert "on average the debate itself moved the outcome by 0.40 or less" in wide
    assert len(list(about_bound(alike, moved.assign(first=8.0)))) == 1
    assert not list(about_bound(CLAIM, moved))


def test_an_arm_is_spelled_out_where_only_the_other_sets_it(tmp_path: Path) -> None:
    """ "Nothing else" says not what the second arm has."""
    claim = load_claim(written(tmp_path, ("second = []", 'second = ["spacing=newline"]')))
    first, second = claim.spelled_arms()
    assert first == ["environment=groups", "spacing=given (as the scenario)"]
    assert second == ["spacing=newline", "environment=round_table (as the scenario)"]
    several = 'first = ["environment=groups", "frame=conversation", "listing=reversed", "memory=last:6"]'
    _, second = load_claim(written(tmp_path, ('first = ["environment=groups"]', several))).spelled_arms()
    assert [pair.partition("=")[0] for pair in second] == ["environment", "frame", "listing", "memory"], (
        "in the file's order"
    )


def test_what_is_said_without_variation_and_without_replies() -> None:
    """Equal arms, missing differences, and a handful of specifications give no verdict and no share."""
    rng = np.random.default_rng(7)
    equal = draw_differences(rng).assign(difference=0.0)
    assert "both arms are equal" in whether(CLAIM, draw_curve(CLAIM, equal, rng))
    assert setting_share(equal, NAMES, [], STRATA).reason == "all differences are equal"
    lost = draw_differences(rng, average=3.0)
    lost.loc[rng.random(len(lost)) < 0.4, "difference"] = np.nan
    assert "differences are missing" in whether(CLAIM, draw_curve(CLAIM, lost, rng))
    few = draw_differences(rng)
    few = few[few["specification"] <= 12]
    share = setting_share(few, NAMES, [], STRATA)
    assert np.isnan(share.low)
    assert "is unknown: too few specifications" in depends(dependence_table(few, NAMES, STRATA), share)
    assert next(generality(CLAIM, few)).startswith("Whether the claim holds for other topics is unknown: 4 topics")


def test_both_arms_seat_the_same_people(tmp_path: Path) -> None:
    """A difference would otherwise be one of people: each group is that of both arms, and shares nobody with others."""
    claim = load_claim(written(tmp_path, ('"enhanced", "simple"', '"voters"')))
    multiverse = Multiverse(claim, repetitions=6)
    first, second = run_arms(claim, tmp_path, **{**multiverse.settings(1), "repetitions": 6})
    arms = [tables.agents[~tables.agents["party"].eq("default")] for tables in (first, second)]
    for repetition in range(6):
        groups, mixed = ({*arm.loc[arm["repetition"] == repetition, "persona"]} for arm in arms)
        assert mixed < groups
    assert multiverse.people == 6
    assert Multiverse(load_claim(written(tmp_path)), repetitions=6).people == 2, (
        "small sets have one separate group each"
    )


@pytest.mark.thorough
def test_pooled_effects_stay_with_their_topic() -> None:
    """Three topics of known effects, the first of which is missing in the specifications that come first in the table."""
    rng = np.random.default_rng(4)
    differences = draw_differences(rng, topic=0.0, people=0.2)
    effects = {"topic 0": -2.0, "topic 1": 0.0, "topic 2": 2.0, "topic 3": 4.0}
    differences["difference"] += differences["topic"].map(effects)
    differences.loc[(differences["topic"] == "topic 0") & (differences["specification"] <= 8), "difference"] = np.nan
    audit = audit_claim(AUDITED, differences)
    for row in audit.topics.itertuples():
        assert row.low < effects[row.topic] + 0.3, row
        assert row.high > effects[row.topic] - 0.3, row
        assert abs(row.pooled - row.effect) < 0.3, row


@pytest.mark.thorough
@pytest.mark.parametrize(("audits", "most"), [(8, 1), pytest.param(40, 4, marks=pytest.mark.nightly)])
def test_missing_differences_are_told_by_setting(audits: int, most: int) -> None:
    """Where one level loses differences the report says so; where they are lost by chance it does so in about 1 of 20 audits."""
    rng, told, with_gaps = np.random.default_rng(5), 0, audits // 4
    for number in range(audits):
        differences = draw_differences(rng)
        planted = (differences[PLANTED] == "conversation") & (rng.random(len(differences)) < 0.15)
        lost = planted if number < with_gaps else pd.Series(rng.random(len(differences)) < 0.08)
        marked = differences.assign(difference=lost.astype(float))
        line = unevenly_missing(dependence_table(marked, NAMES, STRATA))
        if number < with_gaps:
            assert f"{PLANTED} (" in line
            assert (
                " with conversation, 0% with debate)" in line or "(0% with debate" in line or "0% with debate" in line
            )
        else:
            told += bool(line)
    assert told <= most
    assert unevenly_missing(dependence_table(differences.iloc[:0], [], STRATA)) == ""


def test_a_specification_needs_half_of_its_differences() -> None:
    """The mean of a few debates that could be read is of other debates, and would be the largest effect of the curve."""
    rng = np.random.default_rng(6)
    differences = draw_differences(rng, average=1.0)
    in_first = differences["specification"] == 1
    differences.loc[in_first, "difference"] = np.nan
    differences.loc[in_first.idxmax(), "difference"] = 50.0
    curve = draw_curve(CLAIM, differences, rng)
    assert 1 not in set(curve.effects["specification"])
    assert curve.missing == in_first.sum() - 1
    assert whole_specifications(differences)["specification"].nunique() == 63


def test_groups_that_share_a_person_are_one_unit() -> None:
    """Their differences are not independent; a Default has no persona and links nobody."""
    rng = np.random.default_rng(8)
    differences = draw_differences(rng, average=3.0, groups=4)
    names = {
        f"{kind} {n}": f"us/{kind} p {n // 2 * 2}+us/{kind} p {n + 10}" for kind in ("one", "other") for n in range(4)
    }
    differences["people"] = differences["people"].map(names) + "+us/default default x"
    curve = draw_curve(CLAIM, differences, rng)
    assert len(curve.units) == 4
    assert "4 separate groups of people, but at least 6 are needed" in whether(CLAIM, curve)


def test_few_groups_have_an_exact_p() -> None:
    """With six groups there are 64 ways to swap arms, so no p is below 1 in 64, and the same data have the same p."""
    assert len(all_swaps(6)) == 64
    rng = np.random.default_rng(9)
    differences = draw_differences(rng, average=5.0)
    found = {draw_curve(CLAIM, differences, np.random.default_rng(seed)).p for seed in range(3)}
    assert found == {1 / 64}


def test_what_was_there_before_the_debate_is_told() -> None:
    """A difference that is as large at the first survey is no effect of the debate; one that grows is."""
    rng = np.random.default_rng(10)
    differences = draw_differences(rng, average=2.0, people=0.2, topic=0.0)
    noise = rng.normal(0, 0.1, len(differences))
    same = differences.assign(start_first=differences["difference"] + noise, start_second=0.0)
    grown = differences.assign(start_first=noise, start_second=0.0)
    for table in (same, grown):
        table[["first", "second"]] = np.column_stack([table["difference"], np.zeros(len(table))])
    assert "It is not shown that the debate changed it" in at_the_start(same, *start_gap(same))
    assert "After the debate it is 1." in at_the_start(grown, *start_gap(grown))
    none = grown.assign(start_first=np.nan, start_second=np.nan)
    assert at_the_start(none, *start_gap(none)) == ""


def test_too_few_specifications_are_refused_before_slow_imports(tmp_path: Path) -> None:
    """They were refused after 3 s of imports (statsmodels, matplotlib) and a rehearsed run."""
    code = (
        "import sys, run\n"
        f"code = run.main(['study', 'claim', {str(written(tmp_path))!r}, '--specifications', '12'])\n"
        "slow = {'pandas', 'mesa', 'statsmodels', 'matplotlib', 'scipy.stats', 'torch'} & set(sys.modules)\n"
        "sys.exit(f'{code} {sorted(slow)}')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(run.__file__).parent, text=True, capture_output=True, check=False
    )
    assert done.stderr.endswith("2 []\n"), done.stderr
    assert "too few --specifications (12) to vary 11 settings: give --specifications 24 or more" in done.stderr


@pytest.mark.thorough
def test_a_claim_on_the_oracle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The whole command: both arms of four specifications, the page and the tables; a repeated command asks nothing again."""
    path = written_small(tmp_path)
    command = ["study", "claim", str(path), "--repetitions", "1", "--workers", "1", "--out", str(tmp_path / "out")]
    assert run.main(command) == 0
    first = capsys.readouterr().out
    assert "8 of 8 are finished" in first
    page = (tmp_path / "out" / "claim.md").read_text(encoding="utf-8")
    assert "## The specification curve" in page
    assert (tmp_path / "out" / "claim.html").exists()
    assert (tmp_path / "out" / "claim.png").exists()
    assert run.main(command) == 0
    again = capsys.readouterr().out
    assert "0 calls were made" in again
    assert (tmp_path / "out" / "claim.md").read_text(encoding="utf-8") == page


@pytest.mark.thorough
def test_a_sealed_claim_comes_out_of_its_records_and_a_changed_number_is_found(tmp_path: Path) -> None:
    """A bundle of a moved claim: records come out of replies, and pages out of records; a changed number is named.

    Code that a claim names is not run, and a design that is none is one line.
    """
    command = [
        "study",
        "claim",
        str(written_small(tmp_path)),
        "--repetitions",
        "1",
        "--workers",
        "1",
        "--out",
        str(tmp_path / "out"),
    ]
    assert run.main(command) == 0
    folder = (tmp_path / "out").rename(tmp_path / "a claim")
    write_bundle([folder], tmp_path / "c.zip")
    findings = check_bundle(tmp_path / "c.zip")
    assert {one.verdict for one in findings} == {SAME}
    assert "8 of 8 records" in findings[1].sentence
    names = ("md", "html", "png", "svg", "txt")
    tables = ("curve", "differences", "settings", "topics", "variance")
    assert f"{len(names) + 2 * len(tables)} of {len(names) + 2 * len(tables)} tables" in findings[2].sentence
    table = folder / "differences.csv"
    table.write_text(table.read_text().replace("racism", "Racism", 1))
    write_bundle([folder], tmp_path / "d.zip")
    found = check_bundle(tmp_path / "d.zip")
    assert [one.sentence for one in found if one.verdict == DIFFERS] == [
        "differences.csv is not what comes out of the record"
    ]
    design = json.loads((folder / "claim.json").read_text())
    (folder / "claim.json").write_text(
        json.dumps({**design, "claim": {**design["claim"], "settings": ["environment=./coin.py"]}})
    )
    with pytest.raises(UserError, match="coin"):
        write_bundle([folder], tmp_path / "e.zip")
    values = read_values(folder)
    with pytest.raises(UserError, match=r"names the code environment=\./coin\.py"):
        refuse_named(values, "claim.json")
    for text in (
        "",
        "[]",
        "{}",
        "[" * 50_000,
        json.dumps({**design, "specifications": 10**9}),
        json.dumps({**design, "claim": 1}),
    ):
        (folder / "claim.json").write_text(text)
        with pytest.raises(UserError, match="is not the design of a claim"):
            read_values(folder)


def launch(claim: Path, folder: Path, count: int = 0) -> int:
    """Run killed_claim.py in a process of its own; the exit status."""
    paths = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(KILLED.parents[3])]))
    command = [sys.executable, str(KILLED), str(claim), str(folder), f"{folder}.log", str(count)]
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, env=environment, check=False, timeout=300).returncode


@pytest.mark.thorough
def test_a_killed_claim_ends_like_an_undisturbed_one_and_asks_nothing_twice(tmp_path: Path) -> None:
    """kill -9 in the middle, the same command again: the same page and tables, byte by byte, and each call once."""
    path, killed, calm = written_small(tmp_path), tmp_path / "killed", tmp_path / "calm"
    path.write_text(path.read_text(encoding="utf-8").replace('["oracle"]', f'["{KILLED}:counted"]'), encoding="utf-8")
    assert launch(path, calm) == 0
    calls = Path(f"{calm}.log").read_text().split()
    assert launch(path, killed, len(calls) // 2) == -signal.SIGKILL
    assert launch(path, killed) == 0
    assert sorted(Path(f"{killed}.log").read_text().split()) == sorted(calls)
    tables = sorted(one.name for one in calm.iterdir() if one.suffix in (".csv", ".md"))
    assert "claim.md" in tables
    for name in tables:
        assert (killed / name).read_bytes() == (calm / name).read_bytes(), name


ACQUIESCENT = """
claim = "Agents who talked for one round rate the topic higher than agents who did not."
scenario = "two_way"
settings = ["memory=whole", "survey=ends", "temperature=1", "listing=given", "reminder=false", "spacing=given"]
outcome = "attitudes.attitude"
expected = "greater"
smallest = 0.5
[contrast]
first = ["rounds=1"]
second = ["rounds=0"]
[population]
personas = ["enhanced"]
topics = ["racism"]
models = ["oracle,flips=acquiescence:1,wording=2"]
"""


@pytest.mark.thorough
def test_planted_effects_of_scale_and_wording_are_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ratings of the speaker turn with the scale after lines heard, and are higher in the second wording: the effect depends
    on both, and on no other setting.
    """
    path, out = tmp_path / "claim.toml", tmp_path / "out"
    path.write_text(ACQUIESCENT, encoding="utf-8")
    command = [
        "study",
        "claim",
        str(path),
        "--specifications",
        "16",
        "--repetitions",
        "3",
        "--workers",
        "1",
        "--out",
        str(out),
    ]
    assert run.main(command) == 0
    said = capsys.readouterr().out
    assert "Among these people the effect depends on wording of the instructions (" in said
    assert " and scale (" in said
    assert "Whether it depends on wording of the instructions and scale for other people too is unknown." in said
    assert "Whether the claim holds will be unknown: 3 separate groups of people" in said
    settings = pd.read_csv(out / "settings.csv").set_index("setting")
    assert settings.loc["scale", "low"] > 0.5
    assert (settings.drop(index=["scale", "wording of the instructions"])["p_holm"] >= 0.05).all()


def test_the_printed_claim_is_one(tmp_path: Path) -> None:
    """The file that studies/claims/README.md prints can be read as it is."""
    page = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    path = tmp_path / "claim.toml"
    path.write_text(page.partition("```toml\n")[2].partition("```")[0], encoding="utf-8")
    assert load_claim(path).measure == find_outcome("polarisation.variance")
