"""The tables of a sweep, on numbers worked out by hand, and the command from end to end."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from parley.analysis.sweep.report import crossing, depends, figure, write
from parley.analysis.sweep.tables import (
    NO_SEED,
    CellMeasurement,
    field_effects,
    interactions,
    key_cells,
    measure_cell,
    pair_means,
    same_settings,
    title_cells,
)
from parley.analysis.tables import load
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sweep.design import SweepCell, sweep_cells

BASE = load_preset("two_way").with_settings({"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})
SWEEP = [
    "sweep",
    "--scenario",
    "two_way",
    "--topic",
    "racism",
    "--repetitions",
    "2",
    "--llm",
    "oracle",
    "--seeds",
    "0:2",
]
Number = float | None


def found(change: Number, gap: Number = -2.0) -> CellMeasurement:
    """A cell in which the republicans changed by so much, and the Default was so far from where they began."""
    row = {"topic": "racism", "group": "republican+democrat", "party": "republican", "change": change, "gap": gap}
    return CellMeasurement(None, pd.DataFrame(), pd.DataFrame([row]))  # type: ignore[arg-type]


def made(seeds: int = 3, **varied: tuple[str, ...]) -> list[SweepCell]:
    return sweep_cells(BASE, varied, range(seeds))


def test_a_main_effect_by_hand() -> None:
    """Fields a and b: within a seed first averaged over b; the difference is seed by seed. Toward a Default below is downward."""
    asked = made(5, rounds=("1", "2"), words=("20", "40"))
    changes = [-1, -2, -3, -2, -2, -3, -4, -5, -4, -4, *[-2] * 5, *[-6] * 5]  # by rounds, words, seed
    table = field_effects(asked, {place: found(change) for place, change in enumerate(changes)})
    rounds = table[table["field"] == "rounds"].set_index("value")
    assert rounds["change"].to_dict() == {"1": -3.0, "2": -4.0}
    assert rounds["toward"].to_dict() == {"1": 3.0, "2": 4.0}
    assert rounds.loc["2", "difference"] == -1.0  # -4 less -2, -3, -4
    words = table[table["field"] == "words"].set_index("value")
    assert words["change"].to_dict() == {"20": -2.0, "40": -5.0}
    assert list(table["seeds"]) == [5] * 4
    assert list(table["left_out"]) == [0] * 4


def crossed(rounds: tuple[str, ...] = ("2", "8"), seeds: int = 6) -> tuple[list[SweepCell], dict[int, CellMeasurement]]:
    """More rounds add nothing with few words and 2.5 points with many; seeds differ by as much, and a little otherwise."""
    asked = made(seeds, rounds=rounds, words=("20", "40"))
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.1, len(asked))
    effect = {("8", "40"): 2.5}
    return asked, {
        place: found(2.0 + cell.seed / 2 + noise[place] + effect.get(tuple(value for _, value in cell.values), 0.0))
        for place, cell in enumerate(asked)
    }


def test_an_effect_that_depends_on_another_field_is_found_and_told() -> None:
    """0 and +2.5 were printed as +1.28 alone: cell means stand in a table, and the main effect says what it depends on."""
    asked, changes = crossed()
    means = pair_means(asked, changes).set_index(["value", "other_value"])
    apart = means.loc[("8", "40"), "change"] - means.loc[("2", "40"), "change"]
    assert apart == pytest.approx(2.5, abs=0.2)
    assert means.loc[("8", "20"), "change"] - means.loc[("2", "20"), "change"] == pytest.approx(0, abs=0.2)
    assert (means["change_low"] < means["change"]).all()
    assert means["change_sd"].notna().all()
    tested = interactions(asked, changes)
    assert tested["depends"].tolist() == [True]
    assert tested["largest"].iloc[0] == pytest.approx(2.5, abs=0.3)
    row = field_effects(asked, changes).iloc[0]
    assert depends(tested, row.to_dict()) == "words"


@pytest.mark.thorough
@pytest.mark.parametrize(("seeds", "reason"), [(4, "fewer than 5 seeds"), (6, "")])
def test_fields_that_do_not_work_together_are_not_said_to(seeds: int, reason: str) -> None:
    """Below five seeds it is unknown; where effects add up the answer is no."""
    asked, changes = crossed(rounds=("2", "4"), seeds=seeds)
    tested = interactions(asked, changes).iloc[0]
    assert tested["reason"] == reason
    assert (tested["depends"] is pd.NA) == bool(reason)
    assert reason or not tested["depends"]
    assert depends(interactions(asked, changes), field_effects(asked, changes).iloc[0].to_dict()) == ""


def test_a_sweep_of_one_field_has_no_pairs() -> None:
    asked = made(rounds=("1", "2"))
    changes = {place: found(1.0) for place in range(len(asked))}
    assert pair_means(asked, changes).empty
    assert interactions(asked, changes).empty


def test_lines_of_a_pair_are_drawn_for_each_value_of_the_other() -> None:
    """A panel has one line for each value of the second field, through the means of the first's."""
    asked, changes = crossed()
    axis = crossing(pair_means(asked, changes), "caption").axes[0]
    lines = {line.get_label(): line for line in axis.containers}
    assert set(lines) == {"20", "40"}
    assert [len(container.lines[0].get_xdata()) for container in axis.containers] == [2, 2]


