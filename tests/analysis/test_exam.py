"""The exam of every statistic (benchmarks/exam.py): each statistic of the product has an entry, and each entry draws data."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from exam import examine, sit_exam
from examined import ENTRIES
from examined.columns import CHECKED, calls_without_bounds, columns_of_product, registered
from examined.entry import Entry, outside
from examined.page import power
from examined.product import ELSEWHERE, statistics_of_product, without_exam
from scipy.stats import binom

from parley.analysis.metrics import METRICS
from parley.analysis.statistics.intervals import FEWEST, mean_interval, share_interval

EXAMINED = {name for entry in ENTRIES for name in entry.examines}
FAST = [entry for entry in ENTRIES if "law" not in entry.name and "scores:" not in entry.name]


def test_every_statistic_of_the_product_has_an_exam() -> None:
    """A new function that makes an interval or a p needs an entry in benchmarks/examined/, or a line in ELSEWHERE that says
    why."""
    assert without_exam(EXAMINED) == []
    assert without_exam(EXAMINED - {"analysis.statistics.intervals.share_interval"}) == [
        "analysis.statistics.intervals.share_interval"
    ]


@pytest.mark.thorough
def test_the_registry_names_functions_that_exist() -> None:
    """A function that is renamed takes its entry with it."""
    for name in EXAMINED:
        file, _, function = name.rpartition(".")
        assert hasattr(importlib.import_module(f"parley.{file}"), function), name
    assert set(ELSEWHERE) <= set(statistics_of_product())
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


def test_every_printed_column_names_its_unit_and_its_exam() -> None:
    """A column with an interval or a P has a row in benchmarks/examined/columns.csv, which says what stands for it; a statistic
    that is right for one unit proves nothing of a column that takes another."""
    columns = registered()
    assert {(row.report, row.column) for row in columns} == columns_of_product(), (
        "cd benchmarks && python -m examined.columns"
    )
    assert len(columns) == len({(row.report, row.column) for row in columns})
    names = {entry.name for entry in ENTRIES}
    assert [
        row for row in columns if row.exam not in names and not row.exam.startswith(("elsewhere: ", "no claim: "))
    ] == []
    assert {row.rows for row in columns} <= {"one", *CHECKED}


def test_columns_are_examined_on_rows_that_depend_as_theirs_do() -> None:
    """AUC within a question took questions as independent though the same people answer all: its function, a mean, was examined,
    but not on crossed rows."""
    kinds = {entry.name: entry.kinds for entry in ENTRIES}
    depend = [row for row in registered() if row.rows in CHECKED and row.exam in kinds]
    assert len(depend) > 50
    assert [row for row in depend if row.rows not in kinds[row.exam]] == []


def test_no_interval_leaves_the_scale_of_its_column() -> None:
    """Means of shares, counts and ratings had Student's interval, which goes below 0 and above the end (audience of cascades,
    other parties heard, right choices, believers): a column that is `bounded` gives its bounds to its interval."""
    bounded = {(row.report, row.column) for row in registered() if row.scale == "bounded"}
    assert {row.scale for row in registered()} == {"bounded", "free"}
    assert bounded & calls_without_bounds() == set()
    for report, column in bounded:
        metric = METRICS.find(report[6:]) if report.startswith("table ") else None
        if metric is not None and hasattr(metric, "room_means"):
            assert column in metric.BOUNDS, (report, column)


def test_a_column_that_ends_nowhere_is_a_difference() -> None:
    """The names of the columns without bounds say that they are differences, gaps, changes, slopes or numbers of a model."""
    free = [row for row in registered() if row.scale == "free" and row.report.startswith("table ")]
    assert [
        row for row in free if row.column in ("share", "right", "distinct", "believers", "entropy", "variance")
    ] == [row for row in free if row.report == "table recommender_effect" and row.column == "variance"]


def test_a_new_column_is_seen(tmp_path: Path) -> None:
    """A report that calls a shared interval under a new name, and a table with a new interval, are columns without a row."""
    (tmp_path / "analysis" / "schemas").mkdir(parents=True)
    (tmp_path / "analysis" / "statistics").mkdir()
    table = {"$defs": {"mood": {"properties": {"joy": {}, "joy_low": {}, "rooms": {}, "p": {}}}}}
    (tmp_path / "analysis" / "schemas" / "tables-1.schema.json").write_text(json.dumps(table))
    (tmp_path / "analysis" / "statistics" / "intervals.py").write_text("def mean_interval(values) -> Ends: ...")
    (tmp_path / "analysis" / "report.py").write_text(
        "from parley.analysis.statistics.intervals import mean_interval\n"
        "def write(values):\n    counts = len(values)\n    return {'within': mean_interval(values), 'rooms': counts}\n"
    )
    assert columns_of_product(tmp_path) == {("table mood", "joy"), ("table mood", "p"), ("report", "within")}


def test_the_page_says_how_often_a_wrong_statistic_would_be_seen() -> None:
    """Of 100 results, 12 misses are called too often (11 have an interval from 6.3%): at a true rate of 10% that is 1 - F(11)."""
    counted = pd.DataFrame({"known": [100, 100]})
    assert share_interval(11, 100)[0] < 0.065 < share_interval(12, 100)[0]
    assert power(counted, 0.1) == pytest.approx(1 - binom.cdf(11, 100, 0.1))


@check_each("name", [entry.name for entry in FAST])
def test_every_entry_draws_data_and_says_nothing_of_three_units(name: str) -> None:
    """An outcome is None (unknown), 0 or 1. Below five units nothing is said, but of nine answers in three cells, of six
    rooms, and of three raters of 30 items."""
    entry = next(entry for entry in ENTRIES if entry.name == name)
    few = entry.draw(np.random.default_rng(1), 3, entry.kinds[0])
    assert few in (None, 0.0, 1.0)
    if entry.sizes[0] < FEWEST and not any(
        word in name for word in ("spread of answers", "standard deviation", "raters in general")
    ):
        assert few is None


def test_the_exam_finds_an_interval_that_is_too_narrow_and_passes_one_that_is_not() -> None:
    """Student's interval misses in 5%; the same with 1.96 standard errors misses in 12% at five rooms, which is `too often`."""

    def narrow(rng: np.random.Generator, rooms: int, kind: str) -> float:
        values = rng.normal(0, 1, rooms)
        reach = 1.96 * float(values.std(ddof=1)) / np.sqrt(rooms)
        return float(abs(values.mean()) > reach)

    right = Entry(
        "right", (), lambda rng, rooms, kind: outside(mean_interval(rng.normal(0, 1, rooms)), 0.0), ("normal",)
    )
    assert examine(right, "normal", 5, 800)["verdict"] == "within"
    assert examine(right, "normal", 3, 800)["verdict"] == "no verdict"
    assert examine(Entry("narrow", (), narrow, ("normal",)), "normal", 5, 800)["verdict"] == "too often"


