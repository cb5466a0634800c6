"""The report of a sweep: summary.md, its tables (cells, changes, effects, pairs, interactions) and its figures."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.figures import add_legend, draw_null, make_panels, new_figure, plot_line, styles_by_party
from parley.analysis.formatting import count_phrase, estimate, markdown_table, slug, strip_controls
from parley.analysis.metrics._cells import KEYS
from parley.analysis.report import Report, disk_errors
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.sweep import tables
from parley.analysis.sweep.tables import CellMeasurement, title_cells, values_of
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.sweep.design import SweepCell
from parley.model.titles import seat_title

SUMMARY = "summary.md"
FEW = 10
"""Below this number of seeds the summary warns of wide intervals."""
MOST_PAIRS = 6
MOST = 200
"""Rows of a table in the summary; all of them are in the file."""
WIDEST = 6
"""Topics with a panel of their own; of more, the first ones are drawn."""
OFFSET = 0.015
"""Share of the axis between the bars of two parties, so that they do not hide each other."""
NO_PARTIES: Mapping[str, Mapping[str, str]] = {}
HEADS = {
    "depends": "depends on",
    "left_out": "seeds left out",
    "toward": "toward the Default",
    "reason": "reason missing",
}


def write(
    folder: Path,
    cells: Sequence[SweepCell],
    measured: Mapping[int, CellMeasurement],
    stopped: Mapping[int, str],
    command: str,
) -> Path:
    """Write the report; return the summary's path. The same records give the same bytes.

    Errors: UserError when it cannot be written.
    """
    with disk_errors(folder, "the cells are kept"):
        report = Report(folder, Path(SUMMARY).stem, f"Sweep of {cells[0].combined.name}")
        _add_results(report, cells, measured, stopped)
        report.lines(_files(command))
        return report.write()


def _add_results(
    report: Report, cells: Sequence[SweepCell], measured: Mapping[int, CellMeasurement], stopped: Mapping[int, str]
) -> None:
    effects, pairs, tested = (
        make(cells, measured) for make in (tables.field_effects, tables.pair_means, tables.interactions)
    )
    headers = [measured[place].header for place in sorted(measured)]
    report.data(
        cells=tables.key_cells(cells, {place: cell.attitudes for place, cell in measured.items()}, stopped),
        changes=tables.key_cells(cells, {place: cell.changes for place, cell in measured.items()}, stopped),
        effects=effects,
        **({"pairs": pairs, "interactions": tested} if len(pairs) else {}),
    )
    fields = [f"{key} ({', '.join(values_of(cells, key))})" for key, _ in cells[0].values]
    seeds = len({cell.seed for cell in cells})
    report.plain(f"{count_phrase(len(cells), 'cell')}: {'; '.join([*fields, count_phrase(seeds, 'seed')])}.")
    if stopped:
        unfinished = f"{count_phrase(len(stopped), 'cell')} of {len(cells)}"
        report.add(f"**Unfinished**: no results yet for {unfinished}. Repeat the command to continue.")
        reasons = pd.Series(stopped).value_counts().rename_axis("why").reset_index(name="count")
        ordered = reasons.sort_values(["count", "why"], ascending=[False, True]).astype(str)
        report.table(ordered.to_numpy().tolist(), ["why", "cells"])
    report.disclaim(*headers)
    for name, draw in change_figures(effects, headers).items():
        report.figure(draw(), f"figures/{name}", "Change of attitude by value of each varied field")
    report.lines(_effects(effects, tested, seeds, _names(headers)))
    if len(tested):
        _interactions(report, pairs, tested, headers)


def change_figures(effects: pd.DataFrame, headers: Sequence[Header]) -> dict[str, Callable[[], Figure]]:
    """Return a figure per group by name, with the main effects of all varied fields. A figure is drawn when it is called."""
    figures: dict[str, Callable[[], Figure]] = {}
    several = effects["group"].nunique() > 1
    for group, rows in effects.groupby("group", sort=False):
        seeds, name = count_phrase(int(rows["seeds"].max()), "seed"), headers[0].scenario["name"]
        title = title_cells(str(group), _names(headers))
        caption = f"{title}, {name} on {_models(headers)}: means over {seeds}, 95% intervals"
        draw = partial(figure, rows, caption, _parties(headers))
        figures[f"change_{slug(str(group)).strip('_')}" if several else "change"] = draw
    return figures


def _parties(headers: Sequence[Header]) -> dict[str, Mapping[str, str]]:
    """Return what the records of all cells say of their parties: name, plural and look."""
    return {party: about for header in headers for party, about in header.parties.items()}


def _names(headers: Sequence[Header]) -> PartyNames:
    return PartyNames.from_header(_parties(headers))


def _models(headers: Sequence[Header]) -> str:
    names = list(dict.fromkeys(disclaimers.model_label(header) for header in headers))
    return names[0] if len(names) == 1 else f"{len(names)} models"


def _effects(effects: pd.DataFrame, tested: pd.DataFrame, seeds: int, names: PartyNames) -> Iterator[str]:
    yield "## What each field does\n"
    if effects.empty:
        yield "No change of opinion can be reported, because no cell has ratings from two surveys (set survey=rounds).\n"
        return
    few = " With so few seeds, intervals are wide." if seeds < FEW else ""
    if seeds < FEWEST:
        few = f" With fewer than {FEWEST} seeds there are no intervals, and nothing can be concluded."
    yield (
        "Main effects: each value of a field is first averaged over the other fields within each seed. Change is the "
        "attitude (0-10) at the last survey minus the attitude at the first survey, over agents rated in both "
        "surveys. *Toward the Default* is the change, counted positive toward the Default's first rating. Difference "
        "is the change minus the change at the first value of the field, seed by seed (all cells of a seed have the "
        f"same agents). Brackets hold 95% intervals over seeds, not corrected for the number of rows.{few} Seeds "
        "without results in every cell are left out of a row and counted in that row.\n"
    )
    effects = effects.assign(depends=[depends(tested, row) for row in effects.to_dict("records")])
    keys = [key for key in ("field", "value", "topic", "group", "party") if effects[key].nunique() > 1] or ["party"]
    keys += ["left_out"] if effects["left_out"].any() else []
    shown = [name for name in ("change", "toward", "difference") if effects[name].notna().any()]
    notes = ["depends"] if effects["depends"].any() else []
    notes += ["reason"] if effects["reason"].notna().any() else []
    rows = [
        [_shown(key, row[key], names) for key in keys]
        + [estimate(name)(row) for name in shown]
        + [row[name] for name in notes]
        for row in effects.head(MOST).fillna({"reason": ""}).to_dict("records")
    ]
    yield markdown_table([HEADS.get(name, name) for name in (*keys, *shown, *notes)], rows) + "\n"
    if len(effects) > MOST:
        yield f"The first {MOST} of {len(effects):,} rows; all are in `effects.csv`.\n"


def _shown(key: str, value: object, names: PartyNames) -> str:
    """Return the cell of a table: groups and parties by their labels, anything else as it is."""
    titles = {"group": title_cells, "party": seat_title}
    return titles[key](str(value), names) if key in titles else str(value)


def depends(tested: pd.DataFrame, row: Mapping[Any, Any]) -> str:
    """Return the other fields on which the effect of a row's field depends, for the same people."""
    here = _select(_dependent(tested), row, KEYS)
    pairs = [pair for pair in here[["field", "other"]].to_numpy().tolist() if row["field"] in pair]
    return ", ".join(dict.fromkeys(name for pair in pairs for name in pair if name != row["field"]))


