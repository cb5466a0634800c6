"""Run folders: resume is replay, nothing is lost, nothing is asked twice, nothing of others is overwritten."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from data_checks import check_each
from standins import opinionated

from parley.agents.society import load_society
from parley.llm.backends.fake import Fake
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.request import Reply, Request
from parley.model.events import Ended, Event
from parley.model.files import JOURNAL, PARTIAL, RECORD
from parley.model.progress import Interrupted, stoppable
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

Small = Callable[..., Scenario]
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("killed.py")


def launch(
    folder: Path,
    where: str = "never",
    count: int = 0,
    in_flight: int = 0,
    preset: str = "echo_chamber",
    report: bool = False,
) -> int:
    """Run killed.py in a process of its own; the exit status."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    how = [where, str(count), str(in_flight), preset, "report" if report else ""]
    command = [sys.executable, str(SCRIPT), str(folder), str(folder) + ".log", *how]
    return subprocess.run(
        command, env=os.environ | {"PYTHONPATH": paths, "MPLBACKEND": "agg"}, check=False, timeout=120
    ).returncode


def tree(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file of a run but the journal (it keeps times) and the lock."""
    kept = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and JOURNAL not in path.name and path.name != ".lock"
    ]
    return {str(path.relative_to(folder)): path.read_bytes() for path in kept}


def changed(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Names of the files that differ, or that only one of two runs has."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, dict[str, bytes]]:
    """Return the files of a run that nothing kills: without a report, and with one."""
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    assert launch(folder) == 0
    plain = tree(folder)
    assert launch(folder, report=True) == 0
    return {False: plain, True: tree(folder)}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("where", "count", "in_flight"),
    [
        ("ask", 1, 0),
        ("ask", 40, 0),
        ("ask", 151, 0),
        ("ask", 97, 8),
        ("write", 1, 0),
        ("write", 29, 8),
        ("report", 2, 0),
        ("report", 6, 0),
    ],
)
def test_a_killed_run_goes_on_and_ends_like_an_undisturbed_one(
    tmp_path: Path, undisturbed: dict[bool, dict[str, bytes]], where: str, count: int, in_flight: int
) -> None:
    """kill -9 anywhere, the same command again: byte-identical files, and no journaled call asked twice."""
    folder, report = tmp_path / "run", where == "report"
    assert launch(folder, where, count, in_flight, report=report) == -signal.SIGKILL
    before = journaled(folder)
    first = asked(folder)
    assert launch(folder, in_flight=in_flight, report=report) == 0
    assert changed(tree(folder), undisturbed[report]) == []
    again = asked(folder)[len(first) :]
    assert len(set(again)) == len(again)
    assert len(again) == len(journaled(folder)) - len(before)


@pytest.fixture(scope="module")
def deliberated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("deliberated") / "run"
    assert launch(folder, preset="consensus") == 0
    return tree(folder)


@pytest.mark.thorough
@pytest.mark.parametrize(("where", "count", "in_flight"), [("ask", 700, 4), ("write", 60, 0)])
def test_a_killed_deliberation_goes_on_and_ends_like_an_undisturbed_one(
    tmp_path: Path, deliberated: dict[str, bytes], where: str, count: int, in_flight: int
) -> None:
    """The same of waves and of a mediator's own calls: a kill in the middle of either loses nothing and asks nothing twice."""
    folder = tmp_path / "run"
    assert launch(folder, where, count, in_flight, "consensus") == -signal.SIGKILL
    assert launch(folder, in_flight=in_flight, preset="consensus") == 0
    assert changed(tree(folder), deliberated) == []


@pytest.fixture(scope="module")
def posted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("posted") / "run"
    assert launch(folder, preset="platform") == 0
    return tree(folder)


@pytest.mark.thorough
@pytest.mark.parametrize(("where", "count", "in_flight"), [("ask", 150, 4), ("ask", 61, 0), ("write", 3, 0)])
def test_a_killed_medium_goes_on_and_ends_like_an_undisturbed_one(
    tmp_path: Path, posted: dict[str, bytes], where: str, count: int, in_flight: int
) -> None:
    """Acts, posts and texts are asked in waves; a kill between an act and its post loses nothing and asks nothing twice."""
    folder = tmp_path / "run"
    assert launch(folder, where, count, in_flight, "platform") == -signal.SIGKILL
    first = asked(folder)
    assert launch(folder, in_flight=in_flight, preset="platform") == 0
    assert changed(tree(folder), posted) == []
    again = asked(folder)[len(first) :]
    assert len(set(again)) == len(again)


def asked(folder: Path) -> list[str]:
    return Path(str(folder) + ".log").read_text().split()


def journaled(folder: Path) -> set[str]:
    import sqlite3

    path = folder / JOURNAL
    if not path.exists():
        return set()
    with sqlite3.connect(path) as database:
        return {row[0].hex() for row in database.execute("SELECT key FROM outcomes")}


@pytest.mark.thorough
def test_killed_twice_and_a_torn_journal_tail(tmp_path: Path, undisturbed: dict[bool, dict[str, bytes]]) -> None:
    """A write-ahead log that was cut short loses its tail and nothing else."""
    folder = tmp_path / "run"
    assert launch(folder, "ask", 60) == -signal.SIGKILL
    assert launch(folder, "write", 40) == -signal.SIGKILL
    log = folder / f"{JOURNAL}-wal"
    log.write_bytes(log.read_bytes()[:-777])
    assert launch(folder) == 0
    assert changed(tree(folder), undisturbed[False]) == []


def test_a_finished_folder_asks_nothing(tmp_path: Path, small: Small, fake: Fake) -> None:
    task = RunSpec(small(), tmp_path / "run")
    first = run_scenario(task, backend=fake)
    second = run_scenario(task, backend=Fake(lambda request: pytest.fail("asked again")))
    assert (first.asked, first.already, second.asked, second.already) == (30, False, 0, True)


def test_failures_are_kept_and_asked_again_only_on_demand(tmp_path: Path, small: Small, fake: Fake) -> None:
    """A named failure is a final outcome; --retry-failures asks the failed calls, and what follows from them, again."""

    def flaky(request: Request) -> str | Reply:
        return Reply.failed("overloaded") if request.seed % 5 == 0 else opinionated(request)

    task = RunSpec(small(), tmp_path / "run")
    run_scenario(task, backend=Fake(flaky))
    calm = RunSpec(small(), tmp_path / "calm")
    run_scenario(calm, backend=fake)
    assert (task.folder / RECORD).read_bytes() != (calm.folder / RECORD).read_bytes()
    retried = run_scenario(RunSpec(small(), tmp_path / "run", retry_failures=True), backend=fake)
    assert 0 < retried.asked < 30
    assert (task.folder / RECORD).read_bytes() == (calm.folder / RECORD).read_bytes()


def test_a_spent_budget_keeps_everything_and_goes_on_when_raised(tmp_path: Path, small: Small, fake: Fake) -> None:
    """The total counts over all sittings; the stopped run has a partial record."""
    stopped = run_scenario(RunSpec(small(), tmp_path / "run", budget=Budget(calls=13)), backend=fake)
    assert stopped.stopped is not None
    assert "--max-calls 13 is spent" in stopped.stopped
    assert stopped.asked == 13
    assert stopped.record.name == PARTIAL
    again = run_scenario(
        RunSpec(small(), tmp_path / "run", budget=Budget(calls=13)), backend=Fake(lambda request: pytest.fail("asked"))
    )
    assert again.stopped is not None
    done = run_scenario(RunSpec(small(), tmp_path / "run", budget=Budget(calls=30)), backend=fake)
    assert (done.stopped, done.asked, done.replayed) == (None, 17, 13)
    whole = run_scenario(RunSpec(small(), tmp_path / "whole"), backend=fake)
    assert done.record.read_bytes() == whole.record.read_bytes()


@check_each(
    ("changes", "words"),
    [
        ({"seed": 9}, "another scenario, seed or setting (seed is 0 there, 9 here)"),
        ({"rounds": 3}, "rounds is 2 there, 3 here"),
        ({"frame": "chat"}, "frame is 'debate' there, 'chat' here"),
    ],
)
def test_a_folder_of_another_run_is_left_alone(
    tmp_path: Path, small: Small, fake: Fake, changes: dict, words: str
) -> None:
    folder = tmp_path / "run"
    run_scenario(RunSpec(small(), folder), backend=fake)
    before = tree(folder)
    with pytest.raises(UserError) as caught:
        run_scenario(RunSpec(small(**changes), folder), backend=fake)
    assert words in str(caught.value)
    assert changed(tree(folder), before) == []


def test_a_folder_of_another_model_or_prompt_is_left_alone(tmp_path: Path, small: Small, fake: Fake) -> None:
    folder = tmp_path / "run"
    run_scenario(RunSpec(small(), folder, budget=Budget(calls=3)), backend=fake)
    with pytest.raises(UserError, match="another model"):
        run_scenario(RunSpec(small(), folder), backend=Fake(opinionated, name="other"))
    label = folder / "experiment.json"
    label.write_text(json.dumps(json.loads(label.read_text()) | {"prompts": {"turn": "0"}}))
    with pytest.raises(UserError, match="other prompts"):
        run_scenario(RunSpec(small(), folder), backend=fake)


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path, small: Small, fake: Fake) -> None:
    (tmp_path / "thesis.tex").write_text("dear")
    with pytest.raises(UserError, match="not empty and is not a run folder"):
        run_scenario(RunSpec(small(), tmp_path), backend=fake)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]