def test_ranks_that_are_not_uniform_are_seen() -> None:
    """Draws that are too wide put the truth in their middle: no rank is outside, and the ranks are not uniform."""
    wide = Entry("wide", (), lambda rng, rooms, kind: 0.3 + 0.4 * float(rng.random()), ("usual",), role="rank")
    even = Entry("even", (), lambda rng, rooms, kind: float(rng.random()), ("usual",), role="rank")
    assert examine(wide, "usual", 5, 300)["verdict"] != "within"
    assert examine(even, "usual", 5, 300)["verdict"] == "within"


def test_an_exam_that_is_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    """Rows that are complete are not counted again; a row with fewer data sets than wanted is."""
    entry = next(entry for entry in ENTRIES if entry.name == "range of one more value")
    path = tmp_path / "exam.csv"
    first = sit_exam(path, [entry], False, 0.05)
    marked = first.assign(seconds=-1.0)
    marked.to_csv(path, index=False)
    assert (sit_exam(path, [entry], False, 0.05)["seconds"] == -1).all()
    more = sit_exam(path, [entry], False, 0.1)
    assert (more.loc[more["known"] > 0, "seconds"] >= 0).all()


@pytest.mark.parametrize("path", [Path(__file__).parents[2] / "docs" / "exam.csv"])
def test_the_page_has_a_row_for_every_statistic(path: Path) -> None:
    """docs/exam.csv is that of this registry: a new entry is counted before it is committed."""
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    known = {(entry.name, kind, units) for entry in ENTRIES for kind in entry.kinds for units in entry.sizes}
    assert set(table[["statistic", "data", "units"]].itertuples(index=False, name=None)) == known
    shown = pd.read_csv(path.with_name("exam_statistics.csv"))["statistic"]
    assert [name.removesuffix(" ≤") for name in shown] == [entry.name for entry in ENTRIES]
