"""docs/tables.md is where a reader looks a column up: a column that it lacks, or names in vain, costs them an evening."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

import parley
from parley.agents.traits import trait_names

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8")
COMMON, REST = PAGE.split("## Every run")
SHORT = {"llm": "oracle", "repetitions": 2, "rounds": 2}
RUNS = {
    "three_way": {"topics": "racism", "forecast": "true", "memory": "summary:2"},
    "fake_news": {"rounds": 4, "topics": "bridge,council,dam"},
    "news_evolution": {"llm": "oracle,drift=1"},
    "network": {"topics": "racism", "size": 20, "think": "bdi", "interventions": "shock round=1 text='Prices double.'"},
    "platform": {"topics": "racism", "size": 20, "rounds": 4, "seeded": 0.3, "against": "random"},
    "emotion_spread": {"topics": "racism", "size": 12, "graph": "blocks,degree=4", "rounds": 4},
    "herding": {"planner": "model"},
    "trust_game": {},
    "days": {"rounds": 3, "reflect": 3},
    "consensus_habermas": {},
    "two_way": {"topics": "racism", "roles": "republican:skeptic"},
}
"""Together these leave every table."""
BOUND = ("_low", "_high")


def named(text: str) -> set[str]:
    """Every column that a table of the page names."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    return {name for cells in rows for name in re.findall(r"`(\w+)`", "".join(cells[1:3]))}


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The columns of each table in the folders of some runs."""
    found: dict[str, set[str]] = {}
    for name, fields in RUNS.items():
        folder = tmp_path_factory.mktemp("runs") / name
        runs = [parley.run(name, out=folder, **SHORT | fields)]
        if name == "network":
            runs.append(parley.branch(runs[0], 1, out=folder.with_name("branch"), progress=False))
        for path in [path for run in runs for path in (run.folder / "tables").glob("*.csv")]:
            with path.open(encoding="utf-8", newline="") as file:
                found.setdefault(path.stem, set()).update(next(csv.reader(file)))
    return found


@pytest.mark.thorough
def test_every_table_of_a_run_is_on_the_page(columns: dict[str, set[str]]) -> None:
    assert [table for table in columns if f"`{table}`" not in REST] == []


@pytest.mark.thorough
def test_every_column_is_on_the_page_with_its_unit(columns: dict[str, set[str]]) -> None:
    known = named(PAGE) | set(trait_names())
    plain = {
        name.removesuffix(end) for names in columns.values() for name in names for end in BOUND if name.endswith(end)
    }
    lacking = {
        f"{table}: {name}"
        for table, names in columns.items()
        for name in names
        if name not in known and not (name.endswith(BOUND) and name.rpartition("_")[0] in plain & known)
    }
    assert lacking == set()


def test_the_page_names_no_column_that_is_nowhere(columns: dict[str, set[str]]) -> None:
    """Values that a unit cell shows in code (`expected`, `added`) are columns or stand in this list."""
    values = {"rating", "added", "removed", "probes", "reference", "utterances", "expected"}
    tables = set(columns) | {"confidence"}
    confidence = {"escalation", "whole", "sure"}  # only `run.py study bets` has them
    assert named(PAGE) - set().union(*columns.values()) - values - tables - confidence == set()
