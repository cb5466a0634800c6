"""What a journal withstands: being killed, a torn write-ahead log, a full disk, a file that is no journal."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from data_checks import check_each

import parley.llm
from parley.llm.backends.replay import Replay
from parley.llm.errors import UserError
from parley.llm.journal import Journal, open_database, read_identity

from .conftest import Counted, echo, questions

ROOT = Path(parley.llm.__file__).parent.parent
BATCHES, SIZE = 8, 5
PRELUDE = """
import os, resource, signal, sys
from pathlib import Path
from parley.llm.backends.fake import Fake
from parley.llm.errors import UserError
from parley.llm.journal import Journal
from parley.llm.seeding import digest
from parley.llm.request import Message, Reply, Request, Sampling

def echo(request):
    return digest(request.messages, request.seed, request.answers).hex()

asked = [Request((Message("user", f"Question {n}?"),), Sampling(), n) for n in range(1000)]
path = Path(sys.argv[1])
"""
KILLED = """
journal = Journal(path, Fake(echo))
for start in range(0, 40, 5):
    journal.complete(asked[start : start + 5])
"""
FULL = """
answered = 0
def long(request):
    return echo(request) + "x" * 2000
journal = Journal(path, Fake(long))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
try:
    while True:
        answered += len(journal.complete(asked[answered : answered + 5]))
except UserError as error:
    print(answered, error, sep="\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print(len(journal.complete(asked[answered : answered + 5])))
resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
try:
    journal.close()
except UserError as error:
    print(error)
"""


def child(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", PRELUDE + code, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def asked_again(path: Path) -> list[int]:
    """Numbers of the questions that the journal lacks; it answers all of them in the end."""
    inner, asked = Counted(), questions(BATCHES * SIZE)
    with closing(Journal(path, inner)) as journal:
        assert [reply.text for reply in journal.complete(asked)] == [echo(request) for request in asked]
    return [request.seed for batch in inner.batches for request in batch]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a journal that was never closed."""
    folder = tmp_path_factory.mktemp("killed")
    done = child(KILLED + "os._exit(9)", folder / "journal.sqlite")
    assert done.returncode == 9, done.stderr
    assert (folder / "journal.sqlite-wal").stat().st_size > 0
    return folder


@pytest.mark.parametrize("end", ["os._exit(9)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_what_was_returned_survives_a_kill(end: str, tmp_path: Path) -> None:
    """Right after `complete` the process is gone: a resume asks nothing again."""
    done = child(KILLED + end, tmp_path / "journal.sqlite")
    assert done.returncode in (9, -signal.SIGKILL), done.stderr
    assert asked_again(tmp_path / "journal.sqlite") == []


@check_each("eighths", range(8))
@check_each("torn", ["cut off", "overwritten"])
def test_a_torn_log_lacks_only_its_tail(killed: Path, tmp_path: Path, eighths: int, torn: str) -> None:
    """Power lost while writing: the file opens, whole batches are there up to the damage, and the rest is asked again."""
    folder = tmp_path / "torn"
    shutil.copytree(killed, folder)
    log = folder / "journal.sqlite-wal"
    whole = log.read_bytes()
    keep = len(whole) * eighths // 8 + 7
    log.write_bytes(whole[:keep] if torn == "cut off" else whole[:keep] + b"\xa5" * (len(whole) - keep))
    missing = asked_again(folder / "journal.sqlite")
    assert missing == list(range(missing[0], BATCHES * SIZE))
    assert missing[0] % SIZE == 0, "a batch is there as a whole or not at all"
    assert asked_again(folder / "journal.sqlite") == []


def test_one_lost_byte_costs_one_batch(killed: Path, tmp_path: Path) -> None:
    shutil.copytree(killed, tmp_path / "torn")
    os.truncate(log := tmp_path / "torn" / "journal.sqlite-wal", log.stat().st_size - 1)
    assert asked_again(tmp_path / "torn" / "journal.sqlite") == list(range((BATCHES - 1) * SIZE, BATCHES * SIZE))


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    """Whatever `complete` has returned is kept; with room again the same journal goes on, and a full one can be closed."""
    done = child(FULL, tmp_path / "journal.sqlite")
    assert done.returncode == 0, done.stderr
    answered, full, went_on, *rest = done.stdout.splitlines()
    assert full.startswith(f"cannot use the journal {tmp_path}/journal.sqlite: ")
    assert went_on == "5"
    assert all(line.startswith("cannot use the journal") for line in rest)
    inner = Counted()
    with closing(Journal(tmp_path / "journal.sqlite", inner)) as journal:
        journal.complete(questions(int(answered) + 5))
    assert int(answered) > 0
    assert inner.calls == 0


def test_a_batch_that_cannot_be_written_leaves_no_trace(tmp_path: Path) -> None:
    """The transaction is undone, so that the next thread's batch is not caught in it."""
    path = tmp_path / "journal.sqlite"
    with closing(Journal(path, Counted())) as journal:
        with closing(sqlite3.connect(path)) as other:
            other.execute(
                "CREATE TRIGGER full BEFORE INSERT ON outcomes WHEN (SELECT COUNT(*) FROM outcomes) = 2 "
                "BEGIN SELECT RAISE(FAIL, 'full'); END"
            )
        with pytest.raises(UserError, match="full"):
            journal.complete(questions(5))
        assert (journal.spent(), journal.asked) == ((0, {}), 0)
        assert len(journal.complete(questions(2))) == 2
        assert (journal.spent()[0], journal.asked) == (2, 2)


@check_each("content", [b"garbage " * 1000, b"{}", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_file_that_is_no_journal(content: bytes, tmp_path: Path) -> None:
    """One line that names the file, from whatever opens it; the file stays as it was."""
    path = tmp_path / "journal.sqlite"
    path.write_bytes(content)
    for opens in (open_database, read_identity, Replay, lambda path: Journal(path, Counted())):
        with pytest.raises(UserError, match=r"cannot use the journal .*journal\.sqlite: ") as caught:
            opens(path)
        assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_page_is_one_line(tmp_path: Path) -> None:
    """The header is fine, the pages are not: found only when the replies are read."""
    path = tmp_path / "journal.sqlite"
    with closing(Journal(path, Counted())) as journal:
        journal.complete(questions(400))
    content = path.read_bytes()
    path.write_bytes(content[: 6 * 4096] + b"\xff" * (len(content) - 6 * 4096))
    with pytest.raises(UserError, match="cannot use the journal"):
        Replay(path)
    with (
        pytest.raises(UserError, match="cannot use the journal"),
        closing(Journal(path, Counted())) as journal,
    ):
        journal.complete(questions(400))


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "journal.sqlite"):
        with pytest.raises(UserError, match="unable to open database file"):
            Journal(path, Counted())
