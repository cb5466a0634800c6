"""Carry-over by hand, on generated people of a known truth and of none, and planted in the oracle."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import parley
import run
from parley.analysis.tables import Tables, tables
from parley.llm.errors import UserError
from parley.model.recorder import MemoryRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import load_preset
from parley.studies.carry_over import report
from parley.studies.carry_over.measures import ARMS, PERSON, WITHIN, arms, carried_share, effects, people, study
from parley.studies.carry_over.report import sentences


def ran(scenario: Any) -> Tables:
    recorder = MemoryRecorder()
    model = parley.DebateModel(scenario, recorder=recorder)
    model.run()
    return tables([make_header(scenario, (), model.backend), *recorder.events])


@cache
def measured(llm: str, seed: int = 0, preset: str = "two_topics", **settings: Any) -> pd.DataFrame:
    base = load_preset(preset, {"llm": llm, "seed": seed, **settings})
    runs = study(base)
    scenario, by_arm = next(runs), {}
    try:
        while True:
            scenario = runs.send(ran(scenario))
    except StopIteration as done:
        by_arm = done.value
    return effects({arm: people(found) for arm, found in by_arm.items()})


def first(table: pd.DataFrame, outcome: str = "first", memory: str = "own memory") -> pd.Series:
    return table[(table["outcome"] == outcome) & (table["memory"] == memory)].iloc[0]


def made(
    rng: np.random.Generator, share: float, populations: int = 8, size: int = 12, uneven: bool = False
) -> pd.DataFrame:
    """People who carry a share of their movement; populations and parties differ in both, and ratings have noise.

    Some people are firm: they move less before, and less toward the middle by what they remember, whatever it is.
    """
    rows = []
    for number in range(populations):
        people_here = size if not uneven else int(rng.integers(4, 5 * size))
        common, between = rng.normal(0, 1, 2), rng.normal(0, 1)
        for place in range(people_here):
            party = place % 2
            firm = rng.normal(0, 1)
            moved = common[party] - firm + rng.normal(0, 1)
            without = 5 + party + firm + rng.normal(0, 0.5)
            remembers = without + share * moved + between - 0.3 * (without - 5) + rng.normal(0, 1.5)
            rows.append(("t", "g", number, str(party), f"{place}", moved, remembers, without))
    return pd.DataFrame(rows, columns=[*PERSON[:3], "party", "seat", "moved", "remembers", "without"])


def test_the_slope_is_within_population_and_party_of_people_alike_without_memory() -> None:
    """By hand: of movements by 0, 2 and 10, 12 points in two parties half is kept; a rating without memory is kept whole."""
    numbers = {"a": [(0.0, 0.0, 0.0), (2.0, 2.0, 1.0), (0.0, 1.0, 1.0)], "b": [(10.0, -5.0, 0.0), (12.0, -4.0, 0.0)]}
    rows = [("t", "g", 0, party, "1", *person) for party, people_ in numbers.items() for person in people_]
    frame = pd.DataFrame(rows, columns=[*PERSON[:3], "party", "seat", "moved", "remembers", "without"])
    row = carried_share(frame)
    assert row["carried"] == pytest.approx(0.5)
    assert np.isnan(row["carried_low"])
    assert "population" in row["reason"], "one population has no interval"


@pytest.mark.parametrize("uneven", [False, True])
def test_intervals_hold_a_planted_share_and_none(uneven: bool) -> None:
    """In 400 generated studies, 95% intervals hold the truth in 93 to 97%, and claim a share that is not there in 6% at most."""
    rng = np.random.default_rng(5 + uneven)
    for share in (0.0, 0.5):
        rows = [carried_share(made(rng, share, uneven=uneven)) for _ in range(400)]
        rows = [
            row for row in rows if not row["reason"]
        ]  # a few very unequal populations are worth too few for an interval
        assert len(rows) > 360
        inside = np.mean([row["carried_low"] <= share <= row["carried_high"] for row in rows])
        assert 0.93 <= inside <= 0.975
        assert np.mean([row["carried"] for row in rows]) == pytest.approx(share, abs=0.02)


def test_nobody_moved_and_a_missing_rating_are_no_zero() -> None:
    """People who moved alike tell nothing; a person without a rating is counted as missing."""
    still = made(np.random.default_rng(1), 0.0).assign(moved=1.0)
    assert "moved alike" in carried_share(still)["reason"]
    keyed = still.rename(columns={"remembers": "first"}).assign(last=0.0)
    keyed.loc[0, "first"] = np.nan
    row = first(effects(dict.fromkeys(ARMS, keyed)))
    assert (row["missing"], row["people"]) == (1, len(keyed) - 1)
    assert np.isnan(row["carried"])
    assert "unknown" in sentences(effects(dict.fromkeys(ARMS, keyed)))[0]


def test_a_planted_carry_over_is_found_on_the_oracle_and_none_is_found_without_it() -> None:
    """Half of the movement on racism is in the first rating of climate change; without the law nothing is claimed."""
    planted = first(measured("oracle,carry_over=0.5", repetitions=6))
    assert planted["carried_low"] <= 0.5 <= planted["carried_high"]
    assert planted["carried_low"] > 0
    none = first(measured("oracle", repetitions=6))
    assert none["carried_low"] <= 0 <= none["carried_high"]
    assert abs(none["carried"]) < 0.25


def test_movement_is_turned_where_the_axes_run_in_opposite_directions() -> None:
    """Democrats are high on climate change, Republicans on immigration: movement on the one is turned for the other."""
    stages = [
        {"topology": "rooms,size=4", "rounds": 1, "topic": topic} for topic in ("climate_change", "illegal_immigration")
    ]
    topics = "climate_change,illegal_immigration"
    base = load_preset(
        "two_topics", {"topology": stages, "topic": topics, "rounds": 2, "llm": "oracle", "repetitions": 1}
    )
    found = ran(base)
    before = found.attitudes[found.attitudes["topic"] == "climate_change"].set_index([*PERSON[1:], "round"])["attitude"]
    row = people(found).iloc[0]
    course = before.xs(tuple(row[PERSON[1:]]), level=PERSON[1:])
    assert row["moved"] == pytest.approx(course[0] - course[1])


def test_on_one_topic_the_first_rating_is_that_after_the_first_round_of_the_last_stage() -> None:
    stages = [{"topology": "rooms,size=4", "rounds": 2}, {"topology": "echo,size=4", "rounds": 2}]
    base = load_preset(
        "two_topics", {"topology": stages, "topic": "racism", "rounds": 4, "llm": "oracle", "repetitions": 1}
    )
    found = ran(base)
    rated = found.attitudes.set_index([*PERSON, "round"])["attitude"].unstack()
    row = people(found).set_index(PERSON)
    assert row["first"].tolist() == rated.loc[row.index, 3].tolist()
    assert row["last"].tolist() == rated.loc[row.index, 4].tolist()
    assert row["moved"].tolist() == pytest.approx((rated[2] - rated[0]).loc[row.index].tolist())


@pytest.mark.parametrize(
    ("preset", "settings", "problem"),
    [("three_way", {}, "one stage"), ("two_topics", {"survey": "stages"}, "set survey=rounds")],
)
def test_what_cannot_be_measured_is_refused(preset: str, settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        arms(load_preset(preset, settings))


def test_the_page_says_when_debates_are_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What people remember is what was said: a real model whose replies are cut off was reported without a word on it."""
    runs = dict.fromkeys(ARMS, ran(load_preset("two_topics", {"llm": "oracle", "repetitions": 1, "size": 4})))
    assert "broken" not in report.write(runs, tmp_path / "sound").read_text()
    cut = report.broken_replies.compute(runs["all"]).assign(unended=1.0)
    monkeypatch.setattr(report.broken_replies, "compute", lambda _: cut)
    every = f"**These debates are not usable:** {3 * len(runs['all'].replies)} of {3 * len(runs['all'].replies)} replies end in"
    assert every in report.write(runs, tmp_path / "cut").read_text()


def test_the_command_writes_its_page_and_continues_without_asking(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page says what was found; a second call asks nothing and writes the same bytes."""
    words = [
        "study",
        "carry-over",
        "--llm",
        "oracle,carry_over=1",
        "--repetitions",
        "5",
        "--set",
        "size=8",
        "--out",
        str(tmp_path),
    ]
    assert run.command(words) == 0
    page = (tmp_path / "carry_over.md").read_text()
    assert "keeps" in page.split("## In short")[1].split("##")[0]
    capsys.readouterr()
    assert run.command(words) == 0
    assert capsys.readouterr().out.count("so no model was called") == len(ARMS)
    assert (tmp_path / "carry_over.md").read_text() == page
    assert set(WITHIN) <= set(pd.read_csv(tmp_path / "people.csv").columns)


def test_one_person_of_each_party_is_too_few_and_said_before_anything_is_asked() -> None:
    """Nobody is of the same party, so there is no other memory to give, and no movement to compare with."""
    with pytest.raises(UserError, match="each party has only one person"):
        arms(load_preset("two_topics", {"llm": "oracle", "repetitions": 5, "size": 2}))
    arms(load_preset("two_topics", {"llm": "oracle", "repetitions": 5, "size": 4}))
