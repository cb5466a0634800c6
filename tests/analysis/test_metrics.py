"""Each metric on tables small enough to check by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

from parley.analysis.metrics import (
    confidence,
    default_crossing,
    drift,
    first_cycle,
    further_probes,
    metrics,
    polarisation,
    trajectory,
)
from parley.analysis.metrics._cells import default_level
from parley.analysis.metrics.drift import slope
from parley.analysis.tables import Tables, load

ALL = ("trajectory", "drift", "first_cycle", "default_crossing", "further_probes", "confidence", "forecast")
ROOMS = ("polarisation", "text_diversity", "broken_replies", "public_gap")
NEWS = ("contagion", "believers_by_topic", "believers_by_trait")
NETWORKS = ("assortativity", "modularity", "echo_chamber", "consensus", "cascades", "friendship", "exposure")

PLATFORMS = ("spread", "tree_shape", "herd_effect", "recommender_effect")
EMOTIONS = ("emotions", "emotional_contagion")
HERDING = ("herding_time", "wrong_cascades", "welfare", "signal_weights")
TWO_ANSWERS = ("group_consensus",)
GAMES = ("game_moves", "game_points", "expectation_gap", "outcome_diversity")


def row(frame: pd.DataFrame, party: str = "republican") -> pd.Series:
    return frame[frame["party"] == party].iloc[0]


def test_the_folder_is_the_registry() -> None:
    """A metric that is dropped in is found, in its order, with all that summary and tables ask of it."""
    assert tuple(metrics()) == (*ALL, *ROOMS, *NEWS, *NETWORKS, *PLATFORMS, *EMOTIONS, *HERDING, *TWO_ANSWERS, *GAMES)
    for metric in metrics().values():
        assert all(hasattr(metric, name) for name in ("ORDER", "TITLE", "NOTE", "LABELS", "compute"))


def test_trajectory_by_hand(held: Callable) -> None:
    """2, 4, 6: mean 4, sd 2, se 2/sqrt(3); after the round 3, missing, 7: mean 5 of 2 rooms, se sqrt(8)/sqrt(2) = 2."""
    points = trajectory.compute(held(*[{"republican": pair} for pair in ([2, 3], [4, None], [6, 7])]))
    before, after = points.to_dict("records")
    assert (before["n"], before["missing"], before["mean"], before["sd"]) == (3, 0, 4, 2)
    assert before["se"] == pytest.approx(2 / 3**0.5)
    assert (after["n"], after["missing"], after["mean"], after["se"]) == (2, 1, 5, pytest.approx(2))
    assert (after["round"], after["iteration"]) == (1, 2)


def test_one_room_has_a_mean_and_no_standard_error(held: Callable) -> None:
    """A spread of one room is unknown, not zero."""
    only = trajectory.compute(held({"republican": [2, 3]})).iloc[0]
    assert only["mean"] == 2
    assert np.isnan(only["se"])


def test_a_rating_that_is_missing_everywhere_has_no_mean(held: Callable) -> None:
    """No rating is no number."""
    last = trajectory.compute(held({"republican": [2, None]}, {"republican": [4, None]})).iloc[1]
    assert (last["n"], last["missing"]) == (0, 2)
    assert np.isnan(last["mean"])


def test_drift_by_hand(held: Callable) -> None:
    """Default 8. Rooms 2, 4, 5 and 4, 4, 7: from 3 to 6, gap 5, closed 3/5; slopes 1.5 and 1.5."""
    found = row(drift.compute(held(*[{"republican": [2, 4, 5]}, {"republican": [4, 4, 7]}] * 3, reference=8)))
    assert found[["rooms", "missing", "default", "start", "end"]].to_list() == [6, 0, 8, 3, 6]
    assert found["drift"] == 3
    assert found[["drift_low", "drift_high"]].isna().all()  # every room drifts by 3
    assert found[["closed", "rate"]].to_list() == [pytest.approx(0.6), pytest.approx(1.5)]
    assert found["reason"] is None


def test_drift_from_above_is_positive_when_it_falls(held: Callable) -> None:
    """Toward the Default is positive on both sides of it: 9 to 7 over a Default of 5 closes half of 4."""
    found = row(drift.compute(held(*[{"democrat": [9, 7]}] * 5, reference=5)), "democrat")
    assert found[["drift", "closed", "rate"]].to_list() == [2, 0.5, 2]


def test_the_groups_own_default_goes_before_the_reference(held: Callable) -> None:
    """Fig 3: where a Default sits in the room, its own first ratings (mean 6) are the level."""
    rooms = [{"republican": [2, 3], "default": [level, 9]} for level in (5, 7)]
    found = drift.compute(held(*rooms, reference=9))
    assert list(found["party"]) == ["republican"]
    assert found["default"].to_list() == [6]


def test_a_default_among_the_same_party_goes_before_the_reference(held: Callable) -> None:
    """Fig 8: the level of two Republicans by themselves is that of the Defaults seated with two Republicans (5 and 7)."""
    alone = {"republican 1": [2, 3], "republican 2": [2, 3]}
    tables = held(
        alone, *[alone | {"default": [level, 9]} for level in (5, 7)], {"democrat": [9, 9], "default": [1, 1]}, reference=9
    )  # fmt: skip
    group = "republican+republican"
    assert default_level(tables, "racism", group) == (6, 2, f"{group}+default")
    assert drift.compute(tables).set_index("group")["default"][group] == 6
    seated = (tables.attitudes["group"] == f"{group}+default") & (tables.attitudes["party"] == "default")
    tables.attitudes.loc[seated, "attitude"] = np.nan
    assert default_level(tables, "racism", group) == (9, 1, "reference")


def test_the_reference_is_the_mean_over_all_who_were_asked(held: Callable) -> None:
    """4, 5, unread and 9 make 6 over 3; nobody else who is asked outside counts."""
    tables = held({"republican": [2, 3]}, reference=[4, 5, None, 9, 0])
    tables.attitudes.loc[tables.attitudes["attitude"] == 0, "party"] = "republican"
    assert default_level(tables, "racism", "republican") == (6, 3, "reference")


def test_without_any_default_start_and_end_are_there_and_drift_is_not(held: Callable) -> None:
    """No Default, no direction: the numbers are missing and say why."""
    found = row(drift.compute(held({"republican": [2, 5]}, {"republican": [4, 5]})))
    assert found[["start", "end"]].to_list() == [3, 5]
    assert found[["default", "drift", "closed", "rate"]].isna().all()
    assert found["reason"] == "no Default agent was surveyed"


def test_a_default_that_was_asked_and_not_read_is_told_from_one_that_was_not_asked(held: Callable) -> None:
    """A model that refuses leaves the Default's first rating missing: that is no design without a Default."""
    tables = held({"republican": [2, 5]}, reference=[4, 4])
    tables.attitudes.loc[tables.attitudes["party"] == "default", "attitude"] = np.nan
    found = row(drift.compute(tables))
    assert found["reason"] == "no rating of the Default could be read"
    assert found[["start", "end"]].to_list() == [2, 5]


