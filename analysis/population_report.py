"""The report of a population: the distribution of attitudes over time as a figure and a table, and summary.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.opinion_dynamics import Law
from parley.analysis.figures import new_figure, styles_by_party
from parley.analysis.formatting import format_number
from parley.analysis.report import Report
from parley.model.population import ATTITUDES

BINS = 50
AXIS = (0.0, 10.0)
SUMMARY = "summary.md"
ABOUT = (
    "A law moves numbers: nobody speaks here, and no language model is asked. What comes out follows from the law, the graph and "
    "the start, and is no evidence about people or language models. There is no feed and there are no interventions: at every "
    "step all say their opinion to their neighbours in the graph."
)


def distribution(folder: Path) -> pd.DataFrame:
    """How many people are in each of 50 bins of the axis: step, low, high, people. Read in pieces: memory does not grow with
    the record."""
    counts: dict[int, np.ndarray] = {}
    for batch in pq.ParquetFile(folder / ATTITUDES).iter_batches(columns=["step", "attitude"], batch_size=1 << 20):
        steps, attitudes = (batch.column(name).to_numpy() for name in ("step", "attitude"))
        for step in np.unique_values(steps).tolist():
            found, _ = np.histogram(attitudes[steps == step], bins=BINS, range=AXIS)
            counts[step] = counts.get(step, 0) + found
    edges = np.linspace(*AXIS, BINS + 1).round(6)
    parts = [
        pd.DataFrame({"step": step, "low": edges[:-1], "high": edges[1:], "people": found})
        for step, found in sorted(counts.items())
    ]
    return pd.concat(parts, ignore_index=True)


def write(folder: Path, scalars: pd.DataFrame, run: Mapping[str, Any], law: Law, command: str) -> Path:
    """Write tables/, figures/ and summary.md into the folder of a finished population; the summary's path.

    scalars: the model's reporters, a row a step. run: the settings. law: what a fitted law has to say of itself goes with
    everything.
    """
    spread, kept, warning = distribution(folder), scalars.drop(columns=["stopped"]), law.extrapolation(run["steps"])
    report = Report(folder, Path(SUMMARY).stem, f"A population of {run['agents']:,}")
    report.data(**{"tables/scalars": kept, "tables/distribution": spread})
    report.plain(f"{run['law']} on {run['graph']}, {run['steps']} steps, seed {run['seed']}.")
    report.note(ABOUT, f"**{warning}: what comes after is not checked against any debate.**" if warning else None)
    caption = f"{run['law']} on {run['graph']}, {run['agents']:,} agents, seed {run['seed']}"
    caption = ". ".join(filter(None, [caption, law.caption, warning]))
    report.figure(drawn(spread, kept, caption), "figures/distribution", "Share of people by attitude and step")
    report.section("In short")
    _ends(report, kept)
    report.lines(law.told)
    record = f"`{ATTITUDES}` (step, agent, attitude; every {run['every']}. step), `agents.parquet` (agent, party)"
    report.section("Files", f"{record}; `tables/scalars`, `tables/distribution`.")
    report.section("Run it again", f"```sh\n{command}\n```")
    return report.write()


def _ends(report: Report, scalars: pd.DataFrame) -> None:
    """Add each measure at the start and at the end."""
    start, end = scalars.iloc[0], scalars.iloc[-1]
    shown = [name for name in scalars if name not in ("step", "beyond")]
    rows = [
        [name.replace("_", ", "), format_number(float(start[name]), 3), format_number(float(end[name]), 3)]
        for name in shown
    ]
    report.table(rows, ["", "start", f"step {int(end['step'])}"])
    report.add(
        "Attitudes run from 0 to 10; `above` is the share of people above 5, the variance is that of the population."
    )
    if end["beyond"] is not None and not pd.isna(end["beyond"]):
        last, most = format_number(float(end["beyond"])), format_number(float(scalars["beyond"].max()))
        told = f"{last} at the end, {most} at most"
        report.add(f"Share of people outside of what the surrogate was fitted to: {told}.")


def drawn(spread: pd.DataFrame, scalars: pd.DataFrame, caption: str) -> Figure:
    """The share of people by attitude and step, as shades; the mean of each party as a line with its own marker and
    dashes."""
    table = spread.pivot(index="low", columns="step", values="people")
    steps = table.columns.to_numpy()
    between = (steps[1:] + steps[:-1]) / 2 if len(steps) > 1 else np.array([])
    edges = np.concatenate(([steps[0] - 0.5], between, [steps[-1] + 0.5]))
    with new_figure(5.2, 3.2, caption, 8) as figure:
        axis = figure.subplots()
        shares = table.to_numpy() / table.to_numpy().sum(axis=0)
        shades = axis.pcolormesh(
            edges, np.linspace(*AXIS, BINS + 1), shares, cmap="Greys", rasterized=True, norm=PowerNorm(0.5, 0)
        )
        figure.colorbar(shades, ax=axis, label=f"Share of people in {AXIS[1] / BINS:g} points")
        for name, look in _looks(scalars):
            axis.plot(
                scalars["step"], scalars[name], label=name.removeprefix("mean_") if "_" in name else "mean", **look
            )
        axis.set(xlabel="Step", ylabel="Attitude (0–10)", ylim=AXIS, xlim=(edges[0], edges[-1]))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.legend(loc="best", fontsize=7)
    return figure


def _looks(scalars: pd.DataFrame) -> Iterator[tuple[str, dict[str, Any]]]:
    """The columns of means, of the parties where there are several, and how each is drawn."""
    names = [name for name in scalars if name.startswith("mean_")] or ["mean"]
    for name, look in zip(names, styles_by_party(name.removeprefix("mean_") for name in names).values(), strict=True):
        every = max(1, math.ceil(len(scalars) / 12))
        yield (
            name,
            {"color": look["color"], "linestyle": look["linestyle"], "marker": look["markers"][0], "markevery": every}
            | {"markersize": 3.4, "linewidth": 1.2},
        )
