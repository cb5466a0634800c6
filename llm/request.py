"""What is asked of a language model, and what came back.

A conversation as one plain text, for models that go on from a text and know no turns.

A closed question answered from a distribution over its answers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, cast

from parley.llm.purposes import Facts
from parley.llm.seeding import derive, digest


class Message(NamedTuple):
    """One chat message; `role` is system, user or assistant."""

    role: str
    content: str


class Sampling(NamedTuple):
    """How tokens are drawn. Temperature 0 is greedy; `max_tokens` counts new tokens; `stop` strings are not returned."""

    temperature: float = 1.0
    max_tokens: int = 120
    top_p: float = 1.0
    stop: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Request:
    """One question to a model. It must not be changed once it is made (a `frozen` one costs four times as much to build).

    Parameters
    ----------
    messages : tuple of Message
        The chat, each with a `role` (system, user, assistant) and a `content`.
    sampling : Sampling
        Temperature, most tokens of the reply, top_p and stop strings.
    seed : int
        The random seed of this question.
    answers : tuple of str
        The closed set of allowed answers, if the question has one. A backend that can, returns the probability of each.
    purpose : str
        A label for the record, the progress bar and the oracle (speech, survey, ...: llm/purposes.py). It is no part of what is
        asked.
    answer_prefix : str
        How the reply begins before the answer, where the question fixes that ("I think it is a ").
    adapter : str
        The adapter of a local model that is to answer; empty for the model as it is.
    voice : str
        The model, where a run has several.
    archetype : str
        Who may share answers to a closed question (llm/answer_sharing.py); empty if the question is asked itself.
        Not asked either.
    names : frozenset of str, optional
        Everybody whose lines, `NAME: text`, the messages may hold; None if unknown. No pattern has to guess at names.
    facts : Facts
        What the messages state, by name. The oracle reads them; no other model is sent them.

    Examples
    --------
    >>> Request((Message("user", "Say hello."),), Sampling(max_tokens=5), seed=1).purpose
    'speech'
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    seed: int
    answers: tuple[str, ...] = ()
    purpose: str = "speech"
    answer_prefix: str = ""
    adapter: str = ""
    voice: str = ""
    archetype: str = ""
    names: frozenset[str] | None = None
    facts: Facts = field(default_factory=Facts)
    _key: tuple[tuple[str, bool], bytes] | None = field(default=None, init=False, repr=False)

    def key(self, identity: str, seedless: bool = False) -> bytes:
        """16-byte digest of this question to the model called `identity`.

        The thesis of sameness: same model identity and adapter, same messages, same sampling, same allowed answers and same
        seed is the same question. Repetition, room and round are in the seed; purpose, ids and time-outs stay out. Where the
        reply does not depend on the seed (`Backend.seedless`), the seed stays out too. The facts stay out because the messages
        state them: two requests with the same messages have the same facts.
        """
        if self._key is None or self._key[0] != (identity, seedless):
            special: tuple[object, ...] = (
                (self.answer_prefix, self.adapter) if self.answer_prefix or self.adapter else ()
            )
            special += (("voice", self.voice),) if self.voice else ()
            seed = None if seedless else self.seed
            told = digest(identity, self.messages, self.sampling, seed, self.answers, *special)
            self._key = (identity, seedless), told
        return self._key[1]


class Failure(NamedTuple):
    """Why there is no text.

    Parameters
    ----------
    name : str
        A short stable word: `timeout`, `unknown_ask`, ... It stands as the `reason` in the tables.
    detail : str
        What the server or the library said.
    transient : bool
        Whether the question may be asked again.

    Examples
    --------
    >>> Failure("timeout", "no reply in 60 s", transient=True).name
    'timeout'
    """

    name: str
    detail: str = ""
    transient: bool = False


class Usage(NamedTuple):
    """Tokens in the backend's own unit (the known-truth speaker and the fake count words)."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


NOTHING = Usage()


def total(usages: Iterable[Usage]) -> Usage:
    """The sum: (3, 1) and (4, 2) are (7, 3)."""
    return Usage(*map(sum, zip(*usages, strict=True))) if (usages := list(usages)) else NOTHING


@dataclass(slots=True, eq=True)
class Reply:
    """What a model answered: text or a named failure, never both.

    Parameters
    ----------
    text : str or None
        The reply; None where there is none.
    failure : Failure, optional
        Why there is no text.
    usage : Usage
        Tokens of the prompt and of the reply.
    answers : dict, optional
        Each allowed answer with its probability, where the backend knows it (sums to 1).
    notes : dict
        Counts that the backend wants in the record (`unread`: lines that it could not interpret).
    thinking : str
        What a model that thinks first wrote before its reply; nobody hears it.
    way : str
        How a closed question was answered, where there are several ways (exact, logprobs, choice, text).
    covered : float, optional
        The probability of all allowed answers together, as the model gave it, before they were scaled to sum to 1.

    Examples
    --------
    >>> Reply("Hello.").text
    'Hello.'
    >>> Reply.failed("timeout").text is None
    True
    """

    text: str | None
    failure: Failure | None = None
    usage: Usage = NOTHING
    answers: Mapping[str, float] | None = None
    notes: Mapping[str, int] = field(default_factory=dict)
    thinking: str = ""
    way: str = ""
    covered: float | None = None

    @classmethod
    def failed(cls, name: str, detail: str = "", transient: bool = False) -> Reply:
        return cls(None, Failure(name, detail, transient))

    def to_json(self) -> str:
        """The reply as one canonical line of JSON."""
        kept: dict[str, Any] = {
            "text": self.text,
            "failure": self.failure,
            "usage": self.usage,
            "answers": None if self.answers is None else dict(self.answers),
            "notes": dict(self.notes),
        }
        kept |= {name: text for name, text in (("thinking", self.thinking), ("way", self.way)) if text}
        kept |= {} if self.covered is None else {"covered": self.covered}
        return json.dumps(kept, ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Reply:
        kept = json.loads(line)
        failure = Failure(*kept["failure"]) if kept["failure"] else None
        more = kept.get("thinking", ""), kept.get("way", ""), kept.get("covered")
        return cls(kept["text"], failure, Usage(*kept["usage"]), kept["answers"], kept["notes"], *more)


class Backend(Protocol):
    """A language model, or a wrapper around one. Any object of this shape can be given as `backend=`.

    docs/extending.md builds one in twenty lines. `journal(limits(retry(backend)))` has this same shape.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """What makes this model this model: part of every journal key and of the record's header (never a secret)."""

    @property
    def in_flight(self) -> int:
        """0: takes any number of requests as one batch. N > 0: asks over a network (`Network`), N requests at a time."""

    def seedless(self, request: Request) -> bool:
        """Whether this question has the same reply whatever its seed, as far as the model can promise (greedy decoding)."""

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """One reply per request, in the order of the requests. A failed call is a Reply with a Failure, not an exception."""


