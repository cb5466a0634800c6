"""A sweep in Python: `parley.sweep` makes one, `parley.Sweep` opens one that was made before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.analysis.commands.sweep import check_cells, make_sweep, sweep_parser
from parley.analysis.formatting import count_phrase
from parley.analysis.html_report import write
from parley.analysis.notebook import draw_named, html_card
from parley.analysis.runs import given_fields
from parley.analysis.sweep.report import SUMMARY, change_figures
from parley.llm.errors import UserError
from parley.llm.typed import as_option
from parley.model.agent_factory import AgentClass
from parley.model.custom import Topology, check_importable, scenario_on
from parley.model.events import Header
from parley.model.files import RECORD
from parley.model.recorder import read_lines
from parley.model.scenario import Scenario, read_preset
from parley.model.sweep.design import sweep_cells

TABLES = ("cells", "changes", "effects", "pairs", "interactions")
SHOWN = ("field", "value", "topic", "group", "party", "seeds", "change", "change_low", "change_high", "reason")
"""Columns of the table that a notebook shows."""
ROWS = 20


class Sweep:
    """A scenario over every combination of some values and every seed, each in a run folder of its own (docs/sweeps.md).

    Parameters
    ----------
    folder : str or Path
        The folder of a sweep.

    Attributes
    ----------
    folder : Path
        The folder of the sweep. `parley.load(sweep.folder / sweep.cells["folder"][0])` opens one of its runs.
    cells : DataFrame
        One row per cell, topic, group, party and round: `attitude` (mean over rooms, 0 to 10), `sd` between rooms, `missing`
        ratings. An unfinished cell is one row with its `reason` and no numbers.
    changes : DataFrame
        One row per cell, topic, group and party: `start`, `end` and `change` (points) of those rated first and last.
    effects : DataFrame
        One row per varied field, value, topic, group and party: mean `change` over seeds with its 95% interval (`change_low`,
        `change_high`) and the `difference` from the field's first value. With fewer than five seeds the ends are NaN: no verdict.
    pairs, interactions : DataFrame
        How two varied fields work together; empty with fewer than two.

    Raises
    ------
    UserError
        The folder holds no sweep.

    Examples
    --------
    >>> parley.Sweep("runs/rounds").effects  # doctest: +SKIP
    """

    cells: pd.DataFrame
    changes: pd.DataFrame
    effects: pd.DataFrame
    pairs: pd.DataFrame
    interactions: pd.DataFrame

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        for name in TABLES:
            path = self.folder / f"{name}.parquet"
            if not path.exists() and name in TABLES[:3]:  # the others need two varied fields
                raise UserError(
                    f"{self.folder} has no finished sweep: finish it with parley.sweep(..., out={str(self.folder)!r})"
                )
            setattr(self, name, pd.read_parquet(path) if path.exists() else pd.DataFrame())

    def __repr__(self) -> str:
        return f"<Sweep of {count_phrase(self.cells['folder'].nunique(), 'cell')} in {self.folder}>"

    def _repr_html_(self) -> str:
        shown = self.effects.reindex(columns=list(SHOWN)).head(ROWS)
        unmeasured = int(self.cells.groupby("folder")["attitude"].count().eq(0).sum())
        lines = [
            f"{count_phrase(self.cells['seed'].nunique(), 'seed')}; {count_phrase(unmeasured, 'cell')} without a rating.",
            f"Main effects, {min(ROWS, len(self.effects)):,} of {count_phrase(len(self.effects), 'row')}. Folder {self.folder}.",
        ]
        return html_card(f"Sweep of {count_phrase(self.cells['folder'].nunique(), 'cell')}", lines, shown)

    @property
    def plots(self) -> list[str]:
        """The names of the figures that `plot` draws, one per group of agents."""
        return list(self._figures())

    def _figures(self) -> dict[str, Any]:
        measured = self.cells.dropna(subset="attitude").drop_duplicates(["folder"])
        records = [self.folder / str(run) / RECORD for run in measured["folder"]]
        headers = [event for record in records if isinstance(event := next(iter(read_lines(record))), Header)]
        return change_figures(self.effects, headers)

    def plot(self, name: str | None = None) -> Figure:
        """Draw the main effects: change of attitude (points) by value of each varied field. Bars are 95% intervals over seeds.

        Parameters
        ----------
        name : str, optional
            One of `plots`; the first if left out.

        Returns
        -------
        matplotlib.figure.Figure
            The figure of the folder. A notebook shows it.

        Raises
        ------
        UserError
            There is no such figure, or no cell has ratings from two surveys.
        """
        if not (drawn := self._figures()):
            raise UserError(
                f"{self.folder}: no figure can be drawn, because no cell has ratings "
                "from two surveys: set survey=rounds"
            )
        return draw_named(drawn, name)

    @property
    def summary(self) -> str:
        """The text of summary.md: what each field does, and what is missing."""
        return (self.folder / SUMMARY).read_text(encoding="utf-8")

    def report(self, out: Path | str | None = None) -> Path:
        """Write one HTML file about the sweep that needs no other file.

        Parameters
        ----------
        out : str or Path, optional
            The file (`report.html` in the sweep's folder).

        Returns
        -------
        Path
            The file.

        Raises
        ------
        UserError
            The file cannot be written.
        """
        return write([self.folder], Path(out) if out else self.folder / "report.html")


def sweep(
    scenario: str | Scenario,
    *,
    vary: Mapping[str, Iterable[Any]] | None = None,
    seeds: Iterable[int] = range(10),
    out: Path | str | None = None,
    workers: int | None = None,
    agent_class: AgentClass = None,
    topology: Topology | None = None,
    max_calls: int | None = None,
    max_tokens: int | None = None,
    max_cost: float | None = None,
    price: tuple[float, float] | None = None,
    keep_going: bool = False,
    retry_failures: bool = False,
    **fields: Any,
) -> Sweep:
    """Run a scenario with every combination of some values and every seed, as `python run.py sweep` does.

    The same call with the same folder continues where it stopped. Cells run in processes of their own, several at a time.

    Parameters
    ----------
    scenario : str or Scenario
        The name of a preset, the path of a .toml preset, or a Scenario.
    vary : dict, optional
        Values by field: `{"rounds": [2, 5], "memory": ["whole", "last:6"]}`.
    seeds : iterable of int
        A seed gives the same people in the same rooms in every combination (0 to 9).
    out : str or Path, optional
        The folder (`runs/sweep-<scenario>-<time>`).
    workers : int, optional
        Cells at the same time (as many as there are cores).
    agent_class : type or dict, optional
        A subclass of `Agent` for all agents, or one by party, in all cells. It must be in a module of its own, which the
        processes of the cells import; a resume needs it again.
    topology : networkx.Graph, sparse array or callable, optional
        Which agents hear which, for scenarios of a network, in all cells.
    max_calls, max_tokens : int, optional
        Stop cleanly after so many calls or tokens, counted over all workers.
    max_cost : float, optional
        Stop cleanly at about this cost, in US dollars.
    price : tuple of float, optional
        US dollars per million tokens in and out.
    keep_going : bool
        Continue where almost no reply can be read.
    retry_failures : bool
        Repeat the calls that failed.
    **fields
        Any field of the scenario or of its environment, the same in all cells: `llm="oracle"`, `repetitions=5`.

    Returns
    -------
    Sweep
        Its tables as DataFrames.

    Raises
    ------
    UserError
        An argument is wrong, or cells are unfinished; `Sweep(folder)` opens the finished ones.

    Examples
    --------
    >>> found = parley.sweep("two_way", vary={"rounds": [2, 5]}, seeds=range(20), llm="oracle")  # doctest: +SKIP
    >>> found.effects[["field", "value", "party", "change", "change_low", "change_high"]]  # doctest: +SKIP
    """
    varied = {name: tuple([as_option(value) for value in values]) for name, values in (vary or {}).items()}
    numbers = tuple(seeds)
    _check(varied, numbers, fields, workers)
    base = _base(scenario, fields, topology)
    cells = sweep_cells(base, varied, numbers, agent_class)
    check_importable(agent_class, cells[0].combined)
    check_cells(cells)
    options = sweep_parser().parse_args([])
    limits = {"max_calls": max_calls, "max_tokens": max_tokens, "max_cost": max_cost, "price": price}
    vars(options).update(limits, out=Path(out) if out else None, workers=workers)
    vars(options).update(keep_going=keep_going, retry_failures=retry_failures, no_qualify=True)  # asks nothing unasked
    given = (*given_fields(base, fields, agent_class), *varied, "seed")
    settings = {"vary": vary, "seeds": list(numbers), **fields}
    words = [f"{key}={value!r}" for key, value in settings.items() if value is not None]
    call = f"parley.sweep({', '.join([repr(base.name), *words])})"
    return Sweep(make_sweep(cells, given, options, call, str))


def _base(scenario: str | Scenario, fields: Mapping[str, Any], topology: Topology | None) -> Scenario:
    """Return the fields of all cells; those of a preset need not fit together before the varied ones are set."""
    if isinstance(scenario, str) and topology is None:
        return read_preset(scenario, fields)
    return scenario_on(scenario, fields, topology)


def _check(
    varied: Mapping[str, tuple[str, ...]], seeds: tuple[int, ...], fields: Mapping[str, Any], workers: int | None
) -> None:
    """Errors: UserError for what a sweep cannot be made of."""
    if "seed" in {*varied, *fields}:
        raise UserError("a sweep takes its seeds from the argument seeds: parley.sweep(..., seeds=range(20))")
    if workers is not None and workers < 1:
        raise UserError(f"workers is {workers}, but must be at least 1")
    for name, values, what in [("seeds", seeds, "seed"), *((f"vary {name}", varied[name], "value") for name in varied)]:
        if not values or len(set(values)) < len(values):
            raise UserError(f"{name}: {f'a {what} is given twice' if values else f'at least one {what} is needed'}")
    if taken := sorted(varied.keys() & fields.keys()):
        raise UserError(f"{taken[0]} is both in vary and set: leave out one of the two")
