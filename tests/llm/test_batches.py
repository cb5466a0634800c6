"""Batches of a provider: one batch for all that waits, its price, lines that fail or expire, runs that are killed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

import run
from parley.analysis.journaled_calls import run_journaled
from parley.analysis.tables import load
from parley.llm.backends import open_spec
from parley.llm.backends.openai import batches
from parley.llm.backends.openai.batches import BatchedOpenai
from parley.llm.budget import Budget, Limits
from parley.llm.driver import ask, drive
from parley.llm.errors import Unreachable, UserError
from parley.llm.journal import Journal
from parley.llm.prices import Account, Price, is_batch
from parley.llm.request import BATCH, Usage
from parley.llm.retry import Retry

from .batch_provider import BatchProvider, answered
from .conftest import question, questions
from .loopback import Body, Loopback, digest, echo


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FIRST_LOOK", 0.001)
    monkeypatch.setattr(batches, "LONGEST_LOOK", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-1234567890")


def opened(provider: BatchProvider, **more: object) -> BatchedOpenai:
    options = "".join(f",{name}={value}" for name, value in more.items())
    backend = open_spec(f"openai:echo,base_url={provider.url},closed=text,batch=yes{options}")
    assert isinstance(backend, BatchedOpenai)
    return backend


def journal_of(backend: BatchedOpenai, folder: Path, **options: Any) -> Journal:
    limits = Limits(Retry(backend, sleep=lambda seconds: None), Budget(**options))
    return Journal(folder / "journal.sqlite", limits)


def test_all_that_waits_is_one_batch_and_costs_the_price_of_batches(tmp_path: Path) -> None:
    """600 requests, more than other backends get at once; replies in order although their lines are not. 20 in, 5 out each."""
    with BatchProvider() as provider, closing(journal_of(opened(provider), tmp_path)) as journal:
        replies = drive([ask(request) for request in questions(600)], journal)
        (lines,) = provider.sent
        used = journal.spent()
    assert [reply.text for reply in replies] == [digest(line["body"]) for line in lines]
    assert {line["url"] for line in lines} == {"/v1/chat/completions"}
    assert len({line["custom_id"] for line in lines}) == 600
    assert all(reply.notes[BATCH] for reply in replies)
    assert used == (600, {Account(batch=True): Usage(12000, 3000)})
    budget = Budget(prices={"": Price(2.0, 8.0, 0.5, 0.5)})
    assert budget.money(used[1]) == pytest.approx((12000 * 2 + 3000 * 8) / 2 / 1e6)


def test_it_is_the_same_model_as_without_batches(tmp_path: Path) -> None:
    """Keys of the journal are equal: a run that began with single calls can go on in batches, and the other way round."""
    with BatchProvider() as provider:
        single = open_spec(f"openai:echo,base_url={provider.url},closed=text")
        batched = opened(provider)
        assert (batched.identity, batched.in_flight) == (single.identity, 0)
        assert batched.complete(questions(3))[0].text == single.complete(questions(3))[0].text
    assert is_batch("openai:echo,batch=yes")
    assert not is_batch("oracle")


def failing_first(*faults: Mapping[str, Any] | None) -> Callable[[Body, int], Mapping[str, Any] | None]:
    """The first lines of the first batch come back with these faults; asked again they are answered."""
    left = list(faults)
    return lambda body, time: left.pop() if time == 1 and left else answered(body, time)


BROKEN = {
    "response": {"status_code": 500, "body": {"error": {"message": "oops"}}},
    "error": {"code": "x", "message": "oops"},
}


@pytest.mark.parametrize(
    "fault", [None, BROKEN, {"response": None, "error": {"code": "batch_expired", "message": "late"}}]
)
def test_what_a_batch_does_not_answer_is_asked_again(tmp_path: Path, fault: Any) -> None:
    """Two of six lines are missing, broken or too late: a second batch has these two only."""
    with BatchProvider(failing_first(fault, fault), status={0: "expired"}) as provider:
        with closing(journal_of(opened(provider), tmp_path)) as journal:
            replies = journal.complete(questions(6))
        assert [len(lines) for lines in provider.sent] == [6, 2]
        assert all(reply.text for reply in replies)
        again = opened(provider)
        with closing(journal_of(again, tmp_path)) as journal:
            assert [reply.text for reply in journal.complete(questions(6))] == [reply.text for reply in replies]
        assert (len(provider.batches), again.sent.open) == (2, [])


def test_what_is_never_answered_has_a_name() -> None:
    """A batch that expires again and again, and one that its owner cancelled, which is not sent again."""
    nothing = BatchProvider(lambda body, time: None, status=dict.fromkeys(range(9), "expired"))
    with nothing as provider:
        (reply,) = Retry(opened(provider), sleep=lambda seconds: None).complete([question()])
        assert reply.failure is not None
        assert (reply.failure.name, reply.text, len(provider.batches)) == ("expired", None, 4)
    with BatchProvider(lambda body, time: None, status={0: "cancelled"}) as provider:
        (reply,) = Retry(opened(provider), sleep=lambda seconds: None).complete([question()])
        assert reply.failure is not None
        assert (reply.failure.name, reply.failure.transient, len(provider.batches)) == ("cancelled", False, 1)


def _killed(seconds: float) -> None:
    raise KeyboardInterrupt


def test_a_killed_run_waits_for_the_same_batch(tmp_path: Path) -> None:
    """After days: another process finds the id beside the journal, sends nothing, and gets what was paid for."""
    asked = questions(7)
    with BatchProvider(looks=3) as provider:
        first = opened(provider)
        first.sleep = _killed
        with closing(journal_of(first, tmp_path)) as journal, pytest.raises(KeyboardInterrupt):
            journal.complete(asked)
        with closing(journal_of(opened(provider), tmp_path)) as journal:
            replies = journal.complete([*asked[2:], question("A new one?", 99), *asked[:2]])
        assert [len(lines) for lines in provider.sent] == [7, 1]
        assert all(reply.text for reply in replies)
        assert sum(provider.times.values()) == 8, "each line was worked on once"
        again = opened(provider)
        with closing(journal_of(again, tmp_path)) as journal:
            journal.complete(asked)
        assert len(provider.batches) == 2
        assert again.sent.open == [], "the journal has all of it"


def test_a_batch_whose_id_was_lost_on_its_way_is_found_again(tmp_path: Path) -> None:
    """The provider has the batch, the answer with its id never came: the next start finds it by its mark, and pays once."""
    with BatchProvider(lost=1) as provider:
        with (
            closing(journal_of(opened(provider), tmp_path)) as journal,
            pytest.raises(UserError, match="repeat the command"),
        ):
            journal.complete(questions(4))
        with closing(journal_of(opened(provider), tmp_path)) as journal:
            assert all(reply.text for reply in journal.complete(questions(4)))
        assert len(provider.batches) == 1


def test_a_refused_batch_is_one_line_and_the_next_start_sends_another(tmp_path: Path) -> None:
    with BatchProvider(status={0: "failed"}) as provider:
        with (
            closing(journal_of(opened(provider), tmp_path)) as journal,
            pytest.raises(UserError, match="too many tokens"),
        ):
            journal.complete(questions(2))
        with closing(journal_of(opened(provider), tmp_path)) as journal:
            assert all(reply.text for reply in journal.complete(questions(2)))


def test_a_provider_that_is_away_is_asked_for_a_while(tmp_path: Path) -> None:
    """Then the run ends with a line; the batch is still there for the next start."""
    with BatchProvider(looks=99) as provider:
        backend = opened(provider, patience=0.01)
        backend.client = backend.client.with_options(max_retries=0)
        backend.sleep = lambda seconds: provider.__exit__()
        with closing(journal_of(backend, tmp_path)) as journal, pytest.raises(Unreachable, match="continues to wait"):
            journal.complete(questions(2))
    assert len(batches.SentBatches(tmp_path / "journal.sqlite.batches.jsonl").open) == 1


def test_no_prompt_follows_a_redirect(tmp_path: Path) -> None:
    with Loopback(echo) as other, BatchProvider() as provider:
        backend = opened(provider)
        provider.moved = f"{other.url}/files"
        with pytest.raises(UserError, match="took no batch"):
            backend.complete(questions(1))
        assert other.targets == []


@pytest.mark.parametrize("text", ['{"batch": "../../files", "sending": "a"}\n', "[1]\n", "{}\n"])
def test_a_file_of_a_stranger_is_refused(tmp_path: Path, text: str) -> None:
    """An id becomes part of an address."""
    (tmp_path / "b.jsonl").write_text('{"sending": "a", "lines": ["x"]}\n' + text)
    with pytest.raises(UserError):
        batches.SentBatches(tmp_path / "b.jsonl")


def test_a_half_written_line_is_none(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"sending": "a", "lines": ["x"]}\n{"batch": "b1", "sending": "a"}\n{"done": "b')
    assert [batch.id for batch in batches.SentBatches(tmp_path / "b.jsonl").open] == ["b1"]


def test_a_limit_on_cost_holds_with_batches(tmp_path: Path) -> None:
    """At most what the limit pays for at the price of batches: 20 * 2 + 5 * 8 = 80 millionths, half in a batch."""
    prices = {"": Price(2.0, 8.0, None, 0.5)}
    with (
        BatchProvider() as provider,
        closing(journal_of(opened(provider), tmp_path, cost=0.004, prices=prices)) as journal,
    ):
        with pytest.raises(UserError, match="--max-cost"):
            journal.complete(questions(300))
        assert 98 <= sum(map(len, provider.sent)) <= 100
        assert len(provider.batches) < 6


def test_a_judge_asks_in_two_batches(tmp_path: Path) -> None:
    """The first answers show whether they can be read; all others are one batch."""
    with BatchProvider() as provider:
        conversations = [ask(request) for request in questions(70)]
        found = run_journaled(
            conversations, opened(provider), tmp_path, lambda *_: nullcontext(lambda count: None), "verdicts"
        )
        assert [len(lines) for lines in provider.sent] == [20, 50]
    assert all(reply.text for reply in found)


@pytest.mark.thorough
def test_a_run_in_batches_says_what_a_run_of_calls_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step of all rooms is a batch, as planned; what is said and rated is the same, and costs half."""
    with BatchProvider() as provider:
        small = ["--scenario", "two_way", "--topic", "racism", "--repetitions", "2", "--rounds", "1", "--set", "asks=1"]
        small += ["--price", "2,8,2,0.5"]
        small += ["--keep-going", "--no-qualify"]
        for name, more in (("calls", ""), ("batches", ",batch=yes")):
            spec = f"openai:echo,base_url={provider.url},closed=text{more}"
            if more:
                assert run.main([*small, "--llm", spec, "--dry-run"]) == 0
                planned = capsys.readouterr().out
            assert run.main([*small, "--llm", spec, "--out", str(tmp_path / name)]) == 0
    calls, batched = load(tmp_path / "calls"), load(tmp_path / "batches")
    assert calls.utterances.equals(batched.utterances)
    assert calls.attitudes.equals(batched.attitudes)
    assert batched.calls["batch"].eq(1).all()
    assert f"about {len(provider.batches)} batches wait one after another" in planned
