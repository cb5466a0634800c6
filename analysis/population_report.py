"""The report of a population: the distribution of attitudes over time, as a figure and a table, and summary.md."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.laws import Law
from parley.agents.laws.base import AXIS
from parley.agents.society import load_society
from parley.analysis.figures import MARK, new_figure, styles_by_party
from parley.analysis.formatting import count_phrase, escape_markdown, format_number, strip_controls
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import verdict
from parley.environments.survey_table import describe_survey
from parley.model.population_interventions import Happened
from parley.model.population_network import attitude_names
from parley.model.population_platform import TREES, PopulationMedium
from parley.model.population_record import ATTITUDES, INTERVENTIONS, LINKS
from parley.model.survey_people import SurveyPeople, compare_means

BINS = 50
EDGES = np.linspace(*AXIS, BINS + 1)
SUMMARY = "summary.md"
LINES = "Shades show the share of people by attitude and step; lines show mean attitudes."
ABOUT = (
    "An opinion-dynamics model moves numbers: no agent speaks, and no language model is called. The result follows "
    "from the model, the graph and the first attitudes, so the result is no evidence about people or language models."
)
EVERYONE = "At every step, all agents see the attitudes of their neighbours in the graph. There is no feed and no intervention."
CHANGES = {
    "read": "people read by one person, on average",
    "distance": "distance to the people read, in points, on average",
    "new_links": "new links of a person before the step, on average",
    "present": "people present",
    "muted": "muted people",
}
"""The columns of a population with a feed, rewiring or interventions, in words."""
COUNTS = ("present", "muted")
SPREAD = {
    "views": "people who were shown a post, on average",
    "scale": "people in the tree of a post, on average",
    "largest": "people in the largest tree",
    "depth": "depth of the largest tree",
    "breadth": "breadth of the largest tree",
}
"""The columns of trees of shared posts, in words."""


def distribution(folder: Path) -> pd.DataFrame:
    """Return how many agents are in each of 50 bins of the axis: step, low, high, people.

    In several dimensions a column `dimension` (from 1) comes first. The record is read in pieces, so memory does not
    grow with it.
    """
    names = [name for name in pq.ParquetFile(folder / ATTITUDES).schema.names if name not in ("step", "agent")]
    parts = [_bins(_counts(folder, name)) for name in names]
    if len(parts) > 1:
        for number, bins in enumerate(parts, 1):
            bins.insert(0, "dimension", number)
    return pd.concat(parts, ignore_index=True)


def _counts(folder: Path, name: str) -> dict[int, np.ndarray]:
    """Return by step how many agents are in each bin. name: a column of the record."""
    counts: dict[int, np.ndarray] = {}
    for batch in pq.ParquetFile(folder / ATTITUDES).iter_batches(columns=["step", name], batch_size=1 << 20):
        steps, attitudes = (batch.column(column).to_numpy(zero_copy_only=False) for column in ("step", name))
        for step in np.unique_values(steps).tolist():
            people, _ = np.histogram(attitudes[steps == step], bins=BINS, range=AXIS)
            counts[step] = counts.get(step, 0) + people
    return counts


def _bins(counts: Mapping[int, np.ndarray]) -> pd.DataFrame:
    low, high = EDGES[:-1].round(6), EDGES[1:].round(6)
    parts = [
        pd.DataFrame({"step": step, "low": low, "high": high, "people": people})
        for step, people in sorted(counts.items())
    ]
    return pd.concat(parts, ignore_index=True)


def write(
    folder: Path,
    scalars: pd.DataFrame,
    run: Mapping[str, Any],
    law: Law,
    command: str,
    converged: int | None = None,
    traits: Sequence[str] = (),
    people: SurveyPeople | None = None,
    happened: Sequence[Happened] = (),
    medium: PopulationMedium | None = None,
) -> Path:
    """Write tables/, figures/ and summary.md into the folder of a finished population; return the summary's path.

    scalars: the model's reporters, a row per step. run: the settings. law: a fitted law adds its own report and
    caption. converged: the step in which the run stopped because opinions hardly moved. traits: the attributes of nodes
    that were used. people: the respondents of a survey. happened: the interventions. medium: the social medium.
    """
    spread, measures, warning = distribution(folder), scalars.drop(columns=["stopped"]), law.extrapolation(run["steps"])
    report = Report(folder, Path(SUMMARY).stem, f"A population of {run['agents']:,}")
    report.data(**{"tables/scalars": measures, "tables/distribution": spread})
    report.plain(
        f"The law {run['law']} ran {run['steps']} steps in the network {run['graph']}, with random seed {run['seed']}."
    )
    changes = [what for what in (_feed(run), _platform(run), _rewiring(run)) if what]
    report.note(
        ABOUT,
        *(changes or ([] if happened else [EVERYONE])),
        f"**{warning}: later steps are not checked against any debate.**" if warning else None,
    )
    caption = f"{run['law']} on {run['graph']}, {run['agents']:,} agents, seed {run['seed']}"
    caption = ". ".join(filter(None, [caption, law.caption, warning]))
    report.figure(
        draw(spread, measures, caption, happened), "figures/distribution", "Share of people by attitude and step"
    )
    report.in_short([_course(measures), convergence(run, converged), _used_traits(traits)])
    used = [*medium.acts, *TREES, "visits"] if medium else []
    _add_measures(report, measures.drop(columns=[*CHANGES, *used], errors="ignore"))
    _add_changes(report, measures)
    _add_acts(report, measures, medium, law)
    _add_interventions(report, happened)
    _add_survey(report, people)
    report.lines(law.report_lines)
    report.section("Files", "\n".join(_record_files(run)))
    report.section("Run it again", f"```sh\n{command}\n```")
    return report.write()


def _course(measures: pd.DataFrame) -> str:
    """Return where the mean opinion went, and whether opinions came closer together."""
    start, end = measures.iloc[0], measures.iloc[-1]
    name = "mean" if "mean" in measures else "mean_1"
    spread = name.replace("mean", "variance")
    if spread not in measures:
        return ""
    change = end[spread] - start[spread]
    way = verdict(change, change, "moved apart", "came closer together", "are as far apart as before")
    which, steps = "" if name == "mean" else " in the first dimension", int(end["step"])
    return (
        f"Opinions{which} {way}: their variance went from {start[spread]:.2f} to {end[spread]:.2f} in {steps} steps, and their "
        f"mean from {start[name]:.2f} to {end[name]:.2f} on the scale from 0 to 10."
    )


def convergence(run: Mapping[str, Any], converged: int | None) -> str:
    """Return in which step the run converged, or that it did not; "" if it was to run all steps."""
    if "until" not in run:
        return ""
    if converged is not None:
        return f"The run converged at step {converged}: no opinion moved more than {run['until']:g} points."
    return (
        f"The run did not converge: in each of the {run['steps']} steps, some opinion moved more than {run['until']:g} points. "
        "For a longer run, set more --steps."
    )


def _feed(run: Mapping[str, Any]) -> str:
    if "feed" not in run:
        return ""
    return f"At every step, a feed ({run['feed']}) selects which neighbours in the graph each agent reads."


def _platform(run: Mapping[str, Any]) -> str:
    if "platform" not in run:
        return ""
    return f"People use a social medium ({run['platform']}): active people are shown a feed of posts, and each does one act."


def _rewiring(run: Mapping[str, Any]) -> str:
    return f"Before every step but the first, links change: {run['rewiring']}." if "rewiring" in run else ""


def _used_traits(traits: Sequence[str]) -> str:
    return f"The nodes of the graph give these attributes: {', '.join(traits)}." if traits else ""


def _record_files(run: Mapping[str, Any]) -> Iterator[str]:
    names, who = ", ".join(attitude_names(run.get("dimensions", 1))), "agent, party"
    who += ", respondent" if "people" in run else ""
    kept = "each step" if run["every"] == 1 else f"one step of {run['every']}"
    yield f"- `{ATTITUDES}`: attitudes at {kept} (step, agent, {names})"
    yield f"- `agents.parquet`: the agents ({who})"
    if any(name in run for name in ("rewiring", "interventions", "platform")):
        yield f"- `{LINKS}`: links that changed"
    if "interventions" in run:
        yield f"- `{INTERVENTIONS}`: the agents that each intervention reached"
    yield "- `tables/scalars`: the measures of each step\n- `tables/distribution`: the number of people by attitude and step"


def _add_changes(report: Report, scalars: pd.DataFrame) -> None:
    """Add how much people read, and how links and people changed, where there is a feed, rewiring or an intervention."""
    if "read" not in scalars:
        return
    first, last = scalars.iloc[min(1, len(scalars) - 1)], scalars.iloc[-1]
    report.table(
        [
            [words, *(_shown(step[name], 0 if name in COUNTS else 2) for step in (first, last))]
            for name, words in CHANGES.items()
        ],
        ["", f"step {int(first['step'])}", f"step {int(last['step'])}"],
    )


def _add_acts(report: Report, scalars: pd.DataFrame, medium: PopulationMedium | None, law: Law) -> None:
    """Add what people did on a social medium, and how far posts spread."""
    if medium is None:
        return
    visits, acts = int(scalars["visits"].sum()), medium.law
    source = "fitted to the run" if getattr(law, "fit", None) else "planted"
    report.section(
        "Acts",
        f"People visited the medium {visits:,} times in all steps. The law of acts is {source}: the log odds of liking a post "
        f"fall by {acts.homophily:.2f} with each point of distance, and rise by {acts.herd:.2f} with a score above 0.",
    )
    rows = [[act, f"{int(scalars[act].sum()):,}", f"{scalars[act].sum() / max(visits, 1):.3f}"] for act in medium.acts]
    report.table(rows, ["act", "times", "share of visits"])
    report.add("The next table shows how far posts spread, without intervals, because the population is one network.")
    last = scalars.iloc[-1]
    report.table([[words, _shown(last[name], 2)] for name, words in SPREAD.items()], ["", "last step"])


def _measure_title(name: str) -> str:
    """Return the title of a column of the population's measures.

    >>> _measure_title("mean_1_default"), _measure_title("above")
    ('mean, dimension 1, Defaults', 'share of people above 5')
    """
    what, *rest = name.split("_")
    dimension, party = (rest[:1], rest[1:]) if rest and rest[0].isdigit() else ([], rest)
    title = {"above": "share of people above 5"}.get(what, what)
    whose = [party_title("_".join(party))] if party else []
    return ", ".join([title, *(f"dimension {number}" for number in dimension), *whose])


def party_title(party: str) -> str:
    """Return what the people of a party are called: those of the society `us` by their names, others as the run calls them."""
    known = load_society()
    return known.plural(party) if party in known.parties else party


def _shown(value: Any, digits: int) -> str:
    """Return a measure as text; a dash where it is missing, as trees are before the first post."""
    return format_number(None if pd.isna(value) else float(value), digits)


def _add_interventions(report: Report, happened: Sequence[Happened]) -> None:
    """Add what happened from outside, when, and to how many people."""
    if not happened:
        return
    table = pd.DataFrame(happened)
    report.section("Interventions", "Each intervention came before the step shown.")
    report.data(**{"tables/interventions": table})
    rows = [
        [
            str(intervention.step),
            intervention.kind,
            f"{intervention.people:,}",
            intervention.effect,
            escape_markdown(intervention.text),
            escape_markdown(intervention.spec),
        ]
        for intervention in happened
    ]
    report.table(rows, ["step", "kind", "people", "what", "text", "written as"])


def _add_survey(report: Report, people: SurveyPeople | None) -> None:
    """Add who the agents are, if they are respondents of a survey, and the margins that were reached."""
    if not people:
        return
    report.section("People from a survey", *map(escape_markdown, describe_survey(people.survey)))
    report.table(compare_means(people), ["", "survey, weighted", "agents at the start"])
    if people.respondents.margins:
        table = pd.DataFrame(people.respondents.margins)
        report.data(**{"tables/margins": table})
        report.add("Shares of the margins, before and after raking (`tables/margins`):")
        texts = [
            [margin.variable, margin.value, *(f"{share:.3f}" for share in margin[2:])]
            for margin in people.respondents.margins
        ]
        report.table(texts, ["variable", "value", "known share", "before", "after"])


def _add_measures(report: Report, scalars: pd.DataFrame) -> None:
    """Add each measure at the start and at the end."""
    start, end = scalars.iloc[0], scalars.iloc[-1]
    rows = [
        [_measure_title(name), *(format_number(float(step[name]), 3) for step in (start, end))]
        for name in scalars.columns.drop(["step", "beyond"])
    ]
    report.table(rows, ["", "start", f"step {int(end['step'])}"])
    report.add("Attitudes run from 0 to 10. The variance is computed over the whole population.")
    if not pd.isna(end["beyond"]):
        last, most = (format_number(float(share)) for share in (end["beyond"], scalars["beyond"].max()))
        outside = "The share of people whose attitude lies outside the surrogate's fitted range"
        report.add(f"{outside} is {last} at the last step, and at most {most} at any step.")


def draw(spread: pd.DataFrame, scalars: pd.DataFrame, caption: str, happened: Sequence[Happened] = ()) -> Figure:
    """Draw the share of people by attitude and step as shades, and the mean of each party as a line.

    Each dimension has a panel; there are up to three panels in a row. A vertical line is an intervention, with its text.
    """
    numbers = spread["dimension"].unique().tolist() if "dimension" in spread else [None]
    across, down = min(len(numbers), 3), math.ceil(len(numbers) / 3)
    title = f"Opinions over {count_phrase(int(scalars['step'].iloc[-1]), 'step')}"
    with new_figure(5.2 if across == 1 else 2.8 * across + 1, 3.2 * down, caption, 8, title, LINES) as figure:
        panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
        for axis in panels.flat[len(numbers) :]:
            axis.set_visible(False)
        tables = [_shares(spread if number is None else spread[spread["dimension"] == number]) for number in numbers]
        scale = PowerNorm(0.5, 0, max(table.to_numpy().max() for table in tables))  # one for all panels
        for axis, table, number in zip(panels.flat, tables, numbers, strict=False):
            shades = _draw_panel(axis, table, scale, scalars, number)
            _mark(axis, happened)
        figure.colorbar(shades, ax=panels, label=f"Share of people in {AXIS[1] / BINS:g} points")
    return figure


def _shares(spread: pd.DataFrame) -> pd.DataFrame:
    """Return the share of people in each bin (rows) at each step (columns), of one dimension."""
    counts = spread.pivot(index="low", columns="step", values="people")
    return counts / counts.sum(axis=0)


def _draw_panel(axis: Axes, table: pd.DataFrame, scale: PowerNorm, scalars: pd.DataFrame, number: int | None) -> Any:
    """Draw one dimension; return its shades. table: as `_shares` returns it."""
    steps = table.columns.to_numpy()
    edges = np.concatenate(([steps[0] - 0.5], (steps[1:] + steps[:-1]) / 2, [steps[-1] + 0.5]))
    shades = axis.pcolormesh(edges, EDGES, table.to_numpy(), cmap="Greys", rasterized=True, norm=scale)
    for name, label, style in _mean_styles(scalars, "mean" if number is None else f"mean_{number}"):
        axis.plot(scalars["step"], scalars[name], label=label, markersize=3.4, linewidth=1.2, **style)
    label = "Attitude (0–10)" if number is None else f"Attitude {number} (0–10)"
    axis.set(xlabel="Step", ylabel=label, ylim=AXIS, xlim=(edges[0], edges[-1]))
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="best", fontsize=7)
    return shades


def _mark(axis: Axes, happened: Sequence[Happened]) -> None:
    """Draw a line before the step of each intervention, with its text or kind; the first of repeated ones is named."""
    named: set[int] = set()
    for step in sorted({intervention.step for intervention in happened}):
        axis.axvline(step - 0.5, **MARK | {"zorder": 2})
        fresh = [
            intervention for intervention in happened if intervention.step == step and intervention.number not in named
        ]
        named |= {intervention.number for intervention in fresh}
        label = "; ".join(
            shorten(
                strip_controls(intervention.text) or f"{intervention.kind} {intervention.effect}", 40, placeholder="…"
            )
            for intervention in fresh
        )
        look: Any = {"facecolor": "white", "alpha": 0.7, "pad": 0.4, "linewidth": 0}
        style: Any = {"fontsize": 5.5, "va": "top", "rotation": 90, "color": MARK["color"], "bbox": look, "zorder": 3}
        axis.text(step - 0.45, AXIS[1] - 0.1, label, **style)


def _mean_styles(scalars: pd.DataFrame, mean: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the columns of means, of the parties if there are several, with label and style. mean: the column of all."""
    names = [name for name in scalars if name.startswith(f"{mean}_")] or [mean]
    labels = [name.removeprefix(f"{mean}_") for name in names]
    every = max(1, math.ceil(len(scalars) / 12))
    for name, label, look in zip(names, labels, styles_by_party(labels).values(), strict=True):
        style = {"color": look["color"], "linestyle": look["linestyle"], "marker": look["markers"][0]}
        yield name, "mean" if name == mean else f"mean of {party_title(label)}", style | {"markevery": every}
