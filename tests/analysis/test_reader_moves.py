"""Appeals of statements and the moves of those who read them: by hand, by real speakers, by a judge that answers badly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from data_checks import check_each

import run
from parley.analysis.judging import Judge, Verdict, judge_by_rubric, load_rubric, missing, read
from parley.analysis.reader_moves import effects, hearer_moves
from parley.analysis.rubric_report import by_party
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.belief_network import appeal_of
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.request import Reply
from parley.model.events import Ended, Rated, Seated, Utterance

RUBRIC = load_rubric("appeal")
APPEALS = RUBRIC.columns


def quiet(title: str, total: int, unit: str = "call") -> contextlib.AbstractContextManager:
    return contextlib.nullcontext(lambda count: None)


@check_each(
    ("text", "found"),
    [
        ("Present", 1.0),
        ("The answer is absent.", 0.0),
        ("1", "no_label"),
        ("Present or absent", "several_labels"),
        ("Not present", "denied_label"),
        ("", "empty"),
    ],
)
def test_a_verdict_is_read_or_missing(text: str, found: float | str) -> None:
    """Never a guess: what is neither of the two words is a reason."""
    verdict = read(RUBRIC, [Reply(text)])
    assert (verdict.reason if verdict.value is None else verdict.value) == found


def test_a_tie_and_a_failure_are_no_verdict() -> None:
    even, more = ({"Absent": 1 - share, "Present": share} for share in (0.5, 0.6))
    assert read(RUBRIC, [Reply("x", answers=even)]) == missing("tie")
    assert read(RUBRIC, [Reply("x", answers=more)]) == Verdict(1.0, (), (1.0,))
    assert read(RUBRIC, [Reply.failed("timeout")]) == missing("timeout")


def test_planted_appeals_are_found_again(ran: Callable[..., Path]) -> None:
    """Every utterance of the known-truth speaker has the appeals of the forms of its sentences, and no others."""
    tables, bank = load(ran("persuasion_trace")), banks().topics["racism"]
    found = judge_by_rubric(RUBRIC, tables, Judge(open_spec("oracle"), quiet), 0)
    for row in found.itertuples():
        planted = {appeal_of(bank.forms[one]) for one in sentences(row.text) if one in bank.forms}
        assert {one for one in APPEALS if getattr(row, one) == 1} == planted
    assert set(found["reasons"]) == {""}
    assert found[list(APPEALS)].sum().min() > 0


def test_what_was_not_said_or_not_read_is_no_tag(ran: Callable[..., Path]) -> None:
    tables = load(ran("persuasion_trace"))
    tables.utterances.loc[0, ["text", "reason"]] = [None, "refusal"]
    found = judge_by_rubric(RUBRIC, tables, Judge(Fake(lambda request: "perhaps"), quiet), 0)
    assert found[list(APPEALS)].isna().all().all()
    assert found["reasons"].tolist() == ["refusal", *["no_label"] * (len(found) - 1)]


def rated(room: str, round_: int, iteration: int, agent: int, value: float) -> Rated:
    return Rated(
        room,
        round_,
        iteration,
        agent,
        "attitude:turns" if iteration else "attitude",
        value,
        value,
        None,
        None,
        None,
        "raw",
        "strict",
        1,
    )


def test_steps_of_hearers_by_hand(record: Callable[..., Path], header: Callable[..., object]) -> None:
    """Ann 2, Bob 8. Ann speaks: Bob 8 to 7, one point toward her. Bob speaks: Ann 2 to 1, one point away from him."""
    room, people = "racism/a/0", (("Ann", "republican"), ("Bob", "democrat"))
    seats = [
        Seated(number, room, "racism", "a", 0, party, party, "p", name)
        for number, (name, party) in enumerate(people, 1)
    ]
    turns = [Utterance(room, 1, turn, turn, "Hello.", None) for turn in (1, 2)]
    told = [
        rated(room, *row) for row in ((0, 0, 1, 2.0), (0, 0, 2, 8.0), (1, 1, 2, 7.0), (1, 2, 1, 1.0), (1, 2, 2, 7.0))
    ]
    tables = load(record([header(also=("attitude:turns",)), *seats, *told[:2], *turns, *told[2:], Ended(1, 9)]))
    assert (len(tables.probes), len(tables.attitudes)) == (3, 2)
    found = hearer_moves(tables)
    assert found[["iteration", "agent", "toward"]].to_numpy().tolist() == [[1, 2, 1.0], [2, 1, -1.0]]


def test_shares_and_differences_by_hand() -> None:
    """Rooms a and b: half and all of the statements are logos, 0.75 on average. Readers move 3 and 1 more after logos than
    without it in a and c, 2 on average; a statement without a verdict does not count.
    """
    rows = [("a", 1, 1.0), ("a", 2, 0.0), ("b", 1, 1.0), ("b", 2, float("nan")), ("c", 1, 1.0), ("c", 2, 0.0)]
    told = pd.DataFrame(rows, columns=["room", "iteration", "logos"]).assign(party="p", pathos=0.0, ethos=0.0)
    told = told.assign(group="g", repetition=told["room"])
    found = by_party(told[told["room"] != "c"], APPEALS, RUBRIC.bounds).set_index("score").loc["logos"]
    assert (found["mean"], found["statements"], found["missing"], found["rooms"]) == (0.75, 3, 1, 2)
    moves = [("a", 1, 9, 3.0), ("a", 2, 9, 0.0), ("b", 1, 9, 1.0), ("b", 2, 9, 5.0), ("c", 1, 9, 1.0), ("c", 2, 9, 0.0)]
    moved = pd.DataFrame(moves, columns=["room", "iteration", "agent", "toward"])
    steps = effects(told, moved, APPEALS).set_index(["tag", "other"])
    alone = steps.loc[("logos", "without it")]
    assert (alone["with"], alone["steps"], alone["difference"]) == (3, 5, 2.0)
    assert steps["difference"].isna().sum() == 5, "pathos and ethos are never there"


def test_the_command_ends_in_a_report(ran: Callable[..., Path], tmp_path: Path) -> None:
    """A second sitting of the same folder asks nothing again; a run with a survey a round says what is missing."""
    asked = ["study", "judge", str(ran("persuasion_trace")), "--rubric", "appeal", "--out", str(tmp_path), "--llm"]
    for _ in range(2):
        assert run.main([*asked, "oracle"]) == 0
    assert "| logos | without it |" in (tmp_path / "appeal.md").read_text()
    assert run.main([*asked, "fake"]) == 2
    folder = tmp_path / "b"
    assert (
        run.main(["study", "judge", str(ran("two_way")), "--rubric", "appeal", "--llm", "oracle", "--out", str(folder)])
        == 0
    )
    assert "also=attitude:turns" in (folder / "appeal.md").read_text()
