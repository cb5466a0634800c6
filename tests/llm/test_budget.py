"""The budget: never overshot in calls, and nothing that was paid for is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standins import Scrambled

from parley.llm.budget import REPEATED, UNCOUNTED, Budget, Ledger, Limits
from parley.llm.driver import Conversation, ask, complete_all, drive
from parley.llm.errors import BudgetSpent
from parley.llm.journal import Journal
from parley.llm.prices import Account, Price
from parley.llm.request import Reply, Request, Usage

from .conftest import Counted, echo, question, questions


def costly(request: Request) -> Reply:
    return Reply(echo(request), usage=Usage(6, 4))


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 30))
def test_calls_are_never_overshot(sizes: list[int], most: int) -> None:
    """However the calls are batched, exactly the allowed ones are made, and exactly their replies come back."""
    inner, got = Counted(), []
    limits = Limits(inner, Budget(calls=most))
    asked = questions(sum(sizes))
    for number, size in enumerate(sizes):
        batch = asked[sum(sizes[:number]) :][:size]
        try:
            got += limits.complete(batch)
        except BudgetSpent as spent:
            got += spent.replies
    assert inner.calls == limits.calls == min(sum(sizes), most)
    assert [reply.text for reply in got] == [echo(request) for request in asked[:most]]


def test_tokens_stop_before_the_limit_is_crossed() -> None:
    """Ten tokens each: the first request shows that, a second fits into 25, a third does not and is not asked."""
    inner = Counted(costly)
    limits = Limits(inner, Budget(tokens=25))
    with pytest.raises(BudgetSpent, match=r"--max-tokens 25 is spent \(2 calls, 20 tokens\)") as caught:
        limits.complete(questions(4))
    assert [reply.text for reply in caught.value.replies] == [echo(request) for request in questions(2)]
    assert (inner.calls, sum(limits.usage)) == (2, 20)


def test_what_was_spent_before_counts() -> None:
    limits = Limits(Counted(costly), Budget(calls=10, tokens=100))
    limits.charge(8, {Account(): Usage(30, 30), Account("red"): Usage(10, 0)})
    with pytest.raises(BudgetSpent, match=r"--max-calls 10 is spent \(10 calls, 90 tokens\)") as caught:
        limits.complete(questions(3))
    assert len(caught.value.replies) == 2
    over = Limits(Counted(), Budget(calls=3))
    over.charge(5, {})
    with pytest.raises(BudgetSpent):
        over.complete(questions(1))
    assert over.calls == 5, "a budget that was lowered below what is spent adds nothing"


def test_no_limit_counts_only() -> None:
    limits = Limits(Counted(costly))
    limits.complete(questions(5))
    assert (limits.calls, sum(limits.usage)) == (5, 50)


def test_a_lost_reply_is_an_error() -> None:
    """Also in the batch that hits the limit, whose replies are kept by their place."""
    with pytest.raises(RuntimeError, match="answered 1 of 2 requests"):
        Limits(Counted(lost=1), Budget(calls=2)).complete(questions(3))


@given(st.integers(0, 30), st.integers(1, 9), st.integers(0, 99))
def test_a_network_stops_when_all_that_was_allowed_has_landed(most: int, in_flight: int, seed: int) -> None:
    """Not one call too many, and nothing on its way is lost: it was paid for."""
    inner, kept = Scrambled(costly, in_flight, seed), []
    limits = Limits(inner, Budget(calls=most))

    def room(name: int) -> Conversation[None]:
        for turn in range(2):
            kept.append((yield from ask(question(str(name), turn))))

    rooms = [room(name) for name in range(10)]
    if most < 20:
        with pytest.raises(BudgetSpent, match=f"--max-calls {most} is spent"):
            drive(rooms, limits)
    else:
        drive(rooms, limits)
    assert len(inner.order) == limits.calls == len(kept) == min(most, 20)
    assert sum(limits.usage) == 10 * len(kept)


def test_calls_that_a_network_repeated_count() -> None:
    """A reply that took three calls is three calls of the budget."""
    limits = Limits(Scrambled(lambda request: Reply(".", notes={REPEATED: 2}), 1), Budget(calls=4))
    with pytest.raises(BudgetSpent, match=r"--max-calls 4 is spent \(6 calls"):
        complete_all(limits, questions(5))


def test_what_was_paid_for_is_kept(open_journal: Callable[..., Journal]) -> None:
    """A raised budget asks only the rest; the limit counts what earlier sittings spent."""
    inner, asked = Counted(costly), questions(10)
    journal = open_journal(Limits(inner, Budget(calls=4)))
    with pytest.raises(BudgetSpent) as caught:
        journal.complete(asked)
    assert "repeat the command with a higher limit" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (journal.spent(), journal.asked, inner.calls) == ((4, {Account(): (24, 16)}), 4, 4)

    limits = Limits(inner, Budget(calls=10))
    journal = open_journal(limits)
    limits.charge(*journal.spent())
    assert [reply.text for reply in journal.complete(asked)] == [echo(request) for request in asked]
    assert inner.batches == [asked[:4], asked[4:]]
    assert (journal.spent(), journal.asked, journal.replayed) == ((10, {Account(): (60, 40)}), 6, 4)


def test_the_model_stays_the_model() -> None:
    """A wrapper changes neither identity (every journal key) nor the way of asking."""
    inner = Counted(in_flight=5)
    assert (Limits(inner).identity, Limits(inner).in_flight) == (inner.identity, 5)


def test_money_is_counted_per_million_tokens_and_stops_the_run() -> None:
    """2 units per million tokens in, 10 out: each call of 1,000 in and 100 out costs 0.003; 0.01 pays for three."""
    inner = Counted(lambda request: Reply("Yes.", usage=Usage(1000, 100)))
    limits = Limits(inner, Budget(cost=0.01, prices={"": Price(2.0, 10.0)}))
    for request in questions(3):
        limits.complete([request])
    assert limits.cost == pytest.approx(0.009)
    with pytest.raises(BudgetSpent, match=r"--max-cost 0.01 is spent \(3 calls, 3,300 tokens, cost \$0.0090\)"):
        limits.complete(questions(1))


def test_money_of_earlier_sittings_counts() -> None:
    limits = Limits(Counted(), Budget(cost=1.0, prices={"": Price(1.0, 1.0)}))
    limits.charge(3, {Account(): Usage(900_000, 100_000)})
    with pytest.raises(BudgetSpent):
        limits.complete(questions(1))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 6)), max_size=12), st.integers(0, 30))
def test_many_share_one_budget(batches: list[tuple[int, int]], most: int) -> None:
    """In whatever order three runs ask, all together make exactly the calls that are allowed."""
    ledger, inners = Ledger(Budget(calls=most)), [Counted(costly) for _ in range(3)]
    runs = [Limits(inner, ledger=ledger) for inner in inners]
    asked = iter(questions(200))
    for who, size in batches:
        with suppress(BudgetSpent):
            runs[who].complete([next(asked) for _ in range(size)])
    made = min(sum(size for _, size in batches), most)
    assert sum(inner.calls for inner in inners) == ledger.calls == sum(run.calls for run in runs) == made
    assert ledger.tokens == 10 * made


UNTOLD = {UNCOUNTED: 1}


@pytest.mark.parametrize("limits", [Budget(tokens=5000), Budget(cost=1.0, prices={"": Price(1.0, 1.0)})])
def test_a_limit_on_what_nobody_counts_stops_at_the_first_reply(
    limits: Budget, open_journal: Callable[..., Journal]
) -> None:
    """Tokens that are not told would add 0 for ever: the run stops, says what to use, and keeps what was paid for."""
    inner = Counted(lambda request: Reply(".", notes=UNTOLD))
    journal = open_journal(Limits(inner, limits))
    journal.complete(questions(2))
    with pytest.raises(
        BudgetSpent, match=r"does not report token use, so --max-\w+ \S+ cannot work.* with --max-calls"
    ):
        journal.complete(questions(5))
    assert (inner.calls, journal.asked) == (2, 2)


def test_a_network_that_counts_nothing_stops_when_all_has_landed() -> None:
    kept: list[Reply] = []

    def room(name: int) -> Conversation[None]:
        for turn in range(5):
            kept.append((yield from ask(question(str(name), turn))))

    inner = Scrambled(lambda request: Reply(".", notes=UNTOLD), in_flight=3)
    with pytest.raises(BudgetSpent, match="does not report token use"):
        drive([room(name) for name in range(9)], Limits(inner, Budget(tokens=10**9)))
    assert len(inner.order) == len(kept) == 3


def test_limits_that_hold_without_usage_stop_nothing() -> None:
    """A limit on calls, and one on cost where what is not counted costs nothing."""
    free = Budget(calls=9, cost=1.0, prices={"paid": Price(1.0, 1.0)})
    limits = Limits(Counted(lambda request: Reply(".", notes=UNTOLD)), free)
    for request in questions(5):
        limits.complete([request])
    assert limits.calls == 5
