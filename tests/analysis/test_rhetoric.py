"""Appeals of utterances and the steps of those who heard them: by hand, by real speakers, by a judge that answers badly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from data_checks import check_each

import run
from parley.analysis.judging import Judge, Verdict, missing, read
from parley.analysis.rhetoric import APPEALS, RUBRIC, effects, hearer_moves, shares, tags
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.fake import Fake
from parley.llm.backends.oracle.belief_network import appeal_of
from parley.llm.backends.oracle.phrases import banks, sentences
from parley.llm.request import Reply
from parley.model.events import Ended, Rated, Seated, Utterance


def quiet(title: str, total: int) -> contextlib.AbstractContextManager:
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
    found = tags(tables, Judge(open_spec("oracle"), quiet), 0)
    for row in found.itertuples():
        planted = {appeal_of(bank.forms[one]) for one in sentences(row.text) if one in bank.forms}
        assert {one for one in APPEALS if getattr(row, one) == 1} == planted
    assert set(found["reasons"]) == {""}
    assert found[list(APPEALS)].sum().min() > 0


def test_what_was_not_said_or_not_read_is_no_tag(ran: Callable[..., Path]) -> None:
    tables = load(ran("persuasion_trace"))
    tables.utterances.loc[0, ["text", "reason"]] = [None, "refusal"]
    found = tags(tables, Judge(Fake(lambda request: "perhaps"), quiet), 0)
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
    """Rooms a and b: half and all of the utterances are logos, 0.75 on average. Steps with it 3 and 1, without 0: 2 more."""
    rows = [("a", 1, 1.0), ("a", 2, 0.0), ("b", 1, 1.0), ("b", 2, float("nan"))]
    told = pd.DataFrame(rows, columns=["room", "iteration", "logos"]).assign(party="p", pathos=0.0, ethos=0.0)
    told = told.assign(group="g", repetition=told["room"])
    found = shares(told).set_index("appeal").loc["logos"]
    assert (found["share"], found["utterances"], found["missing"], found["rooms"]) == (0.75, 3, 1, 2)
    moved = pd.DataFrame([("a", 1, 9, 3.0), ("a", 2, 9, 0.0), ("b", 1, 9, 1.0), ("b", 2, 9, 5.0)],
                         columns=["room", "iteration", "agent", "toward"])  # fmt: skip
    steps = effects(told, moved).set_index("appeal").loc["logos"]
    assert (steps["with"], steps["without"], steps["mean_with"], steps["difference"]) == (2, 1, 2.0, 2.0)


def test_the_command_ends_in_a_report(ran: Callable[..., Path], tmp_path: Path) -> None:
    """A second sitting of the same folder asks nothing again; a run with a survey a round says what is missing."""
    for _ in range(2):
        assert run.main(["rhetoric", str(ran("persuasion_trace")), "--llm", "oracle", "--out", str(tmp_path)]) == 0
    assert "| logos |" in (tmp_path / "rhetoric.md").read_text()
    assert run.main(["rhetoric", str(ran("persuasion_trace")), "--llm", "fake", "--out", str(tmp_path)]) == 2
    assert run.main(["rhetoric", str(ran("two_way")), "--llm", "oracle", "--out", str(tmp_path / "b")]) == 0
    assert "also=attitude:turns" in (tmp_path / "b" / "rhetoric.md").read_text()
