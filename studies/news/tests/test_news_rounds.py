"""A story goes round: who gets what from whom, what is written of it, and what an official statement stops."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from standins import opinionated

from parley.agents.topic import load_topic
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.debate import DebateModel
from parley.model.events import Endowed, Event, Linked, Utterance
from parley.model.files import RECORD
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.studies.news.events import Received
from parley.studies.news.oracle import degrees_of

SMALL = {"repetitions": 1, "rounds": 4, "size": 14, "llm": "oracle"}
REPORT = 0
NEWS = load_topic("blackout").news


def story(**settings: object) -> Scenario:
    return load_preset("news_evolution", SMALL | settings)


def record(scenario: Scenario, backend: Any = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder, keep_going=True).run()
    return list(recorder.events)


def of(events: Sequence[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def degrees(text: str) -> set[int]:
    found = degrees_of(banks(), text)
    assert found is not None
    return set(found.values())


def test_a_version_comes_from_somebody_who_carried_it_the_day_before() -> None:
    """Its source is a neighbour who wrote it last, or read the report; bystanders get versions and pass none on."""
    events = record(story())
    hears = set(of(events, Linked)[0].pairs)
    bystanders = {event.agent for event in of(events, Endowed) if event.role == "bystander"}
    carried: dict[int, int] = {}
    for day in range(5):
        got, before = [event for event in of(events, Received) if event.round == day], dict(carried)
        assert len({event.agent for event in got}) == len(got)
        for event in got:
            if day == 0:
                assert (event.version, event.source) == (REPORT, 0)
                carried[event.agent] = REPORT
                continue
            assert before[event.source] == event.version
            assert event.source == event.agent or (event.agent, event.source) in hears
            near = {other for other in before if (event.agent, other) in hears}
            assert (event.source in near) == bool(near)
        written = [event for event in of(events, Utterance) if event.round == day]
        assert {event.agent for event in written} == {event.agent for event in got if day} - bystanders
        carried |= {event.agent: event.iteration for event in written}
    assert bystanders
    assert not bystanders & carried.keys()


def test_nobody_changes_a_story_unless_drift_is_planted() -> None:
    """The null: every version is the report, word for word."""
    assert NEWS is not None
    assert {event.text for event in of(record(story()), Utterance)} == {NEWS.report}


def test_planted_drift_adds_up_along_the_chain() -> None:
    """Spreaders add 2 points each: after k retellings the degree is 2k in every dimension, at most 10."""
    events = record(story(llm="oracle,drift=2", roles="spreader", rounds=6))
    made = {(event.round, event.agent): event.version for event in of(events, Received)}
    depth = {REPORT: 0}
    for event in of(events, Utterance):
        depth[event.iteration] = depth[made[event.round, event.agent]] + 1
        assert degrees(event.text) == {min(10, 2 * depth[event.iteration])}
    assert max(depth.values()) == 6


def test_a_statement_stops_the_drift_of_those_who_heed_it() -> None:
    """Before day 3, and heeded: nobody adds anything from then on. Not heeded: the story goes on as without it."""
    statement = "fact_check round=3 by='Press Office' text='{report}'"
    plain = {"roles": "spreader", "rounds": 5}
    heeded = record(story(llm="oracle,drift=2", interventions=statement, **plain))
    ignored = record(story(llm="oracle,drift=2,heed=0", interventions=statement, **plain))
    without = record(story(llm="oracle,drift=2,heed=0", **plain))
    assert {degree for event in of(heeded, Utterance) for degree in degrees(event.text)} == {2, 4}
    assert [event.text for event in of(ignored, Utterance)] == [event.text for event in of(without, Utterance)]


def test_the_text_that_came_is_before_who_writes_it_anew() -> None:
    """The instruction holds the version and its source, whatever the agent remembers; the role says what to do with it."""
    asked: list[Request] = []

    def answer(request: Request) -> str:
        if request.purpose == "speech":
            asked.append(request)
            return f"Version number {len(asked)} of it."
        return opinionated(request)

    events = record(story(memory="last:1", reflect=0, roles="verifier", rounds=2), Fake(answer))
    got = [event for event in of(events, Received) if event.round]
    lines = {event.iteration: event.text for event in of(events, Utterance)}
    assert NEWS is not None
    for event, request in zip(got, asked, strict=True):
        text = lines.get(event.version, NEWS.report)
        assert f'like this: "{text}"' in request.messages[-1].content
        assert "what is right, what is wrong" in request.messages[-1].content.replace(
            "Say what of the things said last is", "what is"
        )
    assert "from a news report" in asked[0].messages[-1].content


def test_who_cannot_write_goes_on_carrying_what_it_carried() -> None:
    """A failed reply is missing with its reason and never a version; the agent remembers what it got."""

    def answer(request: Request) -> Any:
        if request.purpose == "speech":
            return Reply.failed("timeout")
        return opinionated(request)

    events = record(story(roles="spreader", rounds=2), Fake(answer))
    assert {event.version for event in of(events, Received)} == {REPORT}
    assert {(event.text, event.reason) for event in of(events, Utterance)} == {(None, "timeout")}


def test_the_same_command_writes_the_same_record(tmp_path: Path) -> None:
    """Byte for byte, also in German."""
    for name, settings in (("en", {}), ("de", {"society": "germany", "topic": "germany/bridge"})):
        scenario = story(**settings, rounds=2, llm="oracle,drift=1")
        for number in (1, 2):
            run_scenario(RunSpec(scenario, tmp_path / f"{name}{number}", ()))
        first, second = ((tmp_path / f"{name}{number}" / RECORD).read_bytes() for number in (1, 2))
        assert first == second


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"topic": "racism"}, "racism is none: set topic=blackout"),
        ({"believers": 2}, "believers is 2.*, but must be between 0 and 1"),
        ({"format": "structured"}, "set format=free"),
        ({"origins": 0}, "origins is 0, but must be between 1"),
        ({"llm": "oracle,drift=tone:1"}, "unknown dimension of oracle,drift"),
    ],
)
def test_what_does_not_fit_is_one_line(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        DebateModel(story(**settings))
