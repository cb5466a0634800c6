"""`run.py models`: what it lists, and the servers that it finds on this machine."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

import run
from parley.analysis.commands import models
from parley.llm import model_catalogue
from parley.llm.errors import UserError


class _Server(BaseHTTPRequestHandler):
    """A server with one model, as llama.cpp names it."""

    def do_GET(self) -> None:
        body = json.dumps({"data": [{"id": "/models/tiny.gguf"}]} if self.path == "/v1/models" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No weights and no servers on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(model_catalogue, "files", lambda package: None)
    monkeypatch.setattr(models, "PORTS", {})


def test_the_list_says_size_licence_and_what_to_type(nowhere: None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["models"]) == 0
    printed = capsys.readouterr().out
    assert "smollm2  SmolLM2 135M Instruct, 4 bits (Hugging Face, Apache-2.0, 98 MB)" in printed
    assert "fetch it: python run.py models get smollm2" in printed
    assert "servers that run on this machine:\n  none" in printed


def test_a_server_on_this_machine_is_listed_with_the_options_that_use_it(
    nowhere: None, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setattr(models, "PORTS", {port: "llama.cpp", unused.getsockname()[1]: "Ollama"})
        assert run.main(["models"]) == 0
    printed = capsys.readouterr().out
    assert f"llama.cpp: --llm openai:tiny.gguf --base-url http://127.0.0.1:{port}/v1" in printed
    assert "Ollama: " not in printed


@pytest.mark.parametrize("there", [True, False])
def test_the_oracle_is_listed_and_what_is_installed_is_not_asked_for(
    there: bool, nowhere: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(models, "find_spec", lambda name: there or None)
    assert run.main(["models"]) == 0
    shown = capsys.readouterr().out
    assert "\n  oracle  " in shown
    assert ("needs pip install xllamacpp" in shown) is not there


def test_a_model_to_fetch_is_named(nowhere: None) -> None:
    with pytest.raises(UserError, match="needs the name of a model: smollm2"):
        models.models(["get"])
