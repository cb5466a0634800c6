"""The table of a run with people in the page: a code for each seat, and what its holder may see.

A holder sees what its own seat is asked and its own answers. Codes, questions and answers of other seats are never part of it.
"""

from __future__ import annotations

import hmac
import math
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from parley.llm.backends.person.backend import Browsers, PersonBackend
from parley.llm.backends.person.desk import Desk
from parley.llm.request import Backend
from parley.llm.router import RoutedBackend

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""The characters of codes: those that are easily mixed up are left out."""
LENGTH = 10
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds without entry for a client after a wrong code. They double with every further wrong code."""
FORGOTTEN = 3600.0
"""Seconds after which the wrong codes of a client no longer count."""
GOODBYE = 300.0
"""Seconds for which the page stays after the end of a run, for holders who have not finished."""


class Gate:
    """Opens a seat to who knows its code. After a wrong code its client waits, and meanwhile no code of it is compared."""

    def __init__(self, codes: Mapping[str, str], clock: Callable[[], float] = time.monotonic):
        """codes: the code of each seat."""
        self.codes, self.clock = dict(codes), clock
        self._waits: dict[str, tuple[float, float]] = {}
        """By client: until when it waits, and for how long."""
        self._lock = threading.Lock()

    def enter(self, code: str, client: str = "") -> tuple[str, str]:
        """Return the seat of a code and "", or "" and what to do. The time of comparing says nothing of the codes.

        client: the network address of the browser. Others are not kept waiting by its wrong codes.
        """
        with self._lock:
            until, pause = self._waits.get(client, (-math.inf, 0.0))
            if (left := until - self.clock()) > 0:
                return "", f"A wrong code was given. Wait {math.ceil(left)} s, then try again."
            given = "".join(code.split()).upper().encode("utf-8", "replace")
            right = [seat for seat, seat_code in self.codes.items() if hmac.compare_digest(seat_code.encode(), given)]
            if right:
                self._waits.pop(client, None)
                return right[0], ""
            self._forget()
            pause = min(2 * pause, LONGEST_PAUSE) or FIRST_PAUSE
            self._waits[client] = (self.clock() + pause, pause)
            return "", "This code opens no seat. Look at it again."

    def _forget(self) -> None:
        """Drop clients that have not tried for long, so that their number stays small."""
        old = self.clock() - FORGOTTEN
        self._waits = {client: (until, pause) for client, (until, pause) in self._waits.items() if until > old}


class SeatTable:
    """The people of one run. The page asks it; the run tells it of rounds and of its end."""

    def __init__(self, desks: Mapping[str, Desk], folder: Path, rounds: int, study: str):
        """study: what the page is called for the people in it."""
        self.desks, self.folder, self.rounds, self.study = dict(desks), folder, rounds, study
        self.gate = Gate({seat: new_code() for seat in desks})
        self.round, self.over = 0, False
        self._entered: set[str] = set()
        self._finished = threading.Condition()
        for desk in self.desks.values():
            desk.served = True

    def enter(self, code: str, client: str = "") -> tuple[str, str]:
        """Return the seat of a code, or what to do (`Gate.enter`). Who enters takes the seat again."""
        seat, problem = self.gate.enter(code, client)
        if seat:
            self._entered.add(seat)
            self.desks[seat].come_back(seat)
        return seat, problem

    def view(self, seat: str) -> dict[str, Any]:
        """Return what the holder of a seat sees: state, progress, the question that waits, its own past answers."""
        desk = self.desks[seat]
        waiting, past = desk.questions(seat), desk.past(seat)
        question = waiting[0] if waiting else None
        shown = (
            {"number": question.number, "text": question.text, "answers": list(question.answers)} if question else None
        )
        begun = f"Round {self.round} of {self.rounds}." if self.round else "Before round 1."
        when = "The discussion has ended." if self.over else begun
        return {
            "seat": seat,
            "state": desk.state(seat),
            "progress": f"{when} You have answered {len(past)}; {len(waiting)} waiting for you.",
            "question": shown,
            "past": [list(past_answer) for past_answer in past],
            "over": self.over,
        }

    def finish(self, seat: str) -> None:
        """The holder needs the page no more."""
        with self._finished:
            self._entered.discard(seat)
            self._finished.notify_all()

    def end(self, write: Callable[[str], object], seconds: float = GOODBYE) -> None:
        """Say that the run has ended, and wait until all who have entered are finished, or for so many seconds."""
        self.over = True
        with self._finished:
            if self._entered:
                write(f"seats    the page closes when all holders have pressed Finish, or in {seconds / 60:g} minutes")
            self._finished.wait_for(lambda: not self._entered, seconds)


def new_code() -> str:
    """Return a random code of ten characters, about 49 bits."""
    return "".join(secrets.choice(LETTERS) for _ in range(LENGTH))


def desks_in_page(backend: Backend) -> dict[str, Desk]:
    """Return the desk of each seat whose person answers in the page."""
    voices = backend.voices if isinstance(backend, RoutedBackend) else {}
    return {
        voice: person.desk
        for voice, person in voices.items()
        if isinstance(person, PersonBackend) and isinstance(person.place, Browsers)
    }
