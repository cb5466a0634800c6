"""Is what was planted found again? Recorded runs of the known-truth speaker, fitted without a look at its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from scipy import stats

from benchmarks.audit_coverage import held
from parley.analysis.influence_model import recover_parameters
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.dynamics import planted
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError
from parley.model.scenario import load_preset

pytestmark = pytest.mark.thorough

ROOMS = 10
SIZES = pytest.mark.parametrize("seeds", [8, pytest.param(30, marks=pytest.mark.nightly)])
"""Runs with other seeds: few in each lane, and those of docs/oracle.md at night."""
OTHER = {"kappa": 0.12, "mu": 0.02}
NOTHING = {"kappa": 0.0, "mu": 0.0}


def grade(topic: str, text: str) -> float | None:
    return banks().topics[topic].grade(text)


def recorded(seed: int, changes: Mapping[str, float] | None = None, **settings: object) -> Tables:
    """The tables of a three-way debate with these parameters."""
    llm = ",".join(["oracle", *[f"{name}={value}" for name, value in (changes or {}).items()]])
    return held(load_preset("three_way").with_settings({"llm": llm, "seed": seed, "repetitions": ROOMS} | settings))


@cache
def fitted(seeds: int, changes: tuple[tuple[str, float], ...] = (), slugs: str = "") -> pd.DataFrame:
    """Return estimates with `truth`, `error` and `inside` (the interval holds the truth)."""
    truth, settings = planted(dict(changes)), {"topic": slugs} if slugs else {}
    found = pd.concat([recover_parameters(recorded(seed, dict(changes), **settings), grade) for seed in range(seeds)])
    found["truth"] = [getattr(truth[t], p) for t, p in zip(found["topic"], found["parameter"], strict=True)]
    found["error"] = found["estimate"] - found["truth"]
    found["inside"] = (found["low"] <= found["truth"]) & (found["truth"] <= found["high"])
    return found


def fewest(trials: int, coverage: float = 0.95) -> int:
    """Hits that intervals of this coverage fall short of in one of a hundred cases."""
    return int(stats.binom.ppf(0.01, trials, coverage))


@SIZES
@check_each("parameter", ["kappa", "mu", "bias"])
def test_intervals_cover_the_planted_values(parameter: str, seeds: int) -> None:
    """95% intervals over 4 topics and all seeds, of 10 rooms each.

    Over 100 seeds (400 fits) the coverage was 0.95 for kappa, 0.94 for mu and 0.96 for the bias (docs/oracle.md).
    """
    rows = fitted(seeds).query("parameter == @parameter")
    assert len(rows) == 4 * seeds
    assert rows["inside"].sum() >= fewest(len(rows))


@SIZES
@check_each("parameter", ["kappa", "mu", "bias"])
def test_estimates_are_unbiased(parameter: str, seeds: int) -> None:
    """Mean error within 2.6 standard errors of 0 (one false alarm in a hundred changes of the banks), over the same fits."""
    errors = fitted(seeds).query("parameter == @parameter")["error"].dropna()
    assert len(errors) > 3 * seeds
    assert abs(errors.mean()) <= 2.6 * errors.std() / len(errors) ** 0.5


def test_estimates_are_of_use() -> None:
    """Ten rooms tell influence and pull from nothing, and the bias to half a point, in the median topic."""
    middle = fitted(8).groupby("parameter")["se"].median()
    assert middle["kappa"] < 0.0125
    assert middle["mu"] < 0.02
    assert middle["bias"] < 0.5


@SIZES
@pytest.mark.parametrize("parameter", ["kappa", "mu"])
def test_other_values_are_found_as_well(parameter: str, seeds: int) -> None:
    """kappa 0.12, mu 0.02: the default values are not built in anywhere."""
    rows = fitted(seeds, tuple(OTHER.items()), "racism,illegal_immigration").query("parameter == @parameter")
    assert rows["inside"].sum() >= fewest(len(rows))
    assert abs(rows["error"].mean()) <= 3 * rows["error"].std() / len(rows) ** 0.5
    assert abs(rows["estimate"].mean() - rows["truth"].iloc[0]) < abs(rows["estimate"].mean() - 0.06)


@SIZES
@pytest.mark.parametrize("parameter", ["kappa", "mu"])
def test_nothing_planted_nothing_found(parameter: str, seeds: int) -> None:
    """With kappa = mu = 0 the intervals hold 0 (0.92 of them over 400 fits): no influence or drift out of noise."""
    rows = fitted(seeds, tuple(NOTHING.items()), "racism,illegal_immigration").query("parameter == @parameter")
    assert rows["inside"].sum() >= fewest(len(rows), 0.92)


def test_a_bias_without_a_pull_is_missing() -> None:
    """Nothing is drawn anywhere, so where to is no number: NaN and an unbounded interval, not an arbitrary ratio."""
    rows = fitted(8, tuple(NOTHING.items()), "racism,illegal_immigration")
    pull = rows.query("parameter == 'mu'")
    bias = rows.query("parameter == 'bias'")
    unseen = ((pull["low"] <= 0) & (pull["high"] >= 0)).to_numpy()
    assert unseen.mean() >= 0.80
    assert bias["estimate"].isna().to_numpy().tolist() == unseen.tolist()
    assert np.isinf(bias["low"].to_numpy()[unseen]).all()


def test_bounded_confidence_is_misfitted_toward_less_influence() -> None:
    """A limit, shown: a speaker deaf beyond 2 points looks like one with too little kappa."""
    found = pd.concat(
        [recover_parameters(recorded(seed, {"epsilon": 2.0}, topic="racism"), grade) for seed in range(6)]
    )
    assert found.query("parameter == 'kappa'")["estimate"].mean() < 0.035


def test_too_few_rooms_are_refused() -> None:
    """Four rooms give no standard error worth the name; five do."""
    with pytest.raises(
        UserError, match="needs at least 5 rooms with ratings before and after a round, and this run has 4"
    ):
        recover_parameters(recorded(0, repetitions=4, topic="racism"), grade)
    assert len(recover_parameters(recorded(0, repetitions=5, topic="racism"), grade)) == 3


def test_lines_that_nobody_can_grade_are_refused() -> None:
    """Without grades there is no influence to fit: an error with its reason, not a number."""
    with pytest.raises(UserError, match="replies whose opinion is known"):
        recover_parameters(recorded(0, repetitions=5, topic="racism"), lambda topic, text: None)


STARTS = (1.0, 3.0, 5.0, 7.0, 9.0, 2.0)


def handmade(tables: Tables, kappa: float, mu: float, bias: float) -> Tables:
    """Six rooms where agent 1 hears `4` and then `none` or `9`, by the law and without noise."""
    agents, attitudes, spoken = [], [], []
    for room, start in enumerate(STARTS):
        second = None if room % 2 else 9.0
        after = start + kappa * (4 - start) + mu * (bias - start)
        after += (kappa * (second - after) if second is not None else 0.0) + mu * (bias - after)
        key = {"room": f"r{room}", "agent": 1, "topic": "racism", "group": "g", "party": "p"}
        agents.append(key)
        attitudes += [
            key | {"round": place, "attitude": level, "measure": "expected"}
            for place, level in enumerate((start, after))
        ]
        said = (("4", 2), (str(second), 2), ("10", 1))  # the last is agent 1's own and moves nobody
        spoken += [key | {"agent": agent, "round": 1, "text": text} for text, agent in said]
    frames = [pd.DataFrame(rows) for rows in (agents, spoken, attitudes)]
    return replace(tables, agents=frames[0], utterances=frames[1], attitudes=frames[2])


def test_two_lines_by_hand() -> None:
    """Exact data give the exact parameters: own lines are not heard, unread ones leave the pull, order is kept.

    Start 1, kappa 0.1, mu 0.2, bias 6: heard 4 -> 1 + 0.3 + 1.0 = 2.3; heard 9 -> 2.3 + 0.67 + 0.74 = 3.71.
    """
    tables = handmade(recorded(0, repetitions=1, rounds=1, topic="racism"), 0.1, 0.2, 6.0)
    assert tables.attitudes["attitude"][1] == pytest.approx(3.71)
    found = recover_parameters(tables, lambda topic, text: None if text == "None" else float(text)).set_index(
        "parameter"
    )
    assert found["estimate"].to_dict() == pytest.approx({"kappa": 0.1, "mu": 0.2, "bias": 6.0}, abs=1e-6)
    assert found["se"].max() < 1e-6
    assert set(found["rooms"]) == {6}
    assert set(found["how"]) == {"expected"}
