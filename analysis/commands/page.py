"""The page as a server of its own: on this machine, without anything from elsewhere, until it is interrupted."""

from __future__ import annotations

import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from parley.llm.errors import UserError

FIRST, LAST = 8765, 8799
"""Ports that are tried where none is asked for."""


def serve(app: Path, asked: Mapping[str, str], host: str, port: int | None) -> int:
    """Serve `app` and open a browser at the page with what is asked for in its address. Errors: UserError, one line."""
    if find_spec("solara") is None:
        raise UserError('the page needs the [app] extra: python -m pip install -e ".[app]"')
    listening = _listening(host, port)
    address = f"http://{_shown(host)}:{listening.getsockname()[1]}/?{urlencode(asked)}"
    os.environ["SOLARA_APP"] = str(app.resolve())
    _server(address).run(sockets=[listening])
    return 0


def _listening(host: str, port: int | None) -> socket.socket:
    """A socket that is bound. Errors: UserError when the port is taken, or the address is not of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = None
    for number in [port] if port is not None else range(FIRST, LAST + 1):
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, number))
            return bound
        except OSError as error:
            bound.close()
            last = error
    where = f"{host}:{port if port is not None else f'{FIRST} to {LAST}'}"
    raise UserError(
        f"cannot serve the page at {where}: {last.strerror if last else 'no port'}; give another --host or --port"
    )


def _shown(host: str) -> str:
    """The host as it stands in an address; who serves for everybody looks at it from here."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)


def _server(address: str) -> Any:
    """One that tells its address as soon as it answers, and opens the browser there where there is a screen for it."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(f"page     {address}\n         ends with Ctrl-C", flush=True)
            if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return Server(uvicorn.Config("solara.server.starlette:app", log_level="error", ws="auto"))
