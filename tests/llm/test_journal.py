"""The journal: every outcome once, failures by name, the newest in force, the same replies on every later day."""

from __future__ import annotations

import itertools
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from llm.errors import UserError
from llm.journal import Journal, read_identity
from llm.request import Reply, Request, identity_text
from llm.retry import Retry

from .conftest import PATIENCE, Counted, echo, question, questions, replies

Opener = Callable[..., Journal]
TIMEOUT = Reply.failed("timeout", "after 30 s")


def rows(journal: Journal) -> list[tuple[bytes, int, str | None]]:
    with closing(sqlite3.connect(journal.path)) as database:
        return database.execute("SELECT key, attempt, failure FROM outcomes ORDER BY key, attempt").fetchall()


def unasked(request: Request) -> str:
    raise AssertionError(f"asked again: {request.messages}")


def test_resume_is_replay(open_journal: Opener) -> None:
    """What was answered comes from the file, the rest is asked, and the order is that of the requests."""
    inner, asked = Counted(), questions(6)
    first = open_journal(inner).complete(asked[1:4])
    journal = open_journal(inner)
    again = journal.complete(asked)
    assert [reply.text for reply in again] == [echo(request) for request in asked]
    assert again[1:4] == first
    assert inner.batches == [asked[1:4], [asked[0], *asked[4:]]]
    assert (journal.asked, journal.replayed) == (3, 3)
    assert journal.complete([]) == []


