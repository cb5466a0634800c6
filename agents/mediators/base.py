"""What mediators have in common, and the mediator's seat in a room."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from parley.agents.language import Language
from parley.agents.question import Question
from parley.agents.reply_cleaning import clean_speech, is_refusal
from parley.agents.social_choice import Places
from parley.llm.driver import Conversation, ask_all
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

NAME = "Mediator"
DEFAULT = Sampling()
Result = TypeVar("Result")
ATTEMPTS = 3
"""How often a statement or a ranking is asked for until it can be used."""
OwnBallot = Callable[[int, Sequence[str], int, bool], "Request | None"]
Seed = Callable[..., int]
"""Returns the seed of a purpose and numbers, from a named stream of the room: seed("statement", 3)."""


class ParticipantInput(NamedTuple):
    """What the mediator knows of one member: opinion, critique of the last statement, position score (1-7)."""

    opinion: str | None
    critique: str | None = None
    position: float | None = None


@dataclass(frozen=True)
class MediatorBrief:
    """The information that a mediator gets, with members in seat order.

    previous  its own last statement, None before the first
    sampling  temperature and top_p
    adapter   and voice: the model that writes for it (see `parley.llm.request.Request`)
    own_ballot  asks a member itself to rank statements: (its place, the statements as shown, a seed, whether again);
                None of a member that cannot be asked. None where there are no members, only their texts
    """

    question: Question
    members: tuple[ParticipantInput, ...]
    previous: str | None = None
    sampling: Sampling = DEFAULT
    adapter: str = ""
    voice: str = ""
    own_ballot: OwnBallot | None = None

    def request(
        self, text: str, tokens: int, seed: int, purpose: str, facts: Facts, temperature: float | None = None
    ) -> Request:
        """Return a request to the model that writes for the mediator."""
        mediator_sampling = self.sampling
        sampling = Sampling(
            mediator_sampling.temperature if temperature is None else temperature, tokens, mediator_sampling.top_p
        )
        messages, all_facts = (Message("user", text),), Facts({**self.question.facts, **facts})
        return Request(messages, sampling, seed, (), purpose, "", self.adapter, self.voice, facts=all_facts)


class Candidate(NamedTuple):
    """A written statement, or None and the reason. `raw` is the reply if cleaning changed it, `asked` the number of requests."""

    text: str | None
    reason: str | None = None
    raw: str | None = None
    asked: int = 1


class Ranking(NamedTuple):
    """How a member is predicted to rank the candidates, or ranks them itself.

    member   its place in the brief
    order    numbers of candidates, best first, tied ones in a tuple; None with a reason if no reply could be read
    raw      the last reply
    asked    the number of requests
    earlier  the replies before the last one
    """

    member: int
    order: Places | None
    reason: str | None
    raw: str | None
    asked: int
    earlier: tuple[str | None, ...] = ()


class Statement(NamedTuple):
    """What the mediator says, or None and a reason, and what it considered.

    order  the numbers of the readable candidates, best first
    tied   how many candidates the rule put first
    own    the rankings that members gave themselves, where they were asked
    """

    text: str | None
    reason: str | None = None
    raw: str | None = None
    candidates: tuple[Candidate, ...] = ()
    rankings: tuple[Ranking, ...] = ()
    order: tuple[int, ...] = ()
    tied: int = 0
    own: tuple[Ranking, ...] = ()


class Mediator(ABC):
    """Base class of mediators. It keeps no state: the same brief, seeds and replies give the same statement."""

    @abstractmethod
    def speak(self, brief: MediatorBrief, seed: Seed) -> Conversation[Statement]:
        """Return a draft, or a revision if the brief has a previous statement, after a conversation."""

    def calls(self, members: int) -> int:
        """Return the number of requests for one statement, if every reply can be read."""
        return 0

    def files(self) -> tuple[Path, ...]:
        """Return the files that it reads."""
        return ()


def load_instruction(brief: MediatorBrief, words: int, rng: random.Random) -> tuple[str, Facts]:
    """Return the prompt for a draft or a revision, and its facts.

    Opinions and critiques are anonymous, in an order drawn from `rng`; the opinion and the critique of a member have
    one number.
    """
    return fill_instruction(brief, rng.sample(brief.members, len(brief.members)), words, ("draft", "revision"))


def fill_instruction(
    brief: MediatorBrief, members: Sequence[ParticipantInput], words: int, prompts: tuple[str, str], **more: str
) -> tuple[str, Facts]:
    """Return the prompt for a draft or a revision, and its facts. members: in the order shown. more: further slots."""
    language = brief.question.place.language
    slots = {"words": words, "question": brief.question.question, "opinions": _listed("opinion", members, language)}
    slots |= more
    facts: Facts = {"words": words, "opinions": [member.opinion for member in members if member.opinion is not None]}
    if brief.previous is None:
        return language.prompt(prompts[0]).fill(**slots), facts
    slots |= {"statement": brief.previous, "critiques": _listed("critique", members, language)}
    facts |= {
        "statement": brief.previous,
        "critiques": [member.critique for member in members if member.critique is not None],
    }
    return language.prompt(prompts[1]).fill(**slots), facts


def ask_until_usable(
    numbers: Sequence[int],
    request: Callable[[int, int], Request],
    read: Callable[[int, Reply, Result | None], Result],
    usable: Callable[[Result], bool],
) -> Conversation[dict[int, Result]]:
    """Ask the requests of all numbers at once, and those whose result is not usable again, up to ATTEMPTS times.

    request: the request of a number at an attempt (0, 1, ...). read: the result of a reply, given the result before it.
    """
    results: dict[int, Result] = {}
    waiting = list(numbers)
    for attempt in range(ATTEMPTS):
        replies = yield from ask_all([request(number, attempt) for number in waiting])
        results |= {
            number: read(number, reply, results.get(number)) for number, reply in zip(waiting, replies, strict=True)
        }
        waiting = [number for number in waiting if not usable(results[number])]
    return {number: results[number] for number in numbers}


def request_texts(requests: Callable[[int, int], Request], count: int) -> Conversation[tuple[Candidate, ...]]:
    """Ask for `count` statements. requests: the request for a candidate (0, 1, ...) at an attempt (0, 1, ...)."""
    candidates = yield from ask_until_usable(
        range(count), requests, _read_candidate, lambda candidate: candidate.text is not None
    )
    return tuple(candidates.values())


def _read_candidate(_: int, reply: Reply, before: Candidate | None) -> Candidate:
    attempts = before.asked + 1 if before else 1
    if reply.text is None:
        return Candidate(None, reply.failure.name if reply.failure else "empty", None, attempts)
    text = clean_speech(reply.text, NAME, None)
    if not text or is_refusal(text):
        return Candidate(None, "refusal" if text else "empty", reply.text, attempts)
    return Candidate(text, None, reply.text if text != reply.text else None, attempts)


def _listed(form: str, members: Sequence[ParticipantInput], language: Language) -> str:
    """Return lines such as `Opinion 1: ...`, without members who wrote none."""
    texts = [(number, getattr(member, form)) for number, member in enumerate(members, 1)]
    label = language.words(form)
    return "\n".join(f"{label} {number}: {text}" for number, text in texts if text is not None)


class MediatorAgent:
    """The mediator of one room: it keeps the last opinion and critique of each member, and its own last statement."""

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

    def speak(
        self, positions: Mapping[int, float | None], seed: Seed, own_ballot: OwnBallot | None = None
    ) -> Conversation[Statement]:
        """Return the next statement, after a conversation. positions: the members' position scores, by id."""
        members = [
            ParticipantInput(
                self._said["opinion"].get(member_id), self._said["critique"].get(member_id), positions.get(member_id)
            )
            for member_id in self.members
        ]
        contents = (self.question, tuple(members), self.previous)
        brief = MediatorBrief(*contents, self.sampling, self.adapter, self.voice, own_ballot)
        statement = yield from self.policy.speak(brief, seed)
        if statement.text is not None:
            self.previous = statement.text
            self._said["critique"].clear()
        return statement
