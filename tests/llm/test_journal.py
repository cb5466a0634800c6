"""The journal: every outcome once, failures by name, the newest in force, the same replies on every later day."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from standins import Scrambled

from parley.llm.errors import UserError
from parley.llm.journal import Journal, copy_journal, own_usage, read_identity, usage_of_journal
from parley.llm.request import Reply, Request, identity_text
from parley.llm.retry import Retry

from .conftest import Counted, echo, question, questions, replies

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


def landing(journal: Journal, count: int) -> list[tuple[Request, Reply]]:
    """What lands until so many have."""
    landed: list[tuple[Request, Reply]] = []
    while len(landed) < count:
        landed += journal.receive()
    return landed


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=40), st.integers(0, 99))
def test_a_network_is_asked_each_question_once(asked: list[int], seed: int) -> None:
    """Asked again while it is on its way, or after it has landed: the same reply, and no second call."""
    inner, sent = Scrambled(echo, 99, seed), [question(str(number)) for number in asked]
    with TemporaryDirectory() as folder, closing(Journal(Path(folder) / "journal.sqlite", inner)) as journal:
        journal.send(sent[:7])
        landed = landing(journal, min(1, len(sent)))
        journal.send(sent[7:])
        landed += landing(journal, len(sent) - len(landed))
        assert sorted(map(id, (request for request, _ in landed))) == sorted(map(id, sent))
        assert all(reply.text == echo(request) for request, reply in landed)
        assert len(inner.order) == len(rows(journal)) == journal.asked == len(set(asked))
        assert journal.replayed == len(asked) - len(set(asked))


def test_what_landed_is_replayed_to_a_network(open_journal: Opener) -> None:
    """The second sitting asks only what the first did not, and hands out what is known before it waits for the rest."""
    first = open_journal(Scrambled(echo, 9))
    first.send(questions(5))
    landing(first, 5)
    inner = Scrambled(echo, 9)
    journal = open_journal(inner)
    asked = questions(7)
    journal.send(asked)
    assert [request for request, _ in journal.receive()] == asked[:5]
    assert {request for request, _ in landing(journal, 2)} == set(asked[5:])
    assert (journal.asked, journal.replayed, len(inner.order)) == (2, 5, 2)


def test_what_lands_together_is_one_transaction(open_journal: Opener) -> None:
    """A network may land hundreds at once, and a commit for each would be most of the work."""

    class Wave(Scrambled):
        def receive(self, wait: bool = True) -> list[tuple[Request, Reply]]:
            return [super(Wave, self).receive()[0] for _ in range(len(self._sent))]

    journal = open_journal(Wave(echo, 99))
    statements: list[str] = []
    journal._database.set_trace_callback(statements.append)
    journal.send(questions(50))
    assert len(journal.receive()) == 50
    assert sum(statement.startswith("BEGIN") for statement in statements) == 1


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
    with pytest.raises(UserError, match="does not exist: give the folder of a run"):
        read_identity(tmp_path / "missing.sqlite")


def test_a_journal_begins_with_what_another_knows(tmp_path: Path) -> None:
    """A branch of a run asks only what its past does not hold; the other journal stays as it was. Without one there is none."""
    one, two, asked = tmp_path / "one.sqlite", tmp_path / "two.sqlite", questions(3)
    with pytest.raises(UserError, match="does not exist: give the folder of a run"):
        copy_journal(one, two)
    assert list(tmp_path.iterdir()) == []
    with closing(Journal(one, Counted())) as journal:
        first = journal.complete(asked[:2])
        copy_journal(one, two)
    inner = Counted()
    with closing(Journal(two, inner)) as journal:
        assert journal.complete(asked)[:2] == first
    assert inner.batches == [asked[2:]]
    assert (own_usage(one)[0], own_usage(two)[0], usage_of_journal(two)[0]) == (
        2,
        1,
        3,
    )  # the copy spent one call itself
    with closing(Journal(one, Counted(unasked))) as journal:
        assert journal.complete(asked[:2]) == first


def test_a_journal_of_another_model_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its replies answer nothing, so that all is paid again: a resumed study did that without a word."""

    class Newer(Counted):
        @property
        def identity(self) -> dict[str, str]:
            return {"backend": "counted", "version": "2"}

    for backend, said in ((Counted(), False), (Counted(), False), (Newer(), True), (Newer(), False)):
        with closing(Journal(tmp_path / "journal.sqlite", backend)) as journal:
            journal.complete(questions(1))
        assert ("asks every question again" in capsys.readouterr().err) == said
