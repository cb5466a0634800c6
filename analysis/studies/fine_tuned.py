"""The same debates before and after fine-tuning (Taubenfeld et al. 2024, Figs 6, 11, 12), and the remedy that they ask for.

    before     every seat speaks through the model as it is
    after      every seat speaks through the adapter of one party
    per seat   Republicans through the Republican adapter, Democrats through theirs, the Default through the model as it is:
               does drift toward the model's own bias stop?

Rooms, people, seeds are the same in all arms, so that everything is a difference within a room. What a recipe does is a statement
about trainings: its unit is the training seed, and below five of them there is no interval. Rooms are the unit of a statement
about the adapters at hand, which is given as well, under names of its own.

The report of a study before and after fine-tuning: tables with intervals, the paper's figure, what to make of it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.bootstrap import FEWEST, mean_interval
from parley.analysis.figures import STYLES, make_panels, new_figure
from parley.analysis.formatting import Column, estimate, format_number, format_span
from parley.analysis.metrics._cells import DEFAULT
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import TopicBank, topics
from parley.model.events import Header
from parley.model.scenario import Scenario

BEFORE, AFTER, SEATS = "before", "after", "per seat"


@dataclass(frozen=True)
class Arm:
    """One run: which kind, whose adapter (`direction`, empty before), of which training seed, the model, PARTY:ADAPTER."""

    kind: str
    spec: str
    direction: str = ""
    seed: int = 0
    adapters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """`after-republican-0`: the run's folder."""
        return "-".join(
            filter(None, (self.kind.replace(" ", "_"), self.direction, f"{self.seed}" if self.adapters else ""))
        )


@dataclass(frozen=True)
class StudyRecords:
    """An arm and its record."""

    arm: Arm
    tables: Tables


@dataclass(frozen=True)
class TuningResult:
    """`header` of the record before fine-tuning, `points` to draw, `shifts` between before and after, `remedy` of adapters per
    seat (see the functions of these names).
    """

    header: Header

    points: pd.DataFrame
    shifts: pd.DataFrame
    remedy: pd.DataFrame


def fine_tuned(base: Scenario, arms: Sequence[Arm]) -> Generator[Scenario, Tables, TuningResult]:
    """Yields a scenario an arm, the one before fine-tuning first, is sent the tables of its record."""
    held = []
    for arm in arms:
        tables = yield base.with_settings({"llm": arm.spec, "adapters": arm.adapters})
        held.append(StudyRecords(arm, tables))
    return TuningResult(_before(held).tables.header, points(held), shifts(held), remedy(held))


def _before(held: Sequence[StudyRecords]) -> StudyRecords:
    (found,) = [one for one in held if one.arm.kind == BEFORE]
    return found


def points(held: Sequence[StudyRecords]) -> pd.DataFrame:
    """Means to draw: kind, direction, topic, party, iteration, attitude and expected with their errors, rooms, seeds.

    `attitude_error` and `expected_error` are standard errors: over training seeds where there are several, else over rooms; NaN
    of a single one.
    """
    parts = [
        one.tables.attitudes.assign(kind=one.arm.kind, direction=one.arm.direction, training=one.arm.seed)
        for one in held
    ]
    rated = pd.concat(parts)
    keys = ["kind", "direction", "topic", "party", "iteration"]
    counts = rated.groupby(keys, sort=False).agg(rooms=("room", "nunique"), seeds=("training", "nunique"))
    several = rated.groupby(["kind", "direction"])["training"].transform("nunique") > 1
    rated["unit"] = rated["training"].astype(str).where(several, rated["room"].astype(str))
    units = rated.groupby([*keys, "unit"], sort=False)[["attitude", "expected"]].mean().groupby(keys, sort=False)
    errors = units.sem().add_suffix("_error")
    return pd.concat([units.mean(), errors, counts], axis=1).reset_index()


def shifts(held: Sequence[StudyRecords]) -> pd.DataFrame:
    """After minus before, within rooms: one row a direction, topic, party and measure.

    measure: `first` and `last` rating, the same as means of the answer distributions (`first expected`, where there are any),
    `speech` (mean grade of what is said, where the sentences of a model have grades). Columns: before, after, shift, shift_low,
    shift_high (95%, over training seeds; NaN below five), seeds (shift by training seed), rooms_low, rooms_high (95%, over rooms:
    of these adapters alone), rooms, wanted (the side of the direction: 1 up, -1 down). No interval where nothing varies.
    """
    before = _before(held)
    rows = []
    for direction, others in _by_direction(held, AFTER):
        for (topic, party, measure), was in measured(before.tables).items():
            after = [measured(one.tables).get((topic, party, measure), was * math.nan) for one in others]
            row = {"direction": direction, "topic": topic, "party": party, "measure": measure}
            rows.append(row | _shift(was, after) | {"wanted": side(topic, direction)})
    return pd.DataFrame(rows, columns=[*_KEYS, *_SHIFT, "wanted"])


