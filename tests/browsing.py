"""The page in headless Chromium, for the tests of its parts: a server as a user starts it, and tabs that note what goes wrong.

A test module imports `browser` and `visits` from here and has a fixture `address` of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from playwright.sync_api import Browser, Page, sync_playwright

from tools.screens import CHROMIUM, FLAGS

PANES = {"Conversation", "Attitudes", "Network"}
"""What is seen together in the first tab of a run."""
RUN = Path(__file__).parents[1] / "run.py"
PATIENCE = 60_000
PAYLOADS = (
    "<script>alert(1)</script>",
    '<img src="http://evil.example/x.png" onerror="alert(1)">',
    "[click](https://evil.example/x) ![see](https://evil.example/y.png) https://evil.example/z",
    "<iframe src='https://evil.example'></iframe><svg onload=alert(1)>",
    "# A heading\n\n> not a quotation, {{ alert(1) }} ${alert(1)} **bold**",
)
"""Lines of a model that attack the page."""
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium on this machine (Debian: apt install chromium)"
)


class Server:
    """`run.py --ui` in a folder, as a user starts it."""

    def __init__(
        self, home: Path, port: str = "0", environment: dict[str, str] | None = None, errors: Path | None = None,
        more: Sequence[str] = (),
    ):  # fmt: skip
        """errors: a file for what it writes to the terminal's error stream. more: further options."""
        command = [
            sys.executable,
            str(RUN),
            "--scenario",
            "three_way",
            "--llm",
            "oracle",
            "--ui",
            "--port",
            port,
            *more,
        ]
        with errors.open("w") if errors else nullcontext() as stderr:
            self.process = subprocess.Popen(
                command, cwd=home, stdout=subprocess.PIPE, stderr=stderr, text=True,
                env={**os.environ, **(environment or {})},
            )  # fmt: skip
        assert self.process.stdout is not None
        found = re.search(r"http://127.0.0.1:(\d+)/\S*token=\S+", self.process.stdout.readline())
        assert found
        self.address, self.port = found[0], found[1]

    def kill(self) -> None:
        """End it in the middle of whatever it does."""
        self.process.kill()
        self.process.communicate(timeout=60)

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=60)


@contextmanager
def trusting(home: Path, *more: str) -> Iterator[str]:
    """The address of a page that was started with further options."""
    server = Server(home, more=more)
    try:
        yield server.address
    finally:
        server.end()


class Visit:
    """A tab, and what went wrong in it."""

    def __init__(self, page: Page, address: str):
        self.page, self.address = page, ""
        self.wrong: list[str] = []
        self.enter(address)
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: self.wrong.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("websocket", lambda socket: self._asked(socket.url))
        page.on("requestfailed", self._failed)
        page.route("**/*", self._routed)

    def enter(self, address: str) -> None:
        """Go on at another server. address: what it printed; the browser gets the cookie that this address would set."""
        self.address, parts = address.partition("?")[0], urlparse(address)
        for token in parse_qs(parts.query).get("token", ()):
            self.page.context.add_cookies([{"name": f"parley-{parts.port}", "value": token, "url": self.address}])

    def open(self, query: str = "") -> Page:
        """The page, ready: `?run=runs/a`, `?scenario=network&rounds=2`, `?runs`, or the first screen."""
        self.page.goto(self.address + query)
        self.place("Your runs").wait_for()
        return self.page

    def load(self, name: str) -> Page:
        """Open a finished run by its folder."""
        self.open(f"?run=runs/{name}")
        self.page.get_by_text("Finished.").wait_for()
        return self.page

    def place(self, name: str) -> Any:
        """The button of a place of the page: Start, New run, Your runs."""
        return self.page.get_by_role("navigation", name="Places").get_by_role("button", name=name)

    def press(self, name: str) -> None:
        """Press a button by its name."""
        self.page.get_by_role("button", name=name, exact=True).click()

    def start(self, query: str) -> str:
        """Start the run of an address of the form; return its folder once the run is shown."""
        self.open(query)
        self.planned()
        self.press("Start a new run")
        return self.folder()

    def first_round(self, query: str, rounds: int = 3) -> None:
        """Start the run of an address of the form paused, and run its first round."""
        self.open(query)
        self.page.get_by_text("Limits and options").click()
        self.page.get_by_label("Start paused").check()
        self.planned()
        self.press("Start a new run")
        self.folder()
        self.status("Ready.")
        self.press("Step")
        self.status(f"Paused after round 1 of {rounds}")

    def planned(self) -> None:
        """Wait until the form knows what its run needs."""
        self.page.locator(".plan", has_text=re.compile(r"\d rooms?, ")).wait_for()

    def folder(self) -> str:
        """The folder of the run that the address names."""
        self.page.wait_for_url(re.compile(r"\?run="))
        return self.page.url.partition("?run=")[2]

    def status(self, text: str) -> None:
        """Wait until the state of the run shown has this text."""
        self.page.locator(".status", has_text=text).wait_for()

    def view(self, title: str) -> Any:
        """A view, once it is there: a tab, or a part of the first tab."""
        if title in PANES:
            self.view("What came out")
            pane = self.page.get_by_role("region", name=title, exact=True)
            pane.wait_for()
            return pane
        self.page.get_by_role("tab", name=title, exact=True).click()
        panel = self.page.get_by_role("tabpanel", name=title, exact=True)
        panel.wait_for()
        return panel

    def titles(self) -> set[str]:
        self.page.get_by_role("tab").first.wait_for()
        return set(self.page.get_by_role("tab").all_inner_texts())

    def choose(self, label: str, option: str) -> None:
        """Choose from a list, by its label."""
        field = self.page.get_by_label(label, exact=True)
        field.locator("option", has_text=option).first.wait_for(state="attached")
        field.select_option(field.locator("option", has_text=option).first.get_attribute("value"))

    def _asked(self, address: str) -> bool:
        here = urlparse(address).hostname in ("127.0.0.1", None)
        if not here:
            self.wrong.append(f"asked: {address}")
        return here

    def _routed(self, route: Any) -> None:
        if self._asked(route.request.url):
            route.continue_()
        else:
            route.abort()

    def _failed(self, request: Any) -> None:
        """Note a request that failed. One that the tab gave up when it went to another address is none."""
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url} ({request.failure})")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()


def stepped(page: Page, key: str, to: int) -> float:
    """Press a key on the slider; return the milliseconds until the chart of that round is drawn, by the browser's clock."""
    page.evaluate(
        """to => { window.taken = new Promise(done => {
          const box = document.querySelector('.chart .canvas');
          let start = 0;
          addEventListener('keydown', () => { start = performance.now(); }, {once: true, capture: true});
          new MutationObserver((_, watcher) => {
            if (box.dataset.round === to) { watcher.disconnect(); requestAnimationFrame(() => done(performance.now() - start)); }
          }).observe(box, {attributes: true});
        }); }""",
        str(to),
    )
    page.keyboard.press(key)
    return float(page.evaluate("window.taken"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def visits(browser: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Open a tab of its own; whatever went wrong in any of them fails the test."""
    made: list[Visit] = []

    def visit(**options: Any) -> Visit:
        made.append(Visit(browser.new_page(**{"viewport": {"width": 1280, "height": 900}, **options}), address))
        return made[-1]

    yield visit
    for one in made:
        one.page.context.close()
    wrong = [wrong for one in made for wrong in one.wrong]
    assert wrong == [], wrong
