"""Bets compared with verdicts: scores by hand, calibrated, overconfident and ignorant bets of a generator, and the tournament."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.agents.topic import load_topic
from parley.studies.competing_debates.bets import SCORES, model_pairs
from parley.studies.competing_debates.calibration import EVERYONE, curve, ends, findings, score_table
from parley.studies.competing_debates.verdicts import Debate

COLUMNS = ["condition", "topic", "repetition", "room", "seat", "model", "round", "bet", "won"]


def bets(debates: int, rng: np.random.Generator, higher: float = 0.0, knows: bool = True) -> pd.DataFrame:
    """Debates in which the first seat wins with a probability from .2 to .8; both bet their own chance, or that of a stranger."""
    rows = []
    for debate in range(debates):
        chance = rng.uniform(0.2, 0.8)
        won = float(rng.random() < chance)
        bet = chance if knows else rng.uniform(0.2, 0.8)
        for round_ in (0, 3):
            for seat, (own, win) in enumerate(((bet, won), (1 - bet, 1 - won))):
                value = 100 * own + higher + rng.uniform(-4, 4)
                rows.append(("c", "t", debate, f"r{debate}", seat, f"m{seat}", round_, value, win))
    return pd.DataFrame(rows, columns=COLUMNS)


def last(table: pd.DataFrame) -> pd.Series:
    """The row of the last bets of all debaters."""
    scores = score_table(ends(table), 0)
    return scores[(scores["when"] == "last") & (scores["model"] == EVERYONE)].iloc[0]


def test_scores_by_hand() -> None:
    """Bets of 80 and 60 where the first wins: too high by 20, Brier (.04 + .36) / 2, the winner is 20 ahead; 50s have .25."""
    rows = [("c", "t", 0, "r", seat, "m", 0, bet, won) for seat, (bet, won) in enumerate(((80.0, 1.0), (60.0, 0.0)))]
    row = last(pd.DataFrame(rows, columns=COLUMNS))
    assert row["overconfidence"] == pytest.approx(20)
    assert row["brier"] == pytest.approx(0.2)
    assert row["even"] == pytest.approx(0.25)
    assert row["ahead"] == pytest.approx(20)
    assert np.isnan(row["shuffled"])


def test_calibrated_overconfident_and_ignorant_bets_are_told_apart() -> None:
    """60 debates: right bets know who wins and are not too high; 15 points too many are found; a stranger's bets know nothing."""
    right, high = (last(bets(60, np.random.default_rng(1), higher)) for higher in (0.0, 15.0))
    assert right["overconfidence_low"] <= 0 <= right["overconfidence_high"]
    assert right["brier"] < right["even"]
    assert right["p"] < 0.05
    assert right["ahead_low"] > 0
    assert high["overconfidence_low"] <= 15 <= high["overconfidence_high"]
    same = bets(6, np.random.default_rng(0)).assign(bet=75.0)
    assert "the same mean in all pairings, 75.0" in findings(score_table(ends(same), 0))[0]
    claims = 0
    for seed in range(8):
        table = bets(20, np.random.default_rng(seed), knows=False)
        claims += "know something" in " ".join(findings(score_table(ends(table), seed)))
    assert claims <= 2
    points = curve(ends(bets(400, np.random.default_rng(2)))["last"])
    assert ((points["low"] <= points["bet"] / 100) & (points["bet"] / 100 <= points["high"])).all()


def test_debates_of_the_same_people_on_several_topics_are_one_unit() -> None:
    """Four topics on which the same people bet and win alike tell no more than one: the same intervals, and the same p."""
    one = bets(20, np.random.default_rng(3))
    four = pd.concat([one.assign(topic=topic, room=one["room"] + topic) for topic in "abcd"], ignore_index=True)
    columns = ["pairings", "overconfidence", "overconfidence_low", "overconfidence_high", "ahead_low", "shuffled", "p"]
    assert last(four)[columns].tolist() == pytest.approx(last(one)[columns].tolist())


