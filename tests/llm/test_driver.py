"""The driver: what a conversation is told depends on what it asked, never on who else asks, on batches or on their order."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st
from standins import Scrambled

from parley.llm import driver
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget, Limits
from parley.llm.driver import Conversation, ask, ask_all, complete_all, drive
from parley.llm.errors import BudgetSpent
from parley.llm.journal import Journal
from parley.llm.request import Reply, Request

from .conftest import Counted, echo, question, questions

plans = st.lists(st.lists(st.integers(0, 3), max_size=4), max_size=6)
"""For each conversation, how many questions it asks at once, one step after the other."""


def talk(name: int, plan: Sequence[int]) -> Conversation[list[str | None]]:
    """Each question holds all that was said before, so a reply in the wrong place changes everything after it."""
    said: list[str | None] = [str(name)]
    for count in plan:
        asked = [question(" ".join(map(str, said)), seed=place) for place in range(count)]
        said += [reply.text for reply in (yield from ask_all(asked))]
    return said


def one_by_one(plan: list[list[int]]) -> list[list[str | None]]:
    return [drive([talk(name, steps)], Fake(echo))[0] for name, steps in enumerate(plan)]


@given(plans, st.integers(1, 7))
def test_results_do_not_depend_on_the_batch(plan: list[list[int]], size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "MAX_BATCH", size)
        backend = Counted()
        results = drive([talk(name, steps) for name, steps in enumerate(plan)], backend)
    assert results == one_by_one(plan)
    assert all(0 < len(batch) <= size for batch in backend.batches)


@given(plans, st.integers(1, 8), st.integers(0, 99))
def test_results_do_not_depend_on_the_order_of_completion(plan: list[list[int]], in_flight: int, seed: int) -> None:
    backend = Scrambled(echo, in_flight, seed)
    results = drive([talk(name, steps) for name, steps in enumerate(plan)], backend)
    assert results == one_by_one(plan)
    assert backend.most <= in_flight


def test_the_scrambled_network_does_scramble() -> None:
    """The property above would be empty if answers came in the order of asking."""
    backend = Scrambled(echo, 8, seed=1)
    drive([talk(name, [1]) for name in range(8)], backend)
    assert [request.messages[0].content for request in backend.order] != [str(name) for name in range(8)]
    assert backend.most == 8


def test_a_slow_room_does_not_hold_a_fast_one() -> None:
    """The slow room's one reply lands only when nothing else is on its way: the fast room has finished by then."""

    class Slow(Fake):
        def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
            if self._sent[0].messages[0].content == "slow":
                self._sent.rotate(-1)
            return super().receive()

    landed: list[str] = []

    def answer(request: Request) -> str:
        landed.append(request.messages[0].content)
        return "done"

    def room(name: str, rounds: int) -> Conversation[str]:
        for seed in range(rounds):
            yield from ask(question(name, seed))
        return name

    assert drive([room("slow", 1), room("fast", 3)], Slow(answer, in_flight=2)) == ["slow", "fast"]
    assert landed == ["fast", "fast", "fast", "slow"]


@pytest.mark.parametrize("in_flight", [0, 3])
def test_conversations_without_questions(in_flight: int) -> None:
    """Nobody to talk to, nothing to ask, and an empty bundle of questions: each ends with its own result, and no call."""

    def silent() -> Conversation[str]:
        return "silent"
        yield

    def empty() -> Conversation[tuple[Reply, ...]]:
        return (yield ())

    backend = Counted(in_flight=in_flight)
    assert drive([], backend) == []
    assert drive([silent(), empty(), talk(3, [0, 0])], backend) == ["silent", (), ["3"]]
    assert backend.calls == 0


@pytest.mark.parametrize("in_flight", [0, 3])
def test_progress_counts_every_reply(in_flight: int) -> None:
    counted: list[int] = []
    drive([talk(name, [2, 1]) for name in range(5)], Fake(echo, in_flight=in_flight), counted.append)
    assert sum(counted) == 15


class Witness:
    """Conversations that note how they ended."""

    def __init__(self) -> None:
        self.closed: list[int] = []

    def talk(self, name: int, rounds: int = 3, breaks: bool = False) -> Conversation[None]:
        try:
            for seed in range(rounds):
                yield from ask(question(str(name), seed))
            if breaks:
                raise KeyError("a bug in a room")
        finally:
            self.closed.append(name)


def _broken(request: Request) -> str:
    if request.messages[0].content == "2" and request.seed == 1:
        raise ConnectionError("the line is dead")
    return "fine"


@check_each("in_flight", [0, 1, 3])
@check_each(
    ("backend", "breaks", "error"),
    [(_broken, False, ConnectionError), (echo, True, KeyError)],
    ids=["of the backend", "of a conversation"],
)
def test_an_exception_closes_every_conversation(in_flight: int, backend: Any, breaks: bool, error: type) -> None:
    """None is left suspended until the garbage collector finds it."""
    witness = Witness()
    rooms = [witness.talk(0), witness.talk(1, 2, breaks), witness.talk(2), witness.talk(3)]
    with pytest.raises(error):
        drive(rooms, Fake(backend, in_flight=in_flight))
    assert all(inspect.getgeneratorstate(room) == inspect.GEN_CLOSED for room in rooms)
    assert sorted(witness.closed) == [0, 1, 2, 3]


