"""Twins: the same question at temperature 0 under another seed is asked once, where the model says that seeds do not matter."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standins import Scrambled

from parley.llm.budget import Budget, Limits
from parley.llm.driver import ask, drive
from parley.llm.journal import Journal
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.router import RoutedBackend

from .conftest import Counted


def put(text: str, seed: int, temperature: float = 0.0, voice: str = "") -> Request:
    return Request((Message("user", text),), Sampling(temperature), seed, ("0", "1"), "survey", voice=voice)


def by_seed(request: Request) -> Reply:
    """Tells which of the twins was asked."""
    return Reply(f"{request.messages[0].content} {request.seed}")


@pytest.fixture
def opener(open_journal: Callable[..., Journal]) -> Callable[..., tuple[Journal, Counted]]:
    def make(greedy: bool = True) -> tuple[Journal, Counted]:
        inner = Counted(by_seed, greedy=greedy)
        return open_journal(inner), inner

    return make


def test_twins_are_asked_once_in_a_batch_and_later(opener: Callable) -> None:
    """Five of one question and one of another are two calls; who comes later has the first one's reply too."""
    journal, inner = opener()
    first = journal.complete([*[put("a", seed) for seed in range(5)], put("b", 9)])
    later = journal.complete([put("a", 77)])
    assert [reply.text for reply in [*first, *later]] == ["a 0"] * 5 + ["b 9"] + ["a 0"]
    assert (inner.calls, journal.asked, journal.twins, journal.replayed) == (2, 2, 5, 0)


def test_sampled_questions_are_never_merged(opener: Callable) -> None:
    """Two draws are two draws: one reply for both would halve the sample without a word."""
    journal, inner = opener()
    replies = journal.complete([put("a", seed, temperature=0.01) for seed in range(3)])
    assert [reply.text for reply in replies] == ["a 0", "a 1", "a 2"]
    assert (inner.calls, journal.twins) == (3, 0)


def test_a_model_that_does_not_promise_it_is_asked_each_time(opener: Callable) -> None:
    """A server that answers differently at temperature 0 is measured as it is, unless the user says otherwise."""
    journal, inner = opener(greedy=False)
    journal.complete([put("a", seed) for seed in range(3)])
    assert (inner.calls, journal.twins) == (3, 0)


def test_a_resumed_run_has_the_same_replies_and_asks_nothing(opener: Callable) -> None:
    """The twin that was asked first speaks for all in every later sitting, whichever of them comes first then."""
    journal, _ = opener()
    before = journal.complete([put("a", 3), put("a", 1)])
    again, inner = opener()
    assert again.complete([put("a", 1), put("a", 3), put("a", 8)]) == [*before, before[0]]
    assert (inner.calls, again.asked, again.twins, again.replayed) == (0, 0, 2, 1)


def test_each_voice_has_its_own_say() -> None:
    """In a run with several models the one promises and the other does not."""
    greedy, drawn = Counted(by_seed, greedy=True), Counted(by_seed)
    several = RoutedBackend(greedy, {"other": drawn})
    assert several.seedless(put("a", 1))
    assert not several.seedless(put("a", 1, voice="other"))


@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(st.sampled_from("ab"), min_size=1, max_size=12), in_flight=st.integers(1, 4), order=st.integers(0, 5)
)
def test_on_a_network_a_twin_waits_for_the_one_on_its_way(
    texts: list[str], in_flight: int, order: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """However replies land, each question goes out once, and all who put it have the same reply."""
    inner = Scrambled(by_seed, in_flight, order)
    inner._greedy = True
    with closing(Journal(tmp_path_factory.mktemp("net") / "journal.sqlite", inner)) as journal:
        replies = drive([ask(put(text, seed)) for seed, text in enumerate(texts)], journal)
    assert [reply.text for reply in replies] == [f"{text} {texts.index(text)}" for text in texts]
    assert len(inner.order) == journal.asked == len(set(texts))
    assert journal.twins == len(texts) - len(set(texts))


def test_a_budget_counts_what_is_asked(tmp_path: Path) -> None:
    """Ten twins fit into a budget of one call."""
    limits = Limits(Counted(by_seed, greedy=True), Budget(calls=1))
    with closing(Journal(tmp_path / "journal.sqlite", limits)) as journal:
        assert len(journal.complete([put("a", seed) for seed in range(10)])) == 10
    assert limits.calls == 1
