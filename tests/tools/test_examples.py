"""The recorded runs of real models: each record is what its replies give, no model asked, and no file names a machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from parley.analysis.card.derivation import derive_card
from parley.llm.errors import UserError
from parley.llm.journal import query, read_identity
from parley.model.example_runs import EXAMPLES, REPLIES, example_titles, restore_run
from parley.model.files import JOURNAL, RECORD
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from tools.examples import MACHINE, differing, keep_run, page

KEPT = sorted(path.parent for path in EXAMPLES.glob("*/README.md"))
LARGEST = 3 << 20
"""Bytes of a file: what is larger is cloned by all for the few who read it."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short run on the oracle, in a folder inside of another, as those of a study are."""
    folder = tmp_path_factory.mktemp("study")
    scenario = load_preset("two_way", {"topic": "racism", "repetitions": 1, "rounds": 1, "llm": "oracle"})
    run_scenario(RunSpec(scenario, folder / "arm"))
    return folder


def test_a_run_goes_to_text_and_back(finished: Path, tmp_path: Path) -> None:
    """Replies, keys and identity survive: what a model said is not lost with the form of a file."""
    keep_run(finished, tmp_path / "kept")
    assert not list((tmp_path / "kept").rglob(JOURNAL))
    restored = restore_run(tmp_path / "kept", tmp_path / "again")
    sql = "SELECT key, attempt, purpose, voice, failure, prompt_tokens, completion_tokens FROM outcomes ORDER BY key"
    assert query(restored / "arm" / JOURNAL, sql) == query(finished / "arm" / JOURNAL, sql) != []
    assert read_identity(restored / "arm" / JOURNAL) == read_identity(finished / "arm" / JOURNAL)
    assert (restored / "arm" / RECORD).read_bytes() == (finished / "arm" / RECORD).read_bytes()
    with pytest.raises(UserError, match="exists already"):
        restore_run(tmp_path / "kept", restored)


def test_a_changed_reply_and_a_changed_record_are_found(finished: Path, tmp_path: Path) -> None:
    """The check of the examples fails where it should: at the line of the record."""
    keep_run(finished, tmp_path / "kept")
    assert differing(tmp_path / "kept", tmp_path / "same") == []
    record = tmp_path / "kept" / "arm" / RECORD
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    record.write_text("".join([*lines[:4], lines[4].replace("}", ',"more":1}', 1), *lines[5:]]), encoding="utf-8")
    assert differing(tmp_path / "kept", tmp_path / "other") == ["arm, line 5"]


def test_a_page_says_who_spoke_and_names_no_machine(finished: Path) -> None:
    assert "- 7 calls" in page(finished, "Title", "python run.py")
    assert MACHINE.search("see /home/ann/models/a.gguf")
    assert MACHINE.search('"/tmp/x"')
    assert not MACHINE.search("and/or runs/tmp, models/a.gguf, https://example.org/tmp/a")


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_an_example_comes_out_of_its_replies(kept: Path, tmp_path: Path) -> None:
    """Every line of every record, byte for byte. A change of prompts, seeds or readers shows here first."""
    assert differing(kept, tmp_path / "run") == []


def test_examples_are_small_text_without_paths_of_a_machine() -> None:
    files = [path for path in EXAMPLES.rglob("*") if path.is_file()]
    assert [path.name for path in files if path.stat().st_size > LARGEST] == []
    assert [path.name for path in files if MACHINE.search(path.read_text(encoding="utf-8"))] == []
    assert all((record.parent / REPLIES).exists() for record in EXAMPLES.rglob(RECORD))


def test_the_page_lists_the_examples_that_are_one_run() -> None:
    assert all(re.search(r": \S+ \(.+ parameters\)$", title) for title in example_titles().values())
    assert set(example_titles()) == {folder.name for folder in KEPT if (folder / RECORD).exists()}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["card_qwen", "card_smollm2"])
def test_a_recorded_card_is_what_comes_out_of_its_records(name: str, tmp_path: Path) -> None:
    """No model is asked. The card of SmolLM2 warns that the phrases had under .1% of its probability, as summaries do."""
    assert [*derive_card(EXAMPLES / name, tmp_path)] == []
    page = (tmp_path / "card.md").read_bytes()
    assert page == (EXAMPLES / name / "card.md").read_bytes()
    assert (b"The allowed answers had only" in page) == (name == "card_smollm2")
