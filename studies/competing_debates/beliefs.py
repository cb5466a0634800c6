"""How far a judge moves toward the debater that argues for its own belief, and toward the debater that speaks second.

Source: Carro et al. 2025; docs/presets.md lists the departures. Debaters speak in turn or at once. The judge's own drift toward
one side is in every room. For the order it cancels, because the second speaker is drawn by lot. For the belief it cancels between
groups with opposite beliefs, as far as it is the same in both: therefore estimates are means of the groups' means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import Floats, means_interval
from parley.analysis.studies.paired_conditions import conditions_report, unit_means
from parley.analysis.tables import Tables
from parley.model.titles import group_title
from parley.model.trait_assignment import alternate_sides, side_of

CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "sequential": {"protocol": "sequential"},
    "simultaneous": {"protocol": "simultaneous"},
}
EFFECTS = {"belief": "toward the debater who argues for its own belief", "second": "toward the second speaker"}
NO_SIDE, NO_JUDGE = "the first debater does not argue for a side", "the judge has no rating before or after the debate"
ALIKE = "both debaters, or neither, argue for their own belief"
CAPTION = (
    "Points (0-10) by which the judge's attitude changes during the debate. Brackets are 95% confidence intervals over "
    "repetitions within groups, because people meet again on every topic. The row `all` is the mean over groups. Rooms "
    "without a number are left out and counted by reason."
)


def rooms(tables: Tables) -> pd.DataFrame:
    """Return one row per room: room, group, repetition, belief and second (points toward that debater; NaN: missing) with their
    reasons.
    """
    seats, ratings = tables.agents, tables.attitudes
    before, after = (
        ratings[ratings["round"] == round_].set_index("agent")["attitude"]
        for round_ in (ratings["round"].min(), ratings["round"].max())
    )
    spoken = tables.utterances.sort_values("iteration").groupby("room", sort=False)["agent"]
    rows = []
    for room, seated in seats[seats["group"].isin(tables.groups)].groupby("room", sort=False):
        *debaters, judge = seated["agent"]
        change = float(after.get(judge, np.nan) - before.get(judge, np.nan))
        priors = [None if pd.isna(before.get(debater)) else float(before[debater]) for debater in debaters]
        second = list(dict.fromkeys(spoken.get_group(room)))[1]
        moves = _toward(change, priors, debaters.index(second))
        rows.append({"room": room, **seated[["group", "repetition"]].iloc[0], **moves})
    return pd.DataFrame(rows)


def _toward(change: float, priors: list[float | None], second: int) -> dict[str, float | str]:
    """Return the judge's move toward the debater that argues for its own belief, and toward the second speaker."""
    sides = alternate_sides(side_of(priors[0]), len(priors))
    reason = NO_SIDE if None in sides else NO_JUDGE if np.isnan(change) else ""
    if reason:
        return {"belief": np.nan, "second": np.nan, "belief_reason": reason, "second_reason": reason}
    own_sides = [side or 0 for side, prior in zip(sides, priors, strict=True) if side == side_of(prior)]
    belief = change * own_sides[0] if len(own_sides) == 1 else np.nan
    toward = change * (sides[second] or 0)
    return {
        "belief": belief,
        "second": toward,
        "belief_reason": "" if len(own_sides) == 1 else ALIKE,
        "second_reason": "",
    }


def effects(by_room: pd.DataFrame, protocol: str) -> Iterator[dict[str, object]]:
    """Return for each effect a row per group and a row `all`: rooms, left_out (reasons), estimate with its interval."""
    for effect in EFFECTS:
        grouped = list(by_room.groupby("group", sort=False))
        values = [unit_means(group_rooms.set_index("repetition")[effect]) for _, group_rooms in grouped]
        cells = [(str(group), group_rooms, [here]) for (group, group_rooms), here in zip(grouped, values, strict=True)]
        for group, group_rooms, groups in [*cells, ("all", by_room, values)]:
            reasons = count_table(filter(None, group_rooms[f"{effect}_reason"]))
            counts = {"group": group, "rooms": int(group_rooms[effect].count()), "left_out": reasons}
            yield {"protocol": protocol, "effect": effect, **counts, **_mean_of_groups(groups)}


def _mean_of_groups(groups: list[Floats]) -> dict[str, float]:
    """Return the mean of the groups' means with its interval."""
    if not all(map(len, groups)):
        return dict.fromkeys(("estimate", "low", "high"), np.nan)
    low, high = means_interval(groups)
    return {"estimate": float(np.mean([values.mean() for values in groups])), "low": low, "high": high}


def write(runs: Mapping[str, Tables], folder: Path) -> Path:
    """Write beliefs.md, its tables (rooms, effects) and its figure; return the path of the page."""
    return beliefs_report(runs, folder).write()


def beliefs_report(runs: Mapping[str, Tables], folder: Path) -> Report:
    """Return the report on beliefs and order, with its tables (rooms, effects) and its figure written."""
    by_room = {name: rooms(tables) for name, tables in runs.items()}
    table = pd.DataFrame([row for name, rooms in by_room.items() for row in effects(rooms, name)])
    header = next(iter(runs.values())).header
    tables = {"rooms": pd.concat([rooms.assign(protocol=name) for name, rooms in by_room.items()]), "effects": table}
    report = conditions_report(folder, "beliefs", "Beliefs, order and a judge", CAPTION, header, **tables)
    moves = table.assign(toward=table["effect"].map(EFFECTS))
    overall, label = moves[moves["group"] == "all"], disclaimers.model_label(header)
    figure = dot_plot(overall, ["protocol", "toward"], "estimate", "The judge's move (points)", label)
    report.figure(figure, "beliefs", "How far the judge moves")
    columns: Mapping[str, Column] = {
        "protocol": "protocol", "the judge moves": "toward", "group": _group, "rooms": "rooms",
        "points": estimate("estimate"), "left out": "left_out",
    }  # fmt: skip
    report.table(moves, columns)
    return report


def _group(row: Mapping[str, str]) -> str:
    return row["group"] if row["group"] == "all" else group_title(row["group"])
