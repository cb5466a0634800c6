"""The Mesa model: order of a step, privacy of surveys, DataCollector, failures, memory."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mesa
import pytest
from standins import opinionated

from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.budget import Budget, Limits
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.request import Reply, Request
from parley.llm.router import RoutedBackend
from parley.model.debate import DebateModel
from parley.model.events import Called, Rated, Summarised, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

Small = Callable[..., Scenario]


def held(scenario: Scenario, backend: object | None = None) -> tuple[DebateModel, MemoryRecorder]:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, backend=backend or Fake(opinionated), recorder=recorder, keep_going=True)
    model.run()
    return model, recorder


def said(recorder: MemoryRecorder) -> list[tuple]:
    return [(event.room, event.agent, event.text) for event in recorder.events if isinstance(event, Utterance)]


def test_it_builds_with_no_arguments_and_steps_past_its_end() -> None:
    """Mesa's own example tests do just this with every model."""
    model = DebateModel(llm="oracle")
    for _ in range(10):
        model.step()
    assert model.round == 5
    assert not model.running
    assert model.error is None


def test_everybody_speaks_once_a_round_in_every_room(small: Small) -> None:
    model, recorder = held(small("echo_chamber", rounds=3))
    for room in model.rooms:
        for round_ in (1, 2, 3):
            turns = [
                event
                for event in recorder.events
                if isinstance(event, Utterance) and (event.room, event.round) == (room.id, round_)
            ]
            expected = [] if room.group == "reference" else sorted(room.members)
            assert sorted(turn.agent for turn in turns) == expected


def test_first_speakers_vary_and_the_circle_is_kept(small: Small) -> None:
    """random_first: the seat order is kept, the first seat is drawn for each room and kept through the rounds."""
    model, recorder = held(small(repetitions=30))
    firsts = set()
    for room in model.rooms:
        order = [event.agent for event in recorder.events if isinstance(event, Utterance) and event.room == room.id]
        seats = list(room.members)
        start = seats.index(order[0])
        assert order == (seats[start:] + seats[:start]) * 2
        firsts.add(start)
    assert firsts == {0, 1, 2}


def test_surveys_change_nothing_that_is_said(small: Small) -> None:
    """Private ratings leave no trace: the debate is word for word the same with and without them."""
    asked, never, ends = (said(held(small(survey=survey))[1]) for survey in ("rounds", "never", "ends"))
    assert asked == never == ends


def test_no_survey_and_no_rating_is_ever_shown_to_anybody(small: Small) -> None:
    """Every prompt of the run is searched for survey questions and for the raw answers."""
    prompts: list[Request] = []

    def spy(request: Request) -> str:
        prompts.append(request)
        return "RATING 7" if request.answers else opinionated(request)

    held(small(), Fake(spy))
    for request in prompts:
        earlier = "\n".join(message.content for message in request.messages[:-1])
        assert "RATING" not in earlier + request.messages[-1].content
        assert "Privately" not in earlier
        assert ("Privately" in request.messages[-1].content) == (request.purpose == "survey")


def test_what_an_agent_is_sent_is_a_prefix_of_what_it_is_sent_next(small: Small) -> None:
    """Append-only prompts: a server's prefix cache, and ours, can go on where it was."""
    prompts: list[Request] = []

    def spy(request: Request) -> str:
        if request.purpose == "speech":
            prompts.append(request)
        return opinionated(request)

    held(small(repetitions=1, rounds=4), Fake(spy))
    by_agent: dict[str, list[Request]] = {}
    for request in prompts:
        by_agent.setdefault(request.messages[0].content, []).append(request)
    assert len(by_agent) == 3
    for requests in by_agent.values():
        for before, after in itertools.pairwise(requests):
            assert after.messages[: len(before.messages)] == before.messages


def test_the_collector_has_every_agent_at_every_step(small: Small) -> None:
    model, recorder = held(small())
    frame = model.datacollector.get_agent_vars_dataframe()
    assert len(frame) == len(model.agents) * 3
    recorded = {(event.round, event.agent): event.attitude for event in recorder.events if isinstance(event, Rated)}
    collected = {(int(step), agent): value for (step, agent), value in frame["attitude"].items()}
    assert collected == recorded
    means = model.datacollector.get_model_vars_dataframe()
    first = [
        value
        for (round_, agent), value in recorded.items()
        if round_ == 0 and model.seated and _party(model, agent) == "democrat"
    ]
    assert means["mean_democrat"].iloc[0] == pytest.approx(sum(first) / len(first))


