"""Rehearsed messages: the choice by hand, what is planted, and the gain that noise cannot have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.studies.arena.rehearsal import CANDIDATES, RATINGS, Rehearsal, choices, gains, verdicts


def made(noise: float, worth: float, problems: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Candidates whose worth spreads by `worth`, rated by ten people who choose and ten others."""
    candidates, ratings = [], []
    for problem in range(problems):
        for number in range(6):
            name, way = f"c{number}", "1" if number else "none"
            candidates.append((f"p{problem}", name, way, "", "text", ""))
            own = worth * rng.normal()
            for group in ("audience", "others"):
                for person in range(10):
                    rating = 5 + own + noise * rng.normal()
                    ratings.append((f"p{problem}", name, group, f"{group}{person}", "x", rating, ""))
    return pd.DataFrame(candidates, columns=CANDIDATES), pd.DataFrame(ratings, columns=RATINGS)


def test_the_choice_by_hand() -> None:
    """The audience prefers c1; the others rate c1 4 and c2 8: the choice costs 2 points compared with a random candidate."""
    candidates = pd.DataFrame(
        [("p", "c0", "none", "", "t", ""), ("p", "c1", "1", "x", "t", ""), ("p", "c2", "1", "y", "t", ""),
         ("p", "c3", "2", "", None, "refusal")], columns=CANDIDATES,
    )  # fmt: skip
    rows = [("c0", 9, 5), ("c1", 8, 4), ("c2", 7, 8)]
    ratings = pd.DataFrame(
        [("p", name, group, "m", "x", value, "") for name, *both in rows
         for group, value in zip(("audience", "others"), both, strict=True)], columns=RATINGS,
    )  # fmt: skip
    row = choices(candidates, ratings).iloc[0]
    assert (row["chosen"], row["advice"]) == ("c1", "x")
    shown = row[["over_random", "over_plain", "advised", "shrinkage", "best"]].astype(float)
    assert shown.tolist() == pytest.approx([-2, -1, 1, 4, 8])


def test_without_ratings_nothing_is_chosen() -> None:
    """Missing is not zero: no choice, no gain, and the sentence says that it is unknown."""
    candidates, ratings = made(1, 1, 2, np.random.default_rng(0))
    chosen = choices(candidates, ratings.assign(rating=np.nan))
    assert chosen["chosen"].tolist() == ["", ""]
    table = gains(chosen)
    assert table["missing"].tolist() == [2] * 4
    assert all("fewer than 5 problems" in line for line in verdicts(table))


def test_noise_gains_nothing_for_others_though_the_choice_promises_more() -> None:
    """Over 15 studies of eight problems the gain is 0 in the mean and claimed in 5% or so; what the audience promised is not."""
    claims, means, promised = 0, [], []
    for seed in range(15):
        table = gains(choices(*made(1, 0, 8, np.random.default_rng(seed))))
        claims += "points of 10" in verdicts(table)[0]
        means.append(table["gain"][0])
        promised.append(table["gain"][3])
    assert claims <= 3
    assert abs(np.mean(means)) < 0.09
    assert np.mean(promised) > 0.25


def test_no_one_chooses_and_rates() -> None:
    """The audience that chooses and the others share no persona."""
    readers = Rehearsal({}, audience=12).readers()
    ids = [{reader.person.id for reader in group} for group in readers.values()]
    assert [len(group) for group in ids] == [12, 12]
    assert not ids[0] & ids[1]


def test_the_command_finds_what_is_planted_and_nothing_else(tmp_path: Path) -> None:
    """On the oracle, advice of known worth: the choice gains for others; without taste it does not."""
    for name, options in (("a", ""), ("b", ",taste=0")):
        words = f"study rehearse --llm oracle{options} --audience 6 --out {tmp_path / name}"
        assert run.main(words.split()) == 0
    found, null = ((tmp_path / name / "rehearsal.md").read_text(encoding="utf-8") for name in "ab")
    assert "Compared with a candidate drawn at random, other people rate the chosen message " in found
    assert "Compared with a message without advice, other people rate the chosen message " in found
    assert "points of 10" not in null.split("## The choices")[0].replace("points (0-10)", "")


def test_a_file_of_problems_and_german_are_rehearsed(tmp_path: Path) -> None:
    """One problem of a file has no verdict; the German society is asked in German."""
    aim = "Menschen davon zu überzeugen, dass ein Tempolimit kommen soll"
    (tmp_path / "p.csv").write_text(f'id,aim,situation\nx,"{aim}",Ein Treffen im Ort.\n', encoding="utf-8")
    words = f"study rehearse {tmp_path / 'p.csv'} --society germany --llm oracle --audience 3 --out {tmp_path / 'a'}"
    assert run.main(words.split()) == 0
    page = (tmp_path / "a" / "rehearsal.md").read_text(encoding="utf-8")
    assert "fewer than 5 problems" in page
    assert "0 of 8 messages are missing" in page
