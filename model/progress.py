"""The progress of a command, and its end when it is interrupted."""

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
    """A signal other than Ctrl-C ends the command. `number` is the number of the signal."""

    def __init__(self, number: int):
        super().__init__()
        self.number = number


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM (of a scheduler) and SIGHUP (of a terminal that closes) end a command as Ctrl-C does: replies are kept.

    An ignored signal, as under nohup, stays ignored. Outside of the main thread nothing changes.
    """

    def stop(number: int, _: object) -> None:
        raise Interrupted(number)

    in_main_thread = threading.current_thread() is threading.main_thread()
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name) and in_main_thread]
    signals = [number for number in signals if signal.getsignal(number) is signal.SIG_DFL]
    for number in signals:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


_shown = False


def has_begun() -> bool:
    """Return whether this process has shown the progress of some work, so that there may be answers to keep."""
    return _shown


EVERY = 30.0
"""Seconds between two lines of progress without a terminal."""


class Lines:
    """Progress without a terminal, as in a log: a line on stderr every half minute. It has the methods of tqdm used here."""

    def __init__(
        self, desc: str, total: int | None, unit: str, postfix: str, clock: Callable[[], float] = time.monotonic
    ):
        self.desc, self.total, self.unit, self.postfix, self.clock = desc, total, unit, postfix, clock
        self.done, self.start = 0, clock()
        self.last_line = self.start

    def update(self, number: int) -> None:
        self.done += number
        if self.total and self.done > self.total:  # some questions took several calls
            self.total = None
        if self.clock() - self.last_line >= EVERY:
            self.last_line = self.clock()
            sys.stderr.write(f"{self.line}\n")
            sys.stderr.flush()

    @property
    def line(self) -> str:
        """`two_way: 120 of 600 calls, 4.0 a second, 120 s left, round 2/5`; a slow model has `3 a minute`."""
        rate = self.done / max(self.clock() - self.start, 1e-9)
        of_total = f" of {self.total:,}" if self.total else ""
        left = f", {max(self.total - self.done, 0) / rate:,.0f} s left" if self.total and rate else ""
        more = f", {self.postfix}" if self.postfix else ""
        return f"{self.desc}: {self.done:,}{of_total} {self.unit}s, {rate_words(rate)}{left}{more}"

    def set_postfix_str(self, text: str) -> None:
        self.postfix = text

    def write(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Do nothing: there is no bar to remove."""


def rate_words(rate: float, things: str = "") -> str:
    """Return a number of things per second in words; below one a second per minute, so that it is not rounded to 0.

    >>> rate_words(4), rate_words(0.14, "calls "), rate_words(0.05)
    ('4.0 a second', '8.4 calls a minute', '3 a minute')
    """
    return f"{rate:,.1f} {things}a second" if rate >= 1 else f"{60 * rate:.2g} {things}a minute"


def meter(desc: str, total: int, unit: str = "call", postfix: str = "") -> Any:
    """Return a bar in a terminal or a notebook, and lines of progress elsewhere. A total of 0 is an unknown total."""
    global _shown
    _shown = True
    shown: Any = {"total": total or None, "unit": unit, "desc": desc, "postfix": postfix or None}
    if in_kernel():
        if importlib.util.find_spec("ipywidgets"):
            from tqdm.notebook import tqdm as bar_class
        else:  # tqdm.auto would warn that ipywidgets is missing
            from tqdm import tqdm as bar_class
        return bar_class(**shown)
    if not sys.stderr.isatty():
        return Lines(desc, total or None, unit, postfix)
    from tqdm import tqdm

    return tqdm(dynamic_ncols=True, **shown)


def in_kernel() -> bool:
    """Return whether a notebook's kernel runs this process. It has no terminal, but its cells can show a bar."""
    shell = sys.modules.get("IPython")
    return shell is not None and hasattr(shell.get_ipython(), "kernel")


@contextmanager
def bar(title: str, total: int, unit: str = "call") -> Iterator[Callable[[int], object]]:
    """Open a progress bar, and yield the function that moves it on."""
    with closing(meter(title, total, unit)) as shown:
        yield shown.update


class Progress:
    """Shows rooms, calls done, calls per second and time left of a run. title: what to call it (default: its scenario)."""

    def __init__(self, scenario: Scenario, title: str = ""):
        self.scenario, self.title = scenario, title or scenario.name

    def __enter__(self) -> Progress:
        from parley.model.run_plan import plan_run

        plan = plan_run(self.scenario)
        self.rooms = f"{plan.debates} {'room' if plan.debates == 1 else 'rooms'}"
        self.bar = meter(self.title, plan.calls, postfix=self.rooms)
        return self

    def calls(self, number: int) -> None:
        self.bar.update(number)

    def found(self, backend: Any) -> None:
        """Print what a backend says about its endpoint."""
        if says := getattr(backend, "says", ""):
            self.bar.write(f"model    {says}")

    def step(self, model: Any) -> None:
        self.bar.set_postfix_str(f"{self.rooms}, round {model.round + 1}/{self.scenario.rounds}")

    def __exit__(self, *_: object) -> None:
        self.bar.close()


def summary_line(scenario: Scenario, folder: Path, outcome: RunOutcome) -> str:
    """Return a line on what the run did, and a line on missing ratings and replies."""
    from parley.llm.prices import dollars

    if outcome.already:
        return f"{folder} is already finished, so no model was called (--retry-failures repeats the failed calls)"
    rate = f" ({rate_words(outcome.asked / outcome.seconds)})" if outcome.seconds and outcome.asked else ""
    replayed = f", {outcome.replayed:,} from the journal" if outcome.replayed else ""
    replayed += f", {outcome.twins:,} the same as others" if outcome.twins else ""
    cost = f"; this folder has cost {dollars(outcome.cost)} so far" if outcome.cost else ""
    if outcome.uncached_cost > outcome.cost:
        cost += f" ({dollars(outcome.uncached_cost)} without prompt caching)"
    done = "replayed" if scenario.models.llm.startswith("replay:") else "asked"
    calls = f"{outcome.asked:,} calls {done}{replayed} in {outcome.seconds:.1f} s{rate}{cost}"
    return "\n".join(filter(None, [f"{scenario.name} on {scenario.models.llm}: {calls}", outcome.tally.line]))
