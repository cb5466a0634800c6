"""Sweeps on a Ray cluster (extra `[ray]`)."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from loopback import Loopback, said
from measuring import record

import run
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.llm.journal import query
from parley.model import workers
from parley.model.files import JOURNAL
from parley.model.parts import PARTS
from parley.model.placement import Workers, one_worker, use_workers
from parley.model.run_folder import package_versions
from parley.model.scenario import load_preset
from parley.model.scenario_run import RunSpec, run_scenario
from parley.model.sweep import ray_cluster
from parley.model.sweep.cell_runner import CellResult, CellTask, SweepJob
from parley.model.sweep.cluster_address import Cluster, read_cluster
from parley.model.sweep.design import sweep_cells
from parley.model.sweep.ray_cluster import run_on_ray
from parley.model.sweep.runner import run_cells

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own
CANARY = "sk-canary-0123456789abcdef"
"""The value of a key."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's nodes have half a minute to start, which is short on a busy machine. Its workers find this checkout and the tests."""
    links = Path(__file__).parents[2] / ".links"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(links), *sys.path]))
    seconds = {
        "worker_register_timeout_seconds": "600",
        "raylet_start_wait_time_s": "600",
        "agent_register_timeout_ms": "600000",
    }
    for name, value in seconds.items():
        monkeypatch.setenv(f"RAY_{name}", value)


def swept(folder: Path, ray: str | None, most: int | None = None) -> list[CellResult]:
    base = load_preset("two_way").with_settings({"topic": "racism", "repetitions": 2, "rounds": 1, "llm": "oracle"})
    jobs = [SweepJob(cell, folder) for cell in sweep_cells(base, {"rounds": ("1", "2")}, range(2))]
    found = dict(run_cells(jobs, record, 2, Budget(calls=most), ray, lambda number: None, print))
    return [found[place] for place in range(len(jobs))]


def test_a_cluster_finds_the_same(tmp_path: Path) -> None:
    """The records of a sweep on Ray are those of worker processes, and the budget holds there too: 72 calls are needed."""
    stopped = [held.stopped for held in swept(tmp_path / "ray", "local", 50) if held.stopped]
    assert stopped
    assert all("--max-calls 50 is spent (50 calls" in why for why in stopped)
    assert [held.found for held in swept(tmp_path / "ray", "local")] == [
        held.found for held in swept(tmp_path / "here", None)
    ]


def test_a_key_travels_as_the_name_of_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers on machines without the key get its value. Neither the folder of the sweep nor a file of Ray has it."""
    monkeypatch.setenv("SERVER_KEY_OF_MINE", CANARY)
    ray_files = Path(tempfile.mkdtemp(prefix="r"))  # a short path: Ray's sockets lie in it
    monkeypatch.setenv("RAY_TMPDIR", str(ray_files))
    start = functools.partial(
        ray.init, runtime_env={"env_vars": {"SERVER_KEY_OF_MINE": ""}}
    )  # as on a machine without the key
    monkeypatch.setattr(ray, "init", start)
    with Loopback(lambda body, number: said("7")) as server:
        words = "sweep --scenario two_way --topic racism --repetitions 1 --rounds 1 --seeds 0:2 --no-qualify --cluster local"
        model = ["--llm", "openai:echo,key=SERVER_KEY_OF_MINE", "--base-url", server.url]
        code = run.main([*words.split(), "--workers", "2", *model, "--out", str(tmp_path / "sweep"), "--keep-going"])
    assert (code, server.keys) == (0, {f"Bearer {CANARY}"})
    written = [path for folder in (tmp_path, ray_files) for path in folder.rglob("*") if path.is_file()]
    assert any(path.name.startswith("raylet") for path in written)
    assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
    assert any(b"SERVER_KEY_OF_MINE" in path.read_bytes() for path in written)
    shutil.rmtree(ray_files)


SHARED = {"two_way": {"repetitions": 4, "rounds": 2}, "network": {"size": 20, "repetitions": 1, "rounds": 2}}


@pytest.mark.parametrize("preset", SHARED)
def test_the_parts_of_one_run_on_a_cluster(tmp_path: Path, preset: str) -> None:
    """Rooms on two workers, and a network of which each has a part of the agents: the record of one process."""
    scenario = load_preset(preset).with_settings({"topic": "racism", "llm": "oracle", **SHARED[preset]})
    whole, counted = run_scenario(RunSpec(scenario, tmp_path / "whole")), list[int]()
    with one_worker():
        use_workers(Workers(2, "local"))
        parts = run_scenario(RunSpec(scenario, tmp_path / "ray"), counted.append)
    assert parts.record.read_bytes() == whole.record.read_bytes()
    assert parts.asked == whole.asked
    assert sum(counted) >= whole.asked  # workers that share questions count the replies of the others, too


@pytest.mark.parametrize(
    ("preset", "size"), [("two_way", {"repetitions": 40}), ("network", {"size": 150, "repetitions": 1})]
)
def test_a_machine_of_the_cluster_is_killed(
    tmp_path: Path, preset: str, size: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the middle of a run in two parts: its part goes on elsewhere, the record is the same, and nothing is asked twice."""
    from ray.cluster_utils import Cluster as Machines

    scenario = load_preset(preset).with_settings({"topic": "racism", "llm": "oracle", "rounds": 40, **size})
    whole = run_scenario(RunSpec(scenario, tmp_path / "whole"))
    machines = Machines(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes, killed, told = [machines.add_node(num_cpus=1) for _ in range(3)], list[str](), list[str]()
    monkeypatch.setattr(workers, "notify", told.append)

    def kill_one(number: int) -> None:
        free = ray._private.state.available_resources_per_node()
        busy = [node for node in nodes if not free.get(node.node_id, {}).get("CPU")]
        if busy and not killed and len([*(tmp_path / "ray" / PARTS).glob(f"*/{JOURNAL}")]) == 2:
            killed.append(busy[0].node_id)
            (raylet,) = busy[0].all_processes["raylet"]
            for worker in children_of(raylet.process.pid):
                os.kill(worker, signal.SIGKILL)  # with its machine; here it would live on for a while
            machines.remove_node(busy[0], allow_graceful=False)

    try:
        with one_worker():
            use_workers(Workers(2, machines.address))
            parts = run_scenario(RunSpec(scenario, tmp_path / "ray"), kill_one)
    finally:
        machines.shutdown()
    assert ["its worker was lost" in line for line in told] == [True]
    assert parts.record.read_bytes() == whole.record.read_bytes()
    counted = "SELECT COUNT(*), COUNT(DISTINCT key) FROM outcomes"
    assert query(tmp_path / "ray" / JOURNAL, counted) == query(tmp_path / "whole" / JOURNAL, counted)


def children_of(parent: int) -> list[int]:
    """The processes that a process has started."""
    text = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="utf-8")
    return [int(number) for number in text.split()]


