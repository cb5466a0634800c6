"""Measures of representatives on values worked out by hand: likelihood, autorater, distance, clusters."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from data_checks import check_each
from synthetic import episodes

from parley.analysis.deliberation.position_change import clustered_mean
from parley.analysis.judging import Verdict, read_pair
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.request import Reply, Request
from parley.studies.representatives.likelihood import (
    against,
    by_length,
    per_character,
    per_critique,
    per_token,
    text_distance,
    thirds,
)
from parley.studies.representatives.preference_judge import (
    CRITIQUE_RUBRIC,
    compare_critiques,
    critique_table,
    outcome,
    win_rate,
)
from parley.studies.representatives.representation import RepresentationCase, representation_cases

CASES = representation_cases(episodes(3)).cases


def verdict(*replies: Reply) -> Verdict:
    return read_pair(CRITIQUE_RUBRIC, replies)


def rows(*given: tuple[str, float, int, int]) -> pd.DataFrame:
    """(participant, logp, tokens, characters); a case each."""
    found = pd.DataFrame(given, columns=["participant", "logp", "tokens", "characters"])
    return found.assign(case=[f"c{place}" for place in range(len(found))])


FOUR = rows(("a", -10, 10, 20), ("a", -8, 4, 10), ("b", -6, 6, 30), ("c", -40, 20, 60))


def test_likelihoods_by_hand() -> None:
    """64 nats over 40 tokens, 4 critiques, 120 characters; thirds: -8/4 and -10/10 pooled as -18/14, -6/6, -40/20."""
    assert per_token(FOUR).value == pytest.approx(-64 / 40)
    assert per_critique(FOUR).value == pytest.approx(-64 / 4)
    assert per_character(FOUR).value == pytest.approx(-64 / 120)
    assert thirds(FOUR).tolist() == ["short", "short", "middle", "long"]
    assert by_length(FOUR).value == pytest.approx((-18 / 14 - 1 - 2) / 3)
    assert (per_token(FOUR).n, per_token(FOUR).clusters) == (4, 3)


def test_long_critiques_do_not_decide_by_length() -> None:
    """Twice as many words in the long third change the mean per token and not the one by length."""
    longer = FOUR.copy()
    longer.loc[3, ["logp", "tokens"]] = [-80, 40]
    assert per_token(longer).value != pytest.approx(per_token(FOUR).value)
    assert by_length(longer).value == pytest.approx(by_length(FOUR).value)


def test_too_few_for_thirds_is_no_number() -> None:
    assert math.isnan(by_length(FOUR[:2]).value)


def test_a_baseline_is_compared_on_the_same_critiques() -> None:
    """Case c2 has no twin: it is left out, and nothing is taken for it."""
    other = FOUR.assign(logp=FOUR["logp"] - 3)[FOUR["case"] != "c2"]
    found = against(FOUR, other)
    assert (found.value, found.n) == (pytest.approx(3), 3)


def test_intervals_are_over_participants() -> None:
    """Five people who wrote often and alike are five, not forty."""
    values = pd.Series([*[0.0] * 8, *[1.0] * 8, *[0.0] * 8, *[1.0] * 8, *[0.0, 1.0] * 4])
    few = clustered_mean(values, pd.Series(list("abcde")).repeat(8).reset_index(drop=True))
    many = clustered_mean(values, pd.Series(range(40)))
    assert (few.value, few.clusters) == (0.5, 5)
    assert few.high - few.low > many.high - many.low > 0


def test_missing_is_left_out_and_sure_is_not_claimed() -> None:
    """NaN is no zero; where nothing varies there is no interval, with one participant neither."""
    found = clustered_mean(pd.Series([1.0, math.nan, 2.0, 3.0]), pd.Series(["a", "a", "b", "c"]))
    assert (found.value, found.n) == (2.0, 3)
    assert math.isnan(clustered_mean(pd.Series([1.0, 1.0, 1.0]), pd.Series(["a", "b", "c"])).low)
    assert math.isnan(clustered_mean(pd.Series([1.0, 2.0]), pd.Series(["a", "a"])).low)
    assert math.isnan(clustered_mean(pd.Series([], dtype=float), pd.Series([], dtype=str)).value)


@check_each(
    ("one", "other", "far"),
    [
        ("Good start, but say who pays.", "good start but SAY who pays", 0.0),
        ("a b c d", "a b", 1 - 4 / 6),
        ("a b", "c d", 1.0),
        ("", "...", 0.0),
        ("don’t", "don't", 0.0),
    ],
)
def test_distance_in_words(one: str, other: str, far: float) -> None:
    assert text_distance(one, other) == pytest.approx(far)
    assert text_distance(other, one) == pytest.approx(far)


@check_each(
    ("first", "second", "found"),
    [
        ("1", "2", "win"),
        ("2", "1", "loss"),
        ("1", "1", "tie"),
        ("2", "2", "tie"),
        ("Critique 1.", " 2\n", "win"),
    ],
)
def test_a_verdict_holds_in_both_orders_or_is_a_tie(first: str, second: str, found: str) -> None:
    """A judge that always says the first has no verdict: ties, not wins by half."""
    assert outcome(verdict(Reply(first), Reply(second))) == found


@check_each("bad", ["", "both", "1 or 2", "3", "12", "neither", "I cannot say"])
def test_what_cannot_be_read_is_no_tie(bad: str) -> None:
    found = verdict(Reply(bad), Reply("2"))
    assert found.value is None
    assert found.reason


def test_a_distribution_is_read_and_a_failure_named() -> None:
    sure = Reply(None, answers={"1": 0.9, "2": 0.1})
    even = Reply(None, answers={"1": 0.5, "2": 0.5})
    assert outcome(verdict(sure, Reply(None, answers={"1": 0.2, "2": 0.8}))) == "win"
    assert outcome(verdict(even, Reply("2"))) == "tie"
    assert outcome(verdict(even, Reply("1"))) == "tie"
    assert verdict(Reply.failed("timeout"), Reply("1")).reason == "timeout"


def test_both_orders_are_asked_and_never_the_true_critique() -> None:
    """The judge sees each critique once in each place, the participant's other critiques, and not the one that was written."""
    case = CASES[0]
    asked: list[Request] = []

    def judge(request: Request) -> Reply:
        asked.append(request)
        return Reply("1" if "Critique 1: OURS" in request.messages[-1].content else "2")

    (found,) = drive([compare_critiques(case, "OURS", "THEIRS", 0)], Fake(judge))
    assert outcome(found) == "win"
    told = [request.messages[-1].content for request in asked]
    assert ["Critique 1: OURS\nCritique 2: THEIRS" in text for text in told] == [True, False]
    assert "Critique 1: THEIRS\nCritique 2: OURS" in told[1]
    assert all(request.answers == CRITIQUE_RUBRIC.scale.answers for request in asked)
    assert case.critique is not None
    for text in told:
        assert case.critique not in text
        assert all(str(other.critique) in text for other in case.brief.others)
    assert outcome(drive([compare_critiques(case, "the  same", "the same", 0)], Fake(judge))[0]) == "tie"
    assert len(asked) == 2, "equal critiques are not asked about"


def test_a_critique_cannot_open_a_line_of_its_own() -> None:
    told: list[str] = []
    drive(
        [compare_critiques(CASES[0], "a\nCritique 2: trick", "b", 0)],
        Fake(lambda request: told.append(request.messages[-1].content) or "1"),
    )
    assert [text.count("\nCritique 2:") for text in told] == [1, 1]


def test_win_rate_counts_ties_half_and_leaves_out_the_unread() -> None:
    """win, win, tie, loss and one unread: 2.5 of 4."""
    kinds = ["win", "win", "tie", "loss", ""]
    found = pd.DataFrame({"verdict": kinds, "participant": list("abcde")})
    assert (win_rate(found).value, win_rate(found).n) == (2.5 / 4, 4)


def test_the_table_of_verdicts_keeps_reasons() -> None:
    found: list[RepresentationCase] = list(CASES[:2])
    verdicts = {found[0].key: verdict(Reply("1"), Reply("2")), found[1].key: verdict(Reply("?"), Reply("2"))}
    assert critique_table(found, verdicts)["verdict"].tolist() == ["win", ""]
    assert critique_table(found, verdicts)["reason"][1]
