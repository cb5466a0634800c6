"""What is said of a shift beside adapters that were trained on shuffled parties."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from parley.analysis.studies.fine_tuned import (
    AFTER,
    BEFORE,
    SHUFFLED,
    Arm,
    StudyRecords,
    _headlines,
    _null,
    _shift,
    shifts,
)


def nulled(real: float, *nulls: float) -> pd.DataFrame:
    """Shifts where an adapter moves the Default by `real`, and adapters of shuffled parties by `nulls`, more in some rooms."""

    def tables(by: float) -> SimpleNamespace:
        """What the study reads of a record."""
        rooms = [(f"{room}", 0, 8 + by * (1 + 0.1 * (room % 2)), np.nan) for room in range(6)]
        ratings = pd.DataFrame(rooms, columns=["room", "round", "answer", "expected"])
        lines = pd.DataFrame(columns=["topic", "party", "room", "text"])
        return SimpleNamespace(attitudes=ratings.assign(topic="racism", party="default"), utterances=lines)

    arms = [Arm(AFTER, "", "republican"), *[Arm(SHUFFLED, "", null=f"{place}") for place, _ in enumerate(nulls)]]
    records = [StudyRecords(arm, tables(by)) for arm, by in zip(arms, (real, *nulls), strict=True)]  # type: ignore[arg-type]
    return shifts([StudyRecords(Arm(BEFORE, ""), tables(0.0)), *records])  # type: ignore[arg-type]


def test_a_shift_is_said_with_what_shuffled_parties_move() -> None:
    """By hand: rooms move by 1 and 1.1 times -2, so by -2.1, .42 and -.21 on average; the Republican side of racism is down."""
    rows = nulled(-2.0, 0.4, -0.2)
    (told,) = rows[rows["measure"] == "first"].to_dict("records")
    assert told["shift"] == pytest.approx(-2.1)
    assert told["shuffled"] == (0.42, -0.21)
    (line, _) = _headlines(rows, "Republican")
    assert "changes by 2.10 of 10 points toward the Republican side" in line
    assert "interval over rooms is on that party's side on 1 of 1 topic," in line
    moves = "it moves 0.42 points away from that side and 0.21 points toward that side: smaller with each such adapter."
    assert f"parties {moves}" in line
    assert "probability of 1 in 3, so this is no test at the 5% level" in _null(rows)


def test_no_interval_leaves_the_scale() -> None:
    """On a real model a fall from 10 to 3 points had the interval -12.1 to -1.9."""
    before, after = pd.Series([10.0] * 5), pd.Series([0.0, 0.0, 5.0, 10.0, 0.0])
    found = _shift(before, [after], (-10.0, 10.0))
    assert found["shift"] == -7
    assert -10 <= found["rooms_low"] < -7 < found["rooms_high"]


def test_no_sentence_says_more_than_the_null() -> None:
    """Training moves ratings whoever answered: without that, -2.1 points read as the party's doing."""
    (line, _) = _headlines(nulled(-2.0, -2.5, 0.1), "Republican")
    moves = (
        "it moves 2.62 points toward that side and 0.10 points away from that side: not smaller with each such adapter"
    )
    assert moves in line
    assert _null(pd.DataFrame({"shuffled": [(0.1,) * 19]})).endswith("1 in 20.")
