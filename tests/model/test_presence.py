"""Who joins and who leaves: not there, not heard, not asked, missing and never zero; nobody else's turn moves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from data_checks import check_each
from standins import Scrambled, opinionated

import run
from parley.analysis.findings import missing_ratings
from parley.analysis.metrics import applies, metrics
from parley.analysis.metrics.trajectory import compute
from parley.analysis.run_report import write_report
from parley.analysis.studies.intervention import control
from parley.analysis.tables import load
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Backend, Request
from parley.model.debate import DebateModel
from parley.model.events import Event, Heard, Intervened, Rated, Utterance
from parley.model.missing_replies import RATINGS, tally_of
from parley.model.recorder import MemoryRecorder, from_line, to_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

Small = Callable[..., Scenario]
TIMETABLE = ["join round=2 to=default", "leave round=3 to=democrat"]


def events(scenario: Scenario, backend: Backend) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend, recorder=recorder).run()
    return recorder.events


def of(found: list[Event], kind: type) -> list:
    return [event for event in found if isinstance(event, kind)]


def seats(scenario: Scenario) -> dict[int, str]:
    return {agent.unique_id: agent.seat for agent in DebateModel(scenario, backend=Fake(opinionated)).agents}


@pytest.fixture
def scenario(small: Small) -> Scenario:
    return small(rounds=4, interventions=TIMETABLE)


def test_who_is_not_there_says_nothing_and_is_not_asked(scenario: Scenario) -> None:
    """By seat and round: the Default from round 2 on, the Democrat until round 2; no request is made of anybody else."""
    asked: list[Request] = []
    found = events(scenario, Fake(lambda request: asked.append(request) or opinionated(request)))
    seat = seats(scenario)
    spoke = {(seat[turn.agent], turn.round) for turn in of(found, Utterance) if turn.text}
    rated = {(seat[one.agent], one.round) for one in of(found, Rated) if one.rating is not None}
    there = {"republican": range(5), "default": range(2, 5), "democrat": range(3)}
    assert rated == {(name, round_) for name, rounds in there.items() for round_ in rounds}
    assert spoke == {(name, round_) for name, round_ in rated if round_}
    assert {
        one.reason for one in [*of(found, Rated), *of(found, Utterance)] if (seat[one.agent], one.round) not in rated
    } == {"absent"}
    assert len(asked) == 2 * (len(rated) + len(spoke))
    assert [event.what for event in of(found, Intervened)] == ["join", "join", "leave", "leave"]


def test_who_is_not_there_hears_nothing(small: Small) -> None:
    """What was said before it came is in no prompt of the Default, nor news of that time; what it hears later is."""
    asked: list[Request] = []

    def told(request: Request) -> str:
        asked.append(request)
        return request.answers[5] if request.answers else f"Line {len(asked)}."

    lines = ["shock round=1 text='An early word.'", TIMETABLE[0], "shock round=2 text='A late word.'"]
    model = DebateModel(small(rounds=2, interventions=lines), backend=Fake(told))
    model.step()
    early = [f"Line {number}." for number in range(1, len(asked) + 1)]
    model.step()
    default = [agent for agent in model.agents if agent.seat == "default"]
    for agent in default:
        prompt = "\n".join(message.content for message in agent.compose_interview("What now?", 1).messages)
        assert "A late word." in prompt
        assert "An early word." not in prompt
        assert not [line for line in early if f": {line}" in prompt]
    assert len(default) == 2


def test_who_comes_late_is_not_told_that_it_starts(scenario: Scenario) -> None:
    """It has heard nothing, as whoever starts; but the others have begun."""
    asked: list[Request] = []
    events(scenario, Fake(lambda request: asked.append(request) or opinionated(request)))
    starts = [request for request in asked if "Nobody has spoken in this" in request.messages[-1].content]
    assert {request.messages[0] for request in starts}.isdisjoint(
        {agent._system for agent in DebateModel(scenario, backend=Fake(opinionated)).agents if agent.seat == "default"}
    )
    assert starts


@pytest.mark.parametrize("in_flight", [0, 4])
def test_nobodys_turn_moves(small: Small, in_flight: int) -> None:
    """Turns, their numbers and seeds are those of the debate in which all are there all the time."""
    backend = Scrambled(opinionated, in_flight) if in_flight else Fake(opinionated)
    found = [events(small(rounds=4, interventions=lines), backend) for lines in ([], TIMETABLE)]
    places = [[(turn.room, turn.round, turn.iteration, turn.agent) for turn in of(one, Utterance)] for one in found]
    assert places[0] == places[1]


def test_who_left_may_come_back(small: Small) -> None:
    """Whoever the timetable says first leaves is there at the start, and remembers what it heard until then."""
    lines = ["leave round=2 to=democrat", "join round=4 to=democrat"]
    scenario = small(rounds=4, interventions=lines)
    found, seat = events(scenario, Fake(opinionated)), seats(scenario)
    there = [one.round for one in of(found, Rated) if seat[one.agent] == "democrat" and one.rating is not None]
    assert sorted(set(there)) == [0, 1, 4]


@check_each("rule", ["neighbours", "pairs", "posts", "sequential", "bounded_confidence"])
def test_in_a_network_too(small: Small, rule: str) -> None:
    """By any rule nobody absent hears or is shown anything, and the tables and figures of such a run are made."""
    lines = ["join round=2 share=0.5 to=democrat", "leave round=2 share=0.5 to=republican"]
    scenario = small("network", size=8, graph="complete", rule=rule, rounds=2, interventions=lines)
    found = events(scenario, Fake(opinionated))
    missing = {(one.agent, one.round) for one in of(found, Rated) if one.reason == "absent"}
    assert {round_ for _, round_ in missing} == {0, 1, 2}
    assert not [event for event in of(found, Heard) if (event.agent, event.round) in missing]
    silent = {(turn.agent, turn.round) for turn in of(found, Utterance) if turn.reason == "absent"}
    assert silent <= missing
    assert not [turn for turn in of(found, Utterance) if turn.text and (turn.agent, turn.round) in missing]


def test_resumed_and_replayed_it_is_the_same(scenario: Scenario, tmp_path: Path) -> None:
    """A budget cuts it short and the same command goes on; a replay of the journal has the same record but for its header."""
    whole = run_scenario(RunSpec(scenario, tmp_path / "whole")).record.read_text()
    assert run_scenario(RunSpec(scenario, tmp_path / "cut", budget=Budget(calls=20))).stopped
    assert run_scenario(RunSpec(scenario, tmp_path / "cut")).record.read_text() == whole
    again = scenario.with_settings({"llm": f"replay:{tmp_path / 'whole'}"})
    replayed = run_scenario(RunSpec(again, tmp_path / "again")).record.read_text()
    assert replayed.splitlines()[1:] == whole.splitlines()[1:]


@pytest.fixture
def folder(scenario: Scenario, tmp_path: Path) -> Path:
    run_scenario(RunSpec(scenario, tmp_path))
    write_report(tmp_path)
    return tmp_path


def test_metrics_and_figures_have_gaps_and_no_zeros(folder: Path) -> None:
    """The mean of a seat that is not there is none; its ratings are missing with the reason; the report is whole."""
    tables = load(folder)
    points = compute(tables).set_index(["seat", "round"])
    assert points.loc[("default", 1), ["n", "missing"]].tolist() == [0, 2]
    assert points["mean"].isna().sum() == 2 + 2
    assert points.loc[("default", 2), "n"] == 2
    assert (points["mean"].dropna() > 0).all()
    for name, metric in metrics().items():
        if applies(metric, tables):
            assert not metric.compute(tables).filter(regex="mean|start|end$").eq(0).to_numpy().any(), name
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    lost, asked = len(tables.attitudes) - 8, len(tables.attitudes)
    assert f"| ratings that were not asked for | 8 | {asked} | absent 8 |" in summary
    assert missing_ratings(tables) == f"0 of {lost} ratings are missing."
    with (folder / "record.jsonl").open() as lines:
        tally = tally_of(map(from_line, lines), {"": "oracle"})
    assert sum(number for key, number in tally.asked.items() if key.what == RATINGS) == lost  # the line on the terminal
    assert "Avery – (no rating: absent)" in (folder / "transcript.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_with_and_without_somebody(tmp_path: Path) -> None:
    """In the control who joins does not come, and who leaves stays: one past; effects on the others, its own are missing."""
    command = [
        "study",
        "intervene",
        "--scenario",
        "three_way",
        "--topic",
        "racism",
        "--repetitions",
        "3",
        "--rounds",
        "3",
        "--llm",
        "oracle",
    ]
    given = [part for line in TIMETABLE for part in ("--intervene", line)]
    assert run.main([*command, *given, "--out", str(tmp_path)]) == 0
    without, held = load(tmp_path / "without"), load(tmp_path / "with")
    assert without.interventions.empty
    assert set(held.calls.loc[held.calls["round"] < 2, "key"]) <= set(without.calls["key"])
    gone = without.attitudes[without.attitudes["party"] == "default"]
    assert gone.loc[gone["group"] != "reference", "attitude"].isna().all()
    assert without.attitudes.loc[without.attitudes["party"] == "democrat", "attitude"].notna().all()
    text = (tmp_path / "intervention.md").read_text(encoding="utf-8")
    assert "| Default | yes | attitude | – | – | – | – | 0 |" in text


def test_the_control_of_a_timetable(scenario: Scenario, small: Small) -> None:
    """What is said goes; who joins or leaves never does, whom a share falls on being the same."""
    both = small(rounds=4, interventions=[*TIMETABLE, "shock round=2 text=Rain."])
    assert [(one.kind, vars(one)["never"]) for one in control(both).interventions] == [("join", True), ("leave", True)]
    assert control(control(both)) == control(both)


@pytest.mark.parametrize(
    ("preset", "line"), [("consensus", "join round=1"), ("prior_beliefs", "leave round=2 to=republican")]
)
def test_where_it_has_no_meaning_it_is_refused(small: Small, preset: str, line: str) -> None:
    more = {} if preset == "prior_beliefs" else {"topic": ""}
    with pytest.raises(UserError, match="does not work in private deliberations or with sides=opposed"):
        small(preset, interventions=[line], **more)


def test_absence_is_in_the_record_as_written(scenario: Scenario) -> None:
    """A rating of somebody who is not there has no reply, was never asked, and is no number."""
    one = next(event for event in of(events(scenario, Fake(opinionated)), Rated) if event.reason == "absent")
    assert (one.rating, one.attitude, one.raw, one.asked) == (None, None, None, 0)
    assert '"reason":"absent"' in to_line(one).replace(" ", "")