@pytest.mark.parametrize("in_flight", [0, 2])
def test_a_spent_budget_ends_the_drive(in_flight: int) -> None:
    inner = Counted(in_flight=in_flight)
    with pytest.raises(BudgetSpent):
        drive([talk(name, [1, 1]) for name in range(5)], Limits(inner, Budget(calls=7)))
    assert inner.calls == 7


@pytest.mark.parametrize("in_flight", [0, 2])
def test_a_lost_reply_is_an_error(in_flight: int) -> None:
    """With one reply too few every room after it would hear its neighbour's."""
    with pytest.raises(RuntimeError, match=r"answered \d of \d requests"):
        drive([talk(name, [1]) for name in range(3)], Counted(in_flight=in_flight, lost=1))


def test_a_bug_stops_asking() -> None:
    """After an exception no queued question is sent any more: each would cost money for nothing."""
    backend = Counted(_broken, in_flight=1)

    def many() -> Conversation[None]:
        yield from ask_all([question("2", seed) for seed in range(50)])

    with pytest.raises(ConnectionError):
        drive([many()], backend)
    assert backend.calls == 2


def test_never_more_in_flight_than_allowed() -> None:
    """32 at once, and each reply back in its place."""
    backend = Scrambled(echo, 32, seed=3)
    assert drive([talk(name, [3, 2]) for name in range(40)], backend) == one_by_one([[3, 2]] * 40)
    assert backend.most == 32


def test_one_request_on_its_way_twice_lands_twice() -> None:
    """A room may put the very same request to two seats."""
    one = question()

    def both() -> Conversation[list[str | None]]:
        return [reply.text for reply in (yield from ask_all([one, one]))]

    assert drive([both()], Scrambled(echo, 2)) == [[echo(one)] * 2]


def test_a_reply_to_nothing_is_an_error() -> None:
    class Confused(Fake):
        def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
            return [(question("of another room"), Reply("?"))]

    with pytest.raises(RuntimeError, match="that it was not sent"):
        drive([talk(1, [1])], Confused(echo, in_flight=2))


@given(st.integers(0, 20), st.integers(1, 9), st.integers(0, 99))
def test_a_network_completes_in_the_order_asked(count: int, in_flight: int, seed: int) -> None:
    backend = Scrambled(echo, in_flight, seed)
    assert [reply.text for reply in complete_all(backend, questions(count))] == [echo(one) for one in questions(count)]
    assert backend.most <= in_flight


def test_ask_helpers() -> None:
    """`ask` gives a reply, `ask_all` a tuple in the order asked."""

    def both() -> Conversation[tuple[Reply, tuple[Reply, ...]]]:
        one = yield from ask(question())
        return one, (yield from ask_all(iter(questions(3))))

    ((one, many),) = drive([both()], Fake(echo))
    assert one.text == echo(question())
    assert [reply.text for reply in many] == [echo(request) for request in questions(3)]


def test_a_large_wave_is_asked_and_kept_in_batches() -> None:
    """A batch is the unit of the journal's commit: a killed run loses at most one, so 600 questions are two."""
    sizes: list[int] = []

    class Sized(Fake):
        def complete(self, requests: Sequence[Request]) -> list[Reply]:
            sizes.append(len(requests))
            return super().complete(requests)

    one = question()
    drive([ask(one) for _ in range(600)], Sized(lambda request: "."))
    assert sizes == [driver.MAX_BATCH, 600 - driver.MAX_BATCH]


class Interrupted(Fake):
    """A network on which Ctrl-C comes when somebody first waits, and as often again as `more` says."""

    def __init__(self, in_flight: int, more: int = 0):
        super().__init__(echo, in_flight=in_flight)
        self.left = 1 + more

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        if self.left:
            self.left -= 1
            raise KeyboardInterrupt
        return super().receive(wait)


def test_an_interrupt_keeps_what_is_on_its_way(open_journal: Callable[..., Journal]) -> None:
    """Those replies are paid for: thrown away they would be asked twice, and be in no budget. Nothing more is sent."""
    journal = open_journal(Interrupted(3))
    with pytest.raises(KeyboardInterrupt):
        drive([talk(name, [1]) for name in range(8)], journal)
    assert (journal.asked, journal.spent()[0]) == (3, 3)


def test_a_bug_in_a_conversation_keeps_what_is_on_its_way(open_journal: Callable[..., Journal]) -> None:
    journal, witness = open_journal(Scrambled(echo, 4)), Witness()
    rooms = [witness.talk(name, 1, breaks=True) for name in range(4)]
    with pytest.raises(KeyError, match="a bug in a room"):
        drive(rooms, journal)
    assert (journal.asked, sorted(witness.closed)) == (4, [0, 1, 2, 3])


def test_a_second_interrupt_ends_at_once(open_journal: Callable[..., Journal]) -> None:
    journal = open_journal(Interrupted(3, more=1))
    rooms = [talk(name, [1]) for name in range(8)]
    with pytest.raises(KeyboardInterrupt):
        drive(rooms, journal)
    assert journal.asked == 0
    assert all(inspect.getgeneratorstate(room) == inspect.GEN_CLOSED for room in rooms)


def test_what_never_lands_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that fell silent: the wait has an end."""

    class Silent(Interrupted):
        def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
            return super().receive() if wait else []

    monkeypatch.setattr(driver, "GRACE", 0.02)
    with pytest.raises(KeyboardInterrupt):
        drive([talk(1, [1])], Silent(1))