def test_two_sittings_at_one_folder_do_not_mix(tmp_path: Path, small: Small, fake: Fake) -> None:
    with open(tmp_path / ".lock", "w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="another process is running"):
            run_scenario(RunSpec(small(), tmp_path), backend=fake)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path, small: Small, fake: Fake) -> None:
    (tmp_path / "file").write_text("precious")
    for place in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(UserError, match="cannot use the folder"):
            run_scenario(RunSpec(small(), place), backend=fake)
    assert (tmp_path / "file").read_text() == "precious"


def test_a_replay_needs_no_model_and_gives_the_same_record(tmp_path: Path, small: Small, fake: Fake) -> None:
    """`--llm replay:RUN`: the same events from the journal alone; a changed scenario is an error, never a guess."""
    from parley.llm.backends import open_spec
    from parley.llm.errors import MissingRecording

    run_scenario(RunSpec(small(), tmp_path / "run"), backend=fake)
    recorded = open_spec(f"replay:{tmp_path / 'run'}")
    replay = run_scenario(RunSpec(small(), tmp_path / "replay"), backend=recorded)
    assert replay.record.read_bytes() == (tmp_path / "run" / RECORD).read_bytes()
    with pytest.raises(MissingRecording, match="lacks a"):
        run_scenario(RunSpec(small(seed=4), tmp_path / "other"), backend=recorded)


