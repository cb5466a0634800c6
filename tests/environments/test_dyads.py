"""Talks two by two: everybody meets everybody, a pair alone hears, posts are asked for at once."""

from __future__ import annotations

import itertools

import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

from parley.environments.base import Room, concurrent_turns
from parley.environments.dyads import POST, TALK, Dyads, pairs, partners


def turns(round_: int, **options: object) -> list:
    ids = (11, 12, 13, 14)
    return list(Dyads(**options).turns(Room(ids, (13, 11, 14, 12), lambda: ids), round_))


@given(st.integers(1, 8), st.integers(0, 3))
def test_everybody_meets_everybody_once_before_anybody_twice(half: int, laps: int) -> None:
    """Rounds 1 to n - 1 hold every pair exactly once, and so does every later lap of as many rounds."""
    ids = range(2 * half)
    rounds = range(laps * (2 * half - 1) + 1, (laps + 1) * (2 * half - 1) + 1)
    met = [frozenset(pair) for round_ in rounds for pair in pairs(ids, round_)]
    assert len(met) == len(set(met))
    assert set(met) == {frozenset(pair) for pair in itertools.combinations(ids, 2)}


@given(st.integers(1, 8), st.integers(1, 20))
def test_nobody_sits_out_and_the_speaking_order_tells_the_pairs(half: int, round_: int) -> None:
    """What analysis reads out of a record is who talked with whom."""
    found = pairs(range(2 * half), round_)
    spoken = [one for one, _ in found] + [other for _, other in found]
    assert sorted(spoken) == list(range(2 * half))
    assert partners(spoken * 3) == {one: other for pair in found for one, other in (pair, pair[::-1])}


def test_four_people_by_hand() -> None:
    """Drawn order 13 11 14 12: first 13 with 12 and 11 with 14; the pair alone hears, both pairs at once, three times each."""
    talk = [turn for turn in turns(1) if turn.form == TALK]
    assert [(turn.speaker, turn.hearers) for turn in talk[:4]] == [(13, (12,)), (11, (14,)), (12, (13,)), (14, (11,))]
    assert [len(wave) for wave in concurrent_turns(talk)] == [2] * 6
    assert {frozenset((turn.speaker, *turn.hearers)) for turn in turns(2) if turn.form == TALK} == {
        frozenset({13, 11}),
        frozenset({12, 14}),
    }


@pytest.mark.parametrize(("posts", "readers"), [("partner", {(12,), (14,), (11,), (13,)}), ("none", set())])
def test_who_reads_a_post(posts: str, readers: set) -> None:
    """All are written at once, before the talk; of the partner of the round, the whole room, or not at all."""
    written = [turn for turn in turns(1, posts=posts) if turn.form == POST]
    assert {turn.hearers for turn in written} == readers
    everybody = [turn for turn in turns(1, posts="room") if turn.form == POST]
    assert [len(turn.hearers) for turn in everybody] == [3] * 4
    assert [len(wave) for wave in concurrent_turns(everybody)] == [4]


@check_each("options", [{"seats": ("democrat",) * 3}, {"seats": ()}, {"exchanges": 0}])
def test_an_odd_one_out_is_refused(options: dict) -> None:
    with pytest.raises(ValueError, match=r"even number|exchanges"):
        Dyads(**options)
