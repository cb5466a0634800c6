"""Power from a pilot: known components give the known interval, a component of 0 nothing absurd, and too little is unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from statsmodels.stats.power import TTestPower

import run
from parley.analysis.statistics.power import power_of_mean, units_needed
from parley.llm.errors import UserError
from parley.studies.claims.claim import Claim, Contrast, Population
from parley.studies.claims.pilot import (
    check_compared,
    check_seeds,
    estimate_components,
    plan_power,
    power_lines,
    read_pilot,
)

TOPICS = 3
CLAIM = Claim("", "", (), "", "greater", 0.5, Contrast(), Population(("0", "1", "2"), (), ()))


def draw(rng: np.random.Generator, seeds: int = 8, seed_sd: float = 1.0, chance: float = 1.0) -> pd.DataFrame:
    """Return the differences of a pilot in which each seed has its own people."""
    seed, topic = (axis.ravel() for axis in np.indices((seeds, TOPICS)))
    values = rng.normal(size=TOPICS)[topic] + rng.normal(0, seed_sd, seeds)[seed] + rng.normal(0, chance, len(seed))
    names = {"topic": topic.astype(str), "people": seed.astype(str)}
    return pd.DataFrame({**names, "repetition": 0, "seed": seed, "difference": values})


def test_a_balanced_pilot_has_the_exact_interval() -> None:
    """The variance of a unit is that of the means of seeds, and its interval that of chi squared with one df less than seeds."""
    rows = draw(np.random.default_rng(3), seed_sd=2.0)
    found, spread = estimate_components(rows, TOPICS), rows.groupby("seed")["difference"].mean().var()
    assert found.unit == pytest.approx(spread, rel=1e-3)
    assert found.interval == pytest.approx(spread * 7 / chi2.ppf([0.975, 0.025], 7), rel=1e-3)
    assert set(found.variance) == {"topic", "seed", "residual"}  # people and seeds cannot be separated here


def test_the_power_of_a_known_variance() -> None:
    """One-sided t as statsmodels has it; two one-sided tests by simulation; no NaN where the effect is huge or tiny."""
    expected = TTestPower().power(0.5, 27, 0.05, alternative="larger")
    assert power_of_mean(0.5, 1.0, 27, 0.05) == pytest.approx(expected, abs=1e-3)
    draws = np.random.default_rng(0).normal(size=(20_000, 12))
    reach = 1.0 - 1.7958848 * draws.std(axis=1, ddof=1) / np.sqrt(12)
    assert power_of_mean(1.0, 1.0, 12, 0.05, alike=True) == pytest.approx(
        (abs(draws.mean(axis=1)) < reach).mean(), abs=0.01
    )
    assert power_of_mean(1e9, 1e-9, 6, 0.05) == 1.0
    assert units_needed(lambda variance, units: power_of_mean(0.5, variance, units, 0.05), 1.0, 0.8, 6, 1000) == 27
    assert units_needed(lambda variance, units: power_of_mean(1e-9, variance, units, 0.05), 1.0, 0.8, 6, 1000) is None


def test_intervals_contain_the_true_power() -> None:
    """With and without variance between seeds, the interval of the power misses in few of 25 pilots; its ends are in order."""
    rng, hits = np.random.default_rng(4), {1.0: 0, 0.0: 0}
    for seed_sd in hits:
        true = power_of_mean(0.5, seed_sd**2 + 1 / TOPICS, 40, 0.05)
        for _ in range(25):
            plan = plan_power(CLAIM, draw(rng, 8, seed_sd), 40, 0.05, 0.0)
            (middle, low, high), (usual, fewest, most) = plan.power, plan.needed
            hits[seed_sd] += low <= true <= high
            assert 0 < low <= middle <= high <= 1
            assert (fewest or np.inf) <= (usual or np.inf) <= (most or np.inf)
    assert min(hits.values()) >= 20


def test_what_is_unknown() -> None:
    """Five units, many lost ones, equal ones, and fewer topics than planned: a reason, and no number."""

    def said(rows: pd.DataFrame) -> str:
        return power_lines(CLAIM, rows, (20, 40), 0.025, 0.0)[-1]

    rows = draw(np.random.default_rng(5), 20)
    lost = rows.assign(difference=rows["difference"].mask(rows["seed"] < 5))
    assert said(rows[rows["seed"] < 5]).endswith(
        "because the pilot has 5 units with a number, but at least 6 are needed."
    )
    assert said(lost).endswith("because 25% of the units (seeds) of the pilot would be left out.")
    assert said(rows.assign(difference=1.0)).endswith("because all units of the pilot have the same effect.")
    assert said(rows[rows["topic"] != "2"]).endswith("because the pilot has 2 topics, and the plan 3.")
    assert "SD of topic is unknown, because the pilot has 3" in power_lines(CLAIM, rows, (40,), 0.05, 0.0)[0]


def test_lost_units_cost_power() -> None:
    """Where the pilot loses a tenth of its units, the test loses as many, and needs more."""
    rows = draw(np.random.default_rng(7), 20)
    lost = pd.concat([rows, *[rows[rows["seed"] == 0].assign(seed=20 + more, people=str(20 + more), difference=np.nan)
                              for more in range(2)]])  # fmt: skip
    whole, part = (plan_power(CLAIM, one, 40, 0.05, 0.0) for one in (rows, lost))
    assert part.power[0] < whole.power[0]
    assert part.needed[0] == int(np.ceil((whole.needed[0] or 0) * 22 / 20))


def test_the_pilot_is_no_part_of_the_test(tmp_path: Path) -> None:
    """Seeds of the pilot are refused in the plan; a folder without differences is refused in one line."""
    rows = draw(np.random.default_rng(6))
    with pytest.raises(UserError, match="give another --seed, such as 8"):
        check_seeds(rows, 0, 40, tmp_path)
    check_seeds(rows, 8, 40, tmp_path)
    with pytest.raises(UserError, match="--pilot is the folder of"):
        read_pilot(tmp_path)
    rows.to_csv(tmp_path / "differences.csv", index=False)
    assert power_lines(CLAIM, read_pilot(tmp_path), (40,), 0.05, 0.0) == power_lines(CLAIM, rows, (40,), 0.05, 0.0)
    assert run.main(["study", "register", "nothing.toml", "--units", "40", "--pilot", str(tmp_path)]) == 2


def test_a_pilot_of_another_comparison_is_refused(tmp_path: Path) -> None:
    """Its variance is that of other differences: another outcome, contrast, scenario or setting, or a table that does not say."""
    claim = Claim(
        "",
        "two_way",
        ("rounds=1",),
        "attitudes.attitude",
        "greater",
        0.5,
        Contrast(("rounds=2",), ()),
        CLAIM.population,
    )
    rows = draw(np.random.default_rng(6))
    check_compared(rows.assign(**claim.compared), claim, tmp_path)
    turned = replace(claim, contrast=Contrast((), ("rounds=2",)))
    for other in (
        replace(claim, outcome="polarisation"), turned, replace(claim, scenario="three_way"), replace(claim, settings=()),
    ):  # fmt: skip
        with pytest.raises(UserError, match=r"has another .* than the claim"):
            check_compared(rows.assign(**other.compared), claim, tmp_path)
    with pytest.raises(UserError, match=r"has another scenario than the claim \(unknown, not two_way\)"):
        check_compared(rows, claim, tmp_path)


def test_a_pilot_with_words_for_numbers_is_refused(tmp_path: Path) -> None:
    """A table that was edited by hand ends in one line that names it."""
    rows = draw(np.random.default_rng(6)).astype({"difference": object})
    rows.loc[0, "difference"] = "high"
    rows.to_csv(tmp_path / "differences.csv", index=False)
    with pytest.raises(UserError, match=r"cannot read .*differences\.csv"):
        read_pilot(tmp_path)
