"""posts: everybody who is active posts, all at once; then everybody reads a feed of what those whom it hears have posted.

Nobody is shown its own posts or a post twice. A feed has up to `length` posts of the last `lasting` rounds, ranked by `feed`:

    chronological   the newest first
    hot             by sign(v) * log10(max(|v|, 1)) + t / 45,000, v votes for it less votes against it, t its time in seconds,
                    `hours` a round (the formula that Reddit published, as OASIS uses it; Yang et al. 2024)
    interest        by the reader's votes on the author so far, then the newest
    attitude        the author nearest to the reader's own attitude first (homophilous); whose attitude is not known comes last

Ties are broken at random. A reader votes for what it is shown when its attitude is at most `near` points from the author's, and
against it when it is at least `far` points away; where one of the two is not known, it does not vote. That is a rule of ours,
which stands in for a button that a model would press. Somebody who hears more than `pool` people has so many of them, drawn anew
each round, looked through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from parley.environments._social_graph import Feed, Post, SocialGraph
from parley.environments.base import Turn, in_range
from parley.environments.rules._base import Rule, in_batches

Rank = Callable[[SocialGraph, int, Post], float]
FEEDS = ("chronological", "hot", "interest", "attitude")


@dataclass(frozen=True)
class Posts(Rule):
    """`feed`, `length`, `lasting`, `hours`, `near`, `far`, `pool`: see the page above."""

    feed: str = "hot"
    length: int = 5
    lasting: int = 3
    hours: float = 12.5
    near: float = 2.0
    far: float = 5.0
    pool: int = 50
    changing = True

    def __post_init__(self) -> None:
        if self.feed not in FEEDS:
            raise ValueError(f"feed {self.feed!r} is none of {', '.join(FEEDS)}")
        in_range(1, 1e6, length=self.length, lasting=self.lasting, pool=self.pool)
        in_range(0, 1e6, hours=self.hours)
        in_range(0, 10, near=self.near)
        in_range(self.near, 10, far=self.far)

    @property
    def by_attitude(self) -> bool:  # type: ignore[override]
        return self.feed != "chronological"

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        yield from in_batches([[Turn(one, ()) for one in speakers]])

    def feeds(self, society: SocialGraph, round_: int) -> Iterator[Feed]:
        rng, by_author = society.draw("feeds", round_), dict[int, list[Post]]()
        for post in society.wall.posts.values():
            by_author.setdefault(post.author, []).append(post)
        for reader in society.links.hears:
            found = self._ranked(reader, self._candidates(reader, by_author, society, rng), society, rng)
            if found:
                votes = tuple([self._vote(society, reader, post) for post in found])
                yield Feed(reader, tuple([post.iteration for post in found]), votes)

    def _candidates(
        self, reader: int, by_author: dict[int, list[Post]], society: SocialGraph, rng: Random
    ) -> Iterator[Post]:
        heard, read = list(society.links.hears[reader]), society.wall.read.get(reader, ())
        for author in rng.sample(heard, self.pool) if len(heard) > self.pool else heard:
            yield from (post for post in by_author.get(author, ()) if post.iteration not in read)

    def _ranked(self, reader: int, posts: Iterator[Post], society: SocialGraph, rng: Random) -> list[Post]:
        rank = RANKS[self.feed]
        keyed = [(rank(self, society, reader, post), post.round, rng.random(), post) for post in posts]
        return [post for *_, post in sorted(keyed, key=lambda one: one[:3], reverse=True)[: self.length]]

    def _vote(self, society: SocialGraph, reader: int, post: Post) -> int:
        away = society.apart(reader, post.author)
        return 0 if away is None else (away <= self.near) - (away >= self.far)

    def hotness(self, votes: int, round_: int) -> float:
        """The hot score of a post.

        >>> Posts(hours=12.5).hotness(-10, 3)
        2.0
        """
        order = math.log10(max(abs(votes), 1)) * ((votes > 0) - (votes < 0))
        return order + round_ * self.hours * 3600 / 45000


def _newest(rule: Posts, society: SocialGraph, reader: int, post: Post) -> float:
    return post.round


def _hot(rule: Posts, society: SocialGraph, reader: int, post: Post) -> float:
    return rule.hotness(post.votes, post.round)


def _interest(rule: Posts, society: SocialGraph, reader: int, post: Post) -> float:
    liked = society.wall.liked.get(reader)
    return liked[post.author] if liked else 0


def _near(rule: Posts, society: SocialGraph, reader: int, post: Post) -> float:
    away = society.apart(reader, post.author)
    return -math.inf if away is None else -away


RANKS: dict[str, Callable[[Posts, SocialGraph, int, Post], float]] = dict(
    zip(FEEDS, (_newest, _hot, _interest, _near), strict=True)
)
