"""The known-truth speaker on a stage: it speaks for everybody, some seats are puppets, and every question asked is kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.dynamics import attitude
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.request import Reply, Request

Role = Callable[[Reading], float]
"""Attitude that a seat speaks from, in place of the one that follows from its persona."""


class CorpusSpeaker(Oracle):
    """Tells its stance more often than the known-truth speaker does, and first: what a reply stands for is then decided in the
    word that answers a survey, and the sentences that follow go with it (docs/log.md).

    `roles` maps a first paragraph (which names the one who is asked) to a role; `asked` are all questions and replies.
    """

    stance_in_speech, stance_in_interviews, stance_first = 0.75, 0.8, True

    def __init__(self, changes: Mapping[str, float] | None = None):
        super().__init__(changes)
        self.roles: dict[str, Role] = {}
        self.planted = self.parameters
        self.asked: list[tuple[Request, Reply]] = []

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        replies = super().complete(requests)
        self.asked += zip(requests, replies, strict=True)
        return replies

    def attitude(self, reading: Reading) -> tuple[float, int]:
        role = self.roles.get(reading.opening)
        return (role(reading), 0) if role else super().attitude(reading)

    def lean(self, party: str) -> None:
        """From now on its own bias is where this party begins on every topic ("" the planted one)."""
        self.parameters = {
            slug: replace(one, bias=getattr(one, party) if party else one.bias) for slug, one in self.planted.items()
        }

    def shifted(self, bias: float) -> Role:
        """A speaker with another bias than the planted one."""

        def role(reading: Reading) -> float:
            slug = reading.topic or ""
            return attitude(reading.persona, slug, reading.heard, replace(self.parameters[slug], bias=bias))[0]

        return role


def puppet(rng: random.Random) -> Role:
    """Speaks from a course of attitudes, reply by reply, whatever is said."""
    attitudes = attitude_course(rng)
    return lambda reading: attitudes[min(len(reading.own), len(attitudes) - 1)]


def attitude_course(rng: random.Random) -> list[float]:
    """Attitudes, one after the other, that have nothing to do with how long it has been going on.

    Constant, a walk, drawn anew each time, or a jump somewhere on the way.
    """
    style, level = rng.choice(("constant", "constant", "walk", "anew", "jump")), rng.uniform(0, 10)
    if rng.random() < 0.5:
        level = rng.choice((rng.uniform(0, 2), rng.uniform(8, 10)))
    found = [level]
    for _ in range(20):
        if style == "walk":
            level = min(max(level + rng.gauss(0, 1.2), 0.0), 10.0)
        elif style == "anew" or (style == "jump" and rng.random() < 0.2):
            level = rng.uniform(0, 10)
        found.append(level)
    return found