def _party(model: DebateModel, agent: int) -> str:
    return next(one.party for one in model.agents if one.unique_id == agent)


def test_an_attitude_that_was_not_asked_for_is_none_not_the_last_one(small: Small) -> None:
    """With surveys at the ends only, the rounds between have no attitude in the collector."""
    model, _ = held(small(survey="ends", rounds=3))
    frame = model.datacollector.get_agent_vars_dataframe()["attitude"].unstack()
    assert frame.notna().all(axis=1).tolist() == [True, False, False, True]
    assert model.datacollector.get_model_vars_dataframe()["missing"].tolist() == [0, 0, 0, 0]


def test_unreadable_ratings_are_asked_once_more_then_missing_with_a_reason(small: Small) -> None:
    """Missing is not zero: None, a reason, and a count."""
    model, recorder = held(small(), Fake(lambda request: "Hard to say." if request.answers else "I see."))
    ratings = [event for event in recorder.events if isinstance(event, Rated)]
    assert {(event.rating, event.attitude, event.reason, event.asked) for event in ratings} == {
        (None, None, "no_number", 2)
    }
    frame = model.datacollector.get_model_vars_dataframe()
    assert frame["missing"].tolist() == [6, 6, 6]
    assert frame["mean_democrat"].isna().all()


def test_a_second_ask_that_can_be_read_counts(small: Small) -> None:
    def shy(request: Request) -> str:
        return "7" if "could not be read" in request.messages[-1].content else "Well."

    _, recorder = held(small(), Fake(shy))
    assert {(event.rating, event.asked) for event in recorder.events if isinstance(event, Rated)} == {(7.0, 2)}


def test_failed_calls_are_silent_turns_with_a_reason_and_are_not_asked_again(small: Small) -> None:
    model, recorder = held(small(), Fake(lambda request: Reply.failed("content_filter")))
    assert {(event.text, event.reason) for event in recorder.events if isinstance(event, Utterance)} == {
        (None, "content_filter")
    }
    assert {(event.rating, event.reason, event.asked) for event in recorder.events if isinstance(event, Rated)} == {
        (None, "content_filter", 1)
    }
    assert all(event.failure == "content_filter" for event in recorder.events if isinstance(event, Called))
    assert model.error is None


def _breaks(after: int) -> Fake:
    """A backend that breaks once it has been asked so often."""
    calls = 0

    def answer(request: Request) -> str:
        nonlocal calls
        calls += 1
        if calls > after:
            raise ZeroDivisionError("a bug in a backend")
        return opinionated(request)

    return Fake(answer)


@pytest.mark.parametrize(("after", "round_"), [(0, 0), (8, 1)])
def test_what_breaks_is_raised_where_it_breaks(small: Small, after: int, round_: int) -> None:
    """A user's own agent or backend that raised left a model that stepped on in silence, and an empty table."""
    with pytest.raises(ZeroDivisionError):
        DebateModel(small(), backend=_breaks(after)).run()
    model = DebateModel(small(), backend=_breaks(after), collect_errors=True)
    model.step()
    assert isinstance(model.error, ZeroDivisionError)
    model.step()
    assert (model.over, model.round, model.running) == (True, round_, False)
    assert model.datacollector.get_model_vars_dataframe()["stopped"].iloc[-1] == "ZeroDivisionError: a bug in a backend"
    with pytest.raises(ZeroDivisionError):
        model.run()


