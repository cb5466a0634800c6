"""Which posts a reader is shown: each recommender by hand on a few posts, and whose posts can be shown at all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from data_checks import check_each

from parley.environments._social_graph import Links, Post, SocialGraph
from parley.environments.base import Room
from parley.environments.platform import Platform
from parley.environments.recommenders import RECOMMENDERS, Bridging

ATTITUDES = {1: 4.0, 2: 9.0, 3: 6.5, 4: 4.5, 5: None}
LIKENESS = {11: 0.1, 12: 0.9, 13: 0.4, 14: 0.0}


def society(
    pairs: Sequence[tuple[int, int]], *posts: Post, attitudes: Mapping[int, float | None] = ATTITUDES
) -> SocialGraph:
    def draw(*name: object) -> random.Random:
        return random.Random(repr(name))

    def likeness(reader: int, iterations: Sequence[int]) -> list[float]:
        return [LIKENESS.get(one, 0.0) for one in iterations]

    found = SocialGraph(Links(range(1, 6), pairs), attitudes.get, draw, likeness=likeness)
    found.wall.keep(posts, 0)
    return found


def posts() -> list[Post]:
    """By 2, 3, 4 and 5, of rounds 2, 3, 1 and 3."""
    return [Post(11, 2, 2, 100), Post(12, 3, 3, -5), Post(13, 4, 1, 32), Post(14, 5, 3)]


def shown(found: SocialGraph, reader: int = 1, **options: object) -> tuple[int, ...]:
    """The feed of a reader in round 4."""
    people = tuple(found.links.hears)
    platform = Platform(size=5, graph="complete", **options)  # type: ignore[arg-type]
    feeds = {feed.reader: feed for feed in platform.feeds(Room(people, people, lambda: people, found), 4)}
    return feeds[reader].iterations


@check_each(
    ("recommender", "expected"),
    [
        ("chronological", (11, 13)),
        ("hot", (11, 13)),
        ("interest", (12, 13, 11, 14)),
        ("homophilous", (13, 12, 11, 14)),
        ("affinity", (13, 11, 12)),
    ],
)
def test_each_recommender_by_hand(recommender: str, expected: tuple[int, ...]) -> None:
    """Reader 1 has attitude 4; 5 has none. Hot: 2 + 2 > 0 + 1.5 + 1 > 3 > 3 - 0.7. Affinity: 2 for 4, -1 for 3."""
    found = society([], *posts())
    found.wall.liked[1] = Counter({4: 2, 3: -1, 5: -2})
    feed = shown(found, recommender=recommender, reach="all", length=4)
    if recommender == "chronological":
        assert feed[2:] == expected
        assert set(feed[:2]) == {12, 14}
    elif recommender == "hot":
        assert feed[0] == 11
        assert feed.index(13) < feed.index(12)
    else:
        assert feed[: len(expected)] == expected


def test_bridging_prefers_what_both_camps_like() -> None:
    """1 and 4 are below 5, 2 and 3 above. A like of each camp: (2/3)² = .444; two of one: 3/4 · 1/2 = .375; none: .25."""
    both, one, none = Post(21, 5, 1), Post(22, 5, 1), Post(23, 5, 1)
    both.vote(4, 1), both.vote(2, 1)
    one.vote(2, 1), one.vote(3, 1)
    found = society([], both, one, none)
    assert [Bridging().consensus(found, post) for post in (both, one, none)] == pytest.approx([4 / 9, 3 / 8, 1 / 4])
    assert shown(found, recommender="bridging", reach="all") == (21, 22, 23)
    one.vote(3, -1)
    assert Bridging().consensus(found, one) == pytest.approx(2 / 4 / 2)
    assert one.votes == 0


def test_a_later_vote_replaces_an_earlier_one() -> None:
    post = Post(1, 2, 1)
    assert [post.vote(3, 1), post.vote(3, -1), post.vote(3, -1)] == [1, -2, 0]
    assert post.votes == -1


def test_random_orders_differ_between_readers_and_rounds_and_are_the_same_again() -> None:
    many = [Post(number, 5, 1) for number in range(100, 130)]
    found = society([], *many)
    first = shown(found, 1, recommender="random", reach="all", length=30)
    assert first == shown(found, 1, recommender="random", reach="all", length=30)
    assert first != shown(found, 2, recommender="random", reach="all", length=30)
    assert set(first) == {post.iteration for post in many}


def test_followed_posts_come_from_authors_sharers_and_repliers() -> None:
    """1 follows 2 alone: it is shown 2's post, what 2 shared of 3, and 4's reply to its own post; not 5's post."""
    own, reply, shared = Post(10, 1, 1), Post(13, 4, 2, parent=10), Post(12, 3, 2, reposts={2: 3})
    found = society([(1, 2)], own, Post(11, 2, 2), shared, reply, Post(14, 5, 3))
    assert set(shown(found, recommender="chronological", length=9)) == {11, 12, 13}
    assert set(shown(found, recommender="chronological", length=9, reach="all")) == {11, 12, 13, 14}
    found.wall.muted[1] = {2}
    assert shown(found, recommender="chronological", length=9) == (13,)


def test_the_carrier_is_the_author_or_the_latest_sharer_whom_one_follows() -> None:
    found = society([(1, 2), (1, 4)], Post(12, 3, 1, reposts={2: 2, 4: 3, 5: 3}), Post(11, 2, 1, reposts={4: 2}))
    people = (1, 2, 3, 4, 5)
    platform = Platform(size=5, graph="complete", recommender="chronological")
    feed = next(feed for feed in platform.feeds(Room(people, people, lambda: people, found), 4) if feed.reader == 1)
    assert dict(zip(feed.iterations, feed.carriers, strict=True)) == {12: 4, 11: 2}


def test_out_of_network_mixes_strangers_by_words_with_the_newest_of_friends() -> None:
    """1 follows 3 and 4 (posts 12 and 13). Half of four places: the strangers' 11 before 14; with share=0, strangers fill up."""
    found = society([(1, 3), (1, 4)], *posts())
    assert shown(found, recommender="out_of_network", length=4) == (12, 13, 11, 14)
    assert shown(found, recommender="out_of_network", length=2) == (12, 11)
    assert shown(found, recommender="out_of_network,share=0", length=2) == (12, 13)
    assert shown(found, recommender="out_of_network,share=1", length=1) == (11,)


def test_a_shared_post_stays_as_long_as_a_new_one() -> None:
    found = society([], Post(1, 2, 1, reposts={3: 4}), Post(2, 2, 1))
    found.wall.keep([], since=3)
    assert set(found.wall.posts) == {1}


def test_every_recommender_ranks_without_likes_ratings_or_words() -> None:
    """At the start nothing is known, and every feed is still full."""
    for name in RECOMMENDERS.names():
        found = society([(1, 2)], *posts(), attitudes={})
        assert len(shown(found, recommender=name, reach="all", length=3)) == 3, name
