"""The list of results: one row a study with what came out, whatever runs are inside of it, and a study is deleted as a whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from parley.analysis.result_folders import inner_runs, is_whole, kind_of, list_results, read_headline
from parley.llm.errors import UserError
from parley.model.run_registry import RunRegistry
from parley.model.scenario_run import RunSpec, lock_folder, run_scenario

CARD = "# Bias card: oracle\n\n> Note\n\n## In short\n\n- **Where does the model lean?** To the \\*left\\*.\n- **How?** Not.\n"
CLAIM = "# A claim\n\n“Rooms agree.”\n\n**Whether it holds is unknown: 1 group.**\n\n- On average.\n"
SWEEP = "# Sweep of two_way\n\n> A note.\n\n![Change](a.png)\n\n4 cells.\n\n## What each field does\n\nEffects.\n"
COMPARED = (
    "<html><title>a &amp; b</title><main><ul><li><strong>No <em>difference</em>.</strong></li></ul><p>Named.</p></main>"
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small finished run."""
    from parley.model.scenario import load_preset

    settings = {"topic": "racism", "repetitions": 1, "rounds": 1, "llm": "oracle"}
    folder = tmp_path_factory.mktemp("made") / "run"
    run_scenario(RunSpec(load_preset("two_way").with_settings(settings), folder, tuple(settings)))
    return folder


@pytest.fixture
def root(tmp_path: Path, run: Path) -> Path:
    """A folder of runs as the commands leave it: a run, two bias cards, a claim, a sweep, a comparison, and notes of the user."""
    runs = tmp_path / "runs"
    written = {
        "card-a": {"card.json": "{}", "audit.json": "{}", "card.md": CARD, "card.html": "<main></main>"},
        "card-b": {"audit.json": "{}"},
        "claim": {"claim.json": "{}", "sweep.json": "{}", "claim.md": CLAIM, "claim.html": "<main></main>"},
        "group/sweep": {"sweep.json": "{}", "summary.md": SWEEP},
        "compared": {"compare.html": COMPARED, "compare.csv": ""},
        "bets": {"bets.md": "# Bets\n\n## In short\n\nThey bet.\n", "bets.csv": ""},
        "thesis": {"README.md": "# Mine", "notes.md": "# Notes"},
    }
    for folder, files in written.items():
        for inner in ("batch-1/three", "batch-1/two"):
            shutil.copytree(run, runs / folder / inner)
        for name, text in files.items():
            (runs / folder / name).write_text(text, encoding="utf-8")
    shutil.copytree(run, runs / "alone")
    return runs


def test_a_study_is_one_row_with_what_came_out(root: Path) -> None:
    """After two audits, 36 of 41 rows were their inner conditions, and the cards were nowhere."""
    listing = list_results(root)
    rows = {
        str(row.folder.relative_to(root)): (row.kind.noun, row.title, row.sentence, row.state)
        for row in listing.studies
    }
    assert rows == {
        "card-a": ("bias card", "Bias card: oracle", "Where does the model lean? To the *left*.", "done"),
        "card-b": ("bias card", "Bias card card-b", "", "unfinished"),
        "claim": ("claim", "A claim", "“Rooms agree.” Whether it holds is unknown: 1 group.", "done"),
        "group/sweep": ("sweep", "Sweep of two_way", "4 cells.", "done"),
        "compared": ("comparison", "a & b", "No difference.", "done"),
        "bets": ("study", "Bets", "They bet.", "done"),
    }
    listed = {str(row.folder.relative_to(root)) for row in listing.runs}
    assert listed == {"alone", "thesis/batch-1/three", "thesis/batch-1/two"}
    assert listing.unread == []


def test_the_runs_of_a_study_are_found_from_its_row(root: Path) -> None:
    found = [str(row.folder.relative_to(root)) for row in inner_runs(root / "card-b").rows]
    assert found == ["card-b/batch-1/three", "card-b/batch-1/two"]
    assert kind_of(root / "alone") is None


def test_a_study_is_deleted_as_a_whole_and_its_conditions_are_not(root: Path) -> None:
    """One click on an inner condition destroyed an audit."""
    registry = RunRegistry(root, whole=lambda folder: is_whole(folder, root))
    for folder in ("card-a/batch-1/three", "card-a/batch-1", "thesis", "", "nothing"):
        with pytest.raises(UserError, match="was not deleted"):
            registry.delete(root / folder)
    with lock_folder(root / "card-b" / "batch-1" / "three"), pytest.raises(UserError, match="another process"):
        registry.delete(root / "card-b")
    for folder in ("card-a", "card-b", "alone", "thesis/batch-1/two"):
        registry.delete(root / folder)
        assert not (root / folder).exists()
    assert (root / "thesis" / "batch-1" / "three").is_dir()


def test_a_report_of_a_stranger_is_a_short_plain_text(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_text(f"# <script>alert(1)</script>\n\n## In short\n\n- {'a' * 9}{' b' * 9_000}\n", encoding="utf-8")
    title, sentence = read_headline(page)
    assert title == "<script>alert(1)</script>"
    assert len(sentence) <= 280


def test_a_long_first_sentence_is_shown_whole(tmp_path: Path) -> None:
    """The verdict on a model has its figures in brackets, and was cut within them."""
    sentence = f"The ratings follow a position ({'60 pairs of people, ' * 15}by chance 50% (P < 0.001))."
    (tmp_path / "qualify.md").write_text(f"# Can it play?\n\n{sentence} Whether it plays a party is not tested.\n")
    assert read_headline(tmp_path / "qualify.md")[1] == sentence


def test_a_changed_report_is_read_anew(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    for number, text in enumerate(("One.", "Two.")):
        page.write_text(f"# T\n\n## In short\n\n- {text}\n", encoding="utf-8")
        os.utime(page, (number, number))
        assert read_headline(page) == ("T", text)


def test_a_population_is_a_field_of_people_by_step_and_opinion(tmp_path: Path) -> None:
    """Of a million people, the page gets 50 numbers a step; a damaged table of a stranger gives none."""
    pytest.importorskip("solara", reason="the [app] extra is not installed")
    import json

    from parley.analysis.views._population import field_of

    (tmp_path / "tables").mkdir()
    rows = ["step,low,high,people", *(f"{step},{low},{low + 5},{step + low}" for step in (0, 1) for low in (0, 5))]
    for text, expected in (
        ("\n".join(rows), {"steps": [0, 1], "edges": [0, 5, 10], "people": [[0, 5], [1, 6]]}),
        ("a,b\n1,2\n", None),
        ("", None),
    ):
        (tmp_path / "tables" / "distribution.csv").write_text(text)
        field_of.cache_clear()
        assert (json.loads(field) if (field := field_of(tmp_path, 0)) else None) == expected
