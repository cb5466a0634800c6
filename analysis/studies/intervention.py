"""The same debates with interventions and without: two branches of one past.

    without   the control: nothing comes from outside
    with      the timetable
    placebo   between them, if wanted: the timetable, in which what is said has no content

Rooms, people and seeds are the same, and up to the first intervention every word and every rating is: the second branch begins
with the replies of the first. After it everything is a difference within a room, with minus without. What is said then is sampled
anew in both, so that ratings differ by chance even where the intervention does nothing: the intervals over rooms hold that.

The report of a study with and without interventions: what was done, what it changed, a figure of both branches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parley.agents.surrogate_agent import SURROGATE
from parley.analysis import disclaimers, provenance
from parley.analysis.bootstrap import FEWEST, mean_interval, too_few, why_no_interval
from parley.analysis.figures import make_panels, new_figure, styles_of_run
from parley.analysis.formatting import (
    count_phrase,
    format_estimate,
    format_number,
    group_title,
    seat_title,
)
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.plots import MARK, mark
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.interventions.base import Saying
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.planner import Planner
from parley.model.scenario import Scenario

WITHOUT, PLACEBO, WITH = "without", "placebo", "with"
BRANCHES = (WITHOUT, WITH)
_SAID = ["room", "round", "iteration", "agent", "text", "reason"]
_RATED = ["room", "round", "iteration", "agent", "probe", "rating", "raw", "reason"]
_KEYS = ["topic", "group", "party", "told", "round", "measure"]
_COLUMNS = [*_KEYS, WITHOUT, WITH, "effect", "effect_low", "effect_high", "rooms", "sd", "missing", "reason"]


@dataclass(frozen=True)
class InterventionResult:
    """`tables` with interventions, the `first` round of one, `effects` and `points` (see the functions of these names), and how
    many rooms had nobody for whom an intervention was (`untouched`: they are left out of both). `beside`: where a placebo was
    held, the effects of it and against it, by `contrast`.
    """

    tables: Tables
    first: int
    effects: pd.DataFrame
    points: pd.DataFrame
    untouched: int
    beside: pd.DataFrame | None = None


def intervention(base: Scenario, placebo: bool = False) -> Generator[Scenario, Tables, InterventionResult]:
    """Yields the scenario without and with its interventions (between them with a placebo), is sent the records' tables.

    Errors: UserError.
    """
    if not base.interventions:
        raise UserError(f"{base.name} has no intervention to compare: give one with --intervene")
    if base.surveys.survey == "never":
        raise UserError("an effect is a difference of ratings: set survey=rounds or survey=ends")
    return _branches(base, emptied(base) if placebo else None)


def _branches(base: Scenario, empty: Scenario | None) -> Generator[Scenario, Tables, InterventionResult]:
    without = yield control(base)
    beside = (yield empty) if empty else None
    held = yield base
    found = compared(without, held)
    if beside is None:
        return found
    parts = {f"{PLACEBO} - {WITHOUT}": compared(without, beside), f"{WITH} - {PLACEBO}": compared(beside, held)}
    drawn = parts[f"{PLACEBO} - {WITHOUT}"].points
    also = drawn[drawn["branch"] == WITH].assign(branch=PLACEBO)
    effects_ = pd.concat({name: one.effects for name, one in parts.items()}, names=["contrast"]).reset_index("contrast")
    return replace(found, points=pd.concat([found.points, also], ignore_index=True), beside=effects_)


def placebo_of(base: Scenario, wanted: bool | None) -> tuple[bool, str]:
    """Whether there is a placebo branch, and why not where nobody decided (`wanted` None): there is one wherever there can be."""
    if wanted is not None or not base.interventions:
        return bool(wanted), ""
    try:
        emptied(base)
    except UserError as error:
        return False, str(error).removeprefix("--placebo: ")
    return True, ""


def emptied(base: Scenario) -> Scenario:
    """The same timetable, in which what is said has no content. Errors: UserError where nothing is said, or what depends."""
    if any(isinstance(one, Planner) for one in base.interventions):
        raise UserError("--placebo: a planner chooses whether it says anything, so that it has no placebo")
    if any(isinstance(one, FactCheck) and one.llm for one in base.interventions):
        raise UserError(
            "--placebo: a model that checks facts may say nothing, so that it has no placebo: give its text"
        )
    empty = tuple([one.placebo() for one in base.interventions])
    if empty == base.interventions:
        raise UserError("--placebo: nothing is said in this timetable, so that there is nothing to say without content")
    return base.with_settings({"interventions": empty})


def control(base: Scenario) -> Scenario:
    """The same without its interventions: who joins does not come, who leaves stays."""
    kept = [one.control() for one in base.interventions]
    return base.with_settings({"interventions": tuple([one for one in kept if one])})


def compared(without: Tables, held: Tables) -> InterventionResult:
    """What the interventions changed. Errors: UserError where the branches differ before the first, or nobody was met."""
    first = min(one["round"] for one in held.header.scenario["interventions"])
    check_past(without, held, first)
    rooms = set(held.interventions["room"])
    if not rooms:
        raise UserError("no intervention reached an agent: no room has the parties or seats in to=...")
    pairs = _pairs(without, held)
    met = pairs[pairs["room"].isin(rooms)]
    return InterventionResult(
        held, first, effects(met[met["round"] >= first]), points(met), pairs["room"].nunique() - len(rooms)
    )


def check_past(without: Tables, held: Tables, first: int) -> None:
    """Errors: UserError unless every word and rating before round `first` is the same in both."""
    for name, columns in (("utterances", _SAID), ("attitudes", _RATED)):
        past = [frame.loc[frame["round"] < first, columns] for frame in (getattr(without, name), getattr(held, name))]
        if not past[0].reset_index(drop=True).equals(past[1].reset_index(drop=True)):
            raise UserError(
                f"{name} before round {first} differ between the branches, so that they are no pair: give another --out"
            )


def _pairs(without: Tables, held: Tables) -> pd.DataFrame:
    """A row a rating of the main probe in both branches, of those who debate: the keys of the agent, how it was read in the one
    without, told, and each measure without and with.

    told: whether an intervention was for that agent, ever.
    """
    keys = ["room", "topic", "group", "party", "agent", "round"]
    probe, values = held.header.scenario["probe"], ["iteration", "how", "attitude", "expected"]
    sides = [
        rated.loc[(rated["probe"] == probe) & (rated["group"] != REFERENCE), [*keys, *values]]
        for rated in (without.attitudes, held.attitudes)
    ]
    pairs = sides[0].merge(sides[1].drop(columns=["iteration", "how"]), on=keys, suffixes=(f" {WITHOUT}", f" {WITH}"))
    met = {(one.room, agent) for one in held.interventions.itertuples() for agent in json.loads(one.agents)}
    return pairs.assign(told=[pair in met for pair in zip(pairs["room"], pairs["agent"], strict=True)])


def effects(pairs: pd.DataFrame) -> pd.DataFrame:
    """With minus without, within rooms: one row a topic, group, party, told (or in a room with somebody who was), round, measure.

    measure: `attitude` (0-10), `expected` (mean of the answer distribution, where there is one; stand-ins of a surrogate that
    was fitted to ratings have none, and are left aside). Agents of a room are averaged first. effect with its 95% interval over
    `rooms`, sd: of the differences, one a room; without and with are means over the same rooms; missing: pairs of ratings of
    which one could not be read, left out; reason: why there is no interval (`fewer than 5 rooms`, `no variation`).
    """
    return pd.DataFrame(list(_effects(pairs)), columns=_COLUMNS)


def _effects(pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for measure in ("attitude", "expected"):
        sides = [f"{measure} {branch}" for branch in BRANCHES]
        stood = (pairs["how"] == SURROGATE) & pairs[sides].isna().all(axis=1)
        for keys, cell in pairs[~stood].groupby(_KEYS[:-1], sort=False):
            named = dict(zip(_KEYS, (*keys, measure), strict=True))
            known = cell.dropna(subset=sides)
            if len(known) or (measure == "attitude"):
                yield (
                    named
                    | effect(known.groupby("room", sort=False)[sides].mean())
                    | {"missing": len(cell) - len(known)}
                )


def effect(rooms: pd.DataFrame) -> dict[str, Any]:
    """The mean difference of a row a room of values without and with."""
    changed = (rooms.iloc[:, 1] - rooms.iloc[:, 0]).to_numpy(dtype=float)
    if not len(changed):
        return {"rooms": 0, "reason": too_few()}
    low, high = mean_interval(changed)
    means = dict(zip(BRANCHES, map(float, rooms.mean()), strict=True))
    sd = float(changed.std(ddof=1)) if len(changed) > 1 else math.nan
    found = {"effect": float(changed.mean()), "effect_low": low, "effect_high": high, "rooms": len(changed), "sd": sd}
    return means | found | {"reason": why_no_interval(changed)}


def points(pairs: pd.DataFrame) -> pd.DataFrame:
    """Mean attitudes over rooms by topic, group, party, branch and round, to draw.

    iteration: the replies so far in the branch without; where chance decides how many speak, their mean over rooms, rounded.
    """
    keys = ["topic", "group", "party", "round"]
    sides = {f"attitude {branch}": branch for branch in BRANCHES}
    by_room = pairs.groupby([*keys, "room"], sort=False)[["iteration", *sides]].mean()
    means = by_room.groupby(keys, sort=False).mean().rename(columns=sides)
    means["iteration"] = means["iteration"].round().astype("int64")
    return means.reset_index().melt([*keys, "iteration"], list(BRANCHES), "branch", "attitude")


LINES: dict[str, Any] = {WITH: "-", PLACEBO: "--", WITHOUT: ":"}
"""Solid with interventions, dashed with a placebo, dotted without."""

HOW = """Both branches have the same rooms, people and seeds, and are the same word for word before round {} (checked). After it \
an effect is with minus without, within rooms, agents of a room averaged first; brackets hold 95% intervals over \
rooms, and nothing is corrected for the number of rows. An effect without brackets cannot be told from none: fewer than 5 rooms, \
or the same difference in all. Replies after it are sampled anew in both branches: without any effect \
ratings would differ by chance too, and the intervals hold that.{}
"""
BESIDE = (
    f'The same timetable with "{Saying.EMPTY}" in the place of all that is said: what it changes '
    "is that there was an interruption; what the interventions change against it is what was said. Every round is in "
    "`placebo.csv`."
)
NO_PLACEBO = " To separate the message's content from the interruption, run with --placebo."


def write_intervention(found: InterventionResult, folder: Path) -> Path:
    """Write intervention.md, its tables (effects, points, placebo) and the figure; the path of the first."""
    header = found.tables.header
    told = f"{header.scenario['name']} on {disclaimers.model_label(header)}, seed {header.scenario['seed']}"
    report = Report(folder, "intervention", "With and without")
    report.data(effects=found.effects, points=found.points)
    report.plain(f"{told}.")
    report.disclaim(header)
    report.figure(intervention_figure(found, told), "intervention", "Attitudes with and without")
    report.add(_headline(found.effects), HOW.format(found.first, NO_PLACEBO if found.beside is None else ""))
    if found.untouched:
        report.add(f"In {count_phrase(found.untouched, 'room')} nobody was meant; they are left out.")
    report.lines(provenance.intervention_table(found.tables))
    report.section("Effects")
    report.table(*_effects_table(found, found.effects))
    if found.beside is not None:
        report.data(placebo=found.beside)
        report.section("Beside a placebo", BESIDE)
        for contrast, part in found.beside.groupby("contrast", sort=False):
            report.add(f"**{contrast}**")
            report.table(*_effects_table(found, part))
    attitudes = found.effects[found.effects["measure"] == "attitude"]
    if missing := int(attitudes["missing"].sum()):
        report.add(f"Pairs of ratings left out because one could not be read: {missing:,}.")
    report.add(
        "Every round is in `effects.csv`; the branches are whole runs, each in a folder with its own summary and transcript."
    )
    return report.write()


def intervention_figure(found: InterventionResult, caption: str) -> Figure:
    """A row for each group, a column for each topic."""
    points = found.points
    groups, topics = list(points["group"].unique()), list(points["topic"].unique())
    shown = set(points["party"])
    looks = {party: look for party, look in styles_of_run(found.tables).items() if party in shown}
    size = max(1.75 * len(topics) + 0.4, 3.5), 1.9 * len(groups) + 0.9
    with new_figure(*size, caption) as drawn:
        titles = [found.tables.title(topic) for topic in topics]
        grid = make_panels(drawn, len(groups), titles, "Number of replies", sharey=True)
        for row, group in zip(grid, groups, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                _panel(axis, points[(points["group"] == group) & (points["topic"] == topic)], looks)
                mark(axis, found.tables, group, topic)
            name = f"{group_title(group, found.tables.names)}\n" if len(groups) > 1 else ""
            row[0].set_ylabel(f"{name}Attitude (0–10)")
        drawn.legend(handles=_legend(looks, points), loc="outside lower center", ncols=3, frameon=False, fontsize=7)
    return drawn


def _panel(axis: Axes, points: pd.DataFrame, looks: dict[str, Any]) -> None:
    for (party, branch), line in points.groupby(["party", "branch"], sort=False):
        axis.plot(
            line["iteration"], line["attitude"], color=looks[party]["color"], marker=looks[party]["markers"][0], markersize=3,
            linewidth=1.1, linestyle=LINES[branch], fillstyle="full" if branch == WITH else "none",
        )  # fmt: skip
    axis.set_ylim(-0.3, 10.3)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _legend(looks: dict[str, Any], points: pd.DataFrame) -> list[Line2D]:
    held = set(points["branch"])
    parties = [
        Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=seat_title(party))
        for party, look in looks.items()
    ]
    lines = [
        Line2D([], [], color="#333333", linestyle=LINES[branch], label=branch) for branch in LINES if branch in held
    ]
    return [*parties, *lines, Line2D([], [], label="intervention", **MARK)]


def _headline(effects: pd.DataFrame) -> str:
    last = estimate_rows(effects[effects["round"] == effects["round"].max()])
    up, down = int((last["effect_low"] > 0).sum()), int((last["effect_high"] < 0).sum())
    found = (
        f"Of {count_phrase(len(last), 'line')} (one per topic, group and party), "
        "opinions after the last round are higher with than "
        f"without in {up}, lower in {down}; for {len(last) - up - down} this is not certain."
    )
    few = int((last["rooms"] < FEWEST).sum())
    return found + (f" {few} of them have fewer than {FEWEST} rooms: run more with `--repetitions`." if few else "")


def estimate_rows(effects: pd.DataFrame) -> pd.DataFrame:
    """One row a line: that of `expected`, the mean of the answer distribution, where it is known of every rating; else of
    `attitude`, which is rounded to a point.
    """
    keys = ["topic", "group", "party", "told", "round"]
    rated, expected = (effects[effects["measure"] == name].set_index(keys) for name in ("attitude", "expected"))
    counts = ["rooms", "missing"]
    sure = expected[(expected[counts] == rated[counts].reindex(expected.index)).all(axis=1)]
    return pd.concat([sure, rated.drop(sure.index)]).reset_index()


def _effects_table(found: InterventionResult, effects: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """A line a topic, group, party, whether it was told, and measure: without and with, first and last round (or the one)."""
    keys = ["topic", "group", "party", "told", "measure"]
    shown = [key for key in keys if key in ("topic", "party") or effects[key].nunique() > 1]
    ends = list(dict.fromkeys([effects["round"].min(), effects["round"].max()]))
    rows = []
    for values, line in effects.groupby(keys, sort=False):
        known = dict(zip(keys, values, strict=True))
        at = line.set_index("round").reindex(ends)  # who joins or leaves has no ratings in some rounds
        last = at.loc[ends[-1]]
        rooms = f"{0 if pd.isna(last['rooms']) else last['rooms']:.0f}"
        cells = [
            format_number(last[WITHOUT]),
            format_number(last[WITH]),
            *(_effect(at.loc[end]) for end in ends),
            rooms,
            format_number(last["sd"]),
        ]
        rows.append([_key(found, key, known[key]) for key in shown] + cells)
    named = str(effects["contrast"].iloc[0]).split(" - ")[::-1] if "contrast" in effects else [WITHOUT, WITH]
    after = [f"effect after round {ends[0]}", *(f"after round {end}" for end in ends[1:])]
    return rows, [*shown, f"{named[0]}, at the end", named[1], *after, "rooms", "SD of the effect"]


def _effect(row: pd.Series) -> str:
    return format_estimate(row["effect"], row["effect_low"], row["effect_high"])


def _key(found: InterventionResult, key: str, value: Any) -> str:
    told: dict[str, Callable[[str], str]] = {"topic": found.tables.title, "group": group_title, "party": seat_title}
    return told[key](value) if key in told else {True: "yes", False: "no"}.get(value, str(value))