@check_each(
    ("starts", "level", "reason"),
    [
        ((6, 6, 6, 6, 6), 6.02, "starts at the Default's first rating"),
        ((4, 6, 8, 4, 8), 6.8, "whether it starts above or below the Default's first rating is unknown"),
        ((2, 2, 3, 2), 8, "fewer than 5 rooms"),
    ],
)
def test_a_start_at_the_default_has_no_direction(
    starts: tuple[float, ...], level: float, reason: str, held: Callable
) -> None:
    """With a gap of zero, or one that noise explains, moving away and back would look like drift."""
    found = row(drift.compute(held(*[{"republican": [start, 7]} for start in starts], reference=level)))
    assert found["reason"] == reason
    assert found[["drift", "closed"]].isna().all()


def test_a_small_gap_has_a_drift_and_no_share(held: Callable) -> None:
    """0.3 points from the Default: a share would divide by noise."""
    found = row(drift.compute(held(*[{"republican": [5, 6]}] * 5, reference=5.3)))
    assert found["drift"] == 1
    assert np.isnan(found["closed"])


def test_agents_not_rated_first_and_last_are_left_out_and_counted(held: Callable) -> None:
    """Comparing a room's first mean over two with its last over one would be a change of people, not of minds."""
    room = {"republican 1": [2, 3, 4], "republican 2": [9, 9, None]}
    found = row(drift.compute(held(room, room, reference=8)))
    assert found[["rooms", "missing", "start", "end"]].to_list() == [2, 2, 2, 4]


