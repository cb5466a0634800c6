"""Serve the app in the browser: the server runs on this machine until it is interrupted."""

from __future__ import annotations

import gc
import os
import secrets
import sys
import threading
import webbrowser
from collections.abc import Collection, Mapping
from pathlib import Path
from urllib.parse import urlencode

from parley.analysis.metrics import metrics
from parley.analysis.serving.guard import Guard
from parley.analysis.serving.own_files import allow
from parley.analysis.serving.reports import HEADERS, PATH, Reports
from parley.analysis.serving.server import address_of, check_installed, listen, server_of, solara_page

RUNS = Path("runs")
"""The folder whose runs and studies the page shows."""
RARELY = 50_000
"""New objects after which garbage is looked for: a record that is read is none, and with Python's 700 a third of the time."""


def serve(
    app: Path,
    settings: Mapping[str, str],
    host: str,
    port: int | None,
    names: Collection[str] = (),
    folders: Collection[Path] = (),
) -> int:
    """Serve `app`, and open a browser at the page with these settings. Errors: UserError, one line.

    names: further names under which browsers may open it. folders: whose files the page may open.
    """
    check_installed("the app")
    allow(settings, folders)
    listening, token = listen(host, port), secrets.token_urlsafe()
    gc.disable()  # until the page is imported: nothing that an import makes is garbage
    pages = Reports(solara_page(str(app.resolve())), RUNS)
    guard = Guard(pages, listening.getsockname()[1], host, names, token, {PATH: HEADERS})

    def address(token: str) -> str:
        return f"{address_of(listening, host)}?{urlencode({**settings, 'token': token})}"

    def started() -> None:
        """Print the address, and open a browser there on a machine with a screen."""
        print(f"page     {address(token)}\n         ends with Ctrl-C", flush=True)
        threading.Thread(target=load_page, daemon=True).start()
        if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin":
            threading.Thread(target=webbrowser.open, args=(address(guard.ticket()),), daemon=True).start()

    server_of(guard, started).run(sockets=[listening])
    return 0


def load_page() -> None:
    """Import the page while the browser reads Solara's own files; once it is drawn, what its views need."""
    try:
        from parley.analysis.views import _gallery, page, views

        _gallery.cards()
    finally:
        gc.set_threshold(RARELY)
        gc.enable()
    page.DRAWN.wait()
    views()
    metrics()
    gc.freeze()
