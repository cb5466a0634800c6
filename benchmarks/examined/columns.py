"""The columns of every report that have an interval or a P value, and which statistic of the exam examines each.

`columns_of_product` reads the source and the published schema of the tables. A column is a number of a table of metrics with a
`_low` or a P of its own, or a place in another report where a shared interval or test is called. columns.csv has a row for each:

    report  the table ("table drift"), or the file of the report
    column  the name that is printed, or the function that makes the number
    unit    what is counted as independent: room, person, question, item, ...
    rows    how single answers depend: `one` (one number a unit, all weigh the same), `heavy` (a unit weighs by its rows, so
            that one may have most of them), `crossed` (each row belongs to two units, such as a person and a question)
    scale   `bounded`: a share, a count, a variance, a rating, a correlation. Its interval ends where the quantity ends.
            `free`: a difference, or another number without ends
    exam    the entry of the exam, which has the kinds of data `heavy` or `crossed` where the rows do; or `elsewhere: FILE`,
            or `no claim: WHY`

Counts, and means without an interval or a P, are no columns. `cd benchmarks && python -m examined.columns` prints the
rows that lack.
"""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from examined.product import ROOT, files_of_product, report_of, statistics_of_product
from parley.llm.studies import declared_parts

REGISTRY = Path(__file__).with_suffix(".csv")
SHARED = frozenset(["mean_row", "clustered_mean", "rank_correlation", "p_value", "Null"])
"""Makers of intervals and P values that several reports call, in addition to those of the floor of statistics."""
STUDENTS = frozenset(["mean_interval", "mean_row", "mean_columns", "clustered_mean", "room_means"])
"""Makers whose interval is Student's, unless they are given the bounds of the number."""
PLACE_OF_BOUNDS = {"mean_row": 3, "mean_columns": 2}
"""Of the argument `bounds`, where it is given without its name."""
FLOORS = ("analysis.statistics.",)
NO_NUMBERS = ("/views/", "/commands/", "/schemas/")
CHECKED = ("heavy", "crossed")
"""Ways in which rows depend whose exam needs a kind of data of the same name."""


class Column(NamedTuple):
    """A row of columns.csv."""

    report: str
    column: str
    unit: str
    rows: str
    scale: str
    exam: str


def columns_of_product(root: Path = ROOT) -> set[tuple[str, str]]:
    """Return (report, column) of every printed number that has an interval or a P value."""
    return {*_of_tables(root), *_of_reports(root)}


def registered() -> list[Column]:
    """Return the rows of columns.csv."""
    with REGISTRY.open(encoding="utf-8", newline="") as file:
        return [Column(**row) for row in csv.DictReader(file)]


def calls_without_bounds(root: Path = ROOT) -> set[tuple[str, str]]:
    """Return (report, column) of every number whose interval is Student's, so that it may leave the scale of the number."""
    columns = set()
    for path in files_of_product(root):
        report = report_of(path, root)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
            columns |= {(report, name or function.name) for name in _names(function, "", STUDENTS, without=True)}
    return columns


def _of_tables(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the columns of the tables of metrics, by their published schema."""
    (path,) = (root / "analysis" / "schemas").glob("tables-*.schema.json")
    for table, row in json.loads(path.read_text(encoding="utf-8"))["$defs"].items():
        for name in row["properties"]:
            if name.endswith("_low") or name in ("p", "p_holm"):
                yield f"table {table}", name.removesuffix("_low")


def _of_reports(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the places of other reports that call a maker, and the functions that make an interval or a P themselves."""
    makers = _makers(root)
    for path in files_of_product(root):
        report = report_of(path, root)
        inside = f"/{report}"
        if any(place in inside for place in NO_NUMBERS) or report.startswith(("statistics/", "metrics/")):
            continue
        if report in _metrics_of_studies():
            continue
        text = path.read_text(encoding="utf-8")
        if any(maker in text for maker in makers):
            tree = ast.parse(text)
            yield from ((report, column) for column in _called(tree, makers & _imported(tree)))
    for name in statistics_of_product(root):
        file, _, function = name.removeprefix("analysis.").rpartition(".")
        if not name.startswith((*FLOORS, "analysis.metrics.")) and file.replace(".", "/") not in _metrics_of_studies():
            yield file.replace(".", "/"), function


@cache
def _metrics_of_studies() -> frozenset[str]:
    """The files of metrics in studies: their columns are in the schema of the tables."""
    declared = declared_parts("metrics").values()
    return frozenset(
        f"studies/{declared_part.study.folder.name}/{declared_part.reference}" for declared_part in declared
    )


@cache
def _makers(root: Path) -> frozenset[str]:
    names = (name.rpartition(".")[2] for name in statistics_of_product(root) if name.startswith(FLOORS))
    return SHARED | {name for name in names if not name.startswith("_")}


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that a file imports, and those it takes from a module (`intervals.mean_interval`)."""
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names}
    modules = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return imported | {node.attr for node in modules if node.value.id in imported}


def _called(tree: ast.Module, makers: frozenset[str]) -> Iterator[str]:
    """Yield the name of each number made: its key or its keyword, else the function that makes it."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            yield from (name or function.name for name in _names(function, "", makers))


def _names(node: ast.AST, name: str, makers: frozenset[str], without: bool = False) -> Iterator[str]:
    """Yield the names of the calls of makers in a node, which is a part of the number `name`. without: only calls
    without bounds."""
    if isinstance(node, ast.Call):
        called = _last(node.func)
        made = called in makers or (not without and called == "interval" and isinstance(node.func, ast.Attribute))
        if made and not (without and _has(node, called)):
            yield name
        name = _literal(node.args[0]) if called in ("with_interval", "bounded", "_named_ends") and node.args else name
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield from _names(value, _literal(key) or name, makers, without)
        return
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef):
            yield from _names(child, name, makers, without)


def _has(call: ast.Call, called: str) -> bool:
    """Return whether a call of a maker has the argument `bounds`."""
    return any(keyword.arg == "bounds" for keyword in call.keywords) or len(call.args) > PLACE_OF_BOUNDS.get(called, 9)


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _literal(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


if __name__ == "__main__":
    registered_columns = {(row.report, row.column) for row in registered()} if REGISTRY.is_file() else set()
    for lacking in sorted(columns_of_product() - registered_columns):
        print(*lacking, sep=",")