def remedy(held: Sequence[StudyRecords]) -> pd.DataFrame:
    """Drift of each party toward the base model's Default, before and with adapters per seat: one row a topic and party.

    Drift is the change from the first to the last rating, positive toward the side on which the Default is before fine-tuning
    (`sides`): the same direction in all arms. Columns as those of `shifts`, but for wanted (a negative shift is less drift).
    """
    before = _before(held)
    rows = []
    for _, others in _by_direction(held, SEATS):
        toward = sides(before.tables)
        for (topic, party, measure), rooms in drift(before.tables, toward).items():
            after = [drift(one.tables, toward).get((topic, party, measure), rooms * math.nan) for one in others]
            row = {"direction": "", "topic": topic, "party": party, "measure": measure}
            rows.append(row | _shift(rooms, after))
    return pd.DataFrame(rows, columns=[*_KEYS, *_SHIFT]).drop(columns="direction")


_KEYS = ("direction", "topic", "party", "measure")
_SHIFT = ("before", "after", "shift", "shift_low", "shift_high", "seeds", "rooms_low", "rooms_high", "rooms")


def measured(tables: Tables) -> dict[tuple[str, str, str], pd.Series]:
    """By topic, party and measure: one number a room (NaN where there is none)."""
    found: dict[tuple[str, str, str], pd.Series] = {}
    last = tables.attitudes["round"].max()
    for (topic, party), ratings in tables.attitudes.groupby(["topic", "party"], sort=False):
        for column, name in (("attitude", ""), ("expected", " expected")):
            rooms = ratings.pivot_table(column, "room", "round", sort=False)
            if not rooms.empty:  # a round in which nobody's rating was read has no column
                rooms = rooms.reindex(columns=sorted({0, last}))
                found[topic, party, f"first{name}"], found[topic, party, f"last{name}"] = rooms[0], rooms[last]
    for (topic, party), lines in tables.utterances.groupby(["topic", "party"], sort=False):
        if topic in topics():
            grades = lines["text"].map(partial(_grade, topics()[topic]))
            found[topic, party, "speech"] = grades.astype("float64").groupby(lines["room"], sort=False).mean()
    return found


def _grade(bank: TopicBank, text: str | None) -> float | None:
    return bank.grade(text) if text else None


def sides(before: Tables) -> dict[tuple[str, str, str], float]:
    """By topic, partisan party and `drift` or `drift expected`: 1 where the Default's first rating is above the party's, -1 where
    it is below, NaN where they are the same.
    """
    ratings, found = measured(before), {}
    for topic, party, name in ratings:
        if name.startswith("first") and party != DEFAULT and (topic, DEFAULT, name) in ratings:
            gap = ratings[topic, DEFAULT, name].mean() - ratings[topic, party, name].mean()
            found[topic, party, name.replace("first", "drift")] = float(np.sign(gap)) or math.nan
    return found


def drift(tables: Tables, toward: Mapping[tuple[str, str, str], float]) -> dict[tuple[str, str, str], pd.Series]:
    """Last minus first rating of each room, positive toward the side that is given for topic, party and measure."""
    ratings, found = measured(tables), {}
    for (topic, party, name), sign in toward.items():
        kind = name.removeprefix("drift")
        if (topic, party, f"first{kind}") in ratings:
            found[topic, party, name] = sign * (
                ratings[topic, party, f"last{kind}"] - ratings[topic, party, f"first{kind}"]
            )
    return found


def side(topic: str, party: str) -> int:
    """1 when the party's people rate the topic higher, else -1."""
    return 1 if load_topic(topic).high_party == party else -1


def _by_direction(held: Sequence[StudyRecords], kind: str) -> Iterator[tuple[str, list[StudyRecords]]]:
    alike = [one for one in held if one.arm.kind == kind]
    for direction in dict.fromkeys(one.arm.direction for one in alike):
        yield direction, [one for one in alike if one.arm.direction == direction]


