"""Social media of a population: options, and which posts are shown. `--platform hot,length=5,lasting=3` chooses one.

Names and options are those of the environment `platform` (environments/platform.py, environments/recommenders.py), and each
class here is one recommender. Posts have no words, so recommenders that need words cannot be used, and no one can search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, NamedTuple

import numpy as np

from parley.agents.act_names import ACTS, NOTHING, Act
from parley.environments.activation import ACTIVATION
from parley.environments.base import in_range
from parley.environments.recommenders import RECOMMENDERS
from parley.environments.recommenders import Hot as HotPosts
from parley.environments.sparse_links import Codes, Flags, Floats
from parley.llm.registry import Registry, UserError

PLATFORMS = Registry("recommender of a population", __name__, "parley.population_platforms", ("scores",))
WORDLESS: tuple[Act, ...] = tuple([act for act in ACTS if act != "search"])


class Posts(NamedTuple):
    """The posts that can still be shown, as arrays with a place for each.

    number   counted from 0 over the whole run
    author   who wrote it
    round    in which it was written, and `latest`, in which it was written or last shared
    grade    the opinion that it states, 0 to 10
    votes    votes for it minus votes against it
    parent   the author of the post that it answers or quotes; -1 for none
    """

    number: Codes
    author: Codes
    round: Codes
    latest: Codes
    grade: Floats
    votes: Codes
    parent: Codes

    @classmethod
    def none(cls) -> Posts:
        """Return no posts."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, none, none, np.empty(0), none, none)

    def kept(self, kept: Flags) -> Posts:
        """Return some of the posts."""
        return Posts(**{name: column[kept] for name, column in self._asdict().items()})

    def with_new(self, new: Posts) -> Posts:
        """Return these posts, and new ones after them."""
        columns = dict(zip(self._fields, new, strict=True))
        return Posts(**{name: np.concatenate((old, columns[name])) for name, old in self._asdict().items()})


def open_platform(spec: str) -> PopulationPlatform | None:
    """Return the medium of a spec; None without one. Errors: UserError if a name, option or value is wrong."""
    name = spec.split(",")[0]
    if name in RECOMMENDERS.builtin() and name not in PLATFORMS:
        raise UserError(
            f"platform {name} does not work in a population, because people there write no texts, and the votes of "
            f"each reader on each author are not stored: choose one of {', '.join(PLATFORMS.builtin())}"
        )
    platform: PopulationPlatform | None = PLATFORMS.open(spec) if spec else None
    return platform


@dataclass(frozen=True)
class PopulationPlatform(ABC):
    """The base class of media of a population.

    length      posts in a feed
    lasting     rounds for which a post can be shown after it was written or last shared
    acts        what people can do; not search
    activation  who is active in a step: every, poisson, clock (environments/activation.py)
    homophily   how much the log odds of liking a post fall with each point of distance (llm/backends/oracle/act_law.py)
    herd        how much they rise with a score above 0; both from -20 to 20
    """

    length: int = 5
    lasting: int = 3
    acts: tuple[Act, ...] = WORDLESS
    activation: Annotated[str, ACTIVATION] = "every"
    homophily: float | None = None
    herd: float | None = None

    def __post_init__(self) -> None:
        in_range(1, 1e6, length=self.length, lasting=self.lasting)
        in_range(-20, 20, homophily=self.homophily or 0.0, herd=self.herd or 0.0)
        if "search" in self.acts:
            raise ValueError("people of a population write no texts, so acts cannot have search")
        if len(set(self.acts)) < 2 or NOTHING not in self.acts:
            raise ValueError(f"acts must have {NOTHING} and another act, such as acts=(post,like,{NOTHING})")
        if not hasattr(ACTIVATION.get(self.activation), "chances"):
            raise ValueError("activation must be every, poisson or clock in a population")

    def chances(self, drawn: Floats, step: int) -> Floats:
        """Return the chance of each person to be active in a step. drawn: (n,) standard normal, the same in all steps."""
        chances: Floats = ACTIVATION.get(self.activation).chances(drawn, step)
        return chances

    @abstractmethod
    def scores(
        self, readers: Codes, shown: Codes, posts: Posts, opinions: Floats, generator: np.random.Generator
    ) -> Floats:
        """Return (pairs,) a score of each post for its reader; the highest are shown. shown: places in `posts`."""


@dataclass(frozen=True)
class Chronological(PopulationPlatform):
    """The newest posts first, by when they were written or last shared."""

    def scores(
        self, readers: Codes, shown: Codes, posts: Posts, opinions: Floats, generator: np.random.Generator
    ) -> Floats:
        return posts.latest[shown].astype(np.float64)


@dataclass(frozen=True)
class AtRandom(PopulationPlatform):
    """Posts in a random order: the control condition."""

    name = "random"

    def scores(
        self, readers: Codes, shown: Codes, posts: Posts, opinions: Floats, generator: np.random.Generator
    ) -> Floats:
        scores: Floats = generator.random(len(shown))
        return scores


@dataclass(frozen=True)
class Hot(PopulationPlatform):
    """By score and age, with Reddit's formula. `hours` of a step."""

    hours: float = field(default=12.5, kw_only=True)

    def scores(
        self, readers: Codes, shown: Codes, posts: Posts, opinions: Floats, generator: np.random.Generator
    ) -> Floats:
        hot = HotPosts(self.hours)
        pairs, places = np.unique(np.stack((posts.votes, posts.round)), axis=1, return_inverse=True)
        scores = np.array([hot.hotness(int(votes), int(round_)) for votes, round_ in pairs.T], dtype=np.float64)
        return scores[places.ravel()[shown]]


@dataclass(frozen=True)
class Homophilous(PopulationPlatform):
    """Posts of the authors with the nearest opinion first."""

    def scores(
        self, readers: Codes, shown: Codes, posts: Posts, opinions: Floats, generator: np.random.Generator
    ) -> Floats:
        return -np.abs(opinions[readers] - opinions[posts.author[shown]])
