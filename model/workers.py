"""Runs a scenario in several processes, on this machine or on a Ray cluster.

Each worker runs a part of the rooms from the first round to the last. Where there is one network or medium, each worker asks a
part of its agents, and workers tell each other what these say, do and rate. In another single room, or where rooms share
answers, every worker follows the whole run and asks a part of its questions (llm/exchange.py). Each has its own journal in
RUN/parts. In the end the journals and records of all parts become one, as of a run in one process, and the folder `parts` is
deleted. A command that was killed takes in the journals of its parts when it is repeated, with any number of workers, so that
nothing is asked twice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree

from parley.environments.network import Network
from parley.environments.platform import Platform
from parley.llm.backends import announce, max_splits, split_limits
from parley.llm.budget import Budget, Ledger, Limits
from parley.llm.driver import Progress
from parley.llm.errors import BudgetSpent, Unreachable, UserError
from parley.llm.exchange import STOPPED, Desk, Meeting, Share
from parley.llm.journal import Journal, add_sitting, merge_journal, own_usage, shared_ledger
from parley.llm.notices import notify
from parley.llm.prices import is_batch, without_cache
from parley.llm.request import Backend, identity_text
from parley.llm.retry import Retry
from parley.llm.router import open_all
from parley.llm.shares import divided_among
from parley.llm.trust import Gate, gate, use_gate
from parley.model.debate import DebateModel
from parley.model.events import Ended
from parley.model.files import JOURNAL, PARTIAL, RECORD, file_errors
from parley.model.interventions.base import Intervention
from parley.model.missing_replies import MissingTally, Unreadable
from parley.model.model_shares import called_models
from parley.model.parts import BLOCKS, PARTS, Part, PartRecorder, merge_blocks, units
from parley.model.people import people_of
from parley.model.placement import ONE, Workers, wanted_workers
from parley.model.recorder import FileRecorder, NullRecorder
from parley.model.run_folder import make_header
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunOutcome, RunSpec, lock_folder, rare_garbage_collection
from parley.model.sweep.cell_runner import CellResult
from parley.model.sweep.cluster_address import check_cluster
from parley.model.sweep.ray_cluster import run_on_ray
from parley.model.sweep.runner import run_on_processes


def workers_for(scenario: Scenario) -> Workers:
    """Return the workers of a run: no more than can share its rooms, or the requests that its models take at a time."""
    wanted = wanted_workers()
    if wanted == ONE:
        return wanted
    if wanted.cluster:
        check_cluster(wanted.cluster)
    why = _must_stay_whole(scenario)
    limits = {f"{spec} takes so few requests at a time": max_splits(spec) for spec in called_models(scenario)}
    limits["the run has so few rooms"] = None if shares_questions(scenario) else units(scenario)
    known = [(most, reason) for reason, most in limits.items() if most]
    most, reason = (1, why) if why else min(known, default=(wanted.number, ""))
    if most < wanted.number:
        notify(f"{most} worker{'s' * (most > 1)}, not {wanted.number}: {reason}")
    number = min(wanted.number, most)
    return replace(wanted, number=number) if number > 1 or (wanted.cluster and not why) else ONE


def shares_questions(scenario: Scenario) -> bool:
    """Return whether workers share the questions of a run and not its rooms."""
    return units(scenario) == 1 or bool(scenario.people.archetypes)


def divides_agents(spec: RunSpec) -> bool:
    """Return whether workers divide the agents of a run: of one network or medium, where workers need not know of the agents of
    others more than what they say, do and rate.
    """
    setup = spec.scenario
    asks = any(type(each).converse is not Intervention.converse for each in setup.interventions)
    plain = setup.speech.relevance != "embedding" and spec.agent_class is None
    return (
        shares_questions(setup)
        and not setup.people.archetypes
        and type(setup.environment) in (Network, Platform)
        and plain
        and not asks
    )


def _must_stay_whole(scenario: Scenario) -> str:
    """Return why one process must run the whole; "" where it need not."""
    if any(map(is_batch, called_models(scenario))):
        return "one process sends the requests of all rooms as one batch"
    return "people take part" if people_of(scenario.llm_by_party) else ""


@dataclass(frozen=True)
class RunPart:
    """A part of a run, for a worker."""

    spec: RunSpec
    part: Part

    @property
    def name(self) -> str:
        return f"part {self.part.number + 1} of {self.part.of}"

    @property
    def specs(self) -> set[str]:
        """The models that the run calls."""
        return set(called_models(self.spec.scenario))

    @property
    def folder(self) -> Path:
        return self.spec.folder / PARTS / f"{self.part.number:03}"

    def resolved(self) -> RunPart:
        return replace(self, spec=replace(self.spec, folder=self.spec.folder.resolve()))


@dataclass(frozen=True)
class PartTask:
    """What is the same for all parts: the identity of the model, as the first process found it, and what data may name.

    together: whether workers exchange replies, so that all must work at the same time.
    """

    identity: str
    together: bool = False
    trusted: Gate = field(default_factory=gate)
    preload: str = __name__

    def run(
        self, job: RunPart, ledger: Ledger | None = None, progress: Progress | None = None, desk: Desk | None = None
    ) -> CellResult:
        """Run or resume a part. It raises no exception. One that ends early says so at the desk, where others may wait for it."""
        result = self._try(job, ledger, progress, desk)
        if result.stopped and self.together and desk:
            desk.post([(STOPPED, result.stopped)])
        return result

    def _try(self, job: RunPart, ledger: Ledger | None, progress: Progress | None, desk: Desk | None) -> CellResult:
        use_gate(self.trusted)
        try:
            with divided_among(job.part.of):
                return _run_part(job, _open(job, self.identity), ledger, progress, desk)
        except UserError as error:
            return CellResult(None, str(error), gone=isinstance(error, Unreachable))
        except Exception as error:  # noqa: BLE001  the main process reports it
            return CellResult(None, f"{type(error).__name__}: {error}")


def _open(job: RunPart, identity: str) -> Backend:
    """Open the models with this worker's part of their limits. Errors: UserError where they differ from those of the run."""
    scenario, parts = job.spec.scenario, job.part.of
    voices = {who: split_limits(spec, parts) for who, spec in scenario.llm_by_party.items()}
    backend = open_all(
        split_limits(scenario.models.llm, parts), voices, job.spec.branch.models if job.spec.branch else ()
    )
    if identity_text(backend) != identity:
        raise UserError(
            f"{job.name} runs another model, or another version of the model, than the process that started the run"
        )
    return backend


