"""A run that the page shows while it runs: it can be paused, stepped, stopped, and its agents can be interviewed.

The run has a thread of its own, so that the page is never blocked. It is an ordinary run in a folder (model/scenario_run.py): it
can be loaded, resumed and reported like any other. Between two rounds the thread answers requests of the page. An interview asks
the same model and leaves no trace in the run. An intervention happens before the next round, and from then on the folder is that
of a run with this intervention, so that the run can be repeated with the same outcome.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from parley.agents.surrogate_agent import SurrogateAgent
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar, ask, drive
from parley.llm.errors import UserError
from parley.llm.journal import Journal
from parley.llm.pending import Pending
from parley.llm.request import Backend, Wrapper
from parley.llm.seeding import derive
from parley.model.debate import DebateModel
from parley.model.events import Event, Utterance
from parley.model.interventions.base import Intervention
from parley.model.run_plan import plan_run
from parley.model.scenario import Scenario
from parley.model.scenario_run import Branch, RunSpec, run_scenario

Check = Callable[[RunSpec, Bar, Backend | None], tuple[RunSpec, Backend | None]]
"""What is done before the debates: returns the run as its model is to be asked, and the model if it had to be opened."""
Phase = Literal["ready", "running", "paused", "stopped", "done", "failed"]


class Stopped(Exception):
    """The user has stopped the run."""


@dataclass(frozen=True)
class Interview:
    """A question to an agent (by its number) and its reply, or None and the reason.

    `sent` is when the model was asked (seconds of `time.monotonic`), None while the question waits for the end of the round.
    """

    agent: int
    question: str
    reply: str | None = None
    reason: str | None = None
    sent: float | None = None


@dataclass(frozen=True)
class SteppedIn:
    """A new intervention, with the round before which it happens. `refused` says why it does not happen."""

    what: Intervention
    refused: str = ""


@dataclass(frozen=True)
class TakeBack:
    """The wish that an intervention of the page does not happen."""

    what: Intervention


@dataclass(frozen=True)
class WaitingFor:
    """A request that the model has not answered yet: its number, its agent (None: not of an agent), purpose, seconds so far."""

    id: int
    agent: int | None
    purpose: str
    seconds: float


class InteractiveRun:
    """One run and its thread. `changed` is called in that thread whenever there is something new to show.

    `events` is the record so far; `calls` of about `total` are answered; `error` says in one line what stopped the run; `given`
    are the fields that were set over the preset. `pace` is a pause between rounds in seconds. A request of the user ends it.
    `version` grows with everything new. `finish` gets the folder when the record is complete, and writes what a folder gets
    besides its record; where that fails, `problem` says why. `seconds` is the time in which the run did not wait for its user.
    `branch` and `start`: as of `RunSpec`, where the run is a branch of another one. `check`: what comes before the debates.
    """

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        changed: Callable[[], object] = lambda: None,
        backend: Backend | None = None,
        given: tuple[str, ...] = (),
        budget: Budget = NO_LIMIT,
        finish: Callable[[Path], object] = lambda folder: None,
        total: int = 0,
        branch: Branch | None = None,
        start: Path | None = None,
        check: Check | None = None,
    ):
        self.scenario, self.folder = scenario, folder
        self.total = total or plan_run(scenario).calls
        self.phase: Phase = "ready"
        self.round, self.calls, self.error, self.problem = 0, 0, "", ""
        self.version, self.budget = 0, budget
        self.events: list[Event] = []
        self.interviews: list[Interview] = []
        self.interventions: list[SteppedIn] = []
        self.given, self.pace = given, 0.0
        self._watcher, self._backend, self._finish = changed, backend, finish
        self._branch, self._start, self._check = branch, start, check
        self._early: dict[int, Utterance] = {}
        self._askers: dict[int, int] = {}
        self._pending: Pending | None = None
        self._began, self._idle, self._reported = 0.0, 0.0, 0.0
        self._lock = threading.Condition()  # one thread may take it again, as `_request` does through `_set`
        self._rounds, self._paused, self._ended = 0.0, False, False
        self._requests: list[Interview | Intervention | TakeBack] = []
        self._taken: list[Interview | Intervention | TakeBack] = []
        self._thread = threading.Thread(target=self._run, name=f"live {folder.name}", daemon=True)

    def play(self, rounds: float = math.inf) -> None:
        """Run to the end, or run some more rounds."""
        self._set(rounds=rounds, paused=False)
        with self._lock:
            if begin := self.phase == "ready":
                self._began = time.monotonic()
                self._show("running")
        if begin:
            self._thread.start()

    def pause(self) -> None:
        """Send no more calls for now. Calls that were sent are still answered."""
        self._set(rounds=0, paused=True)

    def stop(self) -> None:
        """Stop the run for good. All replies stay in the folder, where the run can be resumed."""
        self._set(ended=True)
        with self._lock:
            if self.phase == "ready":
                self._show("stopped")

    @property
    def alive(self) -> bool:
        """Whether the run goes on, waits for its user, or waits for questions after its end."""
        return self.phase == "ready" or self._thread.is_alive()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began - self._idle if self._began else 0.0

    @property
    def pending(self) -> list[Interview]:
        """The questions without an answer so far, in the order in which they will be answered."""
        with self._lock:
            return [request for request in (*self._taken, *self._requests) if isinstance(request, Interview)]

    def interview(self, agent: int, question: str) -> None:
        """Ask an agent after this round; the reply is added to `interviews`. Errors: UserError if the run is not running."""
        if not self._thread.is_alive():
            raise UserError("this run has finished or was stopped, so agents cannot answer questions: start a new run")
        self._request(Interview(agent, question))

    def add_intervention(self, intervention: Intervention) -> None:
        """Let it happen before the next round, not the round that it names; it is added to `interventions`. Errors: UserError."""
        if self.phase == "done" or not self._thread.is_alive():
            raise UserError("this run has finished or was stopped, so it cannot be changed: start a new run")
        self._request(intervention)

    def take_back(self, intervention: Intervention) -> None:
        """Remove an intervention of the page before its round, and from `interventions`. Errors: UserError."""
        if self.phase == "done" or not self._thread.is_alive():
            raise UserError("this run has finished or was stopped, so it cannot be changed: start a new run")
        self._request(TakeBack(intervention))

    def join(self, seconds: float | None = None) -> None:
        """Wait for the thread to end."""
        if self._thread.ident:
            self._thread.join(seconds)

    def write(self, events: Iterable[Event]) -> None:
        """Keep events, as a recorder."""
        events = list(events)
        self.events = [*self.events, *events]
        for event in events:
            self._early.pop(id(event), None)
        self._askers.clear()  # a part is written when all its requests are answered
        self._changed()

    def preview(self, event: Event) -> None:
        """Keep a line that is in the record only when all rooms have spoken."""
        if isinstance(event, Utterance):
            self._early[id(event)] = event
            self._changed()

    def asks(self, agent: int, seed: int) -> None:
        """Note for which agent a request with this seed is."""
        self._askers[seed] = agent

    def early(self) -> list[Utterance]:
        """Return the lines of the round under way that are not in the record yet."""
        return list(self._early.values())

    @property
    def checks(self) -> bool:
        """Whether the model is checked before the debates."""
        return self._check is not None

    def waiting(self) -> list[WaitingFor]:
        """Return the requests that the model has not answered yet, the first sent first."""
        sent = self._pending.waiting() if self._pending else []
        return [
            WaitingFor(number, self._askers.get(request.seed), request.purpose, seconds)
            for number, request, seconds in sent
        ]

    def _watched(self, backend: Backend) -> Backend:
        self._pending = Pending(backend)
        return self._pending

    def _run(self) -> None:
        spec = RunSpec(self.scenario, self.folder, self.given, self.budget, start=self._start, branch=self._branch)
        before, backend = self._before_round, self._backend
        try:
            if self._check:
                spec, backend = self._check(spec, self._bar, backend)
                self.scenario, self.given = spec.scenario, spec.given
            hooks: dict[str, Any] = {"on_end": self._after_end, "watcher": self, "wrap": self._watched}
            outcome = run_scenario(spec, self._count_calls, before, backend, **hooks)
            self.error = outcome.stopped or ""
            if outcome.already:
                self._finish_folder()
            self._show("stopped" if outcome.stopped else "done")
        except Stopped:
            self._show("stopped")
        except UserError as error:
            self.error = str(error)
            self._show("failed")
        except BaseException as error:
            self.error = f"{type(error).__name__}: {error}"
            self._show("failed")
            raise

    @contextmanager
    def _bar(self, title: str, total: int, unit: str = "call") -> Iterator[Callable[[int], object]]:
        """Count the calls of the check among those of the run."""
        yield self._count_calls

    def _set(self, **values: Any) -> None:
        """Set what the user wants, from another thread."""
        with self._lock:
            for name, value in values.items():
                setattr(self, f"_{name}", value)
            self._lock.notify_all()

    def _request(self, request: Interview | Intervention | TakeBack) -> None:
        with self._lock:
            self._set(requests=[*self._requests, request])
            self.version += 1

    def _show(self, phase: Phase) -> None:
        if phase != self.phase:
            self.phase = phase
            self._changed()

    def _count_calls(self, calls: int) -> None:
        self.calls += calls
        self._changed()
        self._wait(lambda: not self._paused, "paused")
        self._show("running")

    def _before_round(self, model: DebateModel) -> None:
        """Wait until the round is wanted. If the run plays to the end, first pause for `pace` seconds."""
        self._answer_requests(model, lambda: self._rounds >= 1, "paused")
        if model.round and self._rounds == math.inf:
            began = time.monotonic()
            with self._lock:
                self._lock.wait_for(lambda: self._ended or self._paused or self._requests, self.pace)
            self._idle += time.monotonic() - began
            self._answer_requests(model, lambda: self._rounds >= 1, "paused")
        self._rounds -= 1
        _journal_of(model).idle(self._idle - self._reported)
        self._reported = self._idle
        self._show("running")

    def _changed(self) -> None:
        self.version += 1
        self._watcher()

    def _finish_folder(self) -> None:
        """Write what the folder gets besides its record. The run is done whether or not this works."""
        try:
            self._finish(self.folder)
        except UserError as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001  the record is complete: a report that fails must not look like a failed run
            self.problem = f"the report could not be written: {type(error).__name__}: {error}"

    def _after_end(self, model: DebateModel) -> None:
        """Write the report, then answer interviews until the user stops the run."""
        self.round, self.total = model.round, self.calls
        self._finish_folder()
        with suppress(Stopped):
            self._answer_requests(model, lambda: False, "done")

    def _answer_requests(self, model: DebateModel, ready: Callable[[], bool], phase: Phase) -> None:
        """Interview agents and add interventions until `ready`; `phase` is shown meanwhile."""
        self.round = model.round
        while True:
            self._wait(lambda: bool(self._requests) or ready(), phase)
            with self._lock:
                self._taken, self._requests = self._requests, []
            if not self._taken:
                return
            while self._taken:
                self._answer_request(model, self._taken[0])

    def _answer_request(self, model: DebateModel, request: Interview | Intervention | TakeBack) -> None:
        """Interview the agent, add the intervention or take it back. The request then waits no more."""
        if isinstance(request, Interview):
            request = replace(request, sent=time.monotonic())
            self._taken = [request, *self._taken[1:]]
            self._changed()
            answered = _ask(model, request)
            with self._lock:  # `pending` never sees the question in neither list
                self.interviews, self._taken = [*self.interviews, answered], self._taken[1:]
        else:
            if isinstance(request, TakeBack):
                self._remove(model, request.what)
            else:
                self.interventions = [*self.interventions, _add_to_next_round(model, request)]
            self.scenario, self._taken = model.setup, self._taken[1:]
        self._changed()

    def _remove(self, model: DebateModel, intervention: Intervention) -> None:
        """Take an intervention back; one whose round has begun stays where it is."""
        with suppress(UserError):
            model.remove_intervention(intervention)
            self.interventions = [planned for planned in self.interventions if planned.what is not intervention]

    def _wait(self, ready: Callable[[], bool], phase: Phase) -> None:
        """Wait until `ready`; `phase` is shown meanwhile. Errors: Stopped if the user stops the run."""
        with self._lock:
            if not ready() and not self._ended:
                self._show(phase)
                began = time.monotonic()
                self._lock.wait_for(lambda: ready() or self._ended)
                self._idle += time.monotonic() - began
            if self._ended:
                raise Stopped


def _journal_of(model: DebateModel) -> Journal:
    """The journal through which a run calls its model."""
    backend = model.backend
    while not isinstance(backend, Journal):
        assert isinstance(backend, Wrapper)
        backend = backend.inner
    return backend


def _ask(model: DebateModel, interview: Interview) -> Interview:
    """Ask an agent on a copy of its memory: it remembers neither question nor answer, and no event is recorded.

    An error of the model is the reason of a missing reply. It does not stop the run.
    """
    room = next((room for room in model.rooms if interview.agent in room.members), None)
    if room is None:
        return replace(interview, reason="no_such_agent")
    agent = room.members[interview.agent]
    if isinstance(agent, SurrogateAgent):
        return replace(interview, reason="stand_in")
    seed = derive(model.setup.seed, room.id, room.seats[interview.agent], "interview", interview.question)
    try:
        reply = drive([ask(agent.compose_interview(interview.question, seed))], model.backend)[0]
    except UserError as error:
        return replace(interview, reason=str(error))
    return replace(interview, reply=reply.text, reason=reply.failure.name if reply.failure else None)


def _add_to_next_round(model: DebateModel, intervention: Intervention) -> SteppedIn:
    due = replace(intervention, round=model.round + 1)
    try:
        model.add_intervention(due)
    except UserError as error:
        return SteppedIn(due, str(error))
    return SteppedIn(due)
