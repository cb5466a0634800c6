"""Abilities in a run: asked before every utterance, recorded, private, and nothing of them without one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from data_checks import check_each
from standins import Scrambled, opinionated

from parley.agents.reasoning import ABILITIES
from parley.llm.backends.fake import Fake
from parley.llm.backends.fake import open_backend as fixed_line
from parley.llm.backends.oracle import open_backend
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Called, Event, Private, Rated, Utterance
from parley.model.recorder import MemoryRecorder, to_line
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario

Small = Callable[..., Scenario]
FITTING = {"consensus": {"topic": "", "episodes": 1}, "network": {"size": 8, "graph": "ring"}}


def held(scenario: Scenario, backend: object | None = None) -> list[Event]:
    recorder = MemoryRecorder()
    DebateModel(scenario, backend=backend or open_backend(""), recorder=recorder).run()
    return recorder.events


def of(events: list[Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


def spied(scenario: Scenario) -> tuple[list[tuple[Request, str]], list[Event]]:
    """A run in which every private reply ends in a word that stands nowhere else; all requests and replies."""
    asked: list[tuple[Request, str]] = []
    count = itertools.count()

    def speak(request: Request) -> str:
        text = opinionated(request)
        if request.purpose in ("bdi", "latent"):
            mark = f"secret{next(count)}end"
            text = f"Belief: {mark}. Desire: {mark}. Intention: {mark}. Stance: {mark}. Feeling: {mark}."
        elif request.purpose in ("bounded", "reflection"):
            text = f"I keep secret{next(count)}end to myself."
        asked.append((request, text))
        return text

    return asked, held(scenario, Fake(speak))


@check_each("ability", ABILITIES.names())
@check_each("preset", ["three_way", "structured_debate", "consensus", "network"])
def test_one_note_before_every_utterance(small: Small, ability: str, preset: str) -> None:
    """On the known-truth speaker all can be read, in debates and deliberations alike."""
    topics = FITTING.get(preset, {})
    events = held(small(preset, think=ability, repetitions=1, survey="never", **topics))
    notes = {(event.room, event.iteration, event.agent): event for event in of(events, Private)}
    turns = [event for event in of(events, Utterance) if event.agent]
    assert list(notes) == [(turn.room, turn.iteration, turn.agent) for turn in turns]
    assert all(note.purpose == ability and note.text and note.reason is None for note in notes.values())
    calls = [event.purpose for event in of(events, Called)]
    assert calls.count(ability) == len(turns)


@check_each("ability", ["bdi", "latent", "bounded"])
@check_each("preset", ["three_way", "consensus"])
def test_what_is_private_is_in_nobody_elses_prompt(small: Small, ability: str, preset: str) -> None:
    """Every prompt of the run is searched: a note is sent to the one who made it, between that note and its next one."""
    topics = {"topic": "", "mediator": "draft_revise"} if preset == "consensus" else {}
    asked, events = spied(small(preset, think=ability, repetitions=1, **topics))
    secrets = {
        text.split("secret")[1].split("end")[0]: request.messages[0] for request, text in asked if "secret" in text
    }
    assert len(secrets) == len(of(events, Private)) > 0
    shown = set()
    for request, _ in asked:
        sent = "\n".join(message.content for message in request.messages)
        found = {part.split("end")[0] for part in sent.split("secret")[1:]}
        assert len(found) <= 1
        assert all(secrets[one] == request.messages[0] for one in found)
        assert not found or request.purpose in ("speech", ability)
        shown |= found
    assert len(shown) == len(secrets)
    assert not any("secret" in (event.text or "") for event in of(events, Utterance))


def test_the_note_of_the_known_truth_says_its_attitude(small: Small) -> None:
    """oracle: the belief is the stance sentence at the attitude that its next rating has, whole point for whole point."""
    events = held(small(topic="racism", think="bdi", rounds=1, repetitions=4))
    before = {event.agent: event for event in of(events, Rated) if event.round == 0}
    first = [
        note for note in of(events, Private) if note.iteration == 1
    ]  # has heard nothing: stands where it was asked
    for note in first:
        sentence = note.text.split("Desire:")[0].removeprefix("Belief: ").strip()
        assert banks().topics["racism"].grade(sentence) == before[note.agent].rating
        assert "I will say where I stand." in note.text
    assert len(first) == 4


def test_an_unread_note_is_recorded_and_the_debate_goes_on(small: Small) -> None:
    """`--llm fake` says the same line to everything: no belief is made of it."""
    events = held(small(think="bdi", survey="never", llm="fake"), fixed_line(""))
    notes = of(events, Private)
    assert {(note.text, note.reason, note.raw) for note in notes} == {(None, "no_belief", "I hear you.")}
    assert {event.text for event in of(events, Utterance)} == {"I hear you."}


def test_the_order_in_which_replies_land_changes_nothing(small: Small) -> None:
    """Notes of those who speak at once are asked at once, each under a seed of its own."""
    scenario = small("consensus", topic="", think="bdi", memory="summary:1", repetitions=1)
    lines = [
        [to_line(event) for event in held(scenario, backend)]
        for backend in (Fake(opinionated), Scrambled(opinionated, 7, 1))
    ]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("preset", ["three_way", "consensus"])
def test_the_plan_counts_notes(small: Small, preset: str) -> None:
    scenario = small(preset, think="latent", **({"topic": ""} if preset == "consensus" else {}))
    events = held(scenario, Fake(opinionated))
    assert plan_run(scenario).calls == len(of(events, Called))
    assert plan_run(scenario).notes == len(of(events, Private))


RETRIEVES = {"memory": "retrieve:2", "reflect": 4, "importance": "asked"}


def test_retrieval_reflection_and_importance_in_a_run(small: Small) -> None:
    """On the known-truth speaker all can be read; every line that anybody remembers is weighed once before its next turn."""
    events = held(small(repetitions=1, rounds=3, **RETRIEVES))
    notes = of(events, Private)
    weighed = [note for note in notes if note.purpose == "importance"]
    assert all(1 <= float(note.text) <= 10 for note in weighed)
    assert len({(note.agent, note.of) for note in weighed}) == len(weighed) == 1 + 2 + 3 * 6
    reflected = [note for note in notes if note.purpose == "reflection"]
    assert all(note.text for note in reflected)
    assert [note.iteration for note in reflected] == [5, 6, 7]
    assert {event.failure for event in of(events, Called)} == {None}


def test_a_deliberation_is_remembered_too(small: Small) -> None:
    """The mediator's statements can be read; a critique says no stance, and has no importance then: never a made-up one."""
    events = held(small("consensus", topic="", repetitions=1, episodes=1, rounds=3, **RETRIEVES | {"reflect": 2}))
    notes = of(events, Private)
    for note in notes:
        told = note.purpose == "reflection" or (note.of or "").startswith("Mediator: ")
        assert (note.text is None) == (note.reason == "no_known_sentence")
        assert note.text is not None or not told
    assert {note.purpose for note in notes} == {"importance", "reflection"}


