"""Every flip explained: each planted cause is found in its own part, parts sum to the movement, and what is unknown says why."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each

import run
from benchmarks.flips import audit, truths
from parley.agents.claim_questions import NEGATED
from parley.agents.topic import load_topic
from parley.analysis.card.records import ConditionRecords
from parley.analysis.statistics.intervals import mean_interval
from parley.llm.backends import open_spec
from parley.llm.errors import UserError
from parley.studies.flips.decomposition import (
    ACQUIESCENCE,
    ARMS,
    MOVEMENT,
    PAIR,
    PARTS,
    components,
    estimates,
    left_out,
    null_range,
    pairs,
    sentences,
    usable,
)
from parley.studies.flips.opener import anchor, followers, sentence

SIZE = 0.5


def by_hand(flips: dict[str, float], blocks: int = 6) -> pd.DataFrame:
    """Pairs of one agent a block, whose guarded and exposed pair flip in each arm as given (`three exposed`: the other one)."""
    rows = [
        {
            **dict(zip(PAIR, (f"1/{block}", "racism", "democrat", 0, probe), strict=True)),
            "arm": arm,
            "guarded": probe == "agreement",
            "flip": flips.get(arm if probe == "agreement" else f"{arm} exposed", flips.get(arm, 0.0)),
            "points": 0.0,
            "reason": "",
        }
        for block in range(blocks)
        for arm in ARMS
        for probe in ("agreement", NEGATED)
    ]
    return pd.DataFrame(rows)


def test_parts_are_those_computed_by_hand() -> None:
    """Guarded pairs flip in .1, .2, .5, .6 and .8 of cases from arm to arm, exposed ones in 1.0 in full: F = .9."""
    frame = by_hand({"alone": 0.1, "empty": 0.2, "stance": 0.5, "shuffled": 0.6, "three": 0.8, "three exposed": 1.0})
    found = components(frame, "flip").iloc[0]
    expected = [0.1, 0.1, 0.3, 0.1, 0.2, 0.1, 0.9]
    assert found.to_numpy() == pytest.approx(expected)
    assert list(found.index) == [*PARTS, ACQUIESCENCE, MOVEMENT]


def test_a_share_of_ratings_that_flip_stays_a_share() -> None:
    """Six groups, one of which flips: Student's interval of the movement, 1/6 ± 2.57/6, began below 0. Other parts may."""
    frame = by_hand({})
    frame.loc[(frame["block"] == "1/0") & (frame["arm"] != "alone"), "flip"] = 1.0
    rows = estimates(frame).query("measure == 'flip'").set_index("part")
    low, high = rows.loc[MOVEMENT, ["low", "high"]]
    assert 0 < low < 1 / 6 < high < 1
    assert rows.loc[MOVEMENT, "estimate"] == pytest.approx(1 / 6)
    assert rows.loc["presence", "low"] < 0
    assert rows.loc[MOVEMENT, "share_reason"] == "no movement is distinguishable from 0"


def test_acquiescence_does_not_depend_on_how_many_pairs_are_guarded() -> None:
    """Agents who agree with both questions at first: nothing is there where all pairs flip alike; a planted tenth is found."""
    rng, found = np.random.default_rng(1), {}
    index = pd.MultiIndex.from_product([range(400), range(5), ARMS], names=["block", "agent", "arm"])
    for planted in (0.0, 0.1):
        frame = index.to_frame(index=False).assign(topic="racism", guarded=rng.random(len(index)) < 0.8)
        more = np.where(frame["guarded"], 0.0, planted / 0.2)  # of the fifth that is not guarded
        frame["flip"] = (rng.random(len(frame)) < 0.2 + more).astype(float)
        found[planted] = components(frame, "flip")[ACQUIESCENCE].to_numpy()
    for planted, values in found.items():
        low, high = mean_interval(values)
        assert low < planted < high
    assert mean_interval(found[0.1])[0] > 0


@pytest.mark.thorough
@check_each("cause", [*PARTS, ACQUIESCENCE])
def test_a_planted_cause_is_found_in_its_own_part(cause: str) -> None:
    """One audit each; coverage over 40 audits is that of benchmarks/flips.py. Parts sum to the movement in every block."""
    study = audit({cause: SIZE}, 7, 6)
    frame = usable(pairs(study))
    units = components(frame, "flip")
    assert units[[*PARTS, ACQUIESCENCE]].sum(axis=1).to_numpy() == pytest.approx(units[MOVEMENT].to_numpy())
    found, true = estimates(frame).query("measure == 'flip'").set_index("part"), truths(study, {cause: SIZE})
    row = found.loc[cause]
    assert row["low"] <= true[cause] <= row["high"]
    assert row["estimate"] > 0.1
    others = [part for part in PARTS if part != cause]
    if cause != "instability":  # whose draws are the same in all arms, but not for both questions
        others.append(ACQUIESCENCE) if cause != ACQUIESCENCE else None
    talk = {part: found.loc[part, "estimate"] - true[part] for part in others}
    assert talk == pytest.approx(dict.fromkeys(others, 0.0), abs=0.15 if cause == "response" else 1e-9)


@pytest.fixture(scope="module")
def nothing() -> ConditionRecords:
    """All arms on a speaker whom nothing moves."""
    return audit({}, 3, 5)


