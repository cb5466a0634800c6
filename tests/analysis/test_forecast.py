"""What was expected beside what was answered: by hand, and what the known-truth speaker expects."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from parley.agents.probe import FORECAST, forecast_probe
from parley.agents.topic import load_topic
from parley.analysis.metrics import forecast
from parley.analysis.tables import Tables, load
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Ended, Event, Rated, Seated
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario


def told(
    record: Callable[..., Path], header: object, people: list[tuple[float | None, float | None, float | None]]
) -> Tables:
    """One Republican a room: before, expected, after."""
    events: list[Event] = []
    for number, (before, expected, after) in enumerate(people, 1):
        room = f"racism/a/{number}"
        events.append(Seated(number, room, "racism", "a", number, "republican", "republican", "p", "Rae"))
        for round_, probe, value in ((0, "attitude", before), (0, FORECAST, expected), (1, "attitude", after)):
            why = "no_number" if value is None else None
            events.append(Rated(room, round_, round_, number, probe, value, value, None, None, why, "", "strict", 1))
    return load(record([header, *events, Ended(1, len(events))]))


def test_errors_by_hand(record: Callable[..., Path], header: Callable[..., object]) -> None:
    """Expected 4 and 6, answered 5 and 8, before 2 and 8: errors 1 and 2, no change 3 and 0, bias -1.5; one lacks an answer."""
    tables = told(record, header(forecast=True), [(2, 4, 5), (8, 6, 8), (3, 3, None), (3, None, 3)])
    found = forecast.compute(tables).iloc[0]
    assert found[["error", "unchanged", "bias", "distance"]].tolist() == [1.5, 1.5, -1.5, 1.5]
    assert found[["rooms", "people", "missing"]].tolist() == [2, 2, 2]
    assert math.isnan(found["r"])  # two people have no correlation to tell
    assert set(tables.attitudes["probe"]) == {"attitude"}


def test_right_on_the_whole_and_wrong_one_by_one(record: Callable[..., Path], header: Callable[..., object]) -> None:
    """Who expects 2 answers 8 and the other way round: the distribution is the same, every person is 6 points off, r is -1."""
    tables = told(record, header(forecast=True), [(5, 2, 8), (5, 8, 2)] * 5)
    found = forecast.compute(tables).iloc[0]
    assert found[["error", "bias", "distance", "r"]].tolist() == pytest.approx([6, 0, 0, -1])


def test_better_is_told_by_the_difference_room_by_room(
    record: Callable[..., Path], header: Callable[..., object]
) -> None:
    """Rooms differ far more than error and change do within a room: their intervals overlap, their difference is sure."""
    people = [
        (0, after - 0.5 - extra, after) for after, extra in ((1, 0), (9, 0.1), (3, 0.2), (8, 0), (2, 0.1), (6, 0.2))
    ]
    found = forecast.compute(told(record, header(forecast=True), people))
    row = found.iloc[0]
    assert row["error_high"] < row["unchanged_high"]
    assert row["gain"] == pytest.approx(row["unchanged"] - row["error"])
    assert row["gain_low"] > 0
    assert (
        "1 of 1 party predicted their own answers better than a forecast of no change, and 0 predicted them worse"
        in forecast.headline(found)
    )
    few = forecast.compute(told(record, header(forecast=True), people[:4]))
    assert (
        "0 of 1 party predicted their own answers better than a forecast of no change, and 0 predicted them worse"
        in forecast.headline(few)
    )


def test_it_is_asked_once_in_private_and_changes_nothing(small: Callable[..., Scenario]) -> None:
    """The same debate, word for word, with a further rating of everybody before it; nobody is reminded of it."""
    asked: list[Request] = []

    def speak(request: Request) -> str:
        asked.append(request)
        return "RATING 7" if request.answers else f"I said {request.seed}."

    kept = []
    for wanted in (True, False):
        recorder = MemoryRecorder()
        DebateModel(small("belief_behaviour", forecast=wanted), backend=Fake(speak), recorder=recorder).run()
        kept.append([event for event in recorder.events if getattr(event, "probe", "") != FORECAST])
        assert len(recorder.events) - len(kept[-1]) > 0 if wanted else len(recorder.events) == len(kept[-1])
    strip = [[event for event in events if event.kind not in ("called", "ended")] for events in kept]
    assert strip[0] == strip[1]
    expected = [request for request in asked if "What do you expect" in request.messages[-1].content]
    assert len(expected) == 6
    assert not [one for one in asked for message in one.messages[:-1] if "expect to answer" in message.content]


def test_the_oracle_expects_no_change(ran: Callable[..., Path]) -> None:
    """It answers a forecast with what it thinks now: the error is that of who expects no change."""
    tables = load(ran("belief_behaviour", forecast="true"))
    found = forecast.compute(tables)
    assert found["error"].tolist() == found["unchanged"].tolist()
    assert len(tables.probes) == 9
    assert forecast_probe(load_topic("racism").probe("attitude"), "debate").question.startswith(
        "At the end of this debate"
    )
