"""Populations of two kinds: some seats on a model, the rest held by a surrogate. No call for these, one record, one law."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import mesa
import numpy as np
import pytest
from data_checks import check_each
from scipy.sparse import csr_array
from standins import Scrambled, opinionated

from parley.agents.laws import People
from parley.agents.laws.surrogate import NAMES, SCHEMA, Surrogate
from parley.agents.persona import load_personas
from parley.agents.surrogate_agent import NEAR, SurrogateAgent, SurrogateResponse, nearest_lines
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.debate import DebateModel
from parley.model.events import Called, Heard, Rated, Utterance
from parley.model.files import RECORD
from parley.model.recorder import MemoryRecorder, read_lines
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.surrogate_seats import surrogate_manifest

Small = Callable[..., Scenario]
NUMBERS = {"offset": 0.0, "noise": 0.0, "stay": 0.1, "intercept": 0.9, "own": -0.25, "heard": 0.15, "spread": 0.4}


def written(
    path: Path, heard: str = "attitudes", topic: str = "racism", how: str = "attitude", **numbers: float
) -> Path:
    """A file as run.py study surrogate writes it: two parties alike but for where they begin."""
    rest = dict.fromkeys(NAMES, 0.0) | {"own_high": 10.0, "heard_high": 10.0} | NUMBERS | numbers
    said = [[grade / 5, f"I stand at {grade}."] for grade in range(51)]
    starts = {"republican": [1.0, 3.0, 4.0], "democrat": [6.0, 8.0, 9.0]}
    parties = {party: rest | {"starts": one, "said": said, "share": 0.5} for party, one in starts.items()}
    told = {
        "told": [],
        "rounds": 5,
        "caption": "surrogate: path error 0.20 (0.17 to 0.24)",
        "fidelity": [{"score": "path", "value": 0.2}],
    }
    fit = told | {"probe": "attitude", "how": how, "heard": heard, "parties": parties}
    path.write_text(json.dumps({"schema": SCHEMA, "topics": {topic: fit}}))
    return path


def mixed(file: Path, *who: str, size: int = 12, **settings: Any) -> Scenario:
    """A network in which these parties or seats are held by the surrogate."""
    own = tuple(f"{one}=surrogate:{file}" for one in who)
    small = {"topic": "racism", "size": size, "graph": "ring,degree=4", "repetitions": 1, "rounds": 3, "reference": ""}
    return load_preset("network").with_settings({"llm": "oracle", **small, "llms": own, **settings})


def held(scenario: Scenario) -> list[Any]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=Fake(opinionated), recorder=recorder).run()
    return recorder.events


def of(kind: type, events: list[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_a_step_by_hand(tmp_path: Path) -> None:
    """4 + (0.9 - 0.25 * 4 + 0.15 * 8) = 5.1 without noise; at 5.1 it says what stands at 5.2 or 5.0, or near."""
    file = written(tmp_path / "s.json", stay=0.0, spread=0.0)
    response = SurrogateResponse(json.loads(file.read_text())["topics"]["racism"], "democrat")
    assert response.after(4.0, 8.0, Random(1)) == pytest.approx(5.1)
    said = {response.line(5.1, Random(seed)) for seed in range(200)}
    assert said == {f"I stand at {grade}." for grade in range(22, 30)}
    assert len(nearest_lines([(1.0, "a")] * 30, 1.0)) == 30
    assert len(nearest_lines([(float(one), "") for one in range(5)], 0.0)) == 5 < NEAR


def test_nobody_is_asked_for_a_stand_in(tmp_path: Path) -> None:
    """Calls are those of the others alone, as the plan says; a stand-in speaks and is rated all the same, `how` says by what."""
    scenario = mixed(written(tmp_path / "s.json"), "republican")
    model = DebateModel(scenario, backend=Fake(opinionated), recorder=(recorder := MemoryRecorder()))
    model.run()
    ours = {agent.unique_id for agent in model.agents if agent.party == "republican"}
    calls = of(Called, recorder.events)
    assert len(ours) == 6
    assert not ours & {call.agent for call in calls}
    assert len(calls) == plan_run(scenario).calls == 6 * 3 + 6 * 4
    spoken = [event for event in of(Utterance, recorder.events) if event.agent in ours]
    assert len(spoken) == 18
    assert all(event.text.startswith("I stand at") for event in spoken)
    rated = of(Rated, recorder.events)
    assert {event.agent for event in rated if event.how == "surrogate"} == ours
    assert all(
        event.asked == 0 and event.rating == pytest.approx(event.attitude) for event in rated if event.agent in ours
    )
    heard = {event.agent: event for event in of(Heard, recorder.events) if event.round == 1}
    assert all(
        f"in {len(heard[one.agent].iterations)} of" in one.raw for one in rated if one.round == 1 and one.agent in ours
    )


def test_what_it_hears_are_the_attitudes_before(tmp_path: Path) -> None:
    """Without noise the move of round 1 is the law of own and heard first ratings, whoever is on a model."""
    events = held(mixed(written(tmp_path / "s.json", stay=0.0, spread=0.0), "democrat"))
    said = {event.iteration: event.agent for event in of(Utterance, events)}
    at = {(event.agent, event.round): event for event in of(Rated, events)}
    for one in [event for event in of(Heard, events) if event.round == 1 and at[event.agent, 1].how == "surrogate"]:
        own = at[one.agent, 0].attitude
        heard = np.mean([at[said[iteration], 0].attitude for iteration in one.iterations])
        assert at[one.agent, 1].attitude == pytest.approx(min(10, own + 0.9 - 0.25 * own + 0.15 * heard))


def test_all_on_the_surrogate_are_the_vectorised_one(tmp_path: Path) -> None:
    """The mean of 300 people after each of four rounds lies where the arrays' do: within 4.5 standard deviations of 200 draws."""
    scenario = mixed(file := written(tmp_path / "s.json"), "republican", "democrat", size=300, rounds=4)
    model = DebateModel(scenario, backend=Fake([]), recorder=(recorder := MemoryRecorder()))
    model.run()
    assert not of(Called, recorder.events)
    rated = of(Rated, recorder.events)
    means = [np.mean([event.attitude for event in rated if event.round == round_]) for round_ in range(5)]
    links, ids = model.rooms[0].society.links.pairs, sorted(model.rooms[0].members)
    rows, columns = (np.array([ids.index(pair[end]) for pair in links]) for end in (0, 1))
    graph = csr_array((np.ones(len(links)), (rows, columns)), shape=(300, 300))
    codes = np.array([model.rooms[0].members[one].party == "democrat" for one in ids], dtype=np.int64)
    law, rng, paths = Surrogate(str(file)), np.random.default_rng(5), []
    start = np.array([[event.attitude for event in rated if event.round == 0 and event.agent == one] for one in ids])[
        :, 0
    ]
    for _ in range(200):
        opinions, path = start, [start.mean()]
        mine = law.begin(opinions, People(codes, ("republican", "democrat")))
        for _ in range(4):
            opinions = mine.step(opinions, graph, rng)
            path.append(opinions.mean())
        paths.append(path)
    away = (np.array(means) - np.mean(paths, axis=0))[1:] / np.std(paths, axis=0)[1:]
    assert np.abs(away).max() < 4.5
    assert means[4] - means[0] > 0.5


