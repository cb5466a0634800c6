"""Workers divide the limits of a server; when one ends, the others get its part; when one is refused, all send fewer calls."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest

import run
from parley.llm import shares
from parley.llm.backends import open_spec
from parley.llm.backends.openai.transport import Clock, Endpoint, HttpAnswer, RateLimiter
from parley.llm.request import Message, Request, Sampling
from parley.model.sweep.ray_cluster import RemoteBoard, _Desk
from parley.model.sweep.runner import SharedBoard

from .loopback import Act, Body, Loopback, digest, echo, said


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    yield
    shares.use_board(shares.LoneWorker())


def test_a_process_alone_has_all_its_limits() -> None:
    assert shares.growth() == 1.0


@pytest.mark.parametrize(
    ("parts", "workers", "growth"), [(4, 4, 1.0), (4, 3, 4 / 3), (4, 1, 4.0), (2, 5, 1.0), (2, 0, 2.0)]
)
def test_growth_by_hand(parts: int, workers: int, growth: float) -> None:
    """More workers than parts: those beyond only measure what is finished."""
    shares.use_board(board_of(workers))
    with shares.divided_among(parts):
        assert shares.growth() == growth
    assert shares.growth() == 1.0, "the next run of this process has all its limits"


def board_of(workers: int) -> SharedBoard:
    board = SharedBoard()
    board.count.value = workers
    return board


def test_another_machine_is_asked_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker on a cluster knows what the desk said a second ago, and tells the desk at once."""
    desk, times = _Desk(None, 1), [0.0]
    monkeypatch.setattr("parley.model.sweep.ray_cluster.time.monotonic", lambda: times[0])
    board = RemoteBoard(Remote(desk), lambda answer: answer)
    desk.take_calls(2)
    board.note_refusal("http://a", 7.0)
    assert (board.workers(), board.last_refusal("http://a")) == (1, 0.0)
    times[0] = 1.5
    assert (board.workers(), board.last_refusal("http://a"), board.last_refusal("http://b")) == (2, 7.0, 0.0)


class Remote:
    """An actor of Ray: `actor.method.remote(...)` calls a method, here at once."""

    def __init__(self, actor: object):
        self._actor = actor

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *values: copy.deepcopy(getattr(self._actor, name)(*values)))


def test_what_is_too_much_for_one_worker_is_too_much_for_all() -> None:
    """One refusal halves all that call this address, once for the calls of one moment. Other addresses go on."""
    shares.use_board(board_of(2))
    mine, theirs, elsewhere = line_to("http://a/v1"), line_to("http://a/v1"), line_to("http://b/v1")
    before = time.monotonic()
    mine.slow_down(before, 0.0)
    for endpoint in (mine, theirs, elsewhere):
        asyncio.run(endpoint.post("/chat/completions", b"", 1, 10.0))
    assert (mine.limit, theirs.limit, elsewhere.limit) == (4.0, 4.0, 8.0)
    theirs.slow_down(before, 0.0)  # a call that was sent before the halving is refused, too
    asyncio.run(mine.post("/chat/completions", b"", 1, 10.0))
    assert (mine.limit, theirs.limit) == (4.0, 4.0)


def test_a_refusal_is_known_in_another_process() -> None:
    board = SharedBoard()
    other = get_context("forkserver").Process(target=board.note_refusal, args=("http://a/v1", 5.0))
    other.start()
    other.join()
    assert (board.last_refusal("http://a/v1"), board.last_refusal("http://b/v1")) == (5.0, 0.0)


def line_to(url: str) -> Endpoint:
    async def answer(path: str, body: bytes) -> HttpAnswer:
        return HttpAnswer(200, {}, b"")

    connection = SimpleNamespace(url=url, timeout=60.0, host="", post=answer)
    return Endpoint(connection, 8, 0, 0, Clock())  # type: ignore[arg-type]


def test_a_worker_that_is_left_alone_asks_twice_as_much_at_once() -> None:
    board = board_of(2)
    shares.use_board(board)
    with shares.divided_among(2), Loopback(echo, slow=0.01) as server:
        backend = open_spec(f"openai:echo,base_url={server.url},closed=text,in_flight=2")
        backend.complete([asked(number) for number in range(20)])
        assert (server.most, backend.in_flight) == (2, 2)
        board.count.value = 1
        backend.complete([asked(number) for number in range(20)])
        assert (server.most, backend.in_flight) == (4, 4)


def asked(number: int) -> Request:
    return Request((Message("user", f"Question {number}?"),), Sampling(), number)


def test_limits_that_change_keep_what_the_server_said() -> None:
    """A server that halved 8 to 4 gets 8 of 16; one with 6 slots never more than 6."""

    class Line:
        timeout = 60.0

    endpoint = Endpoint(Line(), 8, 60, 0, Clock())  # type: ignore[arg-type]
    endpoint.limit = 4.0
    endpoint.set_limits(16, 120, 0)
    assert (endpoint.most, endpoint.limit, endpoint._requests.spacing) == (16, 8.0, 0.5)
    slotted = Endpoint(Line(), 8, 0, 0, Clock(), 6)  # type: ignore[arg-type]
    slotted.set_limits(16, 0, 0)
    assert (slotted.most, slotted.limit) == (6, 6.0)
    assert RateLimiter(0).book(5, 1.0) == 0.0


@pytest.mark.thorough
def test_the_last_cell_of_a_sweep_has_the_whole_server(tmp_path: Path) -> None:
    """Two workers with two of four requests each, a short cell and a long one: at the end, the long one has four at once."""
    at_once: list[tuple[bool, int]] = []

    def person(body: Body, time: int = 1) -> Act:
        at_once.append(("racism" in str(body), server.now))
        return said("7" if "one number" in str(body["messages"][-1]) else f"{digest(body)}.")

    design = [
        "--scenario",
        "two_way",
        "--topic",
        "racism",
        "--repetitions",
        "4",
        "--vary",
        "rounds=1,12",
        "--no-qualify",
    ]
    with Loopback(person, slow=0.02) as server:
        model = ["--llm", "openai:echo,thinking=0,closed=text,in_flight=4", "--base-url", server.url]
        command = ["sweep", *design, *model, "--seeds", "0:1", "--out", str(tmp_path / "sweep"), "--workers", "2"]
        assert run.main(command) == 0
    debated = [now for of_a_cell, now in at_once if of_a_cell]
    assert max(debated) == max(debated[-30:]) == 4
