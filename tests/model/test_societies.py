"""Debates in every society: who sits there, in which language, and that the planted truth of each is found."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest

from parley.agents.persona import load_personas
from parley.agents.scales import Scale
from parley.agents.skeleton import write_skeleton
from parley.agents.society import DEFAULT, load_society, society_names
from parley.agents.society_check import check_society
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.dynamics import expected_start, planted, start
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.surveys import direction_of
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Rated, Seated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.titles import heading
from parley.model.validation import check_scenario

SOCIETIES = society_names()


def debated(scenario: Scenario) -> MemoryRecorder:
    """The record of a scenario."""
    recorder = MemoryRecorder()
    model = DebateModel(scenario, recorder=recorder)
    while model.running:
        model.step()
    return recorder


def of_kind(recorder: MemoryRecorder, kind: type) -> list:
    return [event for event in recorder.events if isinstance(event, kind)]


def test_every_society_debates_with_its_own_parties_and_nothing_is_missing() -> None:
    for name in SOCIETIES:
        scenario = load_preset("three_way", {"society": name, "llm": "oracle", "repetitions": 2, "rounds": 2})
        first, second = load_society(name).debaters
        assert [group.seats for group in scenario.groups] == [(first, second, DEFAULT)]
        assert scenario.subject.topic == tuple(map(load_society(name).qualified, load_society(name).topics))
        recorder = debated(scenario)
        assert [event.reason for event in of_kind(recorder, Rated) if event.rating is None] == []
        assert [event.reason for event in of_kind(recorder, Utterance) if event.text is None] == []


def test_the_first_ratings_are_those_that_are_planted() -> None:
    """Six parties as two: everybody begins where its persona and the planted law say, the Default at the planted bias."""
    for name in SOCIETIES:
        parties = [party for party in load_society(name).parties if party != DEFAULT]
        settings = {"society": name, "llm": "oracle", "repetitions": 8, "rounds": 0, "seats": (*parties, DEFAULT)}
        scenario = load_preset("three_way", settings)
        recorder, law = debated(scenario), planted(society=name)
        people = {one.id: one for party in scenario.parties for one in load_personas(party, scenario.persona_folder)}
        seated = {(event.room, event.agent): event for event in of_kind(recorder, Seated)}
        for event in of_kind(recorder, Rated):
            who = seated[event.room, event.agent]
            told = people[who.persona].backstory
            expected = (
                law[who.topic].bias if who.party == DEFAULT else start(banks(name), told, who.topic, law[who.topic])
            )
            assert event.expected == pytest.approx(expected, abs=1e-6), (who.topic, who.persona)
        levels = {
            (topic, party): fmean(expected_start(banks(name), one.backstory, topic, law[topic]) for one in everybody)
            for topic in scenario.subject.topic
            for party in parties
            if (everybody := [one for one in people.values() if one.party == party])
        }
        for topic in scenario.subject.topic:
            ordered = sorted(parties, key=lambda party: levels[topic, party])
            assert levels[topic, ordered[-1]] - levels[topic, ordered[0]] > 3, topic


def test_a_stubborn_party_moves_less_and_one_that_is_not_as_much_as_ever() -> None:
    """The planted stubbornness of .9: its people move a tenth of what open people move, in rooms of the same lines."""
    settings = {"society": "neutral", "llm": "oracle,sigma=0", "repetitions": 12, "rounds": 4}
    moved: dict[str, list[float]] = defaultdict(list)
    recorder = debated(load_preset("two_way", settings))
    seated = {(event.room, event.agent): event.party for event in of_kind(recorder, Seated)}
    ratings: dict[tuple[str, int], list[float]] = defaultdict(list)
    for event in of_kind(recorder, Rated):
        ratings[event.room, event.agent].append(event.expected)
    for who, values in ratings.items():
        if len(values) > 1:
            moved[seated[who]].append(abs(values[-1] - values[0]))
    assert fmean(moved["stubborn"]) < 0.25 * fmean(moved["open"])


def test_a_german_debate_is_german() -> None:
    recorder = debated(load_preset("two_way", {"society": "germany", "llm": "oracle", "repetitions": 1, "rounds": 1}))
    said = " ".join(event.text for event in of_kind(recorder, Utterance))
    assert " ist " in said
    assert " the " not in said.lower()
    assert " I " not in said


def test_a_society_is_changed_with_one_setting() -> None:
    """Seats, topics and the oracle's banks follow; what a user sets stays."""
    us = load_preset("echo_chamber", {"llm": "oracle"})
    uk = us.with_settings({"society": "uk"})
    assert [group.seats[:1] for group in uk.groups][:1] == [("conservative",)]
    assert uk.models.llm == "oracle,society=uk"
    assert uk.with_settings({"society": "us"}) == us
    kept = load_preset("two_way", {"society": "uk", "seats": "green,reform", "topic": "small_boats"})
    assert kept.seats == ["default", "green", "reform"]
    assert kept.subject.topic == ("uk/small_boats",)
    assert heading(kept) == "A Green and a Reform voter in a debate"


