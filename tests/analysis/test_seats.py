"""People in the page, without a browser: codes, what a holder may see, the page after a kill, and what is refused."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import run
from parley.analysis.seats import server
from parley.analysis.seats.table import FORGOTTEN, LENGTH, LETTERS, Gate, SeatTable, desks_in_page, new_code
from parley.analysis.serving import server as serving
from parley.llm.backends import person
from parley.llm.backends.fake import Fake
from parley.llm.backends.person.backend import PersonBackend
from parley.llm.backends.person.desk import LEFT, Desk
from parley.llm.errors import UserError
from parley.llm.request import Message, Request, Sampling
from parley.llm.router import RoutedBackend
from parley.model.scenario import Scenario, load_preset
from parley.model.scenario_run import RunSpec, run_scenario

SEATS = ("conservative", "labour")
FORM = ["woman", "2", "3", "4", "1", "1", "1", "1", "1", "1"]
ANSWERS = {
    seat: ["I agree", "6", f"{seat}: people want to know what they eat.", f"{seat}: too short.", "7", "5", "4", *FORM]
    for seat in SEATS
}
"""Consent, position, opinion, critique, position, two ratings, questionnaire."""
FIELDS = {"repetitions": 1, "episodes": 1, "size": 2, "society": "uk", "mediator": "majority", "llm": "oracle"}
LINE = ["--scenario", "consensus", "--llm", "oracle", "--society", "uk", "--repetitions", "1"]
LINE += ["--set", "episodes=1", "--set", "size=2"]
IN_PAGE = [*LINE, "--llm", "labour=person,at=page"]


def scenario() -> Scenario:
    seats = tuple(f"{seat}=person,at=page" for seat in SEATS)
    return load_preset("consensus").with_settings(FIELDS | {"llms": (*seats, "representative=fake")})


class Killed(BaseException):
    """Stands for kill -9."""


class Holders:
    """The models of a run, and people who answer in the page: each reads what its seat shows, and gives the next answer."""

    def __init__(self, folder: Path, given: dict[str, int]):
        """given: how many answers of each seat an earlier start has in its journal."""
        people = person.open_backend(at="page")
        self.backend = RoutedBackend(Fake(lambda request: "I see."), dict.fromkeys(SEATS, people))
        self.table = SeatTable(desks_in_page(self.backend), folder, 1, "A study")
        self.left = {seat: ANSWERS[seat][given.get(seat, 0) :] for seat in SEATS}
        self.seen = {seat: list[str]() for seat in SEATS}
        people.place.look = self.look  # type: ignore[method-assign]

    def look(self, _: float) -> None:
        """Answer the question of the first seat that has one: people whose order is known."""
        for seat in SEATS:
            view = self.table.view(seat)
            self.seen[seat].append(json.dumps(view))
            if view["question"]:
                desk = self.table.desks[seat]
                assert desk.answer(seat, view["question"]["number"], self.left[seat].pop(0)) == ""
                return

    def run(self, folder: Path) -> bytes:
        outcome = run_scenario(RunSpec(scenario(), folder), backend=self.backend)
        assert outcome.stopped is None
        return outcome.record.read_bytes()


def test_a_killed_run_in_the_page_asks_nothing_twice(tmp_path: Path) -> None:
    """After a kill: new codes, the question that was open, and byte for byte the record of an undisturbed run of two people."""
    whole = Holders(tmp_path / "whole", {})
    undisturbed = whole.run(tmp_path / "whole")
    assert whole.left == {seat: [] for seat in SEATS}
    first = Holders(tmp_path / "a", {})
    desk, landed = first.table.desks["labour"], list[Any]()
    original = desk.take

    def take() -> list[Any]:
        found = original()
        if len(landed) + len(found) > 5:  # these do not reach the journal
            raise Killed
        landed.extend(found)
        return found

    desk.take = take  # type: ignore[method-assign]
    with pytest.raises(Killed):
        first.run(tmp_path / "a")
    journaled = {seat: sum(request.voice == seat for request, _ in landed) for seat in SEATS}
    assert min(journaled.values()) > 1
    second = Holders(tmp_path / "a", journaled)
    assert not set(first.table.gate.codes.values()) & set(second.table.gate.codes.values())
    assert second.run(tmp_path / "a") == undisturbed
    assert second.left == {seat: [] for seat in SEATS}


def test_a_holder_sees_only_its_own(tmp_path: Path) -> None:
    """What the page shows a holder has its own answers, and no private answer, name of a seat or code of the other."""
    holders = Holders(tmp_path / "a", {})
    holders.run(tmp_path / "a")
    for seat, other in (SEATS, SEATS[::-1]):
        everything = "\n".join([*holders.seen[seat], json.dumps(holders.table.view(seat))])
        assert ANSWERS[seat][2] in everything
        for private in (ANSWERS[other][3], f'"seat": "{other}"', *holders.table.gate.codes.values()):
            assert private not in everything, private


def test_a_wrong_code_waits_and_the_pause_doubles() -> None:
    """Wrong codes wait 1, 2, 4 seconds, during which not even a right one opens; a right one starts again at 1."""
    now = [0.0]
    gate = Gate({"labour": "ABCDE23456", "green": "XYZXYZXYZ2"}, lambda: now[0])
    assert gate.enter(" abcde 23456 ") == ("labour", "")
    for pause in (1, 2, 4):
        assert gate.enter("\ud800ABCDE23457")[1].startswith("This code opens no seat")
        now[0] += pause - 0.1
        assert gate.enter("ABCDE23456") == ("", "A wrong code was given. Wait 1 s, then try again.")
        now[0] += 0.2
    assert gate.enter("XYZXYZXYZ2") == ("green", "")
    gate.enter("")
    now[0] += 1
    assert gate.enter("ABCDE23456") == ("labour", "")
    codes = {new_code() for _ in range(50)}
    assert len(codes) == 50
    assert all(len(code) == LENGTH and set(code) <= set(LETTERS) for code in codes)


def test_a_wrong_code_keeps_only_its_own_client_waiting() -> None:
    """One wrong code used to lock all people out for up to 30 s; and what is noted of clients does not grow for ever."""
    now = [0.0]
    gate = Gate({"labour": "ABCDE23456"}, lambda: now[0])
    for number in range(1000):
        gate.enter("wrong", f"10.0.0.{number}")
        now[0] += 60
    assert len(gate._waits) <= FORGOTTEN / 60 + 2
    for _ in range(9):
        gate.enter("wrong", "10.0.0.1")
        now[0] += 0.1
    assert gate.enter("ABCDE23456", "10.0.0.1")[1].startswith("A wrong code was given. Wait ")
    assert gate.enter("ABCDE23456", "10.0.0.2") == ("labour", "")


def test_the_page_stays_until_its_holders_have_finished(tmp_path: Path) -> None:
    """The end of a run is shown, and waits for who has entered; a seat that was left is taken again by its code."""
    desk, written = Desk(900), list[str]()
    table = SeatTable({"labour": desk, "green": desk}, tmp_path, 1, "A study")
    table.end(written.append, 60)  # nobody has entered
    assert written == []
    desk.leave("labour")
    assert table.view("labour")["state"] == LEFT
    assert table.enter(table.gate.codes["labour"]) == ("labour", "")
    assert table.view("labour")["state"] == "here"
    ending = threading.Thread(target=table.end, args=(written.append, 60))
    ending.start()
    table.finish("green")
    assert ending.is_alive()
    assert table.view("labour")["over"]
    table.finish("labour")
    ending.join(10)
    assert not ending.is_alive()


def test_without_a_server_nothing_waits_for_the_page() -> None:
    """A study that serves no page says so, and does not wait for people who cannot come."""
    backend = person.open_backend(at="page")
    assert isinstance(backend, PersonBackend)
    with pytest.raises(UserError, match="at=page only works with python"):
        backend.send([Request((Message("user", "Why?"),), Sampling(), 1, voice="labour")])


@pytest.mark.parametrize(("given", "code", "says"), [
    ([*LINE, "--host", "0.0.0.0", "--dry-run"], 2, "--host only works with --ui, or with a person in the page"),
    ([*LINE, "--llm", "labour=person", "--port", "0", "--dry-run"], 2, "--port only works with --ui, or with a person"),
    ([*IN_PAGE, "--host", "0.0.0.0", "--port", "0", "--dry-run"], 0, ""),
    ([*IN_PAGE, "--out", "OUT"], 2, "the page of the seats needs packages that are not installed"),
])  # fmt: skip
def test_host_and_port_belong_to_a_page(
    given: list[str], code: int, says: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`--host` and `--port` without a page, and a page without its packages, are refused in one line."""
    monkeypatch.setattr(serving, "find_spec", lambda name: None)
    assert run.main([str(tmp_path / "a") if one == "OUT" else one for one in given]) == code
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == (1 if code else 0)


