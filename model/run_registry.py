"""The runs that one process has started. A browser tab looks at a run; the run goes on when no tab is open.

Runs are found by their folders. A run that the process has not started is a folder on the disk: finished, or unfinished and to be
resumed, with the same command or here. Nothing is asked twice, because every reply is in the journal of the folder.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.errors import UserError
from parley.llm.trust import run_again
from parley.model.branching import BranchPlan
from parley.model.events import Event, Header
from parley.model.files import RECORD
from parley.model.interactive_run import Check, InteractiveRun
from parley.model.run_folder import LABEL, LOCK
from parley.model.run_listing import is_locked, read_header, save_prices, saved_prices, scenario_of, walk
from parley.model.scenario import Scenario
from parley.model.scenario_run import Branch, is_complete

AWAKE = 3
"""Finished runs that keep their model, so that their agents can still be asked. Older ones give it back."""
ENDS = ("done", "stopped", "failed")


class PageRun(InteractiveRun):
    """A run that keeps the prices of its models in its folder."""

    def write(self, events: list[Event]) -> None:  # type: ignore[override]
        if self.budget.prices and any(isinstance(event, Header) for event in events):
            save_prices(self.folder, self.budget.prices)
        super().write(events)


class RunRegistry:
    """All runs of a process, in folders under `root`.

    finish: writes the report of a finished run. whole: whether a folder may be deleted, because it is no part of another. check:
    what comes before the debates of a new run.
    """

    def __init__(
        self,
        root: Path,
        finish: Callable[[Path], object] = lambda folder: None,
        whole: Callable[[Path], bool] = lambda folder: (folder / LABEL).is_file(),
        check: Check | None = None,
    ):
        self.root, self._finish, self._whole, self._check = root, finish, whole, check
        self._runs: dict[Path, InteractiveRun] = {}
        self._lock, self._number = threading.Lock(), count(1)
        # a thread takes over the context of the browser tab in which it is made; those of a pool have none
        self._maker = ThreadPoolExecutor(1, "runs")

    def start(
        self, scenario: Scenario, given: tuple[str, ...], budget: Budget = NO_LIMIT, total: int = 0, folder: str = "",
        checked: bool = True,
    ) -> InteractiveRun:  # fmt: skip
        """Return a new run, which waits for `play`. total: its calls, where they are known. checked: whether `check` comes first.

        Errors: UserError.
        """
        name = folder or f"app-{time.strftime('%Y%m%d-%H%M%S')}-{next(self._number)}"
        return self._add(scenario, self.root / name, given, budget, total, check=self._check if checked else None)

    def start_branch(self, plan: BranchPlan, budget: Budget = NO_LIMIT) -> InteractiveRun:
        """Return the branch of a plan, which waits for `play`. Errors: UserError where its folder is not under `root`."""
        spec = plan.spec
        if self.root.resolve() not in spec.folder.resolve().parents:
            raise UserError(f"{spec.folder} is not in {self.root}: choose a folder there")
        return self._add(spec.scenario, spec.folder, spec.given, budget, branch=spec.branch, start=spec.start)

    def resume(self, folder: Path, budget: Budget | None = None) -> InteractiveRun:
        """Return the unfinished run of a folder, which waits for `play`. Errors: UserError where it cannot go on here.

        budget: new limits; the prices of the folder stay.
        """
        if (live := self.get(folder)) and live.alive:
            return live
        if is_complete(folder / RECORD):
            raise UserError(f"the run in {folder} has finished: open it")
        if is_locked(folder):
            raise UserError(f"another process is running in {folder}: wait until it ends")
        header = read_header(folder)
        run_again(header.scenario)
        limits = (budget or NO_LIMIT)._replace(prices=saved_prices(folder))
        branch = Branch(**header.branch) if header.branch else None
        return self._add(scenario_of(header, folder), folder, header.given, limits, branch=branch)

    def get(self, folder: Path) -> InteractiveRun | None:
        """Return the run that this process has in the folder; None where it has none."""
        return self._runs.get(_key(folder))

    @property
    def live(self) -> list[InteractiveRun]:
        """The runs that are not over."""
        return [run for run in list(self._runs.values()) if run.alive and run.phase not in ENDS]

    def delete(self, folder: Path) -> None:
        """Delete a run, or a study with all of its runs. Errors: UserError where one is running, or for a part of a study."""
        path, root = folder.resolve(), self.root.resolve()
        if root not in path.parents or folder.is_symlink() or not self._whole(folder):
            raise UserError(f"{folder} was not deleted, because it is not a run or a whole study in {self.root}")
        inside = [run for key, run in list(self._runs.items()) if key == path or path in key.parents]
        if any(run in self.live for run in inside):
            raise UserError(f"{folder} was not deleted, because a run in it is still running: stop the run first")
        for run in inside:
            run.stop()
            run.join(30)
        folders, _ = walk(path)
        if any(LOCK in names and is_locked(inner) for inner, names in folders.items()):
            raise UserError(f"another process is running in {folder}: wait until it ends")
        for run in inside:
            self._runs.pop(_key(run.folder), None)
        shutil.rmtree(path)

    def state_of(self, folder: Path, otherwise: str) -> str:
        """Return the state of a run: of one here its phase, else whether another process runs in its folder."""
        live = self.get(folder)
        if live and (live.alive or live.phase == "failed"):
            return {"stopped": "unfinished"}.get(live.phase, live.phase)
        return "elsewhere" if otherwise == "unfinished" and is_locked(folder) else otherwise

    def _add(
        self,
        scenario: Scenario,
        folder: Path,
        given: tuple[str, ...],
        budget: Budget,
        total: int = 0,
        branch: Branch | None = None,
        start: Path | None = None,
        check: Check | None = None,
    ) -> InteractiveRun:
        def make() -> InteractiveRun:
            return PageRun(
                scenario, folder, given=given, budget=budget, finish=self._finish, total=total, branch=branch, start=start,
                check=check,
            )  # fmt: skip

        run = self._maker.submit(make).result()
        with self._lock:  # two pages may start a run in the same folder
            open_run = self.get(folder)
            if open_run and open_run.alive:
                return open_run
            self._runs[_key(folder)] = run
            over = [run for run in self._runs.values() if run.phase == "done" and run.alive]
        for finished in over[:-AWAKE]:
            finished.stop()
        return run


def _key(folder: Path) -> Path:
    return Path(folder).resolve()
