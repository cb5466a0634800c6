"""Before and after fine-tuning: speakers whose bias is known stand for the models, so that the right figures are known too."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.analysis.studies.fine_tuned import (
    AFTER,
    BEFORE,
    SEATS,
    Arm,
    StudyRecords,
    TuningResult,
    drift,
    fine_tuned,
    fine_tuned_figure,
    measured,
    shifts,
    side,
    sides,
    write_fine_tuned,
)
from parley.analysis.tables import load
from parley.llm.backends.oracle.dynamics import planted
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario

pytestmark = [pytest.mark.thorough, pytest.mark.usefixtures("pictures")]

ROOMS = 12
BASE = load_preset("fine_tuned").with_settings({"topic": "racism,illegal_immigration", "repetitions": ROOMS})
ARMS = (
    Arm(BEFORE, "oracle"),
    Arm(AFTER, "oracle,bias=2", "republican", 0),
    Arm(AFTER, "oracle,bias=3", "republican", 1),
    Arm(AFTER, "oracle", "democrat", 0),
    Arm(SEATS, "oracle,kappa=0,mu=0,sigma=0", "", 0),
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> TuningResult:
    study = fine_tuned(BASE, ARMS)
    scenario = next(study)
    try:
        for number, _ in enumerate(ARMS):
            folder = tmp_path_factory.mktemp("arm") / f"{number}"
            run_scenario(RunSpec(scenario, folder))
            scenario = study.send(load(folder))
    except StopIteration as done:
        result: TuningResult = done.value
        return result
    pytest.fail("the study does not end")


def row(frame: pd.DataFrame, **keys: str) -> pd.Series:
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_a_shift_is_that_of_the_known_bias(found: TuningResult) -> None:
    """The mean over two trainings of what each moved, within rooms: from the planted bias to 2 and to 3."""
    for topic in BASE.subject.topic:
        was = planted()[topic].bias
        told = row(found.shifts, direction="republican", topic=topic, party="default", measure="first expected")
        assert told["before"] == pytest.approx(was)
        assert told["shift"] == pytest.approx(2.5 - was)
        assert told["seeds"] == pytest.approx((2 - was, 3 - was), abs=1e-3)
        assert told["rooms"] == ROOMS
        assert told["wanted"] == {"racism": -1, "illegal_immigration": 1}[topic]


def test_the_same_model_is_no_shift_at_all(found: TuningResult) -> None:
    """Same rooms, people and seeds: whatever differs is the model's."""
    same = found.shifts[found.shifts["direction"] == "democrat"]
    assert len(same) == 2 * 3 * 5
    assert (same["shift"].abs() < 1e-12).all()


def test_one_adapter_is_one_training_however_many_rooms(found: TuningResult) -> None:
    """Forty rooms that ask one identical question gave an interval of no width, and a "sure" shift of .001."""
    first = found.shifts[
        found.shifts["measure"].isin(["first", "first expected"]) & (found.shifts["party"] == "default")
    ]
    assert first[["shift_low", "rooms_low"]].isna().all(axis=None)
    assert found.shifts["shift_low"].isna().all(), "two training seeds have no interval"


def shifted(*seeds: float) -> pd.Series:
    """The Default's first rating where each adapter moves it by so much, in every room alike."""

    def tables(value: float) -> _Bare:
        return _Bare(two_rooms(*[(f"{room}", 0, value, value) for room in range(6)], party="default"))

    arms = [Arm(BEFORE, ""), *[Arm(AFTER, "", "republican", seed) for seed, _ in enumerate(seeds)]]
    held = [StudyRecords(arm, tables(8 + by)) for arm, by in zip(arms, (0.0, *seeds), strict=True)]  # type: ignore[arg-type]
    return row(shifts(held), measure="first expected")


def test_five_training_seeds_have_an_interval_of_students_t() -> None:
    """By hand: mean -1, SD .5, t(4) = 2.776: -1 +- .62. Four seeds, and five that are all alike, have none."""
    told = shifted(-0.5, -0.75, -1.0, -1.25, -1.5)
    spread = np.std([-0.5, -0.75, -1.0, -1.25, -1.5], ddof=1)
    assert told["shift_low"] == pytest.approx(-1 - 2.776 * spread / np.sqrt(5), abs=0.12)
    assert told["shift_high"] < 0
    assert np.isnan(told["rooms_low"])
    for few in ((-0.5, -0.75, -1.0, -1.25), (-1.0,) * 5):
        assert np.isnan(shifted(*few)["shift_low"])


def test_where_nothing_pulls_there_is_no_drift(found: TuningResult) -> None:
    exact = found.remedy[found.remedy["measure"] == "drift expected"]
    for told in exact.to_dict("records"):
        assert told["after"] == pytest.approx(0.0, abs=1e-9)
        assert told["shift"] == pytest.approx(-told["before"])
    pulled = exact[exact["before"] > 0.5]
    assert len(pulled) >= 2
    assert (pulled["rooms_high"] < 0).all()
    assert pulled["shift_high"].isna().all(), "one training seed: nothing can be said of another"


