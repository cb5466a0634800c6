"""People of one kind and in one state share a sample of answers to a closed question: each draws its own from it.

The first `size` of a kind (`Request.archetype`) are asked; what came back, unreadable answers and failures too, is the sample
that those who come later draw from, each with the seed of its own request. After `REUSE` draws for each of the sample the
next `size` of the kind are asked: where the two samples are further apart than chance makes them (total variation distance,
permutation test at 5%), the kind has drifted and the new sample stands for it; else both together do.

Who is asked depends on the order of asking alone, never on that of landing, so that a resumed run is the same run.
Sources: archetypes of Chopra et al. 2024 (arXiv:2409.10568); drawing a whole answer of somebody alike is a random hot deck
(Andridge and Little 2010, International Statistical Review 78(1)). docs/savings.md says what is lost.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from parley.llm.request import NOTHING, Backend, Reply, Request, Wrapper, check_replies
from parley.llm.seeding import stream

REUSE = 9
"""Draws for each answer of a sample before the kind is asked again: where a kind is large, one in ten is asked."""
DEALS, LEVEL = 200, 0.05
DRAWN, CHECKED, DRIFTED = "drawn", "checked", "drifted"
"""Notes of a reply that was drawn; the first one after a new sample says that there is one, and whether it replaced the old."""
Outcome = tuple[str, ...]


@dataclass
class AnswerPool:
    """Those alike: the answers of each round of asking (None: on its way), and draws from the last one."""

    name: str
    size: int
    answers: tuple[str, ...]
    asked: list[list[Reply | None]] = field(default_factory=lambda: [[]])
    drawn: int = 0
    samples: list[list[Reply]] = field(default_factory=list)
    drifted: list[bool] = field(default_factory=list)

    def take(self) -> SharingGroup:
        """What becomes of the next one: its place among those asked, or a draw."""
        if self.drawn == self.size * REUSE:
            self.asked.append([])
            self.drawn = 0
        latest = len(self.asked) - 1
        if len(self.asked[latest]) < self.size:
            self.asked[latest].append(None)
            return SharingGroup(self, latest, len(self.asked[latest]) - 1)
        self.drawn += 1
        return SharingGroup(self, latest, None, first=self.drawn == 1)

    def sample(self, latest: int) -> list[Reply] | None:
        """What is drawn from after so many renewals; None while an answer is on its way."""
        while len(self.samples) <= latest:
            landed = [reply for reply in self.asked[len(self.samples)] if reply is not None]
            if len(landed) < self.size:
                return None
            before = self.samples[-1] if self.samples else []
            away = bool(before) and samples_differ(
                before, landed, self.answers, stream(0, self.name, len(self.samples))
            )
            self.drifted.append(away)
            self.samples.append(landed if away else before + landed)
        return self.samples[latest]


class SharingGroup(NamedTuple):
    """One request of a kind: where its answer goes, or (place None) the sample that it draws from."""

    kind: AnswerPool
    latest: int
    place: int | None
    first: bool = False

    def fill(self, reply: Reply) -> None:
        assert self.place is not None
        self.kind.asked[self.latest][self.place] = reply

    def draw(self, request: Request) -> Reply | None:
        """An answer of its own; None while the sample is not there yet."""
        sample = self.kind.sample(self.latest)
        if sample is None:
            return None
        found = stream(request.seed, "archetype").choice(sample)
        notes = {DRAWN: 1}
        if self.first and self.latest:
            notes |= {CHECKED: 1, DRIFTED: int(self.kind.drifted[self.latest])}
        return replace(found, usage=NOTHING, notes=notes, thinking="", way="archetype")


class AnswerSharing(Wrapper):
    """Asks the first of each kind, and lets the others draw. Requests without an archetype go through as they are."""

    def __init__(self, inner: Backend, size: int):
        super().__init__(inner)
        self.size = size
        self.kinds: dict[str, AnswerPool] = {}
        self._roles: dict[Request, SharingGroup] = {}
        self._waiting: list[tuple[Request, SharingGroup]] = []
        self._flying = 0

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        roles = [self._role(request) for request in requests]
        asks = [request for request, role in zip(requests, roles, strict=True) if not _draws(role)]
        replies = iter(check_replies(self.inner.complete(asks), len(asks)) if asks else [])
        landed = [None if _draws(role) else _kept(role, next(replies)) for role in roles]
        return [reply or _drawn(request, role) for request, role, reply in zip(requests, roles, landed, strict=True)]

    def send(self, requests: Sequence[Request]) -> None:
        asks = []
        for request in requests:
            role = self._role(request)
            if role and role.place is None:
                self._waiting.append((request, role))
                continue
            asks.append(request)
            if role:
                self._roles[request] = role
        self._flying += len(asks)
        if asks:
            super().send(asks)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """What has landed, and what could then be drawn."""
        ready = self._ready()
        if ready or not self._flying:
            return ready
        landed = super().receive(wait)
        self._flying -= len(landed)
        for request, reply in landed:
            _kept(self._roles.pop(request, None), reply)
        return landed + self._ready()

    def _ready(self) -> list[tuple[Request, Reply]]:
        drawn = [(request, role, role.draw(request)) for request, role in self._waiting]
        self._waiting = [(request, role) for request, role, reply in drawn if reply is None]
        return [(request, reply) for request, _, reply in drawn if reply is not None]

    def _role(self, request: Request) -> SharingGroup | None:
        if not request.archetype or not request.answers:
            return None
        kind = self.kinds.setdefault(request.archetype, AnswerPool(request.archetype, self.size, request.answers))
        return kind.take()


def _draws(role: SharingGroup | None) -> bool:
    return role is not None and role.place is None


def _kept(role: SharingGroup | None, reply: Reply) -> Reply:
    if role:
        role.fill(reply)
    return reply


def _drawn(request: Request, role: SharingGroup | None) -> Reply:
    reply = role.draw(request) if role else None
    assert reply is not None, "those before it in the batch were asked"
    return reply


def samples_differ(one: Sequence[Reply], other: Sequence[Reply], answers: Sequence[str], rng: random.Random) -> bool:
    """Whether two samples are further apart than all but 5% of the ways to deal their answers out anew."""
    told = [answer_key(reply, answers) for reply in (*one, *other)]
    true, cut, as_far = distance(told[: len(one)], told[len(one) :]), len(one), 0
    for _ in range(DEALS):
        rng.shuffle(told)
        as_far += distance(told[:cut], told[cut:]) >= true - 1e-12
    return (as_far + 1) / (DEALS + 1) <= LEVEL


def answer_key(reply: Reply, answers: Sequence[str]) -> Outcome:
    """The answer given, as far as can be told without reading it: the allowed ones in the text, or the failure's name."""
    if reply.failure:
        return ("", reply.failure.name)
    text = (reply.text or "").strip()
    return (text,) if text in answers else tuple(answer for answer in answers if answer.lower() in text.lower())


def distance(one: Sequence[Outcome], other: Sequence[Outcome]) -> float:
    """The total variation distance of two samples: half the sum of the differences of the shares.

    >>> distance([("1",), ("2",)], [("2",), ("3",)])
    0.5
    """
    first, second = Counter(one), Counter(other)
    return sum(abs(first[key] / len(one) - second[key] / len(other)) for key in {*first, *second}) / 2
