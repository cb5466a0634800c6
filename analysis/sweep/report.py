"""The folder of a sweep: cells.csv, changes.csv, effects.csv (and .parquet), figures/, summary.md.

The figure of a sweep: a row for each varied field, a column for each topic, a line for each party.

Party is told by colour, marker and line style alike (analysis/plots.py). Numbers are on an axis to scale, words side by side.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.bootstrap import FEWEST
from parley.analysis.figures import add_legend, make_panels, new_figure, styles_by_party
from parley.analysis.formatting import count_phrase, format_estimate, markdown_table, seat_title, slug, strip_controls
from parley.analysis.metrics._cells import KEYS
from parley.analysis.report import Report
from parley.analysis.sweep.tables import (
    CellMeasurement,
    field_effects,
    interactions,
    key_cells,
    pair_means,
    title_cells,
    values_of,
)
from parley.llm.errors import UserError
from parley.model.events import Header
from parley.model.sweep.design import SweepCell

SUMMARY = "summary.md"
FEW = 10
MOST_PAIRS = 6
MOST = 200
"""Rows of a table in the summary; all of them are in the file."""


def write(
    folder: Path,
    cells: Sequence[SweepCell],
    found: Mapping[int, CellMeasurement],
    stopped: Mapping[int, str],
    command: str,
) -> Path:
    """Write all of it; the summary's path. The same records give the same bytes. Errors: UserError when it cannot be written."""
    try:
        return _report(folder, cells, found, stopped, command).write()
    except OSError as error:
        raise UserError(
            f"cannot write the report in {folder}: {error.strerror or error}; the cells are kept"
        ) from error


class SweepFindings(NamedTuple):
    """Main effects, cell means by pair of fields, and whether one field's effect depends on another."""

    effects: pd.DataFrame
    pairs: pd.DataFrame
    tested: pd.DataFrame


def _report(
    folder: Path,
    cells: Sequence[SweepCell],
    found: Mapping[int, CellMeasurement],
    stopped: Mapping[int, str],
    command: str,
) -> Report:
    """The summary with its tables and figures, as yet without the page itself."""
    results = SweepFindings(field_effects(cells, found), pair_means(cells, found), interactions(cells, found))
    headers = [found[place].header for place in sorted(found)]
    report = Report(folder, Path(SUMMARY).stem, f"Sweep of {cells[0].combined.name}")
    report.data(
        cells=key_cells(cells, {place: one.attitudes for place, one in found.items()}, stopped),
        changes=key_cells(cells, {place: one.changes for place, one in found.items()}, stopped),
        effects=results.effects,
        **({"pairs": results.pairs, "interactions": results.tested} if len(results.pairs) else {}),
    )
    _open(report, cells, stopped)
    report.disclaim(*headers)
    _figures(report, results.effects, headers)
    report.lines(_effects(results.effects, results.tested, len({cell.seed for cell in cells})))
    if len(results.tested):
        _together(report, results, headers)
    report.lines(_files(command))
    return report


def _open(report: Report, cells: Sequence[SweepCell], stopped: Mapping[int, str]) -> None:
    """Say which cells there are, and which are not finished."""
    fields = [f"{key} ({', '.join(values_of(cells, key))})" for key, _ in cells[0].values]
    seeds = count_phrase(len({cell.seed for cell in cells}), "seed")
    report.plain(f"{count_phrase(len(cells), 'cell')}: {'; '.join([*fields, seeds])}.")
    if stopped:
        unfinished = f"{count_phrase(len(stopped), 'cell')} of {len(cells)}"
        report.add(f"**Unfinished**: {unfinished}. Run the same command again to go on.")
        report.table([[why, str(count)] for why, count in _reasons(stopped)], ["why", "cells"])


