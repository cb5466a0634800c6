"""docs/files.md: the preset that is refused there is refused in these words, and runs once the command says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import run

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "files.md").read_text(encoding="utf-8")
WHISPERS = r"^```python\n# environments/whispers\.py\n(.*?)^```"
PRESET = re.search(r"^```toml\n(.*?)^```", PAGE.split("Suppose `lab.toml`")[1], re.M | re.S)
COMMAND = ["--scenario", "lab.toml"]


def test_the_printed_preset_is_refused_and_then_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whispers = re.search(WHISPERS, (DOCS / "extending.md").read_text(encoding="utf-8"), re.M | re.S)
    assert PRESET is not None
    assert whispers is not None
    (tmp_path / "lab.toml").write_text(PRESET[1], encoding="utf-8")
    (tmp_path / "whispers.py").write_text(whispers[1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAB_KEY", "sk-CANARY")
    assert run.main(COMMAND) == 2
    printed = PAGE.split("prints the option that allows it:\n\n```\n")[1].split("\n```")[0]
    said = capsys.readouterr().err.strip()
    assert said == printed.replace("/home/ann", str(tmp_path))
    option = [f"--trust={word}" for word in ("./whispers.py", "LAB_KEY@lab.example")]
    assert run.main([*COMMAND, *option, "--dry-run"]) == 0
    assert "lab.example gets the key in LAB_KEY" in capsys.readouterr().out
