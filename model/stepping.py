"""What DebateModel and PopulationModel share: rounds of a Mesa model, and what happens when one of them fails."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import mesa


class SteppedModel(mesa.Model, ABC):
    """A Mesa model with a known number of rounds. An exception stops it, and is kept in `error`.

    With `collect_errors` the exception is not raised, because that would end `mesa.batch_run` (docs/sweeps.md). An exception of a
    reporter is always raised, because without the reporter there is no row.
    """

    datacollector: mesa.DataCollector

    def __init__(self, seed: int, rounds: int, collect_errors: bool):
        super().__init__(rng=seed)
        self.round, self.rounds, self.collect_errors = 0, rounds, collect_errors
        self.error: Exception | None = None

    @property
    def over(self) -> bool:
        """True after the last round, and after an error."""
        return self.error is not None or self.round >= self.rounds

    def step(self) -> None:
        """Run one round. A step after the last round, or after an error, only sets `running` to False.

        The last round itself does not, because batch_run of Mesa 3.3 reports the row before the last one collected.
        """
        if self.over:
            self.running = False
        else:
            self._run_and_collect(self._next_round)

    def run(self, progress: Callable[[int], object] | None = None) -> None:
        """Run all rounds, and call progress(1) after each. Raises the exception that stopped the model, if there is one."""
        while not self.over:
            self.step()
            if progress:
                progress(1)
        self.running = False
        if self.error:
            raise self.error

    @abstractmethod
    def _next_round(self) -> None:
        """Run one round."""

    def _run_and_collect(self, phase: Callable[[], None]) -> None:
        try:
            phase()
        except Exception as error:
            self.error = error
            if not self.collect_errors:
                raise
        self._before_collecting()
        self.datacollector.collect(self)

    def _before_collecting(self) -> None:
        """Compute what several reporters need."""


def refuse_copy(model: mesa.Model, protocol: Any) -> Any:
    """Refuse to copy or pickle a model of debates. Errors: TypeError."""
    raise TypeError(
        f"a {type(model).__name__} cannot be copied or pickled, because it holds an open language model: make a second one with "
        "the same settings and rng, which gives the same debates; or record the run, and continue it: run.py branch RUN --round N"
    )