def test_a_gap_in_the_middle_costs_no_agent(held: Callable) -> None:
    """2, missing, 4 still has a drift of 2 and a slope of 1."""
    found = row(drift.compute(held(*[{"republican": [2, None, 4]}] * 2, *[{"republican": [2, 3, 4]}] * 3, reference=8)))
    assert found[["rooms", "missing", "drift", "rate"]].to_list() == [5, 0, 2, 1]


def test_a_gap_in_the_middle_is_no_movement(held: Callable) -> None:
    """Two people stand still, and one has no rating after round 1 in five of ten rooms: no change in round 1.

    The slope is that of people: 0.3 of one, and 2/7 of the other, who has such a gap.
    """
    still, gap = ({"republican 1": [2, 2, 2], "republican 2": [8, middle, 8]} for middle in (8, None))
    found = row(first_cycle.compute(held(*[still] * 5, *[gap] * 5)))
    assert found[["rooms", "missing", "first", "total"]].to_list() == [10, 5, 0, 0]
    rising = held(*[{"republican 1": [2, 2, 2, 3], "republican 2": [8, None, 8, 9]}] * 5, reference=9)
    assert row(drift.compute(rising))["rate"] == pytest.approx((0.3 + 2 / 7) / 2)


def test_nobody_rated_twice_is_a_row_with_a_reason(held: Callable) -> None:
    """An unreadable party is shown as such beside one that can be read."""
    rooms = [{"republican": [None, 3], "democrat": [9, 8]}] * 2
    found = row(drift.compute(held(*rooms, reference=5)))
    assert found[["rooms", "missing"]].to_list() == [0, 2]
    assert found["reason"] == "no agent was rated in both the first and the last survey"


@check_each("rooms", [1, 2, 3, 4])
def test_below_five_rooms_no_line_has_moved(rooms: int, held: Callable) -> None:
    """Two rooms of the oracle said `1.00 (1.00 to 1.00)`, and 17 of 48 lines of the control had moved: no verdict there."""
    tables = held(*[{"republican": [2 + room, 4 + room, 9]} for room in range(rooms)], reference=8)
    found = row(drift.compute(tables))
    assert found["reason"] == "fewer than 5 rooms"
    assert found[["drift", "drift_low", "closed", "rate"]].isna().all()
    assert row(first_cycle.compute(tables))["reason"] == "fewer than 5 rooms"
    assert row(default_crossing.compute(tables))[["beyond", "share"]].isna().all()
    assert default_crossing.headline(default_crossing.compute(tables)).startswith(
        "With fewer than 5 rooms, it is unknown"
    )


def test_a_drift_has_students_interval(held: Callable) -> None:
    """Drifts 1, 3, 2, 4, 3: mean 2.6, SD 1.140, so that half of the interval is 2.776 * 1.140 / sqrt(5) = 1.416."""
    found = row(drift.compute(held(*[{"republican": [2, end]} for end in (3, 5, 4, 6, 5)], reference=8)))
    assert found["drift"] == pytest.approx(2.6)
    assert (found["drift_low"], found["drift_high"]) == pytest.approx((2.6 - 1.4157, 2.6 + 1.4157), abs=1e-3)


