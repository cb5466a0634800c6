"""Requests to a language model, replies, and what a backend offers.

Here too: a conversation as one plain text, for models without chat turns, and the answer to a closed question drawn from a
distribution over its answers.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from parley.llm.purposes import Facts
from parley.llm.seeding import derive, digest
from parley.llm.value_types import read_json, typed


class Message(NamedTuple):
    """One chat message; `role` is system, user or assistant."""

    role: str
    content: str


class Sampling(NamedTuple):
    """How tokens are drawn. Temperature 0 is greedy; `max_tokens` counts new tokens; a reply does not include `stop` strings.

    min_p: a token is drawn only if it has at least this share of the likeliest token's probability (0: any). top_k: only the k
    likeliest tokens are drawn (0: all).
    """

    temperature: float = 1.0
    max_tokens: int = 120
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    min_p: float = 0.0
    top_k: int = 0


@dataclass(slots=True, eq=False)
class Request:
    """One question to a model. It must not be changed later (a `frozen` dataclass takes four times as long to build).

    Parameters
    ----------
    messages : tuple of Message
        The chat, each with a `role` (system, user, assistant) and a `content`.
    sampling : Sampling
        Temperature, most tokens of the reply, top_p and stop strings.
    seed : int
        The random seed of this question.
    answers : tuple of str
        The closed set of allowed answers, if the question has one. Some backends return the probability of each.
    purpose : str
        A label for the record, the progress bar and the oracle (speech, survey, ...: llm/purposes.py). A model does not see it.
    answer_prefix : str
        How the reply begins before the answer, where the question fixes that ("I think it is a ").
    adapter : str
        The adapter of a local model that answers; empty for the model without adapter.
    voice : str
        The model, where a run has several.
    archetype : str
        The kind of agent that may share answers to a closed question (llm/answer_sharing.py); empty for no sharing. A model does
        not see it.
    begin : str
        How the reply begins, such as the speaker's name and a colon, or "My rating:". A backend that can continue a message
        makes the model go on from there, and notes it (BEGUN); the reply is what follows. Other backends leave it out.
    names : frozenset of str, optional
        All names of which the messages may hold lines, `NAME: text`; None if unknown. So no pattern has to guess at names.
    facts : Facts
        What the messages state, by name. The oracle reads them; no other model sees them.

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
    begin: str = ""
    names: frozenset[str] | None = None
    facts: Facts = field(default_factory=Facts)
    _key: tuple[tuple[str, bool], bytes] | None = field(default=None, init=False, repr=False)

    def key(self, identity: str, seedless: bool = False) -> bytes:
        """Return the 16-byte digest of this question to the model called `identity`.

        Two questions are the same if model identity, adapter, messages, sampling, allowed answers, beginning and seed are the
        same. Repetition, room and round are part of the seed. Purpose, ids and time-outs are not part of the key, and neither is
        the seed where the reply does not depend on it (`Backend.seedless`). The facts are not part of it because the messages
        state them: two requests with the same messages have the same facts.
        """
        if self._key is None or self._key[0] != (identity, seedless):
            seed = None if seedless else self.seed
            usual, (min_p, top_k) = self.sampling[:4], self.sampling[4:]
            parts: list[object] = [identity, self.messages, usual, seed, self.answers]
            if self.answer_prefix or self.adapter:
                parts += [self.answer_prefix, self.adapter]
            further = {"voice": self.voice, "begin": self.begin, "min_p": min_p, "top_k": top_k}
            for name, value in further.items():
                if value:
                    parts.append((name, value))
            self._key = (identity, seedless), digest(*parts)
        return self._key[1]