def _dependent(tested: pd.DataFrame) -> pd.DataFrame:
    return tested[tested["depends"].fillna(False).astype(bool)]


def _select(table: pd.DataFrame, row: Mapping[Any, Any], keys: Iterable[str]) -> pd.DataFrame:
    """Return the rows of a table that have a row's values in these columns."""
    return table[np.all([table[key] == row[key] for key in keys], axis=0)]


def _interactions(report: Report, pairs: pd.DataFrame, tested: pd.DataFrame, headers: Sequence[Header]) -> None:
    """Add how pairs of fields work together: figures, then cell means, those that depend on each other first."""
    dependent, uncertain = _dependent(tested), int(tested["depends"].isna().sum())
    report.section(
        "How fields work together",
        f"In {len(dependent)} of {count_phrase(len(tested), 'case')}, the effect of one field depends on the value of "
        "another field. A case is a pair of fields, with a topic, group and party. The test is Student's t of "
        f"differences of differences, seed by seed, with Holm's correction within a case. In {uncertain} cases the "
        "effects cannot be compared. If effects depend on each other, read the cell means instead of the main "
        "effects. The file `pairs.csv` has all cell means; the file `interactions.csv` has all tests.",
    )
    order = tested.groupby(["field", "other", "group"], sort=False)["p"].min().sort_values(kind="stable")
    several, names = tested["group"].nunique() > 1, _names(headers)
    for field, other, group in list(order.index)[:MOST_PAIRS]:
        rows = _select(pairs, {"field": field, "other": other, "group": group}, ("field", "other", "group"))
        where = f"{title_cells(group, names)} on {_models(headers)}"
        caption = f"{where}: change by {field} and {other}, means over seeds, 95% intervals"
        name = "_".join(["pair", slug(field), slug(other), *([slug(group)] if several else [])])
        report.figure(crossing(rows, caption, _parties(headers)), f"figures/{name}", f"Change by {field} and {other}")
    for row in (dependent if len(dependent) else tested).head(MOST_PAIRS).to_dict("records"):
        _cell_means(report, _select(pairs, row, ("field", "other", *KEYS)), row, names)


