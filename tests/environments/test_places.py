"""Who sits where, when people meet in several places, and how stages share the rounds."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.environments.place_kinds import PLACES, dealt
from parley.environments.places import Places, parse_stages, seated
from parley.environments.topologies import split_outside, topology_text
from parley.llm.errors import UserError


def test_a_text_and_a_table_and_python_give_the_same_stages() -> None:
    """The three ways to write stages mean the same."""
    text = "rooms,size=4 + network,graph='ring,degree=4' [rounds=2, topic=racism] > echo"
    first = {"rounds": 2, "topic": "racism"}
    tables = [{"topology": "rooms,size=4 + network,graph='ring,degree=4'", **first}, {"topology": "echo"}]
    python = [{"topology": {"rooms": {"size": 4}, "network": {"graph": "ring,degree=4"}}, **first}, {"echo": {}}]
    stages = parse_stages(text)
    assert stages == parse_stages(topology_text(tables)) == parse_stages(topology_text(python))
    assert [place.kind for place in stages[0].places] == ["rooms", "network"]
    assert (stages[0].rounds, stages[0].topic, stages[1].rounds) == (2, "racism", 0)


def test_a_topic_in_one_line_with_commas_is_the_topic_of_a_stage() -> None:
    line = "Should cities, by 2030, ban cars [from centres]?"
    (stage,) = parse_stages(topology_text([{"topology": "rooms", "topic": line}]))
    assert stage.topic == line


def test_a_mark_inside_brackets_and_quotes_does_not_split() -> None:
    assert split_outside("a,b=(c + d) + e,f='g + h'", "+") == ["a,b=(c + d) ", " e,f='g + h'"]


@pytest.mark.parametrize(
    ("stages", "problem"),
    [
        ("room", "unknown place 'room': did you mean rooms"),
        ("rooms,sise=4", "did you mean size"),
        ("network + medium", "a stage can have one network or medium, not"),
        ([{"topology": "rooms", "round": 2}], "unknown field of a stage 'round': did you mean rounds"),
        ([{"topology": "rooms", "away": 1.5}], "away is 1.5, but must be between 0 and 0.95"),
        ("rooms,share=0", "share is 0, so nobody is in this place"),
        ("rooms,size=1", "size is 1, but must be between 2"),
        ("rooms [rounds=2, topc=racism]", "unknown field of a stage 'topc': did you mean topic"),
        ("rooms [rounds=two]", "rounds is 'two', but must be a whole number"),
        ("rooms [rounds]", "has no value"),
        ("rooms [rounds=2] [topic=racism]", "one pair of brackets"),
        ([], "a list of stages"),
        ([3], "a text or a table"),
    ],
)
def test_a_wrong_stage_is_refused_in_one_line(stages: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_stages(topology_text(stages))


def test_people_too_few_for_a_place_are_refused_before_a_run() -> None:
    """Six people cannot have ten neighbours each."""
    with pytest.raises(ValueError, match="smaller degree"):
        Places("rooms + network,graph='ring,degree=10'", size=6)


@given(
    st.lists(st.sampled_from(["red", "blue", "green"]), min_size=1, max_size=40), st.integers(2, 9), st.integers(0, 99)
)
def test_everybody_has_one_seat_and_tables_differ_by_one_person(parties: list[str], size: int, seed: int) -> None:
    """Nobody is lost or seated twice, and no table is smaller than asked while there are people enough."""
    people = dict(enumerate(parties, 1))
    for seating in ("mixed", "random"):
        tables = dealt(people, size, seating, Random(seed))
        assert sorted(person for table in tables for person in table) == list(people)
        lengths = [len(table) for table in tables]
        assert max(lengths) - min(lengths) <= 1
        assert min(lengths) >= min(size, len(people))
        assert all(list(table) == sorted(table) for table in tables), "seat order"


def test_mixed_tables_have_their_share_of_each_party_and_echo_tables_one_party() -> None:
    people = {person: "red" if person % 2 else "blue" for person in range(1, 41)}
    mixed = dealt(people, 4, "mixed", Random(1))
    assert {tuple(sorted(Counter(people[person] for person in table).values())) for table in mixed} == {(2, 2)}
    echo = PLACES.get("echo,size=5").seat_people(people, Random(1))
    assert all(len({people[person] for person in table}) == 1 for table in echo)
    assert len(echo) == 8


def test_a_place_invites_a_party_and_a_share() -> None:
    people = {person: "red" if person % 2 else "blue" for person in range(1, 41)}
    (table,) = seated(PLACES.get("network,who=red,share=0.5"), people, ("red",), Random(1))
    assert len(table) == 10
    assert {people[person] for person in table} == {"red"}


@pytest.mark.parametrize(
    ("rounds", "total", "spans"),
    [
        ((0,), 3, [(1, 3)]),
        ((0, 0), 5, [(1, 3), (4, 5)]),
        ((2, 0), 5, [(1, 2), (3, 5)]),
        ((2, 1), 3, [(1, 2), (3, 3)]),
        ((2, 1), 1, [(1, 1)]),
        ((2, 0), 2, [(1, 2)]),
        ((2, 1), 0, [(1, 0)]),
    ],
)
def test_stages_follow_each_other_on_one_clock(
    rounds: tuple[int, ...], total: int, spans: list[tuple[int, int]]
) -> None:
    plan = Places(topology_text([{"topology": "rooms", "rounds": number} for number in rounds])).plan(total)
    assert [(span.first, span.last) for span in plan] == spans


def test_more_rounds_than_the_stages_have_are_refused_with_the_number_that_fits() -> None:
    with pytest.raises(ValueError, match="set rounds=3"):
        Places("rooms [rounds=2] > rooms [rounds=1]").plan(4)
