"""Who argues for what it believes, and who speaks second: how far either moves a judge, turn by turn or all at once.

After Carro et al. 2025; departures are in docs/presets.md. A judge's own drift toward one side is in every room. The second
speaker is drawn by lot, whatever its side, so that the drift cancels; for the belief it cancels between groups whose beliefs are
opposite, as far as it is the same in both: estimates are means of the groups' means.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, means_interval
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, group_title
from parley.analysis.report import Report
from parley.analysis.tables import Tables, rating_value
from parley.model.scenario import Scenario
from parley.model.trait_assignment import alternate_sides, side_of

CONDITIONS: Mapping[str, Mapping[str, str]] = {
    "sequential": {"protocol": "sequential"},
    "simultaneous": {"protocol": "simultaneous"},
}
EFFECTS = {"belief": "toward who argues for its own belief", "second": "toward who speaks second"}
NO_SIDE, NO_JUDGE = "the first debater has no side", "the judge was not rated before and after"
ALIKE = "both or none argue for their own belief"
CAPTION = (
    "Points (0-10) by which the judge's attitude moves from before the debate to after it. Intervals are 95%, over "
    "rooms within groups; `all` is the mean of the groups' means. A room without a number has a reason, and is counted."
)


def beliefs(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yields both protocols and is sent their tables; returns them by name."""
    found = {}
    for name, settings in CONDITIONS.items():
        found[name] = yield base.with_settings(settings)
    return found


def rooms(tables: Tables) -> pd.DataFrame:
    """A row a room: room, group, belief, second (points toward that debater; NaN: none), and the reason of each that is NaN."""
    seats, ratings = tables.agents, rating_value(tables).attitudes
    first, last = ratings["round"].min(), ratings["round"].max()
    told = {when: ratings[ratings["round"] == when].set_index("agent")["attitude"] for when in (first, last)}
    spoken = tables.utterances.sort_values("iteration").groupby("room", sort=False)["agent"]
    rows = []
    for room, part in seats[seats["group"].isin(tables.groups)].groupby("room", sort=False):
        *debaters, judge = part["agent"]
        moved = told[last].get(judge, np.nan) - told[first].get(judge, np.nan)
        priors = [None if pd.isna(told[first].get(one)) else float(told[first][one]) for one in debaters]
        second = list(dict.fromkeys(spoken.get_group(room)))[1]
        values = _toward(float(moved), priors, debaters.index(second))
        rows.append({"room": room, "group": part["group"].iloc[0], **values})
    return pd.DataFrame(rows)


def _toward(moved: float, priors: list[float | None], second: int) -> dict[str, float | str]:
    """The judge's move toward the one who argues for its belief, and toward the second speaker."""
    sides = alternate_sides(priors)
    reason = NO_SIDE if None in sides else NO_JUDGE if np.isnan(moved) else ""
    if reason:
        return {"belief": np.nan, "second": np.nan, "belief_reason": reason, "second_reason": reason}
    own = [side for side, prior in zip(sides, priors, strict=True) if side == side_of(prior)]
    belief = moved * (own[0] or 0) if len(own) == 1 else np.nan
    toward = moved * (sides[second] or 0)
    return {"belief": belief, "second": toward, "belief_reason": "" if len(own) == 1 else ALIKE, "second_reason": ""}


def effects(found: pd.DataFrame, name: str) -> Iterator[dict[str, object]]:
    """For each effect a row a group and one of all: rooms, estimate, low, high, reasons of the others."""
    for effect in EFFECTS:
        groups = {
            str(group): part[effect].dropna().to_numpy(dtype=float)
            for group, part in found.groupby("group", sort=False)
        }
        reasons = found[f"{effect}_reason"]
        for group, values in groups.items():
            here = count_table(reason for reason in reasons[found["group"] == group] if reason)
            yield {"protocol": name, "effect": effect, "group": group, "rooms": len(values), "left_out": here,
                   **_mean([values])}  # fmt: skip
        every, out = sum(map(len, groups.values())), count_table(reason for reason in reasons if reason)
        yield {"protocol": name, "effect": effect, "group": "all", "rooms": every,
               "left_out": out, **_mean(list(groups.values()))}  # fmt: skip


def _mean(groups: list[Floats]) -> dict[str, float]:
    """Mean of the groups' means with its interval."""
    if not all(map(len, groups)):
        return dict.fromkeys(("estimate", "low", "high"), np.nan)
    value = float(np.mean([values.mean() for values in groups]))
    low, high = means_interval(groups)
    return {"estimate": value, "low": low, "high": high}


def write(found: Mapping[str, Tables], folder: Path) -> Path:
    """Write beliefs.md, its tables (rooms, effects) and the figure; the path of the first."""
    told = {name: rooms(tables) for name, tables in found.items()}
    table = pd.DataFrame([row for name, part in told.items() for row in effects(part, name)])
    header = next(iter(found.values())).header
    report = Report(folder, "beliefs", "Beliefs, order and a judge")
    report.data(rooms=pd.concat([part.assign(protocol=name) for name, part in told.items()]), effects=table)
    report.add(CAPTION)
    report.disclaim(header)
    moves = table.assign(toward=table["effect"].map(EFFECTS))
    every = moves[moves["group"] == "all"]
    drawn = dot_plot(
        every, ["protocol", "toward"], "estimate", "The judge's move (points)", disclaimers.model_label(header)
    )
    report.figure(drawn, "beliefs", "How far the judge moves")
    columns: Mapping[str, Column] = {
        "protocol": "protocol", "the judge moves": "toward", "group": _group, "rooms": "rooms",
        "points": estimate("estimate"), "left out": "left_out",
    }  # fmt: skip
    report.table(moves, columns)
    return report.write()


def _group(row: Mapping[str, str]) -> str:
    return row["group"] if row["group"] == "all" else group_title(row["group"])
