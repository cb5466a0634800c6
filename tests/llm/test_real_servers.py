"""Servers that nobody here wrote, serving the model in the box, through whole debates.

`transformers serve` is started by the test itself. A llama.cpp server on a GGUF of the same model is asked where somebody has one
running: PARLEY_LLAMA_CPP=http://127.0.0.1:8000/v1 (docs/models.md).
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import run
from parley.analysis.tables import load
from parley.llm.backends.pocket import WEIGHTS

SMALL = ["--scenario", "three_way", "--topic", "racism", "--repetitions", "2", "--rounds", "2"]
LLAMA_CPP = os.environ.get("PARLEY_LLAMA_CPP", "")


@pytest.fixture(scope="module")
def transformers_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its address, once it says that it is up."""
    if missing := [name for name in ("torch", "transformers", "fastapi", "uvicorn") if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} of the extras [local] and [serve] missing")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(WEIGHTS / "pocket")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    own = {"HF_HUB_CACHE": str(tmp_path_factory.mktemp("hub")), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **own}) as process:
        assert process.stderr
        said = []
        for line in process.stderr:
            said.append(line)
            if "running on http" in line:
                break
        else:
            pytest.fail("".join(said))
        yield f"http://127.0.0.1:{port}/v1"
        process.kill()


def test_a_debate_through_transformers_serve(
    transformers_serve: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It answers 200 to likeliest tokens and to a schema, and gives neither: the probe is not taken in, and ratings are read."""
    asked = ["--llm", f"openai:{WEIGHTS / 'pocket'}", "--base-url", transformers_serve, "--out", str(tmp_path / "run")]
    assert run.main([*SMALL, *asked]) == 0
    assert "closed questions in free text" in capsys.readouterr().out
    _whole(tmp_path / "run", "strict, text")


def test_what_transformers_serve_refuses_is_one_line(
    transformers_serve: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--llm", "openai:no/such-model", "--base-url", transformers_serve, "--out", str(tmp_path / "run")]
    assert run.main([*SMALL, *asked]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.skipif(not LLAMA_CPP, reason="no llama.cpp server is named by PARLEY_LLAMA_CPP")
def test_a_debate_through_llama_cpp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It tells likeliest tokens: every rating comes with its distribution."""
    asked = ["--llm", "openai:pocket", "--base-url", LLAMA_CPP, "--out", str(tmp_path / "run")]
    assert run.main([*SMALL, *asked]) == 0
    assert "likeliest tokens" in capsys.readouterr().out
    _whole(tmp_path / "run", "strict, logprobs")


def _whole(folder: Path, how: str) -> None:
    """Every reply is there, every rating was read in this way, and tokens were counted."""
    tables = load(folder)
    assert tables.finished
    assert tables.calls["failure"].isna().all()
    assert (tables.calls["prompt_tokens"] > 20).all()
    assert tables.utterances["text"].notna().all()
    assert set(tables.attitudes["how"]) == {how}
    assert tables.attitudes["rating"].between(0, 10).all()
