"""Money as it is billed: cached and thinking tokens, batches, the model that replied; limits that hold with calls in flight."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from data_checks import check_each

from parley.llm.backends.openai.usage import usage_of
from parley.llm.budget import Budget, Ledger, Limits
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import BudgetSpent
from parley.llm.journal import Journal, copy_journal, own_usage
from parley.llm.prices import Account, Price, PriceList, add_up, bill, cost_by_model, cost_of
from parley.llm.request import BATCH, CACHED, SERVED, THOUGHT, Message, Reply, Request, Sampling, Usage

from .conftest import Counted, question, questions
from .loopback import Act, Loopback
from .test_openai import backend

OPENAI = {
    "prompt_tokens": 1486, "completion_tokens": 651, "total_tokens": 2137,
    "prompt_tokens_details": {"cached_tokens": 1408}, "completion_tokens_details": {"reasoning_tokens": 512},
}  # fmt: skip
SHAPES: dict[str, tuple[dict[str, Any], tuple[int, int, int, int]]] = {
    "OpenAI, vLLM, llama.cpp": (OPENAI, (1486, 651, 1408, 512)),
    "DeepSeek": (
        {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39, "prompt_cache_hit_tokens": 20,
         "prompt_cache_miss_tokens": 10, "completion_tokens_details": {"reasoning_tokens": 4}},
        (30, 9, 20, 4),
    ),
    "Moonshot": ({"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39, "cached_tokens": 20}, (30, 9, 20, 0)),
    "Gemini, thoughts only in the sum": (
        {"prompt_tokens": 758, "completion_tokens": 102, "total_tokens": 1725}, (758, 967, 0, 865)
    ),
    "xAI, thoughts beside the reply": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 115,
         "completion_tokens_details": {"reasoning_tokens": 100}},
        (10, 105, 0, 100),
    ),
    "thoughts beside the reply, no sum": (
        {"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 100}}, (10, 105, 0, 100)
    ),
    "Anthropic, cache beside the prompt": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 105, "cache_read_input_tokens": 90}, (100, 5, 90, 0)
    ),
    "Anthropic through a gateway": (
        {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, "cache_read_input_tokens": 90}, (100, 5, 90, 0)
    ),
    "thoughts that are no part of the sum": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "completion_tokens_details": {"reasoning_tokens": 80}},
        (10, 5, 0, 80),
    ),
    "no details": ({"prompt_tokens": 10, "completion_tokens": 5}, (10, 5, 0, 0)),
    "nonsense": (
        {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": "many", "prompt_tokens_details": {"cached_tokens": -3}},
        (10, 5, 0, 0),
    ),
}  # fmt: skip


@check_each("name", list(SHAPES))
def test_tokens_are_counted_as_they_are_billed(name: str) -> None:
    told, expected = SHAPES[name]
    usage, notes = usage_of(told)
    assert (*usage, notes.get(CACHED, 0), notes.get(THOUGHT, 0)) == expected


PRICE = Price(2.0, 8.0, 0.5, 0.5)


def test_a_bill_by_hand() -> None:
    """1,000 tokens in, 600 of them cached, and 100 out: 400 * 2 + 600 * 0.5 + 100 * 8 = 1,900 millionths; half in a batch."""
    reply = Reply(".", usage=Usage(1000, 100), notes={CACHED: 600})
    used = bill("red", reply)
    assert used == {Account("red"): Usage(400, 100), Account("red", cached=True): Usage(600, 0)}
    assert cost_of(used, {"red": PRICE}) == pytest.approx(1900e-6)
    assert cost_of(used, {"red": Price(2.0, 8.0)}) == pytest.approx(2800e-6), "no price of cached tokens: as others"
    batched = bill("red", Reply(".", usage=Usage(1000, 100), notes={CACHED: 600, BATCH: 1}))
    assert cost_of(batched, {"red": PRICE}) == pytest.approx(950e-6)
    assert cost_of(bill("", Reply(".", usage=Usage(10, 0), notes={CACHED: 99})), {"": PRICE}) == pytest.approx(5e-6)


def test_the_model_that_replied_is_paid() -> None:
    """Where its price is listed; else the price of the model that was asked for."""
    prices = PriceList({"": PRICE}, {"gpt-b": Price(20.0, 80.0)})
    for served, cost in (("gpt-b", 2e-4), ("gpt-b-2026-01-02", 2e-4), ("unlisted", 2e-5)):
        assert cost_of(bill("", Reply(".", usage=Usage(10, 0), notes={SERVED + served: 1})), prices) == pytest.approx(
            cost
        )
    assert cost_of(bill("", Reply(".", usage=Usage(10, 0), notes={SERVED + "gpt-b": 1})), {"": PRICE}) == pytest.approx(
        2e-5
    )


def test_a_bill_in_words() -> None:
    """2 million tokens in, half of them cached: 2 + 0.5 dollars; 4 without it; 0.2 more for a dearer model."""
    used = {Account(): Usage(10**6, 0), Account(cached=True): Usage(10**6, 0), Account(served="gpt-b"): Usage(10**4, 0)}
    prices = PriceList({"": PRICE}, {"gpt-b": Price(20.0, 80.0)})
    assert cost_by_model(used, prices) == (
        "$2.70, at $2 and $8 per million tokens in and out, $0.5 for the 50% of tokens in from the prompt cache, gpt-b at $20 "
        "and $80; without prompt caching $4.20"
    )
    assert cost_by_model({Account(batch=True): Usage(10**6, 0)}, prices) == (
        "$1.00, at $2 and $8 per million tokens in and out, in batches 50% of that"
    )


def test_a_journal_knows_the_accounts(open_journal: Callable[..., Journal], tmp_path: Any) -> None:
    """What a later start counts is what this one spent; a copied journal has spent nothing itself."""
    notes = [{CACHED: 600}, {BATCH: 1}, {SERVED + "gpt-b": 1, CACHED: 5}, {}]
    told = iter(notes)
    journal = open_journal(Limits(Counted(lambda request: Reply('"served:', usage=Usage(1000, 100), notes=next(told)))))
    replies = journal.complete(questions(4))
    expected = add_up(bill("", reply) for reply in replies)
    assert journal.spent() == (4, expected)
    assert expected[Account(served="gpt-b", cached=True)] == Usage(5, 0)
    journal.close()
    copy_journal(tmp_path / "journal.sqlite", tmp_path / "copy.sqlite")
    calls, used = own_usage(tmp_path / "copy.sqlite")
    assert (calls, set(used.values())) == (0, {Usage(0, 0)})


class Provider:
    """A stand-in provider: 1,000 tokens in, 800 of them cached from the third call of a room on; 20 to 80 out. Keeps a bill."""

    def __init__(self) -> None:
        self.bill, self.calls, self.cached, self._lock = 0.0, 0, 0, threading.Lock()
        self._of_room: dict[str, int] = {}

    def __call__(self, body: dict[str, Any], time: int) -> Act:
        text = str(body["messages"][-1]["content"])
        if "Room" not in text:
            return self._answer(10, 0, 1)
        room = text.split()[1]
        with self._lock:
            self._of_room[room] = self._of_room.get(room, 0) + 1
            self.calls += 1
        cached, written = 800 if self._of_room[room] > 2 else 0, 20 + (self.calls * 37) % 61
        self.cached += cached
        self.bill += ((1000 - cached) * 2.0 + cached * 0.2 + written * 8.0) / 1e6
        return self._answer(1000, cached, written)

    @staticmethod
    def _answer(prompt: int, cached: int, written: int) -> Act:
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        usage |= {"prompt_tokens_details": {"cached_tokens": cached}}  # type: ignore[dict-item]
        choice = {"message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
        return Act(body=json.dumps({"model": "echo", "choices": [choice], "usage": usage}).encode())


def _room(name: int, turns: int) -> Conversation[None]:
    for turn in range(turns):
        messages = (Message("user", f"Room {name} turn {turn} " + "word " * 400),)
        yield from ask(Request(messages, Sampling(0.7, 120), 100 * name + turn))


@pytest.mark.parametrize("limit", [0.25, 0.6])
def test_a_cap_is_met_within_two_percent_of_the_bill(limit: float) -> None:
    """32 calls in flight and a prompt cache: the old count, at full price, would have stopped at about a third of the limit."""
    provider = Provider()
    with Loopback(provider, slow=0.002) as server:
        limits = Limits(backend(server, in_flight=32), Budget(cost=limit, prices={"": Price(2.0, 8.0, 0.2)}))
        with pytest.raises(BudgetSpent, match="--max-cost"):
            drive([_room(name, 40) for name in range(40)], limits)
        assert server.most >= 16, "the limit must not slow the run down"
    assert limits.cost == pytest.approx(provider.bill)
    assert limits.uncached_cost == pytest.approx(provider.bill + provider.cached * 1.8e-6)
    assert 0.98 * limit <= provider.bill <= limit * 1.02
    assert provider.calls < 1600


def test_what_is_booked_is_free_again_when_the_reply_is_cheaper() -> None:
    """A first flight that is expected to cost ten times as much does not end the run: its room is used by later calls."""
    limits = Limits(Counted(lambda request: Reply(".", usage=Usage(10, 1))), Budget(tokens=200))
    asked = [question(f"Question {number}?", number) for number in range(30)]
    with pytest.raises(BudgetSpent) as caught:
        limits.complete(asked)
    assert (len(caught.value.replies), limits.ledger.tokens) == (18, 198)
    assert limits.ledger.booked.tokens == pytest.approx(0)


def test_runs_that_share_a_ledger_do_not_spend_the_same_money_twice() -> None:
    """Two runs know that a call takes 10 tokens; 100 tokens are 10 calls of both together."""
    ledger = Ledger(Budget(tokens=100))
    runs = [Limits(Counted(lambda request: Reply(".", usage=Usage(9, 1))), ledger=ledger) for _ in range(2)]
    done = 0
    for number, request in enumerate(questions(40)):
        try:
            done += len(runs[number % 2].complete([request]))
        except BudgetSpent:
            continue
    assert (done, ledger.tokens) == (10, 100)
