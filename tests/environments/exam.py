"""The exam of an environment: what `environments.base.Environment` promises. Each check takes the name of a module.

A new module in environments/ sits it by being there: its dataclass is made with its defaults and, for every option that is a
closed choice (a Literal), with each value of that choice.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from environments import environment_class
from environments.base import MEDIATOR, Environment, Group, Room, Turn, waves

SIZES, ROUNDS = range(1, 7), range(1, 6)


def variants(name: str) -> Iterator[Environment]:
    """The environment with its defaults, and once for each value of each closed choice."""
    kind = environment_class(name)
    yield kind()
    for option, hint in get_type_hints(kind).items():
        if get_origin(hint) is Literal:
            yield from (kind(**{option: value}) for value in get_args(hint))


def room(size: int) -> Room:
    """A room of `size` people with numbers that are no positions; every reshuffle is the same other order."""
    seated = tuple(range(11, 11 + 3 * size, 3))
    turned = seated[size // 2 :] + seated[: size // 2]
    return Room(seated, turned[::-1], lambda: turned)


def rounds(name: str) -> Iterator[tuple[Environment, Room, int, list[Turn]]]:
    """Every variant in rooms of every size, round by round."""
    for environment in variants(name):
        for size in SIZES:
            for round_ in ROUNDS:
                place = room(size)
                yield environment, place, round_, list(environment.turns(place, round_))


def every_member_speaks_exactly_once_a_round(name: str) -> None:
    for environment, place, round_, turns in rounds(name):
        spoken = sorted(turn.speaker for turn in turns if turn.speaker != MEDIATOR)
        assert spoken == sorted(place.seated), (environment, round_)


def a_mediator_speaks_once_and_last_where_there_is_one(name: str) -> None:
    for environment, _, round_, turns in rounds(name):
        mediated = any(group.mediated for group in environment.groups())
        assert [turn.speaker for turn in turns].count(MEDIATOR) == mediated, (environment, round_)
        assert mediated == (turns[-1].speaker == MEDIATOR)


def hearers_are_exactly_the_others_or_the_mediator_alone(name: str) -> None:
    """Whoever sits with a mediator is heard by it alone, and it by everybody; at other tables everybody hears everybody."""
    for environment, place, _, turns in rounds(name):
        mediated = any(group.mediated for group in environment.groups())
        for turn in turns:
            if mediated and turn.speaker != MEDIATOR:
                assert turn.hearers == (MEDIATOR,), (environment, turn)
            else:
                heard = {*turn.hearers, turn.speaker} - {MEDIATOR}
                assert sorted(heard) == sorted(place.seated), (environment, turn)
                assert len(turn.hearers) == len(set(turn.hearers))
                assert turn.speaker not in turn.hearers, (environment, turn)


def what_goes_together_is_of_one_form(name: str) -> None:
    """Turns that are asked at once are asked for the same, and hear nothing of each other."""
    for _, _, _, turns in rounds(name):
        assert not turns[0].together
        for wave in waves(turns):
            assert len({turn.form for turn in wave}) == 1
            speakers = {turn.speaker for turn in wave}
            assert not any(speakers & set(turn.hearers) for turn in wave), wave


def turns_are_plain_turns(name: str) -> None:
    for _, _, _, turns in rounds(name):
        assert all(type(turn) is Turn and type(turn.hearers) is tuple for turn in turns)


def same_room_and_round_give_the_same_turns(name: str) -> None:
    for environment, place, round_, turns in rounds(name):
        assert list(environment.turns(place, round_)) == turns, environment


def rooms_do_not_disturb_each_other(name: str) -> None:
    """All rooms advance side by side, so two iterators of one environment are drawn from in turns."""
    for environment in variants(name):
        first, second = environment.turns(room(4), 1), environment.turns(room(4), 2)
        mixed = list(zip(first, second, strict=True))
        assert [turn for turn, _ in mixed] == list(environment.turns(room(4), 1))
        assert [turn for _, turn in mixed] == list(environment.turns(room(4), 2))


def groups_have_people_and_names_of_their_own(name: str) -> None:
    for environment in variants(name):
        groups = environment.groups()
        assert groups, environment
        assert len({group.name for group in groups}) == len(groups), environment
        for group in groups:
            assert type(group) is Group
            assert group.name
            assert group.seats, environment
            assert all(type(party) is str and party for party in group.seats)
            assert "/" not in group.name, "a group's name is a part of its room's"


def groups_are_the_same_every_time(name: str) -> None:
    for environment in variants(name):
        assert environment.groups() == environment.groups()


def options_are_a_frozen_dataclass_with_defaults(name: str) -> None:
    kind = environment_class(name)
    environment = kind()
    assert is_dataclass(kind)
    assert pickle.loads(pickle.dumps(environment)) == environment
    for field in fields(kind):
        with pytest.raises(FrozenInstanceError):
            setattr(environment, field.name, getattr(environment, field.name))


def empty_lists_are_refused(name: str) -> None:
    """Nobody to seat is told at once (ValueError: the scenario makes one line of it), not as an empty table of results."""
    kind = environment_class(name)
    for option, hint in get_type_hints(kind).items():
        if get_origin(hint) is tuple:
            with pytest.raises(ValueError, match=option[:4]):
                kind(**{option: ()})


def manual_page_names_every_option(name: str) -> None:
    module: Any = importlib.import_module(f"environments.{name}")
    page = inspect.getdoc(module) or ""
    assert page.startswith(f"{name}: "), "the page starts with the name and one line"
    assert "\nOptions\n" in page
    listed = [
        line.split()[0]
        for line in page.split("\nOptions\n")[1].splitlines()
        if line.startswith("    ") and line[4] != " "
    ]
    assert listed == [field.name for field in fields(environment_class(name))]


def module_defines_one_environment(name: str) -> None:
    module = importlib.import_module(f"environments.{name}")
    own = [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == module.__name__]
    assert [kind for kind in own if hasattr(kind, "turns")] == [environment_class(name)]


CHECKS: list[Callable[[str], None]] = [
    every_member_speaks_exactly_once_a_round,
    a_mediator_speaks_once_and_last_where_there_is_one,
    hearers_are_exactly_the_others_or_the_mediator_alone,
    what_goes_together_is_of_one_form,
    turns_are_plain_turns,
    same_room_and_round_give_the_same_turns,
    rooms_do_not_disturb_each_other,
    groups_have_people_and_names_of_their_own,
    groups_are_the_same_every_time,
    options_are_a_frozen_dataclass_with_defaults,
    empty_lists_are_refused,
    manual_page_names_every_option,
    module_defines_one_environment,
]