def test_a_limit_ends_the_parts_of_a_network_on_a_cluster(tmp_path: Path) -> None:
    """A worker that waits for another one ends with it; the replies that were paid for are in the journal."""
    scenario = load_preset("network").with_settings({"topic": "racism", "llm": "oracle", "size": 20, "repetitions": 1})
    with one_worker():
        use_workers(Workers(2, "local"))
        stopped = run_scenario(RunSpec(scenario, tmp_path / "run", budget=Budget(calls=30)))
    assert "--max-calls 30" in str(stopped.stopped)
    assert query(tmp_path / "run" / JOURNAL, "SELECT COUNT(*) FROM outcomes") == [(30,)]


def test_a_machine_with_another_version_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line, which says what differs: a record is the same only with the same code."""
    briefing = ray_cluster.Briefing(None, {}, ray_cluster._versions(), False)
    monkeypatch.setattr(ray_cluster, "package_versions", lambda: {**package_versions(), "mesa": "9.9"})
    why = str(ray_cluster._run(CellTask(record), SweepJob, briefing).stopped)  # type: ignore[arg-type]
    assert why.endswith(
        f"has mesa 9.9, and the first machine has {package_versions()['mesa']}: install the same on both"
    )


def test_what_a_worker_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: a model in the worker gets a GPU where there is one, that of a server none. Only its own key goes along."""
    needs = ray_cluster._needs
    assert needs(Cluster("auto"), {"hf:m"}, {"GPU": 2.0}) == {"num_cpus": 1, "num_gpus": 1.0}
    assert needs(Cluster("auto"), {"hf:m"}, {}) == {"num_cpus": 1, "num_gpus": 0.0}
    assert needs(Cluster("auto"), {"oracle"}, {"GPU": 2.0})["num_gpus"] == 0.0
    assert needs(Cluster("auto", 0.5, 2), {"hf:m"}, {"GPU": 2.0}) == {"num_cpus": 1, "num_gpus": 0.5, "memory": 2**31}
    with pytest.raises(UserError, match="has 0 GPUs, so no worker would start"):
        needs(Cluster("auto", 1.0), {"hf:m"}, {})
    with pytest.raises(
        UserError, match="3 workers must work at the same time, but the cluster has CPUs for 2: give --workers 2"
    ):
        ray_cluster._check_room({"num_cpus": 1, "num_gpus": 0}, 3, {"CPU": 2.0})
    monkeypatch.setenv("LAB_KEY", CANARY)
    monkeypatch.setenv("OTHER_KEY", CANARY)
    assert ray_cluster._keys({"openai:m,base_url=http://127.0.0.1:1/v1,key=LAB_KEY"}) == {"LAB_KEY": CANARY}
    for text, wrong in {"auto,gpu=1": "gpus", "auto,gpus=many": "0 or more", "nowhere": "HOST:PORT"}.items():
        with pytest.raises(UserError, match=wrong):
            read_cluster(text)


def test_a_cluster_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine the local node timed out, and Ray's plain Exception was a traceback."""

    def slow(**options: object) -> None:
        raise Exception("The current node timed out during startup.\nThis could happen because ...")

    monkeypatch.setattr("ray.init", slow)
    with pytest.raises(UserError, match=r"no Ray cluster at local: The current node timed out during startup\.$"):
        run_on_ray(CellTask(record), [], 1, None, lambda number: None, print, "local").__next__()
