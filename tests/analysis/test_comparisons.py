"""Cards and runs side by side in Python: the pages of the commands, as an object."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import parley
import run as command_line

SMALL: dict[str, Any] = {"llm": "oracle", "topic": "racism", "rounds": 1, "progress": False}
CARD: dict[str, Any] = {"topic": "racism", "blocks": 2, "sections": ["bias"], "rounds": 1}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[parley.Run]:
    home = tmp_path_factory.mktemp("runs")
    return [
        parley.run("two_way", out=home / "a", repetitions=2, **SMALL),
        parley.run("two_way", out=home / "b", repetitions=2, words=30, **SMALL),
        parley.run("two_way", out=home / "c" / "a", repetitions=2, seed=3, **SMALL),
    ]


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> list[parley.AuditCard]:
    home = tmp_path_factory.mktemp("cards")
    return [parley.audit("oracle", out=home / "a", **CARD), parley.audit("oracle,kappa=0", out=home / "b", **CARD)]


@pytest.mark.thorough
def test_two_runs(runs: list[parley.Run], tmp_path: Path) -> None:
    found = parley.compare(runs[0], str(runs[1].folder))
    assert found.names == ["words=60", "words=30"], "what differs, not the letters of folders"
    assert set(found.table["run"]) == set(found.names)
    assert set(found.table["n"]) == {2}
    assert list(found.differences.loc["words"]) == ["60", "30"]
    assert isinstance(found.plot(), Figure)
    assert found.sentences[0].startswith("No difference between words=60 and words=30 can be shown with 2 paired rooms")
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert page.index("can be shown with 2 paired rooms") < page.index("<img") < page.index("<td>words</td>")
    assert repr(found) == "<Comparison of words=60, words=30>"
    assert "2 rows" not in found._repr_html_()


@pytest.mark.thorough
def test_three_runs_have_a_table_and_a_page(runs: list[parley.Run]) -> None:
    """A setting that differs in one run alone is there for all; runs of one name are told apart."""
    found = parley.compare(*runs)
    assert found.names == ["a 1", "b", "a 2"]
    assert list(found.differences.loc["words"]) == ["60", "30", "60"]
    assert list(found.differences.loc["seed"]) == ["0", "0", "3"]
    assert set(found.table.dropna(subset=["how"]).groupby("run")["how"].first().items()) == {
        ("b", "paired"),
        ("a 2", "unpaired"),
    }
    assert isinstance(found.plot(), Figure)
    assert len(found.sentences) == 2


def test_one_room_has_no_error_bar(runs: list[parley.Run], tmp_path: Path) -> None:
    """Missing, not zero: a mean of one room has no standard error."""
    alone = parley.run("two_way", out=tmp_path / "one", repetitions=1, **SMALL)
    found = parley.compare(runs[0], alone)
    assert found.table.loc[found.table["run"] == "one", "se"].isna().all()
    assert isinstance(found.plot(), Figure)


def test_the_command_takes_runs_and_records(
    runs: list[parley.Run], tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """`run.py compare RUN RUN` is parley.compare: a folder or its record, the same page and the sentence on the terminal."""
    words = ["compare", str(runs[0].folder), str(runs[1].folder / "record.jsonl"), "--out", str(tmp_path / "c")]
    assert command_line.main(words) == 0
    assert "No difference between words=60 and words=30 can be shown with 2 paired rooms" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "c").iterdir()} == {
        "compare.html", "compare.csv", "compare.parquet", "compare.png", "compare.svg", "compare.txt",
        "missing.csv", "missing.parquet",
    }  # fmt: skip


@pytest.mark.thorough
def test_a_report_of_two_runs_opens_with_their_comparison(runs: list[parley.Run], tmp_path: Path) -> None:
    """What differs comes before the pages of each run, and the file needs no other one."""
    out = tmp_path / "both.html"
    assert command_line.main(["report", *(str(run.folder) for run in runs[:2]), "--out", str(out)]) == 0
    page = out.read_text(encoding="utf-8")
    parts = "can be shown with 2 paired rooms", "What was set differently</h2>", 'id="run1-summary-title"'
    assert sorted(parts, key=page.index) == list(parts)
    assert [path.name for path in tmp_path.iterdir()] == ["both.html"]


@pytest.mark.thorough
def test_cards_are_those_of_the_command(cards: list[parley.AuditCard], tmp_path: Path) -> None:
    """The same page, and with two blocks each no difference has an interval: no verdict."""
    found = parley.compare(*cards)
    words = ["compare", *(str(card.folder) for card in cards), "--out", str(tmp_path / "b")]
    assert command_line.main(words) == 0
    page = found.report(tmp_path / "a")
    assert page.read_bytes() == (tmp_path / "b" / "compare.html").read_bytes()
    claims = cards[0].claims
    of_blocks = found.table[found.table["quantity"].isin(claims.loc[claims["unit"] == "block", "quantity"])]
    assert len(of_blocks)
    assert of_blocks[["difference_low", "difference_high"]].isna().all(axis=None)
    assert found.differences.empty, "only the model differs"
    assert isinstance(found.plot(), Figure)


@pytest.mark.thorough
def test_what_cannot_be_compared_is_told(runs: list[parley.Run], cards: list[parley.AuditCard], tmp_path: Path) -> None:
    with pytest.raises(parley.UserError, match="a comparison needs at least two runs or two cards"):
        parley.compare(runs[0])
    with pytest.raises(parley.UserError, match=r"is a run and .* is a bias card, which cannot be compared"):
        parley.compare(runs[0], cards[0])
    with pytest.raises(parley.UserError, match="cannot read the record"):
        parley.compare(runs[0], tmp_path)
    with pytest.raises(parley.UserError, match=r"open it with parley\.AuditCard"):
        parley.load(cards[0].folder)
    other = parley.run("two_way", out=tmp_path / "o", repetitions=1, **{**SMALL, "topic": "abortion"})
    with pytest.raises(parley.UserError, match="have no topic and group in common"):
        parley.compare(runs[0], other).plot()
