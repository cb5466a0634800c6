"""docs/tutorial.md as it is printed: every command in its order, every number beside what comes out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import run

pytestmark = pytest.mark.thorough

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(sh|text|text summary)\n(.*?)^```", PAGE, re.M | re.S)
TIME = re.compile(r" in [\d.,]+ s \([\d.,]+ a second\)$")


def lines(text: str) -> list[str]:
    """Without what differs from machine to machine."""
    return [TIME.sub("", line.rstrip()) for line in text.splitlines() if line.strip()]


def test_the_tutorial_is_what_comes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever sees other numbers than the page shows on the first day believes none on the second."""
    monkeypatch.chdir(tmp_path)
    shown, folder = "", Path()
    for kind, text in BLOCKS:
        if kind == "sh":
            for words in (shlex.split(line) for line in text.splitlines() if line.startswith("python run.py")):
                assert run.main(words[2:]) == 0
                folder = Path(words[words.index("--out") + 1]) if "--out" in words else folder
            shown = capsys.readouterr().out
        else:
            found = (folder / "summary.md").read_text(encoding="utf-8") if "summary" in kind else shown
            assert [line for line in lines(text) if line not in lines(found)] == []


def test_the_commands_go_to_the_model_in_the_box_as_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command that names a speaker takes each that the last section names in its place."""
    monkeypatch.chdir(tmp_path)
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| the model in the box")]
    speakers = re.findall(r"`--llm (\S+)`", row)
    assert speakers == ["pocket", "pocket:control"]
    for words in map(shlex.split, re.findall(r"^python run\.py (.* --llm .*)$", PAGE, re.M)):
        for speaker in speakers:
            words[words.index("--llm") + 1] = speaker
            assert run.main([*words, "--dry-run"]) == 0, capsys.readouterr().err


def test_it_shows_numbers() -> None:
    assert sum(kind != "sh" for kind, _ in BLOCKS) >= 5
