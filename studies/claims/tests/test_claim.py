"""Claims: the file, the differences of one specification, the design, the curve, shares of variance."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_claims import written

from benchmarks.claims import CLAIM, DIMENSIONS, NAMES, PLANTED, STRATA, draw_differences, true_share
from parley.analysis.outcomes import Outcome, find_outcome
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.claims.audit import audit_claim
from parley.studies.claims.bayes import interval_of, sample_posterior
from parley.studies.claims.claim import Claim, load_claim
from parley.studies.claims.context import at_the_start, unevenly_missing
from parley.studies.claims.curve import draw_curve, start_gap, whole_specifications
from parley.studies.claims.dependence import dependence_table, distance
from parley.studies.claims.design import factorial_design, largest_correlation
from parley.studies.claims.differences import pair_rooms
from parley.studies.claims.dimensions import claim_dimensions
from parley.studies.claims.multiverse import Multiverse
from parley.studies.claims.variance import noncentrality_interval, setting_share, variance_components
from parley.studies.claims.verdict import depends, whether

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
    ("smallest = 1.0", 'smallest = "big"'): "smallest in claim.toml is 'big', but must be a number",
    ("polarisation.variance", "polarization"): "polarisation",
    ("polarisation.variance", "polarisation.varience"): "variance",
    ("second = []", 'second = ["environment=groups"]'): "equal settings",
    ('["environment=groups"]', '["seed=4"]'): "seed",
    ('["oracle"]', '["orakel"]'): "oracle",
    ('"racism", "gun_violence"', '"racism", "racism"'): "topics",
    ("[contrast]", "[contrasts]"): "[contrast]",
    ('"rounds=1"', '"round=1"'): "rounds",
    ('"enhanced", "simple"', '"enhanced", "nobody"'): "nobody",
    ("polarisation.variance", "probes.trust"): "also=trust",
    ("polarisation.variance", "moves.value"): "of the study games",
    ("polarisation.variance", "echo_chamber"): "needs whole network",
    ('["environment=groups"]', '["environment"]'): "first in claim.toml",
    ('"three_way"', "3"): "scenario in claim.toml is 3, but must be a text",
    ('["rounds=1"]', "[1]"): "settings in claim.toml is (1,), but must be a list of names",
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
    assert f"Whether {PLANTED} matters for other people too is unknown." in said


def test_the_p_of_people_by_hand() -> None:
    """Hotelling's distance of two levels is the square of the paired t; none of too few or equal groups."""
    means = np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 2.0], [0.0, 1.0]])
    steps = means[:, 1]
    assert distance(means) == pytest.approx((steps.mean() / (steps.std(ddof=1) / np.sqrt(5))) ** 2)
    assert np.isnan(distance(means[:4]))
    assert np.isnan(distance(np.column_stack([means, means[:, 0]])[:5]))
    assert np.isnan(distance(np.zeros((8, 2))))


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


def test_what_was_there_before_the_debate_is_told() -> None:
    """A difference that is as large at the first survey is no effect of the debate; one that grows is."""
    rng = np.random.default_rng(10)
    differences = draw_differences(rng, average=2.0, people=0.2, topic=0.0)
    noise = rng.normal(0, 0.1, len(differences))
    same = differences.assign(start_first=differences["difference"] + noise, start_second=0.0)
    grown = differences.assign(start_first=noise, start_second=0.0)
    for table in (same, grown):
        table[["first", "second"]] = np.column_stack([table["difference"], np.zeros(len(table))])
    assert "It is not shown that the debate changed this difference" in at_the_start(same, *start_gap(same))
    assert "After the debate this difference is 1." in at_the_start(grown, *start_gap(grown))
    none = grown.assign(start_first=np.nan, start_second=np.nan)
    assert at_the_start(none, *start_gap(none)) == ""