def _cell_means(report: Report, pairs: pd.DataFrame, row: Mapping[Any, Any], names: PartyNames) -> None:
    """Add the cell means of one pair of fields, topic, group and party: rows values of the one, columns of the other."""
    shown = pairs.assign(shown=[estimate("change")(pair) for pair in pairs.to_dict("records")])
    table = shown.pivot(index="value", columns="other_value", values="shown")
    table = table.reindex(pairs["value"].unique())[pairs["other_value"].unique()]
    who = f"{seat_title(row['party'], names)}, {row['topic']}, {title_cells(row['group'], names)}"
    report.plain(f"{who}: change (points) by {row['field']} (rows) and {row['other']} (columns).")
    lines = table.reset_index().astype(str).to_numpy().tolist()
    report.table(lines, [str(row["field"]), *(f"{row['other']} = {value}" for value in table.columns)])


def _files(command: str) -> Iterator[str]:
    yield "## Run it again\n"
    yield f"    {command}\n" if command.isprintable() else "The command has characters that cannot be printed.\n"
    yield (
        "The file `cells.csv` has a row for each cell, topic, group, party and round. The file `changes.csv` has a "
        "row for each cell, topic, group and party. The file `effects.csv` has the main effects. Each table exists as "
        ".parquet too. Each cell is a run in a folder under `cells/`, which every command for runs accepts, for "
        "example `python run.py report DIR`."
    )


MOVED = "Change of attitude\n(points of 10)"
CHANGE = "The change is the attitude (0-10) after the last round minus the attitude before the debate."


