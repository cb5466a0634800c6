"""A person who sits in a run: `--llm SEAT=person` asks a human what a model in that seat would be asked.

desk.py      the questions that wait for people, and their answers
backend.py   the desk as a backend, and what happens when a person is away
terminal.py  a seat at the command line, or a file of answers in place of a person
"""

from __future__ import annotations

from pathlib import Path

from parley.llm.backends.person.backend import Browsers, PersonBackend, Place
from parley.llm.backends.person.desk import Desk
from parley.llm.backends.person.terminal import Terminal
from parley.llm.errors import UserError

TERMINAL, PAGE = "terminal", "page"
MANNER = ("at", "wait", "consent")
AWAY_AFTER = 900.0
"""Seconds without an answer after which a person counts as away."""


def open_backend(*, at: str = TERMINAL, wait: float = AWAY_AFTER, consent: str = "") -> PersonBackend:
    """Open `--llm SEAT=person`.

    at: `terminal`, `page`, or a text file with one answer per line, which replaces a person.
    wait: seconds without a sign of the person after which the person is away. consent: a text file in place of the consent text.
    """
    check_options(at=at, wait=wait, consent=consent)
    desk = Desk(wait)
    place: Place = Browsers(desk) if at == PAGE else Terminal(desk, None if at == TERMINAL else Path(at))
    return PersonBackend(desk, place)


def check_options(*, at: str = TERMINAL, wait: float = AWAY_AFTER, consent: str = "", **others: object) -> None:
    """Errors: UserError for a file that does not exist, and for a time that is not above 0."""
    if at not in (TERMINAL, PAGE) and not Path(at).is_file():
        raise UserError(f"at={at}: write at=terminal, at=page, or the path of a file with one answer per line")
    if consent and not Path(consent).is_file():
        raise UserError(f"consent={consent} is not a file: give a text file, or leave out consent")
    if not 0 < wait < float("inf"):
        raise UserError(f"wait={wait:g}: the seconds after which a person counts as absent must be above 0")
