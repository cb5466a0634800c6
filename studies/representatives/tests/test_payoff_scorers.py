"""The scorers of payoffs: what a judge, a ranking and the own ratings say of a statement, and their calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from data_checks import check_each
from synthetic import episodes

from parley.analysis.deliberation.episode import Episode
from parley.analysis.judging import Verdict, compose
from parley.llm.backends.fake import Fake
from parley.llm.driver import drive
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.studies.representatives.payoff_measures import calibrate_payoff, rating_table
from parley.studies.representatives.payoffs import judge as judge_payoff
from parley.studies.representatives.payoffs import names, open_payoff
from parley.studies.representatives.payoffs import ranking as ranking_payoff

EPISODE = episodes(1)[0]


def score(name: str, statements: Sequence[str], answer: Reply | str, episode: Episode = EPISODE) -> tuple[Verdict, ...]:
    conversation = open_payoff(name).score(episode, episode.voices[0], statements, 3)
    (found,) = drive([conversation], Fake(lambda request: answer))
    result: tuple[Verdict, ...] = found
    return result


def test_the_scorers_are_those_of_the_folder() -> None:
    assert names() == ["judge", "own", "ranking", "trained"]
    with pytest.raises(UserError, match="did you mean ranking"):
        open_payoff("rankin")


@pytest.mark.parametrize(
    ("reply", "value"), [("6", 6.0), (Reply(None, answers={str(p): 1 / 7 for p in range(1, 8)}), 4.0)]
)
def test_judge_reads_a_number_or_a_distribution(reply: Reply | str, value: float) -> None:
    assert [one.value for one in score("judge", ["One.", "Two."], reply)] == pytest.approx([value, value])


@check_each("bad", ["", "8", "no idea", "6 or 7", Reply.failed("timeout")])
def test_judge_guesses_nothing(bad: Reply | str) -> None:
    (found,) = score("judge", ["One."], bad)
    assert found.value is None
    assert found.reason


def test_judge_shows_opinion_and_statement_on_lines_of_their_own() -> None:
    item = judge_payoff.statement_item(EPISODE, "My\nopinion.", "The statement.\nx")
    told = compose(judge_payoff.RUBRIC, item, 0).messages[0].content
    assert "\nOne participant wrote this opinion: My opinion.\n" in told
    assert "\nThe statement that the group is to agree on: The statement. x\n" in told


def test_ranking_counts_who_is_beaten() -> None:
    """Shown in an order drawn by lot: the model says A > B > C of what it was shown; equal statements share a place."""
    statements = ["One.", "Two.", "Three.", "Two. "]
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return "A > B > C"

    (found,) = drive([ranking_payoff.score(EPISODE, EPISODE.voices[0], statements, 3)], Fake(answer))
    lines = asked[0].messages[0].content.splitlines()[-3:]
    order = [line[3:] for line in lines]
    assert sorted(order) == ["One.", "Three.", "Two."]
    assert [one.value for one in found] == [1 - order.index(text.strip()) / 2 for text in statements]
    assert score("ranking", ["One."], "A")[0].reason == "nothing to compare"
    assert {one.reason for one in score("ranking", ["One.", "Two."], "A, B")} == {"no_ranking"}


def test_own_knows_the_participants_own_ratings_and_nothing_else() -> None:
    first = EPISODE.voices[0]
    found = score("own", [str(EPISODE.draft), "Something new.", f" {EPISODE.revision}"], "unused")
    assert [one.value for one in found] == [first.agreement["draft"], None, first.agreement["revision"]]
    assert found[1].reason == "not rated by the participant"


def test_without_an_opinion_there_is_no_payoff() -> None:
    mute = replace(EPISODE.voices[0], opinion=None, reasons={"opinion": "refusal"})
    silent = replace(EPISODE, voices=(mute, *EPISODE.voices[1:]))
    for name in ("judge", "ranking"):
        assert {one.reason for one in score(name, ["One.", "Two."], "4", silent)} == {"no opinion"}


def test_calibration_by_hand() -> None:
    """Ratings 1 3, 5 2, 4 4 with scores 2 4, 3 1 (right order twice), 6 missing."""
    rows = pd.DataFrame(
        [("a", "e", "draft", 1, 2), ("a", "e", "revision", 3, 4), ("b", "e", "draft", 5, 3), ("b", "e", "revision", 2, 1),
         ("c", "e", "draft", 4, 6), ("c", "e", "revision", 4, math.nan)],
        columns=["participant", "episode", "statement", "rating", "score"],
    ).astype({"rating": float, "score": float}).assign(group="g")  # fmt: skip
    found = calibrate_payoff(rows, same_scale=True)
    assert (found.preferred.value, found.preferred.n, found.missing) == (1.0, 2, 1)
    assert found.bias.value == pytest.approx((1 + 1 - 2 - 1 + 2) / 5)
    assert found.error.value == pytest.approx(7 / 5)
    assert found.r.value == pytest.approx(rows.dropna()["rating"].corr(rows.dropna()["score"]))
    assert math.isnan(calibrate_payoff(rows, same_scale=False).bias.value)
    worse = rows.assign(score=-rows["score"])
    assert calibrate_payoff(worse, same_scale=True).preferred.value == 0.0


def test_only_ratings_of_statements_that_are_there_are_calibrated_on() -> None:
    assert len(rating_table([EPISODE])) == 6
    assert len(rating_table([replace(EPISODE, revision=None, reasons={"revision": "empty"})])) == 3


@pytest.mark.thorough
def test_a_scorer_without_knowledge_is_not_said_to_agree_with_ratings() -> None:
    """The members of a group rate the same two statements: over people, a fifth of such scores would be called related."""
    rng, claims = np.random.default_rng(3), []
    names = [
        (f"g{at}", f"e{at}", f"p{at}{who}", what)
        for at in range(12)
        for who in range(5)
        for what in ("draft", "revision")
    ]
    rows = pd.DataFrame(names, columns=["group", "episode", "participant", "statement"])
    for _ in range(100):
        liked, scored = rng.normal(0, 1, 24).repeat(5), rng.normal(0, 1, 24).repeat(5)  # of each statement of a group
        order = rows.sort_values(["group", "statement"], kind="stable").index
        own = pd.Series(4 + liked + rng.normal(0, 1, 120), order), pd.Series(4 + scored, order)
        found = calibrate_payoff(rows.assign(rating=own[0], score=own[1]), same_scale=True)
        claims.append((not found.r.low <= 0 <= found.r.high, not found.preferred.low <= 0.5 <= found.preferred.high))
    assert (np.mean(claims, axis=0) <= 0.11).all()
