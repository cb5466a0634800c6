"""What representatives' ballots change: three equivalences by hand, Proposition 1 as a property, a null that claims nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from parley.agents.social_choice import Places
from parley.studies.representatives.ballot_equivalence import (
    ALL,
    LOT,
    MEASURES,
    ONE,
    Ballots,
    Poll,
    choices,
    compare_ballots,
    equivalence_table,
    outcomes,
)
from parley.studies.representatives.step_report import change_sentences, write_steps
from parley.studies.representatives.step_study import StepResult, StepStudy

A, B, C = 0, 1, 2
TEXTS = ("a", "b", "c")


def poll(ballots: Ballots, own: Ballots, place: int = 0, texts: tuple[str, ...] = TEXTS, **reasons: str) -> Poll:
    """A recorded choice; a stranger's representative casts what the own one casts."""
    why = {(who, member): reason for who in ("own", "stranger") for member, reason in reasons.items()}
    instead = {"own": own, "stranger": own}
    return Poll("ballot", f"s{place}", "e", 1, texts, "schulze", ballots, instead, why)


def row(rows: pd.DataFrame, member: str, profile: str, who: str = "own") -> Mapping[str, float]:
    """The measures of one row."""
    found = rows[(rows["member"] == member) & (rows["profile"] == profile) & (rows["who"] == who)]
    (only,) = found.to_dict("records")
    return {str(name): value for name, value in only.items()}


def test_the_three_equivalences_by_hand() -> None:
    """Three members want a. x's other ballot changes nothing; that of all makes c the choice, which y ranks last."""
    ballots: Ballots = {"x": (A, B, C), "y": (A, B, C), "z": (A, C, B)}
    rows = compare_ballots([poll(ballots, {"x": (B, A, C), "y": (C, B, A), "z": (C, A, B)})])
    assert [row(rows, "x", ONE)[name] for name in MEASURES] == [0, 1, 1, 0]  # a, by every rule
    assert [row(rows, "x", ALL)[name] for name in MEASURES] == [0, 0, 0, -1]  # c: 0 of 2 others, a: 2 of 2
    assert row(rows, "z", ALL)["gap"] == -0.5  # z ranks c in the middle


