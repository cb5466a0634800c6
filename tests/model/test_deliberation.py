"""Private deliberation in the model: who hears what, what is asked when, sessions of questions, failures, resume."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import mesa
import pytest
from data_checks import check_each
from standins import Scrambled, opinionated

import parley.llm.driver
from parley.agents.question import load_questions
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.casting import seat_rooms
from parley.model.debate import DebateModel
from parley.model.events import (
    Answered,
    Called,
    Chosen,
    Event,
    Posed,
    Proposed,
    Ranked,
    Rated,
    Seated,
    Summarised,
    Utterance,
)
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

MEDIATORS = ["draft_revise", "groups", "habermas,candidates=3", "majority", "random_opinion"]
Speaks = Callable[[Request], "str | Reply"]


def scenario(**settings: object) -> Scenario:
    return load_preset("consensus").with_settings({"repetitions": 1, "llm": "oracle"} | settings)


def held(setup: Scenario, backend: object | None = None) -> tuple[DebateModel, list[Event]]:
    recorder = MemoryRecorder()
    model = DebateModel(setup, backend=backend or Fake(opinionated), recorder=recorder)
    model.run()
    return model, recorder.events


def of(events: list[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


class Marked:
    """The known-truth speaker; whatever a participant writes ends in a word of its own. It keeps every request and reply."""

    in_flight = 0

    def __init__(self) -> None:
        self.inner, self.asked = open_spec("oracle"), list[tuple[Request, Reply]]()
        self.identity, self.seedless = self.inner.identity, self.inner.seedless

    def complete(self, requests: list[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        for request, reply in zip(requests, replies, strict=True):
            if request.purpose == "speech" and reply.text is not None:
                reply.text += f" Marker{len(self.asked)}end."
            self.asked.append((request, reply))
        return replies


def marks(text: str) -> set[str]:
    return set(re.findall(r"Marker\d+end", text))


@check_each("mediator", MEDIATORS)
def test_no_prompt_to_a_participant_holds_what_another_wrote(mediator: str) -> None:
    """Every prompt of the run is searched. The random opinion shows one opinion a room, by design, and nothing else."""
    backend = Marked()
    model, events = held(scenario(mediator=mediator, rounds=3), backend)
    personas = {agent.persona.backstory for agent in model.agents}
    own: dict[tuple[str, str], set[str]] = defaultdict(set)
    question = {one.question: one.id for one in load_questions()}
    shown = {mark for event in of(events, Utterance) if event.agent == 0 for mark in marks(event.text or "")}
    seen = 0
    for request, reply in backend.asked:
        text = "\n".join(message.content for message in request.messages)
        if request.messages[0].role != "system":
            continue  # the mediator's own
        assert request.messages[0].content in personas
        seen += 1
        about = next((question[asked] for asked in question if asked in text), "")
        key = (request.messages[0].content, about)
        assert marks(text) <= own[key] | shown
        if request.purpose == "speech":
            own[key] |= marks(reply.text or "")
    assert seen > 100
    assert (len(shown) == len(model.rooms)) == (mediator == "random_opinion")
    assert mediator == "random_opinion" or not shown
    assert all(len(marks_) in (1, 3) for marks_ in own.values() if marks_), (
        "an opinion and two critiques in each episode"
    )


@pytest.mark.parametrize("mediator", ["draft_revise", "habermas,candidates=3"])
def test_the_mediator_reads_them_all(mediator: str) -> None:
    """The search above would pass if no agent heard anything."""
    backend = Marked()
    held(scenario(mediator=mediator), backend)
    revisions = [
        request.messages[0].content
        for request, _ in backend.asked
        if request.purpose == "statement" and "Your last statement: " in request.messages[0].content
    ]
    assert revisions
    assert all(len(marks(text)) == 10 for text in revisions)


def test_the_order_of_an_episode() -> None:
    """Position; opinions, draft; critiques, revision; position again, both statements, the questionnaire once a session."""
    model, events = held(scenario())
    room = model.rooms[2].id  # the third episode of the first session
    told = [event for event in events if getattr(event, "room", None) == room and not isinstance(event, Called)]
    steps = [
        (event.kind, getattr(event, "form", getattr(event, "probe", "")), event.agent == 0)
        for event in told
        if isinstance(event, Utterance | Rated | Answered)
    ]
    expected = [
        ("rated", "position", False),
        ("utterance", "opinion", False),
        ("utterance", "draft", True),
        ("utterance", "critique", False),
        ("utterance", "revision", True),
        ("rated", "position", False),
        ("rated", "draft", False),
        ("rated", "revision", False),
        ("answered", "", False),
    ]
    assert [step for step, _ in itertools.groupby(steps)] == expected
    assert Counter(steps)["answered", "", False] == 5 * 9
    answered = Counter(event.room for event in of(events, Answered))
    assert set(answered) == {model.rooms[2].id, model.rooms[5].id}


def test_a_wave_is_asked_at_once() -> None:
    """Five opinions of six rooms are one batch, and so are their critiques: nobody waits for anybody."""
    sizes: list[Counter[str]] = []

    class Batches(Fake):
        def complete(self, requests: list[Request]) -> list[Reply]:
            sizes.append(Counter(request.purpose for request in requests))
            return super().complete(requests)

    held(scenario(survey="never"), Batches(opinionated))
    assert sizes == [{"speech": 30}, {"statement": 6}] * 2


@pytest.mark.parametrize("rounds", [1, 4])
def test_any_number_of_rounds(rounds: int) -> None:
    """Every later round is critiques of the last statement and a revision; each statement is rated at the end."""
    _, events = held(scenario(rounds=rounds, episodes=1))
    forms = Counter(event.form for event in of(events, Utterance))
    later = rounds - 1
    assert forms == Counter(opinion=10, draft=2) + Counter(critique=10 * later, revision=2 * later)
    probes = dict.fromkeys(event.probe for event in of(events, Rated) if event.probe != "position")
    assert list(probes) == ["draft", "revision", "revision 3", "revision 4"][:rounds]


def test_sessions_have_their_people_on_different_questions_drawn_by_name() -> None:
    _, events = held(scenario(repetitions=3))
    sessions: dict[str, list[Posed]] = defaultdict(list)
    for event in of(events, Posed):
        sessions[event.session].append(event)
    seated = defaultdict(list)
    for event in of(events, Seated):
        seated[event.room].append(event.persona)
    assert len(sessions) == 6
    for rooms in sessions.values():
        assert [one.episode for one in rooms] == [0, 1, 2]
        assert len({one.id for one in rooms}) == 3
        assert len({tuple(seated[one.room]) for one in rooms}) == 1
    assert len({tuple(one.id for one in rooms) for rooms in sessions.values()}) == 6
    known = {one.id: one for one in load_questions()}
    assert all(known[one.id].statement == one.statement for rooms in sessions.values() for one in rooms)


def test_a_session_is_the_same_alone_and_among_others() -> None:
    few, many = (list(seat_rooms(scenario(repetitions=number))) for number in (2, 6))
    assert {table.room: table for table in few}.items() <= {table.room: table for table in many}.items()


def test_nobody_sits_again_before_everybody_has_sat() -> None:
    """80 people in sessions of five: sixteen sessions use everybody once, the next sixteen bring others together."""
    laps: list[list[str]] = []
    groups: list[set[frozenset[str]]] = []
    for lap in (range(8), range(8, 16)):
        kept = [table for table in seat_rooms(scenario(repetitions=16, episodes=1)) if table.repetition in lap]
        laps.append([place.persona.id for table in kept for place in table.places])
        groups.append({frozenset(place.persona.id for place in table.places) for table in kept})
    assert all(len(people) == len(set(people)) == 80 for people in laps)
    assert len(groups[0] & groups[1]) == 0


def test_a_fresh_cast_that_is_too_small_is_told() -> None:
    with pytest.raises(UserError, match="too few personas"):
        list(seat_rooms(scenario(personas="simple")))


def test_topics_and_split_say_what_is_drawn_from() -> None:
    drawn = [table.topic for table in seat_rooms(scenario(topic="voting,racism", split="train", repetitions=8))]
    known = {one.id: one for one in load_questions()}
    assert {known[one].topic for one in drawn} == {"voting", "racism"}
    assert {known[one].split for one in drawn} == {"train"}


@check_each(
    ("settings", "words"),
    [
        ({"topic": "votng"}, "did you mean voting"),
        ({"questions": ""}, "unknown probe of topic gun_violence 'position'"),
        ({"questions": "", "topic": "racism", "probe": "attitude"}, "needs questions to deliberate on"),
        ({"environment": "round_table"}, "debates topics and cannot use questions"),
        ({"questions": "no/such.toml"}, "cannot read no/such.toml"),
        ({"mediator": "habermaas"}, "did you mean habermas?"),
        ({"topic": "defence", "split": "train"}, "3 episodes need as many questions"),
        ({"episodes": 0}, "episodes is 0, but must be a finite number of at least 1"),
        ({"size": 1}, "size must be at least 2"),
        ({"parties": "republican,republican"}, "each party only once"),
        ({"reference": "default"}, "reference answers surveys about topics"),
        ({"llm": "oracle", "llms": "mediatr=oracle"}, "did you mean mediator"),
    ],
)
def test_a_wrong_setting_is_named_in_one_line(settings: dict, words: str) -> None:
    with pytest.raises(UserError) as caught:
        scenario(**settings)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_public_set_is_drawn_from_where_it_lies(tmp_path: Path) -> None:
    """A file made to the public format; its clusters are the topics."""
    path = tmp_path / "questions.json"
    entries = [
        f'{{"id": "Q{n}", "question": "Is it {n}?", "affirming_statement": "It is {n}.", '
        f'"negating_statement": "It is not {n}.", "topic": {n % 2}, "split": "train"}}'
        for n in range(8)
    ]
    path.write_text(f"[{', '.join(entries)}]")
    _, events = held(scenario(questions=str(path), topic="1"))
    assert {event.id for event in of(events, Posed)} <= {"Q1", "Q3", "Q5", "Q7"}


def test_a_group_of_three_and_another_of_four() -> None:
    for size, groups in ((3, 2), (4, 1)):
        model, _ = held(scenario(size=size, episodes=1))
        assert [len(room.members) for room in model.rooms] == [size] * groups


def failing(purpose: str, when: Callable[[int], bool]) -> Speaks:
    """Replies as usual, but those of one purpose whose number `when` picks time out."""
    count = itertools.count()

    def speaks(request: Request) -> str | Reply:
        if request.purpose == purpose and when(next(count)):
            return Reply.failed("timeout")
        return opinionated(request)

    return speaks


def test_a_silent_participant_is_recorded_and_left_out() -> None:
    _, events = held(scenario(episodes=1), Fake(failing("speech", lambda number: number == 1)))
    silent = [event for event in of(events, Utterance) if event.text is None]
    assert [(event.agent, event.form, event.reason) for event in silent] == [(2, "opinion", "timeout")]
    drafts = [event for event in of(events, Utterance) if event.form in ("draft", "revision")]
    assert all(event.text for event in drafts)


def test_without_a_draft_there_is_no_critique_and_no_rating_of_it() -> None:
    """What was not there is not asked about; the mediator begins anew in the second round."""
    _, events = held(scenario(episodes=1), Fake(failing("statement", lambda number: number < 6)))
    said = {(event.room, event.agent, event.form): (event.text, event.reason) for event in of(events, Utterance)}
    critiques = [value for (_, _, form), value in said.items() if form == "critique"]
    assert critiques == [(None, "no_statement")] * 10
    assert {event.reason for event in of(events, Utterance) if event.form == "draft"} == {"timeout"}
    assert all(event.text for event in of(events, Utterance) if event.form == "revision")
    assert {event.probe for event in of(events, Rated)} == {"position", "revision"}


def test_an_unreadable_item_is_asked_again_and_then_missing() -> None:
    def speaks(request: Request) -> str:
        return "well, hm" if request.purpose == "questionnaire" else opinionated(request)

    _, events = held(scenario(), Fake(speaks))
    answered = of(events, Answered)
    assert {(event.answer, event.reason, event.asked, event.earlier) for event in answered} == {
        (None, "no_answer", 2, ("well, hm",))
    }
    assert sum(event.purpose == "questionnaire" for event in of(events, Called)) == 2 * len(answered)


def test_what_the_mediator_considers_is_in_the_record() -> None:
    """Candidates, rankings and the choice of every statement; the choice is the statement."""
    _, events = held(scenario(mediator="habermas,candidates=4"))
    candidates = {(event.room, event.round, event.number): event.text for event in of(events, Proposed)}
    chosen = {(event.room, event.round): event.order for event in of(events, Chosen)}
    statements = [event for event in of(events, Utterance) if event.agent == 0]
    assert len(statements) == len(chosen) == 12
    for event in statements:
        assert candidates[event.room, event.round, chosen[event.room, event.round][0]] == event.text
    rankings = of(events, Ranked)
    assert len(rankings) == 60
    assert all(sorted(event.order) == [0, 1, 2, 3] for event in rankings)
    assert {(event.room, event.agent) for event in rankings} == {
        (event.room, event.agent) for event in of(events, Seated) if event.agent
    }
    calls = Counter(event.purpose for event in of(events, Called) if event.agent == 0)
    assert calls == {"statement": 48, "ranking": 60}


def test_the_mediator_may_have_a_model_of_its_own() -> None:
    model = DebateModel(scenario(llms=("mediator=oracle,pull=0",)))
    model.run()
    assert {room.mediator.voice for room in model.rooms if room.mediator} == {"mediator"}
    assert {agent.voice for agent in model.agents} == {""}


def test_the_collector_has_positions_and_no_mediator() -> None:
    model, events = held(scenario(survey="rounds"))
    frame = model.datacollector.get_agent_vars_dataframe()
    assert len(frame) == 30 * 3
    assert frame["attitude"].notna().all()
    assert set(frame["party"]) == {"republican", "democrat"}
    last = {event.agent: event.attitude for event in of(events, Rated) if (event.round, event.probe) == (2, "position")}
    assert frame.xs(2, level="Step")["attitude"].to_dict() == last


def test_batch_run_sweeps_over_mediators() -> None:
    """A parameter sweep of Mesa: one row a run and step, with what stopped it if anything did."""
    parameters = {
        "preset": ["consensus"],
        "repetitions": [1],
        "mediator": ["majority", "random_opinion"],
    }
    rows = mesa.batch_run(DebateModel, parameters, max_steps=10, data_collection_period=-1, display_progress=False)
    assert {row["mediator"] for row in rows} == set(parameters["mediator"])
    assert all(row["round"] == 2 and row["stopped"] is None and row["missing"] == 0 for row in rows)
    assert all(row["attitude"] is not None for row in rows)


@pytest.mark.parametrize("memory", ["last:2", "summary:2"])
def test_a_shorter_memory_forgets_and_goes_on(memory: str) -> None:
    _, events = held(scenario(memory=memory, rounds=4, episodes=1))
    assert all(event.text for event in of(events, Utterance))
    assert bool(of(events, Summarised)) == memory.startswith("summary")


def test_ratings_change_nothing_that_is_said() -> None:
    asked, never = (
        [event.text for event in of(held(scenario(survey=survey))[1], Utterance)] for survey in ("rounds", "never")
    )
    assert asked == never


@pytest.mark.thorough
@check_each("mediator", MEDIATORS)
def test_batches_and_flights_do_not_show(monkeypatch: pytest.MonkeyPatch, mediator: str) -> None:
    """One by one, all at once, or four on their way landing in any order: the same bytes."""
    setup = scenario(mediator=mediator)

    def record(backend: object) -> str:
        return "".join(map(to_line, held(setup, backend)[1]))

    expected = record(Fake(opinionated))
    assert record(Scrambled(opinionated, 4)) == expected
    known = record(open_spec("oracle"))
    monkeypatch.setattr(parley.llm.driver, "MAX_BATCH", 1)
    assert record(Fake(opinionated)) == expected
    assert record(open_spec("oracle")) == known


def test_another_seed_draws_other_questions_people_and_words() -> None:
    one, two = (held(scenario(seed=seed), open_spec("oracle"))[1] for seed in (1, 2))
    assert [event.id for event in of(one, Posed)] != [event.id for event in of(two, Posed)]
    assert [event.persona for event in of(one, Seated)] != [event.persona for event in of(two, Seated)]


@check_each("in_flight", [0, 4])
@check_each("mediator", ["draft_revise", "habermas,candidates=3"])
def test_a_run_stopped_anywhere_goes_on_and_ends_the_same(tmp_path: Path, mediator: str, in_flight: int) -> None:
    """The budget stops a sitting in the middle of a wave; the same command goes on and asks nothing twice."""
    setup = scenario(mediator=mediator, episodes=2)
    whole = run_scenario(RunSpec(setup, tmp_path / "whole"), backend=Fake(opinionated, in_flight=in_flight))
    folder, asked = tmp_path / "parts", 0
    for most in (25, 77, 120, 10_000):
        part = run_scenario(RunSpec(setup, folder, budget=Budget(most)), backend=Fake(opinionated, in_flight=in_flight))
        assert (part.stopped is None) == (most == 10_000)
        asked += part.asked
    assert part.record.read_bytes() == whole.record.read_bytes()
    assert asked == whole.asked


def test_a_folder_of_other_questions_is_refused(tmp_path: Path) -> None:
    """Whoever changes the set between two sittings would mix two experiments."""
    path = tmp_path / "mine.toml"
    text = Path("agents/questions/divisive.toml").read_text(encoding="utf-8")
    path.write_text(text, encoding="utf-8")
    setup = scenario(questions=str(path), episodes=1)
    run_scenario(RunSpec(setup, tmp_path / "run", budget=Budget(5)), backend=Fake(opinionated))
    path.write_text(text + "# changed\n", encoding="utf-8")
    with pytest.raises(UserError, match="other personas, topics or code"):
        run_scenario(RunSpec(setup, tmp_path / "run"), backend=Fake(opinionated))
