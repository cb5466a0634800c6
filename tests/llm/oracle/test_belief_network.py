"""The Bayesian hearer: its probabilities by hand, its appeals found again by a judge, and none where none is planted."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pandas as pd
import pytest

import run
from parley.analysis.judging import Judge, judge_by_rubric, load_rubric
from parley.analysis.reader_moves import NOT_APART, WITHOUT, effects, hearer_moves
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.oracle.belief_network import LINK, BeliefNetwork, evidence
from parley.llm.backends.oracle.phrases import banks
from parley.llm.errors import UserError

NET = BeliefNetwork(1.0, 0.0, 0.0)


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


def sentence(appeal: str, grade: int) -> str:
    """Return a sentence of the bank on racism that makes this appeal at this grade."""
    bank = banks().topics["racism"]
    return next(
        one for one in bank.forms if bank.grades[one] == grade and evidence(banks(), "racism", one)[0][1] == appeal
    )


def test_one_sentence_by_hand() -> None:
    """Prior .5, weight 1, grade 10: the reason gets odds of e, and the claim (LINK e + 1 - LINK) / (LINK + (1 - LINK) e)."""
    top = max(banks().topics["racism"].by_grade)
    factor = math.exp(top / 5 - 1)
    odds = (LINK * factor + 1 - LINK) / (LINK + (1 - LINK) * factor)
    found, unread = NET.belief(banks(), "racism", 5.0, [sentence("logos", top)])
    assert (found, unread) == (pytest.approx(10 * odds / (1 + odds)), 0)


def test_the_same_reason_adds_less_and_less_and_is_bounded() -> None:
    """A single reason, however often it is heard, moves the odds of the claim by at most LINK / (1 - LINK)."""
    line = sentence("logos", max(banks().topics["racism"].by_grade))
    values = [NET.belief(banks(), "racism", 5.0, [line] * times)[0] for times in (0, 1, 2, 200)]
    assert values[1] - values[0] > values[2] - values[1] > 0
    assert values[3] == pytest.approx(10 * LINK)


def test_an_appeal_without_weight_and_an_unknown_text_move_nothing() -> None:
    """Null: what makes the other appeals, and what is not read, leaves the attitude where it was; the latter is counted."""
    line = sentence("pathos", max(banks().topics["racism"].by_grade))
    assert NET.belief(banks(), "racism", 3.0, [line]) == (pytest.approx(3.0), 0)
    assert NET.belief(banks(), "racism", 3.0, ["Good morning."]) == (pytest.approx(3.0), 1)


def test_what_the_law_cannot_have_is_refused() -> None:
    for spec in ("oracle,logos=1,report=-1", "oracle,pathos=inf", "oracle,report=0.3"):
        with pytest.raises(UserError):
            open_spec(spec)


def contrasts(folder: Path) -> pd.DataFrame:
    tables = load(folder)
    judged = judge_by_rubric(load_rubric("appeal"), tables, Judge(open_spec("oracle"), quiet), 0)
    return pairs(judged, hearer_moves(tables)).set_index(["tag", "other"])


def pairs(judged: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    found = effects(judged, moved, ("logos", "pathos", "ethos"))
    return found[found["other"] != WITHOUT]


@pytest.mark.thorough
def test_the_planted_appeal_is_found_and_equal_appeals_do_not_differ(tmp_path: Path) -> None:
    """Planted logos=1: it moves farther than both others, which do not differ. Null: equal weights, no difference at all."""
    found = {}
    for name, spec in (("planted", "logos=1"), ("equal", "logos=.5,pathos=.5,ethos=.5")):
        words = ["--scenario", "persuasion_trace", "--llm", f"oracle,{spec}", "--set", "repetitions=6"]
        assert run.main([*words, "--out", str(tmp_path / name)]) == 0
        found[name] = contrasts(tmp_path / name)
    logos = found["planted"].loc["logos"]
    assert (logos["difference_low"] > 0.2).all()
    other = found["planted"].loc[("pathos", "ethos")]
    assert other["difference_low"] < 0 < other["difference_high"]
    assert (found["equal"]["difference"].abs() < 0.15).all()
    assert (found["equal"]["difference_low"] < 0.05).all()
    assert (found["equal"]["difference_high"] > -0.05).all()


def test_contrasts_by_hand() -> None:
    """Readers move 2 after logos, 1 after pathos, 0 after ethos: differences 1, 2, 1; none where appeals do not vary."""
    made = {"logos": 2.0, "pathos": 1.0, "ethos": 0.0}
    rows = [
        (room, at, 9, toward + ord(room) % 2, appeal)
        for room in "abcdef"
        for at, (appeal, toward) in enumerate(made.items())
    ]
    rows += [(room, 3, 9, made["logos"] + made["pathos"] + ord(room) % 2, "logos pathos") for room in "abcdef"]
    moved = pd.DataFrame([row[:4] for row in rows], columns=["room", "iteration", "agent", "toward"])
    judged = moved[["room", "iteration"]].assign(
        group="g", repetition=moved["room"], **{appeal: [float(appeal in row[4]) for row in rows] for appeal in made}
    )
    assert pairs(judged, moved)["difference"].round(9).tolist() == [1.0, 2.0, 1.0]
    alike = pairs(judged.assign(logos=1.0, pathos=1.0, ethos=0.0), moved)
    assert alike["difference"].isna().all()
    assert set(alike["reason"]) == {NOT_APART}
