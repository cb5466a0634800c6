"""Serve the app in the browser: the server runs on this machine until it is interrupted."""

from __future__ import annotations

import gc
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

from parley.analysis.metrics import metrics
from parley.llm.errors import UserError

FIRST, LAST = 8765, 8799
"""Ports that are tried where --port names none."""


def serve(app: Path, settings: Mapping[str, str], host: str, port: int | None) -> int:
    """Serve `app`, and open a browser at the page with these settings. Errors: UserError, one line."""
    if find_spec("solara") is None:
        raise UserError('the app needs packages that are not installed: python -m pip install -e ".[app]"')
    listening, shown = listen(host, port), shown_host(host)
    search = f"?{urlencode(settings)}" if settings else ""
    address = f"http://{shown}:{listening.getsockname()[1]}/{search}"
    os.environ["SOLARA_APP"] = str(app.resolve())
    gc.disable()  # until the page is imported: nothing that an import makes is garbage
    _server(address).run(sockets=[listening])
    return 0


def shown_host(host: str) -> str:
    """Return the host as part of an address that this machine can open."""
    return {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)


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


def load_page() -> None:
    """Import the page and make its gallery while the browser reads Solara's own files; once it is drawn, what its views need."""
    try:
        from parley.analysis.views import _gallery, page, views

        _gallery.cards()
    finally:
        gc.enable()
    page.DRAWN.wait()
    views()
    metrics()


def _server(address: str) -> Any:
    """Return a server that prints its address once it answers, and opens a browser there on a machine with a screen."""
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print(f"page     {address}\n         ends with Ctrl-C", flush=True)
            threading.Thread(target=load_page, daemon=True).start()
            if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
                threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return Server(uvicorn.Config("solara.server.starlette:app", log_level="error", ws="auto"))
