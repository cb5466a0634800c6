"""Courses of people beside a reader: by hand on a small table, and what the public table says where it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.__main__ import main
from parley.llm.errors import UserError
from parley.studies.belief_reader.human import by_turn, change_of, read_traces, reader_steps, turn_steps

HEAD = "round,control_dialogue,audio,participant_proposition,persuader_supports,initial_belief,final_belief,"
HEAD += "belief_after_each_turn"
DATA = Path(__file__).parents[3].parent / "shared" / "data"


def folder(tmp_path: Path, rows: list[str]) -> Path:
    path = tmp_path / "persuasiontrace_human_belief_traces.csv"
    path.write_text("\n".join([HEAD, *rows]), encoding="utf-8")
    return tmp_path


def talks(count: int, step: float) -> list[str]:
    """Return talks for the claim in which belief rises by `step` and then half of it; and control talks in which it stays."""
    rows = []
    for number in range(count):
        start = 0.3 + 0.01 * number
        first = start + step * (1 + 0.1 * (-1) ** number)
        last = first + step / 2 * (1 + 0.1 * (-1) ** (number // 2))
        rows.append(f"{number},False,False,False,True,{start:.3f},{last:.3f},{first:.4f};{last:.4f}")
        rows.append(f"{number},True,False,False,True,{start:.3f},{start + 0.001 * (number % 3):.3f},0.5;0.5")
    return rows


def test_steps_of_people_and_readers_by_hand(tmp_path: Path) -> None:
    """People move 20 and 10 points; a reader with a weight of 1 who begins at 50% moves 23.1, and then 8.7 or 15.0."""
    source = read_traces(folder(tmp_path, talks(12, 0.2))).source
    steps = turn_steps(source)
    assert len(steps) == 24, "control talks are left out"
    assert by_turn(steps, "people")["toward"].to_numpy() == pytest.approx([20, 10], abs=0.1)
    start = pd.DataFrame({"talk": ["a", "a"], "turn": [1, 2], "before": [0.5, 0.9], "step": [0.0, 0.0]})
    assert reader_steps(start, 1.0, 0.5)["step"].to_numpy() == pytest.approx([23.106, 8.652], abs=1e-3)
    assert reader_steps(start, 1.0, 1.0)["step"].to_numpy() == pytest.approx([23.106, 14.974], abs=1e-3)
    assert change_of(source, True).value == pytest.approx(0.1, abs=0.02)


def test_few_talks_have_no_interval(tmp_path: Path) -> None:
    row = by_turn(turn_steps(read_traces(folder(tmp_path, talks(3, 0.2))).source), "people").iloc[0]
    assert np.isnan(row["toward_low"])


def test_a_folder_without_the_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not have the file persuasiontrace"):
        read_traces(tmp_path)


def test_the_command_writes_what_cannot_be_compared(tmp_path: Path) -> None:
    data, out = folder(tmp_path, talks(12, 0.2)), tmp_path / "out"
    assert main(["study", "belief-traces", str(data), "--out", str(out)]) == 0
    page = (out / "belief-traces.md").read_text(encoding="utf-8")
    assert "People moved 20.0" in page
    assert "What cannot be compared" in page
    assert (out / "turns.png").is_file()


@pytest.mark.skipif(not DATA.is_dir(), reason="the public data are no part of this checkout")
def test_the_public_table() -> None:
    """People move 9.1 points in the first turn and 5.6 in the second; 18% of first steps go back, and no reader's does."""
    traces = read_traces(DATA)
    people = by_turn(turn_steps(traces.source), "people").set_index("turn")
    assert people.loc[[1, 2], "toward"].to_numpy() == pytest.approx([9.1, 5.6], abs=0.05)
    assert people.loc[1, "back"] == pytest.approx(0.18, abs=0.01)
    assert traces.clusters is not None
