"""Kinds of argument and private bets: differences within rooms by hand, and what is planted found again from the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import run
from parley.analysis.figures import dot_plot
from parley.analysis.statistics.intervals import mean_interval
from parley.analysis.studies.intervention import room_effects
from parley.analysis.studies.paired_conditions import compare_conditions
from parley.analysis.tables import load
from parley.llm.backends.oracle.speech import ARGUMENTS
from parley.studies.competing_debates import beliefs as prior_beliefs
from parley.studies.competing_debates import bets
from parley.studies.guidance import report as guidance
from parley.studies.persuasive_debates import arguments, personalised


def made(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"topic": "racism", "repetition": range(len(values)), "x": values})


def test_a_difference_is_within_rooms() -> None:
    """By hand: 1, 2, none beside 2, none, 9: one pair, one point more; the room without a number is counted, not zero."""
    found = compare_conditions({"a": made(1, 2, np.nan), "b": made(2, np.nan, 9)}, "x").set_index("condition")
    assert found.loc["b", ["rooms", "missing", "value", "pairs", "difference"]].tolist() == [2, 1, 5.5, 1, 1.0]
    assert found.loc["a", ["rooms", "missing", "value", "pairs"]].tolist() == [2, 1, 1.5, 0]
    assert np.isnan(found.loc["a", "difference"])


CASTS = pd.MultiIndex.from_product([["a", "b", "c", "d"], range(10)], names=["topic", "repetition"]).to_frame(
    index=False
)
"""Ten casts of people, each of which meets on four topics."""


def ends_of_studies(values: np.ndarray) -> list[list[float]]:
    """Return the interval of each study of rooms for these effects, one per row of CASTS."""
    rooms = CASTS.assign(room=CASTS["topic"] + CASTS["repetition"].astype(str), group="g", x=values)
    units = rooms.set_index("room")[["group", "repetition"]]
    whole = {"x": rooms.set_index("room")[["x"]].assign(without=0.0)[["without", "x"]]}
    measured = rooms.assign(sentiment=0.0, attitude=0.0, posts=1.0)
    styles = dict.fromkeys(guidance.CONDITIONS, measured) | {guidance.EMPATHIC: measured.assign(sentiment=rooms["x"])}
    debaters = rooms.assign(group=rooms["room"], before=0.0, side=1.0)
    after = {name: rooms["x"] * (name == "person, personalised") / 2 for name in personalised.CONDITIONS}
    people = pd.concat([debaters.assign(condition=name, after=own) for name, own in after.items()])
    judged = rooms.assign(belief=rooms["x"], second=0.0, belief_reason="", second_reason="")
    empathy = guidance.effects(styles).set_index(["measure", "contrast"])
    found = [
        compare_conditions({"none": rooms.assign(x=0.0), "some": rooms}, "x").iloc[1],
        room_effects(whole, units).iloc[0],
        empathy.loc["sentiment", f"{guidance.EMPATHIC} - {guidance.NONE}"],
        personalised.effects(people, units).iloc[0],
        pd.Series(next(iter(prior_beliefs.effects(judged, "sequential")))),
    ]
    return [[float(row.filter(like=end).iloc[-1]) for end in ("low", "high")] for row in found]


def test_rooms_of_the_same_people_on_several_topics_are_one_unit() -> None:
    """What is true of people holds on all their topics. So intervals are those of the means of casts, which without an effect
    miss 0 in at most 8 of 80 draws (4 expected; 17 if each room counted by itself); one cast on seven topics has none.
    """
    rng = np.random.default_rng(0)
    draws = [rng.normal(size=(1, 10)) + rng.normal(size=(4, 10)) for _ in range(80)]
    for ends in ends_of_studies(draws[0].ravel()):
        assert ends == pytest.approx(mean_interval(draws[0].mean(axis=0)))
    frames = [CASTS.assign(x=draw.ravel()) for draw in draws]
    found = pd.DataFrame(
        [compare_conditions({"none": CASTS.assign(x=0.0), "some": frame}, "x").iloc[1] for frame in frames]
    )
    assert ((found["difference_low"] > 0) | (found["difference_high"] < 0)).sum() <= 8
    lone = pd.DataFrame({"topic": list("abcdefg"), "repetition": 0, "x": np.arange(7.0)})
    row = compare_conditions({"a": lone.assign(x=0.0), "b": lone}, "x").iloc[1]
    assert row[["rooms", "pairs", "difference", "reason"]].tolist() == [7, 7, 3.0, "fewer than 5 repetitions"]
    assert np.isnan(row["difference_low"])


def test_the_figure_has_a_place_for_a_condition_without_a_number() -> None:
    table = compare_conditions({"a": made(1, 2), "b": made(np.nan, np.nan)}, "x")
    (axis,) = dot_plot(table, ["condition"], "value", "x", "caption").axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["a", "b"]


@pytest.fixture(scope="module")
def argued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("arguments")
    command = [
        "study",
        "arguments",
        "--llm",
        "oracle,kappa=0.2,mu=0,sigma=0",
        "--repetitions",
        "10",
        "--set",
        "rounds=4",
    ]
    assert run.main([*command, "--set", "probe=attitude_0_100", "--out", str(folder)]) == 0
    return folder


def test_the_order_of_planted_arguments_is_found(argued: Path) -> None:
    """The surer a convincer sounds, the farther the skeptic goes: as it likes, status, support, trust, knowledge."""
    found = pd.read_csv(argued / "arguments.csv").set_index("condition")
    order = [arguments.KINDS[0], *sorted(ARGUMENTS, key=lambda kind: ARGUMENTS[kind])]
    assert found.loc[order, "value"].is_monotonic_increasing
    assert found.loc["knowledge", "difference_low"] > 0
    assert found["missing"].eq(0).all()


def test_only_the_convincer_is_asked_for_it(argued: Path) -> None:
    """In the records: who has which role, and the same people in every condition."""
    people = set()
    for kind in arguments.KINDS:
        tables = load(argued / kind.replace(" ", "_"))
        roles = set(tables.characters["role"])
        assert roles == {"convincer" if kind == arguments.KINDS[0] else f"convincer+{kind}", "skeptic"}
        people.add(tuple(tables.agents["persona"]))
    assert len(people) == 1


def test_without_the_roles_there_is_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["study", "arguments", "--llm", "oracle", "--set", "roles=verifier", "--out", str(tmp_path)]) == 2
    assert "has no agents with the roles convincer and skeptic" in capsys.readouterr().err


@pytest.fixture(scope="module")
def betted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bets")
    command = ["study", "bets", "--llm", "oracle,kappa=0,mu=0.1,sigma=0", "--topic", "racism", "--repetitions", "4"]
    assert run.main([*command, "--out", str(folder)]) == 0
    return folder


def test_planted_bets_are_found(betted: Path) -> None:
    """Pulled alone, an attitude a is bias + (a - bias) 0.9^n after n lines heard, and a bet 10 max(a, 10 - a): both are in the
    record, so that escalation follows from the first survey, within the half point to which a bet is rounded.
    """
    for name in bets.CONDITIONS:
        tables = load(betted / name.replace(", ", "_").replace(" ", "_"))
        start = tables.attitudes[tables.attitudes["round"] == 0].set_index("agent")
        start = start.loc[start["group"] != "reference", ["expected", "topic", "repetition"]]
        later = 8.0 + (start["expected"] - 8.0) * 0.9**3  # three rounds, a line of the other in each
        told = [10 * np.maximum(known, 10 - known) for known in (start["expected"], later)]
        planted = (told[1] - told[0]).groupby([start["topic"], start["repetition"]]).mean()
        found = bets.rooms(tables).set_index(["topic", "repetition"])["escalation"]
        assert (found - planted).abs().max() <= 1.0


def test_a_copy_is_the_same_person_under_another_name(betted: Path) -> None:
    """Copies share the persona of who sits first against another, and are told what they debate."""
    another, copies = (load(betted / name).agents for name in ("another", "own_copy"))
    pairs = copies[copies["group"] != "reference"].groupby("repetition", sort=False)
    first = another[another["party"] == "democrat"].groupby("repetition", sort=False)["persona"].first()
    for repetition, pair in pairs:
        assert pair["persona"].nunique() == 1
        assert pair["name"].nunique() == 2
        assert pair["persona"].iloc[0] == first[repetition]


def test_the_report_says_what_nothing_warrants(betted: Path) -> None:
    text = (betted / "bets.md").read_text(encoding="utf-8")
    assert "| own copy, even chances told | 4 | 0 |" in text
    assert (betted / "bets.png").exists()
    assert len(pd.read_csv(betted / "rounds.csv")) == 3 * 4


def test_a_bet_that_cannot_be_read_is_no_bet(betted: Path) -> None:
    """Half a room's bets are no room mean, and nobody is sure in it."""
    tables = load(betted / "another")
    lost = tables.probes["round"].eq(3) & tables.probes["agent"].eq(tables.probes["agent"].iloc[0])
    tables.probes.loc[lost, "rating"] = np.nan
    found = bets.rooms(tables)
    assert found["escalation"].isna().sum() == found["sure"].isna().sum() == 1
    assert found["start"].notna().all()