def test_it_begins_where_its_party_began(tmp_path: Path) -> None:
    """Quantiles 1, 3, 4: half of Republicans below 3, a mean of 2.75."""
    events = held(mixed(written(tmp_path / "s.json"), "republican", size=400, rounds=1))
    first = [event.attitude for event in of(Rated, events) if event.round == 0 and event.how == "surrogate"]
    assert np.mean(first) == pytest.approx(2.75, abs=0.25)
    assert np.mean(np.array(first) < 3) == pytest.approx(0.5, abs=0.12)


def test_a_stopped_run_goes_on_and_replays_to_the_same_record(tmp_path: Path) -> None:
    """Stand-ins are in no journal: named streams make that resume, replay and any order of landing give one record."""
    scenario = mixed(written(tmp_path / "s.json"), "republican", "democrat 2")
    whole = run_scenario(RunSpec(scenario, tmp_path / "a"), backend=Fake(opinionated)).record.read_bytes()
    stopped = run_scenario(RunSpec(scenario, tmp_path / "b", budget=Budget(calls=9)), backend=Fake(opinionated))
    assert stopped.stopped
    gone_on = run_scenario(RunSpec(scenario, tmp_path / "b"), backend=Fake(opinionated))
    assert gone_on.record.read_bytes() == whole
    assert gone_on.replayed == 9
    landed = run_scenario(
        RunSpec(scenario, tmp_path / "c"), backend=Scrambled(opinionated, in_flight=5)
    ).record.read_bytes()
    assert landed == whole


