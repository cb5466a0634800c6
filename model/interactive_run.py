"""A run that somebody watches: held in a thread of its own, so that a page is never blocked; paused, stepped, stopped, asked.

The run is an ordinary sitting in a folder of its own (model/scenario_run.py), so that what was watched can be loaded, resumed and
reported like any other. Between two rounds the thread sees to what was asked of it meanwhile: an interview, which is asked of the
same model and leaves no trace in the run, or an intervention, which comes before the next round. The folder is from then on
that of a run that had it on its timetable from the start, so that it can be held again with the same outcome.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from parley.agents.surrogate_agent import SurrogateAgent
from parley.llm.driver import ask, drive
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.seeding import derive
from parley.model.cost_estimate import plan_run
from parley.model.debate import DebateModel
from parley.model.events import Event
from parley.model.interventions.base import Intervention
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, run_scenario

Phase = Literal["ready", "running", "paused", "stopped", "done", "failed"]


class Stopped(Exception):
    """The watcher wants no more of it."""


@dataclass(frozen=True)
class Interview:
    """A question to an agent (by its number) and its reply, or None and the reason."""

    agent: int
    question: str
    reply: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SteppedIn:
    """An intervention that was asked for, with the round that it comes before; `refused` says why it does not."""

    what: Intervention
    refused: str = ""


class InteractiveRun:
    """One run and its thread. `changed` is called (in that thread) whenever there is something new to see.

    `events` is the record so far, `calls` of about `total` are answered, `error` says in one line what stopped it, `given` are
    the fields that were set over the preset. `pace` is a rest between rounds (s), cut short by who pauses, asks or steps in.
    """

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        changed: Callable[[], object] = lambda: None,
        backend: Backend | None = None,
        given: tuple[str, ...] = (),
    ):
        plan = plan_run(scenario)
        self.scenario, self.folder, self.total, self.rooms = scenario, folder, plan.calls, plan.rooms
        self.phase: Phase = "ready"
        self.round, self.calls, self.error = 0, 0, ""
        self.events: list[Event] = []
        self.interviews: list[Interview] = []
        self.interventions: list[SteppedIn] = []
        self.given, self.pace = given, 0.0
        self._changed, self._backend = changed, backend
        self._lock = threading.Condition()
        self._rounds, self._paused, self._ended = 0.0, False, False
        self._asked: list[Interview | Intervention] = []
        self._thread = threading.Thread(target=self._hold, name=f"live {folder.name}", daemon=True)

    def play(self, rounds: float = math.inf) -> None:
        """Go on to the end, or for some rounds more."""
        self._tell(rounds=rounds, paused=False)
        if self.phase == "ready":
            self._show("running")
            self._thread.start()

    def pause(self) -> None:
        """Ask nothing more for now; what is on its way is still answered."""
        self._tell(rounds=0, paused=True)

    def stop(self) -> None:
        """End it for good. What was answered stays in the folder, where the run can be gone on with."""
        self._tell(ended=True)

    def interview(self, agent: int, question: str) -> None:
        """Ask an agent once its round is over; the reply comes into `interviews`. Errors: UserError when nobody is there."""
        if not self._thread.is_alive():
            raise UserError("this run is not running, so no agent can answer")
        self._want(Interview(agent, question))

    def add_intervention(self, what: Intervention) -> None:
        """Have it come before the next round, whatever round it names; it goes to `interventions`. Errors: UserError."""
        if self.phase == "done" or not self._thread.is_alive():
            raise UserError("this run is not running, so it cannot be changed")
        self._want(what)

    def join(self, seconds: float | None = None) -> None:
        """Wait for the thread to end."""
        if self._thread.ident:
            self._thread.join(seconds)

    def write(self, events: Iterable[Event]) -> None:
        """As a recorder: keep what happened, and tell."""
        self.events = [*self.events, *events]
        self._changed()

    def _hold(self) -> None:
        task = RunSpec(self.scenario, self.folder, self.given)
        try:
            outcome = run_scenario(task, self._answered, self._between, self._backend, on_end=self._over, watcher=self)
            self.error = outcome.stopped or ""
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

    def _tell(self, **wishes: Any) -> None:
        """What the watcher wants, from another thread."""
        with self._lock:
            for name, value in wishes.items():
                setattr(self, f"_{name}", value)
            self._lock.notify_all()

    def _want(self, what: Interview | Intervention) -> None:
        """One more thing to see to, beside what others want at this moment."""
        with self._lock:
            self._tell(asked=[*self._asked, what])

    def _show(self, phase: Phase) -> None:
        if phase != self.phase:
            self.phase = phase
            self._changed()

    def _answered(self, calls: int) -> None:
        self.calls += calls
        self._changed()
        self._wait(lambda: not self._paused, "paused")
        self._show("running")

    def _between(self, model: DebateModel) -> None:
        """Before every round: wait until it is wanted, and rest if the run goes on by itself."""
        self._see_to(model, lambda: self._rounds >= 1, "paused")
        if model.round and self._rounds == math.inf:
            with self._lock:
                self._lock.wait_for(lambda: self._ended or self._paused or self._asked, self.pace)
            self._see_to(model, lambda: self._rounds >= 1, "paused")
        self._rounds -= 1
        self._show("running")

    def _over(self, model: DebateModel) -> None:
        """After the last round the agents stay to be asked, until the watcher goes."""
        with suppress(Stopped):
            self._see_to(model, lambda: False, "done")

    def _see_to(self, model: DebateModel, ready: Callable[[], bool], meanwhile: Phase) -> None:
        """Until it is ready, interview who is asked for and let happen what is to happen."""
        self.round = model.round
        while True:
            self._wait(lambda: bool(self._asked) or ready(), meanwhile)
            with self._lock:
                asked, self._asked = self._asked, []
            if not asked:
                return
            for one in asked:
                if isinstance(one, Interview):
                    self.interviews = [*self.interviews, _interviewed(model, one)]
                else:
                    self.interventions = [*self.interventions, _stepped_in(model, one)]
                    self.scenario = model.setup
                self._changed()

    def _wait(self, ready: Callable[[], bool], meanwhile: Phase) -> None:
        """Errors: Stopped when the watcher wants no more."""
        with self._lock:
            if not ready() and not self._ended:
                self._show(meanwhile)
                self._lock.wait_for(lambda: ready() or self._ended)
            if self._ended:
                raise Stopped


def _interviewed(model: DebateModel, one: Interview) -> Interview:
    """Ask the agent on a copy of what it remembers: neither question nor answer is remembered, and no event is recorded.

    An error of the model is the reason why there is no reply: the run itself goes on, or is over.
    """
    room = next((room for room in model.rooms if one.agent in room.members), None)
    if room is None:
        return replace(one, reason="no_such_agent")
    if isinstance(room.members[one.agent], SurrogateAgent):
        return replace(one, reason="stand_in")
    seed = derive(model.setup.seed, room.id, room.seats[one.agent], "interview", one.question)
    request = room.members[one.agent].compose_interview(one.question, seed)
    try:
        reply = drive([ask(request)], model.backend)[0]
    except UserError as error:
        return replace(one, reason=str(error))
    return replace(one, reply=reply.text, reason=reply.failure.name if reply.failure else None)


def _stepped_in(model: DebateModel, what: Intervention) -> SteppedIn:
    """Put it before the next round."""
    due = replace(what, round=model.round + 1)
    try:
        model.add_intervention(due)
    except UserError as error:
        return SteppedIn(due, str(error))
    return SteppedIn(due)
