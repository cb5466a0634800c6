"""Serves the page of the seats during a run. It has nothing but this page: no run, form or folder can be opened there."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from parley.analysis.seats.table import SeatTable, desks_in_page
from parley.analysis.serving.guard import Guard
from parley.analysis.serving.server import LOOPBACK, address_of, check_installed, listen, server_of, solara_page
from parley.llm.errors import UserError
from parley.llm.request import Backend

APP = "parley.analysis.views._seat"
LOOK = 0.2
"""Seconds between two looks at a server that starts."""
_tables: list[SeatTable] = []


def current_table() -> SeatTable:
    """Return the table of the run that this process serves."""
    return _tables[-1]


@contextmanager
def serving(
    table: SeatTable, host: str, port: int | None, write: Callable[[str], object], names: Collection[str] = ()
) -> Iterator[str]:
    """Serve the page in a thread, and yield its address. At the end wait for the holders. Errors: UserError.

    names: further names under which browsers may open it.
    """
    check_installed("the page of the seats")
    listening, ready = listen(host, port), threading.Event()
    _tables.append(table)
    server = server_of(Guard(solara_page(APP), listening.getsockname()[1], host, names), ready.set)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not ready.wait(LOOK):
            if not thread.is_alive():
                raise UserError(f"the page of the seats could not be served at {host}: give another --host or --port")
        yield address_of(listening, host)
        table.end(write)
    finally:
        server.should_exit = True
        thread.join(5)
        _tables.remove(table)


def serve_people(
    stack: ExitStack,
    backend: Backend,
    folder: Path,
    rounds: int,
    study: str,
    host: str | None,
    port: int | None,
    write: Callable[[str], object],
    names: Collection[str] = (),
) -> Callable[[Any], None]:
    """Serve the page until the stack closes, write its address and the codes, and return what notes the rounds.

    study: what the page is called for the people in it.
    """
    table = SeatTable(desks_in_page(backend), folder, rounds, study)
    address = stack.enter_context(serving(table, host or LOOPBACK, port, write, names))
    lines = [f"seats    {address}", *(f"code     {code}  {seat}" for seat, code in table.gate.codes.items())]
    if host and not on_this_machine(host):
        lines.append("         other machines can open this page, and what people write is sent without encryption")
    write("\n".join(lines))

    def note_round(model: Any) -> None:
        table.round = model.round + 1

    return note_round


def on_this_machine(host: str) -> bool:
    """Return whether only this machine can open an address."""
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"
