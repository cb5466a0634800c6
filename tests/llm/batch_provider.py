"""A stand-in provider with /files and /batches, on loopback. It answers the lines of a batch as `echo` answers calls."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .loopback import Body, echo, said

Line = Callable[[Body, int], Mapping[str, Any] | None]
"""What a line of a batch comes back with, besides its name, when its body was sent for the first, second, ... time; None: not at
all.
"""


def answered(body: Body, time: int) -> Mapping[str, Any]:
    """The usual line: the reply of `echo`."""
    return {
        "response": {"status_code": 200, "request_id": "r", "body": json.loads(echo(body, time).body)},
        "error": None,
    }


class BatchProvider:
    """`with BatchProvider() as provider:` `batches` are the batches, `status` says how the first, second, ... one ends.

    `looks` is how often a batch is asked for before it has ended, `lost` how many answers to a new batch get lost on their way.
    """

    def __init__(self, line: Line = answered, looks: int = 2, status: Mapping[int, str] | None = None, lost: int = 0):
        self.line, self.looks, self.status, self.lost = line, looks, status or {}, lost
        self.files: dict[str, bytes] = {}
        self.batches: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.times: dict[str, int] = {}
        self.moved = ""

    def __enter__(self) -> BatchProvider:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self._send(provider.get(self.path))

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                found = provider.post(self.path, content)
                if found is None:
                    self.connection.close()
                else:
                    self._send(found)

            def _send(self, found: bytes | tuple[int, bytes]) -> None:
                status, body = found if isinstance(found, tuple) else (200, found)
                self.send_response(status)
                if status == 307:
                    self.send_header("Location", provider.moved)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def sent(self) -> list[list[Body]]:
        """The lines of each batch."""
        return [
            [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()] for batch in self.batches
        ]

    def post(self, path: str, content: bytes) -> bytes | tuple[int, bytes] | None:
        self.calls.append(path)
        if path == "/v1/chat/completions":
            body = json.loads(content)
            act = echo(body, 1) if "sky" not in str(body) else said("Yes.")
            return act.status, act.body
        if self.moved:
            return 307, b""
        if path == "/v1/files":
            assert b'name="purpose"\r\n\r\nbatch' in content
            found = re.search(rb'filename="requests.jsonl".*?\r\n\r\n(.*?)\r\n--', content, re.S)
            assert found
            self.files[name := f"file-{len(self.files)}"] = found[1]
            return json.dumps({"id": name, "object": "file", "bytes": 1, "created_at": 1, "purpose": "batch"}).encode()
        body = json.loads(content)
        assert (body["endpoint"], body["completion_window"]) == ("/v1/chat/completions", "24h")
        self.batches.append({"id": f"batch_{len(self.batches)}", "looked": 0, **body})
        if self.lost:
            self.lost -= 1
            return None
        return json.dumps(self._state(self.batches[-1])).encode()

    def get(self, path: str) -> bytes | tuple[int, bytes]:
        self.calls.append(path)
        place = path.partition("?")[0].removeprefix("/v1/").split("/")
        if place[0] == "files":
            return self.files[place[1]]
        if place == ["batches"]:
            return json.dumps(
                {"object": "list", "data": [self._state(batch) for batch in self.batches], "has_more": False}
            ).encode()
        batch = next((batch for batch in self.batches if batch["id"] == place[-1]), None)
        if place[0] != "batches" or batch is None:
            return 404, b'{"error": {"message": "no such thing"}}'
        batch["looked"] += 1
        return json.dumps(self._state(batch)).encode()

    def _state(self, batch: dict[str, Any]) -> dict[str, Any]:
        names = "id", "endpoint", "input_file_id", "completion_window", "metadata"
        state = {name: batch.get(name) for name in names} | {
            "object": "batch",
            "created_at": 1,
            "status": "in_progress",
        }
        if batch["looked"] >= self.looks:
            state["status"] = self.status.get(self.batches.index(batch), "completed")
        if state["status"] == "failed":
            return state | {
                "errors": {"object": "list", "data": [{"code": "token_limit", "message": "too many tokens"}]}
            }
        if state["status"] != "in_progress":
            state |= batch.setdefault("answer", {}) or self._answer(batch)
        return state

    def _answer(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Make the files of replies, the lines in another order than they came."""
        good, bad = [], []
        for line in map(json.loads, reversed(self.files[batch["input_file_id"]].splitlines())):
            text = json.dumps(line["body"])
            self.times[text] = self.times.get(text, 0) + 1
            found = self.line(line["body"], self.times[text])
            if found is not None:
                (bad if found.get("error") else good).append(json.dumps({"custom_id": line["custom_id"], **found}))
        for kind, lines in (("output_file_id", good), ("error_file_id", bad)):
            if lines:
                self.files[name := f"file-{len(self.files)}"] = "\n".join(lines).encode()
                batch["answer"][kind] = name
        return dict(batch["answer"])
