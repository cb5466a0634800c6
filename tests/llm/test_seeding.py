"""Names of random streams and digests: unambiguous, and the same on every machine and in every release."""

from __future__ import annotations

import json

from hypothesis import assume, given
from hypothesis import strategies as st

from parley.llm.seeding import SEED_BITS, derive, digest, seed_deriver, stream

from .conftest import any_text

close = st.lists(st.text('a",[]\\:0 ', max_size=4), max_size=4)
"""Lists of parts that look like each other's separators."""
parts = st.recursive(any_text | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3), max_leaves=6)


@given(st.one_of(close, st.lists(parts, max_size=3)), st.one_of(close, st.lists(parts, max_size=3)))
def test_digest_is_unambiguous(one: list[object], other: list[object]) -> None:
    """Two questions that share a key would share an answer. Only a surrogate pair and its character are one, as in JSON."""
    one, other = json.loads(json.dumps([one, other]))
    assert (digest(*one) == digest(*other)) == (one == other)


@given(close.filter(bool), st.data())
def test_digest_tells_where_a_part_ends(said: list[str], data: st.DataObject) -> None:
    """The same characters cut elsewhere are something else."""
    whole = "".join(said)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=len(said) - 1, max_size=len(said)), "cuts"))
    again = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assume(again != said)
    assert digest(*again) != digest(*said)


@given(
    st.integers(), st.lists(any_text, max_size=2), st.lists(st.one_of(any_text, st.integers()), min_size=1, max_size=3)
)
def test_streams_beneath_a_name_are_those_of_the_whole_name(seed: int, name: list[str], rest: list[int | str]) -> None:
    """The short way gives the same seeds, again and again, or records would not be what they were."""
    derived = seed_deriver(seed, *name)
    assert [derived(*rest), derived(*rest)] == [derive(seed, *name, *rest)] * 2


def test_digest_tells_type_and_depth() -> None:
    assert len({digest(1), digest("1"), digest([1]), digest(1, None), digest("a", "b"), digest(["a", "b"])}) == 6


def test_digest_stays_as_it_is() -> None:
    """A false alarm costs nothing; a missed one makes every journal in the world unreadable. U+1FAE8 is new in Python 3.12."""
    assert digest("ab", "c", 1, 0.5, None, "\U0001fae8\ud800").hex() == DIGEST
    assert derive(1, "speech", "room 3", 2) == SEED


def test_streams_do_not_shift_each_other() -> None:
    """A new draw in one stream leaves every other stream as it was."""
    alone = [stream(1, "b").random() for _ in range(3)]
    other, this = stream(1, "a"), stream(1, "b")
    other.random()
    assert this.random() == alone[0]
    assert len({stream(seed, name).random() for seed in range(20) for name in "abc"}) == 60


@given(st.integers(), st.lists(any_text | st.integers(), max_size=3))
def test_seeds_fit_every_endpoint(seed: int, name: list[object]) -> None:
    assert 0 <= derive(seed, *name) < 2**SEED_BITS
    assert derive(seed, *name) == derive(seed, *name)


def test_seeds_spread_over_the_whole_range() -> None:
    drawn = [derive(1, number) for number in range(2000)]
    assert len(set(drawn)) >= 1999
    assert abs(sum(drawn) / len(drawn) / 2**31 - 0.5) < 0.03


DIGEST = "15cca5d619e2588272f7569ac1aab83c"
SEED = 1970758471