class Network(Backend, Protocol):
    """A backend that asks over a network: replies land one by one, in any order, and none waits for another.

    Used by one thread. It asks again by itself what failed in passing: only it knows for how long a server wants to be left
    alone.
    """

    def send(self, requests: Sequence[Request]) -> None:
        """Hand requests over and come back at once. The caller has no more than `in_flight` on their way."""

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """All that has landed, each request as it was sent; wait for it unless told otherwise.

        To be called while something is on its way. An error is kept until all else has landed, and raised then.
        """


class Wrapper:
    """A backend around another one: the same model, asked in the same way. `send` and `receive` are those of a `Network`."""

    def __init__(self, inner: Backend):
        self.inner = inner

    @property
    def identity(self) -> Mapping[str, Any]:
        return self.inner.identity

    @property
    def in_flight(self) -> int:
        return self.inner.in_flight

    def seedless(self, request: Request) -> bool:
        return self.inner.seedless(request)

    def send(self, requests: Sequence[Request]) -> None:
        cast(Network, self.inner).send(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        return cast(Network, self.inner).receive(wait)


def check_replies(replies: list[Reply], expected: int) -> list[Reply]:
    """The replies, if there is one per request: a backend that loses one would answer every later request wrongly."""
    if len(replies) != expected:
        raise RuntimeError(f"the backend answered {len(replies)} of {expected} requests")
    return replies


def identity_text(backend: Backend) -> str:
    """The identity as canonical JSON, as it goes into journal keys."""
    return json.dumps(dict(backend.identity), sort_keys=True)


OWN, ANSWER = "Me:", "Answer:"
MOST = 4
"""As many stop strings as servers take."""


def plain_text(messages: Sequence[Message], closed: bool) -> str:
    """One text for a completion model: persona, what was said (own lines as `Me:`), instruction, and a cue to go on."""
    parts = [f"{OWN} {message.content}" if message.role == "assistant" else message.content for message in messages]
    return "\n\n".join([*parts, ANSWER if closed else OWN])


def stop_strings(request: Request) -> tuple[str, ...]:
    """Where the text that a completion model writes is no longer its turn: the request's own stop strings, then labels at the
    beginning of a line, its own and as many others' as there is room for.
    """
    labels = [OWN, *([ANSWER] if request.answers else []), *(f"{name}:" for name in sorted(request.names or ()))]
    return tuple(dict.fromkeys([*request.sampling.stop, *(f"\n{label}" for label in labels)]))[:MOST]


def fold_system_message(messages: Sequence[Message]) -> list[Message]:
    """Return the messages without a system message: its text begins the first message, which is the user's.

    >>> fold_system_message([Message("system", "You are Ann."), Message("user", "Why?")])
    [Message(role='user', content='You are Ann.\\n\\nWhy?')]
    """
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    rest = [message for message in messages if message.role != "system"]
    if not system:
        return rest
    if rest and rest[0].role == "user":
        return [Message("user", f"{system}\n\n{rest[0].content}"), *rest[1:]]
    return [Message("user", system), *rest]


COVERED = 0.5
"""The least probability that the allowed answers must have together. With less the model was saying something else: its text is
read, and what cannot be read is missing.
"""


def set_choice(reply: Reply, request: Request, shares: Sequence[float]) -> None:
    """Put a distribution into a reply: shares by answer, scaled to sum to 1. What they came to before is `covered`.

    Its text is the most probable answer at temperature 0 (of equals the one that is listed last), else one drawn with the
    request's seed.
    """
    answers, temperature = request.answers, request.sampling.temperature
    if temperature == 0:
        reply.text = answers[max(range(len(answers)), key=lambda place: (shares[place], place))]
    else:
        weights = [(share / max(shares)) ** (1 / temperature) for share in shares]
        reply.text = random.Random(derive(request.seed, "answer")).choices(answers, weights)[0]
    total = sum(shares)
    reply.covered = min(total, 1.0)
    reply.answers = {answer: share / total for answer, share in zip(answers, shares, strict=True)}
