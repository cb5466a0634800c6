"""The state of a networked room: its links, its posts, the attitudes of its members, and its random streams."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from parley.environments.link_attributes import NO_TIES, Ties

Pairs = tuple[tuple[int, int], ...]
"""Links: (source, target) means that the source hears the target. An undirected link is two pairs."""


class Links:
    """Who hears whom: the keys of `hears[a]` are heard by a, the keys of `heard_by[b]` hear b, in the order of the links."""

    def __init__(self, members: Iterable[int], pairs: Iterable[tuple[int, int]]):
        hears: dict[int, list[int]] = {member: [] for member in members}
        heard_by: dict[int, list[int]] = {member: [] for member in hears}
        for source, target in pairs:  # lists first: a million links take a second
            hears[source].append(target)
            heard_by[target].append(source)
        self.hears = {member: dict.fromkeys(others) for member, others in hears.items()}
        self.heard_by = {  # without directions both are the same, and are kept once
            member: self.hears[member] if others == hears[member] else dict.fromkeys(others)
            for member, others in heard_by.items()
        }

    def change(self, removed: Iterable[tuple[int, int]], added: Iterable[tuple[int, int]]) -> None:
        """Remove links and add others. Errors: KeyError if a removed link does not exist."""
        for source, target in removed:
            self._separate(source, target)
            del self.hears[source][target], self.heard_by[target][source]
        for source, target in added:
            self._separate(source, target)
            self.hears[source][target] = self.heard_by[target][source] = None

    def _separate(self, *members: int) -> None:
        """Keep whom members hear, and who hears them, apart from now on."""
        for member in members:
            if self.heard_by[member] is self.hears[member]:
                self.heard_by[member] = dict(self.hears[member])

    def mutual(self, member: int) -> list[int]:
        """Return the members whom a member hears and who hear it."""
        return [other for other in self.hears[member] if other in self.heard_by[member]]

    def touching(self, member: int) -> Iterable[int]:
        """Yield the members at the other end of each link of a member, some of them twice."""
        yield from self.hears[member]
        yield from self.heard_by[member]

    @property
    def pairs(self) -> Pairs:
        return tuple([(source, target) for source, targets in self.hears.items() for target in targets])


@dataclass(slots=True)
class Post:
    """A post; `votes` are votes for it minus votes against it, as they are shown.

    voters    the vote of each member who voted (1 or -1)
    parent    the post that it answers or quotes; 0 for none
    reposts   the members who reposted it, each with the round
    """

    iteration: int
    author: int
    round: int
    votes: int = 0
    voters: dict[int, int] = field(default_factory=dict)
    parent: int = 0
    reposts: dict[int, int] = field(default_factory=dict)

    @property
    def latest(self) -> int:
        """The round in which it was written or last reposted."""
        return max([self.round, *self.reposts.values()])

    def vote(self, voter: int, vote: int) -> int:
        """Count a vote in place of an earlier one by the same member; return how much the score changed."""
        change = vote - self.voters.get(voter, 0)
        self.voters[voter] = vote
        self.votes += change
        return change


class Feed(NamedTuple):
    """What one reader is shown: posts by their iteration, best first, and its vote on each (1, 0, -1).

    `carriers`: through whom each post came, its author or a member who reposted it; empty where nothing is reposted.
    """

    reader: int
    iterations: tuple[int, ...]
    votes: tuple[int, ...]
    carriers: tuple[int, ...] = ()


@dataclass
class Timeline:
    """The posts of a room that can still be shown, by iteration, what each reader was shown, its votes by author, and
    whom it muted.
    """

    posts: dict[int, Post] = field(default_factory=dict)
    read: dict[int, set[int]] = field(default_factory=dict)
    liked: dict[int, Counter[int]] = field(default_factory=dict)
    muted: dict[int, set[int]] = field(default_factory=dict)

    def keep(self, posts: Iterable[Post], since: int) -> None:
        """Add posts and remove those that were last carried before the round `since`."""
        self.posts |= {post.iteration: post for post in posts}
        old = {iteration for iteration, post in self.posts.items() if post.latest < since}
        self.posts = {iteration: post for iteration, post in self.posts.items() if iteration not in old}
        self.read = {reader: read - old for reader, read in self.read.items()}

    def show(self, feed: Feed) -> None:
        """Count what a reader was shown as read, and its votes."""
        self.read.setdefault(feed.reader, set()).update(feed.iterations)
        for iteration, vote in zip(feed.iterations, feed.votes, strict=True):
            if vote:
                self.vote(feed.reader, iteration, vote)

    def vote(self, voter: int, iteration: int, vote: int) -> None:
        """Count a vote for (1) or against (-1) a post."""
        post = self.posts[iteration]
        change = post.vote(voter, vote)
        self.liked.setdefault(voter, Counter())[post.author] += change


def no_likeness(reader: int, iterations: Sequence[int]) -> Sequence[float]:
    """Return 0 for every post: nothing is known of its words."""
    return [0.0] * len(iterations)


@dataclass(slots=True)
class SocialGraph:
    """One networked room.

    `attitude` returns the last rating of a member (0-10) or None; `draw(*name)` opens a named random stream; `known`
    caches what was computed from draws alone. `ties`: what a graph of the user says about its links.
    `likeness` returns how much posts are like what a member wrote (0-1). `condition` is what is different in this room.
    `changes` are links that members dropped, and made, by acts of the last round. `public_acts` are the members of each
    round whose act others can see; a round is missing where every turn is heard.
    """

    links: Links
    attitude: Callable[[int], float | None]
    draw: Callable[..., Random]
    wall: Timeline = field(default_factory=Timeline)
    known: dict[tuple[str, int], Any] = field(default_factory=dict)
    ties: Ties = NO_TIES
    likeness: Callable[[int, Sequence[int]], Sequence[float]] = no_likeness
    condition: str = ""
    changes: tuple[list[tuple[int, int]], list[tuple[int, int]]] = field(default_factory=lambda: ([], []))
    public_acts: dict[int, frozenset[int]] = field(default_factory=dict)

    def planned_changes(self, round_: int) -> tuple[Pairs, Pairs]:
        """Return the links that vanish before a round and those that appear, as the graph of the user says.

        A link that an intervention has removed does not vanish again; a link that it has added does not appear again.
        """
        removed, added = self.ties.changes(round_)
        hears = self.links.hears
        return (
            tuple([(source, target) for source, target in removed if target in hears[source]]),
            tuple([(source, target) for source, target in added if target not in hears[source]]),
        )

    def distance(self, member: int, other: int) -> float | None:
        """Return the distance between two attitudes in points, or None if one of them is unknown."""
        mine, theirs = self.attitude(member), self.attitude(other)
        return None if mine is None or theirs is None else abs(mine - theirs)
