"""Reports of studies for a frame of the page: `/report?folder=runs/card`, and of several bias cards their comparison.

A report may come from a stranger. So its answer has no origin, nothing in it runs, and it can fetch and send nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlencode

from parley.analysis.serving.guard import App, Receive, Scope, Send
from parley.llm.errors import UserError
from parley.model.files import changed_at

PATH = "/report"
HEADERS = {
    "content-security-policy": "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
"""What the guard sends with these answers in place of its own headers: the page may show them in a frame."""


class Reports:
    """An ASGI application that answers for reports of studies in `root`, and leaves all else to that of a page."""

    def __init__(self, app: App, root: Path):
        self.app, self.root = app, root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != PATH:
            await self.app(scope, receive, send)
            return
        folders = parse_qs(scope["query_string"].decode("latin-1")).get("folder", [])
        try:
            text, status, kind = await asyncio.to_thread(self._page, folders), HTTPStatus.OK, "text/html"
        except UserError as error:
            text, status, kind = str(error), HTTPStatus.NOT_FOUND, "text/plain"
        headers = [(b"content-type", f"{kind}; charset=utf-8".encode()), (b"cache-control", b"no-store")]
        await send({"type": "http.response.start", "status": int(status), "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    def _page(self, folders: Sequence[str]) -> str:
        paths = [Path(folder) for folder in folders]
        if not paths or not all(path.resolve().is_relative_to(self.root.resolve()) for path in paths):
            raise UserError(f"the address must name a report in {self.root}")
        return report_page(paths[0]) if len(paths) == 1 else _compared(*((path, changed_at(path)) for path in paths))


def report_address(folders: Sequence[object], changed: float) -> str:
    """Return the address of the report of a study, or of the comparison of several. changed: so that it is opened anew."""
    return f"{PATH}?{urlencode([*(('folder', str(folder)) for folder in folders), ('changed', changed)])}"


def report_page(folder: Path) -> str:
    """Return the report of a study as one HTML document. Errors: UserError where the folder has none."""
    from parley.analysis.html_page import document
    from parley.analysis.html_report import chapters_of
    from parley.analysis.result_folders import kind_of

    if (kind := kind_of(folder)) is None:
        raise UserError(f"{folder} holds no report")
    if kind.page.endswith(".html"):
        try:
            return (folder / kind.page).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise UserError(f"cannot read {folder / kind.page}: {error.strerror}") from error
    first, *rest = chapters_of(folder)
    return document(first.title, rest, first)


@lru_cache(maxsize=4)
def _compared(*cards: tuple[Path, float]) -> str:
    """Return the comparison of bias cards. cards: their folders, each with the time of its change. Errors: UserError."""
    from parley.analysis.comparisons import compare
    from parley.analysis.views._html import ONE_FIGURE_AT_A_TIME

    with ONE_FIGURE_AT_A_TIME, TemporaryDirectory() as place:
        return compare(*(folder for folder, _ in cards)).report(Path(place)).read_text(encoding="utf-8")
