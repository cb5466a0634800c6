"""Emotions of a run: their tables, and whether contagion is found where it is planted and nowhere else."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emotional_spread import PEOPLE, SURVEYS, WORLDS, World, make_room, plain_effect

from parley.analysis.findings import findings
from parley.analysis.metrics import emotional_contagion, emotions
from parley.analysis.metrics._emotions import EmotionRoom, shown_mean
from parley.analysis.metrics.emotional_contagion import effect, shuffled_effects, swapped
from parley.analysis.rooms import Room, RoomMeasurement
from parley.analysis.tables import Tables, tables
from parley.analysis.transcript import text as transcript
from parley.model.debate import DebateModel
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset

SMALL = {"size": "12", "graph": "blocks,degree=4", "rounds": "3", "repetitions": "2"}
TALK = {"size": "16", "graph": "blocks,degree=4", "rounds": "6", "repetitions": "6", "memory": "whole"} | {
    "also": "valence,arousal", "chain": "valence,arousal,attitude",
}  # fmt: skip


def ran(llm: str, preset: str = "emotion_spread", **fields: str) -> Tables:
    setup, recorder = load_preset(preset, {**fields, "llm": llm}), MemoryRecorder()
    model = DebateModel(setup, recorder=recorder)
    model.run()
    return tables([make_header(setup, (), model.backend), *recorder.events])


def excess(room: EmotionRoom) -> float:
    """The effect in a room minus its mean over shuffles."""
    true = effect(room.ratings["valence"], room.attitudes, room.lines)[0].value
    return float(true or 0.0) - float(shuffled_effects(room, "valence").mean())


def test_a_change_that_follows_the_lines_shown_has_its_slope() -> None:
    """By construction every change is exactly 0.5 times how far the authors felt above their average: the effect is 0.5."""
    room = make_room(World(), 1)
    felt, shape = room.ratings["valence"].copy(), (PEOPLE, SURVEYS)
    mean = np.broadcast_to(felt.mean(axis=1)[:, None], shape)
    for _ in range(200):  # a fixed point: the changes depend on ratings, which are sums of changes
        shown = np.nan_to_num(shown_mean(room.lines, felt - felt.mean(axis=1)[:, None]))[:, 1:]
        felt = np.concatenate([mean[:, :1], mean[:, :1] + np.cumsum(0.5 * shown + 0.1 * np.arange(8), axis=1)], axis=1)
    value, changes = effect(felt, room.attitudes, room.lines)
    assert value.value == pytest.approx(0.5, abs=1e-6)
    assert changes == int(np.isfinite(shown_mean(room.lines, felt)[:, 1:]).sum())


def test_a_shuffle_keeps_parties_and_never_shows_people_their_own_lines() -> None:
    """Each person takes the place of a person of its party, as hearer and author, so the graph and its parties stay."""
    room, rng = make_room(World(), 2), np.random.default_rng(0)
    places = swapped(room.parties, rng)
    moved = room.lines.moved(places)
    assert sorted(places) == list(range(PEOPLE))
    assert (room.parties[places] == room.parties).all()
    assert (moved.hearer != moved.author).all()
    assert sorted(np.bincount(moved.hearer)) == sorted(np.bincount(room.lines.hearer))


def t(values: list[float]) -> float:
    numbers = np.array(values)
    return float(numbers.mean() / (numbers.std(ddof=1) / np.sqrt(len(numbers))))


def test_homophily_and_errors_of_ratings_are_no_contagion() -> None:
    """People follow those who feel like them, and ratings err: a plain regression finds contagion, the measure finds none."""
    rooms = [make_room(WORLDS["homophily, errors of ratings"], seed) for seed in range(24)]
    assert t([plain_effect(room) for room in rooms]) > 5
    assert abs(t([excess(room) for room in rooms])) < 2.5


def test_planted_contagion_is_found() -> None:
    """A fifth of the distance per round, beside the shuffled ties of the same rooms; a person has about two authors a round."""
    found = [excess(make_room(WORLDS["contagion .2"], seed)) for seed in range(12)]
    assert t(found) > 5
    assert np.mean(found) == pytest.approx(0.2, abs=0.07)


@pytest.mark.thorough
def test_contagion_planted_in_the_oracle_is_found_in_its_record() -> None:
    """From the tables alone: the intervals exclude 0, the observed one holds the planted effect, and the sentence says so.

    People hear about four lines a round, each with a tenth of the distance: 1 - .9^4 = .34.
    """
    frame = emotional_contagion.compute(ran("oracle,contagion=.1,volatility=.3", "network", **TALK))
    row = frame[frame["emotion"] == "valence"].iloc[0]
    assert row["contagion_low"] > 0
    assert 0 < row["observed_low"] < 0.34 < row["observed_high"]
    assert row["p"] < 0.05
    assert "Valence spread: " in emotional_contagion.headline(frame)


def test_a_reverse_contagion_is_not_called_spread() -> None:
    """People who move away from what others feel do not catch it."""
    frame = pd.DataFrame(
        [{"emotion": "valence", "contagion": -0.2, "contagion_low": -0.3, "contagion_high": -0.1, "p": 0.01}]
    )
    told = emotional_contagion.headline(frame)
    assert told.startswith("People moved away from the valence of others: for each point")
    assert told.endswith("moved 0.20 points away from it (95% interval 0.10 to 0.30).")


def test_where_nothing_moves_nothing_is_said() -> None:
    """The oracle without contagion and volatility always feels the same: there is a reason in place of a number."""
    frame = emotional_contagion.compute(ran("oracle", "network", **TALK | {"repetitions": "5", "rounds": "3"}))
    assert frame["contagion"].isna().all()
    assert frame["reason"].tolist() == ["observed: no rating changed"] * 2
    assert "It is unknown whether valence spread, because no rating changed." in emotional_contagion.headline(frame)


def test_tables_and_transcript_have_the_emotions() -> None:
    """The mean of a party by round is that of its ratings; the transcript has them after the attitudes."""
    run = ran("oracle,volatility=.4", **SMALL)
    frame = emotions.compute(run)
    felt = run.emotions[
        (run.emotions["round"] == 3) & (run.emotions["party"] == "democrat") & (run.emotions["probe"] == "valence")
    ]
    expected = felt.groupby("room")["value"].mean().mean()
    row = frame[(frame["party"] == "democrat") & (frame["round"] == 3)].iloc[0]
    assert row["valence"] == pytest.approx(expected)
    assert row["rooms"] == 2
    assert abs(felt["value"] - felt["rating"]).max() <= 0.5
    assert transcript(run).count("emotion (1-7): ") == 2 * 4
    plain = ran("oracle", "platform", **SMALL | {"activation": "every"})
    assert plain.emotions.empty
    assert "emotion" not in transcript(plain)


def test_the_summary_says_valence_by_the_labels_of_parties() -> None:
    """Labels and not names in files; the ends are the first and the last survey, also where another survey is missing."""
    run = ran(
        "oracle",
        "two_way",
        also="valence",
        repetitions="2",
        rounds="2",
        seats="cdu,spd",
        society="germany",
        topic="tempolimit",
    )
    frame = emotions.compute(run)
    told = " ".join(findings(run, {"emotions": frame}, {"emotions": emotions}))
    assert re.search(r"changed of CDU from \d\.\d to \d\.\d and of SPD from \d\.\d to \d\.\d\.", told)
    lost = frame.assign(valence=frame["valence"].where((frame["party"] != "cdu") | (frame["round"] < 2)))
    assert "CDU" not in " ".join(findings(run, {"emotions": lost}, {"emotions": emotions}))


def test_missing_ratings_are_left_out_and_counted() -> None:
    """A rating that cannot be read is no 4: the room loses the changes into and out of it, and the table counts it."""
    run = ran("oracle,volatility=.4", **SMALL)
    probes = run.probes.copy()
    lost = (probes["probe"] == "valence") & (probes["round"] == 2) & (probes["party"] == "democrat")
    probes.loc[lost, ["rating", "probabilities"]] = [np.nan, None]
    broken = replace(run, probes=probes)
    before, after = (emotional_contagion.compute(one).set_index("emotion") for one in (run, broken))
    assert after.loc["valence", "missing"] == int(lost.sum())
    assert after.loc["valence", "changes"] < before.loc["valence", "changes"]
    assert after.loc["arousal"].equals(before.loc["arousal"])
    row = emotions.compute(broken).query("party == 'democrat' and round == 2").iloc[0]
    assert np.isnan(row["valence"])
    assert "no rating could be read" in row["reason"]


def test_one_person_a_party_has_no_ties_to_shuffle() -> None:
    """Then there is an effect without its null, and no contagion is claimed."""
    room = make_room(World(), 3)
    alone = Room("t", "g", "r", room.room.attitudes, pd.Series([str(person) for person in range(PEOPLE)]))
    assert (
        len(shuffled_effects(EmotionRoom(alone, room.surveys, room.ratings, room.attitudes, room.lines), "valence"))
        == 0
    )


def test_a_room_without_shuffles_does_not_count_for_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five rooms with .1 more than their shuffles have the p of .1, whatever a room without shuffles observed."""
    rooms = [make_room(World(), seed) for seed in range(6)]
    alone = replace(rooms[5].room, parties=pd.Series([str(person) for person in range(PEOPLE)]))
    rooms[5] = replace(rooms[5], room=alone)
    draws = np.linspace(-0.2, 0.2, 199)
    observed = iter([0.1] * 5 + [9.0])
    monkeypatch.setattr(emotional_contagion, "emotion_rooms", lambda tables: rooms)
    monkeypatch.setattr(emotional_contagion, "effect", lambda *given: (RoomMeasurement(next(observed)), 30))
    monkeypatch.setattr(
        emotional_contagion, "shuffled_effects", lambda room, name: draws if room is not rooms[5] else draws[:0]
    )
    for room in rooms:
        room.ratings.pop("arousal", None)
    (row,) = emotional_contagion.compute(rooms).to_dict("records")  # type: ignore[arg-type]
    assert row["contagion"] == pytest.approx(0.1)
    assert row["p"] == pytest.approx((1 + (abs(draws) >= 0.1 - 1e-12).sum()) / 200)


