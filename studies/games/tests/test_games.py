"""Measures of games: by hand, on planted strategies and gaps, and where nothing is planted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.__main__ import main
from parley.analysis.statistics.intervals import mean_interval
from parley.analysis.tables import Tables, tables
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Header
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset
from parley.studies.games import expectation_gap, game_moves, game_points, outcome_diversity
from parley.studies.games.ending_diversity import difference_interval, diversity, permutation_p, pseudo_entropies
from parley.studies.games.environment import Game
from parley.studies.games.law import GameLaw, whole_numbers
from parley.studies.games.report import compare
from parley.studies.games.user_games import load_games, read_games


def played(name: str, llm: str = "oracle", **settings: Any) -> Tables:
    """The tables of a run in memory."""
    scenario, recorder = load_preset(name, {"llm": llm, "repetitions": 20} | settings), MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


def header(name: str = "trust_game") -> Header:
    return played(name, repetitions=1, rounds=1).header


TRUST = """room,round,player,move,value,about,ahead
r1,,ann,sent,8,self,1
r1,1,ann,sent,4,,
r1,1,bob,returned,5,,
r1,2,ann,sent,0,,
r2,1,cem,sent,10,,
r2,1,dee,returned,0,,
r2,2,cem,sent,,,
"""


def people(folder: Path, text: str = TRUST, name: str = "trust_game") -> Tables:
    path = folder / "games.csv"
    path.write_text(text, encoding="utf-8")
    game = {"trust_game": Game(), "negotiation": Game("negotiation"), "prisoners_dilemma": Game("prisoners")}[name]
    return load_games(path, game, header(name))


def test_measures_by_hand(tmp_path: Path) -> None:
    """Room 1: 12 + 6 and 10 + 0 points of 30, so 28 / 60. Room 2: 0 + 30 in round 1, and round 2 is unknown because a move is
    missing. Ann said 8 and sent 4. Room 2 has no known ending.
    """
    run = people(tmp_path)
    moves = game_moves.compute(run).set_index("move")
    assert (moves.loc["sent", "first"], moves.loc["sent", "missing"]) == (7, 1)
    assert moves.loc["sent", "mean"] == pytest.approx((2 + 10) / 2)
    points = game_points.compute(run).iloc[0]
    assert points["share"] == pytest.approx((28 / 60 + 1) / 2)
    assert (points["missing"], points["selfish"]) == (1, pytest.approx(1 / 3))
    assert points["unequal"] == pytest.approx(((22 - 6) / 2 + 30) / 2)
    gap = expectation_gap.compute(run).iloc[0]
    assert (gap["expected"], gap["done"], gap["gap"]) == (8, 4, 4)
    ends = outcome_diversity.compute(run).iloc[0]
    assert (ends["rooms"], ends["missing"], ends["distinct"], ends["most"]) == (1, 1, 1, "trust repaid")
    assert (ends["entropy"], ends["reason"]) == (0, None)
    for metric in (game_moves, game_points, expectation_gap):
        assert "unknown" in metric.headline(metric.compute(run))


def test_a_negotiation_of_people_by_hand(tmp_path: Path) -> None:
    text = "room,round,player,move,value\na,1,x,offer,9\na,1,y,response,refuse\na,2,y,offer,4\na,2,x,response,accept\n"
    run = people(tmp_path, text, "negotiation")
    assert run.outcomes.loc[run.outcomes["ended"] == 1, "points"].tolist() == [3, 7]
    assert outcome_diversity.compute(run)["most"].tolist() == ["agreement on 4"]


def test_a_negotiation_with_a_missing_last_move_has_no_known_ending(tmp_path: Path) -> None:
    """Missing is not a refusal: without the last response, ending and points are unknown, and not those of an authority."""
    text = "room,round,player,move,value\na,1,x,offer,9\na,1,y,response,\nb,1,x,offer,9\nb,1,y,response,refuse\n"
    ends = outcome_diversity.compute(people(tmp_path, text, "negotiation")).iloc[0]
    assert (ends["rooms"], ends["missing"], ends["most"]) == (1, 1, "authority")


WRONG = [
    ("room,round\na,1\n", "lacks the column player"),
    (TRUST + "r1,1,ann,sent,9,,\n", "row 9: ann has the same move or expectation in row 3"),
    (TRUST.replace("sent,4", "sent,A"), "row 3: 'A' cannot be the value of sent"),
    (TRUST.replace("sent,4", "sent,accept"), "row 3: 'accept' cannot be the value of sent"),
    (TRUST.replace("r1,,ann", "r1,,anne"), "room r1: anne has an expectation but no move: correct the name"),
    (TRUST.replace("sent,4", "sent,11"), "row 3: '11' cannot be the value of sent"),
    (TRUST.replace("sent,4", "sent,nan"), "row 3: 'nan' cannot be the value of sent"),
    (TRUST.replace("sent,4", "gave,4"), "row 3: move is 'gave', but must be sent or returned"),
    (TRUST.replace("r1,1,ann", "r1,one,ann"), "row 3: round must be a whole number"),
    (TRUST.replace("self,1", "me,1"), "row 2: about is 'me', but must be"),
    ("room,round,player,move,value\n", "has no rows"),
    ("room,round,player,move,value\na,1,x,sent,3\n", "room a has 1 players"),
]


@check_each(("text", "said"), WRONG)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "games.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_games(tmp_path / "games.csv", Game())


@check_each("stated", [0, 2, -2])
def test_a_planted_gap_is_found_and_none_where_none_is_planted(stated: int) -> None:
    """Nearly all intervals hold the planted number (levels are far from the ends of the scale); and a person is
    nearer to its own words than strangers are, whatever the gap.
    """
    found = [played("trust_game", f"oracle,differ=1,stated={stated}", seed=seed) for seed in range(2)]
    gaps = pd.concat([expectation_gap.compute(run) for run in found])
    own = gaps[gaps["about"] == "self"]
    assert ((own["gap_low"] <= stated) & (stated <= own["gap_high"])).mean() >= 0.85
    assert own["gap"].mean() == pytest.approx(stated, abs=0.15)
    assert (own["closer_low"] > 0).mean() > 0.6
    others = gaps[gaps["about"] == "other"]
    assert (others["closer_low"] > 0).mean() <= 0.2  # what is expected of others says nothing about them


def test_people_alike_are_no_nearer_to_their_own_words() -> None:
    """The null of `closer`: without differences between people an answer says nothing about a person."""
    rows = [expectation_gap.compute(played("trust_game", "oracle,differ=0,level=4.5", seed=seed)) for seed in range(2)]
    own = pd.concat(rows)
    assert ((own["closer_low"] > 0) | (own["closer_high"] < 0)).mean() <= 0.2


def test_the_interval_of_closer_covers_where_people_do_as_they_say() -> None:
    """Words and moves go together (r = .9), so each room's move counts for the strangers too: 95% of intervals cover the truth,
    and not 75% as without that. The mean is that of all pairs, by hand.
    """
    rng = np.random.default_rng(5)

    def draw(rooms: int) -> np.ndarray:
        common, own = rng.normal(size=(2, rooms))
        said, done = 1.5 * common, 1.5 * (0.9 * common + np.sqrt(1 - 0.9**2) * own)
        return np.array(list(expectation_gap.closer_than_strangers(np.arange(rooms), said, done).values()))

    truth = np.mean([draw(300).mean() for _ in range(40)])
    ends = np.array([mean_interval(draw(30)) for _ in range(300)])
    assert 0.88 <= ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() <= 0.99
    said, done = np.array([1.0, 4, 6]), np.array([2.0, 3, 8])
    by_hand = [
        abs(said[i] + 2 / 3 - done[j]) - abs(said[i] + 2 / 3 - done[i]) for i in range(3) for j in range(3) if i != j
    ]
    values = expectation_gap.closer_than_strangers(np.arange(3), said, done)
    assert np.mean(list(values.values())) == pytest.approx(np.mean(by_hand))


def test_an_announced_end_unravels_only_if_that_is_planted() -> None:
    planted = game_moves.compute(played("prisoners_dilemma", "oracle,play=tit_for_tat,level=8,endgame=2"))
    assert planted["change_high"].iloc[0] < -5
    assert "falls" in game_moves.headline(planted)
    hidden = played("prisoners_dilemma", "oracle,play=tit_for_tat,level=8,endgame=2", end="unannounced")
    assert game_moves.compute(hidden)["change"].tolist() == [0]  # each copies the other, so the sum never changes
    nothing = pd.concat([game_moves.compute(played("trust_game", beliefs="none", seed=seed)) for seed in range(4)])
    assert (nothing["change_low"].gt(0) | nothing["change_high"].lt(0)).sum() <= 2


def test_known_strategies_have_their_points() -> None:
    cooperate, defect = (
        played("prisoners_dilemma", f"oracle,play={play}", repetitions=5, rounds=2) for play in ("cooperate", "defect")
    )
    assert game_points.compute(cooperate)["share"].tolist() == [1]
    assert game_points.compute(defect)["share"].iloc[0] == game_points.compute(defect)["selfish"].iloc[0]
    assert outcome_diversity.compute(defect)["most"].tolist() == ["defection"]
    assert "In every room cooperation changes by 0.0" in game_moves.headline(game_moves.compute(defect))
    free = game_points.compute(played("public_goods", "oracle,play=defect", repetitions=5, rounds=2)).iloc[0]
    assert free["share"] == pytest.approx(free["selfish"])


def test_diversity_by_hand_and_its_null() -> None:
    """Four equal endings have 2 bits. Two samples of the same endings differ in about 1 of 20; one of more endings is found."""
    assert outcome_diversity.entropy(np.array([3.0, 3, 3, 3])) == 2
    rng = np.random.default_rng(4)
    few, many = (np.array([0.7, 0.2, 0.1, 0, 0, 0]), np.full(6, 1 / 6))
    draw = lambda shares: pd.Series(rng.choice(list("abcdef"), 40, p=shares))  # noqa: E731
    same = [permutation_p(draw(few), draw(few)) for _ in range(20)]
    assert sum(p < 0.05 for p in same) <= 3
    first, second = draw(few), draw(many)
    assert permutation_p(first, second) < 0.01
    assert difference_interval(pseudo_entropies(second), pseudo_entropies(first))[0] > 0
    assert math.isnan(permutation_p(first[:4], second))


def test_a_planted_effect_of_notes_on_diversity_is_found_and_none_without() -> None:
    def runs(llm: str) -> dict[str, Tables]:
        return {think: played("negotiation", llm, think=think, repetitions=60) for think in ("none", "bounded")}

    planted, nothing = diversity(runs("oracle,keen=3,widen=3")), diversity(runs("oracle"))
    assert planted.loc[1, "difference_low"] > 0
    assert planted.loc[1, "p"] < 0.05
    assert nothing.loc[1, "p"] > 0.05


def test_an_imposed_level_moves_people_as_far_as_planted() -> None:
    base, imposed = (played("trust_game", "oracle,obey=0.5,level=4,differ=1", **how) for how in (
        {"beliefs": "elicited"}, {"beliefs": "imposed", "imposed": 8}
    ))  # fmt: skip
    row = compare({"elicited": base, "imposed": imposed}).set_index(["measure", "condition"]).loc[("mean", "imposed")]
    assert row["difference"] == pytest.approx(0.5 * (8 - (row["value"] - row["difference"])), abs=0.25)
    assert row["difference_low"] > 1
    free = played("trust_game", "oracle,level=4,differ=1", beliefs="imposed", imposed=8)
    row = compare({"elicited": base, "imposed": free}).set_index(["measure", "condition"]).loc[("mean", "imposed")]
    assert not row["difference_low"] > 0


def test_the_law_is_what_it_says() -> None:
    law = GameLaw("tit_for_tat", level=6, endgame=1)
    assert [law.move(6, [], True, 3), law.move(6, [6, 2], True, 2), law.move(6, [6, 2], True, 1)] == [6, 2, 0]
    assert law.move(6, [6, 2], False, 1) == 2
    assert sum(n * share for n, share in enumerate(whole_numbers(3.3, range(11)))) == pytest.approx(3.3)


@pytest.mark.thorough
def test_the_study_compares_conditions_with_people_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "games.csv"
    rows = [f"r{room},1,a,sent,{room % 5 + 2},,\nr{room},1,b,returned,3,,\n" for room in range(6)]
    path.write_text("room,round,player,move,value,about,ahead\n" + "".join(rows), encoding="utf-8")
    command = ["study", "games", "trust_game", "--llm", "oracle,stated=2", "--repetitions", "6", "--human", str(path)]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    text = (tmp_path / "out" / "games.md").read_text(encoding="utf-8")
    assert "This is `elicited` with other people, so the difference is chance" in text
    assert "do less than they said" in text
    assert "People: what is sent is 3.67" in text
    found = pd.read_csv(tmp_path / "out" / "games.csv")
    assert set(found["condition"]) == {"elicited", "again", "imposed 2", "imposed 8", "people"}


def test_without_variation_the_sentence_has_the_number_and_no_unknown() -> None:
    """Everyone says 10 and gives 10: that is known of every room, though there is no interval."""
    run = played("public_goods", "oracle,play=cooperate", repetitions=5, rounds=2, beliefs="elicited")
    assert "In every room what is put in in round 1 is exactly what players said" in expectation_gap.headline(
        expectation_gap.compute(run)
    )
    assert "In every room people get 100% of the possible points" in game_points.headline(game_points.compute(run))


def test_headlines_tell_of_every_topic_and_call_no_null_a_finding() -> None:
    """Of two topics each has its sentence; where the gap is not clear of 0, whether people do as they said is uncertain."""
    run = played("public_goods", repetitions=6, rounds=2, beliefs="elicited")
    for metric in (game_points, outcome_diversity):
        found = metric.compute(run)
        both = pd.concat([found.assign(topic="one"), found.assign(topic="an_other")], ignore_index=True)
        assert metric.headline(both) == f"one: {metric.headline(found)} an other: {metric.headline(found)}"
    gaps = expectation_gap.compute(run).assign(gap=0.1, gap_low=-0.5, gap_high=0.7)
    assert "Whether players do what they said of what is put in in round 1 is uncertain" in expectation_gap.headline(
        gaps
    )


def test_a_law_out_of_range_is_refused_before_a_folder_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "games", "trust_game", "--llm", "oracle,level=99"]) == 2
    assert capsys.readouterr().out == ""


def test_below_twenty_rooms_there_is_no_verdict_on_endings(tmp_path: Path) -> None:
    """Two rooms: the interval of a difference in diversity needs twenty."""
    assert main(["study", "games", "negotiation", "--llm", "oracle", "--repetitions", "2", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "games.md").read_text(encoding="utf-8")
    assert "fewer than 20 rooms" in text
    assert "not clearly" not in text


def test_a_run_has_a_report_a_transcript_and_a_figure(tmp_path: Path) -> None:
    command = [
        "--scenario",
        "trust_game",
        "--llm",
        "oracle",
        "--repetitions",
        "5",
        "--rounds",
        "2",
        "--set",
        "horizon=1,2",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    assert "horizon=1,2" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "selfish players get 33%" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "Round 1:" in (tmp_path / "transcript.md").read_text(encoding="utf-8")
    assert (tmp_path / "figures" / "game.png").exists()
    assert {"moves.csv", "expectations.csv", "outcomes.csv"} <= {path.name for path in (tmp_path / "tables").iterdir()}
