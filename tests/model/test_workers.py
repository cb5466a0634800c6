"""Several workers run the rooms of one scenario, and leave the record, the journal and the counts of one process."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from data_checks import check_each
from together import together

from parley.llm import shares
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.journal import query
from parley.llm.request import Reply, Request
from parley.model import workers
from parley.model.files import JOURNAL, PARTIAL, RECORD
from parley.model.parts import BLOCKS, PARTS, Block, Part, PartRecorder, read_blocks, units
from parley.model.placement import Workers, one_worker, use_workers
from parley.model.scenario import Scenario, load_preset, preset_names
from parley.model.scenario_run import RunOutcome, RunSpec, run_scenario
from parley.model.sweep.cell_runner import Queue

ROOT = Path(__file__).parents[2]
KEEP = Budget(keep_going=True)
SMALL: dict[str, Any] = {"llm": "oracle", "repetitions": 3, "rounds": 2}
SETTINGS: dict[str, dict[str, Any]] = {
    "consensus": {"episodes": 2},
    "network": {"size": 20},
    "platform": {"size": 20},
}


@pytest.fixture
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the parts one after the other: what they write does not depend on where they run."""

    def serial(task: Any, jobs: Any, number: int, ledger: Any, calls: Any, say: Any) -> Iterator[Any]:
        jobs = pickle.loads(pickle.dumps(jobs))  # as on its way to a worker
        if not workers.shares_questions(jobs[0].spec.scenario):
            for place, job in enumerate(jobs):
                yield place, task.run(job, ledger, calls)
            return
        desks = together(len(jobs))  # workers that exchange replies run at the same time
        with ThreadPoolExecutor(len(jobs)) as pool:
            started = [pool.submit(task.run, job, ledger, calls, desk) for job, desk in zip(jobs, desks, strict=True)]
            yield from enumerate(one.result() for one in started)

    monkeypatch.setattr(workers, "run_on_processes", serial)
    monkeypatch.setattr(shares, "_parts", 1)  # threads that end out of order leave their part behind; processes do not


def small(name: str, **more: Any) -> Scenario:
    """A preset with few rooms and rounds; some presets have as many rounds as their stages."""
    scenario, wanted = load_preset(name), {**SMALL, **SETTINGS.get(name, {}), **more}
    with suppress(UserError):
        return scenario.with_settings(wanted)
    return scenario.with_settings({key: value for key, value in wanted.items() if key != "rounds"})


def distinct(journal: Path) -> int:
    """Return the number of questions: one without a seed that is the same in rooms of two workers is asked by both."""
    return int(query(journal, "SELECT COUNT(DISTINCT key) FROM outcomes")[0][0])


def run(scenario: Scenario, folder: Path, number: int, **more: Any) -> RunOutcome:
    with one_worker():
        use_workers(Workers(number))
        return run_scenario(RunSpec(scenario, folder, **more))


@pytest.mark.usefixtures("_in_this_process")
@check_each("name", preset_names())
def test_parts_give_the_record_of_one_process(tmp_path: Path, name: str) -> None:
    """Byte for byte, with as many rows in the journal, and the same counts on the console."""
    scenario = small(name)
    whole, parts = (run(scenario, tmp_path / str(number), number) for number in (1, 2))
    assert parts.record.read_bytes() == whole.record.read_bytes()
    assert distinct(tmp_path / "2" / JOURNAL) == distinct(tmp_path / "1" / JOURNAL)
    assert (parts.tally.asked, parts.tally.missing) == (whole.tally.asked, whole.tally.missing)
    assert parts.stopped is None
    assert not (tmp_path / "2" / PARTS).exists()


@pytest.mark.usefixtures("_in_this_process")
def test_an_intervention_in_one_room_is_known_to_all_workers(tmp_path: Path) -> None:
    """A worker refused the rooms of another one, and the run ended without a line of its record."""
    message = "message round=2 by=Ann text=Hm rooms='racism/republican+democrat/001'"
    scenario = small("two_way", topic="racism", interventions=[message])
    whole, parts = (run(scenario, tmp_path / str(number), number) for number in (1, 2))
    assert parts.record.read_bytes() == whole.record.read_bytes()
    with pytest.raises(UserError, match="room of message"):
        run(small("two_way", topic="racism", interventions=[message.replace("001", "009")]), tmp_path / "none", 1)


