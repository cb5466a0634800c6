"""Opening a backend: clients, the probe, and whether all addresses serve alike."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from openai import AsyncOpenAI

from llm.backends.openai.backend import Loop, Openai, Policy
from llm.backends.openai.endpoint import Clock, Endpoint
from llm.backends.openai.probe import Found, probe
from llm.backends.openai.transport import LINES, Line
from llm.errors import UserError


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


def opened(settings: Settings, in_flight: int, attempts: int, patience: float, clock: Clock | None = None) -> Openai:
    """The backend. Errors: UserError when an address does not answer as wanted, or two do not answer alike."""
    loop, clock = Loop(), clock or Clock()
    lines = loop.run(_lines(settings))
    with ExitStack() as undo:
        undo.callback(loop.close, lines)
        found = [loop.run(_probe(line, url, settings)) for line, url in zip(lines, settings.urls, strict=True)]
        if other := next((url for url, one in zip(settings.urls, found, strict=True) if one != found[0]), ""):
            raise UserError(f"{other} does not serve {settings.model} as {settings.urls[0]} does")
        undo.pop_all()
    each = max(1, -(-in_flight // len(lines)))
    endpoints = [Endpoint(line, each, settings.rpm, settings.tpm, clock) for line in lines]
    policy = Policy(in_flight, attempts, patience)
    return Openai(settings.model, endpoints, found[0].can, policy, loop, clock, found[0].served)


async def _lines(settings: Settings) -> list[Line]:
    made = LINES[settings.client]
    return [made(AsyncOpenAI(api_key=settings.secret, base_url=url), settings.timeout) for url in settings.urls]


async def _probe(line: Line, url: str, settings: Settings) -> Found:
    return await probe(line, settings.model, url, settings.api, settings.closed, settings.thinking)
