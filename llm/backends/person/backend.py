"""People as a backend: requests go to a desk, and their replies come when a person has answered or counts as away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from parley.llm.backends.person.desk import Desk
from parley.llm.driver import complete_all
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request

MOST = 4096
"""Questions that may wait at a time."""
LOOK = 0.5
"""Seconds between two looks at the desk, so that an interrupt is seen."""


class Place(Protocol):
    """Where people sit."""

    def look(self, seconds: float) -> None:
        """Let answers reach the desk, for at most so long; return as soon as one has."""


class Browsers:
    """People who answer in a page; the threads of its server reach the desk by themselves."""

    def __init__(self, desk: Desk):
        self.desk = desk
        desk.served = False

    def look(self, seconds: float) -> None:
        """Errors: UserError where nothing serves the page."""
        if not self.desk.served:
            raise UserError("at=page only works with python run.py --scenario: use at=terminal here")
        self.desk.wait_for_answer(seconds)


class PersonBackend:
    """A network backend whose replies come from people. One desk serves all seats with the same spec."""

    in_flight = MOST

    def __init__(self, desk: Desk, place: Place):
        self.desk, self.place = desk, place
        self._flying = 0

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "person"}

    def seedless(self, request: Request) -> bool:
        return False

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return complete_all(self, requests)

    def send(self, requests: Sequence[Request]) -> None:
        self.place.look(0)  # a person who is back takes this question
        self.desk.put(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        landed = self.desk.take()
        while not landed:
            patience = self.desk.patience()
            self.place.look(min(LOOK, LOOK if patience is None else patience) if wait else 0)
            landed = self.desk.take()
            if not wait:
                break
        return landed
