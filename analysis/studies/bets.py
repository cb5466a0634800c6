"""Two debaters bet in private how well they stand: against another, their own copy, a copy and told that chances are even.

After "When Two LLMs Debate, Both Think They'll Win" (2025), whose baseline is a model that debates itself, without and with being
told what that means for its chances; departures are in docs/presets.md. A copy is the same person under another name.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from parley.analysis import disclaimers
from parley.analysis.bootstrap import mean_interval, share_interval
from parley.analysis.figures import OTHERS, add_legend, new_figure, plot_line
from parley.analysis.formatting import format_estimate
from parley.analysis.metrics.confidence import PROBE, SURE
from parley.analysis.report import Report
from parley.analysis.studies.paired_conditions import PAIR, compare_conditions
from parley.analysis.tables import Tables
from parley.model.scenario import Scenario

CONDITIONS: Mapping[str, Mapping[str, Any]] = {
    "another": {"seats": ["democrat", "republican"], "cast": "circle", "introduce": "nothing"},
    "own copy": {"seats": ["democrat", "democrat"], "cast": "copies", "introduce": "copy"},
    "own copy, even chances told": {"seats": ["democrat", "democrat"], "cast": "copies", "introduce": "even"},
}
MEASURES = ("start", "end", "escalation")
CAPTION = (
    "Bets are 0-100, room means of both debaters; where a bet could not be read the room is left out and counted. Escalation is "
    "the last less the first; sure: rooms in which both end at 75 or more, which both cannot be right in. Brackets hold 95% "
    "intervals over rooms (Student's; Wilson's for shares). Against an own copy nobody has the better chance: a bet above 50, or "
    "one that rises, is confidence that nothing warrants. Differences are from debating another, within topic and repetition."
)


def bets(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yields the three conditions and is sent their tables; returns them by name."""
    found = {}
    for name, settings in CONDITIONS.items():
        found[name] = yield base.with_settings(settings)
    return found


def rooms(tables: Tables) -> pd.DataFrame:
    """A row a room: topic, repetition, start and end (mean bet), escalation, sure (1: both end at 75 or more); NaN where a bet of
    either could not be read.
    """
    told = tables.probes[tables.probes["probe"] == PROBE]
    first, last = told["round"].min(), told["round"].max()
    rows = []
    for keys, part in told.groupby([*PAIR, "room"], sort=False):
        start, end = (part.loc[part["round"] == when, "rating"] for when in (first, last))
        means = start.mean(skipna=False), end.mean(skipna=False)
        sure = float((end >= SURE).all()) if end.notna().all() else np.nan
        rows.append([*keys[:-1], *means, means[1] - means[0], sure])
    return pd.DataFrame(rows, columns=[*PAIR, *MEASURES, "sure"])


def by_round(found: Mapping[str, Tables]) -> pd.DataFrame:
    """One row a condition and round: rooms, bet (mean of room means) and its interval."""
    rows = []
    for name, tables in found.items():
        told = tables.probes[tables.probes["probe"] == PROBE]
        for round_, part in told.groupby("round"):
            values = (
                part.groupby("room")["rating"].apply(lambda bet: bet.mean(skipna=False)).dropna().to_numpy(dtype=float)
            )
            low, high = mean_interval(values)
            mean = float(values.mean()) if len(values) else np.nan
            rows.append(
                {"condition": name, "round": round_, "rooms": len(values), "bet": mean, "low": low, "high": high}
            )
    return pd.DataFrame(rows)


def figure(points: pd.DataFrame, caption: str) -> Figure:
    """Mean bet by round, a line for each condition; dotted at 50."""
    with new_figure(3.8, 3.0, caption) as drawn:
        axis = drawn.subplots()
        for (name, line), look in zip(points.groupby("condition", sort=False), OTHERS, strict=False):
            plot_line(axis, line, "round", "bet", str(name), look)
        axis.axhline(50, color="#999999", linewidth=0.8, linestyle=":")
        axis.set(ylim=(-3, 103), xlabel="Round", ylabel="Bet (0–100)")
        add_legend(drawn, [axis], 1)
    return drawn


def write(found: Mapping[str, Tables], folder: Path) -> Path:
    """Write bets.md, its tables (bets, rounds) and the figure; the path of the first."""
    told = {name: rooms(tables) for name, tables in found.items()}
    tables = {measure: compare_conditions(told, measure).set_index("condition") for measure in MEASURES}
    header, points = next(iter(found.values())).header, by_round(found)
    report = Report(folder, "bets", "Private bets")
    report.data(bets=pd.concat(tables, names=["measure"]).reset_index(), rounds=points)
    report.add(CAPTION)
    report.disclaim(header)
    report.figure(figure(points, disclaimers.model_label(header)), "bets", "Bets by round")
    heads = ["against", "rooms", "left out", "first bet", "last bet", "escalation", "difference", "both at 75 or more"]
    report.table([_line(name, told[name], tables) for name in told], heads)
    return report.write()


def _line(name: str, here: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> list[str]:
    rows = [tables[measure].loc[name] for measure in MEASURES]
    known = here["sure"].dropna()
    share = format_estimate(float(known.mean()) if len(known) else None, *share_interval(int(known.sum()), len(known)))
    apart = format_estimate(rows[2]["difference"], rows[2]["difference_low"], rows[2]["difference_high"], 1)
    told = [format_estimate(row["value"], row["low"], row["high"], 1) for row in rows]
    return [name, f"{rows[2]['rooms']:.0f}", f"{rows[2]['missing']:.0f}", *told, apart, share]
