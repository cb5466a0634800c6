"""False lines of whole reports where nothing happens (benchmarks/control.py): counted by seed, and few of them."""

from __future__ import annotations

from pathlib import Path

import control
import null_reports
import numpy as np
import pandas as pd
import pytest
from control import NO_VERDICT, OFTEN, WHOLE, WITHIN, count_lines, count_seed, hold_control
from null_reports import structured


def counted(claimed: list[int], lines: int = 40) -> pd.DataFrame:
    """Return counts by seed of one kind of line."""
    rows = [{"report": "r", "rooms": 5, "seed": seed, "line": "a", "lines": lines, "claimed": count, "seconds": 1.0}
            for seed, count in enumerate(claimed)]  # fmt: skip
    return pd.DataFrame(rows)


def verdict(claimed: list[int]) -> str:
    return str(count_lines(counted(claimed)).set_index("line").loc["a", "verdict"])


def test_more_false_lines_than_the_level_says_are_seen() -> None:
    """A fifth of the lines in each seed is too often; one in twenty is not; nothing is said of four seeds."""
    assert verdict([8] * 10) == OFTEN
    assert verdict([2] * 10) == WITHIN
    assert verdict([8] * 4) == NO_VERDICT


def test_the_seed_is_the_unit() -> None:
    """40 of 400 lines are more than the 29 of independent lines by chance; all in one of ten seeds, they are one odd seed."""
    row = count_lines(counted([40] + [0] * 9)).set_index("line").loc["a"]
    assert (row["claimed"], row["chance"], row["verdict"]) == (40, 29, WITHIN)


def test_a_control_that_is_stopped_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeds that are counted are not counted again; the whole report is the sum of its lines."""
    asked = []

    def report(seed: int, rooms: int, folder: Path) -> null_reports.Claims:
        asked.append(seed)
        yield from (("a", seed == 1), ("b", False))

    monkeypatch.setitem(control.REPORTS, "made up", report)
    hold_control(tmp_path / "kept.csv", ["made up"], [5], range(2), 1.0)
    found = count_lines(hold_control(tmp_path / "kept.csv", ["made up"], [5], range(3), 1.0)).set_index("line")
    assert asked == [0, 1, 2]
    assert (found.loc["a", "claimed"], found.loc[WHOLE, "lines"], found.loc[WHOLE, "claimed"]) == (1, 6, 1)


@pytest.mark.thorough
def test_a_structured_report_of_nothing_claims_little(tmp_path: Path) -> None:
    """Two seeds of one experiment without influence and pull: P values, slopes and echo chambers, and no page is made."""
    made = [line for seed in range(2) for line in structured(seed, 5, tmp_path / str(seed), ("closing",))]
    names = {name for name, _ in made}
    assert {"closing: question", "closing: answer", "closing: drifts", "closing: slopes"} <= names
    assert np.mean([claimed for _, claimed in made]) < 0.25
    assert not list(tmp_path.rglob("*.md"))


@pytest.mark.thorough
def test_the_control_sees_a_pull_that_is_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A speaker with pull drifts: the same count finds the line that is no longer of nothing."""
    monkeypatch.setattr(null_reports, "SPEAKER", "oracle,mu=0.1")
    found = count_seed("summary", 10, 0).set_index("line")
    assert found.loc["drift toward the Default", "claimed"] > found.loc["drift toward the Default", "lines"] / 2
