"""Rules: who meets whom in a round of a network. `rule=posts,length=3` chooses one (docs/networks.md).

Each class here is one choice, and its fields are the options. A rule gets ids and returns turns: `turns(society,
speakers, round_, together)` lists the turns of the active members, given in the order of speaking. `together` means
that no one hears a turn of this round before it has spoken. A rule with a wall of posts lists in `feeds` who is shown
what afterwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, ClassVar

from parley.environments._social_graph import Feed, Links, Post, SocialGraph
from parley.environments.base import Turn, in_range
from parley.environments.recommenders import RECOMMENDERS, Recommender
from parley.llm.registry import Registry

RULES = Registry("rule", __name__, "parley.rules", ("turns", "feeds"))


class Rule(ABC):
    """Base class of rules.

    by_attitude  whether it needs ratings after every round
    varies       whether chance decides how many members speak
    changing     whether the members that one hears may change from round to round
    lasting      for how many rounds a post can be shown (0: there are no posts)
    by_text      whether the words of posts decide anything
    """

    by_attitude: ClassVar[bool] = False
    by_text: ClassVar[bool] = False
    varies: ClassVar[bool] = False
    changing: ClassVar[bool] = False
    lasting: int = 0

    @abstractmethod
    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        """Yield the turns of a round."""

    def feeds(self, society: SocialGraph, round_: int) -> Iterator[Feed]:
        """Yield what is shown to whom after the turns."""
        return iter(())


def concurrent_batches(speakers: Sequence[int], links: Links) -> list[list[int]]:
    """Split members who speak one after another into batches that can be asked at once: no link joins two members of a
    batch.

    A member who is linked, in either direction, to an earlier speaker is in a later batch than that speaker. So each
    member has heard what it would have heard if they had spoken one by one.
    """
    batch: dict[int, int] = {}
    batches: list[list[int]] = []
    for speaker in speakers:
        batch[speaker] = max([batch[other] for other in links.touching(speaker) if other in batch], default=-1) + 1
        if batch[speaker] == len(batches):
            batches.append([])
        batches[batch[speaker]].append(speaker)
    return batches


def in_batches(batches: Iterable[Iterable[Turn]]) -> Iterator[Turn]:
    """Yield the turns of each batch as turns that are asked at once."""
    for batch in batches:
        for number, turn in enumerate(batch):
            yield turn._replace(together=number > 0)


@dataclass(frozen=True)
class Neighbours(Rule):
    """Every active member speaks, and every member with a link to it hears it. No options."""

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        batches = [speakers] if together else concurrent_batches(speakers, society.links)
        yield from in_batches(
            [[Turn(speaker, self.hearers(society, speaker)) for speaker in batch] for batch in batches]
        )

    def hearers(self, society: SocialGraph, speaker: int) -> tuple[int, ...]:
        """Return the members who hear a speaker."""
        return tuple(society.links.heard_by[speaker])


@dataclass(frozen=True)
class BoundedConfidence(Neighbours):
    """Like `neighbours`, but a member hears only speakers within `epsilon` points (0-10) of its own last rating.

    After Hegselmann and Krause 2002, JASSS 5(3) 2, with links. A member without a known attitude hears no one in that
    round, and no one hears it.
    """

    epsilon: float = 3.0
    by_attitude = True
    changing = True

    def __post_init__(self) -> None:
        in_range(0, 10, epsilon=self.epsilon)

    def hearers(self, society: SocialGraph, speaker: int) -> tuple[int, ...]:
        distances = [(member, society.distance(member, speaker)) for member in super().hearers(society, speaker)]
        return tuple([member for member, distance in distances if distance is not None and distance <= self.epsilon])


@dataclass(frozen=True)
class Pairs(Rule):
    """Linked members talk two by two, in new pairs every round. A member without a partner says nothing. No options.

    The matching is maximal, not the largest possible: the active members, in a random order, draw one of those still
    free who hear them and whom they hear, with equal chances. Simultaneous: both speak at once. Sequential: the second
    has heard the first.
    """

    varies = True
    changing = True

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        pairs = self.matching(society, speakers, round_)
        first = [Turn(opener, (other,)) for opener, other in pairs]
        second = [Turn(other, (opener,)) for opener, other in pairs]
        yield from in_batches([[*first, *second]] if together else [first, second])

    def matching(self, society: SocialGraph, speakers: Sequence[int], round_: int) -> list[tuple[int, int]]:
        """Draw pairs of active members; each member is in at most one pair."""
        rng = society.draw("pairs", round_)
        free = dict.fromkeys(speakers)
        pairs = []
        for member in rng.sample(list(free), len(free)):
            if member not in free:
                continue
            del free[member]
            if partners := [other for other in society.links.mutual(member) if other in free]:
                partner = rng.choice(partners)
                del free[partner]
                pairs.append((member, partner))
        return pairs


@dataclass(frozen=True)
class Sequential(Rule):
    """Social learning: members speak one after another in a random order, and only those still to speak hear a turn. No
    options.

    The order is drawn anew every round. Of the members still to speak, those with a link to the speaker hear it: in a
    complete graph, all of them (Banerjee 1992, Q. J. Econ. 107, 797-817; Bikhchandani et al. 1992, J. Polit. Econ. 100,
    992-1026). An inactive member hears every speaker that it is linked to. Members speak in turn whatever the timing
    is.
    """

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        order = society.draw("sequential", round_).sample(list(speakers), len(speakers))
        place = {speaker: number for number, speaker in enumerate(order)}

        def turn(speaker: int) -> Turn:
            hearers = society.links.heard_by[speaker]
            return Turn(
                speaker, tuple([hearer for hearer in hearers if place.get(hearer, len(order)) > place[speaker]])
            )

        yield from in_batches([map(turn, batch) for batch in concurrent_batches(order, society.links)])


@dataclass(frozen=True)
class Posts(Rule):
    """Every active member posts, all at once; then every member reads a feed of posts by the members it hears.

    No one is shown its own posts or a post twice. A reader votes for a post if its attitude is at most `near` points from
    the author's, and against it if it is at least `far` points away; it does not vote if either attitude is unknown. This
    rule is our own and replaces a button that a model would press (environments/platform.py has the button).

    feed     how posts are ranked (environments/recommenders.py)
    length   posts in a feed
    lasting  rounds for which a post can be shown
    pool     a reader who hears more members than this sees posts by so many of them, drawn anew each round
    """

    feed: Annotated[str, RECOMMENDERS] = "hot"
    length: int = 5
    lasting: int = 3
    near: float = 2.0
    far: float = 5.0
    pool: int = 50
    changing = True

    def __post_init__(self) -> None:
        in_range(1, 1e6, length=self.length, lasting=self.lasting, pool=self.pool)
        in_range(0, 10, near=self.near)
        in_range(self.near, 10, far=self.far)
        if self.recommender.everyone:
            raise ValueError(
                f"feed={self.feed} shows posts of strangers, but agents in `network` read only neighbours: choose another feed"
            )

    @property
    def recommender(self) -> Recommender:
        """What ranks the posts."""
        recommender: Recommender = RECOMMENDERS.get(self.feed)
        return recommender

    @property
    def by_attitude(self) -> bool:  # type: ignore[override]
        return self.recommender.by_attitude or self.recommender.by_votes

    @property
    def by_text(self) -> bool:  # type: ignore[override]
        return self.recommender.by_text

    def turns(self, society: SocialGraph, speakers: Sequence[int], round_: int, together: bool) -> Iterator[Turn]:
        yield from in_batches([[Turn(speaker, ()) for speaker in speakers]])

    def feeds(self, society: SocialGraph, round_: int) -> Iterator[Feed]:
        rng, by_author = society.draw("feeds", round_), dict[int, list[Post]]()
        for post in society.wall.posts.values():
            by_author.setdefault(post.author, []).append(post)
        rank = self.recommender.ranker(society, round_)
        for reader in society.links.hears:
            if posts := rank(reader, self._unread(reader, by_author, society, rng), self.length, rng):
                votes = tuple([self._vote(society, reader, post) for post in posts])
                yield Feed(reader, tuple([post.iteration for post in posts]), votes)

    def _unread(self, reader: int, by_author: dict[int, list[Post]], society: SocialGraph, rng: Random) -> list[Post]:
        authors, read = list(society.links.hears[reader]), society.wall.read.get(reader, ())
        if len(authors) > self.pool:
            authors = rng.sample(authors, self.pool)
        return [post for author in authors for post in by_author.get(author, ()) if post.iteration not in read]

    def _vote(self, society: SocialGraph, reader: int, post: Post) -> int:
        distance = society.distance(reader, post.author)
        return 0 if distance is None else (distance <= self.near) - (distance >= self.far)