def test_a_seed_that_lacks_a_cell_is_left_out_and_counted() -> None:
    """An unfinished cell, or one without a rating, never turns a mean over fields into one over fewer."""
    asked = made(rounds=("1", "2"), words=("20", "40"))
    changes: dict[int, Number] = dict(enumerate([-1.0, -2, -3, -3, -4, -5, -2, -2, -2, -6, -6, -6]))
    changes[0] = None
    del changes[10]
    table = field_effects(asked, {place: found(change) for place, change in changes.items()}).set_index(
        ["field", "value"]
    )
    assert table["left_out"].to_dict() == {
        ("rounds", "1"): 1,
        ("rounds", "2"): 1,
        ("words", "20"): 1,
        ("words", "40"): 1,
    }
    assert table.loc[("rounds", "1"), "change"] == (-3.0 - 4.0) / 2  # seeds 1 and 2
    assert table.loc[("rounds", "2"), "change"] == -4.0
    assert table.loc[("rounds", "2"), "difference"] == 0.0  # of seed 2, the one that has both


def test_a_combination_without_any_cell_confounds_nothing() -> None:
    """Rounds does nothing and the frame adds 10; of the combination that never ran no main effect is made, and it is said why."""
    asked = made(rounds=("1", "2"), frame=("debate", "talk"))
    changes = dict(enumerate([0.0, 0, 0, 10, 10, 10, 0, 0, 0]))
    table = field_effects(asked, {place: found(change) for place, change in changes.items()}).set_index(
        ["field", "value"]
    )
    assert table["left_out"].to_dict() == {
        ("rounds", "1"): 0,
        ("rounds", "2"): 3,
        ("frame", "debate"): 0,
        ("frame", "talk"): 3,
    }
    assert table.loc[("rounds", "1"), "change"] == 5.0
    assert table["difference"].isna().all()
    assert table["reason"].dropna().to_dict() == {("rounds", "2"): NO_SEED, ("frame", "talk"): NO_SEED}


def test_what_never_ran_is_in_the_summary_with_its_reason(tmp_path: Path) -> None:
    """Two combinations of four: each second value is told as empty, in the table and in the figure."""
    asked = made(1, rounds=("1", "2"), words=("20", "40"))
    for place in (0, 1):
        run_scenario(RunSpec(asked[place].scenario, tmp_path / asked[place].folder))
    held = {place: measure_cell(tmp_path / asked[place].folder) for place in (0, 1)}
    summary = write(tmp_path, asked, held, dict.fromkeys((2, 3), "no server"), "python run.py sweep").read_text()
    assert "| reason missing |" in summary
    assert f"| {NO_SEED} |" in summary
    assert "| nan |" not in summary
    axis = figure(field_effects(asked, held), "").axes[0]
    assert axis.get_xlim()[0] < 1 < 2 < axis.get_xlim()[1], "the value that never ran has its place"


def test_the_first_value_stays_the_reference_without_cells() -> None:
    """No other value steps silently into its place."""
    table = field_effects(made(rounds=("1", "2", "3")), {place: found(-1.0) for place in range(3, 9)}).set_index(
        "value"
    )
    assert table["seeds"].to_dict() == {"1": 0, "2": 3, "3": 3}
    assert table["difference"].isna().all()
    assert table["reason"].to_dict() == {
        "1": NO_SEED,
        **dict.fromkeys("23", "difference: no seed has all cells of rounds=1 too"),
    }