def figure(effects: pd.DataFrame, caption: str, parties: Mapping[str, Mapping[str, str]] = NO_PARTIES) -> Figure:
    """Draw the change of attitude by value, for one group: a row per varied field, a column per topic, a line per party.

    parties: what the header of a record says of them.
    """
    fields, topics = list(effects["field"].unique()), list(effects["topic"].unique())[:WIDEST]
    looks = styles_by_party(effects["party"].unique(), parties)
    lines = {party: (look, seat_title(party, PartyNames.from_header(parties))) for party, look in looks.items()}
    varied = " and ".join(strip_controls(field) for field in fields if field != "all")
    title = f"How far opinions move with each value of {varied}" if varied else "How far opinions move"
    size = max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(fields) + 0.9
    with new_figure(*size, caption, title=title, about=CHANGE) as drawn:
        grid = make_panels(drawn, len(fields), [_heading(topic) for topic in topics], sharex="row", sharey=True)
        for row, field in zip(grid, fields, strict=True):
            rows = effects[effects["field"] == field]
            values = list(rows["value"].unique())
            for axis, topic in zip(row, topics, strict=True):
                _plot_lines(axis, rows[rows["topic"] == topic], "party", values, lines)
                axis.set_xlabel("" if field == "all" else strip_controls(field))
            row[0].set_ylabel(MOVED)
        add_legend(drawn, grid[0][:1], 4)
    return drawn


def crossing(pairs: pd.DataFrame, caption: str, party_facts: Mapping[str, Mapping[str, str]] = NO_PARTIES) -> Figure:
    """Draw the change by one field, a line per value of another: a row per party, a column per topic.

    Where lines are not parallel, the effect of one field depends on the other. pairs: rows of `pair_means` for one pair of
    fields and one group; party_facts: what the header of a record says of the parties.
    """
    topics, parties = list(pairs["topic"].unique())[:WIDEST], list(pairs["party"].unique())
    values, (field, other) = list(pairs["value"].unique()), pairs[["field", "other"]].iloc[0].map(str)
    lines = {value: (look, value) for value, look in styles_by_party(pairs["other_value"].unique()).items()}
    title = f"How far opinions move with {strip_controls(field)}, for each value of {strip_controls(other)}"
    size = max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(parties) + 0.9
    with new_figure(*size, caption, title=title, about=CHANGE) as drawn:
        titles = [_heading(topic) for topic in topics]
        grid = make_panels(drawn, len(parties), titles, strip_controls(field), sharex=True, sharey=True)
        for row, party in zip(grid, parties, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                rows = pairs[(pairs["party"] == party) & (pairs["topic"] == topic)]
                _plot_lines(axis, rows, "other_value", values, lines)
            row[0].set_ylabel(f"{seat_title(party, PartyNames.from_header(party_facts))}\n{MOVED}")
        add_legend(drawn, grid[0][:1], 4, strip_controls(other))
    return drawn


def _plot_lines(
    axis: Axes,
    rows: pd.DataFrame,
    column: str,
    values: Sequence[str],
    lines: Mapping[str, tuple[Mapping[str, Any], str]],
) -> None:
    """Plot the change by value, a line per value of `column` (with its look and label)."""
    places, numeric = _places(values)
    reach = (max(places) - min(places)) or 1
    for number, (name, (look, label)) in enumerate(lines.items()):
        value_rows = rows[rows[column] == name]
        offset = OFFSET * reach * (number - (len(lines) - 1) / 2)
        shifted = value_rows.assign(place=[places[values.index(value)] + offset for value in value_rows["value"]])
        plot_line(axis, shifted, "place", "change", strip_controls(label), look)
    draw_null(axis)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
    if numeric:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=all(place.is_integer() for place in places)))
        axis.set_xlim(min(places) - reach / 10, max(places) + reach / 10)  # also when a value has no cell
    else:
        axis.set_xticks(places, [textwrap.shorten(strip_controls(value), 18, placeholder="…") for value in values])
        axis.set_xlim(-0.5, len(values) - 0.5)


def _places(values: Sequence[str]) -> tuple[list[float], bool]:
    """Return where values lie on the axis, and whether they are numbers, which are drawn to scale."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = [math.nan]
    numeric = len(numbers) > 1 and all(map(math.isfinite, numbers))
    return (numbers, True) if numeric else ([float(place) for place in range(len(values))], False)


def _heading(topic: str) -> str:
    try:
        return load_topic(topic).heading
    except UserError:
        return strip_controls(topic)