def _shift(was: pd.Series, after: Sequence[pd.Series]) -> dict[str, Any]:
    """The mean over training seeds within each room, minus what it was before. Each training seed is one unit."""
    changed = pd.concat([one - was for one in after], axis=1)
    rooms = changed.mean(axis=1, skipna=False).dropna()
    kept = was.loc[rooms.index]
    before = float(kept.mean()) if len(kept) else math.nan
    shift = float(rooms.mean()) if len(rooms) else math.nan
    seeds = changed.loc[rooms.index].mean().to_numpy(dtype=float)
    told = tuple(round(float(one), 3) for one in seeds)
    ends = (*mean_interval(seeds), told, *mean_interval(rooms.to_numpy(dtype=float)))
    return dict(zip(_SHIFT, (before, before + shift, shift, *ends, len(rooms)), strict=True))


LINES: dict[str, Any] = {BEFORE: "-", AFTER: ":", SEATS: (0, (4, 2))}
"""Solid before, dotted after (as in the paper), dashed with adapters per seat."""


def write_fine_tuned(found: TuningResult, folder: Path, base: Scenario) -> Path:
    """Write fine_tuned.md, its tables (points, shifts, remedy) and the figure; the path of the first."""
    model = disclaimers.model_label(found.header)
    caption = f"{base.repetitions} rooms a topic, {base.rounds} rounds, seed {base.seed}, {base.surveys.probe}, {model}"
    report = Report(folder, "fine_tuned", "Before and after fine-tuning")
    report.data(points=found.points, shifts=found.shifts, remedy=found.remedy)
    report.add(f"{caption}.\n{_unit(found.shifts)} Everything is compared within rooms: same people, seats and seeds.")
    report.add(disclaimers.disclaimer(found.header))
    report.figure(fine_tuned_figure(found, caption), "fine_tuned", "Rating and expected rating by reply")
    report.add(ANSWERS)
    for direction, rows in found.shifts.groupby("direction", sort=False):
        report.section(f"On the {direction.title()} adapter", _headline(rows))
        report.table(rows, SHIFTS)
    if len(found.remedy):
        report.section("Adapters per seat", _verdict(found.remedy))
        report.table(found.remedy, SHIFTS)
    return report.write()


MEASURES = {"attitude": "rating", "expected": "expected rating"}
"""What is drawn: what the paper draws, the answer at temperature 0, and the mean of the answer distribution where it is known."""


def fine_tuned_figure(found: TuningResult, caption: str) -> Figure:
    """Two rows for each direction (and for adapters per seat), rating and expected rating; a column for each topic."""
    points = found.points
    kinds = [(kind, direction) for kind, direction in points[["kind", "direction"]].drop_duplicates().itertuples(index=False)
             if kind != BEFORE]  # fmt: skip
    drawable = [name for name in MEASURES if points[name].notna().any()] or ["attitude"]
    rows = [(kind, direction, measure) for kind, direction in kinds for measure in drawable]
    columns = list(points["topic"].unique())
    size = 1.75 * len(columns) + 0.6, 1.6 * len(rows) + 0.9
    with new_figure(*size, f"{caption}\n{_bars(points)}") as drawn:
        titles = [load_topic(topic).heading for topic in columns]
        grid = make_panels(drawn, max(len(rows), 1), titles, "replies", sharex=True, sharey=True)
        for axes, (kind, direction, measure) in zip(grid, rows, strict=False):
            for axis, topic in zip(axes, columns, strict=True):
                _panel(axis, points[points["topic"] == topic], kind, direction, measure)
            axes[0].set_ylabel(
                f"{direction.title() + ' adapter' if direction else 'adapters per seat'}\n{MEASURES[measure]}"
            )
        for axis in grid[-1]:
            axis.set_xticks(sorted(points["iteration"].unique()))
        handles = _legend({kind for kind, _ in kinds})
        drawn.legend(
            handles=handles, loc="outside lower center", ncols=6 if len(columns) > 2 else 3, frameon=False, fontsize=7
        )
    return drawn


def _bars(points: pd.DataFrame) -> str:
    trained = points[points["kind"] != BEFORE]
    seeds = int(trained["seeds"].max()) if len(trained) else 0
    over = (
        f"over {seeds} training seeds (before fine-tuning: over rooms)"
        if seeds > 1
        else "over rooms: one training seed"
    )
    return f"Bars: one standard error, {over}."


