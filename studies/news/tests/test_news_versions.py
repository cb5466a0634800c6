"""How far a story moved from the report: by hand, as planted, and nothing where nothing is planted; early and late statements."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.judging import Judge, Verdict, missing, read
from parley.analysis.report import Report
from parley.analysis.tables import Tables, load
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.llm.request import Reply
from parley.model.scenario import load_preset
from parley.studies.news import refutation
from parley.studies.news.deviation import add_missing, sentences
from parley.studies.news.refutation import EARLY, LATE, NONE, compare, conditions, sentence
from parley.studies.news.versions import (
    DIMENSIONS,
    MEASURES,
    RUBRIC,
    added,
    by_day,
    by_item,
    by_room,
    by_unit,
    floor,
    plan_versions,
    verdicts,
)

SMALL = {"topic": "bridge", "size": 10, "repetitions": 5, "rounds": 3}


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def judged(tables: Tables, spec: str = "oracle") -> pd.DataFrame:
    return verdicts(tables, Judge(open_spec(spec), quiet), 0)


def made_up(rows: list[tuple[str, int, int, int, str, float]], base: float = 0.0) -> pd.DataFrame:
    """Verdicts of versions (room, round, iteration, received, role, deviation), the same in every dimension."""
    reports = [(room, 0, 0, np.nan, "no role", base) for room in dict.fromkeys(row[0] for row in rows)]
    columns = ["room", "round", "iteration", "received", "role", "deviation"]
    table = pd.DataFrame([*reports, *rows], columns=columns)
    table = table.assign(topic="bridge", group="g", repetition=table["room"], text="t", reasons="")
    return table.assign(**dict.fromkeys(DIMENSIONS, table["deviation"]))


@check_each(
    ("reply", "found"),
    [
        (Reply("7"), Verdict(7.0, (), (7.0,))),
        (Reply("perhaps"), missing("no_number")),
        (Reply("7 or 8"), missing("several_numbers")),
        (Reply.failed("timeout"), missing("timeout")),
    ],
)
def test_a_distance_is_read_or_missing(reply: Reply, found: Verdict) -> None:
    assert read(RUBRIC, [reply]) == found


def test_days_roles_and_steps_by_hand() -> None:
    """Room a: 2 and 4 on day 1; room b: 9 and one missing. A verifier takes 4 back to 1; the floor counts for the first step."""
    table = made_up(
        [
            ("a", 1, 1, 0, "spreader", 2.0), ("a", 1, 2, 0, "spreader", 4.0), ("a", 2, 3, 2, "verifier", 1.0),
            ("b", 1, 1, 0, "spreader", 9.0), ("b", 1, 2, 0, "spreader", np.nan), ("b", 2, 3, 2, "verifier", 5.0),
        ],
        base=0.5,
    )  # fmt: skip
    days = by_day(table).set_index(["role", "day"])
    first = days.loc["spreader", 1]
    assert (first["deviation"], first["rooms"], first["versions"], first["missing"]) == (6.0, 2, 4, 1)
    assert days.loc["all", 2]["deviation"] == 3.0
    assert by_room(table)["last"].tolist() == [1.0, 5.0]
    assert by_room(table)["above"].tolist() == [0.5, 4.5]
    assert by_room(table)["growth"].tolist() == [-2.0, -4.0]
    steps = added(table).set_index("role")
    assert steps.loc["spreader", "added"] == pytest.approx(((1.5 + 3.5) / 2 + 8.5) / 2)
    assert steps.loc["verifier", ["added", "versions"]].tolist() == [-3.0, 1]  # of b's parent nothing is known


def test_planted_drift_is_found_in_its_dimension_and_by_role(ran: Callable[..., Path]) -> None:
    """Certainty moves by a point with each retelling and nothing else: the judge says so, exactly."""
    tables = load(ran("news_evolution", **SMALL | {"llm": "oracle,drift=certainty:1", "roles": "spreader"}))
    table = judged(tables)
    written = table[table["round"] > 0]
    assert written["certainty"].tolist() == written["depth"].astype(float).tolist()
    assert (written[[name for name in DIMENSIONS if name != "certainty"]] == 0).all(axis=None)
    assert floor(table).shape == (5, len(MEASURES))
    assert (floor(table) == 0).all(axis=None)
    steps = added(table).iloc[0]
    assert steps["added"] == pytest.approx(1 / 6)
    told = " ".join(sentences(table))
    assert "The story changed" in told


def test_nothing_planted_is_no_change(ran: Callable[..., Path]) -> None:
    """Without drift deviation is 0 everywhere, and nothing is claimed."""
    table = judged(load(ran("news_evolution", **SMALL)))
    assert (table[list(MEASURES)] == 0).all(axis=None)
    assert sentences(table) == [
        "The story did not change: versions of day 3 are 0.0 of 10 points from the report, and the judge gives the unchanged "
        "report 0.0.",
        "No single dimension is clearly above the judge's reading of the unchanged report.",
    ]


@pytest.mark.thorough
@check_each(
    ("last", "base", "told"),
    [
        ([2.0, 2.1, 1.9, 2.2, 1.8], 2.0, "No change of the story is shown"),  # what the judge gives to any text
        ([2.0, 3.0], 0.0, "fewer than 5 rooms"),
        ([2.0] * 5, 3.0, "No change of the story is shown"),  # nearer to the report than the report itself
        ([5.0] * 5, 5.0, "No change of the story is shown"),  # a judge that always says 5
        ([3.0] * 5, 2.0, "The story changed"),
        ([np.nan] * 5, 0.0, "because the judge read no version"),
        ([2.0, 2.5, 1.5, 2.2, 1.8], 0.5, "The story changed"),
    ],
)
def test_a_change_is_claimed_only_above_the_judges_floor(last: list[float], base: float, told: str) -> None:
    rows = [(f"r{number}", 1, 1, 0, "spreader", value) for number, value in enumerate(last)]
    assert told in sentences(made_up(rows, base))[0]


@pytest.mark.thorough
def test_the_report_and_its_versions_are_compared_in_the_same_rooms() -> None:
    """Where the reading of the report is missing, the versions of the room do not count: 2.0 and 0.5 fit to 1.5 above."""
    rows = [(f"r{number}", 1, 1, 0, "spreader", 2.0 + number / 100) for number in range(5)]
    table = made_up([*rows, ("r5", 1, 1, 0, "spreader", 9.0)], 0.5)
    table.loc[(table["room"] == "r5") & (table["round"] == 0), list(MEASURES)] = np.nan
    assert sentences(table)[0].startswith(
        "The story changed: versions of day 1 are 2.0 of 10 points from the report, and the judge gives the unchanged report 0.5"
    )


def test_two_rooms_have_no_verdict_on_dimensions() -> None:
    """Few rooms cannot show that a dimension stayed, nor can replies that no one could read."""
    for last in ([2.0, 3.0], [np.nan] * 6):
        rows = [(f"r{number}", 1, 1, 0, "spreader", value) for number, value in enumerate(last)]
        assert sentences(made_up(rows))[-1] == "With fewer than 5 rooms, it is unknown which dimensions changed."


def test_counts_of_missing_versions_leave_the_report_out(tmp_path: Path) -> None:
    """Versions are counted without the judge's readings of the unchanged report, in the reports of both commands."""
    rows = [("a", 1, 1, 0, "spreader", 2.0), ("a", 1, 2, 0, "spreader", np.nan), ("b", 1, 1, 0, "spreader", 1.0)]
    table = made_up(rows)
    table["reasons"] = ["timeout" if lost else "" for lost in table["deviation"].isna()]
    report = Report(tmp_path, "r", "R")
    add_missing(report, table, table)
    table.loc[table["round"] == 0, ["deviation", "reasons"]] = [np.nan, "no_number"]
    add_missing(report, table)
    text = report.write().read_text()
    assert "2 of 6 versions have no deviation (timeout 2)." in text
    assert "2 of 2 readings of the unchanged report have no deviation (no_number 2)." in text
    assert text.count("readings of the unchanged report") == 1


