"""The server of a page: a socket, and uvicorn with Solara behind the guard."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from parley.analysis.serving.guard import Guard
from parley.llm.errors import UserError

LOOPBACK = "127.0.0.1"
FIRST, LAST = 8765, 8799
"""Ports that are tried where --port names none."""


def check_installed(what: str) -> None:
    """Errors: UserError where the packages of the page are not installed. what: the page, as the message names it."""
    if find_spec("solara") is None:
        raise UserError(f'{what} needs packages that are not installed: python -m pip install -e ".[app]"')


def shown_host(host: str) -> str:
    """Return the host as part of an address that this machine can open."""
    return {"0.0.0.0": LOOPBACK, "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)


def address_of(listening: socket.socket, host: str) -> str:
    """Return the address that a browser of this machine opens."""
    return f"http://{shown_host(host)}:{listening.getsockname()[1]}/"


def listen(host: str, port: int | None) -> socket.socket:
    """Return a bound socket. Errors: UserError when the port is in use, or the address is not of this machine."""
    family, why = socket.AF_INET6 if ":" in host else socket.AF_INET, ""
    for number in [port] if port is not None else range(FIRST, LAST + 1):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            return bound
        except OSError as error:
            bound.close()
            why = str(error.strerror)
    ports = f"{FIRST} to {LAST}" if port is None else port
    raise UserError(f"cannot serve the app at {host}:{ports}: {why}; give another --host or --port")


def solara_page(page: str) -> Any:
    """Return the ASGI application of a page. page: the path of its file, or the name of its module."""
    os.environ["SOLARA_APP"] = page
    from solara.server.starlette import app

    return app


def server_of(guard: Guard, started: Callable[[], object]) -> Any:
    """Return a server of uvicorn, which calls `started` once it answers."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started()

    return Server(uvicorn.Config(guard, log_level="error", ws="auto"))
