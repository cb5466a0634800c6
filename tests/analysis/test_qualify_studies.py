"""Commands that run several conditions check a new model once, and ask all conditions in the way that serves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_claims import written_small

import run
from parley.analysis.qualify.kept import FILE, Qualification
from parley.analysis.qualify.verdict import FOLLOWS, IGNORES, WayVerdict
from parley.analysis.tables import load
from parley.llm.journal import usage_of_journal
from parley.model.files import JOURNAL

DEAF = WayVerdict("numbers", IGNORES, 32, 0, 48, 0.5, ends=0.2, p=0.5)
STRONG = WayVerdict("phrases", FOLLOWS, 32, 0, 48, 1.0, ends=7.0, p=0.001)


def intervene(model: str, out: Path, *more: str) -> int:
    design = ["--scenario", "intervention", "--topic", "racism", "--repetitions", "2", "--rounds", "4"]
    return run.main(["study", "intervene", *design, "--llm", model, "--out", str(out), *more])


def ways(folder: Path) -> list[str]:
    """How each condition of a study was asked."""
    return [load(path.parent).header.scenario["asked"] for path in sorted(folder.glob("*/record.jsonl"))]


@pytest.mark.thorough
def test_all_conditions_are_asked_in_the_way_that_serves_the_model(new_model: str, tmp_path: Path) -> None:
    """Commands with several conditions asked SmolLM2 in numbers, though its answers follow the persona in phrases alone."""
    Qualification((DEAF, STRONG), 2, short=True).write(tmp_path / "a" / "without" / FILE)
    assert intervene(new_model, tmp_path / "a") == 0
    assert set(ways(tmp_path / "a")) == {"phrases"}
    assert len(ways(tmp_path / "a")) >= 2
    assert intervene(new_model, tmp_path / "a") == 0  # a repeated command finds its runs
    assert intervene(new_model, tmp_path / "b", "--no-qualify") == 0
    assert set(ways(tmp_path / "b")) == {"numbers"}


@pytest.mark.thorough
def test_a_study_asks_the_questions_once(new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first condition asks 84 questions, the next ones find the result; the report begins with the verdict."""
    assert intervene(new_model, tmp_path / "a") == 0
    assert capsys.readouterr().out.count("this model was not checked before") == 1
    assert usage_of_journal(tmp_path / "a" / "without" / "qualify" / JOURNAL)[0] == 84
    page = (tmp_path / "a" / "intervention.md").read_text(encoding="utf-8")
    assert "The ratings of this model follow the positions that personas state" in page.split("##")[0]


@pytest.mark.thorough
def test_the_verdict_on_a_claim_is_withheld_where_the_model_plays_no_people(
    new_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`claim` checked no model, and said that a claim about opinions holds of a model whose ratings ignore who it plays."""
    path = written_small(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"oracle"', f'"{new_model}"'), encoding="utf-8")
    out = tmp_path / "out"
    Qualification((DEAF, STRONG), 2, short=True).write(out / "qualify" / "0" / FILE)
    command = ["study", "claim", str(path), "--trust", str(tmp_path / "new.py"), "--repetitions", "1", "--workers", "1"]
    assert run.main([*command, "--out", str(out)]) == 0
    assert "Parley does not say whether the claim holds" in capsys.readouterr().out
    assert "**Parley does not say whether the claim holds" in (out / "claim.md").read_text(encoding="utf-8")
    assert run.main([*command, "--out", str(tmp_path / "b"), "--no-qualify"]) == 0
    assert "Parley withholds" not in capsys.readouterr().out
