"""What a networked room knows of itself: its links, its wall, the attitudes of its people, and where its draws come
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

Pairs = tuple[tuple[int, int], ...]
"""Links: (source, target) where the source hears the target. An undirected link stands there both ways."""


class Links:
    """Who hears whom: `hears[a]` are those whom a hears, `heard_by[b]` those who hear b (keys, in the order of the
    links).
    """

    def __init__(self, members: Iterable[int], pairs: Iterable[tuple[int, int]]):
        hears: dict[int, list[int]] = {member: [] for member in members}
        heard_by: dict[int, list[int]] = {member: [] for member in hears}
        for source, target in pairs:  # a million of them in a second: lists first
            hears[source].append(target)
            heard_by[target].append(source)
        self.hears: dict[int, dict[int, None]] = {member: dict.fromkeys(others) for member, others in hears.items()}
        self.heard_by: dict[int, dict[int, None]] = {
            member: dict.fromkeys(others) for member, others in heard_by.items()
        }

    def change(self, removed: Iterable[tuple[int, int]], added: Iterable[tuple[int, int]]) -> None:
        """Take links away and add some. Errors: KeyError where there was none to take away."""
        for source, target in removed:
            del self.hears[source][target], self.heard_by[target][source]
        for source, target in added:
            self.hears[source][target] = self.heard_by[target][source] = None

    def mutual(self, member: int) -> list[int]:
        """Those whom somebody hears and who hear it."""
        return [other for other in self.hears[member] if other in self.heard_by[member]]

    def touching(self, member: int) -> Iterable[int]:
        """Everybody at the other end of a link of somebody, some of them twice."""
        yield from self.hears[member]
        yield from self.heard_by[member]

    @property
    def pairs(self) -> Pairs:
        return tuple([(source, target) for source, targets in self.hears.items() for target in targets])


@dataclass(slots=True)
class Post:
    """Something said that stays to be read; `votes` are those for it less those against it."""

    iteration: int
    author: int
    round: int
    votes: int = 0


class Feed(NamedTuple):
    """What one person is shown: posts by their iteration, best first, and its vote on each (1, 0, -1)."""

    reader: int
    iterations: tuple[int, ...]
    votes: tuple[int, ...]


@dataclass
class Timeline:
    """The posts of a room that can be shown, by iteration; by reader, what it was shown and how it voted on each
    author.
    """

    posts: dict[int, Post] = field(default_factory=dict)
    read: dict[int, set[int]] = field(default_factory=dict)
    liked: dict[int, Counter[int]] = field(default_factory=dict)

    def keep(self, posts: Iterable[Post], since: int) -> None:
        """Put posts up and take those of rounds before `since` down."""
        self.posts |= {post.iteration: post for post in posts}
        gone = {iteration for iteration, post in self.posts.items() if post.round < since}
        self.posts = {iteration: post for iteration, post in self.posts.items() if iteration not in gone}
        self.read = {reader: seen - gone for reader, seen in self.read.items()}

    def show(self, feed: Feed) -> None:
        """Note what somebody was shown, and its votes."""
        self.read.setdefault(feed.reader, set()).update(feed.iterations)
        for iteration, vote in zip(feed.iterations, feed.votes, strict=True):
            if vote:
                post = self.posts[iteration]
                post.votes += vote
                self.liked.setdefault(feed.reader, Counter())[post.author] += vote


@dataclass(slots=True)
class SocialGraph:
    """One networked room. `attitude` gives somebody's last rating (0-10) or None; `draw(*name)` opens a named random
    stream.

    `known` keeps what was worked out before from draws alone, so that it need not be worked out again.
    """

    links: Links
    attitude: Callable[[int], float | None]
    draw: Callable[..., Random]
    wall: Timeline = field(default_factory=Timeline)
    known: dict[tuple[str, int], Any] = field(default_factory=dict)

    def distance(self, one: int, other: int) -> float | None:
        """The distance between two attitudes in points, or None where one of them is not known."""
        mine, theirs = self.attitude(one), self.attitude(other)
        return None if mine is None or theirs is None else abs(mine - theirs)
