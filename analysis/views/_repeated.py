"""Something that a tab does again and again, for as long as it is there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import solara.lab
from solara.server import kernel_context


def use_repeated(seconds: float, act: Callable[[], object]) -> None:
    """Call `act` every so many seconds. (A hook of Solara.)

    Solara cancels no task of a tab that has gone (`Task._drop_call_state` forgets how): an endless one would keep a thread and
    three open files for good. So it looks by itself whether its tab is gone.
    """

    async def repeat() -> None:
        gone = kernel_context.get_current_context().closed_event if kernel_context.has_current_context() else NEVER
        while not gone.is_set():
            act()
            await asyncio.sleep(seconds)

    solara.lab.use_task(repeat, dependencies=[])


NEVER = threading.Event()
"""For a page without a server."""