def test_nothing_is_found_where_nothing_is_planted(nothing: ConditionRecords) -> None:
    """No part is claimed, no share is computed of a movement that is not there, and the opener has no anchor."""
    frame = pairs(nothing)
    found = estimates(usable(frame))
    assert len(usable(frame)) == len(frame) == len(ARMS) * 5 * 2 * 2
    assert (found["estimate"].abs() < 1e-9).all()
    assert found["share"].isna().all()
    assert set(found["share_reason"]) == {"no variation"}
    assert all("no variation" in line for line in sentences(found))
    assert sentence(anchor(followers(nothing))) == (
        "The opener's anchor is unknown, because no other agent moves differently when another agent opens."
    )


@check_each("units", [1, 2, 4])
def test_few_groups_give_no_verdict(units: int) -> None:
    """Below five groups every sentence says that it is unknown, and why."""
    frame = by_hand({"three": 1.0}, units)
    said = sentences(estimates(frame))
    assert all(line.endswith("there are fewer than 5 groups.") for line in said)
    rows = pd.DataFrame({"block": range(units), "topic": "t", "party": "p", "change": 1.0, "opener": range(units)})
    assert sentence(anchor(rows)) == "With fewer than 5 groups, the opener's anchor is unknown."


def test_a_missing_rating_takes_its_pair_out_of_every_arm(nothing: ConditionRecords) -> None:
    """A pair that lacks a rating in one arm, or begins on the middle, is counted with its reason and used nowhere."""
    frame = pairs(nothing)
    frame.loc[frame.index[0], "reason"] = "missing"
    frame.loc[frame.index[1], "reason"] = "middle"
    assert len(usable(frame)) == len(frame) - 2 * len(ARMS)
    assert dict(left_out(frame)) == {"missing": 1, "middle": 1}


def test_the_null_is_around_zero() -> None:
    """Random signs of 1 in 100 groups: 95% of means lie within about .2."""
    low, high = null_range(np.ones(100))
    assert -0.22 < low < -0.16
    assert 0.16 < high < 0.22


def test_the_anchor_is_the_planted_slope() -> None:
    """Others change by .3 for each point of the opener, beside noise; with shuffled changes nothing is shown."""
    rng = np.random.default_rng(4)
    opener = rng.normal(3, 1, 40)
    rows = pd.DataFrame({"block": range(40), "topic": "t", "party": "p", "opener": opener})
    moved = anchor(rows.assign(change=0.3 * opener + rng.normal(0, 0.2, 40)))
    assert moved.low < 0.3 < moved.high
    assert moved.p < 0.01
    assert sentence(moved).startswith("For each point that the opener rates differently, others move 0.")
    still = anchor(rows.assign(change=rng.normal(0, 0.2, 40)))
    assert still.null_low < still.slope < still.null_high
    assert sentence(still).startswith("No anchor of the opener is shown")


def test_the_opposite_of_a_claim_is_asked_in_words() -> None:
    """The negated question has the topic's claim and the other direction; a German topic asks it in German."""
    probe = load_topic("racism").probe(NEGATED)
    assert probe.question == (
        "How much do you agree that it is not true that systemic racism is widespread in the United States?"
    )
    assert (probe.polarity, probe.attitude(7), probe.facts["negated"]) == (-1, 0.0, True)
    german = load_topic("germany/tempolimit").probe(NEGATED)
    assert german.question.startswith("Wie sehr stimmst du zu, dass es nicht stimmt, dass ein allgemeines Tempolimit")


@check_each(
    "flips, message",
    [
        ("bore:0.1", "cause of oracle,flips"),
        ("presence:2", "between 0 and 1"),
        ("presence", "does not have the form flips=NAME:NUMBER"),
    ],
)
def test_a_wrong_law_is_refused_in_one_line(flips: str, message: str) -> None:
    """An unknown cause, a probability above 1, and a cause without a number are errors before a run."""
    with pytest.raises(UserError, match=message):
        open_spec(f"oracle,flips={flips}")


@pytest.mark.thorough
def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Below five groups the page says so everywhere; repeated on the same folder, it is the same."""
    words = [
        "study",
        "flips",
        "--llm",
        "oracle",
        "--topic",
        "racism",
        "--blocks",
        "2",
        "--set",
        "rounds=1",
        "--out",
        str(tmp_path),
    ]
    assert run.main(words) == 0
    page = (tmp_path / "flips.md").read_text()
    assert (
        page.count("because there are fewer than 5 groups") + page.count("With fewer than 5 groups") == len(PARTS) + 7
    )
    assert (tmp_path / "flips.png").is_file()
    assert run.main(words) == 0
    assert (tmp_path / "flips.md").read_text() == page
    assert run.main(["study", "flips", "--llm", "oracle", "--set", "probe=attitude"]) == 2
    assert "leave out --set probe" in capsys.readouterr().err


def test_a_missing_movement_is_nan() -> None:
    """Without a usable pair there are no numbers, and no crash."""
    found = estimates(by_hand({}).iloc[:0])
    assert math.isnan(found["estimate"].iloc[0])
    assert all("is unknown" in line for line in sentences(found))
