"""What agents were sent is derived again from record and journal: byte for byte what the model got, or named as missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each
from standins import opinionated

from parley.environments.base import MEDIATOR
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request, Wrapper
from parley.model.events import Called, Seated, Utterance
from parley.model.files import JOURNAL, RECORD
from parley.model.recorder import read_lines
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sent_requests import SentRequests, sent_requests

RUNS: dict[str, dict[str, Any]] = {
    "three_way": {"topic": "racism", "repetitions": 2, "rounds": 2},
    "network": {"size": 8, "repetitions": 1, "rounds": 2, "graph": "ring,degree=2"},
    "consensus": {"repetitions": 1, "episodes": 1},
    "representatives": {"repetitions": 1, "episodes": 2},
    "recollection": {"topic": "racism", "repetitions": 1, "rounds": 2},
    "intervention": {"topic": "racism", "repetitions": 1, "rounds": 4},
    "dyads": {"repetitions": 1, "rounds": 2},
}


class Listening(Wrapper):
    """A model behind a wire: it keeps what it was sent, and what it replied."""

    def __init__(self, inner: Any):
        super().__init__(inner)
        self.sent: list[tuple[Any, ...]] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = self.inner.complete(requests)
        for request, reply in zip(requests, replies, strict=True):
            self.sent.append(_signature(request, reply))
        return list(replies)


def _signature(request: Request, reply: Reply) -> tuple[Any, ...]:
    messages = tuple((message.role, message.content) for message in request.messages)
    return messages, tuple(request.sampling), request.answers, request.seed, reply.to_json()


def run(folder: Path, preset: str, **more: Any) -> Listening:
    settings = RUNS[preset] | more
    listening = Listening(Fake(opinionated))
    run_scenario(RunSpec(load_preset(preset, settings), folder, tuple(settings)), backend=listening)
    return listening


def people(folder: Path) -> list[Seated]:
    return [event for event in read_lines(folder / RECORD) if isinstance(event, Seated)]


def everything(sent: SentRequests, folder: Path) -> list[tuple[Any, ...]]:
    found = []
    for person in people(folder):
        for exchange in sent.of(person.room, person.agent):
            assert exchange.request
            assert exchange.reply
            found.append(_signature(exchange.request, exchange.reply))
    return found


@check_each("preset", RUNS)
def test_every_prompt_is_byte_for_byte_the_one_that_was_sent(tmp_path: Path, preset: str) -> None:
    """A prompt that is shown and was never sent would be worse than none."""
    listening = run(tmp_path / "run", preset)
    sent = sent_requests(tmp_path / "run")
    assert Counter(everything(sent, tmp_path / "run")) == Counter(listening.sent)
    assert sent.lacking == 0


def test_an_agent_gets_its_own_prompts_in_order(tmp_path: Path) -> None:
    run(tmp_path / "run", "three_way")
    sent = sent_requests(tmp_path / "run")
    for person in people(tmp_path / "run"):
        mine = sent.of(person.room, person.agent)
        rounds = [exchange.call.round for exchange in mine]
        assert rounds == sorted(rounds)
        purposes = ["survey", *["speech", "survey"] * 2] if "/reference" not in person.room else ["survey"]
        assert [exchange.call.purpose for exchange in mine] == purposes
        names = {exchange.request.messages[0].content.split(".")[0] for exchange in mine if exchange.request}
        assert len(names) == 1


def test_the_critique_of_a_representative_belongs_to_its_member(tmp_path: Path) -> None:
    run(tmp_path / "run", "representatives")
    sent, folder = sent_requests(tmp_path / "run"), tmp_path / "run"
    represented = [one for person in people(folder) for one in sent.of(person.room, person.agent) if one.represented]
    calls = [event for event in read_lines(folder / RECORD) if isinstance(event, Called) and event.agent < 0]
    assert calls
    assert len(represented) == len(calls)
    mediators = [one for person in people(folder) if person.agent == MEDIATOR for one in sent.of(person.room, MEDIATOR)]
    assert {one.call.purpose for one in mediators} >= {"statement"}


def test_who_heard_whom_in_a_room(tmp_path: Path) -> None:
    """In an open debate everybody hears all lines of the others, and never its own."""
    run(tmp_path / "run", "three_way")
    sent, folder = sent_requests(tmp_path / "run"), tmp_path / "run"
    lines = [event for event in read_lines(folder / RECORD) if isinstance(event, Utterance)]
    for person in people(folder):
        others = [line.iteration for line in lines if line.room == person.room and line.agent != person.agent]
        assert list(sent.heard.get((person.room, person.agent), ())) == others


def test_an_unfinished_run_has_the_prompts_of_its_record(tmp_path: Path) -> None:
    settings = RUNS["three_way"]
    spec = RunSpec(load_preset("three_way", settings), tmp_path / "run", tuple(settings), Budget(calls=16))
    assert run_scenario(spec, backend=Fake(opinionated)).stopped
    sent = sent_requests(tmp_path / "run")
    (record,) = (tmp_path / "run").glob("record*")
    events = list(read_lines(record))
    calls = [event for event in events if isinstance(event, Called)]
    seated = [event for event in events if isinstance(event, Seated)]
    shown = [one for person in seated for one in sent.of(person.room, person.agent)]
    assert calls
    assert len(shown) == len(calls)
    assert all(one.request and one.reply for one in shown)


def test_a_failed_reply_is_shown_with_its_reason(tmp_path: Path) -> None:
    settings = RUNS["three_way"] | {"repetitions": 1}
    spec = RunSpec(load_preset("three_way", settings), tmp_path / "run", tuple(settings), Budget(keep_going=True))
    run_scenario(spec, backend=Fake(lambda request: Reply.failed("timeout", "no reply") if request.answers else "Hm."))
    (first, *_) = people(tmp_path / "run")
    reply = sent_requests(tmp_path / "run").of(first.room, first.agent)[0].reply
    assert reply
    assert reply.failure
    assert reply.failure.name == "timeout"


def test_answers_drawn_from_an_archetype_have_a_prompt_and_no_reply(tmp_path: Path) -> None:
    """No model was asked: a reply there would be made up."""
    run(tmp_path / "run", "network", archetypes=2, size=24)
    sent, folder = sent_requests(tmp_path / "run"), tmp_path / "run"
    every = [one for person in people(folder) for one in sent.of(person.room, person.agent)]
    drawn = [one for one in every if one.call.notes.get("drawn")]
    assert drawn
    assert sent.lacking == 0
    assert all(one.request for one in every)


def test_what_cannot_be_derived_is_said(tmp_path: Path) -> None:
    run(tmp_path / "run", "three_way")
    (tmp_path / "run" / JOURNAL).unlink()
    with pytest.raises(UserError, match=r"journal\.sqlite does not exist"):
        sent_requests(tmp_path / "run")
    with pytest.raises(UserError, match="is not the folder of a run"):
        sent_requests(tmp_path)


def test_a_prompt_that_has_changed_since_is_missing_and_never_replaced(tmp_path: Path) -> None:
    """The record of another wording: its digests are not those of the replay."""
    run(tmp_path / "run", "three_way", repetitions=1)
    record = tmp_path / "run" / RECORD
    events = [json.loads(line) for line in record.read_text().splitlines()]
    calls = [event for event in events if "prompt_chars" in event]
    calls[-1]["key"] = "0" * 32
    record.write_text("".join(json.dumps(event) + "\n" for event in events))
    sent = sent_requests(tmp_path / "run")
    assert sent.lacking == 1
    (lost,) = [
        one for person in people(tmp_path / "run") for one in sent.of(person.room, person.agent) if one.request is None
    ]
    assert lost.reply is None
