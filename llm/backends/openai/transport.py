"""The way of one call: bytes out, bytes back. `fast` posts through aiohttp, `official_transport` through the openai client.

The openai client makes objects of everything, which takes eight times the time of the call itself (docs/log.md); it is there for
endpoints that need what only it knows (other kinds of authentication). Both use its address and headers, and neither asks twice.

One address: how many calls it is sent at once, how fast, and when it is left alone.

As many as allowed at first; half as many when the server says that it is too much (at most once for the calls of one moment), and
slowly more again with every call that goes well (additive increase, multiplicative decrease: the rule of TCP).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
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


CALM = 0.5
"""Seconds an endpoint is left alone after the first refusal in a row that names no time; twice as long after each more."""
LONGEST = 30.0
NO_ROOM = "no_room"
GONE = 5
"""Connections that break in a row, with no call that goes well between them, after which the server counts as not there."""


class Clock:
    """Time, and waiting: the seam for tests."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RateLimiter:
    """So many units a minute, evenly: the time at which the next may pass. 0 is no limit."""

    def __init__(self, per_minute: float):
        self.each = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    def take(self, units: float, now: float) -> float:
        """Book some units; seconds to wait for them. 60 a minute: the third of a moment waits 2 s."""
        start = max(now, self._next)
        self._next = start + units * self.each
        return start - now


class Endpoint:
    """`most` calls at once, `rpm` requests and `tpm` tokens a minute (0: no limit)."""

    def __init__(self, line: Connection, most: int, rpm: float, tpm: float, clock: Clock):
        self.line, self.most, self.clock = line, most, clock
        self.limit, self.flying, self.calls = float(most), 0, 0
        self._rpm, self._tpm = RateLimiter(rpm), RateLimiter(tpm)
        self._rest_until = self._cut_at = self._avoided_until = 0.0
        self.well_at = clock.now()
        self._refusals = self._breaks = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def load(self) -> tuple[float, bool, float, int]:
        """What to choose by: how long it is left alone, did a call fail there, how full is it, how many calls had it."""
        avoided = self.clock.now() < self._avoided_until
        return self.rests, avoided, (self.flying + len(self._waiting)) / self.limit, self.calls

    @property
    def rests(self) -> float:
        """Seconds for which it is still left alone."""
        return max(0.0, self._rest_until - self.clock.now())

    async def post(self, path: str, body: bytes, tokens: int, patience: float) -> tuple[HttpAnswer, float]:
        """Send as soon as there is room; the answer, and when it was sent.

        Errors: NoAnswer, by the name of NO_ROOM when there is none and nothing has gone well for `patience` seconds.
        """
        await self._enter(tokens, self.clock.now(), patience)
        sent = self.clock.now()
        try:
            return await self.line.post(path, body), sent
        except NoAnswer as error:
            self.failed()
            self._breaks += error.name == CONNECTION
            if error.name != UNREACHABLE and (error.name != CONNECTION or self._breaks < GONE):
                raise
            self.too_much(sent, None)
            raise NoAnswer(UNREACHABLE, str(error)) from error
        finally:
            self.flying -= 1
            self._wake()

    def failed(self) -> None:
        """Something went wrong with a call, not with the load: for a while other addresses are asked first."""
        self._avoided_until = self.clock.now() + LONGEST

    def went_well(self) -> None:
        self._refusals, self._breaks, self.well_at, self._avoided_until = 0, 0, self.clock.now(), 0.0
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + 1 / self.limit)
            self._wake()

    def too_much(self, sent: float, seconds: float | None) -> None:
        """Less from now on. `sent` is when the refused call began, `seconds` how long the server wants to be left alone."""
        now = self.clock.now()
        if sent >= self._cut_at:
            self.limit, self._cut_at = max(1.0, self.limit / 2), now
            self._refusals += 1
        calm = min(LONGEST, CALM * 2 ** max(self._refusals - 1, 0))
        if seconds is not None:  # a server that says "at once" again and again is not believed
            calm = seconds if self._refusals < 2 else max(seconds, calm)
        self._rest_until = max(self._rest_until, now + calm)

    async def _enter(self, tokens: int, began: float, patience: float) -> None:
        while self.flying >= int(self.limit) or self.rests:
            left = max(began, self.well_at) + patience - self.clock.now()
            if left <= 0:
                self._wake()
                raise NoAnswer(NO_ROOM, f"nothing went well for {patience:g} s")
            if self.flying >= int(self.limit):
                place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(place)
                await place
            else:
                await self.clock.sleep(min(self.rests, left))
        self.flying += 1
        self.calls += 1
        paces = [(pace, units) for pace, units in ((self._rpm, 1), (self._tpm, tokens)) if pace.each]
        wait = max([pace.take(units, self.clock.now()) for pace, units in paces], default=0)
        if wait > 0:
            await self.clock.sleep(wait)

    def _wake(self) -> None:
        for _ in range(min(len(self._waiting), max(0, int(self.limit) - self.flying))):
            self._waiting.popleft().set_result(None)