def _panel(axis: Axes, points: pd.DataFrame, kind: str, direction: str, measure: str) -> None:
    for party, look in STYLES.items():
        for shown, line in ((BEFORE, ""), (kind, direction)):
            part = points[(points["kind"] == shown) & (points["direction"] == line) & (points["party"] == party)]
            axis.errorbar(part["iteration"], part[measure], yerr=part[f"{measure}_error"], color=look["color"],
                          marker=look["markers"][0], markersize=3, linewidth=1.1, elinewidth=0.7, linestyle=LINES[shown],
                          fillstyle="full" if shown == BEFORE else "none")  # fmt: skip
    axis.set_ylim(0, 10)
    axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)


def _legend(kinds: set[str]) -> list[Line2D]:
    parties = [Line2D([], [], color=look["color"], marker=look["markers"][0], markersize=3, label=party.title())
               for party, look in STYLES.items()]  # fmt: skip
    lines = [Line2D([], [], color="#333333", linestyle=LINES[kind], label=kind) for kind in (BEFORE, *sorted(kinds))]
    return [*parties, *lines]


ANSWERS = (
    "`first` and `last` are answers at temperature 0, which the paper draws; `expected` is the mean of the answer "
    "distribution. A model can move the second without the first: then its likeliest answer has stayed."
)
SHIFTS: Mapping[str, Column] = {
    "topic": lambda row: load_topic(row["topic"]).heading, "party": lambda row: row["party"].title(), "measure": "measure",
    "before": "before", "after": "after", "change": estimate("shift"),
    "by training seed": lambda row: ", ".join(map(format_number, row["seeds"])),
    "over rooms, these adapters": lambda row: format_span(row["rooms_low"], row["rooms_high"]), "rooms": "rooms",
}  # fmt: skip


def _unit(rows: pd.DataFrame) -> str:
    """What the intervals of the column `change` are over, or why there are none."""
    seeds = _seeds(rows)
    if seeds >= FEWEST:
        return f"The brackets of `change` hold 95% intervals over {seeds} training seeds."
    return (
        f"{seeds} training seed{'s' * (seeds != 1)}: what follows holds for {'these adapters' if seeds != 1 else 'this adapter'} "
        f"only, and says nothing of the recipe. {FEWEST} seeds are needed for an interval (`--tuned` given {FEWEST} times)."
    )


def _seeds(rows: pd.DataFrame) -> int:
    return max(map(len, rows["seeds"]), default=0)


def _headline(rows: pd.DataFrame) -> str:
    """On how many topics each of the Default's measures went to the side of the direction, and on how many away from it."""
    own = rows[rows["party"] == DEFAULT]
    parts = [f"{name}: {_counted(part)}" for name, part in own.groupby("measure", sort=False)]
    return f"The Default, toward the side of the adapter's party: {'; '.join(parts)}."


def _counted(part: pd.DataFrame) -> str:
    """With enough training seeds by their intervals; else in how many topics every adapter went there, which is no verdict."""
    if _seeds(part) >= FEWEST:
        there = ((part["wanted"] > 0) & (part["shift_low"] > 0)) | ((part["wanted"] < 0) & (part["shift_high"] < 0))
        away = ((part["wanted"] < 0) & (part["shift_low"] > 0)) | ((part["wanted"] > 0) & (part["shift_high"] < 0))
        unclear = len(part) - int(there.sum()) - int(away.sum())
        return f"{int(there.sum())} of {len(part)} topics, {int(away.sum())} away, {unclear} not clear"
    signs = [[one * wanted for one in seeds] for seeds, wanted in zip(part["seeds"], part["wanted"], strict=True)]
    there, away = (sum(bool(own) and all(sign * one > 0 for one in own) for own in signs) for sign in (1, -1))
    return f"{there} of {len(part)} topics with every adapter at hand, {away} away"


def _verdict(rows: pd.DataFrame) -> str:
    if _seeds(rows) < FEWEST:
        less = sum(bool(own) and all(one < 0 for one in own) for own in rows["seeds"])
        return (
            f"Drift toward the base model's Default is smaller with every pair of adapters at hand in {less} of {len(rows)} "
            "lines (one a topic, party and measure). That is no verdict on the recipe: there are too few training seeds."
        )
    less, more = int((rows["shift_high"] < 0).sum()), int((rows["shift_low"] > 0).sum())
    return (
        f"Drift toward the base model's Default became smaller in {less} of {len(rows)} lines (one a topic, party and measure), "
        f"larger in {more}; {len(rows) - less - more} are not clear."
    )