def change_figures(table: pd.DataFrame, headers: Sequence[Header]) -> dict[str, Callable[[], Figure]]:
    """A figure for each group by name, the main effects of all varied fields; each is drawn when its entry is called."""
    drawn: dict[str, Callable[[], Figure]] = {}
    groups = list(table["group"].unique())
    for group in groups:
        here = table[table["group"] == group]
        seeds, name = count_phrase(int(here["seeds"].max()), "seed"), headers[0].scenario["name"]
        caption = f"{title_cells(group)}, {name} on {_models(headers)}: means over {seeds}, 95% intervals"
        drawn["change" if len(groups) == 1 else f"change_{slug(group).strip('_')}"] = partial(figure, here, caption)
    return drawn


def _figures(report: Report, table: pd.DataFrame, headers: Sequence[Header]) -> None:
    """Add a figure for each group."""
    for name, draw in change_figures(table, headers).items():
        report.figure(draw(), f"figures/{name}", "Change of attitude by value of each varied field")


def _crossed(report: Report, found: SweepFindings, headers: Sequence[Header]) -> None:
    """Add a figure for each pair of fields and group, those that depend on each other first, `MOST_PAIRS` at most."""
    together, tested = found.pairs, found.tested
    order = tested.groupby(["field", "other", "group"], sort=False)["p"].min().sort_values(kind="stable")
    several = tested["group"].nunique() > 1
    for field, other, group in list(order.index)[:MOST_PAIRS]:
        here = together[(together["field"] == field) & (together["other"] == other) & (together["group"] == group)]
        caption = f"{title_cells(group)} on {_models(headers)}: change by {field} and {other}, means over seeds, 95% intervals"
        name = "_".join(["pair", slug(field), slug(other), *([slug(group)] if several else [])])
        report.figure(crossing(here, caption), f"figures/{name}", f"Change by {field} and {other}")


def _models(headers: Sequence[Header]) -> str:
    names = list(dict.fromkeys(disclaimers.model_label(header) for header in headers))
    return names[0] if len(names) == 1 else f"{len(names)} models"


