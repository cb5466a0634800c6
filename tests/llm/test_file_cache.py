"""A notebook or the page reads a file, the user edits it, and the next run has what it says now."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from parley.agents.persona import load_personas, persona_set
from parley.agents.society import load_society
from parley.agents.topic import load_topic
from parley.llm.file_cache import SHIPPED, read_once

ANN = '[[persona]]\nname = "Ann"\nbackstory = "You"\n'
US = SHIPPED[0] / "societies" / "us"


@pytest.mark.parametrize("told", [ANN.replace("Ann", "Bob"), ANN.replace("Ann", "Barbara")])
def test_an_edited_file_is_read_again(tmp_path: Path, told: str) -> None:
    (tmp_path / "green.toml").write_text(ANN)
    first = load_personas("green", tmp_path)
    assert load_personas("green", tmp_path) is first
    (tmp_path / "new.toml").write_text(told)
    (tmp_path / "new.toml").replace(tmp_path / "green.toml")
    assert load_personas("green", tmp_path)[0].name != "Ann"


def test_a_relative_path_is_another_file_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test's people debated in the next one, under a model of theirs."""
    for name in ("Ann", "Bob"):
        folder = tmp_path / name
        (folder / "people").mkdir(parents=True)
        (folder / "people" / "green.toml").write_text(ANN.replace("Ann", name))
        monkeypatch.chdir(folder)
        assert load_personas("green", persona_set("./people"))[0].name == name


def test_what_hangs_on_a_society_is_read_again_with_it(tmp_path: Path) -> None:
    """A topic of one's own society knows the society; people are made up of its files."""
    home = tmp_path / "land"
    shutil.copytree(US, home)
    topic = str(home / "topics" / "racism.toml")
    before = load_topic(topic)
    file = home / "society.toml"
    file.write_text(file.read_text().replace('demonym = "American"', 'demonym = "Lander"'))
    assert load_society(str(home)).demonym == load_topic(topic).society.demonym == "Lander"
    assert load_topic(topic) is not before


def test_what_parley_ships_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of calls a run: no file of ours is asked for its time."""
    calls: list[Path] = []
    read = read_once(lambda path: path)(lambda path: calls.append(path))
    read(US / "society.toml")
    monkeypatch.setattr(Path, "stat", None)
    read(US / "society.toml")
    assert len(calls) == 1