def test_slope_ignores_what_is_missing_and_uses_the_rounds() -> None:
    """[[2, 3, 4]] over 0, 1, 2 gives 1; over 0, 1, 5 the least-squares slope is 5/14; [1, nan, 4] over 0, 1, 2 gives 1.5."""
    rows = np.array([[2.0, 3, 4], [1, np.nan, 4]])
    assert slope(rows, np.array([0.0, 1, 2])).tolist() == [1, 1.5]
    assert slope(rows[:1], np.array([0.0, 1, 5])) == pytest.approx([5 / 14])


def test_ends_only_surveys_give_a_rate_per_round_and_no_first_round(held: Callable) -> None:
    """Rounds 0 and 5: 5 points are 1 a round, and what came in round 1 is unknown, not all of it."""
    for ratings, rounds in (([2, 7], (0, 5)), ([2, 4, 7], (0, 2, 5))):
        tables = held(*[{"republican": ratings}] * 5, reference=9, turns=rounds)
        assert row(drift.compute(tables))["rate"] == pytest.approx(1)
        found = row(first_cycle.compute(tables))
        assert np.isnan(found["share"])
        assert found["reason"].startswith("the share needs surveys")


def test_first_cycle_by_hand(held: Callable) -> None:
    """Changes in round 1 of 1 and 2, in all of 3 and 4: share 1.5 / 3.5; the interval is the jackknife's."""
    found = row(first_cycle.compute(held(*[{"republican": [2, 3, 5]}, {"republican": [2, 4, 6]}] * 3)))
    assert found[["rooms", "first", "total"]].to_list() == [6, 1.5, 3.5]
    assert found["share"] == pytest.approx(3 / 7)
    pseudo = [6 * 3 / 7 - 5 * (9 - first) / (21 - total) for first, total in ((1, 3), (2, 4)) for _ in range(3)]
    reach = 2.5706 * np.std(pseudo, ddof=1) / 6**0.5
    assert (found["share_low"], found["share_high"]) == pytest.approx(
        (np.mean(pseudo) - reach, np.mean(pseudo) + reach), abs=1e-4
    )


@check_each(
    ("rooms", "reason"),
    [
        ([[5, 5, 5]] * 5, "no movement to share"),
        ([[5, 6, 6], [5, 4, 4], [5, 6, 4], [5, 5, 6], [5, 5, 5]], "no movement to share"),
        ([[5, 6, 7]], "fewer than 5 rooms"),
        ([[5, 6, 5.5]] * 5, "the change in round 1 was larger than the whole change"),
        ([[5, None, 7], [5, None, 7]], "the share needs surveys before round 1, after round 1 and later"),
    ],
)
def test_first_cycle_without_a_share_says_why(rooms: list, reason: str, held: Callable) -> None:
    """Constant ratings, noise, one room, an unread first round: no division by nothing."""
    found = row(first_cycle.compute(held(*[{"republican": ratings} for ratings in rooms])))
    assert np.isnan(found["share"])
    assert found["reason"] == reason
    nothing = "No party's opinions changed" if reason == "no movement to share" else "unknown what share"
    assert nothing in first_cycle.headline(first_cycle.compute(held(*[{"republican": ratings} for ratings in rooms])))


def test_rooms_without_a_first_round_are_not_counted(held: Callable) -> None:
    """The share stands on the rooms that have all three ratings."""
    rooms = [{"republican": ratings} for ratings in ([2, 3, 4], [2, 4, 6], [2, None, 9])]
    assert row(first_cycle.compute(held(*rooms * 3)))[["rooms", "share"]].to_list() == [6, 0.5]


def test_crossing_by_hand(held: Callable) -> None:
    """Default 5. Ends 6, 6, 5.25, 3.75: 1, 1, 1/4, -5/4 beyond, mean 1/4; 4 of 8 by half a point; crossed in round 2."""
    rooms = [[3, 4, 6], [3, 5, 6], [3, 5, 5.25], [3, 4, 3.75]]
    found = row(default_crossing.compute(held(*[{"republican": room} for room in rooms * 2], reference=5)))
    assert found[["rooms", "round", "beyond", "share"]].to_list() == [8, 2, 0.25, 0.5]
    assert (found["share_low"], found["share_high"]) == pytest.approx((0.215, 0.785), abs=5e-4)


