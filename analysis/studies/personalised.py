"""Personalised persuasion, two by two: opponents introduced as people or as AIs, their demographics told or not.

The same people, in the same rooms and order, in all four conditions. What is measured is what Salvi et al. 2025 measured of
people: agreement with the opponent's side on five points, before and after. Departures are in docs/presets.md.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.bootstrap import mean_interval
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import estimate, format_estimate
from parley.analysis.human.measures import measure_source
from parley.analysis.human.readers import ALL, SALVI, Source, find, salvi
from parley.analysis.human.rooms import RUN, of_run
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "person": {"introduce": "person", "disclose": "nothing"},
    "person, personalised": {"introduce": "person", "disclose": "demographics"},
    "AI": {"introduce": "ai", "disclose": "nothing"},
    "AI, personalised": {"introduce": "ai", "disclose": "demographics"},
}
EFFECTS = {
    "told demographics": {"person": -0.5, "person, personalised": 0.5, "AI": -0.5, "AI, personalised": 0.5},
    "introduced as AI": {"person": -0.5, "person, personalised": -0.5, "AI": 0.5, "AI, personalised": 0.5},
    "both beyond each": {"person": 1.0, "person, personalised": -1.0, "AI": -1.0, "AI, personalised": 1.0},
}
POINTS = 4
"""Points from one end of the scale of five to the other."""
CAPTION = (
    "Change is in points of 1-5, positive toward the opponent's side; intervals are 95%, over rooms (debates). The "
    "same people meet in every condition: effects are means of differences within rooms (those with ratings in all four)."
)


def personalised(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yields the four conditions and is sent their tables; returns them by name."""
    found = {}
    for name, settings in CONDITIONS.items():
        found[name] = yield base.with_settings(settings)
    return found


def outcomes(found: Mapping[str, Tables]) -> Source:
    """All four as one source of people, a condition each."""
    sources = {name: of_run(tables) for name, tables in found.items()}
    people = pd.concat([one.people.assign(condition=name) for name, one in sources.items()], ignore_index=True)
    first = next(iter(sources.values()))
    return Source(RUN, people, first.moves.iloc[:0], first.unit, first.origin)


def effects(people: pd.DataFrame) -> pd.DataFrame:
    """One row an effect of EFFECTS: rooms, missing (rooms left out), estimate (points of 1-5) with its interval.

    A room counts where, in all four conditions, somebody is rated before and after and has another side.
    """
    moved = people.assign(moved=POINTS * people["side"] * (people["after"] - people["before"]))
    wide = moved.groupby(["group", "condition"])["moved"].mean().unstack().reindex(columns=list(CONDITIONS))
    known = wide.dropna()
    rows = []
    for name, weights in EFFECTS.items():
        values = (known * pd.Series(weights)).sum(axis=1).to_numpy(dtype=float)
        ends = mean_interval(values)
        mean = float(values.mean()) if len(values) else np.nan
        rows.append({"effect": name, "rooms": len(known), "missing": len(wide) - len(known), "estimate": mean,
                     "low": ends[0], "high": ends[1]})  # fmt: skip
    return pd.DataFrame(rows)


def write(found: Mapping[str, Tables], data: Path | None, folder: Path) -> Path:
    """Write personalised.md, its tables (conditions, effects) and the figure; the path of the first.

    Errors: UserError on data without it.
    """
    sources = [outcomes(found)]
    if data:
        path = find(data, SALVI)
        if not path:
            raise UserError(f"{data} holds no {SALVI[0]} (docs/human.md)")
        sources.insert(0, salvi(path))
    told = pd.concat([measure_source(source) for source in sources], ignore_index=True)
    own, header = effects(sources[-1].people), next(iter(found.values())).header
    report = Report(folder, "personalised", "Personalised persuasion")
    report.data(conditions=told, effects=own)
    report.add(CAPTION)
    report.disclaim(header)
    report.table(*_conditions(told))
    report.section("Effects in the run")
    drawn = dot_plot(
        own, ["effect"], "estimate", "change toward the opponent (points)", disclaimers.model_label(header)
    )
    report.figure(drawn, "personalised", "Effects in the run")
    change = estimate("estimate")
    report.table(
        own, {"effect": "effect", "rooms": "rooms", "left out": "missing", "change toward the opponent": change}
    )
    return report.write()


def _conditions(told: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """Rows and headings of the table."""
    rows = []
    for (source, condition), part in told[told["condition"] != ALL].groupby(["source", "condition"], sort=False):
        keyed = part.set_index("key")
        toward, still, own = (keyed.loc[key] for key in ("toward", "still", "own"))
        points = [POINTS * toward[name] for name in ("estimate", "low", "high")]
        shares = [format_estimate(one["estimate"], one["low"], one["high"]) for one in (still, own)]
        rows.append([str(source), str(condition), str(toward["n"]), str(toward["people"]), str(toward["missing"]),
                     format_estimate(*points), *shares])  # fmt: skip
    heads = ["source", "condition", "debates", "people", "missing", "change toward the opponent", "share that does not move",
             "change against own initial opinion, r"]  # fmt: skip
    return rows, heads