def test_who_sits_in_some_combinations_only_is_averaged_over_these() -> None:
    """A topic that is debated at one value of a field is no reason to leave the effect of the other field out."""
    asked = made(topic=("racism", "abortion"), rounds=("1", "2"))
    changes = {place: found(change) for place, change in enumerate([-1.0, -1, -1, -3, -3, -3])}
    table = field_effects(asked, changes).set_index(["field", "value"])
    assert list(table.index) == [("topic", "racism"), ("rounds", "1"), ("rounds", "2")]
    assert table.loc[("rounds", "2"), "difference"] == -2.0
    assert list(table["left_out"]) == [0, 0, 0]


def test_groups_of_a_varied_size_are_one_line() -> None:
    """Two Republicans and three, with a Default and without: two lines over sizes; never where a cell would have two alike."""
    rows = [
        ("size=2", "republican+republican+default"),
        ("size=2", "republican+republican"),
        ("size=3", "republican+republican+republican+default"),
        ("size=3", "republican+republican+republican"),
    ]
    table = pd.DataFrame(rows, columns=["combination", "group"])
    assert list(same_settings(table)) == ["republican*+default", "republican*"] * 2
    assert title_cells("republican*+default") == "Any number of Republicans and a Default"
    same = table[table["combination"] == "size=2"]
    assert list(same_settings(same)) == list(same["group"])
    two = pd.DataFrame([*rows, ("size=3", "republican")], columns=["combination", "group"])
    assert list(same_settings(two)) == list(two["group"])


def test_no_direction_where_the_gap_tells_none() -> None:
    """Gaps on both sides of 0, or no Default at all: no `toward`, and no other number suffers."""
    for gaps in ([-1.0, 1.0, 0.0], [None, None, None]):
        table = field_effects(made(), {place: found(-1.0, gap) for place, gap in enumerate(gaps)})
        assert table["toward"].isna().all()
        assert list(table["change"]) == [-1.0]


def test_a_cell_without_a_record_is_a_row_that_says_why(tmp_path: Path) -> None:
    """Numbers are missing, never 0, and the folder is there to look into."""
    asked = made(seeds=2)
    run_scenario(RunSpec(asked[0].scenario, tmp_path / asked[0].folder))
    table = key_cells(asked, {0: measure_cell(tmp_path / asked[0].folder).attitudes}, {1: "its worker was killed"})
    last = table[table["seed"] == 1]
    assert list(last["reason"]) == ["its worker was killed"]
    assert last[["attitude", "rooms", "ratings", "round", "party"]].isna().all().all()
    assert table.loc[table["seed"] == 0, "reason"].isna().all()
    write(
        tmp_path,
        asked,
        {0: measure_cell(tmp_path / asked[0].folder)},
        {1: "its worker was killed"},
        "python run.py sweep",
    )
    summary = (tmp_path / "summary.md").read_text()
    assert "**Unfinished**: no results yet for 1 cell of 2" in summary
    assert "reason missing" not in summary
    assert "| its worker was killed | 1 |" in summary


def test_nothing_finished_is_said_too(tmp_path: Path) -> None:
    write(tmp_path, made(seeds=2), {}, {0: "no server", 1: "no server"}, "python run.py sweep")
    assert "| no server | 2 |" in (tmp_path / "summary.md").read_text()
    assert len(pd.read_csv(tmp_path / "cells.csv")) == 2


def test_attitudes_of_a_cell_are_those_of_its_run(tmp_path: Path) -> None:
    """Rooms, ratings and means as the run's own tables have them; a rating that is missing is counted with its reason."""
    run_scenario(RunSpec(BASE, tmp_path / "run"))
    tables, cell = load(tmp_path / "run"), measure_cell(tmp_path / "run")
    rated = tables.attitudes[(tables.attitudes["party"] == "democrat") & (tables.attitudes["round"] == 1)]
    row = cell.attitudes[(cell.attitudes["party"] == "democrat") & (cell.attitudes["round"] == 1)].iloc[0]
    assert (row["attitude"], row["rooms"], row["ratings"]) == (rated["attitude"].mean(), 2, 2)
    run_scenario(RunSpec(BASE.with_settings({"llm": "fake"}), tmp_path / "fake"))
    silent = measure_cell(tmp_path / "fake")
    assert silent.attitudes["attitude"].isna().all()
    assert set(silent.attitudes["missing"]) == {2}
    assert set(silent.attitudes["reason"]) == {"unscripted 2"}
    assert silent.changes.empty
    row = key_cells(made(seeds=1, words=("20",)), {0: silent.changes}, {}).iloc[0]
    assert (row["words"], row["reason"]) == (20, "no ratings to measure it by")
    assert pd.isna(row["change"])


