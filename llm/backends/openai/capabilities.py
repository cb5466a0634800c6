"""What can this endpoint do with this model? Asked once, before the run; a 200 is no proof, only what is in it.

Servers differ, and some lie: 200 with logprobs, a schema or a stop string ignored, 500 for a field that they do not know. So
each ability is tried on a question whose right use shows in the reply.

Opening a backend: clients, the probe, and whether all addresses serve alike.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from openai import AsyncOpenAI

from parley.llm.backends.openai import payload
from parley.llm.backends.openai.backend import Loop, Openai, Policy
from parley.llm.backends.openai.payload import (
    BUSY,
    CHAT,
    CHOICE,
    LOGPROBS,
    PASSING,
    STOP,
    EndpointAbilities,
    has_logprobs,
    parse_response,
    retry_after,
    sanitise,
    usage_of,
)
from parley.llm.backends.openai.transport import (
    LINES,
    LONGEST,
    UNREACHABLE,
    Clock,
    Connection,
    Endpoint,
    HttpAnswer,
    NoAnswer,
)
from parley.llm.errors import Unreachable, UserError
from parley.llm.request import Message, Reply, Request, Sampling

TRIES = 4
"""Calls of one question of the probe."""


class EndpointSettings(NamedTuple):
    """What to open, and how it is asked."""

    model: str
    urls: Sequence[str]
    secret: str
    api: str
    closed: str
    thinking: int
    rpm: float
    tpm: float
    timeout: float
    client: str
    once: bool = False


def open_endpoints(
    settings: EndpointSettings, in_flight: int, attempts: int, patience: float, clock: Clock | None = None
) -> Openai:
    """The backend. Errors: UserError when an address does not answer as wanted, or two do not answer alike."""
    loop, clock = Loop(), clock or Clock()
    lines = loop.run(_lines(settings))
    with ExitStack() as undo:
        undo.callback(loop.close, lines)
        found = [loop.run(_probe(line, url, settings, clock)) for line, url in zip(lines, settings.urls, strict=True)]
        if other := next((url for url, one in zip(settings.urls, found, strict=True) if one[:2] != found[0][:2]), ""):
            raise UserError(f"{other} does not serve {settings.model} as {settings.urls[0]} does")
        undo.pop_all()
    each = max(1, -(-in_flight // len(lines)))
    endpoints = [Endpoint(line, each, settings.rpm, settings.tpm, clock) for line in lines]
    policy = Policy(in_flight, attempts, patience)
    can, served, took = found[0]
    return Openai(settings.model, endpoints, can, policy, loop, clock, served, settings.once, took)


async def _lines(settings: EndpointSettings) -> list[Connection]:
    made = LINES[settings.client]
    return [made(AsyncOpenAI(api_key=settings.secret, base_url=url), settings.timeout) for url in settings.urls]


async def _probe(line: Connection, url: str, settings: EndpointSettings, clock: Clock) -> Capabilities:
    return await probe(_patient(line, clock), settings.model, url, settings.api, settings.closed, settings.thinking)


def _patient(line: Connection, clock: Clock) -> Connection:
    """A line on which a call that fails in passing is made again, TRIES times in all.

    A server that is not there is not waited for; one that breaks (500) is asked once more, as some break on what they cannot do.
    """

    async def post(path: str, body: bytes) -> HttpAnswer:
        for number in range(1, TRIES):
            try:
                answer = await line.post(path, body)
            except NoAnswer as error:
                if error.name == UNREACHABLE:
                    raise
                await clock.sleep(2.0**number)
                continue
            if answer.status not in PASSING and (answer.status != 500 or number > 1):
                return answer
            await clock.sleep(min(retry_after(answer) or 0.5 * 2.0**number, LONGEST))
        return await line.post(path, body)

    return Connection(post, line.get, line.close)


TOPS = (20, 5)
THINKING = 4000
"""Tokens allowed beside the reply for a model that thinks first, unless the user says otherwise."""
NO_SYSTEM = ("system role", "system message", "system prompt", "role 'system'", 'role "system"', "must alternate")
"""How servers say that a model takes no system message: in the words of its template, most of them."""
DIGITS = tuple("0123456789")
BEASTS = ("quagga", "okapi")
"""Words that nobody answers to a question about colours, unless a schema leaves no other."""


class Capabilities(NamedTuple):
    """Abilities, the name that the server gives the model it uses, and the tokens that it took for one word (0: not told)."""

    can: EndpointAbilities
    served: str
    took: int = 0


async def probe(line: Connection, model: str, url: str, api: str, closed: str, thinking: int) -> Capabilities:
    """Find out. `closed` and `thinking` are the user's word for it ("auto" and -1: try). Errors: UserError, in one line."""
    can, told = await _speaks(line, model, url, EndpointAbilities(api, thinking=max(thinking, 0)), thinking < 0)
    telling, sure = await _likely(line, model, url, can) if closed in ("auto", LOGPROBS) else (can, False)
    if closed == LOGPROBS and telling.closed != LOGPROBS:
        raise UserError(f"{url} gives no likeliest tokens for {model}: leave out closed=logprobs")
    if not sure and closed in ("auto", CHOICE) and api == CHAT:
        can = await _chooses(line, model, url, can)
    can = can if can.closed == CHOICE else telling
    if closed == CHOICE and can.closed != CHOICE:
        raise UserError(f"{url} does not keep {model} to a schema: leave out closed=choice")
    if not isinstance(told, dict):
        return Capabilities(can, "")
    usage, _ = usage_of(told.get("usage"))
    return Capabilities(can, sanitise(str(told.get("model") or "")), usage.completion_tokens)