def test_a_stopped_retry_leaves_an_unfinished_run_not_a_mixed_one(tmp_path: Path, small: Small, fake: Fake) -> None:
    """Once failures are asked again the old record is no longer the finished one; the plain command completes it."""

    def flaky(request: Request) -> str | Reply:
        return Reply.failed("overloaded") if request.seed % 3 == 0 else opinionated(request)

    task = RunSpec(small(), tmp_path / "run")
    run_scenario(task, backend=Fake(flaky))
    spent = run_scenario(RunSpec(small(), task.folder, budget=Budget(calls=33), retry_failures=True), backend=fake)
    assert spent.stopped is not None
    assert not (task.folder / RECORD).exists()
    done = run_scenario(task, backend=fake)
    assert not done.already
    assert (task.folder / RECORD).exists()


def test_a_damaged_record_is_written_again_from_the_journal(tmp_path: Path, small: Small, fake: Fake) -> None:
    """Finished means that the last line says so, not that there is a file."""
    task = RunSpec(small(), tmp_path / "run")
    run_scenario(task, backend=fake)
    record = task.folder / RECORD
    whole = record.read_bytes()
    record.write_bytes(whole[:100])
    again = run_scenario(task, backend=Fake(lambda request: pytest.fail("asked again")))
    assert (again.already, again.replayed) == (False, 30)
    assert record.read_bytes() == whole


def test_other_personas_are_another_experiment_and_unused_files_are_not(
    tmp_path: Path, small: Small, fake: Fake
) -> None:
    """A changed file that the run uses locks its folder; a new topic beside it does not."""
    folder, home = tmp_path / "run", tmp_path / "own"
    shutil.copytree(load_society().folder, home)
    task = RunSpec(small(society=str(home), topic=f"{home}/racism"), folder)
    run_scenario(task, backend=fake)
    (home / "topics" / "new.toml").write_text("title = 'x'")
    assert run_scenario(task, backend=fake).already
    with (home / "parties" / "default.toml").open("a") as file:
        file.write("# changed")
    with pytest.raises(UserError, match="other personas, topics or code"):
        run_scenario(task, backend=fake)


def test_a_folder_that_is_not_ours_keeps_even_its_lock_file(tmp_path: Path, small: Small, fake: Fake) -> None:
    for name in (".lock", "notes.txt"):
        (tmp_path / name).write_text("precious")
    with pytest.raises(UserError, match="is not a run folder"):
        run_scenario(RunSpec(small(), tmp_path), backend=fake)
    assert (tmp_path / ".lock").read_text() == "precious"


