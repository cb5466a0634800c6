"""The preset dyads in the model: a pair's talk stays between the two, and posts that are asked for at once are written blind."""

from __future__ import annotations

from collections.abc import Callable

from standins import opinionated

from parley.environments.dyads import POST, TALK
from parley.llm.backends.fake import Fake
from parley.llm.request import Request
from parley.model.debate import DebateModel
from parley.model.events import Rated, Utterance
from parley.model.recorder import MemoryRecorder
from parley.model.scenario import Scenario

Small = Callable[..., Scenario]


def held(scenario: Scenario, backend: object | None = None) -> tuple[DebateModel, list]:
    recorder = MemoryRecorder()
    model = DebateModel(scenario, backend=backend or Fake(opinionated), recorder=recorder)
    model.run()
    return model, recorder.events


def numbered() -> tuple[Fake, list[Request]]:
    """Every reply is a word of its own; the requests in order."""
    asked: list[Request] = []

    def speak(request: Request) -> str:
        asked.append(request)
        return "1" if request.answers else f"Mark{len(asked)}end"

    return Fake(speak), asked


def test_nobody_else_hears_a_talk(small: Small) -> None:
    """Every prompt is searched: what it holds was said by its sender or told to it by a partner of that round."""
    backend, asked = numbered()
    _, events = held(small("dyads", rounds=3, repetitions=1), backend)
    said = [event for event in events if isinstance(event, Utterance)]
    rounds = [[event for event in said if event.round == round_ and event.form == TALK] for round_ in (1, 2, 3)]
    met = [{event.agent for event in said if event.round == 1 and event.form == POST}]
    assert len(met[0]) == 4
    knows: dict[int, set[str]] = {agent: set() for agent in met[0]}
    for turns in rounds:
        speakers = list(dict.fromkeys(event.agent for event in turns))
        for one, other in zip(speakers[:2], speakers[2:], strict=True):
            both = {event.text for event in said if event.round == turns[0].round and event.agent in (one, other)}
            knows[one] |= both
            knows[other] |= both
    last = {request.messages[0].content: " ".join(m.content for m in request.messages) for request in asked}
    heard = [{event.text for event in said if event.text in text} for text in last.values()]
    assert sorted(map(sorted, heard)) == sorted(map(sorted, knows.values()))
    assert all(len(texts) == 2 * 3 * (3 + 1) for texts in heard)


def test_what_is_asked_for_at_once_is_written_before_anything_of_it_is_heard(small: Small) -> None:
    """A post is remembered as it was written: what an agent is sent is a prefix of what it is sent next."""
    backend, asked = numbered()
    held(small("dyads", rounds=3, repetitions=1, posts="room"), backend)
    sent: dict[str, str] = {}
    for request in asked:
        who, text = request.messages[0].content, "\n".join(message.content for message in request.messages[1:])
        bare = text.rpartition("\n\n")[0]
        before, sent[who] = sent.get(who, ""), bare
        assert bare.startswith(before)


def test_each_is_told_with_whom_it_talks(small: Small) -> None:
    backend, asked = numbered()
    model, _ = held(small("dyads", rounds=1, repetitions=1), backend)
    names = {agent.name for agent in model.agents}
    talks = [request for request in asked if "talking with" in request.messages[-1].content]
    told = {request.messages[-1].content.rpartition("talking with ")[2].partition(",")[0] for request in talks}
    assert told == names


def test_private_opinions_are_on_six_points(small: Small) -> None:
    """A 5 of 1 to 6 is 8 on the topic's axis of 0 to 10."""
    _, events = held(small("dyads", rounds=1), Fake(lambda request: "5" if request.answers else "Hello."))
    rated = [event for event in events if isinstance(event, Rated)]
    assert {(event.rating, event.attitude, event.round) for event in rated} == {(5, 8.0, 0), (5, 8.0, 1)}
