"""Every module in environments/ sits the exam; a new one is found here by itself. Last, the exam is shown to fail the bad."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import pytest

from environments import names
from environments.base import Group, Room, Turn

from . import exam


@pytest.mark.parametrize("check", exam.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", names())
def test_environment(name: str, check: Callable[[str], None]) -> None:
    """Each check is a sentence that the model relies on when it holds a round."""
    check(name)


def test_exam_is_complete() -> None:
    """A check that is written and not listed would never be sat."""
    written = [
        item
        for item in vars(exam).values()
        if callable(item) and getattr(item, "__annotations__", {}) == {"name": "str", "return": "None"}
    ]
    assert written == exam.CHECKS


@dataclass(frozen=True)
class Bad:
    """Breaks one promise at a time."""

    fault: str = ""

    def groups(self) -> tuple[Group, ...]:
        seats = () if self.fault == "nobody" else ("democrat",)
        return {"none": (), "twice": (Group("a", seats),) * 2}.get(self.fault, (Group("a", seats),))

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for speaker in room.seated[self.fault == "silent" :]:
            hearers = tuple(member for member in room.seated if member != speaker or self.fault == "echo")
            yield Turn(speaker, hearers[self.fault == "deaf" :])
        if self.fault == "again":
            yield Turn(room.seated[0], room.seated[1:])


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("silent", exam.every_member_speaks_exactly_once_a_round),
        ("again", exam.every_member_speaks_exactly_once_a_round),
        ("echo", exam.hearers_are_exactly_the_others),
        ("deaf", exam.hearers_are_exactly_the_others),
        ("none", exam.groups_have_people_and_names_of_their_own),
        ("nobody", exam.groups_have_people_and_names_of_their_own),
        ("twice", exam.groups_have_people_and_names_of_their_own),
        ("", exam.manual_page_names_every_option),
    ],
)
def test_the_exam_can_fail(monkeypatch: pytest.MonkeyPatch, fault: str, check: Callable[[str], None]) -> None:
    """An exam that everybody passes protects nothing."""
    module = ModuleType("environments.bad")
    monkeypatch.setitem(sys.modules, "environments.bad", module)
    monkeypatch.setattr(exam, "environment_class", lambda name: lambda: Bad(fault))
    monkeypatch.setattr(exam, "get_type_hints", lambda kind: {})
    with pytest.raises(AssertionError):
        check("bad")
    monkeypatch.setattr(exam, "environment_class", lambda name: Bad)
    exam.CHECKS[0]("bad")  # without a fault it speaks, hears and sits as it should: the fault is what was found
    exam.CHECKS[1]("bad")
    exam.groups_have_people_and_names_of_their_own("bad")
