"""People of a population who use a social medium: feeds, acts by a law of choice, and what acts change, all as arrays.

A round is that of model/platform_round.py: everyone who is active is shown a feed and chooses one act about one post, all at
the same time; then all acts take effect. The law of choice is llm/backends/oracle/act_law.py, with the numbers of a surrogate
that was fitted to a run on a platform, or with planted ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from parley.agents.act_names import NOTHING, UNTARGETED, VOTES, WRITTEN
from parley.agents.laws import Codes, Floats, Law
from parley.agents.laws.base import Flags
from parley.environments.sparse_links import contains, hearers, keep_links
from parley.environments.sparse_platforms import PopulationPlatform, Posts
from parley.llm.backends.oracle.act_law import HERD, HOMOPHILY, ActLaw
from parley.llm.errors import UserError
from parley.llm.registry import name_of

NO_ONE: Codes = np.empty(0, dtype=np.int64)
SHIFT = 40
"""A reader and the number of a post are one number: reader * 2 ** 40 + number."""


class Visits(NamedTuple):
    """What happened in a round. Each pair is a reader with a post of its feed, best first.

    active   (n,) who was active
    readers  (pairs,) and `posts`, places in the posts of the medium before the round's own
    acts     (n,) the place of each person's act in the acts of the medium; -1 for who was not active
    followed, unfollowed  links (source, target) that appear or vanish before the next round
    """

    active: Flags
    readers: Codes
    posts: Codes
    acts: Codes
    followed: tuple[Codes, Codes]
    unfollowed: tuple[Codes, Codes]


def choose_act_law(platform: PopulationPlatform, law: Law) -> ActLaw:
    """Return the law of acts: of the run that `law` was fitted to, else the planted one; options of the platform replace numbers.

    Errors: UserError if the run had no acts and the platform does not say both numbers.
    """
    given = {name: value for name in ("homophily", "herd") if (value := getattr(platform, name)) is not None}
    fit: Mapping[str, Any] = getattr(law, "fit", {})
    fitted = fit.get("acts")
    if fit and not fitted and len(given) < 2:
        raise UserError(
            f"law {name_of(type(law))} was fitted to a run without a platform: fit it to a run of "
            "--scenario platform, or set how people act with --platform NAME,homophily=0.3,herd=0"
        )
    if not fitted:
        numbers = {"homophily": HOMOPHILY, "herd": HERD} | given
        return ActLaw(**numbers)
    numbers = {name: fitted[name][0] if name in fitted else 0.0 for name in ("homophily", "herd")} | given
    return ActLaw(**numbers, constants={act: estimate[0] for act, estimate in fitted["constants"].items()})


class PopulationMedium:
    """The state of a medium: its posts, who carried and read them, and the trees of those who shared them.

    posts    those that can still be shown
    written  how many posts were written so far, and `views`, how many times one was shown to a person

    Errors: UserError if no act is left that is about no post.
    """

    def __init__(self, platform: PopulationPlatform, law: ActLaw, size: int, drawn: Floats):
        self.platform, self.law, self.size, self._drawn = platform, law, size, drawn
        self.acts = tuple([act for act in platform.acts if act in law.constants])
        if not UNTARGETED & set(self.acts):
            chosen = " or ".join(act for act in law.constants if act in UNTARGETED)
            raise UserError(
                f"in the run to which the law was fitted, no agent chose {NOTHING}, so people who see no post have "
                f"nothing to do: add {chosen} to acts"
            )
        self.posts = Posts.none()
        self.written = self.views = 0
        self._carried = _Carried()
        self._read = self._muted = NO_ONE
        self._shares, self._depths = NO_ONE, NO_ONE

    def run_round(
        self, step: int, opinions: Floats, graph: csr_array, silent: Flags, absent: Flags, law: Law, generator: Any
    ) -> Visits:
        """Show feeds and let everyone act. silent: whose posts are not shown. absent: who is not there."""
        active = (generator.random(self.size) < self.platform.chances(self._drawn, step)) & ~absent
        readers, posts = self._candidates(active, silent, graph)
        readers, posts = self._ranked(readers, posts, opinions, generator)
        acts, targets = self._choose(active, readers, posts, opinions, graph, generator)
        visits = self._visits(active, readers, posts, acts, targets)
        carriers = self._carriers(readers, posts, acts, targets, graph)
        self._take_effect(step, acts, targets, carriers, law.speak(opinions, generator))
        self._read = np.union1d(self._read, (readers << SHIFT) + self.posts.number[posts]) if len(posts) else self._read
        self.views += len(posts)
        return visits

    def forget_old_posts(self, since: int) -> None:
        """Drop the posts that were neither written nor shared since a step."""
        kept = self.posts.latest >= since
        places = np.cumsum(kept) - 1
        self._carried = self._carried.kept(kept[self._carried.post], places)
        self.posts = self.posts.kept(kept)
        numbers = self._read & ((1 << SHIFT) - 1)
        self._read = self._read[_among(numbers, self.posts.number)]

    def _candidates(self, active: Flags, silent: Flags, graph: csr_array) -> tuple[Codes, Codes]:
        """Return the posts that each active person can be shown: carried by whom it follows, or answers to its own posts."""
        if not (count := len(self.posts.number)):
            return NO_ONE, NO_ONE
        rows = hearers(graph)
        heard = active[rows] & ~silent[graph.indices]
        if len(self._muted):
            heard &= ~_among(rows * self.size + graph.indices, self._muted)
        heard_graph = keep_links(graph, heard)
        followed = csr_array((np.ones(heard_graph.nnz, np.int32), heard_graph.indices, heard_graph.indptr), graph.shape)
        carried = self._carried
        ones = np.ones(len(carried.person), dtype=np.int32)
        reachable = csr_array(followed @ csr_array((ones, (carried.person, carried.post)), shape=(self.size, count)))
        readers, posts = hearers(reachable), reachable.indices.astype(np.int64)
        answers = np.flatnonzero(self.posts.parent >= 0)
        answers = answers[active[self.posts.parent[answers]]]
        codes = np.unique(np.concatenate((readers * count + posts, self.posts.parent[answers] * count + answers)))
        readers, posts = codes // count, codes % count
        author = self.posts.author[posts]
        open_ = (author != readers) & ~silent[author] & ~_among(readers * self.size + author, self._muted)
        open_ &= ~_among((readers << SHIFT) + self.posts.number[posts], self._read)
        return readers[open_], posts[open_]

    def _ranked(self, readers: Codes, posts: Codes, opinions: Floats, generator: Any) -> tuple[Codes, Codes]:
        """Return the first posts of each reader, best first; of equal ones the newer, by chance within a round."""
        scores = self.platform.scores(readers, posts, self.posts, opinions, generator)
        order = np.lexsort((generator.random(len(posts)), -self.posts.round[posts], -scores, readers))
        readers, posts = readers[order], posts[order]
        first = np.searchsorted(readers, readers)
        shown = np.arange(len(readers)) - first < self.platform.length
        return readers[shown], posts[shown]

    def _choose(
        self, active: Flags, readers: Codes, posts: Codes, opinions: Floats, graph: csr_array, generator: Any
    ) -> tuple[Codes, Codes]:
        """Return (n,) the act of each person (-1: not active) and (n,) the place of its post (-1: none)."""
        alone = [place for place, act in enumerate(self.acts) if act in UNTARGETED]
        base = np.array([np.exp(self.law.constants[self.acts[place]]) for place in alone])
        weights = self._weights(readers, posts, opinions, graph)
        ends = np.concatenate(([0.0], np.cumsum(weights.sum(axis=1))))
        first, last = (np.searchsorted(readers, np.arange(self.size), side=side) for side in ("left", "right"))
        drawn = generator.random(self.size) * (base.sum() + ends[last] - ends[first])
        acts = np.array(alone)[np.minimum(np.searchsorted(np.cumsum(base), drawn, side="right"), len(alone) - 1)]
        targets = np.full(self.size, -1)
        about = np.flatnonzero(active & (drawn >= base.sum()) & (last > first))
        pairs = np.searchsorted(ends, ends[first[about]] + drawn[about] - base.sum(), side="right") - 1
        pairs = np.clip(pairs, first[about], last[about] - 1)
        shares = np.cumsum(weights[pairs], axis=1)
        level = generator.random(len(pairs)) * (shares[:, -1] if len(pairs) else 0.0)
        targeted = np.array([place for place in range(len(self.acts)) if place not in alone], dtype=np.int64)
        if len(pairs):
            chosen = np.minimum((shares <= level[:, None]).sum(axis=1), len(targeted) - 1)
            acts[about], targets[about] = targeted[chosen], posts[pairs]
        return np.where(active, acts, -1), targets

    def _weights(self, readers: Codes, posts: Codes, opinions: Floats, graph: csr_array) -> Floats:
        """Return (pairs, acts that are about a post) exp(utility); 0 where an act is not possible."""
        distance, votes = np.abs(opinions[readers] - self.posts.grade[posts]), self.posts.votes[posts]
        targeted = [act for act in self.acts if act not in UNTARGETED]
        weights = np.empty((len(readers), len(targeted)))
        for column, act in enumerate(targeted):
            weights[:, column] = np.exp(self.law.utility(act, distance, votes))
        if {"follow", "unfollow"} & set(targeted):
            is_followed = (
                contains(graph, readers, self.posts.author[posts]) if len(readers) else np.empty(0, dtype=np.bool_)
            )
            for act, possible in (("follow", ~is_followed), ("unfollow", is_followed)):
                if act in targeted:
                    weights[~possible, targeted.index(act)] = 0.0
        return weights

    def _visits(self, active: Flags, readers: Codes, posts: Codes, acts: Codes, targets: Codes) -> Visits:
        def links(act: str) -> tuple[Codes, Codes]:
            people = self._who(acts, act)
            return people, self.posts.author[targets[people]]

        return Visits(active, readers, posts, acts, links("follow"), links("unfollow"))

    def _who(self, acts: Codes, act: str) -> Codes:
        """Return the people who did an act."""
        return np.flatnonzero(acts == self.acts.index(act)) if act in self.acts else NO_ONE

    def _carriers(
        self, readers: Codes, posts: Codes, acts: Codes, targets: Codes, graph: csr_array
    ) -> tuple[Codes, Codes]:
        """Return who shared a post, and from whom it came: its author, unless only one who shared it is followed.

        Of several, the one who shared it last, and of these the first.
        """
        people = self._who(acts, "repost")
        chosen = targets[people]
        carriers = self.posts.author[chosen].copy()
        if not len(people):
            return people, carriers
        strange = np.flatnonzero(~contains(graph, people, carriers))
        carried = self._carried
        order = np.argsort(carried.post, kind="stable")
        ends = np.searchsorted(carried.post[order], [chosen[strange], chosen[strange] + 1])
        counts = ends[1] - ends[0]
        rows = np.repeat(np.arange(len(strange)), counts)
        entries = order[
            np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(ends[0], counts)
        ]
        by, who = people[strange][rows], carried.person[entries]
        is_followed = contains(graph, by, who) if len(by) else np.empty(0, dtype=np.bool_)
        is_followed &= ~_among(by * self.size + who, self._muted)
        rows, entries = rows[is_followed], entries[is_followed]
        best = np.lexsort((-carried.person[entries], carried.round[entries], rows))
        carriers[strange[rows[best]]] = carried.person[entries[best]]  # the last of each row remains
        return people, carriers

    def _take_effect(
        self, step: int, acts: Codes, targets: Codes, carriers: tuple[Codes, Codes], grades: Floats
    ) -> None:
        """Count votes and shares, note who is muted, and add the new posts."""
        for act, vote in VOTES.items():
            np.add.at(self.posts.votes, targets[self._who(acts, act)], vote)
        people, sources = carriers
        if len(people):
            chosen = targets[people]
            depths = self._carried.depths(sources, chosen) + 1
            self._carried = self._carried.added(people, chosen, step, depths)
            self.posts.latest[chosen] = step
            self._shares = np.concatenate((self._shares, self.posts.number[chosen]))
            self._depths = np.concatenate((self._depths, depths))
        muters = self._who(acts, "mute")
        if len(muters):
            self._muted = np.union1d(self._muted, muters * self.size + self.posts.author[targets[muters]])
        self._write(step, acts, targets, grades)

    def _write(self, step: int, acts: Codes, targets: Codes, grades: Floats) -> None:
        authors = np.flatnonzero(np.isin(acts, [place for place, act in enumerate(self.acts) if act in WRITTEN]))
        count, before = len(authors), len(self.posts.number)
        about = targets[authors]
        parents = np.full(count, -1)
        parents[about >= 0] = self.posts.author[about[about >= 0]]
        now, none = np.full(count, step), np.zeros(count, dtype=np.int64)
        numbers = self.written + np.arange(count)
        new = Posts(numbers, authors, now, now, grades[authors], none, parents)
        self.posts = self.posts.with_new(new)
        self._carried = self._carried.added(authors, before + np.arange(count), step, none)
        self.written += count

    def measure_trees(self) -> dict[str, float | None]:
        """Return views per post, mean size of trees (scale), size of the largest one, and its depth and breadth.

        As `tables/spread` (analysis/metrics/spread.py): a post and all who shared it are a tree. None before the first post.
        """
        if not self.written:
            return dict.fromkeys(TREES)
        sizes = np.bincount(self._shares, minlength=self.written) + 1
        deepest = np.zeros(self.written, dtype=np.int64)
        np.maximum.at(deepest, self._shares, self._depths)
        largest = int(np.lexsort((deepest, sizes))[-1])
        levels = np.bincount(np.append(self._depths[self._shares == largest], 0))
        numbers = (self.views / self.written, sizes.mean(), sizes[largest], deepest[largest], np.max(levels))
        return dict(zip(TREES, map(float, numbers), strict=True))


TREES = ("views", "scale", "largest", "depth", "breadth")


class _Carried(NamedTuple):
    """Who wrote or shared which post (a place), in which round, and how far from the author."""

    person: Codes = NO_ONE
    post: Codes = NO_ONE
    round: Codes = NO_ONE
    depth: Codes = NO_ONE

    def added(self, person: Codes, post: Codes, step: int, depth: Codes) -> _Carried:
        more = (person, post, np.full(len(person), step), depth)
        return _Carried(*[np.concatenate(pair) for pair in zip(self, more, strict=True)])

    def kept(self, kept: Flags, places: Codes) -> _Carried:
        return _Carried(self.person[kept], places[self.post[kept]], self.round[kept], self.depth[kept])

    def depths(self, person: Codes, post: Codes) -> Codes:
        """Return how far each person is from the author of a post that it carried."""
        codes = (self.person << SHIFT) + self.post
        order = np.argsort(codes)
        depths: Codes = self.depth[order[np.searchsorted(codes[order], (person << SHIFT) + post)]]
        return depths


def _among(values: Codes, ordered: Codes) -> Flags:
    """Return which values are in an ordered array."""
    if not len(ordered):
        return np.zeros(len(values), dtype=np.bool_)
    is_present: Flags = ordered[np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)] == values
    return is_present