class Failure(NamedTuple):
    """Why there is no text.

    Parameters
    ----------
    name : str
        A short stable word: `timeout`, `unknown_ask`, ... It is the `reason` in the tables.
    detail : str
        The message of the server or the library.
    transient : bool
        Whether the request may be repeated.

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
DECLINED = "declined"
"""The note of a reply that says only that it does not know or does not say: no opinion, and no answer to learn from."""
SHORTENED = "shortened"
"""The note of a reply with more text than its tokens can have: the number of characters that were cut off."""
BEGUN = "begun"
"""The note of a reply whose model went on from `Request.begin`, which is no part of its text."""
CACHED = "cached_tokens"
"""The note of a reply that counts its prompt tokens from the prompt cache of the server."""
THOUGHT = "thinking_tokens"
"""The note of a reply that counts those of its completion tokens with which the model thought before it replied."""
BATCH = "batch"
"""The note of a reply that came in a batch of the provider, at the price of batches."""
SERVED = "served:"
"""How a note begins whose rest is the model that replied, where it is not the one with which the run began."""


def served_by(notes: Mapping[str, int]) -> str:
    """Return the model that replied, by the notes of a call; "" for the model with which the run began.

    >>> served_by({"repeated": 1, "served:gpt-b": 1}), served_by({})
    ('gpt-b', '')
    """
    return next((note.removeprefix(SERVED) for note in notes if note.startswith(SERVED)), "")


def tokens_noted(reply: Reply) -> dict[str, int]:
    """Return the tokens that the notes of a reply count: those from the prompt cache, and those of thinking."""
    return {name: reply.notes[name] for name in (CACHED, THOUGHT) if name in reply.notes}


def add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of two sets of notes: of {"cut": 1} and {"cut": 1, "unread": 2} they are {"cut": 2, "unread": 2}."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}


def total(usages: Iterable[Usage]) -> Usage:
    """Return the sum of usages: of (3, 1) and (4, 2) it is (7, 3)."""
    return Usage(*map(sum, zip(*usages, strict=True))) if (usages := list(usages)) else NOTHING


@dataclass(slots=True, eq=True)
class Reply:
    """The reply of a model: text or a named failure, never both.

    Parameters
    ----------
    text : str or None
        The text of the reply; None after a failure.
    failure : Failure, optional
        Why there is no text.
    usage : Usage
        Tokens of the prompt and of the reply.
    answers : dict, optional
        Each allowed answer with its probability, where the backend knows it (sums to 1).
    notes : dict
        Counts for the record (`unread`: lines that the backend could not interpret; DECLINED: the text answers nothing).
    thinking : str
        The text that a model writes before its reply, if it thinks first; no agent hears it.
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
        """Return the reply as one canonical line of JSON."""
        fields: dict[str, Any] = {
            "text": self.text,
            "failure": self.failure,
            "usage": self.usage,
            "answers": None if self.answers is None else dict(self.answers),
            "notes": dict(self.notes),
        }
        fields |= {name: text for name, text in (("thinking", self.thinking), ("way", self.way)) if text}
        if self.covered is not None:
            fields["covered"] = self.covered
        return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Reply:
        """Return the reply of a line. Errors: ValueError where a value has another type than its field."""
        return typed(cls, read_json(line))


class Backend(Protocol):
    """A language model, or a wrapper around one. Any object of this shape can be given as `backend=`.

    docs/extending.md builds one in twenty lines. `journal(limits(retry(backend)))` has this same shape.
    """

    @property
    def identity(self) -> Mapping[str, Any]:
        """What identifies the model: part of every journal key and of the record's header (never a secret)."""

    @property
    def in_flight(self) -> int:
        """0: takes any number of requests as one batch. N > 0: a network (`Network`) with N requests in flight."""

    def seedless(self, request: Request) -> bool:
        """Does this request have the same reply with any seed, as far as the model can promise (greedy decoding)?"""

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        """Return one reply per request, in their order. A failed call is a Reply with a Failure, not an exception."""


class Network(Backend, Protocol):
    """A backend that calls over a network: replies land one by one, in any order, and none waits for another.

    One thread uses it. It repeats transient failures by itself, because only it knows how long a server wants a pause.
    """

    def send(self, requests: Sequence[Request]) -> None:
        """Hand requests over and return at once. The caller has at most `in_flight` requests in flight."""

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        """Return all replies that have landed, each with its request as it was sent; by default wait for the first.

        It is called while requests are in flight. An error is kept until all of them have landed, and raised then.
        """