def test_few_debates_missing_bets_and_missing_verdicts_give_no_verdict() -> None:
    """A debate counts with both bets and a verdict; below five pairings the answer is unknown with its reason."""
    table = bets(8, np.random.default_rng(0))
    table.loc[(table["room"] == "r0") & (table["seat"] == 0), "bet"] = np.nan
    table.loc[table["room"] == "r1", "won"] = np.nan
    assert last(table)["debates"] == 6
    for few in (table[table["repetition"] < 4], table.assign(won=np.nan)):
        lines = findings(score_table(ends(few), 0))
        assert all("fewer than 5 pairings" in line for line in lines)


def test_pairs_of_models_count_for_the_right_one() -> None:
    """The second model wins from either seat: value 0 for the first model in both conditions."""
    verdicts = pd.DataFrame({"condition": ["x", "y"], "topic": "t", "repetition": 0, "won": [0.0, 1.0]})
    pairs = model_pairs(verdicts, {"x": ("A", "B"), "y": ("B", "A")}, ["A", "B"])
    assert pairs["value"].tolist() == [0, 0]


def test_the_judge_reads_the_debate_as_it_was_held() -> None:
    """Both orders show the same transcript, name who argues for what, and give the oracle each debater's own words."""
    for name, word in (("racism", "argues against the claim"), ("germany/tempolimit", "argumentiert gegen die")):
        topic = load_topic(name)
        debate = Debate(topic, (("Ann", "One."), ("Bob", "Two."), ("Ann", "Three.")), {"Ann": "for", "Bob": "against"})
        asked = debate.compose_verdict("Bob", "Ann", 1)
        text = asked.messages[-1].content
        assert f"Bob {word}" in text
        assert "Ann: One.\nBob: Two.\nAnn: Three." in text
        assert asked.facts["candidates"] == ["Two.", "One. Three."]
        assert asked.facts["choices"] == ["against", "for"]


def test_several_models_need_a_judge(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what to do."""
    assert run.main(["study", "bets", "--llm", "oracle", "--llm", "oracle,kappa=0"]) == 2
    assert "add --judge SPEC" in capsys.readouterr().err
    assert run.main(["study", "bets", "--llm", "oracle", "--llm", "democrat=oracle", "--judge", "oracle"]) == 2
    assert "leave out PARTY=" in capsys.readouterr().err


def test_no_number_is_made_up_without_verdicts() -> None:
    """No verdict can be read: dashes in the table, and reasons in the sentences."""
    empty = pd.DataFrame(columns=COLUMNS).astype({"bet": "float64", "won": "float64"})
    scores = score_table({"last": empty}, 0)
    row = scores.iloc[0].to_dict()
    assert SCORES["won (%)"](row) == SCORES["mean bet"](row) == "–"
    assert "fewer than 5 pairings" in findings(scores)[0]


@pytest.mark.thorough
def test_a_tournament_is_balanced_and_a_judge_of_places_decides_nothing(tmp_path: Path) -> None:
    """Each model has each seat once with the same people; a judge who goes by the order makes ties; again, the same bytes."""
    line = "study bets --llm oracle --llm oracle,kappa=0.3 --judge oracle,taste=0,place=50"
    line += " --topic racism --repetitions 3 --rounds 1"
    assert run.main([*line.split(), "--out", str(tmp_path)]) == 0
    page = (tmp_path / "bets.md").read_text(encoding="utf-8")
    verdicts, table = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("verdicts", "judged_bets"))
    assert set(verdicts["won"]) == {0.5}
    assert verdicts["decided"].all()
    assert table.groupby(["model", "seat"])["room"].nunique().tolist() == [3, 3, 3, 3]
    assert "100% of verdicts, which are ties" in page
    assert "fewer than 5 pairings" in page
    assert run.main([*line.split(), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "bets.md").read_text(encoding="utf-8") == page