def test_a_line_that_never_crosses_has_no_round_and_no_false_certainty(held: Callable) -> None:
    """0 of 5 rooms leaves room for 43% (Wilson): an interval of the mean would claim exactly none."""
    found = row(default_crossing.compute(held(*[{"republican": [3, 4, 4]}] * 5, reference=5)))
    assert found["round"] is pd.NA
    assert (found["beyond"], found["share"], found["share_low"]) == (-1, 0, 0)
    assert found["share_high"] == pytest.approx(0.434, abs=1e-3)


def test_an_oscillating_default_is_compared_round_by_round_in_its_own_room(held: Callable) -> None:
    """Default 6, 3, 8 against 4, 4, 4: beyond it after round 1 only, and 4 short of it at the end."""
    found = row(default_crossing.compute(held(*[{"republican": [4, 4, 4], "default": [6, 3, 8]}] * 5)))
    assert found[["round", "beyond", "share"]].to_list() == [1, -4, 0]


def test_each_room_meets_its_own_default(held: Callable) -> None:
    """Ends 6 against 7 and 8 against 7.2: mean -0.1, one room half a point beyond; the mean line would say the same by luck."""
    rooms = [{"republican": [2, 6], "default": [6, 7]}, {"republican": [2, 8], "default": [6, 7.2]}]
    found = row(default_crossing.compute(held(*rooms * 3)))
    assert found["beyond"] == pytest.approx(-0.1)
    assert found[["rooms", "share"]].to_list() == [6, 0.5]


def test_a_room_whose_default_has_no_last_rating_is_left_out(held: Callable) -> None:
    """Without its line a room cannot have crossed it, nor not crossed it."""
    rooms = [{"republican": [2, 8], "default": [6, last]} for last in (None, 7)]
    assert row(default_crossing.compute(held(*rooms * 5)))[["rooms", "beyond"]].to_list() == [5, 1]


@pytest.mark.thorough
@check_each("name", ALL)
def test_surveys_never_held_or_held_once_give_an_empty_table(name: str, held: Callable, ran: Callable) -> None:
    """No ratings is no result: no rows, no warning, the same columns as ever."""
    full = metrics()[name].compute(held(*[{"republican": [2, 3, 4]}] * 2, reference=8))
    never = metrics()[name].compute(load(ran(survey="never")))
    assert len(never) == 0
    assert list(never.columns) == list(full.columns)
    if name != "trajectory":
        assert len(metrics()[name].compute(held({"republican": [2]}, reference=8))) == 0


@check_each("name", ALL)
def test_a_run_asked_at_both_ends_has_every_metric(name: str, ran: Callable) -> None:
    """survey=ends is a run like any other; its rounds are 0 and 2."""
    tables = load(ran(survey="ends", also="confidence", forecast="true"))
    assert set(tables.attitudes["round"]) == {0, 2}
    assert set(metrics()[name].compute(tables)["party"]) >= {"republican", "democrat"}


def test_parties_come_in_seating_order(held: Callable) -> None:
    """Tables read in the order in which people sit, not in that of the alphabet."""
    found = first_cycle.compute(held(*[{"republican": [2, 3, 4], "default": [5, 5, 6], "democrat": [9, 8, 7]}] * 2))
    assert list(found["party"]) == ["republican", "default", "democrat"]


def test_columns_keep_their_types_when_all_is_missing(held: Callable) -> None:
    """A column that is empty in one run and full in the next can be put together."""
    full = held(*[{"republican": [3, 6]}] * 2, reference=5)
    for metric in (drift, default_crossing):
        known = metric.compute(full).dtypes
        assert metric.compute(held(*[{"republican": [3, 6]}] * 2)).dtypes.equals(known)
        assert metric.compute(held({"republican": [3]})).dtypes.equals(known)


