"""The folder of a sweep: cells.csv, changes.csv, effects.csv (and .parquet), figures/, summary.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from analysis import honesty
from analysis.plots import save
from analysis.sweep.figure import figure
from analysis.sweep.measure import Measured
from analysis.sweep.tables import effects, keyed, titled, values_of
from analysis.tables import write_table
from analysis.wording import counted, estimate, harmless, markdown_table, slug
from llm.errors import UserError
from model.events import Header
from model.sweep.cells import Cell

SUMMARY = "summary.md"
FEW = 10
MOST = 200
"""Rows of a table in the summary; all of them are in the file."""


def write(
    folder: Path, cells: Sequence[Cell], found: Mapping[int, Measured], stopped: Mapping[int, str], command: str
) -> Path:
    """Write all of it; the summary's path. The same records give the same bytes. Errors: UserError when it cannot be written."""
    try:
        (folder / "figures").mkdir(exist_ok=True)
        write_table(keyed(cells, {place: one.attitudes for place, one in found.items()}, stopped), folder / "cells")
        write_table(keyed(cells, {place: one.changes for place, one in found.items()}, stopped), folder / "changes")
        table = effects(cells, found)
        write_table(table, folder / "effects")
        headers = [found[place].header for place in sorted(found)]
        drawn = _figures(folder / "figures", table, cells, headers)
        path = folder / SUMMARY
        path.write_text("\n".join(_lines(cells, headers, stopped, table, drawn, command)) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"cannot write the report in {folder}: {error.strerror or error}; the cells are kept"
        ) from error
    return path


def _figures(folder: Path, table: pd.DataFrame, cells: Sequence[Cell], headers: Sequence[Header]) -> list[Path]:
    """A figure for each group."""
    drawn = []
    groups = list(table["group"].unique())
    for group in groups:
        here = table[table["group"] == group]
        seeds = counted(int(here["seeds"].max()), "seed")
        caption = f"{titled(group)}, {cells[0].combined.name} on {_models(headers)}: means over {seeds}, 95% intervals"
        name = "change" if len(groups) == 1 else f"change_{slug(group).strip('_')}"
        drawn.append(save(figure(here, caption), folder / name))
    return drawn


def _models(headers: Sequence[Header]) -> str:
    names = list(dict.fromkeys(honesty.model(header) for header in headers))
    return names[0] if len(names) == 1 else f"{len(names)} models"


def _lines(
    cells: Sequence[Cell],
    headers: Sequence[Header],
    stopped: Mapping[int, str],
    table: pd.DataFrame,
    drawn: Sequence[Path],
    command: str,
) -> Iterator[str]:
    base, seeds = cells[0].combined, sorted({cell.seed for cell in cells})
    yield f"# Sweep of {harmless(base.name)}\n"
    fields = [f"{key} ({', '.join(values_of(cells, key))})" for key, _ in cells[0].values]
    yield harmless(f"{counted(len(cells), 'cell')}: {'; '.join([*fields, counted(len(seeds), 'seed')])}.") + "\n"
    if stopped:
        yield f"**Unfinished**: {counted(len(stopped), 'cell')} of {len(cells)}. Run the same command again to go on.\n"
        yield markdown_table(["why", "cells"], [[why, str(count)] for why, count in _reasons(stopped)]) + "\n"
    for note in dict.fromkeys(note for header in headers if (note := honesty.note(header))):
        yield f"> {note}\n"
    for path in drawn:
        yield f"![Change of attitude by value of each varied field](figures/{path.name})\n"
    yield from _effects(table, len(seeds), len(base.topics))
    yield from _files(command)


def _reasons(stopped: Mapping[int, str]) -> list[tuple[str, int]]:
    counts = pd.Series(stopped).value_counts()
    return sorted(((str(why), int(count)) for why, count in counts.items()), key=lambda pair: (-pair[1], pair[0]))


def _effects(table: pd.DataFrame, seeds: int, topics: int) -> Iterator[str]:
    yield "## What each field does\n"
    if table.empty:
        yield "Nothing to report: no cell has ratings from two surveys.\n"
        return
    few = " With so few seeds they are a rough guide at best." if seeds < FEW else ""
    yield (
        "Main effects: a value of a field is averaged over the other fields within each seed first. Change is that of the "
        "attitude (0-10) from the first survey to the last, over agents rated in both; toward the Default is the same, positive "
        "toward the level that the Default had before the debates; difference is from the first value of the field, seed by "
        "seed (the people of a seed are the same in all cells). The unit is the seed; brackets hold 95% bootstrap intervals over "
        f"seeds; nothing is corrected for the number of rows.{few} Seeds that lack a cell are left out of a row, and counted.\n"
    )
    keys = [key for key in ("field", "value", "topic", "group", "party") if table[key].nunique() > 1] or ["party"]
    keys += ["left_out"] if table["left_out"].any() else []
    shown = [name for name in ("change", "toward", "difference") if table[name].notna().any()]
    why = ["reason"] if table["reason"].notna().any() else []
    head = {"left_out": "seeds left out", "toward": "toward the Default", "reason": "why empty"}
    rows = [
        [titled(row[key]) if key == "group" else str(row[key]) for key in keys]
        + [estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in shown]
        + [row[name] for name in why]
        for row in table.head(MOST).fillna({"reason": ""}).to_dict("records")
    ]
    yield markdown_table([head.get(name, name) for name in (*keys, *shown, *why)], rows) + "\n"
    if len(table) > MOST:
        yield f"The first {MOST} of {len(table):,} rows; all are in `effects.csv`.\n"


def _files(command: str) -> Iterator[str]:
    yield "## Run it again\n"
    yield f"    {command}\n" if command.isprintable() else "The command holds characters that cannot be printed.\n"
    yield (
        "`cells.csv` has a row for each cell, topic, group, party and round, `changes.csv` one for each cell, topic, group and "
        "party, `effects.csv` holds the table above (each as .parquet too). Each cell is a run folder under `cells/`, with its "
        "record and journal: every command that takes a run takes it (`python run.py judge DIR`, `python run.py human DIR`)."
    )