@pytest.mark.usefixtures("_in_this_process")
def test_a_stopped_run_goes_on_with_any_number_of_workers(tmp_path: Path) -> None:
    """A budget is one for all parts; what one number of workers asked, another one knows; the partial record is in order."""
    scenario = small("three_way", topic="racism")
    whole = run(scenario, tmp_path / "whole", 1)
    stopped = run(scenario, tmp_path / "run", 3, budget=Budget(calls=20))
    assert (stopped.asked, stopped.record.name) == (20, PARTIAL)
    assert "--max-calls 20" in str(stopped.stopped)
    begun = stopped.record.read_text().splitlines()
    assert set(begun[1:]) < set(whole.record.read_text().splitlines())
    again = run(scenario, tmp_path / "run", 2, budget=Budget(calls=35))
    assert again.asked == 15
    ended = run(scenario, tmp_path / "run", 1)
    assert ended.record.read_bytes() == whole.record.read_bytes()
    assert ended.asked + 35 == whole.asked
    assert ended.replayed == 35


@pytest.mark.usefixtures("_in_this_process")
def test_a_command_that_was_killed_at_its_very_end_has_its_replies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record was finished, and its replies still lay in the parts: the next start called the run finished, without them."""
    scenario = small("three_way", topic="racism")
    whole = run(scenario, tmp_path / "whole", 1)
    with monkeypatch.context() as killed:
        killed.setattr(workers, "_delete_parts", lambda folder: None)
        assert run(scenario, tmp_path / "run", 2).record.read_bytes() == whole.record.read_bytes()
    assert (tmp_path / "run" / PARTS).exists()
    assert distinct(tmp_path / "run" / JOURNAL) == distinct(tmp_path / "whole" / JOURNAL)
    assert run(scenario, tmp_path / "run", 2).already
    assert not (tmp_path / "run" / PARTS).exists()
    assert query(tmp_path / "run" / JOURNAL, "SELECT COUNT(*) FROM outcomes") == [(whole.asked,)]


def test_who_runs_what() -> None:
    """By hand: rooms by turns; all episodes of the same people with one worker."""
    debates, episodes = small("three_way", topic="racism,gun_violence"), small("consensus", episodes=2)
    assert units(debates) == 6
    assert [Part(1, 2).holds(place, debates) for place in range(4)] == [False, True, False, True]
    assert units(episodes) == 6
    assert [Part(1, 2).holds(place, episodes) for place in range(6)] == [False, False, True, True, False, False]


def test_a_torn_block_is_left_out(tmp_path: Path) -> None:
    """As after kill -9 in the middle of a line, in a block, and in the head of one; what is no block is named."""
    path = tmp_path / BLOCKS
    whole = '[1, 0, 1]\n{"a":1}\n'
    for torn in ("", "[2, 0", "[2, 0, 2]\n", '[2, 0, 2]\n{"b":1}\n', '[2, 0, 1]\n{"b"'):
        path.write_text(whole + torn)
        assert list(read_blocks(path)) == [Block((1, 0), 1, '{"a":1}\n')]
    path.write_text(whole + "no block\n")
    with pytest.raises(UserError, match="damaged"):
        list(read_blocks(path))
    assert not list(read_blocks(tmp_path / "missing"))


def test_how_many_workers_a_run_has(capsys: pytest.CaptureFixture[str]) -> None:
    """No more than rooms; one network, and agents who share answers, can have any number, which share the questions."""
    with one_worker():
        use_workers(Workers(4))
        assert workers.workers_for(small("three_way", topic="racism", archetypes=2)).number == 4
        assert workers.workers_for(small("network", repetitions=1)).number == 4
        assert workers.workers_for(small("three_way", topic="racism")).number == 3
        assert workers.workers_for(small("three_way", topic="racism", llm="openai:m,batch=yes")) == Workers()
    assert capsys.readouterr().err.splitlines() == [
        "3 workers, not 4: the run has so few rooms",
        "1 worker, not 4: one process sends the requests of all rooms as one batch",
    ]


@pytest.mark.usefixtures("_in_this_process")
@check_each("name", ["network", "platform", "three_way", "rooms_and_network", "consensus"])
def test_workers_that_share_the_questions_of_one_room(tmp_path: Path, name: str) -> None:
    """A network, a medium, places, archetypes: the record is that of one process, and each question is asked once."""
    more = {"archetypes": 2, "repetitions": 4} if name == "three_way" else {"repetitions": 1}
    scenario = small(name, **more)
    whole, parts = (run(scenario, tmp_path / str(number), number) for number in (1, 3))
    assert parts.record.read_bytes() == whole.record.read_bytes()
    assert (parts.tally.asked, parts.tally.missing) == (whole.tally.asked, whole.tally.missing)
    assert (parts.asked, distinct(tmp_path / "3" / JOURNAL)) == (whole.asked, distinct(tmp_path / "1" / JOURNAL))


MESSAGE = "message round=2 by=Ann text='Think of the cost.' share=0.5"
GRAPH = "small_world,degree=4"
DIVIDED: dict[str, dict[str, Any]] = {
    "neighbours": {},
    "in turn": {"timing": "sequential"},
    "heard before": {"rule": "sequential", "activation": "share,share=0.6"},
    "pairs": {"rule": "pairs", "memory": "last:4", "also": ["agreement:turns"]},
    "near ones": {"rule": "bounded_confidence,epsilon=4", "rewiring": "nearer,probability=0.5"},
    "posts": {"rule": "posts,feed=bridging,length=3"},
    "words of posts": {"rule": "posts,feed=interest,length=3", "memory": "summary:2"},
    "notes": {"memory": "retrieve:2", "importance": "asked", "reflect": 3, "think": "bdi", "plan": 2},
    "interview": {"interview": ["self", "heard"], "forecast": True, "survey": "ends"},
    "interventions": {
        "interventions": [
            MESSAGE,
            "mute round=2 share=0.3",
            "leave round=3 share=0.3",
            "links round=2 change=remove number=1",
        ]
    },
    "medium": {"asks": 3, "seeded": 0.2, "reach": "all"},
    "words of a medium": {"recommender": "interest", "think": "bdi", "memory": "last:9", "interventions": [MESSAGE]},
    "planner": {"interventions": ["planner round=2 messages='9: Yes.' target=9 audience=each"], "disclose": "gender"},
}


@pytest.mark.usefixtures("_in_this_process")
@check_each("name", DIVIDED)
def test_workers_that_divide_the_agents_of_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever hears whom, whatever agents remember, where replies cannot be read and are asked for again: the same record.

    No agent is asked by two workers.
    """
    complete = Oracle.complete

    def unclear(oracle: Oracle, requests: Sequence[Request]) -> list[Reply]:
        replies = zip(requests, complete(oracle, requests), strict=True)
        return [Reply("Hm, 3 or 4?" if one.answers else "") if one.seed % 5 == 0 else reply for one, reply in replies]

    monkeypatch.setattr(Oracle, "complete", unclear)
    preset = "platform" if "medium" in name else "network"
    scenario = small(preset, repetitions=1, topic="racism", size=11, graph=GRAPH, rounds=3, **DIVIDED[name])
    assert workers.divides_agents(RunSpec(scenario, tmp_path))
    whole, *cut = (run(scenario, tmp_path / str(number), number, budget=KEEP) for number in (1, 2, 3))
    for parts in cut:
        assert parts.record.read_bytes() == whole.record.read_bytes()
        assert (parts.tally.asked, parts.tally.missing) == (whole.tally.asked, whole.tally.missing)
        assert (parts.asked, parts.replayed) == (whole.asked, whole.replayed)


