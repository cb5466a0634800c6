"""Several models in one run: each seat is answered by its own, whether they are networks or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st
from standins import Scrambled, opinionated

from parley.llm.backends.fake import Fake
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.llm.router import RoutedBackend, open_all
from parley.model.debate import DebateModel
from parley.model.events import Called, Utterance
from parley.model.recorder import MemoryRecorder

from .conftest import Counted, question

VOICES = ("", "red", "blue", "green")


def named(name: str) -> Callable[[Request], str]:
    return lambda request: f"{name} says {request.messages[0].content}"


@given(st.lists(st.sampled_from(VOICES), max_size=40), st.lists(st.sampled_from([0, 3, 9]), min_size=4, max_size=4))
def test_each_request_goes_to_its_own_model(voices: list[str], in_flight: list[int]) -> None:
    """Batch backends and networks mixed in any way: every reply is of the model that the voice names."""
    backends = {
        voice: Scrambled(named(voice), many) if many else Fake(named(voice))
        for voice, many in zip(VOICES, in_flight, strict=True)
    }
    both = RoutedBackend(backends[""], {voice: backends[voice] for voice in VOICES[1:]})

    def room(number: int, voice: str) -> Conversation[list[str | None]]:
        first = yield from ask(question(f"a{number}", voice=voice))
        second = yield from ask(question(f"b{number}", voice=voice))
        return [first.text, second.text]

    said = drive([room(number, voice) for number, voice in enumerate(voices)], both)
    assert said == [[f"{voice} says a{number}", f"{voice} says b{number}"] for number, voice in enumerate(voices)]
    assert (both.in_flight > 0) == any(in_flight)


def test_one_model_for_two_voices_is_opened_once() -> None:
    both = open_all("oracle", {"red": "oracle,kappa=0", "blue": "oracle,kappa=0"})
    assert isinstance(both, RoutedBackend)
    assert both.voices["red"] is both.voices["blue"] is not both.first


def test_another_voice_is_another_question() -> None:
    keys = {question(voice=voice).key("model") for voice in VOICES}
    assert len(keys) == 4
    assert question(voice="").key("model") == question().key("model")


def test_a_party_speaks_through_its_own_model(small: Callable) -> None:
    """In a debate too: the Republicans' lines are of one model, all others of the first, and the record names both."""
    scenario = small(llms=("republican=fake",))
    own, first = (
        Counted(lambda request: "A line of my own model." if not request.answers else "3"),
        Counted(opinionated),
    )
    record = MemoryRecorder()
    DebateModel(scenario, backend=RoutedBackend(first, {"republican": own}), recorder=record).run()
    said = [event for event in record.events if isinstance(event, Utterance)]
    assert sum(event.text == "A line of my own model." for event in said) == len(said) / 3
    assert own.calls + first.calls == sum(isinstance(event, Called) for event in record.events)


@check_each(
    ("llms", "words"),
    [
        (("whig=oracle",), "unknown party of llms 'whig'"),
        (("republican",), "does not have the form PARTY=SPEC"),
        (("democrat=",), "does not have the form PARTY=SPEC"),
    ],
)
def test_what_names_no_party_is_one_line(small: Callable, llms: tuple[str, ...], words: str) -> None:
    with pytest.raises(UserError, match=words):
        small(llms=llms)


def test_an_error_of_one_network_waits_for_what_the_others_have() -> None:
    """Replies that were paid for land before the run ends."""

    class Broken(Scrambled):
        def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
            raise UserError("no credit")

    both = RoutedBackend(Scrambled(named("first"), 9), {"red": Broken(named("red"), 9)})
    both.send([question(str(number)) for number in range(5)] + [question("x", voice="red")])
    landed = [both.receive() for _ in range(5)]
    assert sum(map(len, landed)) == 5
    with pytest.raises(UserError, match="no credit"):
        both.receive()


def test_an_error_of_a_local_model_waits_for_what_the_networks_have() -> None:
    """A local model that runs out of memory must not throw away replies of a server that were paid for."""

    class Full(Counted):
        def complete(self, requests: Sequence[Request]) -> list[Reply]:
            raise UserError("out of memory")

    both = RoutedBackend(Scrambled(named("first"), 9), {"green": Full(named("green"))})
    both.send([question(str(number)) for number in range(3)] + [question("x", voice="green")])
    landed = [both.receive() for _ in range(3)]
    assert sum(map(len, landed)) == 3
    with pytest.raises(UserError, match="out of memory"):
        both.receive()


def test_one_seat_of_a_party_has_a_model_of_its_own(small: Callable) -> None:
    """Before the party's, so that two of one party can be told apart by nothing but their model."""
    scenario = small(
        "echo_chamber", parties="republican", llms=("republican=fake", "republican 2=oracle,kappa=0"), rounds=1
    )
    heard: dict[str, set[str]] = {}

    def listening(request: Request) -> str:
        heard.setdefault(request.voice, set()).add(request.messages[0].content)
        return "Yes."

    model = DebateModel(scenario, backend=Fake(listening), keep_going=True)
    model.run()
    assert model.error is None
    assert set(heard) == {"", "republican", "republican 2"}
    by_seat = {
        seat: {agent.persona.backstory for agent in model.agents if agent.seat == seat}
        for seat in ("republican 1", "republican 2")
    }
    assert heard["republican"] == by_seat["republican 1"]
    assert heard["republican 2"] == by_seat["republican 2"]
