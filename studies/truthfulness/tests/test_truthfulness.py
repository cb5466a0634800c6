"""Seven dimensions of truthfulness: measures by hand, a planted crowd, nulls, and files that cannot be read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_checks import check_each

import run
from parley.analysis.journaled_calls import CallDesk
from parley.llm.errors import UserError
from parley.studies.truthfulness.measures import (
    ASPECTS,
    Statement,
    TruthfulnessStudy,
    added,
    alpha,
    cube_of,
    measure,
    rank_correlation,
    read_statements,
)
from parley.studies.truthfulness.oracle import CrowdLaw
from parley.studies.truthfulness.report import findings

NAN = np.nan


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager[Callable[[int], object]]:
    return contextlib.nullcontext(lambda done: None)


def measured(folder: Path, llm: str, labelled: bool = True, size: int = 30) -> Any:
    """Return the measures of a crowd on statements whose labels are the planted truth."""
    folder.mkdir()
    texts = [f"The town of Lindmoor has {number} trees." for number in range(size)]
    statements = tuple(Statement(text, "", CrowdLaw().level(text, "overall") if labelled else None) for text in texts)
    ratings = TruthfulnessStudy(statements, llm, "us/voters", 12).run(CallDesk(folder, quiet))
    labels = np.array([one.label for one in statements], dtype=float)
    return measure(cube_of(ratings), labels, np.random.default_rng(0)).set_index("aspect")


def test_alpha_and_rho_by_hand() -> None:
    """Krippendorff's own example of interval data: alpha is .849. Rho of a reversed order is -1, without an interval."""
    raters = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
    assert alpha(np.array(raters, dtype=float).T)[0] == pytest.approx(0.849, abs=0.001)
    rho, low, _ = rank_correlation(np.arange(6.0), -np.arange(6.0))
    assert rho == pytest.approx(-1)
    assert np.isnan(low)


def test_few_statements_are_named_as_the_reason() -> None:
    """Alpha needs ten statements: over eight the sentence says that they are too few, not that nothing varies."""
    rng = np.random.default_rng(0)
    cube = rng.integers(1, 8, size=(len(ASPECTS), 8, 6)).astype(float)
    lines = findings(measure(cube, np.full(8, NAN), rng), np.full(8, NAN), 6)
    assert "because there are fewer than 10 statements; it is" in lines[0]


def test_a_planted_crowd_is_found(tmp_path: Path) -> None:
    """Half of the variance of ratings is shared, and .4 of a dimension is its own: they are found; experts agree."""
    found = measured(tmp_path / "a", "oracle,distinct=0.4")
    assert found["alpha"].mean() == pytest.approx(0.5, abs=0.12)
    assert found["added"].mean() == pytest.approx(0.4, abs=0.12)
    assert (found["added_low"].dropna() > 0).sum() >= 5
    assert found.loc["overall", "expert"] > 0.9
    assert (found["alpha"] > found["alpha_null"]).all()


def test_nothing_planted_nothing_found(tmp_path: Path) -> None:
    """Dimensions that are overall truthfulness with noise add nothing; a crowd that shares nothing neither agrees nor knows."""
    same = measured(tmp_path / "a", "oracle,distinct=0", size=20)
    assert (same["added_low"].dropna() > 0).sum() <= 1
    noise = measured(tmp_path / "b", "oracle,agree=0", size=20)
    assert (noise["alpha"].abs() > noise["alpha_null"]).sum() <= 2
    assert (noise["expert"].abs() > noise["expert_null"]).sum() <= 2


def test_missing_ratings_and_few_statements_have_no_verdict() -> None:
    """With three statements, or without a single rating, every sentence says that the result is unknown."""
    for cube in (np.random.default_rng(1).normal(size=(8, 3, 4)), np.full((8, 6, 4), NAN)):
        labels = np.arange(float(cube.shape[1]))
        table = measure(cube, labels, np.random.default_rng(0))
        assert all("unknown" in line for line in findings(table, labels, cube.shape[2]))
        assert set(table["statements"]) == {3 if np.isfinite(cube).any() else 0}, "the unit of the intervals, counted"
    assert np.isnan(added(np.zeros((8, 6, 4)), 1)[0])
    assert len(ASPECTS) == 8


ROWS = "statement,speaker,label\nIt rains.,Ann,5\nIt snows.,,0\n"


@check_each(
    "text, said",
    [
        (ROWS.replace("speaker", "who"), "lacks the column speaker"),
        (ROWS.replace("It snows.", ""), "row 3: the statement is empty"),
        (ROWS.replace(",0", ",false"), "row 3: label must be a number"),
        (ROWS.replace("snows", "rains"), "only once"),
    ],
)
def test_wrong_files_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    """Each mistake in a file of statements says what to do."""
    path = tmp_path / "statements.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=said):
        read_statements(path)


def test_the_command_resumes_with_the_same_bytes(tmp_path: Path) -> None:
    """Twice the same command in German: the same tables and page, no missing rating."""
    path, out = tmp_path / "statements.csv", tmp_path / "out"
    path.write_text(ROWS, encoding="utf-8")
    words = [
        "study",
        "truthfulness",
        str(path),
        "--society",
        "germany",
        "--llm",
        "oracle",
        "--crowd",
        "5",
        "--out",
        str(out),
    ]
    assert run.main(words) == 0
    first = {name: (out / name).read_bytes() for name in ("ratings.csv", "truthfulness.md")}
    assert run.main(words) == 0
    assert {name: (out / name).read_bytes() for name in first} == first
    assert b"0 of 80 ratings are missing" in first["truthfulness.md"]


def test_intervals_end_at_one_and_a_perfect_order_is_no_missing_variation() -> None:
    """No alpha is above 1, so no interval is. Mean ratings in the order of the experts are said to be so; one is no crowd."""
    levels = np.arange(6.0)[:, None] + np.random.default_rng(2).normal(0, 0.8, (8, 6, 3))
    table = measure(levels, np.arange(6.0), np.random.default_rng(0))
    assert table[["alpha_high", "added_high"]].max(axis=None) <= 1
    lines = findings(table.assign(expert=1.0, expert_low=NAN, expert_high=NAN, expert_null=0.8), np.arange(6.0), 3)
    assert "the order is the same as that of the experts" in lines[1]
    alone = findings(measure(levels[:, :, :1], np.full(6, NAN), np.random.default_rng(0)), np.full(6, NAN), 1)
    assert [line.split("because ")[1] for line in alone] == [
        "one person is no crowd.", "the file has no labels.", "one person is no crowd.",
    ]  # fmt: skip
