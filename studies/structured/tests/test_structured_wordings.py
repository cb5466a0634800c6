"""Three wordings of one experiment: how far the paper's words are from Parley's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.agents.society import load_society
from parley.analysis.scores.table import COLUMNS
from parley.llm.errors import UserError
from parley.studies.structured import command
from parley.studies.structured.experiments import wordings
from parley.studies.structured.yardstick import distances

WORDINGS = ("ours", "ours reworded", "published")


def worded_scores(further: float, runs: int = 8, spread: float = 0.2, seed: int = 0) -> pd.DataFrame:
    """Scores of two parties on two topics in three wordings; the published one is `further` points higher, the others alike."""
    rng = np.random.default_rng(seed)
    rows = [
        (topic, condition, f"{condition} {topic} {number}", party, statement,
         4 + further * (condition == "published") + rng.normal(0, spread))
        for topic in ("a", "b") for condition in ("ours", "ours reworded", "published")
        for number in range(runs) for party in ("x", "y") for statement in (1, 2, 3)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def test_a_planted_distance_of_the_papers_words_is_found() -> None:
    """A point more in every run of the published wording: its distance is a point, that of a rewording noise alone."""
    mean, slope = distances(worded_scores(1), {"x": "x", "y": "y"}, WORDINGS).to_dict("records")
    assert mean["published"] == pytest.approx(1, abs=0.15)
    assert mean["reworded"] < 0.15
    assert (mean["further"], mean["cells"], mean["runs"]) == (4, 4, 8)
    assert mean["p"] < 0.01
    assert slope["p"] > 0.05, "all statements are higher by the same point: no slope differs"


@pytest.mark.thorough
def test_wordings_that_are_alike_are_not_told_apart() -> None:
    """The null: with 40 sets of noise, P is below .05 in about two."""
    found = [distances(worded_scores(0, 5, 1, seed), {"x": "x", "y": "y"}, WORDINGS)["p"].iloc[0] for seed in range(40)]
    assert sum(p < 0.05 for p in found) <= 6
    assert min(found) < 0.3 < max(found)


def test_a_distance_of_few_runs_has_no_test_and_missing_scores_no_value() -> None:
    few = distances(worded_scores(1, 4), {"x": "x", "y": "y"}, WORDINGS)
    assert few["p"].isna().all()
    assert set(few["reason"]) == {"fewer than 5 runs a wording"}
    lacking = worded_scores(1)
    lacking.loc[(lacking["agent"] == "y") & (lacking["condition"] == "published"), "score"] = np.nan
    rows = distances(lacking, {"x": "x", "y": "y"}, WORDINGS)
    assert list(rows["cells"]) == [2, 2], "a party whose scores are all missing has no distance"


def test_the_experiment_of_wordings_needs_the_papers_and_seats_its_people(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cut the paper's prompts out of your copy"):
        command.run(["wording", "--llm", "oracle", "--dry-run"])
    chosen = wordings(load_society(), "./published", "./published/personas")
    assert [settings["wording"] for settings in chosen.conditions.values()] == [
        "given",
        "second",
        "./published",
        "./published",
    ]
    assert chosen.conditions["published and its people"]["personas"] == "./published/personas"
    assert chosen.yardstick == tuple(wordings(load_society(), "./published").conditions)