def test_an_agent_of_ones_own_that_raises_is_heard_of(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Already in the constructor, which asks the first survey."""
    from parley.agents.agent import DebateAgent

    monkeypatch.setattr(DebateAgent, "compose_survey", lambda *given: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        DebateModel(small(), backend=Fake(opinionated))


def test_a_spent_budget_stops_the_model_even_in_its_opening(small: Small) -> None:
    for budget, round_ in ((2, 0), (9, 1)):
        model = DebateModel(small(), backend=Limits(Fake(opinionated), Budget(calls=budget)), collect_errors=True)
        while model.running:
            model.step()
        assert isinstance(model.error, BudgetSpent)
        assert model.round == round_


def test_models_are_not_leaked(small: Small) -> None:
    """Mesa 3.3 keeps every model that ever had agents; a sweep of thousands would keep them all."""
    model = DebateModel(small(), backend=Fake(opinionated))
    model.run()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_model_is_made_again_and_not_copied(small: Small, copied: Callable[[object], object]) -> None:
    """A copy would share the open language model and its journal. Mesa users try deepcopy: one sentence says what to do."""
    model = DebateModel(small("two_way"), backend=Fake(opinionated))
    for thing in (model, next(iter(model.agents))) if copied is not copy.copy else (model,):
        with pytest.raises(
            TypeError, match=r"cannot be copied or pickled, .*: make a second one with the same settings"
        ):
            copied(thing)


def test_agents_are_mesa_agents_of_one_population(small: Small) -> None:
    model, _ = held(small("echo_chamber"))
    assert isinstance(model, mesa.Model)
    assert all(isinstance(agent, mesa.Agent) for agent in model.agents)
    assert len(model.agents.select(lambda agent: agent.party == "default")) == 6
    assert sorted(agent.unique_id for agent in model.agents) == list(range(1, len(model.agents) + 1))


@pytest.mark.parametrize("memory", ["last:3", "summary:2"])
def test_short_memories_hold_a_long_debate(small: Small, memory: str) -> None:
    """With a window the prompt stops growing."""
    longest: list[int] = []

    def spy(request: Request) -> str:
        if request.purpose == "speech":
            longest.append(sum(len(message.content) for message in request.messages[1:]))
        return "Ann: thinks so.\nBen: does not." if request.purpose == "summary" else opinionated(request)

    held(small(repetitions=1, rounds=12, memory=memory, survey="never"), Fake(spy))
    assert max(longest[9:]) < 1.6 * max(longest[6:9])


def test_settings_reach_the_prompts(small: Small) -> None:
    prompts: list[str] = []

    def spy(request: Request) -> str:
        prompts.append(request.messages[1].content)
        return opinionated(request)

    held(small(frame="conversation", words=17), Fake(spy))
    assert all("This is a conversation about racism." in text and "at most 17 words" in text for text in prompts)
    assert not any("debate" in text for text in prompts)


def test_a_scenario_given_whole_keeps_its_own_repetitions() -> None:
    model = DebateModel(
        load_preset("two_way").with_settings({"repetitions": 3, "topic": "racism", "rounds": 0}),
        backend=Fake(opinionated),
    )
    assert len(model.rooms) == 6


def test_after_an_error_nobody_keeps_the_last_rounds_attitude(small: Small) -> None:
    """A round that broke off before its survey has no attitudes, in the model and in the collector."""

    def breaks(request: Request) -> str:
        if not request.answers and len(request.messages) > 3:
            raise RuntimeError("gone")
        return opinionated(request)

    model = DebateModel(small(), backend=Fake(breaks), collect_errors=True)
    while not model.over:
        model.step()
    last = model.datacollector.get_agent_vars_dataframe()["attitude"].unstack().iloc[-1]
    assert model.round == 2
    assert last.isna().all()


def test_reshuffled_orders_differ_by_round_and_repeat_with_the_seed(small: Small) -> None:
    def orders() -> list[list[int]]:
        _, recorder = held(small(order="reshuffled", rounds=6, repetitions=1))
        turns = [event for event in recorder.events if isinstance(event, Utterance)]
        return [[turn.agent for turn in turns if turn.round == round_] for round_ in range(1, 7)]

    assert len({tuple(order) for order in orders()}) > 2
    assert orders() == orders()


def test_every_ask_has_a_seed_of_its_own(small: Small) -> None:
    """A question put again is a new draw: three unreadable answers in a row come from three seeds."""
    seeds: list[int] = []

    def unreadable(request: Request) -> str:
        seeds.append(request.seed)
        return "Well."

    held(small(asks=3, rounds=0), Fake(unreadable))
    assert len(seeds) == len(set(seeds)) == 3 * 6


def test_what_could_not_be_read_is_in_the_record(small: Small) -> None:
    """Unreadable first answers, replies before cleaning and summaries of memory steer what follows: nothing is lost."""

    def messy(request: Request) -> str:
        if request.purpose == "summary":
            return "Ann: thinks so."
        if request.answers:
            return "7" if "could not be read" in request.messages[-1].content else "Hm."
        return '  "I see your point."  '

    _, recorder = held(small(memory="summary:2", rounds=3), Fake(messy))
    kinds = {
        kind: [event for event in recorder.events if isinstance(event, kind)] for kind in (Rated, Utterance, Summarised)
    }
    assert {event.earlier for event in kinds[Rated]} == {("Hm.",)}
    assert {(event.text, event.raw) for event in kinds[Utterance]} == {("I see your point.", '  "I see your point."  ')}
    assert {event.text for event in kinds[Summarised]} == {"Ann: thinks so."}


def test_means_leave_out_those_asked_outside_and_tell_topics_apart(small: Small) -> None:
    model, _ = held(small("two_way", topic="racism,abortion"))
    names = set(model.datacollector.get_model_vars_dataframe().columns)
    assert {"mean_democrat", "mean_democrat_racism", "sd_republican_abortion"} <= names
    assert not any("default" in name for name in names)


class Schooled(Fake):
    """Says which topics it was taught."""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**super().identity, "topics": ["racism", "abortion"]}


def test_a_model_is_not_asked_about_what_it_was_not_taught(small: Small) -> None:
    """The model in the box would say of any other topic what it says of these; one of several is enough."""
    for backend in (Schooled(opinionated), RoutedBackend(Fake(opinionated), {"democrat": Schooled(opinionated)})):
        DebateModel(small(topic=("racism",)), backend=backend)
        with pytest.raises(UserError, match="fake cannot write about the topic inflation, only about racism, abortion"):
            DebateModel(small(topic=("racism", "inflation")), backend=backend)


def test_the_oracle_is_not_asked_about_what_nothing_is_planted_on(small: Small, tmp_path: Path) -> None:
    """It would stay silent to the end of the run: refused before anything is asked, and no folder is left."""
    oracle = Oracle()
    del oracle.parameters["inflation"]
    with pytest.raises(
        UserError,
        match=r"oracle cannot write about the topic inflation, only about .*gun_violence, .* Choose another model",
    ):
        run_scenario(RunSpec(small(topic=("inflation",), llm="oracle"), tmp_path / "run"), backend=oracle)
    assert not (tmp_path / "run").exists()
    run_scenario(RunSpec(small(topic=("racism",), llm="oracle"), tmp_path / "run"), backend=oracle)


def test_the_oracle_takes_any_question_of_a_deliberation(small: Small) -> None:
    """What is planted there follows from any question that can be answered with yes or no."""
    DebateModel(small("consensus", topic=(), episodes=1, llm="oracle"), backend=Oracle())


@pytest.mark.parametrize(("closing", "last"), [(True, "closing statement"), (False, "Answer what was said")])
def test_statements_open_and_close_a_structured_debate(small: Small, closing: bool, last: str) -> None:
    """002, section 3.4: a closing that is announced, or an ordinary round in its place."""
    asked: dict[int, set[str]] = {}
    scenario = small("structured_debate", rounds=4, closing=closing, survey="never")

    def listening(request: Request) -> str:
        asked.setdefault(sum(role == "assistant" for role, _ in request.messages), set()).add(
            request.messages[-1].content.split("\n\n")[-1]
        )
        return "Yes."

    held(scenario, Fake(listening))
    assert all("opening statement" in ask for ask in asked[0])
    assert all("Answer what was said" in ask for ask in asked[1] | asked[2])
    assert all(last in ask for ask in asked[3])


@pytest.mark.parametrize(("disclose", "told"), [("gender", True), ("nothing", False)])
def test_genders_are_told_only_where_they_are_to_be(small: Small, disclose: str, told: bool) -> None:
    heard: list[str] = []

    def listening(request: Request) -> str:
        heard.append(request.messages[1].content)
        return "Yes."

    seats = "default,republican:male,democrat:female"
    held(
        small("structured_debate", repetitions=1, rounds=1, seats=seats, disclose=disclose, survey="never"),
        Fake(listening),
    )
    for mine, others in zip(
        heard[:3], ("Alex is a man and Taylor is a woman.", "Taylor is a woman.", "Alex is a man."), strict=True
    ):
        assert (others in mine) == told


def test_any_field_is_a_keyword() -> None:
    """Of the scenario or of its environment, with values of Python; a misspelt one is told with the nearest."""
    shock = "shock round=1 text='It rains in the hall.'"
    model = DebateModel("two_way", topic="racism", rounds=1, llm="oracle", words=40, interventions=shock, order="fixed")
    assert (model.setup.speech.words, model.setup.environment_spec.options["order"]) == (40, "fixed")
    assert [one.text for one in model.setup.interventions] == ["It rains in the hall."]
    with pytest.raises(UserError, match="did you mean memory"):
        DebateModel("two_way", memry="whole")
