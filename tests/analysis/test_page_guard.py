"""The guard of a page, without a browser: who may ask, what each answer forbids, and how the printed address opens the page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from data_checks import check_each

from parley.analysis.serving.guard import CLIENT, Guard
from parley.analysis.serving.reports import HEADERS, PATH, Reports

PORT, TOKEN = 8765, "a-token-of-43-characters"
HOST, COOKIE = f"127.0.0.1:{PORT}", f"parley-{PORT}={TOKEN}"
OWN = {"host": HOST, "cookie": COOKIE}
SOCKET = {**OWN, "origin": f"http://{HOST}", "type": "websocket"}
POST = {**OWN, "origin": f"http://{HOST}", "method": "POST"}


class Page:
    """Stands for Solara: answers everything, and keeps the requests that reached it."""

    def __init__(self) -> None:
        self.reached: list[dict[str, Any]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached.append(scope)
        if scope["type"] == "http":
            own = [(b"content-type", b"text/html"), (b"X-Frame-Options", b"ALLOWALL")]
            await send({"type": "http.response.start", "status": 200, "headers": own})
            await send({"type": "http.response.body", "body": b"secret"})
        else:
            await send({"type": "websocket.accept"})


def ask(
    guard: Guard, headers: dict[str, str], path: str = "/", query: str = "", more: tuple[tuple[bytes, bytes], ...] = ()
) -> tuple[dict[str, Any], str]:
    """Return the first message of the answer, with its headers as a dictionary, and its text."""
    given = dict(headers)
    scope = {
        "type": given.pop("type", "http"), "method": given.pop("method", "GET"), "scheme": given.pop("scheme", "http"),
        "path": path, "query_string": query.encode(), "client": ("10.0.0.9", 5000),
        "headers": [*((name.encode(), value.encode()) for name, value in given.items()), *more],
    }  # fmt: skip
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {}

    asyncio.run(guard(scope, receive, send))
    first = {**sent[0], "headers": {name.decode(): value.decode() for name, value in sent[0].get("headers", [])}}
    return first, sent[1]["body"].decode() if len(sent) > 1 else ""


@check_each(
    ("what", "headers"),
    [
        ("no token", {"host": HOST}),
        ("a wrong token", {"host": HOST, "cookie": f"parley-{PORT}={TOKEN}x"}),
        ("an empty token", {"host": HOST, "cookie": f"parley-{PORT}="}),
        ("the token of another port", {"host": HOST, "cookie": f"parley-1={TOKEN}"}),
        ("a rebinding name", {**OWN, "host": f"evil.example:{PORT}"}),
        ("a name that begins like ours", {**OWN, "host": "127.0.0.1.evil.example"}),
        ("a name that ends like ours", {**OWN, "host": "evil.localhost"}),
        ("ours as a user name", {**OWN, "host": f"evil.example#@{HOST}x"}),
        ("no host", {"cookie": COOKIE}),
        ("another address", {**OWN, "host": "10.0.0.7"}),
        ("a socket without origin", {**OWN, "type": "websocket"}),
        ("a socket of another site", {**SOCKET, "origin": "http://evil.example"}),
        ("a socket of another port", {**SOCKET, "origin": "http://127.0.0.1:9555"}),
        ("a socket of another name", {**SOCKET, "origin": f"http://localhost:{PORT}"}),
        ("a socket of a sandbox", {**SOCKET, "origin": "null"}),
        ("a socket without token", {**SOCKET, "cookie": ""}),
        ("a rebound socket", {**SOCKET, "host": "evil.example", "origin": "http://evil.example"}),
        ("a form of another port", {**POST, "origin": "http://localhost:9555"}),
        ("a form without origin", {**OWN, "method": "POST"}),
        ("a fetch of another port", {**OWN, "origin": "http://127.0.0.1:9555"}),
    ],
)
def test_no_request_of_a_stranger_reaches_the_page(what: str, headers: dict[str, str]) -> None:
    """Protects from pages of others, rebound names, other users: any web page could start a run with a key of the user's."""
    page = Page()
    answer, text = ask(Guard(page, PORT, "127.0.0.1", token=TOKEN), headers)
    assert page.reached == []
    assert (answer["type"], answer.get("status")) in (("websocket.close", None), ("http.response.start", 403))
    assert "\n" not in text


@check_each(
    "headers",
    [
        OWN,
        SOCKET,
        POST,
        {**SOCKET, "host": f"localhost:{PORT}", "origin": f"http://localhost:{PORT}"},
        {**SOCKET, "host": "[::1]:9000", "origin": "http://[::1]:9000"},  # through a tunnel from another port
        {**SOCKET, "host": "Study.example.org", "origin": "https://study.example.org"},  # behind a server with HTTPS
        {**OWN, "cookie": f"other=1; {COOKIE}"},
    ],
)
def test_the_page_itself_is_answered(headers: dict[str, str]) -> None:
    page = Page()
    ask(Guard(page, PORT, "127.0.0.1", ["Study.example.org:8800"], TOKEN), headers)
    assert len(page.reached) == 1


