"""Shared answers: who is asked and who draws, from what, when a sample is renewed; the same on a network in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from data_checks import check_each
from hypothesis import given, settings
from hypothesis import strategies as st
from standins import Scrambled

from parley.llm.answer_sharing import REUSE, AnswerSharing, answer_key, distance, samples_differ
from parley.llm.driver import ask, drive
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import stream

from .conftest import Counted

ANSWERS = ("1", "2", "3")


def survey(seed: int, kind: str = "kind", answers: tuple[str, ...] = ANSWERS) -> Request:
    return Request((Message("user", "How much?"),), Sampling(0.0), seed, answers, "survey", archetype=kind)


def by_seed(request: Request) -> str:
    return ANSWERS[request.seed % 3]


def test_the_first_of_a_kind_are_asked_and_the_others_draw_their_answers() -> None:
    """Three are asked; the fourth has one of their answers, for nothing, and says that it was drawn."""
    inner = Counted(by_seed)
    replies = AnswerSharing(inner, 3).complete([survey(seed) for seed in range(8)])
    assert inner.calls == 3
    assert [reply.text for reply in replies[:3]] == ["1", "2", "3"]
    assert [reply.notes for reply in replies] == [{}] * 3 + [{"drawn": 1}] * 5
    assert {reply.text for reply in replies[3:]} <= set(ANSWERS)
    assert all(sum(reply.usage) == 0 and reply.way == "archetype" for reply in replies[3:])


def test_kinds_are_apart_and_open_questions_are_always_asked() -> None:
    """Nobody answers for somebody of another kind, and nobody speaks for anybody."""
    inner = Counted(lambda request: request.archetype or "spoken")
    asked = [survey(seed, kind) for seed in range(4) for kind in ("a", "b", "")]
    spoken = [survey(9, "a", answers=()) for _ in range(5)]
    replies = AnswerSharing(inner, 2).complete([*asked, *spoken])
    assert [reply.text for reply in replies] == [request.archetype or "spoken" for request in [*asked, *spoken]]
    assert inner.calls == 2 + 2 + 4 + 5


def test_everybody_draws_its_own_from_the_whole_sample() -> None:
    """Asked 1, 1, 2: of many draws two thirds are 1; the same seed draws the same."""
    backend = AnswerSharing(Counted(lambda request: "1" if request.seed < 2 else "2"), 3)
    backend.complete([survey(seed) for seed in range(3)])
    drawn = backend.complete([survey(seed) for seed in range(3, 3 + 3 * REUSE)])
    again = AnswerSharing(Counted(lambda request: "1" if request.seed < 2 else "2"), 3)
    assert again.complete([survey(seed) for seed in range(3 + 3 * REUSE)])[3:] == drawn
    shares = Counter(reply.text for reply in drawn)
    assert 0.4 < shares["1"] / len(drawn) < 0.9


def test_an_unreadable_answer_is_drawn_as_it_is() -> None:
    """What cannot be read, and what failed, is part of the sample: nothing is left out, nothing made up."""
    said = [Reply("I would rather not."), Reply.failed("refused", "by the provider")]
    replies = AnswerSharing(Counted(lambda request: said[request.seed]), 2).complete(
        [survey(seed) for seed in range(2)] * 5
    )
    drawn = {(reply.text, reply.failure) for reply in replies[2:]}
    assert drawn == {(one.text, one.failure) for one in said}


def test_a_sample_is_renewed_after_so_many_draws_and_replaced_when_it_has_drifted() -> None:
    """Ten say 1, after ninety draws ten say 3: from then on nobody draws a 1. The first draw says so."""
    turn = 10 * (1 + REUSE)
    backend = AnswerSharing(Counted(lambda request: "1" if request.seed < turn else "3"), 10)
    replies = backend.complete([survey(seed) for seed in range(2 * turn)])
    assert {reply.text for reply in replies[:turn]} == {"1"}
    assert {reply.text for reply in replies[turn:]} == {"3"}
    assert replies[turn + 10].notes == {"drawn": 1, "checked": 1, "drifted": 1}
    assert replies[turn + 11].notes == {"drawn": 1}


def test_a_kind_that_stays_as_it_was_is_drawn_from_both_samples() -> None:
    """The same shares in another order are no drift; twenty answers are a better sample than ten."""
    turn = 10 * (1 + REUSE)
    backend = AnswerSharing(Counted(lambda request: Reply(ANSWERS[request.seed % 2], answers={"1": request.seed})), 10)
    replies = backend.complete([survey(seed) for seed in range(2 * turn)])
    assert replies[turn + 10].notes == {"drawn": 1, "checked": 1, "drifted": 0}
    donors = {reply.answers["1"] for reply in replies[turn + 10 :] if reply.answers}
    assert min(donors) < 10 <= turn <= max(donors)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 9), st.integers(0, 5), st.lists(st.sampled_from("ab"), max_size=60))
def test_a_network_gives_what_a_batch_gives_whatever_lands_first(in_flight: int, order: int, kinds: list[str]) -> None:
    """Who is asked is settled when the questions are put; a false alarm here would be a run that cannot be repeated."""

    def talks() -> Iterator:
        return (ask(survey(seed, kind)) for seed, kind in enumerate(kinds))

    whole = drive(list(talks()), AnswerSharing(Counted(by_seed), 3))
    scattered = drive(list(talks()), AnswerSharing(Scrambled(by_seed, in_flight, order), 3))
    assert scattered == whole


def test_chance_alone_is_seldom_taken_for_drift() -> None:
    """Two samples of twenty from the same eleven points: about one in twenty is called drift, of others nearly all."""
    rng = stream(0, "test drift")

    def sample(shift: int) -> list[Reply]:
        return [Reply(str(min(10, max(0, round(rng.gauss(5 + shift, 1.5)))))) for _ in range(20)]

    answers = [str(point) for point in range(11)]
    alarms = {
        shift: sum(samples_differ(sample(0), sample(shift), answers, rng) for _ in range(100)) for shift in (0, 3)
    }
    assert alarms[0] <= 12
    assert alarms[3] >= 90


@check_each(
    ("reply", "told"),
    [
        (Reply("2"), ("2",)),
        (Reply(" 2\n"), ("2",)),
        (Reply("I would say 2 or 3."), ("2", "3")),
        (Reply("Well."), ()),
        (Reply.failed("timeout"), ("", "timeout")),
    ],
)
def test_outcomes_are_told_apart_without_being_read(reply: Reply, told: tuple[str, ...]) -> None:
    """Answers in whatever words, silence and each failure are different outcomes."""
    assert answer_key(reply, ANSWERS) == told


def test_distance_by_hand() -> None:
    """1, 1, 2, 3 against 1, 2, 2, 4: (1/4 + 1/4 + 1/4 + 1/4) / 2."""
    one, other = ([(text,) for text in told] for told in ("1123", "1224"))
    assert distance(one, other) == 0.5
    assert distance(one, one) == 0


def test_a_lost_reply_is_never_shared() -> None:
    """A backend that answers one too few is an error, not a sample of one less."""
    with pytest.raises(RuntimeError, match="answered 1 of 2"):
        AnswerSharing(Counted(by_seed, lost=1), 2).complete([survey(seed) for seed in range(4)])
