"""Which posts are shown, a class for each recommender; `recommender=hot,hours=6` chooses one.

Each class here is one choice, and its fields are the options. `scores(society, reader, posts, round_)` returns a number
for each post; the highest are shown. Of equal posts the newer comes first, and chance decides between posts of one
round. Environments say which posts can be shown at all: those that the reader has not seen, written or reposted by
members whom it follows, or by anyone.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from parley.environments._social_graph import Post, SocialGraph
from parley.environments.base import in_range
from parley.llm.registry import Registry

RECOMMENDERS = Registry("recommender", __name__, "parley.recommenders", ("scores",))
Ranker = Callable[[int, Sequence[Post], int, Random], list[Post]]
"""Returns the posts that a reader is shown, best first: `rank(reader, posts, length, rng)`."""
MIDDLE = 5.0
"""The middle of the axis of attitudes, where the two camps meet."""


class Recommender(ABC):
    """Base class of recommenders.

    by_attitude  whether it needs ratings after every round
    by_votes     whether votes on posts decide anything
    by_text      whether it needs the words of posts
    everyone     whether it also shows posts of members whom the reader does not follow, whatever the environment says
    """

    by_attitude: ClassVar[bool] = False
    by_votes: ClassVar[bool] = False
    by_text: ClassVar[bool] = False
    everyone: ClassVar[bool] = False

    @abstractmethod
    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        """Return a score for each post, the highest for the post that is shown first."""

    def ranker(self, society: SocialGraph, round_: int) -> Ranker:
        """Return the function that ranks the posts of one round."""

        def rank(reader: int, posts: Sequence[Post], length: int, rng: Random) -> list[Post]:
            scores = self.scores(society, reader, posts, round_)
            return ranked(posts, scores, rng)[:length]

        return rank


def ranked(posts: Sequence[Post], scores: Sequence[float], rng: Random) -> list[Post]:
    """Return posts from the highest score to the lowest: the newer first of equal ones, by chance within a round."""
    keys = [(score, post.round, rng.random()) for score, post in zip(scores, posts, strict=True)]
    return [posts[place] for place in sorted(range(len(posts)), key=keys.__getitem__, reverse=True)]


@dataclass(frozen=True)
class Chronological(Recommender):
    """The newest posts first, by when they were written or last reposted. No options."""

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        return [post.latest for post in posts]


@dataclass(frozen=True)
class AtRandom(Recommender):
    """Posts in a random order, drawn anew for each reader: the control condition. No options."""

    name = "random"

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        rng = society.draw("recommender", round_, reader)
        return [rng.random() for _ in posts]


@dataclass(frozen=True)
class Hot(Recommender):
    """By sign(v) * log10(max(|v|, 1)) + t / 45,000, where v is votes for minus votes against and t the time in seconds.

    Reddit published this formula, and OASIS uses it (Yang et al. 2024).

    hours  per round
    """

    hours: float = 12.5
    by_votes = True

    def __post_init__(self) -> None:
        in_range(0, 1e6, hours=self.hours)

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        return [self.hotness(post.votes, post.round) for post in posts]

    def hotness(self, votes: int, round_: int) -> float:
        """Return the hot score of a post.

        >>> Hot(hours=12.5).hotness(-10, 3)
        2.0
        """
        order = math.log10(max(abs(votes), 1)) * ((votes > 0) - (votes < 0))
        return order + round_ * self.hours * 3600 / 45000


@dataclass(frozen=True)
class Interest(Recommender):
    """Posts in words like the reader's own first: the cosine of TF-IDF weights with all that it wrote. No options.

    A reader who has written nothing yet gets the newest posts first.
    """

    by_text = True

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        return society.likeness(reader, [post.iteration for post in posts])


@dataclass(frozen=True)
class OutOfNetwork(Recommender):
    """A `share` of the feed is posts of members whom the reader does not follow, most like its own words first.

    The other places go to the newest posts of those whom it follows. Where one kind has too few posts, the other fills
    up. After the two sources of X's feed, with TF-IDF in place of the network's embedding (OASIS, Yang et al. 2024).
    """

    share: float = 0.5
    by_text = True
    everyone = True

    def __post_init__(self) -> None:
        in_range(0, 1, share=self.share)

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        return society.likeness(reader, [post.iteration for post in posts])

    def ranker(self, society: SocialGraph, round_: int) -> Ranker:
        def rank(reader: int, posts: Sequence[Post], length: int, rng: Random) -> list[Post]:
            followed = society.links.hears[reader]
            followed_posts = [
                post for post in posts if post.author in followed or not followed.keys().isdisjoint(post.reposts)
            ]
            inside = {post.iteration for post in followed_posts}
            strange = [post for post in posts if post.iteration not in inside]
            near = ranked(strange, self.scores(society, reader, strange, round_), rng)
            newest = ranked(followed_posts, [post.latest for post in followed_posts], rng)
            places = max(min(len(near), round(self.share * length)), length - len(newest))
            return [*newest[: length - places], *near[:places]][:length]

        return rank


@dataclass(frozen=True)
class Affinity(Recommender):
    """By the reader's own votes on the author so far: votes for minus votes against. No options."""

    by_votes = True

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        liked = society.wall.liked.get(reader, Counter())
        return [liked[post.author] for post in posts]


@dataclass(frozen=True)
class Homophilous(Recommender):
    """Posts of the authors with the nearest attitude first; authors without a known attitude last. No options."""

    by_attitude = True

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        distances = [society.distance(reader, post.author) for post in posts]
        return [-math.inf if distance is None else -distance for distance in distances]


@dataclass(frozen=True)
class Bridging(Recommender):
    """Posts that both camps like first: the product over camps of (likes + 1) / (votes + 2). No options.

    The camps are those with an attitude below and above 5; a voter at 5, or without a known attitude, is in neither. The
    product is the group-informed consensus of Small et al. 2021, Recerca 26(2), "Polis". A post without votes has 0.25.
    """

    by_attitude = True
    by_votes = True

    def ranker(self, society: SocialGraph, round_: int) -> Ranker:
        scores = {iteration: self.consensus(society, post) for iteration, post in society.wall.posts.items()}

        def rank(reader: int, posts: Sequence[Post], length: int, rng: Random) -> list[Post]:
            return ranked(posts, [scores[post.iteration] for post in posts], rng)[:length]

        return rank

    def scores(self, society: SocialGraph, reader: int, posts: Sequence[Post], round_: int) -> Sequence[float]:
        return [self.consensus(society, post) for post in posts]

    def consensus(self, society: SocialGraph, post: Post) -> float:
        """Return how much both camps like a post, 0-1."""
        votes: dict[bool, list[int]] = {False: [], True: []}
        for voter, vote in post.voters.items():
            attitude = society.attitude(voter)
            if attitude is not None and attitude != MIDDLE:
                votes[attitude > MIDDLE].append(vote)
        return math.prod((camp.count(1) + 1) / (len(camp) + 2) for camp in votes.values())
