"""The way of one call: bytes out, bytes back. `fast` posts through aiohttp, `official_transport` through the openai client.

The openai client makes objects of everything, which takes eight times the time of the call itself (docs/log.md); it is there for
endpoints that need what only it knows (other kinds of authentication). Both use its address and headers, and neither asks twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import aiohttp
import httpx2
from openai import APIConnectionError, APIStatusError, APITimeoutError, AsyncOpenAI, DefaultAioHttpClient


class HttpAnswer(NamedTuple):
    """What a server said, whatever it said. Headers are found by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


UNREACHABLE, CONNECTION = "unreachable", "connection"


class NoAnswer(Exception):
    """No whole answer came: `name` is timeout, unreachable or connection."""

    def __init__(self, name: str, detail: str):
        super().__init__(detail)
        self.name = name


class Connection(NamedTuple):
    """An open way to an endpoint: `post` a path and a body, `get` a path, `close` it."""

    post: Callable[[str, bytes], Awaitable[HttpAnswer]]
    get: Callable[[str], Awaitable[HttpAnswer]]
    close: Callable[[], Coroutine[Any, Any, None]]


CONNECT = 10.0
"""Seconds for a connection to be made."""


def fast_transport(client: AsyncOpenAI, timeout: float) -> Connection:
    """To be made in the event loop that uses it."""
    session = aiohttp.ClientSession(
        headers={
            name: value
            for name, value in {**client.default_headers, **client.auth_headers}.items()
            if isinstance(value, str) and not name.startswith("X-Stainless")
        },
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=timeout, sock_connect=CONNECT),
    )
    base = str(client.base_url).rstrip("/")

    async def ask(method: str, path: str, body: bytes | None = None) -> HttpAnswer:
        try:
            async with session.request(method, base + path, data=body) as got:
                return HttpAnswer(got.status, got.headers, _hidden(await got.read(), client.api_key))
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            failed = NoAnswer(UNREACHABLE, _words(_released(error)))
        except TimeoutError as error:
            _released(error)
            failed = NoAnswer("timeout", f"after {timeout:g} s")
        except (aiohttp.ClientError, OSError) as error:
            failed = NoAnswer(CONNECTION, _words(_released(error)))
        try:
            raise failed
        finally:
            del failed  # or its traceback, which has this frame, would keep it

    async def post(path: str, body: bytes) -> HttpAnswer:
        return await ask("POST", path, body)

    async def get(path: str) -> HttpAnswer:
        return await ask("GET", path)

    return Connection(post, get, session.close)


def official_transport(client: AsyncOpenAI, timeout: float) -> Connection:
    """Every call through the client itself."""
    own = client.with_options(
        max_retries=0, timeout=httpx2.Timeout(timeout, connect=CONNECT), http_client=DefaultAioHttpClient()
    )

    async def ask(method: str, path: str, body: bytes | None = None) -> HttpAnswer:
        options: Any = {"headers": {"Content-Type": "application/json"}} if body else {}
        try:
            async with asyncio.timeout(timeout):
                if method == "GET":
                    got = await own.get(path, cast_to=httpx2.Response)
                else:
                    got = await own.post(path, cast_to=httpx2.Response, content=body, options=options)
        except APIStatusError as error:
            got = error.response
        except TimeoutError as error:
            raise NoAnswer("timeout", f"after {timeout:g} s") from error
        except (APIConnectionError, httpx2.HTTPError, aiohttp.ClientError) as error:
            raise NoAnswer(*_cause(error, timeout)) from error
        return HttpAnswer(got.status_code, got.headers, _hidden(got.content, client.api_key))

    async def post(path: str, body: bytes) -> HttpAnswer:
        return await ask("POST", path, body)

    async def get(path: str) -> HttpAnswer:
        return await ask("GET", path)

    return Connection(post, get, own.close)


LINES = {"fast": fast_transport, "official": official_transport}


def _hidden(body: bytes, key: str) -> bytes:
    """What a server said without the key, which some repeat in their errors."""
    return body.replace(key.encode(), b"(secret)") if len(key) >= 8 else body


def _cause(error: BaseException, timeout: float) -> tuple[str, str]:
    """What a client's error goes back to: it calls a connection that broke a time-out."""
    first: BaseException | None = error
    while first is not None:
        if isinstance(first, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
            return UNREACHABLE, _words(first)
        if isinstance(first, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError | ConnectionError):
            return CONNECTION, _words(first)
        first = first.__cause__ or first.__context__
    if isinstance(error, APITimeoutError):
        return "timeout", f"after {timeout:g} s"
    return CONNECTION, _words(error)


def _released(error: BaseException) -> BaseException:
    """The error without its tracebacks. A connection keeps the error that broke it, whose traceback keeps the connection: with
    every fault some kilobytes would stay until Python looks for cycles, which a run has it do seldom (model/scenario_run.py).
    """
    one: BaseException | None = error
    while one is not None:
        one.__traceback__ = None
        one = one.__cause__ or one.__context__
    return error


def _words(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]