def tree(root: Path) -> dict[str, bytes]:
    """Every file but the journals, which keep times."""
    kept = [path for path in root.rglob("*") if path.is_file() and "journal" not in path.name]
    return {str(path.relative_to(root)): path.read_bytes() for path in kept}


def test_the_command_from_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One worker or two: every file but journals is the same; the same command again asks nothing; another sweep is refused."""
    for workers in ("1", "2"):
        out = ["--workers", workers, "--out", str(tmp_path / workers)]
        assert run.main([*SWEEP, "--vary", "rounds=1,2", *out]) == 0
    trees = [
        {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and "journal" not in path.name
        }
        for root in (tmp_path / "1", tmp_path / "2")
    ]
    assert trees[0] == trees[1]
    assert {"cells.csv", "cells.parquet", "changes.csv", "effects.csv", "figures/change.svg", "summary.md"} <= set(
        trees[0]
    )
    assert "--vary rounds=1,2\n" in trees[0]["summary.md"].decode()
    assert str(tmp_path) not in trees[0]["summary.md"].decode()
    missing = re.findall("^missing .*$", capsys.readouterr().out, re.MULTILINE)
    assert run.main([*SWEEP, "--vary", "rounds=1,2", "--out", str(tmp_path / "1")]) == 0
    told = capsys.readouterr()
    assert "all 4 were finished before, so no model is called" in told.out
    assert "left" not in told.err, "nothing will be asked, so there is no bar"
    (tmp_path / "1" / "summary.md").unlink()
    assert run.main([*SWEEP, "--vary", "rounds=1,2", "--out", str(tmp_path / "1")]) == 0
    told = capsys.readouterr()
    assert "4 of 4 were finished before: their models are not called again" in told.out
    assert "4 of 4 are finished; 0 calls were made" in told.out
    assert missing == 2 * re.findall("^missing .*$", told.out, re.MULTILINE), "of cells that were finished before, too"
    assert run.main([*SWEEP, "--vary", "rounds=1,3", "--out", str(tmp_path / "1")]) == 2
    assert "already has a sweep over other fields or values" in capsys.readouterr().err
    table = pd.read_csv(tmp_path / "1" / "cells.csv", dtype={"rounds": str})
    assert set(zip(table["rounds"], table["seed"], strict=True)) == {("1", 0), ("1", 1), ("2", 0), ("2", 1)}


@check_each(
    ("arguments", "words"),
    [
        (["sweep"], "no scenario was given"),
        (
            [*SWEEP, "--vary", "rounds=2", "--rounds", "3"],
            "--vary rounds sets a field that another option sets too: leave out one of the two",
        ),
        ([*SWEEP, "--vary", "seed=1,2"], "give them with --seeds"),
        ([*SWEEP, "--set", "seed=1"], "give them with --seeds"),
        ([*SWEEP, "--workers", "0"], "--workers: must be 1 or more, but is 0"),
        (
            [*SWEEP, "--vary", "rounds=2", "--base-url", "http://h/v1"],
            "add --llm openai:MODEL, or leave out --base-url",
        ),
        ([*SWEEP, "--max-cost", "1"], "--max-cost needs prices, but"),
    ],
)
def test_what_cannot_be_is_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main([*arguments, *(["--out", str(tmp_path / "new")] if "--out" not in arguments else [])]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_dry_run_counts_and_touches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two rooms of two: 4 replies and 4 ratings a round, 4 ratings before and 2 of the reference: 14 calls, and 22."""
    monkeypatch.chdir(tmp_path)
    assert run.main([*SWEEP, "--vary", "rounds=1,2", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert [line.split()[-2 - (place < 2)] for place, line in enumerate(shown.splitlines()[:3])] == ["14", "22", "72"]
    few = ["--scenario", "network", "--llm", "oracle", "--set", "size=8", "--repetitions", "1", "--seeds", "1"]
    assert run.main(["sweep", *few, "--vary", "graph=ring,complete", "--dry-run"]) == 0, (
        "no cell has the preset's graph"
    )
    assert list(tmp_path.iterdir()) == []