async def _speaks(
    line: Connection, model: str, url: str, can: EndpointAbilities, free: bool
) -> tuple[EndpointAbilities, Any]:
    """Does it answer at all, and which of the usual fields does it take? It is asked as agents are, with a system message."""
    asked = Message("system", "You know the weather."), Message("user", "Is the sky blue? Answer with one word.")
    request = Request(asked, Sampling(0.7, 16, 0.9, ("\n\n\n",)), 1)
    for _ in range(6):
        answer, reply = await _tried(line, model, url, request, can)
        if answer.status == 200:
            if reply.failure and reply.failure.name in ("out_of_tokens", "empty") and free and not can.thinking:
                can = replace(can, thinking=THINKING)
                continue
            if reply.failure and reply.failure.name == "malformed":
                raise UserError(f"{url} is no OpenAI-compatible endpoint: {reply.failure.detail}")
            if (reply.thinking or reply.notes.get("thinking_tokens")) and free and not can.thinking:
                can = replace(can, thinking=THINKING)
            return can, json.loads(answer.body)
        failure = reply.failure
        assert failure is not None
        if failure.name in STOP:
            raise UserError(
                f"{url} refuses {model}: {failure.detail}{await _known(line) if answer.status == 404 else ''}"
            )
        fewer = _without(can, failure.detail.lower(), free)
        if fewer == can:
            raise UserError(f"{url} cannot be asked for {model}: {failure.detail}")
        can = fewer
    raise UserError(f"{url} takes none of the usual fields for {model}")


def _without(can: EndpointAbilities, said: str, free: bool) -> EndpointAbilities:
    """Fewer fields, by what the refusal names."""
    if "max_completion_tokens" in said and can.most == "max_tokens":
        return replace(can, most="max_completion_tokens", thinking=can.thinking or (THINKING if free else 0))
    if any(name in said for name in ("temperature", "top_p", "'stop'", '"stop"', "stop is not", "parameter: stop")):
        return replace(can, sampling=False)
    if "seed" in said:
        return replace(can, seed=False)
    if any(words in said for words in NO_SYSTEM):
        return replace(can, system=False)
    return can


async def _likely(line: Connection, model: str, url: str, can: EndpointAbilities) -> tuple[EndpointAbilities, bool]:
    """Does it tell likeliest tokens, and are the answers among them?

    A weak model may answer what it is there for, and no question about dogs: then it is enough that they are told. Of one that
    thinks first they may be those of its thoughts, which is not enough.
    """
    request = _question("How many legs has a dog? Answer with one digit only.", Sampling(0.0, 8), DIGITS)
    for top in TOPS:
        trying = replace(can, closed=LOGPROBS, top=top)
        answer, reply = await _tried(line, model, url, request, trying)
        if reply.way == LOGPROBS:
            return trying, True
        if answer.status == 200 and not can.thinking and has_logprobs(_logprobs(answer), can.api == CHAT):
            return trying, False
    return can, False


def _logprobs(answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body)["choices"][0]["logprobs"]
    except (ValueError, KeyError, IndexError, TypeError):
        return None


async def _chooses(line: Connection, model: str, url: str, can: EndpointAbilities) -> EndpointAbilities:
    request = _question("Name the colour of grass.", Sampling(0.0, 40), BEASTS)
    trying = replace(can, closed=CHOICE)
    _, reply = await _tried(line, model, url, request, trying)
    return trying if reply.way == CHOICE else can


async def _tried(
    line: Connection, model: str, url: str, request: Request, can: EndpointAbilities
) -> tuple[HttpAnswer, Reply]:
    """What comes back of one question. Errors: Unreachable when nothing does: that says nothing of what the server can do."""
    try:
        answer = await line.post(payload.PATHS[can.api], payload.encode_body(payload.request_body(model, request, can)))
    except NoAnswer as error:
        raise Unreachable(
            f"no answer from {url} ({error.name}: {sanitise(str(error))}): is the server running, and the address right?"
        ) from error
    reply = parse_response(answer, request, can)
    if reply.failure and reply.failure.name in BUSY:
        raise Unreachable(f"{url} stayed busy ({reply.failure.detail}): run the same command again later")
    return answer, reply


async def _known(line: Connection) -> str:
    """The models that the server says it has."""
    try:
        told = json.loads((await line.get("/models")).body)
        names = sorted(sanitise(str(one["id"])) for one in told["data"])[:8]
    except (NoAnswer, ValueError, KeyError, TypeError):
        return ""
    return f" (it has {', '.join(names)})" if names else ""


def _question(text: str, sampling: Sampling, answers: tuple[str, ...] = ()) -> Request:
    return Request((Message("user", text),), sampling, 1, answers)
