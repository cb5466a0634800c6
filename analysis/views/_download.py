"""A button that downloads a file, which is made when it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import solara


@solara.component
def Download(make: Callable[[], bytes], name: str, mime: str, label: str, now: list[Any]) -> None:
    """make: returns the file. now: with other values the file is made anew."""
    made = solara.use_memo(lambda: lambda: make(), [name, *now])  # one function as long as the file is the same
    solara.FileDownload(made, name, label=label, mime_type=mime, icon_name=None)
