"""The report of a population: the distribution of attitudes over time, as a figure and a table, and summary.md."""

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
EDGES = np.linspace(*AXIS, BINS + 1)
SUMMARY = "summary.md"
ABOUT = (
    "An opinion-dynamics model moves numbers: no agent speaks, and no language model is called. The result "
    "follows from the model, "
    "the graph and the first attitudes, so it is no evidence about people or language models. At every step, all agents see the "
    "attitudes of their neighbours in the graph. There is no feed and no intervention."
)


def distribution(folder: Path) -> pd.DataFrame:
    """Return how many agents are in each of 50 bins of the axis: step, low, high, people.

    The record is read in pieces, so memory does not grow with it.
    """
    counts: dict[int, np.ndarray] = {}
    for batch in pq.ParquetFile(folder / ATTITUDES).iter_batches(columns=["step", "attitude"], batch_size=1 << 20):
        steps, attitudes = (batch.column(name).to_numpy() for name in ("step", "attitude"))
        for step in np.unique_values(steps).tolist():
            people, _ = np.histogram(attitudes[steps == step], bins=BINS, range=AXIS)
            counts[step] = counts.get(step, 0) + people
    low, high = EDGES[:-1].round(6), EDGES[1:].round(6)
    parts = [
        pd.DataFrame({"step": step, "low": low, "high": high, "people": people})
        for step, people in sorted(counts.items())
    ]
    return pd.concat(parts, ignore_index=True)


def write(folder: Path, scalars: pd.DataFrame, run: Mapping[str, Any], law: Law, command: str) -> Path:
    """Write tables/, figures/ and summary.md into the folder of a finished population; return the summary's path.

    scalars: the model's reporters, a row per step. run: the settings. law: a fitted law adds its own report and caption.
    """
    spread, measures, warning = distribution(folder), scalars.drop(columns=["stopped"]), law.extrapolation(run["steps"])
    report = Report(folder, Path(SUMMARY).stem, f"A population of {run['agents']:,}")
    report.data(**{"tables/scalars": measures, "tables/distribution": spread})
    report.plain(f"{run['law']} on {run['graph']}, {run['steps']} steps, seed {run['seed']}.")
    report.note(ABOUT, f"**{warning}: later steps are not checked against any debate.**" if warning else None)
    caption = f"{run['law']} on {run['graph']}, {run['agents']:,} agents, seed {run['seed']}"
    caption = ". ".join(filter(None, [caption, law.caption, warning]))
    report.figure(draw(spread, measures, caption), "figures/distribution", "Share of people by attitude and step")
    report.section("In short")
    _add_measures(report, measures)
    report.lines(law.told)
    record = f"`{ATTITUDES}` (step, agent, attitude; every {run['every']}. step), `agents.parquet` (agent, party)"
    report.section("Files", f"{record}; `tables/scalars`, `tables/distribution`.")
    report.section("Run it again", f"```sh\n{command}\n```")
    return report.write()


def _add_measures(report: Report, scalars: pd.DataFrame) -> None:
    """Add each measure at the start and at the end."""
    start, end = scalars.iloc[0], scalars.iloc[-1]
    rows = [
        [name.replace("_", ", "), *(format_number(float(step[name]), 3) for step in (start, end))]
        for name in scalars.columns.drop(["step", "beyond"])
    ]
    report.table(rows, ["", "start", f"step {int(end['step'])}"])
    report.add(
        "Attitudes run from 0 to 10. `above` is the share of people above 5; the variance is over the whole population."
    )
    if not pd.isna(end["beyond"]):
        last, most = (format_number(float(share)) for share in (end["beyond"], scalars["beyond"].max()))
        outside = "Share of people whose attitude lies outside the range that the surrogate was fitted to"
        report.add(f"{outside}: {last} at the last step, and {most} at the step where it is largest.")


def draw(spread: pd.DataFrame, scalars: pd.DataFrame, caption: str) -> Figure:
    """Draw the share of people by attitude and step as shades, and the mean of each party as a line."""
    table = spread.pivot(index="low", columns="step", values="people")
    steps, counts = table.columns.to_numpy(), table.to_numpy()
    edges = np.concatenate(([steps[0] - 0.5], (steps[1:] + steps[:-1]) / 2, [steps[-1] + 0.5]))
    with new_figure(5.2, 3.2, caption, 8) as figure:
        axis = figure.subplots()
        shading: dict[str, Any] = {"cmap": "Greys", "rasterized": True, "norm": PowerNorm(0.5, 0)}
        shades = axis.pcolormesh(edges, EDGES, counts / counts.sum(axis=0), **shading)
        figure.colorbar(shades, ax=axis, label=f"Share of people in {AXIS[1] / BINS:g} points")
        for name, label, style in _mean_styles(scalars):
            axis.plot(scalars["step"], scalars[name], label=label, markersize=3.4, linewidth=1.2, **style)
        axis.set(xlabel="Step", ylabel="Attitude (0–10)", ylim=AXIS, xlim=(edges[0], edges[-1]))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.legend(loc="best", fontsize=7)
    return figure


def _mean_styles(scalars: pd.DataFrame) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the columns of means, of the parties if there are several, with label and style."""
    names = [name for name in scalars if name.startswith("mean_")] or ["mean"]
    labels = [name.removeprefix("mean_") for name in names]
    every = max(1, math.ceil(len(scalars) / 12))
    for name, label, look in zip(names, labels, styles_by_party(labels).values(), strict=True):
        style = {"color": look["color"], "linestyle": look["linestyle"], "marker": look["markers"][0]}
        yield name, label, style | {"markevery": every}
