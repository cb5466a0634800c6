"""How a command shows its progress, and how it ends when it is interrupted."""

from __future__ import annotations

import importlib.util
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parley.model.scenario import Scenario
    from parley.model.scenario_run import RunOutcome


class Interrupted(KeyboardInterrupt):
    """A command was told to end by a signal other than Ctrl-C; `number` is that signal's."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Within, SIGTERM (a scheduler's) and SIGHUP (a terminal that closes) end a command as Ctrl-C does: replies on their way are
    kept. A signal that is ignored, as under nohup, stays ignored; outside of the main thread nothing changes.
    """

    def stop(number: int, _: object) -> None:
        raise Interrupted(number)

    found = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    main = threading.current_thread() is threading.main_thread()
    mine = [one for one in found if main and signal.getsignal(one) is signal.SIG_DFL]
    for one in mine:
        signal.signal(one, stop)
    try:
        yield
    finally:
        for one in mine:
            signal.signal(one, signal.SIG_DFL)


EVERY = 30.0
"""Seconds between two lines of progress where there is no terminal."""


class Lines:
    """Progress where there is no terminal (a log, a cluster's output): a line on the errors' side every half minute. It
    has of a bar (tqdm) what is used here; `clock` is the seam for tests.
    """

    def __init__(
        self, desc: str, total: int | None, unit: str, postfix: str, clock: Callable[[], float] = time.monotonic
    ):
        self.desc, self.total, self.unit, self.postfix, self.clock = desc, total, unit, postfix, clock
        self.done, self.began = 0, clock()
        self.told = self.began

    def update(self, number: int) -> None:
        self.done += number
        if self.clock() - self.told >= EVERY:
            self.told = self.clock()
            sys.stderr.write(f"{self.line}\n")
            sys.stderr.flush()

    @property
    def line(self) -> str:
        """`two_way: 120 of 600 calls, 4.0 a second, 120 s left, round 2/5`."""
        rate = self.done / max(self.clock() - self.began, 1e-9)
        whole = f" of {self.total:,}" if self.total else ""
        left = f", {max(self.total - self.done, 0) / rate:,.0f} s left" if self.total and rate else ""
        more = f", {self.postfix}" if self.postfix else ""
        return f"{self.desc}: {self.done:,}{whole} {self.unit}s, {rate:,.1f} a second{left}{more}"

    def set_postfix_str(self, text: str) -> None:
        self.postfix = text

    def write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """There is nothing to clear away."""


def meter(desc: str, total: int, unit: str = "call", postfix: str = "") -> Any:
    """A bar with rate and time left on a terminal and in a notebook, a line now and then elsewhere; 0 is an unknown total."""
    shown: Any = {"total": total or None, "unit": unit, "desc": desc, "postfix": postfix or None}
    if in_kernel():
        return _notebook_bar(shown)
    if not sys.stderr.isatty():
        return Lines(desc, total or None, unit, postfix)
    from tqdm import tqdm

    return tqdm(dynamic_ncols=True, **shown)


def in_kernel() -> bool:
    """Whether a notebook's kernel runs this process. It has no terminal, but its cells show a bar all the same."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


def _notebook_bar(shown: dict[str, Any]) -> Any:
    """A widget; a bar of text where ipywidgets is missing, about which tqdm.auto would warn."""
    if importlib.util.find_spec("ipywidgets"):
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    return tqdm(**shown)


@contextmanager
def bar(title: str, total: int, unit: str = "call") -> Iterator[Callable[[int], object]]:
    """What moves a meter on, which is closed at the end."""
    with closing(meter(title, total, unit)) as shown:
        yield shown.update


class Progress:
    """Rooms, calls done, calls per second and time left."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario

    def __enter__(self) -> Progress:
        from parley.model.cost_estimate import plan_run

        plan = plan_run(self.scenario)
        self.rooms = plan.rooms
        self.bar = meter(self.scenario.name, plan.calls, postfix=f"{self.rooms} rooms")
        return self

    def calls(self, number: int) -> None:
        self.bar.update(number)

    def found(self, backend: Any) -> None:
        """What a backend says of the endpoint that it found."""
        if says := getattr(backend, "says", ""):
            self.bar.write(f"model    {says}")

    def step(self, model: Any) -> None:
        self.bar.set_postfix_str(f"{self.rooms} rooms, round {model.round + 1}/{self.scenario.rounds}")

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def summary_line(scenario: Scenario, folder: Path, outcome: RunOutcome) -> str:
    """One line on what the sitting did, and one on what could not be read."""
    if outcome.already:
        return f"{folder} is finished; nothing was asked (--retry-failures asks the failed calls again)"
    rate = f" ({outcome.asked / outcome.seconds:,.0f} calls/s)" if outcome.seconds and outcome.asked else ""
    replayed = f", {outcome.replayed:,} from the journal" if outcome.replayed else ""
    replayed += f", {outcome.twins:,} the same as others" if outcome.twins else ""
    cost = f"; this folder has cost {outcome.cost:.4g} so far" if outcome.cost else ""
    done = "replayed" if scenario.models.llm.startswith("replay:") else "asked"
    asked = f"{outcome.asked:,} calls {done}{replayed} in {outcome.seconds:.1f} s{rate}{cost}"
    return "\n".join(filter(None, [f"{scenario.name} on {scenario.models.llm}: {asked}", outcome.tally.line]))
