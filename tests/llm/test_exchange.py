"""Workers that follow the same conversations ask each question once among them, and get the same replies."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from together import Together, together

from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import BudgetSpent
from parley.llm.exchange import STOPPED, Meeting, Posted, Share
from parley.llm.request import Message, Reply, Request, Sampling


class Unordered:
    """A model of a network, or of batches, whose replies land in any order. It counts what it is asked."""

    def __init__(self, in_flight: int, seed: int):
        self.identity = {"backend": "unordered"}
        self.in_flight, self.rng = in_flight, random.Random(seed)
        self.asked, self.most, self._flying = Counter[int](), 0, list[Request]()

    def seedless(self, request: Request) -> bool:
        return request.sampling.temperature == 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        self.asked.update(request.seed for request in requests)
        return [Reply(f"reply to {request.seed} \ud83d") for request in requests]

    def send(self, requests: Sequence[Request]) -> None:
        self._flying += requests
        self.most = max(self.most, len(self._flying))

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        self.rng.shuffle(self._flying)
        count = self.rng.randint(1, len(self._flying))
        landed, self._flying = self._flying[:count], self._flying[count:]
        return list(zip(landed, self.complete(landed), strict=True))


def talk(room: int) -> Conversation[list[str | None]]:
    """Six questions, each of which holds the last reply; every room asks one that is the same for all, without a seed."""
    said: list[str | None] = [""]
    for turn in range(6):
        reply = yield from ask(Request((Message("user", f"{said[-1]}"),), Sampling(), 10 * room + turn))
        said.append(reply.text)
    reply = yield from ask(Request((Message("user", "The same?"),), Sampling(temperature=0), 999))
    return [*said, reply.text]


def shared(number: int, in_flight: int, seed: int) -> tuple[list[list[list[str | None]]], list[Unordered]]:
    desks = together(number)
    models = [Unordered(in_flight, seed + place) for place in range(number)]
    shares = [Share(model, place, number, desk) for place, (model, desk) in enumerate(zip(models, desks, strict=True))]

    def work(share: Share) -> list[list[str | None]]:
        return drive([talk(room) for room in range(20)], share)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, shares)), models


CASES = [(number, in_flight, seed) for number in (2, 3) for in_flight in (0, 1, 4) for seed in range(3)]


@pytest.mark.parametrize(("number", "in_flight", "seed"), CASES)
def test_each_question_is_asked_once_and_all_workers_see_the_same(number: int, in_flight: int, seed: int) -> None:
    """In batches and in flight, whatever the order in which replies land; no model gets more than it takes at a time."""
    alone = Unordered(in_flight, 0)
    expected = drive([talk(room) for room in range(20)], alone)
    found, models = shared(number, in_flight, seed)
    assert found == [expected] * number
    asked = sum((model.asked for model in models), Counter[int]())
    assert {question: times for question, times in asked.items() if question != 999 and times > 1} == {}
    assert asked.keys() == alone.asked.keys()
    assert max(model.most for model in models) <= max(in_flight, 0)
    assert all(model.asked for model in models)


def test_a_worker_that_is_started_again_tells_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends after two meetings of four, and a new one holds all of them, while the others wait in the third."""
    log, post, desks = list[Posted](), Together.post, together(3)

    def logged(desk: Together, replies: Posted) -> None:
        log.append(replies)
        post(desk, replies)

    def meet(number: int, desk: Together, meetings: int) -> list[list[list[int]]]:
        meeting = Meeting(number, 3, desk)
        return [sorted(meeting.tell_all([[number, held]] * number)) for held in range(meetings)]

    monkeypatch.setattr(Together, "post", logged)
    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(meet, number, desks[number], 4) for number in (0, 1)]
        pool.submit(meet, 2, desks[2], 2).result()
        again = Together()
        again.others = desks[:2]
        for desk in desks[:2]:
            desk.others = [other for other in desks[:2] if other is not desk] + [again]
        for replies in list(log):
            again.came.put(replies)
        found = [meet(2, again, 4), *[other.result() for other in others]]
    assert found == [[[[1, held], [2, held], [2, held]] for held in range(4)]] * 3


@pytest.mark.parametrize("in_flight", [0, 4])
def test_where_one_worker_ends_early_another_keeps_its_replies_in_flight_and_ends(in_flight: int) -> None:
    """Four rooms wait for replies: what was sent has landed (a journal below has it) before the worker ends."""
    model, (desk, other) = Unordered(in_flight, 0), together(2)
    other.post([(STOPPED, "the budget is spent")])
    with pytest.raises(BudgetSpent, match="the budget is spent"):
        drive([talk(room) for room in range(20)], Share(model, 0, 2, desk))
    assert model.asked
    assert not model._flying
    other.post([(STOPPED, "no money")])
    with pytest.raises(BudgetSpent, match="no money"):
        Meeting(0, 2, desk).tell_all([1])


def test_every_agent_has_one_worker() -> None:
    """By hand: every third one, whatever the first number is."""
    meetings = [Meeting(number, 3, Together()) for number in range(3)]
    assert [[agent for agent in range(1, 8) if meeting.owns(agent)] for meeting in meetings] == [
        [3, 6],
        [1, 4, 7],
        [2, 5],
    ]
