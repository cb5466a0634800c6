"""Logs of Inspect with the real package: its own logs are read, and ours are opened by its reader and its viewer's server."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

import run
from parley.analysis.logs.eval_file import write_eval
from parley.analysis.logs.formats import FORMATS
from parley.analysis.logs.mapping import LogMap
from parley.analysis.logs.record import record_events
from parley.analysis.metrics import applies, metrics
from parley.analysis.tables import Tables, load, tables
from parley.llm.errors import UserError

pytest.importorskip("inspect_ai")

EVALUATION = """
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match

samples = [Sample("Say it.", target="yes"), Sample("Say more.", target="never")]
used = ModelUsage(input_tokens=5, output_tokens=2, total_tokens=7)
says = [ModelOutput.from_content("mockllm/model", "yes").model_copy(update={"usage": used}) for _ in samples]
eval(Task(samples, scorer=match()), model=get_model("mockllm/model", custom_outputs=says), log_dir="logs", display="none")
"""

PERSONAS = ["recited", "recited_null", "foreign", "misnamed"]
"""Columns that need the texts of personas, or the society, which a log does not have."""


def read(*files: Path) -> Tables:
    return tables(record_events(FORMATS.find("inspect").read(files, LogMap()), files, "inspect"))


@contextmanager
def viewer(folder: Path) -> Iterator[str]:
    """The viewer's server of Inspect on loopback; yield its address."""
    import uvicorn
    from inspect_ai._view.fastapi_server import resolve_viewer_network_policy, standalone_view_app

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    policy = resolve_viewer_network_policy(bind_host="127.0.0.1", port=port)
    app = standalone_view_app(log_dir=str(folder), network_policy=policy)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="error"))
    started = threading.Event()
    begin = server.startup

    async def startup(*given: Any, **more: Any) -> None:
        await begin(*given, **more)
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


def get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=30) as reply:
        return json.loads(reply.read())


def test_own_run_and_back(ran: Callable[..., Path], tmp_path: Path) -> None:
    """Inspect's reader finds a sample per room with texts, scores and tokens; read again, every metric has the same numbers."""
    from inspect_ai.log import read_eval_log

    own, path = load(ran("three_way", repetitions=5, rounds=1)), tmp_path / "own.eval"
    assert write_eval(own, path) == own.agents["room"].nunique()
    log = read_eval_log(str(path))
    assert log.status == "success"
    assert log.samples is not None
    assert sum(len(sample.messages) for sample in log.samples) == len(own.utterances)
    assert {name for sample in log.samples for name in sample.scores or {}} == {"attitude"}
    assert log.stats.model_usage["oracle"].input_tokens == own.calls.drop_duplicates("key")["prompt_tokens"].sum()
    back = read(path)
    keys = ["room", "round", "probe", "rating", "attitude", "expected", "name", "seat"]
    pd.testing.assert_frame_equal(own.attitudes[keys], back.attitudes[keys])
    assert list(own.utterances["text"]) == list(back.utterances["text"])
    for name, metric in metrics().items():
        if applies(metric, own):
            here, there = (metric.compute(one).drop(columns=PERSONAS, errors="ignore") for one in (own, back))
            pd.testing.assert_frame_equal(here, there, obj=name)


def test_same_bytes_of_content(ran: Callable[..., Path], tmp_path: Path) -> None:
    """The same run gives the same log twice, but for the time at which a zip file is packed."""
    from inspect_ai.log import read_eval_log

    own = load(ran("three_way", repetitions=5, rounds=1))
    logs = []
    for name in ("a", "b"):
        write_eval(own, tmp_path / f"{name}.eval")
        log = read_eval_log(str(tmp_path / f"{name}.eval"))
        logs.append(
            log.model_copy(update={"location": "", "etag": None}).model_dump_json(
                exclude={"samples": {"__all__": {"uuid"}}}
            )
        )
    assert logs[0] == logs[1]


@pytest.mark.thorough
def test_viewer(ran: Callable[..., Path], tmp_path: Path) -> None:
    """The viewer's server of Inspect lists our file and serves its samples."""
    write_eval(load(ran("three_way", repetitions=5, rounds=1)), tmp_path / "own.eval")
    with viewer(tmp_path) as address:
        listed = get(f"{address}/api/logs")
        names = [one["name"] for one in listed["files"]]
        assert len(names) == 1
        assert names[0].endswith("own.eval")
        log = get(f"{address}/api/logs/{quote(names[0], safe='')}")
    assert log["eval"]["task"] == "three_way"
    assert len(log["samples"]) == len({one["id"] for one in log["samples"]}) > 4


@pytest.mark.thorough
def test_log_of_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that Inspect wrote of its own stand-in model: replies are texts, grades are ratings, and tokens are counted."""
    monkeypatch.chdir(tmp_path)
    subprocess.run([sys.executable, "-c", EVALUATION], check=True, timeout=120)  # apart: Inspect leaves open streams
    (path,) = Path("logs").glob("*.eval")
    found = read(path)
    assert found.agents["room"].tolist() == ["1/1", "2/1"]
    assert set(found.agents["llm"]) == {"mockllm/model"}
    assert found.probes["rating"].tolist() == [1.0, 0.0]
    assert found.utterances["text"].tolist() == ["yes", "yes"]
    assert found.calls["prompt_tokens"].tolist() == [5, 5]
    assert found.header.model["recorded_by"].startswith("inspect_ai 0.")
    assert run.main(["study", "import-log", str(path), "--format", "inspect", "--out", "log"]) == 0
    assert "scores have no scale" in Path("log/summary.md").read_text()


def test_faults(tmp_path: Path, ran: Callable[..., Path]) -> None:
    """A file that is no log, and one with metadata of another hand under our name, are refused in one line."""
    path = tmp_path / "a.eval"
    path.write_text("no log")
    with pytest.raises(UserError, match="is no log that Inspect can read"):
        read(path)
    from inspect_ai.log import read_eval_log, write_eval_log

    write_eval(load(ran("three_way", repetitions=5, rounds=1)), path)
    log = read_eval_log(str(path))
    assert log.samples
    log.samples[0].metadata["parley"].pop("people")
    write_eval_log(log, str(path))
    with pytest.raises(UserError, match=r"has metadata parley that run\.py export eval does not write"):
        read(path)
