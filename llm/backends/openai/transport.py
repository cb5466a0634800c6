"""Sends calls to one address: how many at once, how fast, and when the address gets a pause.

At first, as many calls run at once as allowed. When the server says that this is too much, or a call times out, the number is
halved (at most once for the calls of one moment), in all workers of a run (llm/shares.py). It grows slowly again with every call
that succeeds. This is the rule of TCP: additive increase, multiplicative decrease. A server that says how many calls it works on
(the slots of llama.cpp) gets no more: the others would wait in its queue, and their time would run out there.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI
from yarl import URL

from parley.llm import shares
from parley.llm.backends.openai.answers import MEDIA, PACKING, BadBody, read_body, read_stream
from parley.llm.errors import UserError
from parley.llm.notices import notify


def proxy_of(url: str) -> URL | None:
    """Return the proxy through which an address is called; None without one, and for this machine itself.

    It is read once: aiohttp's `trust_env` reads it anew for every call, in a thread. Errors: UserError for another kind of proxy.
    """
    parts = urlsplit(url)
    host, proxy = parts.hostname or "", getproxies().get(parts.scheme, "")
    if not proxy or _is_this_machine(host) or proxy_bypass(host):
        return None
    address = URL(proxy if "://" in proxy else f"http://{proxy}")
    if address.scheme not in ("http", "https"):
        raise UserError(
            f"the proxy in {parts.scheme.upper()}_PROXY begins with {address.scheme}://, but Parley can use only "
            f"http:// proxies: change the proxy, or exclude {host} with NO_PROXY"
        )
    return address


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


CONNECT = 10.0
"""Seconds for a connection to be made."""
UNREACHABLE, CONNECTION, TIMEOUT, MALFORMED, NO_ROOM = "unreachable", "connection", "timeout", "malformed", "no_room"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds of pause after a refusal that names no time; doubled with each further refusal in a row, up to the longest."""
QUICK = 4
"""After a time-out a call may take twice as long, until one takes less than this part of it."""
GONE = 5
"""After so many broken connections in a row, with no successful call between them, the server counts as unreachable."""
TELL, TELL_AGAIN = 5.0, 600.0
"""A pause of so many seconds is worth a line on the terminal; a second line only for a longer pause, or after so many seconds."""


