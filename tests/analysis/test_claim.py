"""Claims: the file, the differences of one specification."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.analysis.claims.claim import Claim, load_claim
from parley.analysis.claims.differences import unit_differences
from parley.analysis.claims.outcomes import find_outcome
from parley.analysis.tables import Tables, load
from parley.llm.errors import UserError
from parley.model.scenario_run import RunSpec, run_scenario

TEXT = """
claim = "Agents in one-sided rooms agree more than agents in mixed rooms."
scenario = "three_way"
settings = ["rounds=1"]
outcome = "polarisation.variance"
expected = "less"
smallest = 1.0

[contrast]
first = ["environment=groups"]
second = []

[population]
personas = ["enhanced", "simple"]
topics = ["racism", "gun_violence"]
models = ["oracle"]
"""


def written(folder: Path, *changes: tuple[str, str]) -> Path:
    text, path = TEXT, folder / "claim.toml"
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


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


def test_missing_is_not_zero(tmp_path: Path) -> None:
    """A rating that cannot be read makes its unit missing with the reason, and not a mean of the others."""
    claim = load_claim(written(tmp_path))
    first, second = run_arms(claim, tmp_path)
    lost = (second.attitudes["round"] == 1) & second.attitudes["topic"].str.endswith("racism")
    for column in ("attitude", "expected"):
        second.attitudes.loc[lost.idxmax(), column] = np.nan
    second.attitudes.loc[lost.idxmax(), "reason"] = "no number"
    units = unit_differences(first, second, find_outcome("attitudes.attitude")).set_index("topic")
    assert units.loc["racism", "reason"] == "no number"
    assert pd.isna(units.loc["racism", "difference"])
    assert not pd.isna(units.loc["gun_violence", "difference"])