class Wrapper:
    """A backend around another one, with the same model. `send` and `receive` are those of a `Network`."""

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

    @property
    def batch_size(self) -> int:
        """The most requests of one `complete`, where the backend has a number of its own; 0 for the usual one."""
        return int(getattr(self.inner, "batch_size", 0))

    def keep_beside(self, journal: Path) -> None:
        """Tell a backend that remembers what it has sent (openai/batches.py) which journal will keep the replies."""
        if keep_beside := getattr(self.inner, "keep_beside", None):
            keep_beside(journal)

    def settle(self) -> None:
        """Tell such a backend that the journal has kept all replies that it has returned."""
        if settle := getattr(self.inner, "settle", None):
            settle()

    def send(self, requests: Sequence[Request]) -> None:
        cast(Network, self.inner).send(requests)

    def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
        return cast(Network, self.inner).receive(wait)


def beginning_of(request: Request) -> str:
    """Return how the reply to a request begins before what the model says, without a space at its end; "" where it says all.

    >>> beginning_of(Request((), Sampling(), 1, ("a big", "a small"), answer_prefix="I think it is "))
    'I think it is'
    """
    return (request.begin or request.answer_prefix).rstrip()


def check_replies(replies: list[Reply], expected: int) -> list[Reply]:
    """Return the replies, if there is one per request: after a lost one, every later request would get a wrong reply."""
    if len(replies) != expected:
        raise RuntimeError(f"the backend answered {len(replies)} of {expected} requests")
    return replies


def identity_text(backend: Backend) -> str:
    """Return the identity as canonical JSON, as in journal keys."""
    return json.dumps(dict(backend.identity), sort_keys=True)


OWN, ANSWER = "Me:", "Answer:"
MOST = 4
"""The number of stop strings that servers take."""


def plain_text(messages: Sequence[Message], closed: bool) -> str:
    """Return one text for a completion model: persona, lines (own ones as `Me:`), instruction, and a cue to go on."""
    parts = [f"{OWN} {message.content}" if message.role == "assistant" else message.content for message in messages]
    return "\n\n".join([*parts, ANSWER if closed else OWN])


def label_stops(request: Request) -> tuple[str, ...]:
    """Return where the turn of a reply ends that was begun with its speaker's label: at a line with anyone's label.

    >>> label_stops(Request((), Sampling(), 0, begin="Ann:", names=frozenset({"Ann", "Bob"})))
    ('\\nAnn:', '\\nBob:')
    """
    return tuple(f"\n{name}:" for name in sorted(request.names or ())) if request.begin else ()


def stop_strings(request: Request) -> tuple[str, ...]:
    """Return the strings at which the turn of a completion model ends.

    They are the request's own stop strings, then labels at the beginning of a line: its own, and of others as many as fit.
    """
    labels = [OWN, *([ANSWER] if request.answers else []), *(f"{name}:" for name in sorted(request.names or ()))]
    return tuple(dict.fromkeys([*request.sampling.stop, *(f"\n{label}" for label in labels)]))[:MOST]


def answer_line(text: str) -> str:
    """Return the first line with words: where a completion model's answer to a closed question ends.

    What it writes behind it is another text.

    >>> answer_line("\\n 10.\\n\\nYou are a data analyst of 51 years.")
    ' 10.'
    """
    return next((line for line in text.splitlines() if any(map(str.isalnum, line))), text)


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


def set_choice(reply: Reply, request: Request, shares: Sequence[float]) -> None:
    """Put a distribution into a reply: shares by answer, scaled to sum to 1. Their sum before that is `covered`.

    The text is the most probable answer at temperature 0 (of equals the last one listed), else one drawn with the request's seed.
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
