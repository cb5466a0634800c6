"""Opening a backend: clients, the probe, and whether all addresses serve alike."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from openai import AsyncOpenAI

from parley.llm.backends.openai.backend import Loop, Openai, Policy
from parley.llm.backends.openai.endpoint import LONGEST, Clock, Endpoint
from parley.llm.backends.openai.probe import Found, probe
from parley.llm.backends.openai.telling import PASSING, rest
from parley.llm.backends.openai.transport import LINES, UNREACHABLE, Answer, Line, NoAnswer
from parley.llm.errors import UserError

TRIES = 4
"""Calls of one question of the probe."""


class Settings(NamedTuple):
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


def opened(settings: Settings, in_flight: int, attempts: int, patience: float, clock: Clock | None = None) -> Openai:
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


async def _lines(settings: Settings) -> list[Line]:
    made = LINES[settings.client]
    return [made(AsyncOpenAI(api_key=settings.secret, base_url=url), settings.timeout) for url in settings.urls]


async def _probe(line: Line, url: str, settings: Settings, clock: Clock) -> Found:
    return await probe(_patient(line, clock), settings.model, url, settings.api, settings.closed, settings.thinking)


def _patient(line: Line, clock: Clock) -> Line:
    """A line on which a call that fails in passing is made again, TRIES times in all.

    A server that is not there is not waited for; one that breaks (500) is asked once more, as some break on what they cannot do.
    """

    async def post(path: str, body: bytes) -> Answer:
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
            await clock.sleep(min(rest(answer) or 0.5 * 2.0**number, LONGEST))
        return await line.post(path, body)

    return Line(post, line.get, line.close)