def test_a_page_for_all_addresses_is_found_by_address_and_not_by_name() -> None:
    """Whoever owns a name can point it at this machine; nobody owns an address as a name."""
    guard = Guard(Page(), PORT, "0.0.0.0")
    assert ask(guard, {"host": "192.168.1.20:8765"})[0]["status"] == 200
    refused, text = ask(guard, {"host": "evil.example"})
    assert refused["status"] == 403
    assert "--public-name evil.example" in text
    assert ask(Guard(Page(), PORT, "0.0.0.0", ["lab.example"]), {"host": "lab.example"})[0]["status"] == 200


def test_no_answer_may_be_framed_read_by_others_or_load_from_elsewhere() -> None:
    guard = Guard(Page(), PORT, "127.0.0.1", token=TOKEN)
    for headers, query in (
        (OWN, ""),
        ({"host": HOST}, ""),
        ({"host": "evil.example"}, ""),
        ({"host": HOST}, f"token={TOKEN}"),
    ):
        answer, _ = ask(guard, headers, query=query)
        assert answer["headers"]["x-frame-options"] == "DENY"
        assert "X-Frame-Options" not in answer["headers"]
        assert "frame-ancestors 'none'" in answer["headers"]["content-security-policy"]
        assert answer["headers"]["cross-origin-resource-policy"] == "same-origin"


def test_the_printed_address_sets_a_strict_cookie_and_opens_the_page() -> None:
    """The token leaves the address, so that neither the history nor a bookmark has it; it goes on inside this page only."""
    page = Page()
    guard = Guard(page, PORT, "127.0.0.1", token=TOKEN)
    answer, text = ask(guard, {"host": HOST}, "//evil.example/", f"scenario=a%22%3E%3Cscript%3E&token={TOKEN}&rounds=2")
    assert answer["headers"]["set-cookie"] == f"parley-{PORT}={TOKEN}; Path=/; HttpOnly; SameSite=Strict"
    assert 'content="0;url=/?scenario=a%22%3E%3Cscript%3E&amp;rounds=2"' in text
    assert TOKEN not in text
    https, _ = ask(guard, {"host": HOST, "scheme": "https"}, query=f"token={TOKEN}")
    assert https["headers"]["set-cookie"].endswith("; Secure")
    for wrong in ("token=", "token=x", f"token={TOKEN}x", "token=\xe9"):
        assert ask(guard, {"host": HOST}, query=wrong)[0]["status"] == 403
    assert page.reached == []


def test_a_ticket_opens_the_page_once() -> None:
    """The address that a browser is started with is in the list of processes, which other users of the machine can read."""
    guard = Guard(Page(), PORT, "127.0.0.1", token=TOKEN)
    ticket = guard.ticket()
    assert TOKEN in ask(guard, {"host": HOST}, query=f"token={ticket}")[0]["headers"]["set-cookie"]
    assert ask(guard, {"host": HOST}, query=f"token={ticket}")[0]["status"] == 403


def test_the_page_learns_the_address_of_its_client_and_not_what_the_client_says() -> None:
    """A wrong code of a seat keeps its own client waiting; a header of the client's own would be another client each time."""
    page = Page()
    ask(Guard(page, PORT, "127.0.0.1"), {"host": HOST}, more=((b"X-Parley-Client", b"1.2.3.4"),))
    assert [value for name, value in page.reached[0]["headers"] if name.decode().lower() == CLIENT] == [b"10.0.0.9"]


def test_two_hosts_or_origins_are_refused() -> None:
    """Which of two hosts counts is read differently by each program between a browser and the page."""
    page = Page()
    guard = Guard(page, PORT, "127.0.0.1")
    ask(guard, {"host": HOST}, more=((b"host", b"evil.example"),))
    ask(
        guard,
        {"host": HOST, "origin": f"http://{HOST}", "type": "websocket"},
        more=((b"origin", b"http://evil.example"),),
    )
    assert page.reached == []


def test_the_start_of_the_server_needs_no_token() -> None:
    page = Page()

    async def nothing(message: Any = None) -> Any:
        return message

    asyncio.run(Guard(page, PORT, "127.0.0.1", token=TOKEN)({"type": "lifespan"}, nothing, nothing))
    assert [scope["type"] for scope in page.reached] == ["lifespan"]


def test_a_report_is_shown_only_in_a_frame_of_the_page_and_nothing_in_it_runs(tmp_path: Path) -> None:
    """It may come from a stranger: its answer has no origin of its own, and no other file is answered."""
    card = tmp_path / "runs" / "card"
    card.mkdir(parents=True)
    (card / "card.json").write_text("{}")
    (card / "card.html").write_text("<h1>Mine</h1><script>alert(1)</script>")
    (tmp_path / "card.html").write_text("secret")
    page = Page()
    guard = Guard(Reports(page, tmp_path / "runs"), PORT, "127.0.0.1", token=TOKEN, framed={PATH: HEADERS})
    answer, text = ask(guard, OWN, PATH, f"folder={card}")
    assert (answer["status"], "<h1>Mine</h1>" in text) == (200, True)
    policy = answer["headers"]["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "frame-ancestors 'self'" in policy
    assert answer["headers"]["x-frame-options"] == "SAMEORIGIN"
    assert ask(guard, {"host": HOST}, PATH, f"folder={card}")[0]["status"] == 403
    for folder in (tmp_path, tmp_path / "runs" / "..", tmp_path / "runs" / "none", ""):
        answer, text = ask(guard, OWN, PATH, f"folder={folder}")
        assert (answer["status"], "secret" in text) == (404, False)
    assert page.reached == []
