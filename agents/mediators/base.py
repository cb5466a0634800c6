"""What a mediator is told, what it returns, and what mediators that write have in common.

The mediator of one room: it hears the members, and a policy of agents/mediators/ makes a statement of what it heard.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.agents.question import Question
from parley.agents.reply_cleaning import clean_speech, is_refusal
from parley.agents.social_choice import Places
from parley.agents.topic import PROMPTS
from parley.llm.driver import Conversation, ask_all
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

NAME = "Mediator"
DEFAULT = Sampling()
ATTEMPTS = 3
"""Times a statement or a ranking is asked for until it can be used."""
Seed = Callable[..., int]
"""The seed of a purpose and numbers, from a named stream of the room: seed("statement", 3)."""


class ParticipantInput(NamedTuple):
    """What the mediator has of one member: its opinion, its critique of the last statement, its position score (1-7)."""

    opinion: str | None
    critique: str | None = None
    position: float | None = None


@dataclass(frozen=True)
class MediatorBrief:
    """All that the mediator goes by, members in seat order. `previous` is its own last statement, None before there is
    one.

    `sampling` holds temperature and top_p, `adapter` and `voice` which model speaks for it (see
    `parley.llm.request.Request`).
    """

    question: Question
    members: tuple[ParticipantInput, ...]
    previous: str | None = None
    sampling: Sampling = DEFAULT
    adapter: str = ""
    voice: str = ""

    def request(
        self, text: str, tokens: int, seed: int, purpose: str, facts: Facts, temperature: float | None = None
    ) -> Request:
        """A question to the model that speaks for the mediator."""
        own = self.sampling
        sampling = Sampling(own.temperature if temperature is None else temperature, tokens, own.top_p)
        told, facts = (Message("user", text),), {"issue": self.question.question, **facts}
        return Request(told, sampling, seed, (), purpose, "", self.adapter, self.voice, facts=facts)


class Candidate(NamedTuple):
    """A statement that was written, or None and the reason. `raw` is the reply, where cleaning changed it; `asked` how
    often.
    """

    text: str | None
    reason: str | None = None
    raw: str | None = None
    asked: int = 1


class Ranking(NamedTuple):
    """How a member (its place in the brief) is predicted to rank the candidates, by their numbers, best first (ties in
    tuples).

    None and a reason where no reply could be read; `raw` is the last reply, `earlier` are those before it.
    """

    member: int
    order: Places | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


class Statement(NamedTuple):
    """What the mediator says, or None and a reason; and what it considered.

    `order` are the numbers of the candidates that could be read, best first, `tied` how many of them the rule put
    first.
    """

    text: str | None
    reason: str | None = None
    raw: str | None = None
    candidates: tuple[Candidate, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    order: tuple[int, ...] = ()
    tied: int = 0


class Mediator(ABC):
    """The base of every mediator, options in a frozen dataclass. Stateless: same brief, seeds and replies, same
    statement.
    """

    @abstractmethod
    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        """A conversation that returns the statement: a draft when the brief has no previous one, else a revision."""

    def calls(self, members: int) -> int:
        """Requests for one statement, when everything can be read at the first ask."""
        return 0

    def files(self) -> tuple[Path, ...]:
        """The files that it goes by."""
        return ()


def load_instruction(brief: MediatorBrief, words: int, rng: random.Random) -> tuple[str, Facts]:
    """The prompt for a draft, or for a revision, and its facts.

    Opinions and critiques have no names, and an order drawn from `rng`. What one member wrote has one number.
    """
    members = rng.sample(brief.members, len(brief.members))
    slots = {"words": words, "question": brief.question.question, "opinions": _listed("Opinion", members)}
    facts: Facts = {"words": words, "opinions": [one.opinion for one in members if one.opinion is not None]}
    if brief.previous is None:
        return prompt(PROMPTS, "draft").fill(**slots), facts
    slots |= {"statement": brief.previous, "critiques": _listed("Critique", members)}
    facts |= {
        "statement": brief.previous,
        "critiques": [one.critique for one in members if one.critique is not None],
    }
    return prompt(PROMPTS, "revision").fill(**slots), facts


def request_texts(requests: Callable[[int, int], Request], count: int) -> Conversation[tuple[Candidate, ...]]:
    """`count` statements, asked for at once; one that cannot be used is asked for again, up to ATTEMPTS times.

    requests: the request for a candidate (0, 1, ...) at an attempt (0, 1, ...).
    """
    found: dict[int, Candidate] = {}
    waiting = list(range(count))
    for attempt in range(ATTEMPTS):
        replies = yield from ask_all([requests(number, attempt) for number in waiting])
        for number, reply in zip(waiting, replies, strict=True):
            found[number] = _candidate(reply, attempt + 1)
        waiting = [number for number in waiting if found[number].text is None]
    return tuple(found[number] for number in range(count))


def _candidate(reply: Reply, asked: int) -> Candidate:
    if reply.text is None:
        return Candidate(None, reply.failure.name if reply.failure else "empty", None, asked)
    text = clean_speech(reply.text, NAME, None)
    raw = reply.text if text != reply.text else None
    if not text or is_refusal(text):
        return Candidate(None, "refusal" if text else "empty", reply.text, asked)
    return Candidate(text, None, raw, asked)


def _listed(label: str, members: Sequence[ParticipantInput]) -> str:
    """`Opinion 1: ...` a line each; who wrote none has no line."""
    texts = [(number, getattr(heard, label.lower())) for number, heard in enumerate(members, 1)]
    return "\n".join(f"{label} {number}: {text}" for number, text in texts if text is not None)


class MediatorAgent:
    """Keeps what each member (by its id, in seat order) said last of each form, and its own last statement."""

    name = NAME

    def __init__(
        self,
        policy: Mediator,
        question: Question,
        members: Sequence[int],
        sampling: Sampling,
        adapter: str = "",
        voice: str = "",
    ):
        self.policy, self.question, self.members = policy, question, tuple(members)
        self.sampling, self.adapter, self.voice = sampling, adapter, voice
        self.previous: str | None = None
        self._said: dict[str, dict[int, str]] = {"opinion": {}, "critique": {}}

    def hear(self, member: int, text: str, form: str) -> None:
        """Keep an opinion or a critique."""
        self._said[form][member] = text

    def speak(self, positions: Mapping[int, float | None], seed: Seed) -> Conversation[Statement]:
        """A conversation that returns the next statement. positions: the members' position scores, by id."""
        heard = [
            ParticipantInput(self._said["opinion"].get(one), self._said["critique"].get(one), positions.get(one))
            for one in self.members
        ]
        brief = MediatorBrief(self.question, tuple(heard), self.previous, self.sampling, self.adapter, self.voice)
        statement = yield from self.policy.speak(brief, seed)
        if statement.text is not None:
            self.previous = statement.text
            self._said["critique"].clear()
        return statement
