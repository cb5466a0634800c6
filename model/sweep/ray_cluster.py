"""Runs jobs, such as the cells of a sweep or the parts of a run, on a Ray cluster (extra `[ray]`).

The machines share the folder of the results under one path, and have the same code. If a worker or a machine is lost, only its
unfinished job is lost, as in runner.py. An actor of Ray, the desk, keeps the budget and counts calls and workers. Keys travel in
memory with the jobs, as the values of the variables that the command names for the servers of its models; no log of Ray has them.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from parley.llm import model_catalogue as model_hubs
from parley.llm.backends import contacts_of, runs_weights
from parley.llm.budget import Ledger
from parley.llm.errors import UserError
from parley.llm.exchange import Posted
from parley.llm.shares import use_board
from parley.llm.trust import key_for
from parley.model.run_folder import code_revision, package_versions
from parley.model.sweep.cell_runner import Calls, CellResult, Job, Queue, RemoteLedger, Say, Task
from parley.model.sweep.cluster_address import Cluster, read_cluster

STORE = 2**27
"""Bytes for objects of a local cluster. Little data is passed between its processes."""
AWAIT = 0.005
"""Seconds between two looks for replies of other workers."""
LOOK = 1.0
"""Seconds between two looks at the number of calls, or at what other workers met."""


class Briefing(NamedTuple):
    """What a worker is told besides its job: the desk, the values of keys by variable, and the versions that it must have."""

    desk: Any
    keys: Mapping[str, str]
    versions: Mapping[str, str]
    limited: bool


def run_on_ray(
    task: Task, jobs: Sequence[Job], workers: int, ledger: Ledger | None, calls: Calls, say: Say, cluster: str
) -> Iterator[tuple[int, CellResult]]:
    """Run every job on a cluster (cluster_address.py; `local`: one that is started for this), as `run_on_processes` does.

    Errors: UserError without Ray, or when the cluster does not answer.
    """
    place_of = read_cluster(cluster)
    ray = _connect(place_of.address, workers)
    queue = Queue([job.resolved() for job in jobs], say)
    specs = {spec for job in jobs for spec in job.specs}
    needs = _needs(place_of, specs, ray.cluster_resources())
    if task.together:
        _check_room(needs, len(jobs), ray.cluster_resources())
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), False)
    # on this machine, because every worker needs the desk: another machine may be lost
    desk = ray.remote(num_cpus=0, scheduling_strategy=here)(_Desk).remote(ledger, min(workers, len(jobs)))
    remote = ray.remote(max_retries=0, **needs)(_run)
    briefing = Briefing(desk, _keys(specs), _versions(), ledger is not None)
    running: dict[Any, int] = {}
    try:
        while queue.waiting or running:
            while queue.waiting and len(running) < workers:
                place = queue.waiting.popleft()
                running[remote.remote(task, queue.jobs[place], briefing)] = place
            finished, _ = ray.wait(list(running), timeout=LOOK)
            if new := ray.get(desk.take_calls.remote(len(running))):
                calls(new)
            for done in finished:
                place = running.pop(done)
                try:
                    yield place, ray.get(done)
                except ray.exceptions.RayTaskError as error:  # the job could not start there: other code or packages
                    yield place, CellResult(None, f"Ray: {str(error).splitlines()[-1]}")
                except ray.exceptions.RayError as error:
                    yield from queue.lose(place, f"its worker was lost ({type(error).__name__})")
    except ray.exceptions.RayActorError as error:
        raise UserError(
            f"the process of Ray that counts calls was lost ({error}): repeat the command to continue"
        ) from error
    finally:
        ray.shutdown()


def _connect(address: str, workers: int) -> Any:
    model_hubs.silence_hubs()
    try:
        import ray
    except ImportError as error:
        raise UserError('--cluster needs the package Ray: install it with pip install -e ".[ray]"') from error
    local_settings = {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level="ERROR",
            **(local_settings if address == "local" else {}),
        )
    except Exception as error:
        raise UserError(f"there is no Ray cluster at {address}: {str(error).splitlines()[0]}") from error
    return ray


def _needs(cluster: Cluster, specs: set[str], resources: Mapping[str, float]) -> dict[str, float]:
    """Return what Ray reserves for a worker. Errors: UserError for more GPUs than the cluster has."""
    there = resources.get("GPU", 0.0)
    usual = 1.0 if there and any(map(runs_weights, specs)) else 0.0
    gpus = usual if cluster.gpus is None else cluster.gpus
    if gpus > there:
        raise UserError(f"--cluster gpus={gpus:g}: the cluster has {there:g} GPUs, so no worker would start")
    return {"num_cpus": 1, "num_gpus": gpus} | ({"memory": cluster.memory * 2**30} if cluster.memory else {})


def _check_room(needs: Mapping[str, float], jobs: int, resources: Mapping[str, float]) -> None:
    """Errors: UserError where not all jobs can work at the same time, and each waits for the others."""
    for name, need in (("CPU", needs["num_cpus"]), ("GPU", needs["num_gpus"])):
        if need * jobs > resources.get(name, 0.0):
            places = int(resources.get(name, 0.0) / need)
            raise UserError(
                f"{jobs} workers must work at the same time, but the cluster has {name}s for only {places} workers: "
                f"give --workers {places}"
            )


def _keys(specs: set[str]) -> dict[str, str]:
    """Return the keys of the servers that the models call, by variable: only those that the command lets these servers have."""
    names = {key_for(contact) for spec in specs for contact in contacts_of(spec)}
    return {name: value for name in names if name and (value := os.environ.get(name, ""))}


def _versions() -> dict[str, str]:
    """Return what must be the same on all machines, because records depend on it. Of Python, 3.11.4 is as good as 3.11.9."""
    versions = package_versions()
    return {**versions, "python": ".".join(versions["python"].split(".")[:2]), "code of Parley": code_revision()}


def _run(task: Task, job: Job, briefing: Briefing) -> CellResult:
    """Do one job, in a process of Ray."""
    import ray

    here = _versions()
    if other := [name for name, version in briefing.versions.items() if here.get(name) != version]:
        there, mine = here.get(other[0], "none"), briefing.versions[other[0]]
        why = (
            f"{socket.gethostname()} has {other[0]} {there}, and the first machine has {mine}: install the same on both"
        )
        return CellResult(None, why)
    os.environ.update(briefing.keys)
    desk = briefing.desk
    ledger = RemoteLedger(lambda *message: ray.get(desk.ask.remote(*message))) if briefing.limited else None
    use_board(RemoteBoard(desk, lambda asked: ray.get(asked)))
    return task.run(job, ledger, desk.add_calls.remote, RemoteDesk(desk, job.name))


class RemoteBoard:
    """What the workers of a cluster tell each other of their servers (llm/shares.Board): the desk is asked once a second."""

    def __init__(self, desk: Any, get: Callable[[Any], Any]):
        self._desk, self._get = desk, get
        self._read()

    def _read(self) -> None:
        self._workers, self._refusals = self._get(self._desk.read_board.remote())
        self._read_at = time.monotonic()

    def workers(self) -> int:
        if time.monotonic() > self._read_at + LOOK:
            self._read()
        return int(self._workers)

    def note_refusal(self, address: str, sent: float) -> None:
        self._desk.note_refusal.remote(address, sent)

    def last_refusal(self, address: str) -> float:
        return float(self._refusals.get(address, 0.0))


class RemoteDesk:
    """Where the jobs on a cluster exchange replies (llm/exchange.Desk): at the desk of the first machine."""

    def __init__(self, desk: Any, name: str):
        self.desk, self.name, self.seen = desk, name, 0

    def post(self, replies: Posted) -> None:
        self.desk.post.remote(self.name, replies)

    def take(self, wait: bool) -> Posted:
        import ray

        while True:
            self.seen, replies = ray.get(self.desk.posted_since.remote(self.name, self.seen))
            if replies or not wait:
                return list(replies)
            time.sleep(AWAIT)


class _Desk:
    """An actor: the ledger, the calls since the last look, the number of workers, and the replies that they exchange."""

    def __init__(self, ledger: Ledger | None, workers: int):
        self.ledger, self.new_calls, self.workers = ledger, 0, workers
        self.posts: list[tuple[str, Posted]] = []
        self.refusals: dict[str, float] = {}

    def ask(self, name: str, *values: Any) -> Any:
        return getattr(self.ledger, name)(*values)

    def add_calls(self, number: int) -> None:
        self.new_calls += number

    def read_board(self) -> tuple[int, dict[str, float]]:
        """Return the number of workers, and when the latest refused call to each address was sent."""
        return self.workers, self.refusals

    def note_refusal(self, address: str, sent: float) -> None:
        self.refusals[address] = max(sent, self.refusals.get(address, 0.0))

    def take_calls(self, workers: int) -> int:
        """Return the calls since the last look, and note how many workers are at work."""
        self.workers = workers
        number, self.new_calls = self.new_calls, 0
        return number

    def post(self, name: str, replies: Posted) -> None:
        self.posts.append((name, replies))

    def posted_since(self, name: str, place: int) -> tuple[int, Posted]:
        """Return the number of posts, and the replies that others than `name` have posted since a number of posts."""
        return len(self.posts), [reply for poster, replies in self.posts[place:] if poster != name for reply in replies]
