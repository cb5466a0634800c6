"""Every module in environments/ sits the exam; a new one is found here by itself. Last, the exam is shown to fail the bad."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial

import pytest
from data_checks import check_each

from parley.environments import ENVIRONMENTS, environment_class
from parley.environments import _exam as exam
from parley.environments.base import MEDIATOR, Group, Room, Turn
from parley.model.scenario_blocks import FIELD_BLOCKS


@pytest.mark.parametrize("name", ENVIRONMENTS.names())
@check_each("check", exam.CHECKS, ids=lambda check: check.__name__)
def test_environment(name: str, check: Callable[[exam.Kind], None]) -> None:
    """Each check is a sentence that the model relies on when it holds a round."""
    check(environment_class(name))


@pytest.mark.parametrize("name", ENVIRONMENTS.names())
def test_the_manual_page_names_every_option(name: str) -> None:
    """The page of the environment on the site is its module's docstring."""
    kind = environment_class(name)
    page = inspect.getdoc(sys.modules[kind.__module__]) or ""
    assert page.startswith(f"{name}: "), "the page starts with the name and one line"
    listed = [
        line.split()[0]
        for line in page.split("\nOptions\n")[1].splitlines()
        if line.startswith("    ") and line[4] != " "
    ]
    assert listed == [field.name for field in fields(kind)]


@pytest.mark.parametrize("name", ENVIRONMENTS.names())
def test_no_option_is_called_as_a_field_of_a_scenario(name: str) -> None:
    """Both are set by the same word, so that one of them could not be set."""
    assert {field.name for field in fields(environment_class(name))} & set(FIELD_BLOCKS) == set()


def test_exam_is_complete() -> None:
    """A check that is written and not listed would never be sat."""
    written = [
        item
        for item in vars(exam).values()
        if callable(item) and getattr(item, "__annotations__", {}) == {"kind": "Kind", "return": "None"}
    ]
    assert written == exam.CHECKS


MEDIATED = ("private", "loud", "mute", "mixed")


@dataclass(frozen=True)
class Bad:
    """Breaks one promise at a time."""

    fault: str = ""

    def groups(self) -> tuple[Group, ...]:
        seats = () if self.fault == "nobody" else ("democrat",)
        group = Group("a", seats, mediated=self.fault in MEDIATED)
        return {"none": (), "twice": (group,) * 2}.get(self.fault, (group,))

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        if self.fault in MEDIATED:
            yield from self._private(room)
            return
        for speaker in room.seated[self.fault == "silent" :]:
            hearers = tuple(member for member in room.seated if member != speaker or self.fault == "echo")
            yield Turn(speaker, hearers[self.fault == "deaf" :])
        if self.fault == "again":
            yield Turn(room.seated[0], room.seated[1:])

    def _private(self, room: Room) -> Iterator[Turn]:
        for number, speaker in enumerate(room.seated):
            others = tuple(member for member in room.seated if member != speaker)
            form = "critique" if self.fault == "mixed" and number else "opinion"
            yield Turn(speaker, (MEDIATOR, *others) if self.fault == "loud" else (MEDIATOR,), form, together=number > 0)
        if self.fault != "mute":
            yield Turn(MEDIATOR, room.seated, "draft")


@check_each(
    ("fault", "check"),
    [
        ("silent", exam.every_member_speaks_exactly_once_a_round),
        ("again", exam.every_member_speaks_exactly_once_a_round),
        ("echo", exam.hearers_are_exactly_the_others_or_the_mediator_alone),
        ("deaf", exam.hearers_are_exactly_the_others_or_the_mediator_alone),
        ("loud", exam.hearers_are_exactly_the_others_or_the_mediator_alone),
        ("mixed", exam.what_goes_together_is_of_one_form),
        ("mute", exam.a_mediator_speaks_once_and_last_where_there_is_one),
        ("none", exam.groups_have_people_and_names_of_their_own),
        ("nobody", exam.groups_have_people_and_names_of_their_own),
        ("twice", exam.groups_have_people_and_names_of_their_own),
    ],
)
def test_the_exam_can_fail(monkeypatch: pytest.MonkeyPatch, fault: str, check: Callable[[exam.Kind], None]) -> None:
    """An exam that everybody passes protects nothing."""
    monkeypatch.setattr(exam, "get_type_hints", lambda kind, include_extras=False: {})
    with pytest.raises(AssertionError):
        check(partial(Bad, fault))
    fine = partial(Bad, "private" if fault in MEDIATED else "")
    exam.CHECKS[0](fine)  # without a fault it speaks, hears and sits as it should: the fault is what was found
    exam.CHECKS[1](fine)
    exam.groups_have_people_and_names_of_their_own(fine)