def test_a_model_that_is_another_one_on_a_worker_stops_the_run(tmp_path: Path) -> None:
    """As with another version on a node: no reply of it gets into the journal."""
    job = workers.RunPart(RunSpec(small("three_way"), tmp_path), Part(0, 2))
    result = workers.PartTask("{}").run(job)
    assert (
        result.stopped
        == "part 1 of 2 runs another model, or another version of the model, than the process that started the run"
    )
    assert Queue([job], print).jobs[0].resolved() == job


def test_a_limit_ends_all_workers_that_wait_for_each_other(tmp_path: Path) -> None:
    """One worker of a network stopped at the limit, and the others waited for its replies for ever, or lost those in flight."""
    scenario = small("network", repetitions=1)
    with one_worker():
        use_workers(Workers(2))
        stopped = run_scenario(RunSpec(scenario, tmp_path / "run", budget=Budget(calls=30)))
    assert (stopped.asked, stopped.record.name) == (30, PARTIAL)
    assert "--max-calls 30" in str(stopped.stopped)
    ended, whole = run(scenario, tmp_path / "run", 1), run(scenario, tmp_path / "whole", 1)
    assert ended.record.read_bytes() == whole.record.read_bytes()
    assert (ended.asked, ended.replayed) == (whole.asked - 30, 30)