def _run_part(
    job: RunPart, backend: Backend, ledger: Ledger | None, progress: Progress | None, desk: Desk | None
) -> CellResult:
    spec, part, whole = job.spec, job.part, shares_questions(job.spec.scenario)
    meeting = Meeting(part.number, part.of, desk) if desk and divides_agents(spec) else None
    same = whole and not meeting  # all workers do the same
    limits = Limits(Retry(backend), Budget(prices=spec.budget.prices), ledger)
    with (
        lock_folder(job.folder),
        rare_garbage_collection(),
        closing(Journal(job.folder / JOURNAL, limits, spec.retry_failures, spec.folder / JOURNAL)) as journal,
        closing(PartRecorder(job.folder / BLOCKS, not (meeting and part.number))) as recorder,
    ):
        model = DebateModel(
            spec.scenario,
            agent_class=spec.agent_class,
            backend=Share(journal, part.number, part.of, desk) if same and desk else journal,
            recorder=NullRecorder() if same and part.number else recorder,
            progress=progress,
            collect_errors=True,
            keep_going=spec.budget.keep_going,
            part=None if whole else part,
            meeting=meeting,
        )
        while not model.over:
            model.step()
        if model.error and not isinstance(model.error, BudgetSpent | Unreadable):
            raise model.error
        why = str(model.error) if model.error else None
        tally = MissingTally() if same and part.number else model.tally
        return CellResult(None, why, journal.asked, journal.replayed, isinstance(model.error, Unreadable), tally)


