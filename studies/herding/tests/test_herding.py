"""Measures of herding: by hand, on people with planted weights, and on people who do not look at each other."""

from __future__ import annotations

import math
import random
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from hypothesis import given
from hypothesis import strategies as st

import parley
from parley.__main__ import main
from parley.analysis.tables import load
from parley.studies.herding import herding_time, signal_weights, welfare, wrong_cascades
from parley.studies.herding.law import ALONE, BAYESIAN, Person, choice_probability, outcomes, updated
from parley.studies.herding.optimum import Aim, best_precision, fixed_value, planned_value
from parley.studies.herding.report import PLANNERS, _within_speakers, sentences, write

RANDOM = Person(own=0, public=0, noise=1)
COLUMNS = (
    "topic", "group", "room", "repetition", "round", "position", "state", "prior", "precision", "cost", "signal", "act",
    "probability",
)  # fmt: skip


def tables(rows: list[tuple[Any, ...]], **options: Any) -> Any:
    """Just enough of the tables of a run for these measures."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    return SimpleNamespace(decisions=frame, header=SimpleNamespace(scenario={"options": options}))


def simulated(
    person: Person, seed: int, rooms: int = 30, size: int = 10, aim: Aim | None = None, precision: float = 0.7
) -> Any:
    """People who choose by the law, with acts alone: no probabilities are told."""
    rng, rows = random.Random(f"{person} {seed}"), []
    for room in range(rooms):
        state, belief = rng.choice("AB"), 0.0
        for position in range(1, size + 1):
            level = best_precision(belief, size - position + 1, aim) if aim else precision
            signal = state if rng.random() < level else "AB".replace(state, "")
            chance = choice_probability(belief, signal, level, "coin", person)
            act = "A" if rng.random() < chance else "B"
            rows.append(("t", "g", f"r{room}", room, 1, position, state, 0.5, level, 0.0, signal, act, math.nan))
            belief = updated(belief, act, level, "coin")
    return tables(rows, size=size, precision=precision)


def by_hand(*periods: tuple[str, str, str], **options: Any) -> Any:
    """A room per period: the state, the signals, and the acts (? for a missing one)."""
    rows = [
        ("t", "g", f"r{room}", room, 1, place, state, 0.5, 0.7, 0.0, signal, None if act == "?" else act, math.nan)
        for room, (state, signals, acts) in enumerate(periods)
        for place, (signal, act) in enumerate(zip(signals, acts, strict=True), 1)
    ]
    return tables(rows, **options)


def test_cascades_and_welfare_by_hand() -> None:
    """AA is a cascade on A from the third person on. In the first room it is wrong and no one leaves it, in the second B leaves,
    in the third a missing act is left out, in the fourth there are only two people with different acts.
    """
    run = by_hand(("B", "AABB", "AAAA"), ("A", "AAAB", "AAAB"), ("A", "AABA", "A?AA"), ("A", "AB", "AB"), size=4)
    found = wrong_cascades.compute(run).iloc[0]
    assert (found["wrong"], found["left"], found["right"], found["none"]) == (0.25, 0.25, 0.25, 0.25)
    assert (found["rooms"], found["missing"]) == (4, 1)
    assert found["followed"] == pytest.approx((2 + 1 + 1) / (2 + 2 + 1))
    assert math.isnan(found["wrong_low"])
    assert found["reason"] == "fewer than 5 rooms"
    assert "is unknown" in wrong_cascades.headline(wrong_cascades.compute(run))
    well = welfare.compute(run).iloc[0]
    assert well["right"] == pytest.approx((0 + 3 / 4 + 1 + 1 / 2) / 4)
    assert well["alone"] == pytest.approx((2 / 4 + 3 / 4 + 2 / 3 + 1 / 2) / 4)


@given(st.text(alphabet="AB", min_size=1, max_size=6))
def test_chance_is_the_mean_over_all_orders(acts: str) -> None:
    every = [herding_time.herding_time(order) for order in permutations(acts)]
    assert herding_time.chance_time(acts) == pytest.approx(np.mean(every))


def test_herding_time_by_hand() -> None:
    found = herding_time.compute(by_hand(("A", "AAAA", "BAAA"), ("A", "AA", "AB"), ("A", "A", "?"))).iloc[0]
    assert found["time"] == 2.0
    assert found["chance"] == pytest.approx((5 - 3 / 2 - 1 / 4 + 2) / 2)
    assert "time: fewer than two readable choices (1 of 3 rooms)" in found["reason"]


@pytest.mark.thorough
@check_each("seed", range(4))
def test_bayesians_have_the_wrong_cascades_of_theory(seed: int) -> None:
    """The interval of 99.9% around the share of 200 periods covers what Bikhchandani, Hirshleifer and Welch compute."""
    found = wrong_cascades.compute(simulated(BAYESIAN, seed, rooms=200)).iloc[0]
    assert found["wrong_bayes"] == pytest.approx(outcomes(0.5, 0.7, "coin", 10).wrong)
    assert abs(found["wrong"] - found["wrong_bayes"]) < 3.3 * math.sqrt(0.247 * 0.753 / 200)
    assert (found["left"], found["followed"]) == (0, 1)


@pytest.mark.thorough
def test_who_follows_own_signals_gains_nothing_and_herds_no_earlier_than_by_chance() -> None:
    """The null: gain exactly 0 in every room; herding found in about 1 of 40 runs on each side; as many wrong cascades as the
    exact null says.
    """
    found = [simulated(ALONE, seed) for seed in range(30)]
    assert all(welfare.compute(run).iloc[0]["gain"] == 0 for run in found[:5])
    earlier = [herding_time.compute(run).iloc[0] for run in found]
    assert sum(row["earlier_low"] > 0 for row in earlier) <= 4
    assert sum(row["earlier_high"] < 0 for row in earlier) <= 4
    wrong = [wrong_cascades.compute(run).iloc[0] for run in found]
    assert np.mean([row["wrong"] for row in wrong]) == pytest.approx(wrong[0]["wrong_alone"], abs=0.01)
    assert "gain nothing" in welfare.headline(welfare.compute(found[0]))


@check_each("metric", [herding_time, welfare, wrong_cascades, signal_weights])
def test_headlines_tell_of_every_group(metric: Any) -> None:
    """People who follow others herd and those of a second group do not: the first row does not speak for the second."""
    first, second = (
        metric.compute(simulated(person, 3, rooms=40)) for person in (Person(noise=1, public=2), Person(noise=1))
    )
    both = pd.concat([first.assign(group="a"), second.assign(group="b")], ignore_index=True)
    assert metric.headline(both) == f"a: {metric.headline(first)} b: {metric.headline(second)}"


def test_gains_and_losses_that_cancel_are_not_nothing() -> None:
    """In half of the rooms people gain a third and in half they lose one: whether they gain is uncertain."""
    run = by_hand(*[("A", "AAA", "AAB"), ("A", "AAB", "AAA")] * 3, size=3)
    assert welfare.headline(welfare.compute(run)).startswith("Whether people gain from each other is uncertain")


def test_bayesians_herd_earlier_than_by_chance() -> None:
    found = [herding_time.compute(simulated(BAYESIAN, seed, rooms=40)) for seed in range(10)]
    assert sum(row["earlier_low"].iloc[0] > 0 for row in found) >= 8
    assert sum(herding_time.headline(row).startswith("People herd") for row in found) >= 8


@pytest.mark.thorough
@pytest.mark.parametrize(("runs", "fewest"), [(8, 6), pytest.param(24, 20, marks=pytest.mark.nightly)])
@check_each(
    "person",
    [RANDOM, Person(own=2, public=1, noise=1), Person(own=1, public=0.5, noise=1), Person(own=0, public=1, noise=1)],
)
def test_planted_weights_are_found(person: Person, runs: int, fewest: int) -> None:
    """The 95% intervals of all weights cover the planted ones in nearly all runs. People at random have 0 and 0."""
    fits = [signal_weights.compute(simulated(person, seed)).iloc[0] for seed in range(runs)]
    for name, planted in (("own", person.own), ("others", person.public), ("lean", 0.0)):
        covered = sum(row[f"{name}_low"] <= planted <= row[f"{name}_high"] for row in fits)
        assert covered >= fewest, (name, covered)
        assert np.mean([row[name] for row in fits]) == pytest.approx(planted, abs=0.15)


def test_weights_need_error_and_rooms() -> None:
    """Bayesians never err, so their weights have no scale; below five rooms there is a number and no verdict."""
    found = signal_weights.compute(simulated(BAYESIAN, 1))
    assert found["own"].isna().all()
    assert found["against"].iloc[0] == 0
    assert "without error" in signal_weights.headline(found)
    few = signal_weights.compute(simulated(Person(noise=1), 1, rooms=4))
    assert few["own"].notna().all()
    assert few["own_low"].isna().all()
    assert "fewer than 5 rooms" in signal_weights.headline(few)


def test_a_taste_that_a_room_shares_is_no_look_at_others() -> None:
    """In half of the rooms seven of eight choose A, in half B, whatever their order: others have a weight, and so have
    they in orders at random. People who do look at others have a larger one than in orders at random."""
    rng = random.Random(2)
    rooms = [("A", "ABABABAB", "".join(rng.sample("AAAAAAAB", 8))) for _ in range(12)]
    rooms += [("B", "ABABABAB", "".join(rng.sample("BBBBBBBA", 8))) for _ in range(12)]
    found = signal_weights.compute(by_hand(*rooms, size=8))
    row = found.iloc[0]
    assert row["others_low"] > 0
    assert row["by_order"] == pytest.approx(row["others"], abs=0.3)
    assert row["p"] > 0.05
    assert "Whether people weigh the choices of others is unclear" in signal_weights.headline(found)
    looking = signal_weights.compute(simulated(Person(noise=1), 1))
    assert looking["p"].iloc[0] < 0.05
    assert "the choices of others 0.71 (0.41 to 1.01) (orders at random: 0." in signal_weights.headline(looking)


def test_people_who_follow_their_signals_are_seen_to() -> None:
    assert signal_weights.compute(simulated(ALONE, 3))["against"].iloc[0] == 1
    at_random = [signal_weights.compute(simulated(RANDOM, seed)).iloc[0] for seed in range(10)]
    assert np.mean([row["against"] for row in at_random]) == pytest.approx(0.5, abs=0.05)


@check_each("name", ["right", "A"])
def test_an_optimal_planner_gets_what_value_iteration_promises(name: str) -> None:
    """Simulated Bayesians under the optimum have its expected payoff, and more than under the best fixed precision."""
    aim = Aim((0.5, 0.6, 0.7, 0.8, 0.9), 0.7, 0.5, name, "coin")
    run = simulated(BAYESIAN, 5, rooms=600, aim=aim)
    run.header.scenario["options"] |= {"planner": "optimum", "aim": name}
    paid = np.array([values["payoff"] for _, values in welfare.by_room(run).values()])
    error = paid.std(ddof=1) / math.sqrt(len(paid))
    assert abs(paid.mean() - planned_value(0.5, 10, aim) / 10) < 3.3 * error
    best = max(fixed_value(0.5, 10, level, aim) for level in aim.levels) / 10
    assert paid.mean() >= best - 3.3 * error


def test_exact_probabilities_give_exact_weights_without_an_interval(tmp_path: Path) -> None:
    """The oracle tells its probabilities, so nothing is left to chance, and no interval of no width is shown."""
    run = parley.run(
        "herding", llm="oracle,own=2,noise=1", repetitions=6, rounds=1, out=tmp_path / "run", progress=False
    )
    found = pd.read_csv(run.folder / "tables" / "signal_weights.csv").iloc[0]
    assert (found["own"], found["others"]) == pytest.approx((2, 1), abs=1e-4)
    assert math.isnan(found["own_low"])
    text = (run.folder / "summary.md").read_text(encoding="utf-8")
    assert "by 2.00 and the choices of others by 1.00, without error" in text
    assert (run.folder / "figures" / "herding.png").exists()
    assert "is right" in (run.folder / "transcript.md").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_the_study_finds_both_planners(tmp_path: Path) -> None:
    """With the same seed the planner for the right option raises right choices, and the planner for A choices of A."""
    assert main(["study", "herding", "--llm", "oracle", "--repetitions", "20", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "herding.md").read_text(encoding="utf-8")
    assert "With a planner for the right option" in text
    assert "; without a planner, " in text
    table = pd.read_csv(tmp_path / "herding.csv").set_index(["measure", "condition"])
    assert table.loc[("right", "Bayesians, planner for the right option"), "difference_low"] > 0
    assert table.loc[("chose_a", "Bayesians, planner for A"), "difference_low"] > 0


@pytest.mark.thorough
def test_below_five_rooms_the_study_has_no_verdict(tmp_path: Path) -> None:
    """It also counts choices and replies of a planner that could not be read, over all conditions, with the reasons."""
    assert (
        main(["study", "herding", "--llm", "oracle", "--repetitions", "3", "--set", "rounds=1", "--out", str(tmp_path)])
        == 0
    )
    page = (tmp_path / "herding.md").read_text(encoding="utf-8")
    assert "is unknown" in page
    assert "0 of 90 choices are missing." in page
    runs = {f"Bayesians, {name}": load(tmp_path / f"Bayesians_{name.replace(' ', '_')}") for name in PLANNERS}
    lost = runs["Bayesians, no planner"].decisions
    lost.loc[lost.index[:2], ["act", "reason"]] = [None, "refusal"]
    runs["Bayesians, planner for A"].decisions.loc[:3, "planner_reason"] = "no number"
    page = write(runs, tmp_path).read_text(encoding="utf-8")
    assert "2 of 90 choices are missing (refusal 2)." in page
    assert "Bayesians, planner for A: The planner's reply could not be read 4 times of 30 (no number 4)" in page


def test_intervals_of_shares_end_where_shares_end() -> None:
    """Rooms in which nearly all choices are right, and the other way round: no interval reaches beyond 0, 1 or -1."""
    rooms = pd.DataFrame(
        {"topic": "t", "repetition": range(6), "right": [0.7, 1, 1, 1, 1, 1], "time": [0, 1, 1, 1, 1, 9]}
    )
    turned = rooms.assign(right=1 - rooms["right"])
    found = _within_speakers({"Bayesians, no planner": rooms, "Bayesians, planner for A": turned}, "right")
    assert found["high"].tolist() == pytest.approx([0.9943, 1 - 0.6735], abs=1e-4)  # Wilson's form, reach .1285
    assert found["low"].tolist() == pytest.approx([0.6735, 1 - 0.9943], abs=1e-4)
    assert -1 < found["difference_low"].iloc[1] < found["difference"].iloc[1]
    own = _within_speakers({"model, no planner": rooms, "model, planner for the right option": turned}, "right")
    assert "5% of the choices of people of the model were right" in sentences(own.assign(measure="right"))[0]
    times = _within_speakers({"Bayesians, no planner": rooms}, "time")
    assert times["high"].iloc[0] > 1


@pytest.mark.thorough
def test_a_model_is_compared_with_bayesians_and_plans_itself(tmp_path: Path) -> None:
    """On people who overweight their own signal: eight conditions, and the planted weight shows as fewer cascades."""
    command = [
        "study",
        "herding",
        "--llm",
        "oracle,own=3",
        "--repetitions",
        "8",
        "--set",
        "rounds=1",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    table = pd.read_csv(tmp_path / "herding.csv")
    assert table["condition"].nunique() == 8
    right = table[table["measure"] == "wrong"].set_index("condition")["value"]
    assert right["model, no planner"] <= right["Bayesians, no planner"]


def test_a_period_in_which_no_choice_could_be_read_has_no_cascade() -> None:
    """A model that answers in no readable way must not stop the report; its periods begin no cascade."""
    found = wrong_cascades.compute(by_hand(("A", "A", "?"), ("B", "BB", "BB"), size=2, precision=0.7)).iloc[0]
    assert found["wrong"] == 0
    assert found["none"] + found["right"] == 1