def test_ratings_that_cannot_be_read_are_not_said_to_be_unasked() -> None:
    """The two questions were asked and could not be read; without the question of valence it was not asked."""
    lost, unasked = ("valence: no rating could be read", "valence: not asked")
    for reason in (lost, unasked):
        frame = pd.DataFrame({"valence": [np.nan], "reason": [f"fewer than 5 rooms; {reason}"], "party": "cdu"})
        assert emotions.headline(frame).endswith(f"{reason.removeprefix('valence: ')}.")


def test_reporters_have_a_column_for_each_emotion_that_is_asked() -> None:
    """And none where no survey asks."""
    asked, plain = (
        DebateModel(load_preset("two_way", {"repetitions": "1", "rounds": "1", "llm": "oracle", "also": also}))
        for also in ("valence", "")
    )
    frame: Any = asked.datacollector.get_model_vars_dataframe()
    people: Any = asked.datacollector.get_agent_vars_dataframe()
    means = people.groupby("party")["valence"].mean()
    assert {column for column in frame if column.startswith("valence")} == {"valence_democrat", "valence_republican"}
    assert frame["valence_democrat"].iloc[0] == pytest.approx(means["democrat"])
    assert "arousal" not in people
    assert not [column for column in plain.datacollector.get_model_vars_dataframe() if "valence" in column]