class HttpAnswer(NamedTuple):
    """What a server sent. Headers are found by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    """No complete answer came: `name` is timeout, unreachable, connection, malformed or no_room."""

    def __init__(self, name: str, detail: str):
        super().__init__(detail)
        self.name = name


class Connection:
    """An open connection to an address, made in the event loop that uses it. It follows no redirect, and keeps a query of the
    address (`?api-version=...`) behind the paths.

    The openai client says which key the address takes and who pays. The calls themselves go through aiohttp: the client makes
    objects of everything, which takes eight times the processor time of the call (tools/log).
    """

    def __init__(self, url: str, key: str, timeout: float):
        self.url, self.timeout = url, timeout
        self.on_event: Callable[[], None] = lambda: None
        self.host = urlsplit(url).netloc
        self._base, _, query = url.partition("?")
        self._base, self._query = self._base.rstrip("/"), f"?{query}" if query else ""
        self.client = AsyncOpenAI(api_key=key, base_url=self._base, default_query=dict(parse_qsl(query)))
        self._proxy = proxy_of(url)
        headers = {**self.client.default_headers, **self.client.auth_headers, "Accept-Encoding": PACKING}
        self._session = aiohttp.ClientSession(
            headers={name: value for name, value in headers.items() if isinstance(value, str) and _is_needed(name)},
            connector=aiohttp.TCPConnector(limit=0),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT),
            auto_decompress=False,
            proxy=self._proxy,
        )

    async def post(self, path: str, body: bytes) -> HttpAnswer:
        """Send a body to a path. Errors: NoAnswer."""
        return await self._answer("POST", path, body)

    async def get(self, path: str) -> HttpAnswer:
        """Read a path. Errors: NoAnswer."""
        return await self._answer("GET", path)

    async def close(self) -> None:
        await self._session.close()

    async def slots(self) -> int:
        """Return how many calls the server works on at once, as llama.cpp says it; 0 where the server does not say.

        Only a server near by is asked: no https, proxy or query in its address.
        """
        if self._query or self._proxy or not self._base.startswith("http://"):
            return 0
        try:
            answer = await self.exchange("GET", f"{self._base.removesuffix('/v1')}/props", None)
            return max(0, int(json.loads(answer.body)["total_slots"])) if answer.status == 200 else 0
        except (aiohttp.ClientError, OSError, BadBody, ValueError, KeyError, TypeError):
            return 0

    async def _answer(self, method: str, path: str, body: bytes | None = None) -> HttpAnswer:
        allowed = self.timeout
        try:
            return await self._request(method, path, body)
        except (aiohttp.ClientError, OSError, BadBody, APIConnectionError) as error:
            failure = _no_answer(error, allowed)
        try:
            raise failure
        finally:
            del failure  # or its traceback, which holds this frame, would keep it

    async def _request(self, method: str, path: str, body: bytes | None) -> HttpAnswer:
        return await self.exchange(method, f"{self._base}{path}{self._query}", body)

    async def exchange(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Send one call, and read its answer up to a length. Errors: those of aiohttp, BadBody, and TimeoutError.

        The time allowed is that for the whole answer, or between two tokens where they come one by one.
        """
        loop, allowed = asyncio.get_running_loop(), self.timeout
        async with (
            asyncio.timeout(allowed) as deadline,
            self._session.request(method, url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            if response.content_type != MEDIA:
                return HttpAnswer(response.status, response.headers, await read_body(response))

            def on_event() -> None:
                deadline.reschedule(loop.time() + allowed)
                self.on_event()

            status, whole = await read_stream(response, on_event)
            return HttpAnswer(status, response.headers, whole)


def _is_needed(header: str) -> bool:
    """Is a header of the openai client for the server? `X-Stainless-...` describes this machine, in each call anew."""
    return not header.lower().startswith("x-stainless")


class OfficialConnection(Connection):
    """A connection on which every call goes through the openai client itself, without its retries.

    The client sends by the same session, so that what holds for an answer holds for both.
    """

    def __init__(self, url: str, key: str, timeout: float):
        super().__init__(url, key, timeout)
        http_client = httpx2.AsyncClient(transport=_Transport(self))
        self.client = self.client.with_options(max_retries=0, timeout=timeout, http_client=http_client)

    async def close(self) -> None:
        await self.client.close()
        await super().close()

    async def _request(self, method: str, path: str, body: bytes | None) -> HttpAnswer:
        try:
            if method == "GET":
                response = await self.client.get(path, cast_to=httpx2.Response)
            else:
                options: Any = {"headers": {"Content-Type": "application/json"}}
                response = await self.client.post(path, cast_to=httpx2.Response, content=body, options=options)
        except APIStatusError as error:
            response = error.response
        return HttpAnswer(response.status_code, response.headers, response.content)


class _Transport(httpx2.AsyncBaseTransport):
    """Sends what the openai client has written, by a connection."""

    def __init__(self, connection: Connection):
        self.connection = connection

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {**request.headers, "Accept-Encoding": PACKING}
        answer = await self.connection.exchange(request.method, str(request.url), request.content or None, headers)
        told = {name: value for name, value in answer.headers.items() if name.lower() != "content-encoding"}
        return httpx2.Response(answer.status, headers=told, content=answer.body, request=request)


CONNECTIONS = {"fast": Connection, "official": OfficialConnection}
"""By the option `client`."""


def _no_answer(error: BaseException, timeout: float) -> NoAnswer:
    """Name an error of the client, and drop its tracebacks.

    A connection keeps the error that broke it, and the traceback of the error keeps the connection. Some kilobytes would stay
    with every fault until Python collects cycles, which it seldom does in a run (model/scenario_run.py).
    """
    link: BaseException | None = error
    while link is not None:
        link.__traceback__ = None
        link = link.__cause__ or link.__context__
    cause = error.__cause__ or error if isinstance(error, APIConnectionError) else error
    detail = (str(cause).strip() or type(cause).__name__).splitlines()[0][:200]
    if isinstance(cause, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return NoAnswer(UNREACHABLE, detail)
    if isinstance(cause, TimeoutError):
        return NoAnswer(TIMEOUT, f"after {timeout:g} s")
    if isinstance(cause, BadBody):
        return NoAnswer(MALFORMED, detail)
    return NoAnswer(CONNECTION, detail)


class Clock:
    """Tells the time and waits; tests have their own."""

    def now(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RateLimiter:
    """Allows so many units a minute, evenly spaced. 0 is no limit."""

    def __init__(self, per_minute: float):
        self._next = 0.0
        self.set_limit(per_minute)

    def set_limit(self, per_minute: float) -> None:
        """Allow so many from the next booking on."""
        self.spacing = 60 / per_minute if per_minute else 0.0

    def book(self, units: float, now: float) -> float:
        """Book some units; return the seconds to wait for them. At 60 a minute, the third of a moment waits 2 s."""
        start = max(now, self._next)
        self._next = start + units * self.spacing
        return start - now


class Endpoint:
    """An address with `most` calls at once (and no more than `slots`), `rpm` requests and `tpm` tokens a minute (0: no limit)."""

    def __init__(self, connection: Connection, most: int, rpm: float, tpm: float, clock: Clock, slots: int = 0):
        self.connection, self.slots, self.clock = connection, slots, clock
        self.most = min(most, slots or most)
        self.timeout, connection.on_event = connection.timeout, self._note_life
        self.limit, self.in_flight, self.calls = float(self.most), 0, 0
        self._requests, self._tokens = RateLimiter(rpm), RateLimiter(tpm)
        self._paused_until = self._halved_at = self._avoided_until = self._told = self._told_at = 0.0
        self._heard = 0.0
        self.last_success = clock.now()
        self._refusals = self._breaks = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def set_limits(self, most: int, rpm: float, tpm: float) -> None:
        """Change the limits. A server that has said that it is too much gets its part of the new ones."""
        most = min(most, self.slots or most)
        self.limit, self.most = max(1.0, self.limit * most / self.most), most
        self._requests.set_limit(rpm)
        self._tokens.set_limit(tpm)
        self._wake()

    @property
    def load(self) -> tuple[float, bool, float, int]:
        """The order in which addresses that are not open are chosen: seconds of pause, did a call fail lately, how full, how many
        calls.
        """
        return self.pause, self.clock.now() < self._avoided_until, self.under_way / self.limit, self.calls

    @property
    def under_way(self) -> int:
        """The calls that are sent, or wait for room."""
        return self.in_flight + len(self._waiting)

    @property
    def is_open(self) -> bool:
        """Does it take a further call at once: no pause, no failure lately, and room?"""
        return self.under_way < int(self.limit) and max(self._paused_until, self._avoided_until) <= self.clock.now()

    @property
    def pause(self) -> float:
        """Seconds until the next call may be sent."""
        return max(0.0, self._paused_until - self.clock.now())

    async def post(self, path: str, body: bytes, tokens: int, patience: float) -> tuple[HttpAnswer, float]:
        """Send as soon as there is room; return the answer, and when it was sent.

        Errors: NoAnswer, with the name no_room when there was no room and no success for `patience` seconds.
        """
        await self._wait_for_room(tokens, self.clock.now(), patience)
        sent = self.clock.now()
        try:
            return await self.connection.post(path, body), sent
        except NoAnswer as error:
            self.note_failure()
            self._breaks += error.name == CONNECTION
            if error.name == TIMEOUT and self._halve_everywhere(sent):  # with fewer calls at once each is quicker
                self.connection.timeout = min(2 * self.connection.timeout, max(patience, self.timeout))
            if error.name != UNREACHABLE and (error.name != CONNECTION or self._breaks < GONE):
                raise
            self.slow_down(sent, None)
            raise NoAnswer(UNREACHABLE, str(error)) from error
        finally:
            self.in_flight -= 1
            self._wake()

    def note_failure(self) -> None:
        """A call failed, but not because of the load: for a while other addresses are chosen first."""
        self._avoided_until = self.clock.now() + LONGEST_PAUSE

    def _note_life(self) -> None:
        """A token came: a call that waits for room knows that the server works."""
        self.last_success = self.clock.now()

    def note_success(self, sent: float) -> None:
        """A call that began at `sent` went well. A server that has become quick gets less time again."""
        self._refusals, self._breaks, self.last_success, self._avoided_until = 0, 0, self.clock.now(), 0.0
        took = self.last_success - sent
        self.connection.timeout = max(self.timeout, min(self.connection.timeout, QUICK * took))
        if self.limit < self.most:
            self.limit = min(self.most, self.limit + 1 / self.limit)
            self._wake()

    def slow_down(self, sent: float, seconds: float | None) -> None:
        """Send less from now on. `sent` is when the refused call began, `seconds` the pause that the server wants."""
        now = self.clock.now()
        self._refusals += self._halve_everywhere(sent)
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** max(self._refusals - 1, 0))
        if seconds is not None:  # a server that asks for no pause again and again is not believed
            pause = seconds if self._refusals < 2 else max(seconds, pause)
        self._paused_until = max(self._paused_until, now + pause)
        if pause >= TELL and (pause > self._told or now >= self._told_at + TELL_AGAIN):
            self._told, self._told_at = pause, now
            notify(f"{self.connection.host} accepts no calls now, so Parley sends the next call in {pause:,.0f} s")

    def _halve(self, sent: float) -> bool:
        """Allow half as many calls at once, unless that was done after this call was sent; return whether it was done now."""
        if sent < self._halved_at:
            return False
        self.limit, self._halved_at = max(1.0, self.limit / 2), self.clock.now()
        return True

    def _halve_everywhere(self, sent: float) -> bool:
        """The same, and let other workers that call this address do so, too."""
        if halved := self._halve(sent):
            self._heard = time.time() - (self.clock.now() - sent)  # processes share no other clock
            shares.board().note_refusal(self.connection.url, self._heard)
        return halved

    def _heed_others(self) -> None:
        latest = shares.board().last_refusal(self.connection.url)
        if latest > self._heard:
            self._heard = latest
            self._halve(self.clock.now() - (time.time() - latest))

    async def _wait_for_room(self, tokens: int, began: float, patience: float) -> None:
        self._heed_others()
        while self.in_flight >= int(self.limit) or self.pause:
            left = max(began, self.last_success) + patience - self.clock.now()
            if left <= 0:
                self._wake()
                raise NoAnswer(NO_ROOM, f"nothing went well for {patience:g} s")
            if self.in_flight >= int(self.limit):
                turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                await turn
            else:
                await self.clock.sleep(min(self.pause, left))
        self.in_flight += 1
        self.calls += 1
        now = self.clock.now()
        wait = max(self._requests.book(1, now), self._tokens.book(tokens, now))
        if wait > 0:
            await self.clock.sleep(wait)

    def _wake(self) -> None:
        for _ in range(min(len(self._waiting), max(0, int(self.limit) - self.in_flight))):
            self._waiting.popleft().set_result(None)