def test_a_preset_whose_topics_are_elsewhere_takes_those_of_the_society() -> None:
    assert load_preset("network", {"society": "germany"}).subject.topic[0] == "germany/tempolimit"
    assert load_preset("structured_debate", {"society": "uk"}).people.personas == "voters"
    with pytest.raises(UserError, match="unknown topic of germany 'racism'"):
        load_preset("two_way", {"society": "germany", "topic": "racism"})
    with pytest.raises(UserError, match="republican"):
        load_preset("two_way", {"society": "germany", "seats": "republican,cdu"})


def test_models_roles_and_interventions_may_name_the_debaters() -> None:
    given = {"society": "germany", "llms": ("second=oracle,kappa=0",), "roles": ("first:convincer",)}
    scenario = load_preset("two_way", given | {"interventions": ("message round=1 to=second by=Ann text='Na gut.'",)})
    assert scenario.llm_by_party == {"cdu": "oracle,kappa=0,society=germany"}
    assert scenario.trait_assignment.roles == {"spd": "convincer"}
    assert scenario.interventions[0].to == ("cdu",)


def test_a_society_of_the_users_own_debates_at_once(tmp_path: Path) -> None:
    folder = str(write_skeleton("society", tmp_path / "mine"))
    recorder = debated(load_preset("three_way", {"society": folder, "llm": "oracle", "repetitions": 3, "rounds": 2}))
    assert [event.reason for event in of_kind(recorder, Rated) if event.rating is None] == []
    assert {event.topic for event in of_kind(recorder, Seated)} == {f"{folder}/library"}


BALLOT = """[scales.ballot]
kind = "labelled"
low = 0
high = 1
labels = { 0 = "No", 1 = "Yes" }
[probes.attitude]
construct = "agreement"
scale = "ballot"
sentence = "I vote {label}."
question = "The vote is on whether the town should build a new library. How do you vote?"
"""


def test_a_ballot_of_yes_and_no_is_answered(tmp_path: Path) -> None:
    """A scale of one's own with two labels: every answer was unknown_ask, and `check` called its labels wrong. Yes is 10."""
    folder = write_skeleton("society", tmp_path / "vote")
    topic = folder / "topics" / "library.toml"
    before, _, rest = topic.read_text().partition("[probes.attitude] ")
    topic.write_text(before + BALLOT + rest[rest.index("[probes.attitude_labelled]") :])
    assert list(check_society(load_society(str(folder)))) == []
    recorder = debated(load_preset("two_way", {"society": str(folder), "llm": "oracle", "repetitions": 3, "rounds": 1}))
    rated, seated = of_kind(recorder, Rated), {event.agent: event.party for event in of_kind(recorder, Seated)}
    expected = {
        party: fmean(one.expected for one in rated if seated[one.agent] == party) for party in ("left", "right")
    }
    assert expected["left"] > 5 > expected["right"]
    assert {one.attitude for one in rated} <= {0.0, 10.0}
    german = Scale("ballot", "labelled", 0, 1, {0: "Ja", 1: "Nein"})
    assert (direction_of(banks("germany"), german), direction_of(banks(), german)) == (-1, None)


def test_a_society_is_the_same_however_its_path_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of one's own is named from here, in full, or by a file in it; a topic of another society is refused."""
    monkeypatch.chdir(tmp_path)
    write_skeleton("society", tmp_path / "same")
    topic = "same/topics/library.toml"
    for society, topics in (("./same", ()), ("./same", topic), ("same/", topic), (str(tmp_path / "same"), topic)):
        check_scenario(load_preset("three_way", {"society": society, **({"topic": topics} if topics else {})}))
    assert load_topic("./same/library").society.name == "./same"
    with pytest.raises(UserError, match=r"is of the society \./same, and the people are of uk"):
        check_scenario(load_preset("three_way", {"society": "uk", "topic": "./same/library"}))
