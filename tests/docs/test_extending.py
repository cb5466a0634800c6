"""docs/extending.md as it is printed: its files are written, its commands run, environment and backend sit their exams."""

from __future__ import annotations

import doctest
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import parley.analysis.metrics
import parley.environments
import parley.llm.backends
import parley.model.scenario
import run
from parley.testing import check_backend, check_environment

ROOT = Path(__file__).parents[2]
PAGE, _ = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").split("\n## Your own study\n")
FILES = dict(re.findall(r"^```\w+\n# (\S+\.(?:py|toml))\n(.*?)^```", PAGE, re.M | re.S))
HERE, ELSEWHERE = [
    re.findall(r"^python run\.py (.*)$", part, re.M) for part in PAGE.split("\n## In a file or a package of your own\n")
]
PACKAGES: dict[str, ModuleType] = {
    "environments": parley.environments,
    "llm/backends": parley.llm.backends,
    "analysis/metrics": parley.analysis.metrics,
}


@pytest.fixture
def plugged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the page in a folder of their own, which the registries look into as well as into the checkout."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    for preset in parley.model.scenario.PRESETS.glob("*.toml"):
        (tmp_path / "model" / "scenarios" / preset.name).write_bytes(preset.read_bytes())
    for folder, package in PACKAGES.items():
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path / folder)])
    monkeypatch.setattr(parley.model.scenario, "PRESETS", tmp_path / "model" / "scenarios")
    monkeypatch.chdir(tmp_path)
    importlib.invalidate_caches()
    yield tmp_path
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py").replace("/", "."), None)


def test_the_page_has_four_files_and_a_command_for_each() -> None:
    assert [Path(name).parent.name for name in FILES] == ["scenarios", "environments", "backends", "metrics"]
    assert len(HERE) == len(FILES)
    assert len(ELSEWHERE) == 2


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the page in the folder in which somebody works, and nowhere else."""
    for name, text in FILES.items():
        (tmp_path / Path(name).name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ELSEWHERE)
def test_a_file_may_lie_anywhere(command: str, beside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main([*shlex.split(command), "--repetitions", "2", "--rounds", "1"]) == 0, capsys.readouterr().err


def test_the_exams_of_the_page(beside: Path) -> None:
    code = re.findall(r"^```python\n(from parley\.testing .*?)^```", PAGE, re.M | re.S)
    assert len(code) == 1
    exec(compile(code[0], "docs/extending.md", "exec"), {})


@pytest.mark.thorough
@pytest.mark.parametrize("command", HERE)
def test_a_command_of_the_page_works(command: str, plugged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With fewer rooms. These are the commands by which somebody learns whether the file is right."""
    assert run.main([*shlex.split(command), "--repetitions", "4", "--rounds", "1"]) == 0, capsys.readouterr().err


def test_the_environment_passes_its_exam(plugged: Path) -> None:
    check_environment("whispers")


def test_the_backend_passes_its_exam(plugged: Path) -> None:
    check_backend("coin")


def test_the_metric_is_in_tables_and_summary(plugged: Path) -> None:
    """Its docstring's example, too."""
    found = importlib.import_module("parley.analysis.metrics.agreed")
    assert doctest.testmod(found).failed == 0
    assert run.main([*shlex.split(HERE[-1]), "--repetitions", "3", "--rounds", "1"]) == 0
    assert pd.read_csv("runs/agreed/tables/agreed.csv")["agreed"].between(0, 1).all()
    assert found.TITLE in Path("runs/agreed/summary.md").read_text(encoding="utf-8")
