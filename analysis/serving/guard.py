"""The guard of a page: answers only a browser that has opened the printed address, and only requests of the page itself.

Any web page that is open in the user's browser can send requests to 127.0.0.1, and can open a websocket there without asking.
A name that its owner points to 127.0.0.1 (DNS rebinding) even reads the answers. So three things are checked, as Jupyter does:

    Host     is this machine or a name given at the start, not that of a stranger (rebinding)
    Origin   is the page's own, on each websocket and each request that can change something (pages of others)
    cookie   has the token of the printed address (other programs and users of this machine)

No answer may be shown in a frame (clickjacking), but a report in a frame of the page itself (reports.py). The page of the seats
has no token, because its codes open the seats.
"""

from __future__ import annotations

import hmac
import html
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from http import HTTPStatus
from ipaddress import ip_address
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Framed = Mapping[str, Mapping[str, str]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

THIS_MACHINE = ("127.0.0.1", "localhost", "::1")
ANY_ADDRESS = ("0.0.0.0", "::")
SAFE = ("GET", "HEAD")
"""Methods that change nothing. A browser sends no Origin with those of the page itself."""
CLIENT = "x-parley-client"
"""The header in which the page behind the guard finds the address of the client."""
HEADERS = {
    "content-security-policy": "default-src 'self' data: blob: 'unsafe-inline' 'unsafe-eval'; base-uri 'self'; "
    "object-src 'none'; frame-ancestors 'none'",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
NO_TOKEN = "Open the address that the terminal printed, with its token: this browser has not opened it since the server started."
WRONG_HOST = (
    "This page does not answer to the name {host}: to allow it, start the server again with --public-name {host}."
)
WRONG_ORIGIN = "Another page sent this request, so it was refused: use the page itself."


class Guard:
    """An ASGI application around that of a page."""

    def __init__(
        self, app: App, port: int, host: str, names: Collection[str] = (), token: str = "", framed: Framed | None = None
    ):
        """host: where the server listens. names: other names under which people open the page. token: "" for none.

        framed: by path, headers in place of those of the guard, for what the page shows in a frame of its own.
        """
        self.app, self.token, self.framed = app, token, framed or {}
        self.cookie = f"parley-{port}"  # the ports of a machine share their cookies
        self.any_address = host in ANY_ADDRESS
        self.names = {*THIS_MACHINE, host.lower(), *map(_hostname, names)}.difference(ANY_ADDRESS)
        self._tickets: set[str] = set()

    def ticket(self) -> str:
        """Return a token that opens the page once: other users of this machine can read the command line of a browser."""
        self._tickets.add(ticket := secrets.token_urlsafe())
        return ticket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        problem = self._problem(scope, headers)
        if scope["type"] == "websocket":
            if problem or not self._admitted(headers):
                await send({"type": "websocket.close", "code": 1008})
            else:
                await self.app(_with_client(scope), receive, send)
        elif problem:
            await _answer(send, HTTPStatus.FORBIDDEN, problem)
        elif given := dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token", ""):
            await self._enter(scope, send, given)
        elif not self._admitted(headers):
            await _answer(send, HTTPStatus.FORBIDDEN, NO_TOKEN)
        else:
            await self.app(_with_client(scope), receive, _framed(send, self.framed.get(scope["path"], {})))

    def _problem(self, scope: Scope, headers: list[tuple[str, str]]) -> str:
        """Return why a request cannot come from the page itself; "" where it can."""
        (host, *others), origins = _all(headers, "host") or [""], _all(headers, "origin")
        if others or not self._is_ours(host):
            return WRONG_HOST.format(host=_hostname(host) or "in this request")
        if scope["type"] == "websocket" or scope["method"] not in SAFE:
            origins = origins or ["null"]
        own_origins = (f"http://{host}".lower(), f"https://{host}".lower())
        return "" if all(origin.lower() in own_origins for origin in origins) else WRONG_ORIGIN

    def _is_ours(self, host: str) -> bool:
        """Return whether a Host is ours. A page that listens at any address has any IP address: no stranger can own a name
        that is an address.
        """
        name = _hostname(host)
        return name in self.names or (self.any_address and _is_address(name))

    def _admitted(self, headers: list[tuple[str, str]]) -> bool:
        """Return whether the browser has opened the printed address."""
        cookies = [cookie.strip().partition("=") for text in _all(headers, "cookie") for cookie in text.split(";")]
        given = [value for name, _, value in cookies if name == self.cookie]
        return not self.token or any(_equal(value, self.token) for value in given)

    async def _enter(self, scope: Scope, send: Send, given: str) -> None:
        """Turn the token of an address into a cookie, and go on to the address without it.

        By a page and not by a redirect: a browser that comes from another site sends no strict cookie after a redirect.
        """
        if not (self._use_ticket(given) or (self.token and _equal(given, self.token))):
            await _answer(send, HTTPStatus.FORBIDDEN, NO_TOKEN)
            return
        query = [
            (key, value) for key, value in parse_qsl(scope["query_string"].decode("latin-1"), True) if key != "token"
        ]
        place = html.escape(f"/?{urlencode(query)}" if query else "/")
        secure = "; Secure" if scope["scheme"] == "https" else ""
        cookie = f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict{secure}"
        text = f'<!doctype html><title>Parley</title><meta http-equiv="refresh" content="0;url={place}">'
        await _answer(send, HTTPStatus.OK, text, "text/html", [("set-cookie", cookie)])

    def _use_ticket(self, given: str) -> bool:
        ticket = next((ticket for ticket in self._tickets if _equal(given, ticket)), "")
        self._tickets.discard(ticket)
        return bool(ticket)


def _equal(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _all(headers: list[tuple[str, str]], name: str) -> list[str]:
    return [value for key, value in headers if key == name]


def _hostname(host: str) -> str:
    """Return the name of a Host without its port; "" for no Host.

    >>> _hostname("LocalHost:8765"), _hostname("[::1]:8765"), _hostname("[")
    ('localhost', '::1', '')
    """
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


def _with_client(scope: Scope) -> Scope:
    """Return the request with the address of its client in a header, and without such a header of the client's own."""
    kept = [(name, value) for name, value in scope["headers"] if name.lower() != CLIENT.encode()]
    client = (scope.get("client") or [""])[0]
    return {**scope, "headers": [*kept, (CLIENT.encode(), str(client).encode("latin-1", "replace"))]}


def _framed(send: Send, own: Mapping[str, str] = MappingProxyType({})) -> Send:
    """Return a `send` that adds the headers of the guard to each answer. own: in place of those of the same name."""

    async def sends(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            guard_headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **own}.items()]
            others = [
                (name, value)
                for name, value in message.get("headers", [])
                if name.decode("latin-1").lower() not in HEADERS
            ]
            message = {**message, "headers": [*others, *guard_headers]}
        await send(message)

    return sends


async def _answer(
    send: Send, status: HTTPStatus, text: str, kind: str = "text/plain", more: Collection[tuple[str, str]] = ()
) -> None:
    headers = [("content-type", f"{kind}; charset=utf-8"), ("cache-control", "no-store"), *more]
    framed = _framed(send)
    start = [(name.encode(), value.encode()) for name, value in headers]
    await framed({"type": "http.response.start", "status": int(status), "headers": start})
    await framed({"type": "http.response.body", "body": text.encode()})