def run_in_parts(spec: RunSpec, backend: Backend, workers: Workers, progress: Progress | None) -> RunOutcome:
    """Run all parts of a run whose folder is locked, and make one record of them.

    The outcome is that of scenario_run.run_scenario; a part that fails ends the run. Errors: UserError.
    """
    started, journal = time.time(), spec.folder / JOURNAL
    ledger = spec.ledger or shared_ledger(spec.budget, [(journal, spec.budget)])
    prices = spec.budget.prices
    prices = prices if isinstance(prices, dict) else dict(prices)  # another mapping cannot be sent to a worker
    bare = replace(spec, ledger=None, start=None, budget=spec.budget._replace(prices=prices))
    jobs = [RunPart(bare, Part(number, workers.number)) for number in range(workers.number)]
    task = PartTask(identity_text(backend), shares_questions(spec.scenario))
    announce(called_models(spec.scenario))
    results: list[CellResult] = []
    _write_record(spec, backend, [], False)  # so that others see a run here while it goes on
    try:
        for _, result in _results(task, jobs, workers, ledger, progress):
            results.append(result)
            if result.stopped and (result.gone or not result.tally):
                break  # where a budget is spent, the others keep the replies in flight and end by themselves
    finally:
        _merge_journals(spec.folder)  # first: a run that is killed here has its replies before it counts as finished
        record = _write_record(spec, backend, jobs, len(results) == len(jobs) and not any(map(_stopped, results)))
        _delete_parts(spec.folder)
    asked, replayed = sum(result.asked for result in results), sum(result.replayed for result in results)
    seconds = time.time() - started
    add_sitting(journal, started, seconds, asked, replayed)
    tally = MissingTally()
    for result in results:
        tally.add(result.tally or MissingTally())
    stopped = next(filter(None, map(_stopped, results)), None)
    used = own_usage(journal)[1]
    cost, uncached = spec.budget.money(used), spec.budget.money(without_cache(used))
    return RunOutcome(
        record, asked, replayed, seconds, stopped, False, cost, 0, tally, any(one.gone for one in results), uncached
    )


def _stopped(result: CellResult) -> str | None:
    return result.stopped


def _results(
    task: PartTask, jobs: list[RunPart], workers: Workers, ledger: Ledger | None, progress: Progress | None
) -> Iterator[tuple[int, CellResult]]:
    calls = progress or (lambda number: None)
    if workers.cluster:
        return run_on_ray(task, jobs, workers.number, ledger, calls, notify, workers.cluster)
    return run_on_processes(task, jobs, workers.number, ledger, calls, notify)


def _write_record(spec: RunSpec, backend: Backend, jobs: list[RunPart], whole: bool) -> Path:
    """Write the record of all parts so far; where it is whole, as the finished one. Return its path."""
    record, partial_record = spec.folder / RECORD, spec.folder / PARTIAL
    with closing(FileRecorder(partial_record)) as recorder:
        recorder.write([make_header(spec.scenario, spec.given, backend, spec.classes, spec.origin)])
        merge_blocks([job.folder for job in jobs], recorder)
        if whole:
            recorder.write([Ended(spec.scenario.rounds, recorder.count)])
    if not whole:
        return partial_record
    with file_errors(f"cannot finish the record in {spec.folder}"):
        os.replace(partial_record, record)
    return record


def take_in_parts(folder: Path) -> None:
    """Put the journals of the parts of a killed run into its own, and delete the parts."""
    _merge_journals(folder)
    _delete_parts(folder)


def _merge_journals(folder: Path) -> None:
    """Put the journals of all parts into that of the run; each once. A worker of a killed command may still have to end."""
    for part in sorted((folder / PARTS).glob("*/")):
        with lock_folder(part, wait=True):
            if (part / JOURNAL).exists():
                merge_journal(part / JOURNAL, folder / JOURNAL)


def _delete_parts(folder: Path) -> None:
    if (folder / PARTS).is_dir():
        with file_errors(f"cannot delete {folder / PARTS}"):
            rmtree(folder / PARTS)
