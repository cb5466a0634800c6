"""Pages of others attack the page in a real browser: from another port, through a rebound name, and around it in a frame.

The browser has opened the page, so it holds the token as a cookie. No attack may open a websocket, read an answer, or show the
page; the page itself goes on working.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

pytest.importorskip("solara", reason="the [app] extra is not installed")
pytest.importorskip("playwright.sync_api", reason="the [browser] extra is not installed")
from browsing import CHROMIUM, FLAGS, PATIENCE, Server, needs_chromium
from playwright.sync_api import BrowserContext, Page, sync_playwright

pytestmark = [needs_chromium, pytest.mark.thorough]
REBOUND = "evil.example"
SOCKET = "jupyter/api/kernels/11111111-1111-1111-1111-111111111111/channels?session_id=22222222"
ATTEMPTS = """async ({http, ws}) => {
  const kinds = {
    socket: () => new Promise(done => {
      const socket = new WebSocket(ws + SOCKET);
      socket.onopen = () => done('opened');
      socket.onerror = () => done('');
    }),
    fetch: async () => { const answer = await fetch(http, {credentials: 'include'}); return await answer.text(); },
    post: async () => {
      const answer = await fetch(http + CLOSE, {method: 'POST', credentials: 'include', body: 'x'});
      return answer.ok ? 'ok' : '';
    },
    script: () => new Promise(done => {
      const script = document.createElement('script');
      script.src = http + 'static/main-vuetify.js';
      script.onload = () => done('loaded'); script.onerror = () => done('');
      document.head.append(script);
    }),
    picture: () => new Promise(done => {
      const picture = new Image();
      picture.onload = () => done('loaded'); picture.onerror = () => done('');
      picture.src = http + 'static/assets/favicon.png';
    }),
  };
  const reached = {};
  for (const [name, act] of Object.entries(kinds)) {
    try { reached[name] = await act(); } catch (error) { reached[name] = ''; }
  }
  return reached;
}""".replace("SOCKET", f"'{SOCKET}'").replace("CLOSE", "'_solara/api/close/1?session_id=2'")
"""What a foreign page can try without its user; each gives an empty text where it fails."""


class Foreign(BaseHTTPRequestHandler):
    """The server of a stranger: an empty page, whatever is asked."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>foreign</title><body>")

    def log_message(self, *_: Any) -> None:
        return None


@pytest.fixture(scope="module")
def foreign() -> Iterator[int]:
    """The port of a stranger's server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    served = Server(tmp_path_factory.mktemp("home"))
    yield served
    served.end()


@pytest.fixture
def opened(server: Server) -> Iterator[BrowserContext]:
    """A browser in which the printed address was opened, and in which a stranger's name leads to this machine."""
    with sync_playwright() as playwright:
        rules = f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, rules])
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(server.address)
        shown(page)
        assert page.url == f"http://127.0.0.1:{server.port}/?scenario=three_way&llm=oracle"
        yield context
        page.reload()  # after all attacks the page works
        shown(page)
        browser.close()


def shown(page: Page) -> None:
    page.get_by_role("navigation", name="Places").get_by_role("button", name="Your runs").wait_for()


def at(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    return page


def test_no_attack_of_a_page_of_others_succeeds(opened: BrowserContext, server: Server, foreign: int) -> None:
    """Any web page could start a run here, with a server of its own and a key of the user's."""
    own, port = f"127.0.0.1:{server.port}", server.port
    reached: dict[str, str] = {}
    for name, stranger, target in (
        ("another site", f"http://localhost:{foreign}/", own),
        ("another port", f"http://127.0.0.1:{foreign}/", own),
        ("another site, by name", f"http://127.0.0.1:{foreign}/", f"localhost:{port}"),
        ("a rebound name", f"http://{REBOUND}:{port}/", f"{REBOUND}:{port}"),
    ):
        page = at(opened, stranger)
        tried = page.evaluate(ATTEMPTS, {"http": f"http://{target}/", "ws": f"ws://{target}/"})
        reached |= {f"{name}: {kind}": what for kind, what in tried.items()}
    for name, stranger in (
        ("another site", f"http://localhost:{foreign}/"),
        ("another port", f"http://127.0.0.1:{foreign}/"),
    ):
        reached[f"{name}: frame"] = framed(at(opened, stranger), f"http://{own}/")
        reached[f"{name}: form"] = posted(at(opened, stranger), f"http://{own}/?scenario=three_way")
    refused = {name: what for name, what in reached.items() if not what or refusal(what)}
    assert len(reached) == 24
    assert reached.keys() - refused.keys() == set(), reached


def refusal(text: str) -> bool:
    """Whether an answer is one of the guard's sentences."""
    return text.startswith(("This page does not answer", "Another page sent", "Open the address that"))


def framed(page: Page, target: str) -> str:
    """Return what a frame shows of the page: nothing, where it refuses to be framed."""
    page.evaluate(
        "target => new Promise(done => { const frame = document.createElement('iframe'); frame.onload = done; "
        "frame.src = target; document.body.append(frame); setTimeout(done, 5000); })",
        target,
    )
    frame = page.frames[-1]
    return "" if urlparse(frame.url).scheme != "http" else frame.locator("body").inner_text()


def posted(page: Page, target: str) -> str:
    """Return what a form of a stranger gets that is sent to the page."""
    page.evaluate(
        "target => { const form = document.createElement('form'); form.method = 'post'; form.action = target; "
        "document.body.append(form); form.submit(); }",
        target,
    )
    page.wait_for_url(target)
    return page.locator("body").inner_text()


def test_a_link_of_a_stranger_opens_nothing_and_the_printed_address_everything(
    opened: BrowserContext, server: Server, foreign: int
) -> None:
    """A link has no strict cookie, so it cannot choose a model, a file or a run; the printed address works from any page."""
    page = at(opened, f"http://localhost:{foreign}/")
    page.evaluate("target => location.assign(target)", f"http://127.0.0.1:{server.port}/?scenario=two_way")
    page.get_by_text("Open the address that the terminal printed").wait_for()
    page = at(opened, f"http://localhost:{foreign}/")
    page.evaluate("target => location.assign(target)", server.address)
    shown(page)
    assert "token" not in page.url


def test_another_browser_learns_what_to_do(opened: BrowserContext, server: Server, tmp_path: Path) -> None:
    """Without the token there is one sentence, and neither a page nor a list of runs."""
    assert opened.browser
    page = at(opened.browser.new_context(), f"http://127.0.0.1:{server.port}/?runs")
    assert page.locator("body").inner_text().startswith("Open the address that the terminal printed, with its token")
    assert page.evaluate("document.cookie") == ""
