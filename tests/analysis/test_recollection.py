"""Recall with parts of the memory left out: a stranger as null, planted recall found, no verdict where nothing is planted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.recollection import AGAIN, FULL, WITHOUT
from parley.analysis.recollection import (
    by_condition,
    differences,
    repetition_means,
    sentences,
    stranger_truths,
    tree_lines,
)
from parley.analysis.tables import load

RUBRIC = ("--rubric", "recall")
DAYS = {"repetitions": 6, "rounds": 6}


def verdicts(rooms: int, effect: float, seed: int = 0, noise: float = 2.0) -> pd.DataFrame:
    """Scores of two agents a room and two questions: with all of the memory 5 on average, without memory 5 minus effect."""
    rng = np.random.default_rng(seed)
    rows = []
    for room in range(rooms):
        shared = rng.normal(0, 1)
        for agent in range(2):
            for question in ("said", "plan"):
                for condition in (FULL, AGAIN, *WITHOUT):
                    own = 5 + shared - effect * (condition == "without memory") + rng.normal(0, noise)
                    rows.append((f"{room}", agent, question, question, condition, own, 0.0, own))
    columns = ["room", "agent", "question", "about", "condition", "own", "stranger", "recall"]
    return pd.DataFrame(rows, columns=columns).assign(group="g", repetition=[int(row[0]) for row in rows])


def test_the_stranger_sits_in_the_same_seat_of_the_next_room() -> None:
    """By hand: of three rooms the last is followed by the first; a question that only one room has has no stranger."""
    rows = [(room, "a", "said", f"said {room}") for room in "xyz"] + [("x", "a", "plan", "plan x")]
    asked = pd.DataFrame(rows, columns=["room", "seat", "question", "truth"]).assign(
        topic="t", group="g", condition=FULL
    )
    assert stranger_truths(asked) == ["said y", "said z", "said x", None]


def test_a_pair_that_is_missing_once_is_left_out_of_every_condition() -> None:
    """Otherwise a condition would be compared over easier questions."""
    table = verdicts(2, 0, noise=0)
    gap = (table["room"] == "0") & (table["agent"] == 0) & (table["question"] == "said") & (table["condition"] == FULL)
    table.loc[gap, "recall"] = np.nan
    table.loc[(table["room"] == "0") & (table["agent"] == 1), "recall"] = 9.0
    means = repetition_means(table, "recall", ["said"])
    assert means.loc["g", 0].tolist() == [9.0] * 5


def test_recall_is_own_minus_stranger_where_scores_are_missing() -> None:
    """A tenth of the scores by a stranger's truth is missing: the three numbers of a row are about the same pairs, or missing."""
    table, rng = verdicts(8, 2.0), np.random.default_rng(0)
    table["stranger"] = rng.normal(2, 1, len(table))
    table.loc[rng.random(len(table)) < 0.1, "stranger"] = np.nan
    table["recall"] = table["own"] - table["stranger"]
    points = by_condition(table)
    assert points["recall"].notna().all()
    assert (points["own"] - points["stranger"]).to_numpy() == pytest.approx(points["recall"].to_numpy())
    alone = by_condition(table.assign(stranger=np.nan, recall=np.nan))
    assert (alone["repetitions"] == 0).all()
    assert alone[["own", "stranger", "recall"]].isna().all(axis=None), "no number with 0 repetitions"


def test_a_planted_loss_is_found_and_only_that() -> None:
    effects, null = differences(verdicts(30, 2.0))
    lines = sentences(effects, null)
    assert len(lines) == 3
    assert [("lower" in line) for line in lines] == [False, False, True]


@pytest.mark.nightly
def test_nothing_planted_is_rarely_claimed() -> None:
    """Of 300 studies in which no part is worth anything, at most 8% claim something (Holm's correction: 5% at most)."""
    false = sum("lower" in text or "higher" in text for seed in range(300) for text in [claims(seed)])
    assert false / 300 <= 0.08


def claims(seed: int) -> str:
    return " ".join(sentences(*differences(verdicts(12, 0.0, seed))))


def test_four_repetitions_give_no_verdict() -> None:
    effects, null = differences(verdicts(4, 5.0))
    assert sentences(effects, null) == [
        "The run has 4 repetitions, and a verdict needs at least 5. Run more with `--repetitions`."
    ]
    assert by_condition(verdicts(4, 5.0))["low"].isna().all()


@pytest.mark.thorough
def test_the_oracle_forgets_what_is_left_out(ran: Callable[..., Path], tmp_path: Path) -> None:
    """Planted: an answer holds what the prompt holds. Without memory recall is 0, and who one is is always known."""
    folder = ran("days", **DAYS)
    assert run.main(["study", "judge", str(folder), "--llm", "oracle", *RUBRIC, "--out", str(tmp_path)]) == 0
    points = pd.read_csv(tmp_path / "recall.csv").set_index(["question", "condition"])
    for question in ("all", "said", "heard", "plan", "insight"):
        assert points.loc[(question, "without memory"), ["own", "stranger", "recall"]].tolist() == [0.0, 0.0, 0.0]
    assert points.loc["self", "own"].tolist() == [10.0] * 5
    assert points.loc[("plan", "without planning"), "own"] == 0 < points.loc[("plan", "full"), "own"] == 10
    assert points.loc[("insight", "without reflection"), "own"] == 0 < points.loc[("insight", "full"), "own"] == 10
    text = (tmp_path / "recall.md").read_text()
    assert "Memory: without this part, recall is" in text
    assert "full again: 0.00 (expected: 0)" in text
    assert (tmp_path / "recall.png").exists()
    assert tree_lines(load(folder).insights)[1].startswith("  - ")


def test_a_run_without_interviews_is_one_line(ran: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "judge", str(ran("two_way")), "--llm", "oracle", *RUBRIC]) == 2
    assert "has no interviews" in capsys.readouterr().err


def test_interviews_about_the_persona_alone_are_one_line(
    ran: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """`self` is a control: without another question there is nothing to compare."""
    assert (
        run.main(["study", "judge", str(ran("two_way", interview="self", rounds=1)), "--llm", "oracle", *RUBRIC]) == 2
    )
    assert "has no interviews about what agents lived" in capsys.readouterr().err