def test_a_unit_of_two_items_has_no_number_without_one_of_them() -> None:
    """Five repetitions on two items are five units; where an item is missing, the rest is no average of other items."""
    rows = [(f"r{number}", 1, 1, 0, "spreader", float(number)) for number in range(10)]
    table = made_up(rows).assign(repetition=[number % 5 for number in range(10)] * 2)
    table["topic"] = ["bridge" if number < 5 else "council" for number in range(10)] * 2
    assert by_unit(table)["last"].tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]
    table.loc[(table["room"] == "r9") & (table["round"] == 1), "deviation"] = np.nan
    assert by_unit(table)["last"].isna().tolist() == [False] * 4 + [True]
    compared = compare({name: by_unit(table) for name in (NONE, EARLY, LATE)})
    assert set(compared["pairs"]) == {0, 4}


def test_unread_verdicts_are_missing(ran: Callable[..., Path]) -> None:
    """A judge that cannot be read gives no number: not 0."""
    tables = load(ran("news_evolution", **SMALL | {"repetitions": 1}))
    table = judged(tables, "fake")
    assert table["deviation"].isna().all()
    assert table["reasons"].str.len().min() > 0


def test_the_table_of_versions_says_who_got_what(ran: Callable[..., Path]) -> None:
    """Everybody whom the story reached has a row a day; who writes nothing has no iteration."""
    versions = load(ran("news_evolution", **SMALL)).versions
    first = versions[versions["round"] == 0]
    assert (first["received"].tolist(), first["source"].tolist()) == ([0] * len(first), [0] * len(first))
    later = versions[versions["round"] > 0]
    assert later["iteration"].isna().tolist() == (later["role"] == "bystander").tolist()
    assert later.loc[later["iteration"].notna(), "depth"].min() == 1