def test_a_worker_of_a_divided_network_is_killed(tmp_path: Path) -> None:
    """In the middle of a round: another one takes its place, the record is the same, and no question is asked twice."""
    scenario, killed = small("network", repetitions=1, topic="racism", size=40, rounds=3), list[int]()
    whole = run(scenario, tmp_path / "whole", 1)

    def kill_one(number: int) -> None:
        killed.append(number)
        if len(killed) == 5:
            os.kill(max(workers_of(os.getpid())), signal.SIGKILL)

    with one_worker():
        use_workers(Workers(2))
        parts = run_scenario(RunSpec(scenario, tmp_path / "parts"), kill_one)
    assert parts.record.read_bytes() == whole.record.read_bytes()
    assert query(tmp_path / "parts" / JOURNAL, "SELECT COUNT(*) FROM outcomes") == [(whole.asked,)]


ROOMS = "--scenario three_way --topic racism,gun_violence --repetitions 12 --rounds 5"
QUESTIONS = "--scenario network --topic racism --set size=60 --repetitions 1 --rounds 6"


@pytest.mark.thorough
@pytest.mark.parametrize("words", [ROOMS, QUESTIONS], ids=["rooms", "questions"])
def test_kills_at_random_of_command_and_workers(tmp_path: Path, words: str) -> None:
    """3 kills of the command or of one of its workers at random: the record is that of one process, nothing is asked twice."""
    kill_at_random(tmp_path, words, 3)


@pytest.mark.nightly
@pytest.mark.parametrize("words", [ROOMS, QUESTIONS], ids=["rooms", "questions"])
def test_many_kills_at_random(tmp_path: Path, words: str) -> None:
    """The same with 20 kills."""
    kill_at_random(tmp_path, words, 20)


def kill_at_random(tmp_path: Path, words: str, most: int) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / ".links"), "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}

    def start(out: Path, number: int) -> subprocess.Popen[bytes]:
        command = f"run.py {words} --llm oracle --no-qualify --workers {number} --out {out}"
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, *command.split()], cwd=ROOT, env=environment, **silent)

    assert start(tmp_path / "whole", 1).wait() == 0
    whole, rng, kills, folder = (tmp_path / "whole" / RECORD).read_bytes(), random.Random(1), 0, 0
    while kills < most:
        folder, out, done = folder + 1, tmp_path / f"killed{folder}", False
        while not done:
            process = start(out, rng.choice((2, 3)))
            while process.poll() is None and not (out / PARTS).exists():
                threading.Event().wait(0.01)
            threading.Event().wait(rng.random() * 1.5)
            victims = workers_of(process.pid) if rng.random() < 0.5 else [process.pid]
            if victims and process.poll() is None and kills < most:
                os.kill(rng.choice(victims), signal.SIGKILL)
                kills += 1
            done = process.wait() == 0
        assert (out / RECORD).read_bytes() == whole
        asked_once = query(out / JOURNAL, "SELECT COUNT(*), COUNT(DISTINCT key) FROM outcomes")[0]
        assert (
            asked_once == query(tmp_path / "whole" / JOURNAL, "SELECT COUNT(*), COUNT(DISTINCT key) FROM outcomes")[0]
        )


def workers_of(parent: int) -> list[int]:
    """The processes that descend from a process and have begun a part, by their number."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            children.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
        except OSError:
            continue
    found, queue = [], [parent]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return [number for number in found if not children.get(number) and not is_tracker(number)]


def is_tracker(number: int) -> bool:
    """Whether a process is Python's own that cleans up after workers, whose number may be above or below theirs."""
    with suppress(OSError):
        return b"resource_tracker" in Path(f"/proc/{number}/cmdline").read_bytes()
    return False


def test_a_part_is_written_in_blocks(tmp_path: Path) -> None:
    """Phase, room and number of events come before the events; a phase without events leaves nothing."""
    run_spec = RunSpec(small("three_way", topic="racism"), tmp_path)
    job = workers.RunPart(run_spec, Part(1, 3))
    from parley.llm.request import identity_text
    from parley.model.scenario_run import open_models

    assert workers.PartTask(identity_text(open_models(run_spec))).run(job).stopped is None
    blocks = list(read_blocks(job.folder / BLOCKS))
    assert {block.place[1] for block in blocks} == {1}
    assert [block.place for block in blocks] == sorted({block.place for block in blocks})
    assert all(json.loads(line) for block in blocks for line in block.lines.splitlines())
    assert isinstance(PartRecorder.phase, int)