def test_a_taken_port_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of another machine, or a port in use, is a UserError of one line."""
    monkeypatch.setattr(serving, "find_spec", lambda name: name)
    table = SeatTable({"labour": Desk(9)}, tmp_path, 1, "A study")
    with serving.listen("127.0.0.1", 0) as first:
        first.listen()
        taken = server.serving(table, "127.0.0.1", first.getsockname()[1], print)
        with pytest.raises(UserError) as error:
            taken.__enter__()
    assert "\n" not in str(error.value)


def test_the_page_of_the_seats_is_guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any page that a holder has open could have sent codes to the seats; a name must be given before people can use it."""
    guards, bound = list[Any](), list[Any]()

    def served(guard: Any, started: Any) -> Any:
        guards.append(guard)
        return SimpleNamespace(run=lambda sockets: [bound.extend(sockets), started()], should_exit=False)

    monkeypatch.setattr(serving, "find_spec", lambda name: name)
    monkeypatch.setattr(server, "solara_page", lambda page: page)
    monkeypatch.setattr(server, "server_of", served)
    with server.serving(
        SeatTable({"labour": Desk(9)}, tmp_path, 1, "A study"), "0.0.0.0", 0, print, ["lab.example"]
    ) as address:
        assert address.startswith("http://127.0.0.1:")
    bound[0].close()
    (guard,) = guards
    assert (guard.app, guard.token, guard.any_address) == (server.APP, "", True)
    assert "lab.example" in guard.names


@pytest.mark.parametrize(
    ("host", "alone"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("10.0.0.7", False)],
)
def test_who_opens_the_page_to_the_network_is_warned(host: str, alone: bool) -> None:
    """Loopback addresses need no warning; any other address does."""
    assert server.on_this_machine(host) is alone