@pytest.mark.thorough
def test_the_command_ends_in_a_report(ran: Callable[..., Path], tmp_path: Path, capsys: Any) -> None:
    """With its figure; another judge in the folder is refused; a run without a story says which scenario has one."""
    folder = str(ran("news_evolution", **SMALL | {"llm": "oracle,drift=1"}))
    assert run.main(["study", "judge", folder, "--rubric", "deviation", "--llm", "oracle", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "deviation.md").read_text()
    assert "| 0, the report |" in text
    assert "| 0 (judge's reading) |" in text
    assert (tmp_path / "deviation.png").exists()
    assert run.main(["study", "judge", folder, "--rubric", "deviation", "--llm", "fake", "--out", str(tmp_path)]) == 2
    assert (
        run.main(
            [
                "study",
                "judge",
                str(ran("two_way")),
                "--rubric",
                "deviation",
                "--llm",
                "oracle",
                "--out",
                str(tmp_path / "b"),
            ]
        )
        == 2
    )
    assert "run --scenario news_evolution first" in capsys.readouterr().err
    with pytest.raises(UserError, match="no story"):
        plan_versions(load(ran("two_way")), tmp_path)


def rooms(*last: float) -> pd.DataFrame:
    values = {"topic": "bridge", "repetition": range(len(last)), "last": last, "growth": [one / 5 for one in last]}
    return pd.DataFrame(values)


@check_each(
    ("early", "late", "told"),
    [
        ((1.0, 1.2, 0.8, 1.1, 0.9), (2.0, 2.4, 1.9, 2.2, 2.0), "points nearer to the report"),
        ((2.0, 2.4, 1.9, 2.2, 2.0), (1.0, 1.2, 0.8, 1.1, 0.9), "points farther from the report"),
        ((1.0, 2.0, 1.0, 2.0, 1.5), (2.0, 1.0, 1.0, 2.0, 1.4), "makes no clear difference"),
        ((1.0, 1.0, 1.0, 1.0, 1.0), (1.0, 1.0, 1.0, 1.0, 1.0), "is unknown, because nothing differs"),
        ((1.0, 1.1), (2.0, 2.2), "is unknown, because fewer than 5 rooms"),
        ((1.0,) * 5, (2.0,) * 5, "is unknown, because the difference is the same in all rooms"),
    ],
)
def test_early_against_late_has_a_verdict_only_with_an_interval(early: Any, late: Any, told: str) -> None:
    compared = compare({NONE: rooms(*late), EARLY: rooms(*early), LATE: rooms(*late)})
    assert told in sentence(compared, {EARLY: 2, LATE: 5})


@pytest.mark.thorough
def test_an_early_statement_works_better_where_that_is_planted(tmp_path: Path, capsys: Any) -> None:
    """Every spreader adds a point a day until it hears the statement: 1 point where it comes before day 2, and 3 before day 4."""
    words = [
        "study",
        "refutation",
        "--llm",
        "oracle,drift=1",
        "--repetitions",
        "5",
        "--rounds",
        "5",
        "--early",
        "2",
        "--late",
        "4",
    ]
    options = ["--set", "size=8", "--set", "roles=spreader", "--set", "graph=complete", "--set", "survey=never"]
    assert run.main([*words, *options, "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "refutation.csv").set_index(["measure", "condition"])["value"]
    assert (table["last", EARLY], table["last", LATE], table["last", NONE]) == (1.0, 3.0, 5.0)
    versions = pd.read_csv(tmp_path / "verdicts.csv")
    same = (
        versions["round"] < 2
    )  # before the early statement all conditions have the same versions, and they are judged once
    assert len(versions[same]) == 3 * len(versions[same].drop_duplicates(["room", "iteration"]))
    with contextlib.closing(sqlite3.connect(tmp_path / "deviation" / "verdicts.sqlite")) as journal:
        (asked,) = journal.execute("select count(*) from outcomes").fetchone()
    assert asked <= len(DIMENSIONS) * len(versions.drop_duplicates(["room", "iteration", "text"]))
    assert run.main([*words, *options, "--late", "9", "--out", str(tmp_path / "b")]) == 2
    assert "within 5 days" in capsys.readouterr().err


def test_statements_replace_other_interventions() -> None:
    """The conditions differ in the statement and in nothing else."""
    base = load_preset("news_evolution")
    settings = conditions(base, 2, 5)
    assert [len(one["interventions"]) for one in settings.values()] == [0, 1, 1]
    assert [one["interventions"][0].round for one in list(settings.values())[1:]] == [2, 5]
    assert refutation.STATEMENT == "{report}"


@pytest.mark.thorough
def test_a_noisy_judge_alarms_no_more_often_than_it_may() -> None:
    """A judge that gives 0 to 3 by chance, to the unchanged report as to each version, mostly shows no change."""
    rng, alarms = np.random.default_rng(4), 0
    places = [(room, number) for room in range(8) for number in range(1, 7)]
    for _ in range(12):
        table = made_up([(f"r{room}", 1, number, 0, "spreader", 0.0) for room, number in places])
        table = table.assign(**dict.fromkeys(MEASURES, rng.integers(0, 4, len(table)).astype(float)))
        alarms += sentences(table)[0].startswith("The story changed")
    assert alarms <= 2


def test_items_of_a_repetition_are_one_unit() -> None:
    """The same people on two items are no two rooms: five repetitions on two items are five units."""
    rows = [(f"r{number}", 1, 1, 0, "spreader", float(number)) for number in range(10)]
    table = made_up(rows).assign(repetition=[number % 5 for number in range(10)] * 2)
    table["topic"] = ["bridge" if number < 5 else "council" for number in range(10)] * 2
    days = by_day(table).set_index("role").loc["all"]
    assert (days["rooms"], days["deviation"]) == (5, 4.5)
    assert by_item(table)["last"].tolist() == [2.0, 7.0]