def test_missing_ratings_leave_their_room_out() -> None:
    """Not a zero, and not half a pair."""
    ratings = pd.DataFrame(
        [("a", 0, 4.0), ("a", 1, 6.0), ("b", 0, 4.0), ("b", 1, np.nan), ("c", 0, 5.0), ("c", 1, 9.0)],
        columns=["room", "round", "answer"],
    ).assign(topic="racism", party="default", expected=np.nan)
    tables = _Bare(ratings)
    other = _Bare(ratings.assign(answer=ratings["answer"] + 1))
    (last,) = [
        told
        for told in shifts(
            [StudyRecords(Arm(BEFORE, ""), tables), StudyRecords(Arm(AFTER, "", "democrat"), other)]
        ).to_dict("records")  # type: ignore[arg-type]
        if told["measure"] == "last"
    ]
    assert (last["before"], last["after"], last["rooms"]) == (7.5, 8.5, 2)
    assert ("racism", "default", "first expected") not in measured(tables)  # type: ignore[arg-type]


class _Bare:
    """What the study reads of a record."""

    def __init__(self, attitudes: pd.DataFrame):
        self.attitudes = attitudes
        self.utterances = pd.DataFrame(columns=["topic", "party", "room", "text"])


def two_rooms(*ratings: tuple[str, int, float, float], party: str = "republican") -> pd.DataFrame:
    """Rows of room, round, answer and expected attitude."""
    columns = ["room", "round", "answer", "expected"]
    return pd.DataFrame(ratings, columns=columns).assign(topic="racism", party=party)


def test_a_party_whose_ratings_were_not_read_leaves_its_lines_empty() -> None:
    """After hours of debates: neither an error nor a zero."""
    rest = two_rooms(("a", 0, 5.0, np.nan), ("a", 1, 6.0, np.nan), party="democrat")
    whole = two_rooms(("a", 0, 4.0, np.nan), ("a", 1, 6.0, np.nan))
    for unread in (
        whole.assign(answer=[4.0, np.nan]),
        whole.assign(answer=[np.nan, 6.0]),
        whole.assign(answer=np.nan),
    ):
        arms = [_Bare(pd.concat([whole, rest])), _Bare(pd.concat([unread, rest]))]
        held = [StudyRecords(Arm(BEFORE, ""), arms[0]), StudyRecords(Arm(AFTER, "", "democrat"), arms[1])]  # type: ignore[arg-type]
        told = shifts(held).set_index(["party", "measure"])["rooms"]
        assert told["republican"].tolist() == unread["answer"].notna().tolist()
        assert told["democrat"].tolist() == [1, 1]
        measured(arms[1])  # type: ignore[arg-type]


def test_drift_has_the_same_direction_in_all_arms() -> None:
    """Toward the Default as it is before: an arm in which people begin on its other side must not turn the sign. What is
    expected goes by what is expected of both.
    """
    default = two_rooms(("a", 0, 5.0, 3.0), ("a", 1, 5.0, 3.0), party="default")
    before = _Bare(pd.concat([two_rooms(("a", 0, 4.0, 4.0), ("a", 1, 4.5, 4.5)), default]))
    after = _Bare(pd.concat([two_rooms(("a", 0, 6.0, 2.0), ("a", 1, 6.5, 2.5)), default]))
    toward = sides(before)  # type: ignore[arg-type]
    assert toward == {("racism", "republican", "drift"): 1, ("racism", "republican", "drift expected"): -1}
    for tables in (before, after):
        found = drift(tables, toward)  # type: ignore[arg-type]
        assert found["racism", "republican", "drift"].tolist() == [0.5]
        assert found["racism", "republican", "drift expected"].tolist() == [-0.5]


def test_where_the_default_is_on_no_side_there_is_no_drift_to_tell() -> None:
    default = two_rooms(("a", 0, 4.0, np.nan), party="default")
    tables = _Bare(pd.concat([two_rooms(("a", 0, 4.0, np.nan), ("a", 1, 6.0, np.nan)), default]))
    (found,) = drift(tables, sides(tables)).values()  # type: ignore[arg-type]
    assert found.isna().all()


def test_sides_are_those_of_the_paper() -> None:
    """Republican fine-tuning lowers climate change, guns and racism and raises immigration."""
    found = {
        topic: side(topic, "republican")
        for topic in ("climate_change", "gun_violence", "racism", "illegal_immigration")
    }
    assert found == {"climate_change": -1, "gun_violence": -1, "racism": -1, "illegal_immigration": 1}
    assert side("climate_change", "democrat") == 1


def test_the_report_says_it_in_words_and_pictures(found: TuningResult, tmp_path: Path) -> None:
    path = write_fine_tuned(found, tmp_path / "out", BASE)
    told = path.read_text()
    assert "There are 2 training seeds: the results hold for these adapters only" in told
    for party in ("Republican", "Democrat"):
        assert re.search(
            rf"- `first`: the Default changes by (\d\.\d\d of 10 points (toward|away from) the {party} side|0\.00 of 10)",
            told,
        )
    assert "The 95% interval over rooms is on that party's side on" in told
    assert "There is no adapter of shuffled parties" in told
    assert "training seeds are needed to show that the training method works" in told
    drawn = fine_tuned_figure(found, "caption")
    assert len(drawn.axes) == 2 * 3 * 2, "what the paper draws and what is expected, by direction and topic"
    assert drawn.caption.startswith("Opinions in the same debates, before and after fine-tuning. ")
    assert "Bars: one standard error, over 2 training seeds" in drawn.caption
    assert found.points["expected_error"].notna().any()
    assert "| Racism | Default | first |" in told
    assert "oracle (known-truth speaker)" in told
    assert "not evidence about people" in told
    assert (tmp_path / "out" / "fine_tuned.png").stat().st_size > 20_000
    assert {"points.csv", "shifts.csv", "remedy.csv"} <= {one.name for one in (tmp_path / "out").iterdir()}
