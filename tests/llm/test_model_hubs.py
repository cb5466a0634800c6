"""Nothing leaves the machine unless a hub's model is named: no reports of use, no look-up of what lies in a folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from parley.llm import model_catalogue
from parley.llm.model_catalogue import SILENT, cached_files

ROOT = Path(__file__).parents[2]
NEEDED = ("torch", "transformers", "peft", "trl", "datasets")
WATCHED = """
import socket, sys

def refused(what):
    def call(*given, **options):
        tried.append((what, given[-1]))
        raise OSError("no network in this test")
    return call

tried = []
socket.getaddrinfo, socket.socket.connect = refused("look-up"), refused("connection")
import run
out = sys.argv[1]
data = ["--questions", "10", "--answers", "1", "--set", "max_tokens=40"]
rc = run.main(["train", "--party", "republican", "--llm", "pocket", *data, "--out", out])
sys.exit(rc or (f"tried {tried}" if tried else 0))
"""


@pytest.mark.thorough
@pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason="the [local] extra is not installed")
def test_the_model_in_the_box_is_loaded_and_trained_without_a_connection(tmp_path: Path) -> None:
    """In a process of its own with nothing set that would forbid it: no name is looked up, no socket connected."""
    forbidding = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "DO_NOT_TRACK", "DISABLE_TELEMETRY", *SILENT}
    own = {name: value for name, value in os.environ.items() if name not in forbidding}
    own |= {"HF_HOME": str(tmp_path / "hub"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "tuned")]
    done = subprocess.run(command, cwd=ROOT, env=own, text=True, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert list((tmp_path / "tuned").rglob("adapter_model.safetensors"))


def test_a_folder_is_never_looked_for_on_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of a hub is downloaded when it is asked for by its id; where its host is unknown it is not waited for."""
    hosts: list[str] = []

    def known(host: str, port: int) -> None:
        hosts.append(host)

    def unknown(host: str, port: int) -> None:
        raise socket.gaierror

    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/hub")
    for look, options in ((known, {}), (unknown, {"local_files_only": True})):
        monkeypatch.setattr(socket, "getaddrinfo", look)
        model_catalogue._reaches_hub.cache_clear()
        assert cached_files("mistralai/Mistral-7B-Instruct-v0.2") == options
        assert cached_files(tmp_path) == {"local_files_only": True}
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:8080")
    model_catalogue._reaches_hub.cache_clear()
    assert cached_files("mistralai/Mistral-7B-Instruct-v0.2") == {}
    assert hosts == ["mirror.example"]
    model_catalogue._reaches_hub.cache_clear()


def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from parley.llm.model_catalogue import silence_hubs

    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "0")
    silence_hubs()
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "0"
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