def test_another_choice_can_be_worth_the_same() -> None:
    """The last equivalence does not lead to the one before: the choice changes, and a member that ties both gets the same."""
    ballots: Ballots = {"x": ((A, B),), "y": (A, B), "z": (A, B)}
    rows = compare_ballots([poll(ballots, {"x": (B, A), "y": (B, A), "z": (B, A)}, texts=("a", "b"))])
    assert row(rows, "x", ALL)["same_choice"] == 0
    assert row(rows, "x", ALL)["gap"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_proposition_1(seed: int) -> None:
    """The same ballots lead to the same choice by every rule, and that to the same points: never the other way round alone."""
    lot, seen = random.Random(seed), set()
    for place in range(40):
        ballots, own = ({who: _ballot(lot) for who in "xyz"} for _ in range(2))
        own["x"] = ballots["x"]
        for one in compare_ballots([poll(ballots, own, place)]).to_dict("records"):
            if one["who"] != LOT:
                same, by_all, chosen, gap = (one[name] for name in MEASURES)
                assert same <= by_all <= chosen <= float(gap == 0)
                seen.add((same, by_all, chosen, float(gap == 0)))
    assert {(0, 0, 0, 0), (0, 0, 1, 1), (1, 1, 1, 1)} <= seen


def _ballot(lot: random.Random) -> Places:
    order: Places = tuple(lot.sample(range(3), 3))
    return ((order[0], order[1]), order[2]) if lot.random() < 0.3 else order


def test_statements_with_the_same_text_are_the_same_choice() -> None:
    """Two candidates of one text: which of the two is chosen does not matter."""
    ballots: Ballots = {"x": (A, B, C), "y": (A, B, C), "z": (A, B, C)}
    turned = dict.fromkeys(ballots, (B, A, C))
    rows = compare_ballots([poll(ballots, turned, texts=("same", "same", "other"))])
    assert row(rows, "x", ALL)["same_by_all"] == 1
    assert row(rows, "x", ALL)["gap"] == 0


def test_a_missing_ballot_is_unknown_and_has_its_reason() -> None:
    """A group whose one ballot cannot be read is not compared as if that member had stayed away."""
    ballots: Ballots = {"x": (A, B, C), "y": (A, B, C)}
    rows = compare_ballots([poll(ballots, {"x": (A, B, C)}, y="refusal")])
    assert row(rows, "x", ONE)["same_choice"] == 1
    for member, profile in (("y", ONE), ("x", ALL), ("y", ALL)):
        assert math.isnan(row(rows, member, profile)["same_choice"])
        assert rows.set_index(["member", "profile", "who"]).loc[(member, profile, "own"), "reason"] == "refusal"
    assert not len(compare_ballots([poll({"x": (A, B, C)}, {"x": (A, B, C)})]))
    assert not len(compare_ballots([poll({"x": (A,), "y": (A,)}, {"x": (A,), "y": (A,)}, texts=("a",))]))


def test_outcomes_are_those_of_the_rule_of_the_run() -> None:
    """maximin avoids the candidate that one member ranks last; Schulze's rule takes it."""
    ballots: Ballots = {"x": (A, B, C), "y": (A, B, C), "z": (B, C, A)}
    usual = poll(ballots, {})
    assert choices(usual, ballots)["schulze"] == A
    assert choices(usual, ballots)["maximin"] == B
    new: Ballots = {"z": (A, B, C)}
    assert outcomes(usual, new, choices(usual, ballots))["z"].same_choice == 1
    maximin = usual._replace(rule="maximin")
    assert outcomes(maximin, new, choices(maximin, ballots))["z"].same_choice == 0


def groups(sessions: int, copies: float, seed: int) -> list[Poll]:
    """Groups of five and four candidates; a representative's ballot is a copy with this probability, else by lot."""
    lot, found = random.Random(seed), []
    for place in range(sessions):
        ballots: Ballots = {who: tuple(lot.sample(range(4), 4)) for who in "vwxyz"}
        own = {who: one if lot.random() < copies else tuple(lot.sample(range(4), 4)) for who, one in ballots.items()}
        found.append(poll(ballots, own, place, ("a", "b", "c", "d")))
    return found


@pytest.mark.thorough
def test_representatives_by_lot_claim_nothing_and_copies_are_found() -> None:
    """12 studies of eight groups: ballots by lot keep the choice in none or one; with four of five copied, in most."""
    claims = {}
    for copies in (0.0, 0.8):
        said = []
        for seed in range(12):
            table = equivalence_table(compare_ballots(groups(8, copies, seed))).set_index(["profile", "who"])
            said.append(float(table.loc[(ONE, f"own - {LOT}"), "same_choice_low"]) > 0)
        claims[copies] = np.mean(said)
    assert claims[0.0] <= 0.1
    assert claims[0.8] >= 0.8


@pytest.mark.thorough
def test_what_is_said(tmp_path: Path) -> None:
    """Below five groups nothing is said; a perfect representative keeps every choice; the page has figure and tables."""
    few = list(change_sentences(equivalence_table(compare_ballots(groups(4, 1.0, 0)))))
    assert few == [
        f"Ballots of {whose}: what ballots of representatives change is unknown (fewer than 5 sessions)."
        for whose in ("one member", "all members")
    ]
    rows = compare_ballots(groups(8, 1.0, 0))
    one, every = change_sentences(equivalence_table(rows))
    for said in (one, every):
        assert (
            "the choice stays the same in 1.00 with representatives, 1.00 with strangers' representatives and 0."
            in said
        )
        assert " The choice stays the same more often than with random ballots, with a difference of 0." in said
        assert "whether this share is higher than with a stranger's is unknown (no variation)" in said
    assert "Points change by 0.00 with representatives, and by -0." in one
    others = zip(groups(8, 1.0, 0), groups(8, 0.0, 1), strict=True)
    apart = [one._replace(instead=one.instead | {"stranger": other.instead["own"]}) for one, other in others]
    *_, every = change_sentences(equivalence_table(compare_ballots(apart)))
    assert ", and more often than with a stranger's, with a difference of 0." in every
    cases = pd.DataFrame({"step": ["ballot"], "session": ["s0"], "own": [1.0], "stranger": [0.0], "twice": [math.nan]})
    result = StepResult(cases.assign(why_own="", why_stranger="", why_twice="not asked"), rows, [])
    page = write_steps(result, StepStudy("oracle"), tmp_path).read_text(encoding="utf-8")
    assert "![How often the group chooses the same statement](changes.png)" in page
    assert (tmp_path / "changes.png").is_file()
    assert len(pd.read_csv(tmp_path / "replaced.csv")) == len(rows)