def test_a_model_that_cannot_be_opened_leaves_no_folder(tmp_path: Path, small: Small) -> None:
    with pytest.raises(UserError, match="unknown model"):
        run_scenario(RunSpec(small(llm="nosuch"), tmp_path / "run"))
    assert not (tmp_path / "run").exists()


def test_a_kill_before_the_label_was_there_locks_nobody_out(tmp_path: Path, small: Small, fake: Fake) -> None:
    """The lock and a label that is half written: nothing of a run is in the folder yet."""
    (tmp_path / ".lock").touch()
    (tmp_path / "experiment.json.tmp").write_text('{"scen')
    assert run_scenario(RunSpec(small(), tmp_path), backend=fake).asked == 30
    assert not (tmp_path / "experiment.json.tmp").exists()


@check_each("part", ["scenario", "prompts", "model"])
def test_a_damaged_label_is_one_line(part: str, tmp_path: Path, small: Small, fake: Fake) -> None:
    label = {"scenario": {}, "prompts": {}, "data": "", "model": {}} | {part: []}
    (tmp_path / "experiment.json").write_text(json.dumps(label))
    with pytest.raises(UserError, match=r"cannot read .*experiment\.json"):
        run_scenario(RunSpec(small(), tmp_path), backend=fake)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_what_is_on_its_way(number: int, tmp_path: Path, small: Small) -> None:
    """A scheduler's end of time, or a terminal that closes: replies on their way were paid for, as with Ctrl-C. Asked again they
    would be paid twice: the run goes on without asking one of them once more."""
    asked: list[bytes] = []

    def answer(request: Request) -> str:
        asked.append(request.key("test"))
        return opinionated(request)

    def stop(_: int) -> None:
        signal.raise_signal(number)

    task = RunSpec(small("echo_chamber"), tmp_path / "run")
    with pytest.raises(Interrupted) as stopped, stoppable():
        run_scenario(task, stop, backend=Fake(answer, in_flight=6))
    assert stopped.value.number == number
    assert len(asked) >= 6
    assert signal.getsignal(number) is signal.SIG_DFL
    run_scenario(task, backend=Fake(answer, in_flight=6))
    assert len(asked) == len(set(asked))


def test_a_signal_that_is_ignored_stays_so(small: Small) -> None:
    """Under nohup a run outlives its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


@check_each(
    ("what", "line"),
    [
        (
            "folder",
            r"journal .* was removed \(No such file or directory\), so the run stopped. Up to \d+ replies .* are lost",
        ),
        ("journal", "was removed"),
        ("another", "was replaced by another file"),
        ("rubbish", "was replaced by another file|cannot use the journal"),
    ],
)
@check_each("in_flight", [0, 4])
def test_a_journal_that_is_lost_in_the_middle_stops_the_run_in_one_line(
    what: str, line: str, in_flight: int, tmp_path: Path, small: Small
) -> None:
    """It once went on for hours, paid for every call, kept none of them, and said nothing, or ended in a traceback."""
    folder, count = tmp_path / "run", itertools.count()

    def answer(request: Request) -> str:
        if next(count) == 20:
            if what == "folder":
                shutil.rmtree(folder)
            if what in ("journal", "another"):
                (folder / JOURNAL).unlink()
            if what == "another":
                shutil.copy(SCRIPT, folder / JOURNAL)
            if what == "rubbish":
                (folder / JOURNAL).write_bytes(b"rubbish" * 1000)
        return opinionated(request)

    with pytest.raises(UserError, match=line) as told:
        run_scenario(RunSpec(small("echo_chamber"), folder), backend=Fake(answer, in_flight=in_flight))
    assert "\n" not in str(told.value)
    assert next(count) < 100  # of 720


def test_a_folder_that_vanishes_before_the_end_is_one_line(tmp_path: Path, small: Small) -> None:
    """Too late for the journal to notice: the record has no place to go to."""
    folder = tmp_path / "run"
    with pytest.raises(UserError, match="cannot finish the record in"):
        run_scenario(
            RunSpec(small(rounds=0, survey="never"), folder), backend=Fake("5"), on_open=None, watcher=Vanishing(folder)
        )


class Vanishing:
    """Looks on, and takes the folder away at the last line of the record."""

    def __init__(self, folder: Path):
        self.folder = folder

    def write(self, events: Iterable[Event]) -> None:
        if any(isinstance(one, Ended) for one in events):
            shutil.rmtree(self.folder)
