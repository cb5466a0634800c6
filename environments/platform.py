"""platform: a social medium, on which people are shown a feed and act: post, reply, repost, like, follow, ...

Options
    parties     as for network: the parties of the people, in turn
    size        how many people there are (60)
    graph       who follows whom at the start, as for network (environments/graphs.py)
    recommender which posts are shown: hot, chronological, interest, out_of_network, affinity, homophilous, bridging,
                random (environments/recommenders.py)
    against     further recommenders: the same people use the medium once more under each of them
    reach       whose posts can be shown: followed (written or reposted by those whom one follows, and replies to one's
                own posts), all
    length      posts in a feed (5)
    lasting     rounds for which a post can be shown after it was written or last reposted (3)
    pool        where more posts than this can be shown to a reader, so many are drawn at random (200)
    acts        what people can do: post, reply, quote, repost, like, dislike, follow, unfollow, mute, search, nothing
    seeded      the share of posts that get a vote for them from outside at once, and of those that get one against them
                (0)
    activation  who is active in a round: every, share, poisson, hawkes, clock (environments/activation.py)
    order       in which order acts take effect, as for round_table (reshuffled)
    mix         as for network

In a round every active person is shown a feed, all at once. Then each chooses an act, the post that the act is about, and
writes a text if the act needs one. All acts of a round take effect at its end; links change before the next round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from parley.agents.act_names import ACTS, NOTHING, Act
from parley.environments._linked_people import LinkedPeople, society_of
from parley.environments._social_graph import Feed, Pairs, Post, SocialGraph
from parley.environments.activation import ACTIVATION
from parley.environments.base import UNDER, Group, Order, Room, Turn, in_range
from parley.environments.graphs import GRAPHS
from parley.environments.recommenders import RECOMMENDERS, Recommender

FORM = "act"
"""The form of a turn on a platform."""


@dataclass(frozen=True)
class Platform(LinkedPeople):
    """A social medium; options: see the top of this file."""

    parties: tuple[str, ...] = ("first", "second")
    size: int = 60
    graph: Annotated[str, GRAPHS] = "blocks"
    recommender: Annotated[str, RECOMMENDERS] = "hot"
    against: tuple[str, ...] = ()
    reach: Literal["followed", "all"] = "followed"
    length: int = 5
    lasting: int = 3
    pool: int = 200
    acts: tuple[Act, ...] = tuple(ACTS)
    seeded: float = 0.0
    activation: Annotated[str, ACTIVATION] = "every"
    order: Order = "reshuffled"
    mix: str = ""

    def __post_init__(self) -> None:
        if len(set(self.acts)) < 2 or NOTHING not in self.acts:
            raise ValueError(f"acts must have {NOTHING} and another act, such as acts=post,like,{NOTHING}")
        if len(set(self.conditions)) < len(self.conditions):
            raise ValueError("against must name recommenders that differ from `recommender`, and each only once")
        for name in self.conditions:
            RECOMMENDERS.get(name)
        in_range(1, 1e6, length=self.length, lasting=self.lasting, pool=self.pool)
        in_range(0, 0.5, seeded=self.seeded)
        self.check_people()

    @property
    def conditions(self) -> tuple[str, ...]:
        """The recommenders, one for each group."""
        return (self.recommender, *self.against)

    def groups(self) -> tuple[Group, ...]:
        (people,) = super().groups()
        if not self.against:
            return (people,)
        names = [condition.partition(",")[0] for condition in self.conditions]
        titles = names if len(set(names)) == len(names) else self.conditions
        named = zip(self.conditions, titles, strict=True)
        return tuple([replace_group(people, condition, title) for condition, title in named])

    @property
    def by_attitude(self) -> bool:
        return any(recommender.by_attitude for recommender in self._recommenders)

    @property
    def by_text(self) -> bool:
        return any(recommender.by_text for recommender in self._recommenders)

    @property
    def everyone(self) -> bool:
        """Whether posts of people can be shown whom the reader does not follow."""
        return self.reach == "all" or any(recommender.everyone for recommender in self._recommenders)

    @property
    def _recommenders(self) -> list[Recommender]:
        return [RECOMMENDERS.get(name) for name in self.conditions]

    @property
    def changing(self) -> bool:
        return True

    @property
    def varies(self) -> bool:
        """Whether chance decides how many acts a model is asked for: what people choose needs more or fewer questions."""
        return True

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for number, member in enumerate(self.active_members(room, round_)):
            yield Turn(member, (), FORM, together=number > 0)

    def rewired(self, room: Room, round_: int) -> tuple[Pairs, Pairs]:
        """Return the links that people dropped and made in the last round, and those that the graph of the user changes."""
        society = society_of(room)
        planned: tuple[Pairs, Pairs] = society.planned_changes(round_) if round_ > 1 else ((), ())
        dropped, made = (dict.fromkeys(pairs) for pairs in society.changes)
        hears = society.links.hears
        removed = [(hearer, other) for hearer, other in dropped if other in hears[hearer]]
        added = [(hearer, other) for hearer, other in made if other not in hears[hearer]]
        return tuple(dict.fromkeys([*removed, *planned[0]])), tuple(dict.fromkeys([*added, *planned[1]]))

    def feeds(self, room: Room, round_: int) -> Iterator[Feed]:
        society = society_of(room)
        recommender: Recommender = RECOMMENDERS.get(society.condition or self.recommender)
        rank, rng = recommender.ranker(society, round_), society.draw("feeds", round_)
        candidates = _Candidates(society, everyone=self.reach == "all" or recommender.everyone)
        for reader in self.active_members(room, round_):
            posts = candidates.of(reader)
            if len(posts) > self.pool:
                posts = rng.sample(posts, self.pool)
            yield feed_of(society, reader, rank(reader, posts, self.length, rng))


def feed_of(society: SocialGraph, reader: int, posts: Sequence[Post]) -> Feed:
    """Return a feed of these posts, with the member through whom each came."""
    carriers = tuple([carrier(society, reader, post) for post in posts])
    return Feed(reader, tuple([post.iteration for post in posts]), (0,) * len(posts), carriers)


def carrier(society: SocialGraph, reader: int, post: Post) -> int:
    """Return the author, unless the reader follows only people who reposted the post: then the latest of these."""
    followed, muted = society.links.hears[reader], society.wall.muted.get(reader, ())
    if post.author in followed:
        return post.author
    carriers = [
        (round_, -person) for person, round_ in post.reposts.items() if person in followed and person not in muted
    ]
    return -max(carriers)[1] if carriers else post.author


def replace_group(group: Group, condition: str, title: str) -> Group:
    """Return the group of the same people under a condition."""
    return group._replace(name=f"{group.name}{UNDER}{title}", condition=condition)


class _Candidates:
    """The posts that each reader can be shown at the beginning of a round: not its own, none twice, none of the muted."""

    def __init__(self, society: SocialGraph, everyone: bool):
        self.society, self.everyone = society, everyone
        self.carried: dict[int, list[Post]] = {}
        self.replies: dict[int, list[Post]] = {}
        posts = society.wall.posts
        for post in posts.values():
            for person in dict.fromkeys([post.author, *post.reposts]):
                self.carried.setdefault(person, []).append(post)
            if post.parent in posts:
                self.replies.setdefault(posts[post.parent].author, []).append(post)

    def of(self, reader: int) -> list[Post]:
        """Return the posts that a reader can be shown, in the order in which they were written."""
        wall = self.society.wall
        muted, read = wall.muted.get(reader, ()), wall.read.get(reader, ())
        posts: dict[int, Post] = wall.posts if self.everyone else self._followed(reader, muted)
        return [
            post
            for number, post in posts.items()
            if number not in read and post.author != reader and post.author not in muted
        ]

    def _followed(self, reader: int, muted: Any) -> dict[int, Post]:
        followed = [person for person in self.society.links.hears[reader] if person not in muted]
        posts = {post.iteration: post for person in followed for post in self.carried.get(person, ())}
        posts |= {post.iteration: post for post in self.replies.get(reader, ())}
        return dict(sorted(posts.items()))
