"""What each order of speaking means, and who is seated in which group: the conditions of an experiment, by hand."""

from __future__ import annotations

from typing import get_args

import pytest
from data_checks import check_each

from parley.environments.base import Group, Order, Room, speaking_order
from parley.environments.groups import Groups
from parley.environments.round_table import RoundTable
from parley.llm.seeding import stream

SEATED = (5, 8, 3, 9)


def room(shuffled: tuple[int, ...] = (3, 9, 8, 5), *redrawn: tuple[int, ...]) -> Room:
    """Four people; `redrawn` are the orders that reshuffling gives, one a call, and no further call is allowed."""
    orders = iter(redrawn)
    return Room(SEATED, shuffled, lambda: next(orders))


@check_each(
    ("order", "spoken"),
    [
        ("fixed", (5, 8, 3, 9)),
        ("random", (3, 9, 8, 5)),
        ("random_first", (3, 9, 5, 8)),
        ("random_second", (9, 5, 8, 3)),
        ("reshuffled", (9, 5, 3, 8)),
    ],
)
def test_each_order(order: Order, spoken: tuple[int, ...]) -> None:
    """Drawn once: the whole order, or only who starts; drawn anew; or not drawn at all."""
    assert tuple(speaking_order(room((3, 9, 8, 5), (9, 5, 3, 8)), order)) == spoken


@check_each("order", ["fixed", "random", "random_first", "random_second"])
def test_only_reshuffled_draws_again(order: Order) -> None:
    """Round after round the same order, and the room's stream is left alone (`room()` allows no draw)."""
    table, place = RoundTable(order=order), room()
    assert [list(table.turns(place, round_)) for round_ in (2, 3)] == [list(table.turns(place, 1))] * 2


def test_reshuffled_draws_once_a_round() -> None:
    """One draw a round, used in the order of the rounds."""
    place = room((3, 9, 8, 5), (9, 5, 3, 8), (8, 3, 5, 9))
    spoken = [tuple(turn.speaker for turn in RoundTable(order="reshuffled").turns(place, round_)) for round_ in (1, 2)]
    assert spoken == [(9, 5, 3, 8), (8, 3, 5, 9)]


@check_each("first", SEATED)
def test_random_first_is_a_round_robin_from_any_seat(first: int) -> None:
    """Neighbours stay neighbours (001, 4.3: round robin, the initial speaker random)."""
    others = tuple(member for member in SEATED if member != first)
    spoken = tuple(speaking_order(room((first, *others)), "random_first"))
    start = SEATED.index(first)
    assert spoken == SEATED[start:] + SEATED[:start]


def test_random_first_lets_everybody_start() -> None:
    """Over fair shuffles each of four seats starts about a quarter of the time (seeded: 4 sd around 250 of 1000)."""
    drawn = stream(1, "test")
    starts = [speaking_order(room(tuple(drawn.sample(SEATED, 4))), "random_first")[0] for _ in range(1000)]
    assert all(195 < starts.count(member) < 305 for member in SEATED)


def test_an_unknown_order_is_no_silent_default() -> None:
    """A misspelt order must not pass for the fixed one; the message lists those there are."""
    with pytest.raises(
        ValueError, match="order is 'randm', but must be one of random_first, random_second, random, reshuffled, fixed"
    ):
        speaking_order(room(), "randm")  # type: ignore[arg-type]


@check_each("order", get_args(Order))
def test_hearers_come_in_seat_order(order: Order) -> None:
    """Whoever speaks, the words go round the table in seat order: a record can be compared line by line."""
    for turn in RoundTable(order=order).turns(room((3, 9, 8, 5), (9, 5, 3, 8)), 1):
        assert turn.hearers == tuple(member for member in SEATED if member != turn.speaker)


@check_each("order", get_args(Order))
def test_groups_take_turns_as_a_round_table(order: Order) -> None:
    """An echo chamber is a round table of one party, in every order."""
    seats, table = Groups(order=order), RoundTable(order=order)
    place = room((3, 9, 8, 5), (9, 5, 3, 8), (9, 5, 3, 8))
    assert list(seats.turns(place, 1)) == list(table.turns(place, 1))


def test_round_table_seats() -> None:
    """One group, in the order in which the seats are named."""
    assert RoundTable().groups() == (Group("first+second+default", ("first", "second", "default")),)
    assert RoundTable(("default",)).groups() == (Group("default", ("default",)),)


@check_each(
    ("arm", "named"),
    [
        ("with", ["first+first+default", "second+second+default"]),
        ("without", ["first+first", "second+second"]),
        (
            "both",
            [
                "first+first+default",
                "second+second+default",
                "first+first",
                "second+second",
            ],
        ),
    ],
)
def test_arms_of_the_echo_chamber(arm: str, named: list[str]) -> None:
    """With, without, or both side by side (001, Figs 5, 8 and 9); the Default has the last seat."""
    groups = Groups(default_agent=arm).groups()  # type: ignore[arg-type]
    assert [group.name for group in groups] == named
    assert ["+".join(group.seats) for group in groups] == named


def test_size_counts_the_party_alone() -> None:
    """`size` is the members of the party; the Default comes on top."""
    assert Groups(("democrat",), 3).groups() == (
        Group("democrat+democrat+democrat+default", ("democrat",) * 3 + ("default",)),
    )


@check_each("options", [{"size": 0}, {"size": -1}, {"parties": ()}, {"parties": ("democrat", "democrat")}])
def test_groups_that_cannot_be_are_refused(options: dict) -> None:
    """No one to seat, or two groups that no table could tell apart."""
    with pytest.raises(ValueError, match="part"):
        Groups(**options)