def test_a_run_is_replayed_from_its_journal(tmp_path: Path) -> None:
    """`--llm replay:RUN` with the same surrogate: nobody is asked, and all that anybody said, heard and rated is the same."""
    scenario = mixed(written(tmp_path / "s.json"), "republican")
    run_scenario(RunSpec(scenario, tmp_path / "a"), backend=Fake(opinionated))
    again = run_scenario(RunSpec(scenario.with_settings({"llm": f"replay:{tmp_path / 'a'}"}), tmp_path / "b"))
    assert again.stopped is None
    first, second = (list(read_lines(tmp_path / folder / RECORD)) for folder in "ab")
    for kind in (Utterance, Rated, Heard):
        assert of(kind, first) == of(kind, second) != []


def test_the_record_says_how_good_it_is(tmp_path: Path) -> None:
    """Share of seats and fidelity stand in the header, and in what every report says of its models."""
    scenario = mixed(written(tmp_path / "s.json"), "republican")
    run_scenario(RunSpec(scenario, tmp_path / "a"), backend=Fake(opinionated))
    header = next(read_lines(tmp_path / "a" / RECORD))
    one = header.stand_ins[0]  # type: ignore[union-attr]
    assert (one["file"], one["topic"], one["seats"], one["of"]) == ("s.json", "racism", 6, 12)
    assert one["fidelity"] == [{"score": "path", "value": 0.2}]
    for told in (disclaimers.disclaimer(header), disclaimers.model_label(header)):  # type: ignore[arg-type]
        assert told
        assert "50%" in told
        assert "path error 0.20 (0.17 to 0.24)" in told


def test_another_file_is_another_experiment(tmp_path: Path) -> None:
    """A surrogate fitted anew under the same name must not go on with the old one's run."""
    scenario = mixed(written(tmp_path / "s.json"), "republican")
    run_scenario(RunSpec(scenario, tmp_path / "a", budget=Budget(calls=9)), backend=Fake(opinionated))
    written(tmp_path / "s.json", intercept=1.0)
    with pytest.raises(UserError, match="other personas, topics or code"):
        run_scenario(RunSpec(scenario, tmp_path / "a"), backend=Fake(opinionated))


def test_further_questions_have_no_answer(tmp_path: Path) -> None:
    """It was fitted to attitudes: a confidence is missing by name, and nothing is made up."""
    events = held(mixed(written(tmp_path / "s.json"), "republican", also="confidence"))
    further = [event for event in of(Rated, events) if event.probe == "confidence" and event.how == "surrogate"]
    assert len(further) == 6 * 4
    assert {(event.rating, event.reason) for event in further} == {(None, "surrogate")}


