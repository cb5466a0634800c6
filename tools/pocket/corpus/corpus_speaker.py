"""The known-truth speaker on a stage: it speaks for everybody, some seats are puppets, and every question asked is kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.dynamics import Parameters, biased, expected_attitude, expected_start
from parley.llm.backends.oracle.phrases import banks
from parley.llm.backends.oracle.prompt_parser import Reading, read
from parley.llm.request import Reply, Request, Sampling
from tools.pocket.corpus.documents import Document, Fork, Line

Role = Callable[[Reading], float]
"""Attitude that a seat speaks from, in place of the one that follows from its persona."""


class CorpusSpeaker(Oracle):
    """Tells its stance more often than the known-truth speaker does, and first: what a reply stands for is then decided in the
    word that answers a survey, and the sentences that follow go with it (tools/log).

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

    def start(self, persona: str, slug: str) -> float:
        return expected_start(self.banks, persona, slug, self.parameters[slug])

    def attitude(self, reading: Reading) -> tuple[float, int]:
        """Return the attitude without quirk and noise: what can be known from the text, and so be learned."""
        role = self.roles.get(reading.opening)
        if role:
            return role(reading), 0
        if reading.topic is None:
            raise ValueError("the reading has no topic")
        return expected_attitude(
            reading.banks, reading.persona, reading.topic, reading.heard, self._parameters(reading)
        )[-1], 0

    def _parameters(self, reading: Reading) -> Parameters:
        return biased(self.parameters[reading.topic or ""], reading.bias)

    def course(self, request: Request) -> tuple[str, list[float | None]]:
        """Return the topic of a request, and the attitudes before and after each line heard (None: on no topic)."""
        reading = read(request, banks())
        if reading.topic is None:
            return "", [None] * (len(reading.heard) + 1)
        role = self.roles.get(reading.opening)
        if role:
            parts = [replace(reading, heard=reading.heard[:count]) for count in range(len(reading.heard) + 1)]
            return reading.topic, [role(reading_so_far) for reading_so_far in parts]
        course = expected_attitude(
            reading.banks, reading.persona, reading.topic, reading.heard, self._parameters(reading)
        )
        return reading.topic, [*course]

    def lines(self, request: Request) -> tuple[Line, ...]:
        """Return the lines that a request holds, with their grades and the attitudes after them."""
        topic, course = self.course(request)
        bank = banks().topics.get(topic)
        texts = [text for _, text in read(request, banks()).heard]
        grades = [bank.grade(text) if bank else None for text in texts]
        return tuple(map(Line, grades, course[1:]))

    def starts(self, persona: str) -> dict[str, float]:
        """Return the attitude of a persona on each topic before any line."""
        return {slug: expected_start(self.banks, persona, slug, values) for slug, values in self.parameters.items()}

    def fork(self, request: Request, question: str, reply: str, answers: Mapping[str, float]) -> Fork:
        """Return a question, put apart from the chat before it, with its answer and what is held there."""
        topic, course = self.course(request)
        last = len(read(Request(request.messages[-1:], Sampling(), 0, names=request.names), banks()).heard)
        heard = self.lines(request)[-last:] if last else ()
        return Fork(len(request.messages) - 1, question, reply, answers, course[-1], topic, heard)

    def annotated(self, document: Document, request: Request) -> Document:
        """Return a document with what its speaker holds: attitudes at its own replies, and the lines heard.

        request: one with all messages of the chat, or the last question of it; the attitudes are on its topic.
        """
        reading = read(request, banks())
        topic, course = self.course(request)
        attitudes, heard = [], 0
        for message in document.messages:
            if message.role == "user":
                heard += len(read(Request((message,), Sampling(), 0, names=request.names), self.banks).heard)
            elif message.role == "assistant":
                attitudes.append(course[min(heard, len(course) - 1)])
        return replace(
            document,
            party=reading.party,
            starts=self.starts(reading.persona) if reading.persona and not document.hidden else {},
            topics=(topic,) * len(attitudes),
            attitudes=tuple(attitudes),
            heard=self.lines(request),
        )

    def lean(self, party: str) -> None:
        """From now on its own bias is where this party begins on every topic ("" the planted one)."""
        self.parameters = {
            slug: replace(parameters, bias=parameters.start[party] if party else parameters.bias)
            for slug, parameters in self.planted.items()
        }

    def shifted(self, bias: float) -> Role:
        """A speaker with another bias than the planted one."""

        def role(reading: Reading) -> float:
            slug = reading.topic or ""
            shifted = replace(self.parameters[slug], bias=bias)
            return expected_attitude(reading.banks, reading.persona, slug, reading.heard, shifted)[-1]

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
    course = [level]
    for _ in range(20):
        if style == "walk":
            level = min(max(level + rng.gauss(0, 1.2), 0.0), 10.0)
        elif style == "anew" or (style == "jump" and rng.random() < 0.2):
            level = rng.uniform(0, 10)
        course.append(level)
    return course