def test_headlines_count_what_the_tables_say(held: Callable) -> None:
    """The sentence on top and the table below cannot disagree."""
    rooms = [{"republican": [2, 5, end], "democrat": [9, 9, 9]} for end in (6.8, 6.9, 7, 7.1, 7.2)]
    tables = held(*rooms, reference=6)
    assert "Of 2 parties, 1 crossed the model's own opinion" in default_crossing.headline(
        default_crossing.compute(tables)
    )
    told = first_cycle.headline(first_cycle.compute(tables))
    assert "brought 60% (58% to 62%) of the whole change in the opinions of 1 party." in told
    both = first_cycle.compute(held(*[room | {"democrat": [9, 7, 13 - room["republican"][2]]} for room in rooms]))
    assert "brought 60% to 67% of the whole change in the opinions of 2 parties." in first_cycle.headline(both)


def test_a_share_that_may_be_anything_is_no_headline(held: Callable) -> None:
    """0.38 (0.00 to 1.00) was printed as "38%": a share is named with its interval, and only where that is narrower than half."""
    rooms = [{"republican": [2, first, end]} for first, end in ((2, 4), (5, 4), (1, 5), (6, 5), (3, 5), (2, 4))]
    found = first_cycle.compute(held(*rooms, reference=9))
    assert row(found)["share_high"] - row(found)["share_low"] > 0.5
    assert first_cycle.headline(found) == (
        "The share of the change that came in round 1 is too uncertain to report (1 party changed by more than chance)."
    )


def test_no_share_of_a_gap_is_closed_by_a_drift_that_may_be_chance(held: Callable) -> None:
    """A drift of 0.5 (-0.28 to 1.28) had a share of gap closed of 0.45."""
    found = row(drift.compute(held(*[{"republican": [5, end]} for end in (4, 7, 5, 6, 5, 7)], reference=8)))
    assert found["drift_low"] < 0 < found["drift_high"]
    assert np.isnan(found["closed"])
    assert found["reason"] == "share: drift is not distinguishable from zero"


def test_opinions_are_the_means_of_the_answers_where_they_are_known(ran: Callable) -> None:
    """Asked at temperature 0, an opinion of 8.4 is 8 each time: 16 of 20 lines of a control moved, with the mean 1 of 20."""
    tables = load(ran("three_way", repetitions=5))
    ratings = tables.attitudes
    assert set(ratings["measure"]) == {"expected"}
    assert ratings["attitude"].equals(ratings["expected"].rename("attitude"))
    assert (ratings["answer"] == ratings["answer"].round()).all()
    assert set(drift.compute(tables)["measure"]) == {"expected"}


def test_nothing_moves_where_nothing_is_planted(ran: Callable) -> None:
    """The control, without influence and pull: of 6 lines one at most by chance (benchmarks/control.py counts over 20 seeds)."""
    tables = load(ran("three_way", topic="racism,climate_change", repetitions=10, seed=2, llm="oracle,kappa=0,mu=0"))
    drifts, spread = drift.compute(tables), polarisation.compute(tables).groupby("topic").tail(1)
    made = int((drifts["drift_low"] > 0).sum() + (drifts["drift_high"] < 0).sum())
    assert made + int((spread["change_low"] > 0).sum() + (spread["change_high"] < 0).sum()) <= 1


@check_each(
    ("end", "reference", "reason"),
    [
        (9, 8, "share: ends beyond the Default's first rating"),
        (1, 8, "share: moves away from the Default's first rating"),
        (2.5, 2.8, "share: less than 1 point from the Default's first rating"),
    ],
)
def test_an_impossible_share_of_the_gap_is_left_empty(
    end: float, reference: float, reason: str, held: Callable
) -> None:
    """1.61 (1.22 to 3.10) of a gap of half a point was printed: a share is between 0 and 1, or there is a reason."""
    found = row(
        drift.compute(held(*[{"republican": [2, end + more]} for more in (0, 0.1, 0.2, 0.3, 0.4)], reference=reference))
    )
    assert np.isnan(found["closed"])
    assert found["reason"] == reason