@check_each(
    ("who", "settings", "match"),
    [
        (("republican",), {"survey": "ends"}, "set survey=rounds"),
        (("republican",), {"topic": "climate_change"}, "climate_change"),
        (("default",), {"parties": "republican,default"}, "cannot play a default"),
        (("nobody",), {}, "nobody"),
        (
            ("default",),
            {"reference": "default"},
            "llms: default has no seat in this debate; a surrogate can play democrat, republican, or one of their seats",
        ),
        (("republican",), {"probe": "agreement"}, "probe attitude: set probe=attitude, not agreement"),
        (("republican",), {"probe": "attitude@severity_1_7"}, "set probe=attitude, not attitude@severity_1_7"),
        (("republican",), {"roles": "republican:spreader"}, "roles: the seat republican 1 is played by a surrogate"),
        (("republican",), {"traits": "drawn"}, "traits: the seat republican 1 is played by a surrogate"),
        (
            ("republican 2",),
            {"confirmation_bias": "strong"},
            "confirmation_bias: the seat republican 2 is played by a surrogate",
        ),
        (("republican",), {"adapters": "republican:one"}, "adapters: the seat republican 1 is played by a surrogate"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(
    tmp_path: Path, who: tuple[str, ...], settings: dict[str, str], match: str
) -> None:
    with pytest.raises(UserError, match=match):
        mixed(written(tmp_path / "s.json"), *who, **settings)
    with pytest.raises(UserError, match="cannot read the surrogate"):
        mixed(tmp_path / "none.json", "republican")


def test_a_stand_in_sits_at_a_table(tmp_path: Path, small: Small) -> None:
    """Rooms of three: everybody hears it, and it hears everybody."""
    file = written(tmp_path / "s.json")
    events = held(small(llms=(f"democrat=surrogate:{file}",)))
    moved = [event for event in of(Rated, events) if event.how == "surrogate" and event.round == 2]
    assert len(moved) == 2
    assert all("of 2 lines" in event.raw for event in moved)


def test_a_place_without_a_file_is_not_filled_by_a_model() -> None:
    """`--llm republican=surrogate:` asked the real model, without a word."""
    for who in ("republican", "republican 2"):
        with pytest.raises(UserError, match=f"write {who}=surrogate:FILE"):
            load_preset("network").with_settings({"topic": "racism", "llms": (f"{who}=surrogate:",)})


def test_a_seat_with_a_model_of_its_own_is_asked(tmp_path: Path) -> None:
    """What a seat is given goes before what its party is: its model was opened, and never asked."""
    scenario = mixed(file := written(tmp_path / "s.json"), "republican")
    scenario = scenario.with_settings({"llms": (*scenario.models.llms, "republican 2=oracle,kappa=0")})
    model = DebateModel(scenario, backend=Fake(opinionated), recorder=(recorder := MemoryRecorder()))
    model.run()
    asked = {call.agent for call in of(Called, recorder.events)}
    assert {agent.seat for agent in model.agents if agent.unique_id in asked and agent.party == "republican"} == {
        "republican 2"
    }
    assert len(of(Called, recorder.events)) == plan_run(scenario).calls == 7 * 3 + 7 * 4
    assert [(one["file"], one["seats"]) for one in surrogate_manifest(scenario)] == [(file.name, 5)]


def test_what_others_are_given_stays(tmp_path: Path) -> None:
    """Only what a stand-in would be told is refused: the others have their roles, and none is no bias."""
    file = written(tmp_path / "s.json")
    told = {"roles": "democrat:spreader", "confirmation_bias": "strong,republican:none"}
    assert mixed(file, "republican", **told).surrogate_by_party == {"republican": str(file)}


SAYING = [
    "message round=2 by=Ann text='It is a lie.'",
    "moderator round=2 text=reasons",
    "shock round=2 text='It rains.'",
    "fact_check round=2 text='It does not.'",
]
STYLED = "guidance round=2 style=factual"


@check_each("line", [*SAYING, STYLED])
def test_a_line_that_could_move_no_stand_in_is_refused(tmp_path: Path, line: str) -> None:
    """Who goes by where people stand hears nobody from outside: an effect of exactly 0 would be taken for a finding."""
    file, kind = written(tmp_path / "s.json"), line.split()[0]
    for to in ("", " to=republican", " 'to=republican 2,democrat'"):
        with pytest.raises(
            UserError, match=rf"{kind}: a surrogate plays republican \d .*address other agents with to="
        ):
            mixed(file, "republican", interventions=(line + to,))
    mixed(file, "republican", interventions=(f"{line} to=democrat",))
    mixed(written(tmp_path / "graded.json", heard="grades"), "republican", interventions=(line,))


VALUED = [*[f"{line} value=9" for line in SAYING], "planner round=2 target=9 messages='9: It is severe.'"]


@check_each("line", VALUED)
def test_a_line_with_its_attitude_moves_a_stand_in_as_a_speaker_there(tmp_path: Path, line: str) -> None:
    """Without noise and stay, the hearer moves by the law of the mean of what it read and of 9; nobody else differs."""
    file = written(tmp_path / "s.json", stay=0.0, spread=0.0)
    start, later = (
        {
            (event.agent, event.round): event.attitude
            for event in of(Rated, held(mixed(file, "republican", interventions=lines)))
        }
        for lines in ((), (line + " 'to=republican 1'",))
    )
    heard = of(Heard, held(mixed(file, "republican")))
    (moved,) = {agent for agent, round_ in start if round_ == 2 and start[agent, 2] != later[agent, 2]}
    read = next(len(event.iterations) for event in heard if event.round == 2 and event.agent == moved)
    before = (start[moved, 2] - 0.9 - 0.75 * start[moved, 1]) / 0.15  # the mean that it heard
    expected = 0.9 + 0.75 * start[moved, 1] + 0.15 * (read * before + 9) / (read + 1)
    assert later[moved, 2] == pytest.approx(min(10.0, expected))


def test_who_says_nothing_may_meet_a_stand_in(tmp_path: Path) -> None:
    """Muting and leaving change what is said in the room, which is what it goes by."""
    quiet = ("mute round=2 to=republican", "leave round=3 to=republican share=0.5")
    events = held(mixed(written(tmp_path / "s.json"), "republican", interventions=quiet))
    assert {event.reason for event in of(Utterance, events) if event.text is None} == {"muted", "absent"}


@pytest.mark.parametrize("how", ["expected", "attitude"])
def test_expected_is_of_the_same_people_where_the_fit_was_to_it(tmp_path: Path, how: str) -> None:
    """Else effects on expected ratings would be those of other people than effects on ratings."""
    events = held(mixed(written(tmp_path / "s.json", how=how), "republican"))
    rated = [event for event in of(Rated, events) if event.how == "surrogate"]
    assert [event.expected for event in rated] == [event.attitude if how == "expected" else None for event in rated]


def test_nothing_heard_is_not_a_line_of_its_own_attitude(tmp_path: Path) -> None:
    """`heard 5.00 in 0 of 0 lines` read like a line that was heard. Its own opinion stands in for the mean, as in laws."""
    fit = json.loads(written(tmp_path / "s.json", heard="grades", stay=0.0, spread=0.0).read_text())["topics"]["racism"]
    response, topic = SurrogateResponse(fit, "democrat"), load_topic("racism")
    persona = load_personas("democrat")[0]
    one = SurrogateAgent(
        mesa.Model(), persona, topic, load_preset("network").style, response, lambda name, text: None, "attitude"
    )
    first = one.rate(topic.probe("attitude"), 1)
    one.hear("Ann", "Hm.")
    second, third = (one.rate(topic.probe("attitude"), seed) for seed in (2, 3))
    assert [each.raw for each in (first, second, third)] == [
        "began",
        "heard nothing (0 of 1 lines)",
        "heard nothing (0 of 0 lines)",
    ]
    assert second.attitude == pytest.approx(first.attitude + 0.9 - 0.25 * first.attitude + 0.15 * first.attitude)
