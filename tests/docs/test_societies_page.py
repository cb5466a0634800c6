"""The country of docs/societies.md: what the page prints is a society without a fault, and shows what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented import printed_files

import run
from parley.agents.society_check import check_path, derived_parts

THIRD = "rivermark/parties/lake.toml"
REPLACED = ("parties/left.toml", "parties/right.toml", "topics/library.toml", "oracle/topics/library.toml")


def test_the_country_of_the_page_works_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files as printed in the place of the skeleton's; then one more party in one more file."""
    monkeypatch.chdir(tmp_path)
    assert run.main(["new", "society", "./rivermark"]) == 0
    for name in REPLACED:
        Path("rivermark", name).unlink()
    files = printed_files("societies.md")
    for path, text in files.items():
        if path != THIRD:
            Path(path).write_text(text, encoding="utf-8")
    folder = str(tmp_path / "rivermark")  # by a path that no other test has, because a society is read once
    assert check_path(folder) == []
    assert derived_parts(folder) == []
    words = ["--society", folder, "--scenario", "three_way", "--llm", "oracle", "--repetitions", "5"]
    assert run.main([*words, "--out", "runs/rivermark"]) == 0
    assert "missing  0 of 90 ratings, 0 of 75 replies" in capsys.readouterr().out


def test_a_third_party_of_the_page_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check says where its people begin, and they debate."""
    monkeypatch.chdir(tmp_path)
    assert run.main(["new", "society", "./rivermark"]) == 0
    for name in REPLACED:
        Path("rivermark", name).unlink()
    for path, text in printed_files("societies.md").items():
        Path(path).write_text(text, encoding="utf-8")
    folder = str(tmp_path / "rivermark")
    assert check_path(folder) == []
    assert "parties/lake.toml: no oracle.start for tram, so its people begin at 4.9 (from its side)" in derived_parts(
        folder
    )
    seats = ["--set", "seats=river,hill,lake,default"]
    words = ["--society", folder, "--scenario", "three_way", *seats, "--llm", "oracle", "--repetitions", "2"]
    assert run.main([*words, "--out", "runs/lake"]) == 0
