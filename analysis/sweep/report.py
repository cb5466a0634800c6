"""The folder of a sweep: cells.csv, changes.csv, effects.csv (and .parquet), figures/, summary.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.bootstrap import FEWEST
from parley.analysis.formatting import count_phrase, escape_markdown, format_estimate, markdown_table, slug
from parley.analysis.metrics._cells import KEYS
from parley.analysis.plots import save
from parley.analysis.sweep.figure import crossing, figure
from parley.analysis.sweep.interactions import interactions, pair_means
from parley.analysis.sweep.tables import CellMeasurement, field_effects, key_cells, title_cells, values_of
from parley.analysis.tables import write_table
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
        (folder / "figures").mkdir(exist_ok=True)
        write_table(key_cells(cells, {place: one.attitudes for place, one in found.items()}, stopped), folder / "cells")
        write_table(key_cells(cells, {place: one.changes for place, one in found.items()}, stopped), folder / "changes")
        table = field_effects(cells, found)
        write_table(table, folder / "effects")
        together, tested = pair_means(cells, found), interactions(cells, found)
        if len(together):
            write_table(together, folder / "pairs")
            write_table(tested, folder / "interactions")
        headers = [found[place].header for place in sorted(found)]
        drawn = [save(draw(), folder / "figures" / name) for name, draw in change_figures(table, headers).items()]
        crossed = _crossed(folder / "figures", together, tested, headers)
        path = folder / SUMMARY
        path.write_text(
            "\n".join(_lines(cells, headers, stopped, SweepFindings(table, together, tested), drawn, crossed, command))
            + "\n",
            encoding="utf-8",
        )
    except OSError as error:
        raise UserError(
            f"cannot write the report in {folder}: {error.strerror or error}; the cells are kept"
        ) from error
    return path


class SweepFindings(NamedTuple):
    """Main effects, cell means by pair of fields, and whether one field's effect depends on another."""

    effects: pd.DataFrame
    pairs: pd.DataFrame
    tested: pd.DataFrame


def _crossed(
    folder: Path, together: pd.DataFrame, tested: pd.DataFrame, headers: Sequence[Header]
) -> dict[tuple[str, str, str], Path]:
    """A figure for each pair of fields and group, those that depend on each other first, of `MOST_PAIRS` at most."""
    order = tested.groupby(["field", "other", "group"], sort=False)["p"].min().sort_values(kind="stable")
    drawn, several = {}, tested["group"].nunique() > 1
    for field, other, group in list(order.index)[:MOST_PAIRS]:
        here = together[(together["field"] == field) & (together["other"] == other) & (together["group"] == group)]
        caption = f"{title_cells(group)} on {_models(headers)}: change by {field} and {other}, means over seeds, 95% intervals"
        name = "_".join(["pair", slug(field), slug(other), *([slug(group)] if several else [])])
        drawn[field, other, group] = save(crossing(here, caption), folder / name)
    return drawn


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


def _models(headers: Sequence[Header]) -> str:
    names = list(dict.fromkeys(disclaimers.model_label(header) for header in headers))
    return names[0] if len(names) == 1 else f"{len(names)} models"


def _lines(
    cells: Sequence[SweepCell],
    headers: Sequence[Header],
    stopped: Mapping[int, str],
    found: SweepFindings,
    drawn: Sequence[Path],
    crossed: Mapping[tuple[str, str, str], Path],
    command: str,
) -> Iterator[str]:
    base, seeds = cells[0].combined, sorted({cell.seed for cell in cells})
    yield f"# Sweep of {escape_markdown(base.name)}\n"
    fields = [f"{key} ({', '.join(values_of(cells, key))})" for key, _ in cells[0].values]
    yield (
        escape_markdown(
            f"{count_phrase(len(cells), 'cell')}: {'; '.join([*fields, count_phrase(len(seeds), 'seed')])}."
        )
        + "\n"
    )
    if stopped:
        yield f"**Unfinished**: {count_phrase(len(stopped), 'cell')} of {len(cells)}. Run the same command again to go on.\n"
        yield markdown_table(["why", "cells"], [[why, str(count)] for why, count in _reasons(stopped)]) + "\n"
    for note in dict.fromkeys(note for header in headers if (note := disclaimers.disclaimer(header))):
        yield f"> {note}\n"
    for path in drawn:
        yield f"![Change of attitude by value of each varied field](figures/{path.name})\n"
    yield from _effects(found.effects, found.tested, len(seeds))
    yield from _together(found, crossed)
    yield from _files(command)


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


def _together(found: SweepFindings, crossed: Mapping[tuple[str, str, str], Path]) -> Iterator[str]:
    if found.tested.empty:
        return
    tested = found.tested
    sure = tested[tested["depends"].fillna(False).astype(bool)]
    unknown = int(tested["depends"].isna().sum())
    yield "## How fields work together\n"
    yield (
        f"In {len(sure)} of {count_phrase(len(tested), 'line')} (one per pair of "
        "fields, topic, group and party) the effect of one "
        f"field depends on the other (Student's t of differences of differences, seed by seed, Holm's correction within a line); "
        f"for {unknown} this cannot be told. The main effect of such a field is the effect at no value of the other: read the "
        "cell means. All are in `pairs.csv`, the tests in `interactions.csv`.\n"
    )
    for (field, other, _), path in crossed.items():
        yield f"![Change by {field} and {other}](figures/{path.name})\n"
    shown = sure if len(sure) else tested
    for row in shown.head(MOST_PAIRS).to_dict("records"):
        yield from _means(found.pairs, row)


def _means(together: pd.DataFrame, row: Mapping[Any, Any]) -> Iterator[str]:
    """The cell means of a pair of fields for one topic, group and party: rows values of the one, columns of the other."""
    keys = ("field", "other", *KEYS)
    here = together[np.all([together[key] == row[key] for key in keys], axis=0)]
    columns = list(here["other_value"].unique())
    body = []
    for value, part in here.groupby("value", sort=False):
        told = part.set_index("other_value")
        body.append([str(value), *(_told(told.loc[one]) for one in columns)])
    who = f"{row['party'].title()}, {row['topic']}, {title_cells(row['group'])}"
    yield escape_markdown(f"{who}: change (points) by {row['field']} (rows) and {row['other']} (columns).") + "\n"
    yield markdown_table([str(row["field"]), *(f"{row['other']} = {one}" for one in columns)], body) + "\n"


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
