"""Lets agents of one kind share a sample of survey answers.

The first `size` agents of a kind (`Request.archetype`) are asked. Their answers, unreadable ones and failures too, are the sample
from which later agents draw, each with the seed of its own request. After `REUSE` draws for each answer of the sample, the next
`size` agents of the kind are asked. If the two samples differ by more than chance (total variation distance, permutation test at
5%), the kind has drifted and the new sample replaces the old one; otherwise both are used together.

Who is asked depends on the order of requests alone, never on the order of replies, so a resumed run is the same run.
Sources: archetypes of Chopra et al. 2024 (arXiv:2409.10568); drawing a whole answer of a similar person is a random hot deck
(Andridge and Little 2010, International Statistical Review 78(1)). studies/archetypes/README.md says what is lost.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from parley.llm.request import NOTHING, Backend, Reply, Request, Wrapper, check_replies
from parley.llm.seeding import stream

REUSE = 9
"""Draws for each answer of a sample before the kind is asked again: of a large kind, one agent in ten is asked."""
DEALS, LEVEL = 200, 0.05
DRAWN, CHECKED, DRIFTED = "drawn", "checked", "drifted"
"""Notes of a reply that was drawn; the first one from a new sample says so, and whether the sample replaced the old one."""
Outcome = tuple[str, ...]


class AnswerPool:
    """The answers of one kind: those of each round of asking (None: in flight), and the sample after each round."""

    def __init__(self, name: str, size: int, answers: tuple[str, ...]):
        self.name, self.size, self.answers = name, size, answers
        self.rounds: list[list[Reply | None]] = [[]]
        self.drawn = 0
        self.samples: list[list[Reply]] = []
        self.drifted: list[bool] = []

    def assign(self) -> Share:
        """Return what becomes of the next agent: a place among those asked, or a draw."""
        if self.drawn == self.size * REUSE:
            self.rounds.append([])
            self.drawn = 0
        latest = len(self.rounds) - 1
        outcomes = self.rounds[latest]
        if len(outcomes) < self.size:
            outcomes.append(None)
            return Share(self, latest, len(outcomes) - 1)
        self.drawn += 1
        return Share(self, latest, None, first=self.drawn == 1)

    def sample(self, latest: int) -> list[Reply] | None:
        """Return the sample after a round of asking; None while an answer is in flight."""
        while len(self.samples) <= latest:
            new = [reply for reply in self.rounds[len(self.samples)] if reply is not None]
            if len(new) < self.size:
                return None
            old, rng = self.samples[-1] if self.samples else [], stream(0, self.name, len(self.samples))
            self.drifted.append(bool(old) and samples_differ(old, new, self.answers, rng))
            self.samples.append(new if self.drifted[-1] else old + new)
        return self.samples[latest]


class Share(NamedTuple):
    """The part of one request in a pool: a place for its answer, or (None) the sample from which it draws."""

    pool: AnswerPool
    latest: int
    place: int | None
    first: bool = False

    def keep(self, reply: Reply) -> Reply:
        if self.place is not None:
            self.pool.rounds[self.latest][self.place] = reply
        return reply

    def draw(self, request: Request) -> Reply | None:
        """Draw an answer; None while the sample is not complete."""
        sample = self.pool.sample(self.latest)
        if sample is None:
            return None
        notes = {DRAWN: 1}
        if self.first and self.latest:
            notes |= {CHECKED: 1, DRIFTED: int(self.pool.drifted[self.latest])}
        answer = stream(request.seed, "archetype").choice(sample)
        return replace(answer, usage=NOTHING, notes=notes, thinking="", way="archetype")


class AnswerSharing(Wrapper):
    """Asks the first agents of each kind, and lets the others draw. A request without an archetype is sent as it is."""

    def __init__(self, inner: Backend, size: int):
        super().__init__(inner)
        self.size = size
        self.pools: dict[str, AnswerPool] = {}
        self._asked: dict[Request, Share] = {}
        self._waiting: list[tuple[Request, Share]] = []
        self._flying = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        shares = [self._share(request) for request in requests]
        to_send = [
            request for request, share in zip(requests, shares, strict=True) if share is None or share.place is not None
        ]
        answers = iter(check_replies(self.inner.complete(to_send), len(to_send)) if to_send else [])
        replies = []
        for request, share in zip(requests, shares, strict=True):
            if share and share.place is None:
                reply = share.draw(request)
            else:
                reply = share.keep(next(answers)) if share else next(answers)
            assert reply is not None, "the agents whose answers it draws from come before it"
            replies.append(reply)
        return replies

    def send(self, requests: Sequence[Request]) -> None:
        to_send = []
        for request in requests:
            share = self._share(request)
            if share and share.place is None:
                self._waiting.append((request, share))
                continue
            to_send.append(request)
            if share:
                self._asked[request] = share
        self._flying += len(to_send)
        if to_send:
            super().send(to_send)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """Return the replies that have landed, and those that could then be drawn."""
        ready = self._drawn()
        if ready or not self._flying:
            return ready
        landed = super().receive(wait)
        self._flying -= len(landed)
        for request, reply in landed:
            if request in self._asked:
                self._asked.pop(request).keep(reply)
        return landed + self._drawn()

    def _drawn(self) -> list[tuple[Request, Reply]]:
        drawn = [(request, share, share.draw(request)) for request, share in self._waiting]
        self._waiting = [(request, share) for request, share, reply in drawn if reply is None]
        return [(request, reply) for request, _, reply in drawn if reply is not None]

    def _share(self, request: Request) -> Share | None:
        if not request.archetype or not request.answers:
            return None
        new = AnswerPool(request.archetype, self.size, request.answers)
        return self.pools.setdefault(request.archetype, new).assign()


def samples_differ(first: Sequence[Reply], second: Sequence[Reply], answers: Sequence[str], rng: random.Random) -> bool:
    """Are two samples further apart than in all but 5% of random divisions of their answers?"""
    outcomes = [answer_key(reply, answers) for reply in (*first, *second)]
    cut, as_far = len(first), 0
    observed = distance(outcomes[:cut], outcomes[cut:])
    for _ in range(DEALS):
        rng.shuffle(outcomes)
        as_far += distance(outcomes[:cut], outcomes[cut:]) >= observed - 1e-12
    return (as_far + 1) / (DEALS + 1) <= LEVEL


def answer_key(reply: Reply, answers: Sequence[str]) -> Outcome:
    """Return the allowed answers in a reply's text, or the failure's name: the answer, as far as it is clear without a reader."""
    if reply.failure:
        return ("", reply.failure.name)
    text = (reply.text or "").strip()
    return (text,) if text in answers else tuple(answer for answer in answers if answer.lower() in text.lower())


def distance(first: Sequence[Outcome], second: Sequence[Outcome]) -> float:
    """Return the total variation distance of two samples: half the sum of the differences of the shares.

    >>> distance([("1",), ("2",)], [("2",), ("3",)])
    0.5
    """
    counts, other = Counter(first), Counter(second)
    return sum(abs(counts[key] / len(first) - other[key] / len(second)) for key in {*counts, *other}) / 2
