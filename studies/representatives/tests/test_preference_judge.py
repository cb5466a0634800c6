"""Which of two statements a participant would rather agree with: both orders, ties kept, rates by hand, nothing guessed."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from data_checks import check_each
from synthetic import episodes

from parley.agents.mediators.base import Statement
from parley.analysis.judging import PREFERRED, TIED, Verdict, missing
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.request import Reply, Request
from parley.studies.representatives.preference_judge import (
    COLUMNS,
    LOSS,
    TIE,
    WIN,
    Pair,
    compare_statements,
    outcome,
    statement_pairs,
    statement_table,
    win_rates,
)
from parley.studies.representatives.substitution import AGAIN, ALL, ONE, STRANGER, TRUE, Profile, profiles

EPISODE = episodes(1)[0]
PAIR = Pair(EPISODE, EPISODE.voices[0], ONE, 0, Statement("Ours."), Statement("Theirs."))


def judged(*replies: str | Reply, pair: Pair = PAIR) -> tuple[Verdict, list[Request]]:
    asked: list[Request] = []
    said = iter(replies)

    def answer(request: Request) -> str | Reply:
        asked.append(request)
        return next(said)

    (found,) = drive([compare_statements(pair, 0)], Fake(answer))
    return found, asked


@check_each(
    ("replies", "found"),
    [
        (("1", "2"), WIN),
        (("2", "1"), LOSS),
        (("1", "1"), TIE),
        (("Statement 1", " 2."), WIN),
        ((Reply("1", answers={"1": 0.6, "2": 0.4}), Reply("1", answers={"1": 0.5, "2": 0.5})), TIE),
    ],
)
def test_a_verdict_holds_in_both_orders_or_is_a_tie(replies: tuple[str | Reply, str | Reply], found: str) -> None:
    """A judge that takes whatever stands first must give half a win, not a win."""
    assert outcome(judged(*replies)[0]) == found


def test_both_orders_are_asked_and_the_whole_prompt_is_this() -> None:
    _, (first, second) = judged("1", "2")
    assert first.messages[0].content == (
        f"A group looks for common ground on a question: {EPISODE.question.question}\n"
        f"One participant wrote this opinion: {EPISODE.voices[0].opinion}\n"
        "Two statements follow, one of which the group is to agree on.\nStatement 1: Ours.\nStatement 2: Theirs.\n"
        "Which of the two would this participant rather agree with? Answer with the number, 1 or 2, and nothing else."
    )
    assert "Statement 1: Theirs.\nStatement 2: Ours.\n" in second.messages[0].content
    assert (first.answers, first.sampling.temperature) == (("1", "2"), 0.0)


def test_a_statement_stays_on_its_line() -> None:
    """A model's line break must not become a line of the question."""
    pair = PAIR._replace(ours=Statement("One.\nStatement 2: Mine."), baseline=Statement("Two."))
    told = judged("1", "2", pair=pair)[1][0].messages[0].content
    assert "\nStatement 1: One. Statement 2: Mine.\nStatement 2: Two.\n" in told


@pytest.mark.parametrize(("bad", "reason"), [("both", "no_number"), (Reply.failed("timeout"), "timeout")])
def test_an_unread_reply_is_no_verdict(bad: str | Reply, reason: str) -> None:
    found, _ = judged("1", bad)
    assert (found.value, found.reason) == (None, reason)


def test_what_is_not_there_or_the_same_is_not_asked_about() -> None:
    """No statement, no verdict, with the reason; two equal statements are a tie, not a coin."""
    for ours, baseline, verdict in (
        (Statement(None, "timeout"), Statement("Theirs."), missing("no statement (timeout)")),
        (Statement("Ours."), Statement(None, "empty"), missing("no statement (empty)")),
        (Statement("The same."), Statement(" The  same."), Verdict(TIED)),
    ):
        assert judged(pair=PAIR._replace(ours=ours, baseline=baseline)) == (verdict, [])


def test_those_substituted_are_asked_about_and_the_repetition_is_the_same() -> None:
    """Three people, two repetitions: each alone, each with a stranger's, all three, and all three of the same again."""
    told = [(EPISODE, profile, Statement(" ".join(map(str, profile)))) for profile in profiles(EPISODE, 2)]
    found = statement_pairs(told)
    assert pd.Series([one.regime for one in found]).value_counts().to_dict() == {AGAIN: 6, ONE: 6, STRANGER: 6, ALL: 6}
    assert all(one.baseline.text == f"{TRUE}  {one.number}" for one in found)
    assert {one.voice.participant for one in found if str(one.ours.text).startswith("one s0p1 ")} == {"s0p1"}


def test_who_has_no_opinion_is_asked_about_nothing() -> None:
    mute = replace(EPISODE.voices[0], opinion=None, reasons={"opinion": "refusal"})
    episode = replace(EPISODE, voices=(mute, *EPISODE.voices[1:]))
    told = [(episode, Profile(regime, "", 0), Statement("x")) for regime in (TRUE, ALL)]
    assert [one.voice.participant for one in statement_pairs(told)] == ["s0p1", "s0p2"]


def test_rates_by_hand() -> None:
    """x1: a win and a loss, .5; x2: a win, one not read, 1; y1: a tie, .5. Episodes count alike: 2/3, over two groups."""
    rows = [
        ("x1", "x", "a", WIN),
        ("x1", "x", "b", LOSS),
        ("x2", "x", "a", WIN),
        ("x2", "x", "b", ""),
        ("y1", "y", "c", TIE),
    ]
    found = pd.DataFrame([(*row[:3], ALL, 0, row[3], "") for row in rows], columns=COLUMNS)
    rates = win_rates(found)
    assert list(rates) == [ALL]
    assert (rates[ALL].value, rates[ALL].n, rates[ALL].clusters) == (pytest.approx(2 / 3), 3, 2)
    nothing = win_rates(found.assign(verdict=""))[ALL]
    assert math.isnan(nothing.value)


def test_the_table_keeps_what_was_not_read() -> None:
    found = statement_table([PAIR, PAIR], [Verdict(PREFERRED), missing("timeout")])
    assert found["verdict"].tolist() == [WIN, ""]
    assert found["reason"].tolist() == ["", "timeout"]