def test_the_interval_of_a_share_ends_at_0_and_1(held: Callable) -> None:
    """Two of three points closed, with rooms far apart: the interval cannot say more than all of the gap."""
    found = row(drift.compute(held(*[{"republican": [5, end]} for end in (5, 9, 6, 8, 7)], reference=8)))
    assert found["closed"] == pytest.approx(2 / 3)
    assert (0 < found["closed_low"] < 2 / 3, found["closed_high"]) == (True, 1)
    ahead = held(
        *[{"republican": [2, first, 4]} for first in (6, 7, 5, 6, 6)], *[{"republican": [2, 6, 5]}], reference=8
    )
    assert row(first_cycle.compute(ahead))["reason"] == "the change in round 1 was larger than the whole change"


def bets(held: Callable, *rooms: dict[str, list[float | None]]) -> Tables:
    """Tables whose attitudes are all 5, with confidence as a further probe."""
    tables = held(*[{seat: [5.0] * len(ratings) for seat, ratings in room.items()} for room in rooms])
    told = tables.attitudes.copy()
    told["probe"] = "confidence"
    for number, room in enumerate(rooms):
        for seat, ratings in room.items():
            here = told["room"].str.endswith(f"/{number}") & (told["seat"] == seat)
            told.loc[here, "rating"] = np.array(ratings, dtype=float)
    return replace(tables, probes=told.assign(attitude=np.nan))


def test_confidence_by_hand(held: Callable) -> None:
    """Rooms 60 to 80 and 50 to 90: escalation 30; both sides at 75 or more in one of two rooms, though one's bet was 74."""
    tables = bets(held, {"republican": [60, 80], "democrat": [70, 76]}, {"republican": [50, 90], "democrat": [70, 74]})
    found = row(confidence.compute(tables))
    assert found[["rooms", "missing", "start", "end", "escalation"]].to_list() == [2, 0, 55, 85, 30]
    assert found[["whole", "sure"]].to_list() == [2, 0.5]
    assert confidence.headline(confidence.compute(tables)).startswith(
        "Agents' confidence in their own position ended 17.5 of 100 points higher than it began"
    )
    assert "Confidence rose by more than chance in 0 parties and fell in 0; for 2" in confidence.headline(
        confidence.compute(tables)
    )  # two rooms


def test_a_missing_bet_is_no_doubt(held: Callable) -> None:
    """A room in which one bet could not be read is not counted among those that could be sure: nor as unsure."""
    tables = bets(
        held, {"republican": [60, 80], "democrat": [70, None]}, {"republican": [50, 90], "democrat": [70, 80]}
    )
    found = confidence.compute(tables)
    assert found["whole"].to_list() == [1, 1]
    assert found["sure"].to_list() == [1.0, 1.0]
    assert row(found, "democrat")[["rooms", "missing"]].to_list() == [1, 1]


def test_further_probes_keep_their_scale(held: Callable) -> None:
    points = further_probes.compute(bets(held, {"republican": [60, 80]}, {"republican": [50, 90]}))
    assert points["mean"].to_list() == [55, 85]
    assert points["probe"].unique().tolist() == ["confidence"]


def test_without_further_probes_there_is_nothing_to_say(held: Callable) -> None:
    """A run that asks for none has empty tables and no headline."""
    tables = held({"republican": [2, 3]})
    assert further_probes.compute(tables).empty
    assert confidence.compute(tables).empty


def test_every_metric_of_attitudes_is_the_same_with_further_probes(ran: Callable) -> None:
    """Whatever pivots attitudes must see the main probe alone, or a bet of 80 becomes an attitude of 8."""
    with_, without = (load(ran("three_way", rounds=2, **more)) for more in ({"also": "confidence,attitude:public"}, {}))
    assert with_.attitudes.equals(without.attitudes)
    assert sorted(with_.probes["probe"].unique()) == ["attitude:public", "confidence"]
    assert without.probes.empty
    for name in ("trajectory", "drift", "first_cycle", "default_crossing"):
        assert metrics()[name].compute(with_).equals(metrics()[name].compute(without))