def test_insights_are_the_own_ones(small: Small) -> None:
    """They may be sent at every later turn and survey of the one who drew them, and to nobody else."""
    asked, events = spied(small(repetitions=1, rounds=4, **RETRIEVES | {"importance": "novelty"}))
    drawn = {
        text.split("secret")[1].split("end")[0]: request.messages[0] for request, text in asked if "secret" in text
    }
    shown = set()
    for request, _ in asked:
        sent = "\n".join(message.content for message in request.messages)
        found = {part.split("end")[0] for part in sent.split("secret")[1:]}
        assert all(drawn[one] == request.messages[0] for one in found)
        shown |= found
    assert shown
    assert len(drawn) == len(of(events, Private))


def test_the_known_truth_weighs_by_distance(small: Small) -> None:
    """oracle: 1 + 9 |grade - a| / 10, a being where its persona starts: that is what its first rating says."""
    events = held(small(rounds=1, repetitions=3, **RETRIEVES))
    start = {event.agent: event.expected for event in of(events, Rated) if event.round == 0}
    for note in of(events, Private):
        grade = banks().topics["racism"].grade(note.of.partition(": ")[2])
        if grade is not None:
            assert abs(float(note.text) - (1 + 0.9 * abs(grade - start[note.agent]))) <= 0.5 + 1e-9


def test_what_is_recalled_moves_the_known_truth(small: Small) -> None:
    """retrieve:K keeps K lines more than last:K: with little memory its speaker hears less of what was said, and moves less."""
    quiet = open_backend("", mu=0.0, sigma=0.0)
    moved = []
    for memory in ("last:2", "retrieve:2", "whole"):
        events = held(small(memory=memory, rounds=4, repetitions=4), quiet)
        first, last = ([event.expected for event in of(events, Rated) if event.round == at] for at in (0, 4))
        moved.append(sum(abs(one - other) for one, other in zip(first, last, strict=True)))
    assert moved[0] < moved[1] < moved[2]


def test_the_plan_counts_insights_and_weights(small: Small) -> None:
    scenario = small(**RETRIEVES, think="bdi")
    events = held(scenario, Fake(opinionated))
    assert plan_run(scenario).notes == len(of(events, Private)) > len(of(events, Utterance))
    assert plan_run(scenario).calls == len(of(events, Called))


def test_they_are_for_a_memory_that_retrieves(small: Small) -> None:
    for given in ({"reflect": 3}, {"importance": "asked"}, {"memory": "last:3", "reflect": 3}):
        with pytest.raises(UserError, match="only work with memory=retrieve:K"):
            small(**given)