def _reasons(stopped: Mapping[int, str]) -> list[tuple[str, int]]:
    counts = pd.Series(stopped).value_counts()
    return sorted(((str(why), int(count)) for why, count in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def _effects(table: pd.DataFrame, tested: pd.DataFrame, seeds: int) -> Iterator[str]:
    yield "## What each field does\n"
    if table.empty:
        yield "Nothing to report: no cell has ratings from two surveys.\n"
        return
    few = (
        f" With fewer than {FEWEST} seeds there are no intervals, and nothing can be concluded."
        if seeds < FEWEST
        else ""
    )
    few = few or (" With so few seeds intervals are wide." if seeds < FEW else "")
    table = table.assign(depends=[depends(tested, row) for row in table.to_dict("records")])
    yield (
        "Main effects: a value of a field is averaged over the other fields within each seed first. Change is that of the "
        "attitude (0-10) from the first survey to the last, over agents rated in both; toward the Default is the same, positive "
        "toward the level that the Default had before the debates; difference is from the first value of the field, seed by "
        "seed (the people of a seed are the same in all cells). The unit is the seed; brackets hold 95% intervals over "
        f"seeds; nothing is corrected for the number of rows.{few} Seeds that lack a cell are left out of a row, and counted.\n"
    )
    keys = [key for key in ("field", "value", "topic", "group", "party") if table[key].nunique() > 1] or ["party"]
    keys += ["left_out"] if table["left_out"].any() else []
    shown = [name for name in ("change", "toward", "difference") if table[name].notna().any()]
    why = ["reason"] if table["reason"].notna().any() else []
    why = (["depends"] if table["depends"].any() else []) + why
    head = {
        "depends": "depends on",
        "left_out": "seeds left out",
        "toward": "toward the Default",
        "reason": "why empty",
    }
    rows = [
        [title_cells(row[key]) if key == "group" else str(row[key]) for key in keys]
        + [format_estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in shown]
        + [row[name] for name in why]
        for row in table.head(MOST).fillna({"reason": ""}).to_dict("records")
    ]
    yield markdown_table([head.get(name, name) for name in (*keys, *shown, *why)], rows) + "\n"
    if len(table) > MOST:
        yield f"The first {MOST} of {len(table):,} rows; all are in `effects.csv`.\n"


def depends(tested: pd.DataFrame, row: Mapping[Any, Any]) -> str:
    """The other fields on which the effect of a row's field depends, for the same people."""
    sure = tested[tested["depends"].fillna(False).astype(bool)]
    here = sure[np.all([sure[key] == row[key] for key in KEYS], axis=0)]
    couples = [couple for couple in here[["field", "other"]].to_numpy().tolist() if row["field"] in couple]
    return ", ".join(dict.fromkeys(name for couple in couples for name in couple if name != row["field"]))


def _together(report: Report, found: SweepFindings, headers: Sequence[Header]) -> None:
    tested = found.tested
    sure = tested[tested["depends"].fillna(False).astype(bool)]
    unknown = int(tested["depends"].isna().sum())
    report.section(
        "How fields work together",
        f"In {len(sure)} of {count_phrase(len(tested), 'line')} (one per pair of "
        "fields, topic, group and party) the effect of one "
        f"field depends on the other (Student's t of differences of differences, seed by seed, Holm's correction within a line); "
        f"for {unknown} this is not certain. The main effect of such a field is the effect at no value of the other: read the "
        "cell means. All are in `pairs.csv`, the tests in `interactions.csv`.",
    )
    _crossed(report, found, headers)
    shown = sure if len(sure) else tested
    for row in shown.head(MOST_PAIRS).to_dict("records"):
        _means(report, found.pairs, row)


def _means(report: Report, together: pd.DataFrame, row: Mapping[Any, Any]) -> None:
    """Add the cell means of a pair of fields for one topic, group and party: rows values of the one, columns of the other."""
    keys = ("field", "other", *KEYS)
    here = together[np.all([together[key] == row[key] for key in keys], axis=0)]
    columns = list(here["other_value"].unique())
    body = []
    for value, part in here.groupby("value", sort=False):
        told = part.set_index("other_value")
        body.append([str(value), *(_told(told.loc[one]) for one in columns)])
    who = f"{row['party'].title()}, {row['topic']}, {title_cells(row['group'])}"
    report.plain(f"{who}: change (points) by {row['field']} (rows) and {row['other']} (columns).")
    report.table(body, [str(row["field"]), *(f"{row['other']} = {one}" for one in columns)])


def _told(row: pd.Series) -> str:
    return format_estimate(row["change"], row["change_low"], row["change_high"])


def _files(command: str) -> Iterator[str]:
    yield "## Run it again\n"
    yield f"    {command}\n" if command.isprintable() else "The command holds characters that cannot be printed.\n"
    yield (
        "`cells.csv` has a row for each cell, topic, group, party and round, `changes.csv` one for each cell, topic, group and "
        "party, `effects.csv` holds the main effects (each as .parquet too). Each cell is a run folder under `cells/`, with its "
        "record and journal: every command that takes a run takes it (`python run.py judge DIR`, `python run.py human DIR`)."
    )


WIDEST = 6
"""Topics that have a panel each; of more, the first ones have."""
ASIDE = 0.015
"""Share of the axis by which parties stand beside each other, so that their bars do not hide one another."""


def figure(effects: pd.DataFrame, caption: str) -> Figure:
    """Change of attitude by value of each varied field, for one group. effects: as analysis.sweep.tables gives them."""
    fields, topics = list(effects["field"].unique()), list(effects["topic"].unique())[:WIDEST]
    parties = list(effects["party"].unique())
    with new_figure(max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(fields) + 0.9) as drawn:
        grid = make_panels(drawn, len(fields), [_heading(topic) for topic in topics], sharex="row", sharey=True)
        for row, field in zip(grid, fields, strict=True):
            values = list(effects.loc[effects["field"] == field, "value"].unique())
            for axis, topic in zip(row, topics, strict=True):
                here = effects[(effects["field"] == field) & (effects["topic"] == topic)]
                _panel(axis, here, values, parties)
                axis.set_xlabel("" if field == "all" else strip_controls(field))
            row[0].set_ylabel("change (points)")
        add_legend(drawn, grid[0][:1], 4)
        drawn.suptitle(textwrap.fill(strip_controls(caption), int(drawn.get_figwidth() * 16)), fontsize=7)
    return drawn


def crossing(pairs: pd.DataFrame, caption: str) -> Figure:
    """Change by one field, a line a value of another: a row for each party, a column for each topic. Lines that are not parallel:
    the effect of the one depends on the other. pairs: as analysis.sweep.interactions.pair_means gives them, of one
    pair of fields and group.
    """
    topics, parties = list(pairs["topic"].unique())[:WIDEST], list(pairs["party"].unique())
    values, others = (list(pairs[name].unique()) for name in ("value", "other_value"))
    lines = styles_by_party(others)
    with new_figure(max(1.75 * len(topics) + 0.5, 3.5), 1.7 * len(parties) + 0.9) as drawn:
        titles, below = [_heading(topic) for topic in topics], strip_controls(str(pairs["field"].iloc[0]))
        grid = make_panels(drawn, len(parties), titles, below, sharex=True, sharey=True)
        for row, party in zip(grid, parties, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                here = pairs[(pairs["party"] == party) & (pairs["topic"] == topic)]
                _lines(axis, here.assign(line=here["other_value"]), values, {one: (lines[one], one) for one in others})
            row[0].set_ylabel(f"{seat_title(party)}\nchange (points)")
        add_legend(drawn, grid[0][:1], 4, strip_controls(str(pairs["other"].iloc[0])))
        drawn.suptitle(textwrap.fill(strip_controls(caption), int(drawn.get_figwidth() * 16)), fontsize=7)
    return drawn


def _panel(axis: Axes, rows: pd.DataFrame, values: Sequence[str], parties: Sequence[str]) -> None:
    named = styles_by_party(parties)
    _lines(axis, rows.assign(line=rows["party"]), values, {one: (named[one], seat_title(one)) for one in parties})


def _lines(axis: Axes, rows: pd.DataFrame, values: Sequence[str], lines: Mapping[str, tuple[Any, str]]) -> None:
    """Change by value, a line each (column `line`: its look and label)."""
    places, numeric = _places(values)
    reach = (max(places) - min(places)) or 1
    aside = ASIDE * reach
    for number, (name, (look, label)) in enumerate(lines.items()):
        part = rows[rows["line"] == name]
        x = [places[values.index(value)] + aside * (number - (len(lines) - 1) / 2) for value in part["value"]]
        ends = [
            part["change"] - part["change_low"].fillna(part["change"]),
            part["change_high"].fillna(part["change"]) - part["change"],
        ]
        axis.errorbar(x, part["change"], [end.clip(lower=0) for end in ends], color=look["color"], marker=look["markers"][0],
                      markersize=3.5, linewidth=1.0, linestyle=look["linestyle"], capsize=2,
                      label=strip_controls(label))  # fmt: skip
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
    if numeric:
        axis.xaxis.set_major_locator(MaxNLocator(5, integer=all(place.is_integer() for place in places)))
        axis.set_xlim(min(places) - reach / 10, max(places) + reach / 10)  # of values without a cell too
    else:
        axis.set_xticks(places, [textwrap.shorten(strip_controls(value), 18, placeholder="…") for value in values])
        axis.set_xlim(-0.5, len(values) - 0.5)


def _places(values: Sequence[str]) -> tuple[list[float], bool]:
    """Where values stand on the axis, and whether they are numbers."""
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