@settings(max_examples=50, deadline=None)
@given(given_=st.lists(replies(), max_size=5))
@example(given_=[Reply("a split pair \ud83d\ude00, a lone \udc80, a NUL \0")])
def test_any_reply_comes_back(given_: list[Reply], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every later sitting gets exactly what the first one got, whatever a model may have said (a split pair is joined)."""
    path, asked = tmp_path_factory.mktemp("any") / "journal.sqlite", questions(len(given_))
    with closing(Journal(path, Counted(lambda request: given_[request.seed]))) as journal:
        first = journal.complete(asked)
    with closing(Journal(path, Counted(unasked))) as journal:
        assert journal.complete(asked) == first
    assert [reply.to_json() for reply in first] == [Reply.from_json(reply.to_json()).to_json() for reply in given_]
    assert [one for one in first if "\\ud" not in one.to_json()] == [r for r in given_ if "\\ud" not in r.to_json()]


def test_more_questions_than_one_look_up_holds(open_journal: Opener) -> None:
    asked = questions(1201)
    first = open_journal(Counted()).complete(asked)
    assert open_journal(Counted(unasked)).complete(asked[::-1]) == first[::-1]


def test_the_same_question_twice_is_asked_once(open_journal: Opener) -> None:
    numbers = itertools.count()
    inner, (one, other) = Counted(lambda request: str(next(numbers))), questions(2)
    journal = open_journal(inner)
    assert [reply.text for reply in journal.complete([one, other, questions(1)[0], one])] == ["0", "1", "0", "0"]
    assert inner.batches == [[one, other]]
    assert (journal.asked, journal.replayed) == (2, 2)


def test_failures_are_final(open_journal: Opener) -> None:
    """A resume asks nothing twice: a named failure, even a transient one, is an outcome."""
    inner = Counted(lambda request: [TIMEOUT, Reply.failed("busy", transient=True), Reply("")][request.seed])
    first = open_journal(inner).complete(questions(3))
    assert open_journal(Counted(unasked)).complete(questions(3)) == first
    assert sorted(str(failure) for *_, failure in rows(open_journal(inner))) == ["None", "busy", "timeout"]


def test_only_the_last_attempt_is_an_outcome(open_journal: Opener) -> None:
    """journal(retry(backend)): what was asked again in vain is one outcome, not four."""
    journal = open_journal(Retry(Counted(lambda _: Reply.failed("busy", transient=True)), sleep=lambda _: None))
    journal.complete(questions(1))
    assert [(attempt, failure) for _, attempt, failure in rows(journal)] == [(0, "busy")]


def test_retry_failures_asks_them_once_more(open_journal: Opener) -> None:
    """The newest outcome is in force from then on, the old one is kept, and nobody is asked twice in one sitting."""
    asked = questions(4)
    open_journal(Counted(lambda request: TIMEOUT if request.seed % 2 else echo(request))).complete(asked)
    inner = Counted(lambda request: "late" if request.seed == 1 else TIMEOUT)
    journal = open_journal(inner, retry_failures=True)
    newest = journal.complete(asked)
    assert [reply.text for reply in newest] == [echo(asked[0]), "late", echo(asked[2]), None]
    assert journal.complete(asked) == newest
    assert inner.batches == [[asked[1], asked[3]]]
    assert (journal.spent()[0], journal.asked, journal.replayed) == (6, 2, 6)

    journal = open_journal(Counted(unasked))
    assert journal.complete(asked) == newest
    key = asked[1].key(identity_text(journal))
    assert [row[1:] for row in rows(journal) if row[0] == key] == [(0, "timeout"), (1, None)]


def test_the_model_is_part_of_the_question(open_journal: Opener) -> None:
    class Other(Counted):
        @property
        def identity(self) -> dict[str, str]:
            return {"backend": "other"}

    open_journal(Counted()).complete(questions(1))
    assert open_journal(Other(lambda _: "another")).complete(questions(1))[0].text == "another"
    assert open_journal(Counted(unasked)).complete(questions(1))[0].text == echo(questions(1)[0])


def test_a_lost_reply_is_never_kept(open_journal: Opener) -> None:
    """One reply too few or too many: kept by place, each would answer a question that it was not given to, for ever."""

    class Chatty(Counted):
        def complete(self, requests):  # type: ignore[no-untyped-def]
            return [*super().complete(requests), Reply("one more")]

    for inner in (Counted(lost=1), Chatty()):
        journal = open_journal(inner)
        with pytest.raises(RuntimeError, match=r"answered \d of 3 requests"):
            journal.complete(questions(3))
        assert rows(journal) == []


def test_32_threads(open_journal: Opener) -> None:
    """All outcomes of all threads are kept and counted, each asked once, each given to who asked."""
    inner, start, asked = Counted(in_flight=32), threading.Barrier(32), questions(96)
    journal = open_journal(inner)

    def sit(thread: int) -> list[Reply]:
        start.wait(PATIENCE)
        mine = asked[thread * 3 :] + asked[: thread * 3]
        return [reply for request in mine[:48] for reply in journal.complete([request])]

    with ThreadPoolExecutor(32) as pool:
        for thread, got in enumerate(pool.map(sit, range(32))):
            assert [reply.text for reply in got] == [echo(asked[(thread * 3 + n) % 96]) for n in range(48)]
    assert inner.calls == len(rows(journal)) == journal.asked == 96
    assert journal.replayed == 32 * 48 - 96


def test_a_question_in_flight_is_not_asked_again(open_journal: Opener) -> None:
    """Two rooms with the same question at the same time hear the same reply, as they will in a replay."""
    asked, answer, numbers = threading.Event(), threading.Event(), itertools.count()

    def slow(request: Request) -> str:
        asked.set()
        assert answer.wait(PATIENCE)
        return str(next(numbers))

    inner = Counted(slow, in_flight=2)
    journal = open_journal(inner)
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(journal.complete, [question()])
        assert asked.wait(PATIENCE)
        other = pool.submit(journal.complete, [question(), question()])
        answer.set()
        assert [reply.text for reply in one.result(PATIENCE) + other.result(PATIENCE)] == ["0", "0", "0"]
    assert inner.calls == 1


def test_a_question_that_broke_in_flight_is_asked_anew(open_journal: Opener) -> None:
    """Whoever waited for it does not wait for ever."""
    asked, answer, numbers = threading.Event(), threading.Event(), itertools.count()

    def breaks_once(request: Request) -> str:
        asked.set()
        assert answer.wait(PATIENCE)
        if next(numbers) == 0:
            raise ConnectionError
        return "fine"

    journal = open_journal(Counted(breaks_once, in_flight=2))
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(journal.complete, [question()])
        assert asked.wait(PATIENCE)
        other = pool.submit(journal.complete, [question()])
        answer.set()
        with pytest.raises(ConnectionError):
            one.result(PATIENCE)
        assert other.result(PATIENCE)[0].text == "fine"


def test_sittings_are_noted(open_journal: Opener, tmp_path: Path) -> None:
    open_journal(Counted()).complete(questions(2))
    open_journal(Counted()).complete(questions(5))
    open_journal(Counted())
    with closing(sqlite3.connect(tmp_path / "journal.sqlite")) as database:
        sittings = database.execute("SELECT asked, replayed, seconds >= 0 FROM sittings ORDER BY rowid").fetchall()
    assert sittings == [(2, 0, 1), (3, 2, 1), (0, 0, None)], "the last one is still sitting"


def test_a_journal_names_its_model(tmp_path: Path) -> None:
    with closing(Journal(tmp_path / "journal.sqlite", Counted(in_flight=4))) as journal:
        assert (journal.identity, journal.in_flight) == (Counted().identity, 4)
    assert read_identity(tmp_path / "journal.sqlite") == Counted().identity
    with pytest.raises(UserError, match="no journal at"):
        read_identity(tmp_path / "missing.sqlite")
