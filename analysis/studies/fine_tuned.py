"""The same debates before and after fine-tuning (Taubenfeld et al. 2024, Figs 6, 11, 12), and with adapters per seat.

    before     every seat speaks through the model as it is
    after      every seat speaks through the adapter of one party
    shuffled   every seat speaks through an adapter that was trained on answers of shuffled parties: what training moves by itself
    per seat   each party speaks through its own adapter, the Default through the model as it is:
               does drift toward the model's own bias stop?

Rooms, people and seeds are the same in all arms, so that every comparison is a difference within a room. A statement about a
recipe of training has the training seed as its unit; with fewer than five seeds there is no interval. A statement about the
adapters of this study has the room as its unit, and columns of its own (`rooms_low`, `rooms_high`).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.society import load_society, party_name
from parley.agents.topic import load_topic
from parley.analysis import disclaimers
from parley.analysis.contrasts import amount, movement, to_and_from
from parley.analysis.figures import make_panels, new_figure, styles_by_party
from parley.analysis.formatting import Column, count_phrase, estimate, format_number, format_span
from parley.analysis.metrics._cells import DEFAULT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, Ends, bounds_of_difference, mean_interval
from parley.analysis.studies.paired_conditions import draw_attitudes, legend_lines
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topic_bank
from parley.model.events import Header
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases

BEFORE, AFTER, SHUFFLED, SEATS = "before", "after", "shuffled", "per seat"
LINES: dict[str, Any] = {BEFORE: "-", AFTER: ":", SHUFFLED: (0, (1, 3)), SEATS: (0, (4, 2))}
"""Solid before and dotted after, as in the paper; sparse dots with shuffled parties, dashed with adapters per seat."""
ROWS_OF = {SHUFFLED: "shuffled parties", SEATS: "adapters per seat"}
MEASURES = {"answer": "rating", "expected": "expected rating"}
"""What is drawn: the answer at temperature 0, as in the paper, and the mean of the answer distribution where it is known."""
_KEYS = ("topic", "party", "measure")
_SHIFT = ("before", "after", "shift", "shift_low", "shift_high", "seeds", "rooms_low", "rooms_high", "rooms")
SCALE = (0.0, 10.0)
Values = dict[tuple[str, str, str], pd.Series]
"""One number per room (NaN: missing), by topic, party and measure."""


class Arm(NamedTuple):
    """One run: its kind, its model, the party of its adapter (empty before, and of shuffled parties), the training seed,
    PARTY:ADAPTER, and which adapter of shuffled parties it is.
    """

    kind: str
    spec: str
    direction: str = ""
    seed: int = 0
    adapters: tuple[str, ...] = ()
    null: str = ""

    @property
    def name(self) -> str:
        """The run's folder: `after-spd-0`."""
        seed = f"{self.seed}" if self.adapters else ""
        return "-".join(filter(None, (self.kind.replace(" ", "_"), self.direction, seed, self.null)))

    @property
    def training(self) -> str:
        """What tells the trainings of a kind and direction apart."""
        return f"{self.seed} {self.null}".strip()


class StudyRecords(NamedTuple):
    """An arm and the tables of its run."""

    arm: Arm
    tables: Tables


@dataclass(frozen=True)
class TuningResult:
    """The header of the run before fine-tuning, and the frames of `points`, `shifts` and `remedy`."""

    header: Header
    points: pd.DataFrame
    shifts: pd.DataFrame
    remedy: pd.DataFrame


def fine_tuned(base: Scenario, arms: Sequence[Arm]) -> Generator[Scenario, Tables, TuningResult]:
    """Yield one scenario per arm, the arm before fine-tuning first, and receive the tables of its run."""
    records = []
    for arm in arms:
        tables = yield base.with_settings({"llm": arm.spec, "adapters": arm.adapters})
        records.append(StudyRecords(arm, tables))
    return TuningResult(_before(records).header, points(records), shifts(records), remedy(records))


def _before(records: Sequence[StudyRecords]) -> Tables:
    (tables,) = [tables for arm, tables in records if arm.kind == BEFORE]
    return tables


def points(records: Sequence[StudyRecords]) -> pd.DataFrame:
    """Return means to draw: kind, direction, topic, party, iteration, answer and expected with their errors, rooms, seeds.

    `answer_error` and `expected_error` are standard errors: over training seeds where there are several, else over rooms; NaN
    of a single one.
    """
    rated = pd.concat(
        tables.attitudes.assign(kind=arm.kind, direction=arm.direction, training=arm.training)
        for arm, tables in records
    )
    keys = ["kind", "direction", "topic", "party", "iteration"]
    counts = rated.groupby(keys, sort=False).agg(rooms=("room", "nunique"), seeds=("training", "nunique"))
    several = rated.groupby(["kind", "direction"])["training"].transform("nunique") > 1
    rated["unit"] = rated["training"].astype(str).where(several, rated["room"].astype(str))
    units = rated.groupby([*keys, "unit"], sort=False)[["answer", "expected"]].mean().groupby(keys, sort=False)
    return pd.concat([units.mean(), units.sem().add_suffix("_error"), counts], axis=1).reset_index()


def shifts(records: Sequence[StudyRecords]) -> pd.DataFrame:
    """Return after minus before, within rooms: one row per direction, topic, party and measure (`measured`).

    Columns: before, after, shift, shift_low, shift_high (95%, over training seeds; NaN below five), seeds (shift by training
    seed), rooms_low, rooms_high (95%, over rooms: of these adapters only), rooms, wanted (the side of the direction: 1 up, -1
    down), shuffled (shift by adapter of shuffled parties). No interval where nothing varies.
    """
    after, before = [record for record in records if record.arm.kind == AFTER], measured(_before(records))
    nulls = [measured(tables) for arm, tables in records if arm.kind == SHUFFLED]
    rows = [
        {"direction": direction, **row, "wanted": side(row["topic"], direction), "shuffled": _means(before, nulls, row)}
        for direction in dict.fromkeys(arm.direction for arm, _ in after)
        for row in _shifts(before, [measured(tables) for arm, tables in after if arm.direction == direction], SCALE)
    ]
    return pd.DataFrame(rows, columns=["direction", *_KEYS, *_SHIFT, "wanted", "shuffled"])


def _means(before: Values, after: Sequence[Values], row: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the mean shift of each training at the topic, party and measure of a row."""
    key = (row["topic"], row["party"], row["measure"])
    changes = [values.get(key, before[key] * math.nan) - before[key] for values in after]
    return tuple(round(float(change.mean()), 3) for change in changes)


def remedy(records: Sequence[StudyRecords]) -> pd.DataFrame:
    """Return one row per topic, party and measure: drift toward the base model's Default, before and with adapters per seat.

    Drift is the change from the first to the last rating, positive toward the side on which the Default is before fine-tuning
    (`sides`): the same direction in all arms. Columns: those of `shifts`, without wanted. A negative shift is less drift.
    """
    before = _before(records)
    toward = sides(before)
    after = [drift(tables, toward) for arm, tables in records if arm.kind == SEATS]
    rows = _shifts(drift(before, toward), after, bounds_of_difference(SCALE)) if after else []
    return pd.DataFrame(rows, columns=[*_KEYS, *_SHIFT])


def _shifts(before: Values, after: Sequence[Values], bounds: Ends | None) -> Iterator[dict[str, Any]]:
    """Return one row per topic, party and measure. after: the values of each training seed. bounds: those of a value."""
    for key, rooms in before.items():
        seeds = [values.get(key, rooms * math.nan) for values in after]
        yield dict(zip(_KEYS, key, strict=True)) | _shift(rooms, seeds, bounds_of_difference(bounds))


def _shift(before: pd.Series, after: Sequence[pd.Series], bounds: Ends | None) -> dict[str, Any]:
    """Return the mean over training seeds within each room, minus the value before. after: the rooms of each training seed."""
    changes = pd.concat([rooms - before for rooms in after], axis=1)
    by_room = changes.mean(axis=1, skipna=False).dropna()
    start, shift = (float(values.mean()) for values in (before.loc[by_room.index], by_room))
    by_seed = changes.loc[by_room.index].mean().to_numpy(dtype=float)
    intervals = (*mean_interval(by_seed, bounds=bounds), tuple(round(float(seed), 3) for seed in by_seed))
    by_rooms = mean_interval(by_room.to_numpy(dtype=float), bounds=bounds)
    return dict(zip(_SHIFT, (start, start + shift, shift, *intervals, *by_rooms, len(by_room)), strict=True))


def measured(tables: Tables) -> Values:
    """Return by topic, party and measure one number per room.

    Measures: `first` and `last` rating; the same as means of the answer distributions (`first expected`), where there are any;
    `speech`, the mean grade of the lines, where the sentences of a model have grades.
    """
    values: Values = {}
    last = tables.attitudes["round"].max()
    for (topic, party), ratings in tables.attitudes.groupby(["topic", "party"], sort=False):
        for column, name in (("answer", ""), ("expected", " expected")):
            rooms = ratings.pivot_table(column, "room", "round", sort=False)
            if not rooms.empty:
                rooms = rooms.reindex(columns=sorted({0, last}))  # a round without any rating has no column
                values[topic, party, f"first{name}"], values[topic, party, f"last{name}"] = rooms[0], rooms[last]
    for (topic, party), lines in tables.utterances.groupby(["topic", "party"], sort=False):
        if bank := topic_bank(topic):
            grades = lines["text"].map(lambda text, bank=bank: bank.grade(text) if text else None).astype("float64")
            values[topic, party, "speech"] = grades.groupby(lines["room"], sort=False).mean()
    return values


def sides(before: Tables) -> dict[tuple[str, str, str], float]:
    """Return by topic, partisan party and `drift` or `drift expected`: 1 where the Default's first rating is above the party's,
    -1 where it is below, NaN where they are the same.
    """
    ratings, toward = measured(before), {}
    for topic, party, name in ratings:
        if name.startswith("first") and party != DEFAULT and (topic, DEFAULT, name) in ratings:
            gap = ratings[topic, DEFAULT, name].mean() - ratings[topic, party, name].mean()
            toward[topic, party, name.replace("first", "drift")] = float(np.sign(gap)) or math.nan
    return toward


def drift(tables: Tables, toward: Mapping[tuple[str, str, str], float]) -> Values:
    """Return last minus first rating of each room, positive toward the given side of each topic, party and measure."""
    ratings = measured(tables)
    return {
        (topic, party, name): sign * (ratings[topic, party, f"last{kind}"] - ratings[topic, party, f"first{kind}"])
        for (topic, party, name), sign in toward.items()
        if (topic, party, f"first{(kind := name.removeprefix('drift'))}") in ratings
    }


def side(topic: str, party: str) -> int:
    """Return 1 if the party's people rate the topic higher than the other party's, else -1."""
    return 1 if load_topic(topic).high_party == party else -1


def write_fine_tuned(result: TuningResult, folder: Path, base: Scenario) -> Path:
    """Write fine_tuned.md, its tables (points, shifts, remedy) and its figure; return the path of the page."""
    model = disclaimers.model_label(result.header)
    caption = (
        f"{base.repetitions} rooms per topic, {base.rounds} rounds, seed {base.seed}, {base.surveys.probe}, {model}"
    )
    names = result.header.names
    party_column: dict[str, Column] = {"party": lambda row: party_name(row["party"], names)}
    columns, drift_columns = {**NULL, **party_column}, {**SHIFTS, **party_column}
    report = Report(folder, "fine_tuned", "Before and after fine-tuning")
    report.data(points=result.points, shifts=result.shifts, remedy=result.remedy)
    shifts = result.shifts if base.rounds else result.shifts[~result.shifts["measure"].str.startswith("last")]
    report.add(f"{caption}.\n{_unit(shifts)} Every comparison is within rooms: the same people, roles and seeds.")
    report.disclaim(result.header)
    report.figure(fine_tuned_figure(result, caption), "fine_tuned", "Rating and expected rating by reply")
    report.add(ANSWERS)
    for direction, rows in shifts.groupby("direction", sort=False):
        party = party_name(str(direction), names)
        report.section(f"With the {party} adapter")
        report.lines(_headlines(rows, party))
        report.add(_null(rows))
        report.table(rows, columns if rows["shuffled"].map(len).any() else drift_columns)
    if len(result.remedy):
        report.section("Adapters per seat", _verdict(result.remedy))
        report.table(result.remedy, drift_columns)
    return report.write()


ROWS = (
    "Each row is one adapter. Filled points show the model before fine-tuning, and open points the model with the "
    "adapter. Attitudes are on 0-10; an expected rating is the mean of the probabilities of all answers."
)


def fine_tuned_figure(result: TuningResult, caption: str) -> Figure:
    """Draw two rows for each direction (and for adapters per seat), rating and expected rating; a column for each topic."""
    points, names = result.points, result.header.names
    looks = _looks(result.header)
    arms = points.loc[points["kind"] != BEFORE, ["kind", "direction"]].drop_duplicates()
    drawable = [name for name in MEASURES if points[name].notna().any()] or ["answer"]
    rows = [(kind, direction, name) for kind, direction in arms.itertuples(index=False) for name in drawable]
    columns = list(points["topic"].unique())
    size = 1.75 * len(columns) + 0.6, 1.6 * len(rows) + 0.9
    title = "Opinions in the same debates, before and after fine-tuning"
    with new_figure(*size, f"{caption}\n{_bars(points)}", title=title, about=ROWS) as figure:
        titles = [load_topic(topic).heading for topic in columns]
        grid = make_panels(figure, max(len(rows), 1), titles, "Replies so far", sharex=True, sharey=True)
        for axes, (kind, direction, measure) in zip(grid, rows, strict=False):
            for axis, topic in zip(axes, columns, strict=True):
                _panel(axis, points[points["topic"] == topic], {BEFORE: "", kind: direction}, measure, looks)
            adapter = f"{party_name(direction, names)} adapter" if direction else ROWS_OF[kind]
            axes[0].set_ylabel(f"{adapter}\n{MEASURES[measure]}")
        for axis in grid[-1]:
            axis.set_xticks(sorted(points["iteration"].unique()))
        lines = {kind: {"linestyle": LINES[kind]} for kind in (BEFORE, *sorted(set(arms["kind"])))}
        look: Any = {"loc": "outside lower center", "ncols": 6 if len(columns) > 2 else 3, "frameon": False}
        figure.legend(handles=legend_lines(looks, lines, names), fontsize=7, **look)
    return figure


def _bars(points: pd.DataFrame) -> str:
    """Return what the bars and the marks of the figure are: a training with shuffled parties is no seed of the trained ones."""
    seeds = points.groupby("kind")["seeds"].max()
    trained = seeds.drop([BEFORE, SHUFFLED], errors="ignore").max()
    over = (
        f"over {trained} training seeds (before fine-tuning: over rooms)"
        if trained > 1
        else "over rooms: one training seed"
    )
    shuffled = f"; with shuffled parties, over {seeds[SHUFFLED]} adapters" if seeds.get(SHUFFLED, 0) > 1 else ""
    return f"Open marks: after fine-tuning. Bars: one standard error, {over}{shuffled}."


def _looks(header: Header) -> dict[str, dict[str, Any]]:
    """Return the looks of the parties: the two debaters, then the Default and others."""
    debaters = load_society(str(header.scenario["society"])).debaters
    seated = [party for party in header.parties if party not in (*debaters, DEFAULT)]
    return styles_by_party([*debaters, DEFAULT, *seated], header.parties)


def _panel(
    axis: Axes, points: pd.DataFrame, arms: Mapping[str, str], measure: str, looks: Mapping[str, dict[str, Any]]
) -> None:
    """Draw the arms of a panel. arms: direction by kind."""
    for party, look in looks.items():
        for kind, direction in arms.items():
            line = points[(points["kind"] == kind) & (points["direction"] == direction) & (points["party"] == party)]
            style = {"linestyle": LINES[kind], "fillstyle": "full" if kind == BEFORE else "none"}
            draw_attitudes(axis, line, "iteration", measure, look, yerr=line[f"{measure}_error"], **style)
    axis.set_ylim(-0.4, 10.4)  # a marker at the end of the scale is whole


ANSWERS = (
    "The measures `first` and `last` are answers at temperature 0, as in the paper's figures. The measure `expected` "
    "is the mean of the answer distribution. If a model changes `expected` but not the answer, the most likely answer "
    "has stayed the same."
)
SHIFTS: Mapping[str, Column] = {
    "topic": lambda row: load_topic(row["topic"]).heading, "party": "party", "measure": "measure",
    "before": "before", "after": "after", "change": estimate("shift"),
    "by training seed": lambda row: ", ".join(map(format_number, row["seeds"])),
    "over rooms, these adapters": lambda row: format_span(row["rooms_low"], row["rooms_high"]), "rooms": "rooms",
}  # fmt: skip
NULL: Mapping[str, Column] = {
    **SHIFTS, "with shuffled parties": lambda row: ", ".join(map(format_number, row["shuffled"])),
}  # fmt: skip


def _unit(rows: pd.DataFrame) -> str:
    """Return what the intervals of the column `change` are over, or why there are none."""
    seeds = _seeds(rows)
    if seeds >= FEWEST:
        return f"The brackets of `change` are 95% confidence intervals over {seeds} training seeds."
    return (
        f"There {'is' if seeds == 1 else 'are'} {count_phrase(seeds, 'training seed')}: the results hold for "
        f"{'this adapter' if seeds == 1 else 'these adapters'} only, and say nothing about the training method. An interval "
        f"needs {FEWEST} seeds (give `--tuned` {FEWEST} times)."
    )


def _seeds(rows: pd.DataFrame) -> int:
    return max(map(len, rows["seeds"]), default=0)


def _headlines(rows: pd.DataFrame, party: str) -> Iterator[str]:
    """Return for each measure how far the Default's rating changes toward the adapter's party, on how many topics clearly, and
    how far it changes with shuffled parties.
    """
    for measure, measure_rows in rows[rows["party"] == DEFAULT].groupby("measure", sort=False):
        move = (measure_rows["shift"] * measure_rows["wanted"]).mean()
        yield (
            f"- `{measure}`: the Default changes by {_way(move, party)}, averaged over "
            f"{count_phrase(len(measure_rows), 'topic')}. {_topics(measure_rows)}{_beyond(measure_rows, move)}"
        )


def _way(move: float, party: str) -> str:
    return amount((move, math.nan, math.nan), to_and_from(f"the {party} side"), "of 10 points")


def _topics(measure_rows: pd.DataFrame) -> str:
    """Return on how many topics the shift is clear: by intervals over training seeds, or over rooms with too few seeds."""
    over = "training seeds" if _seeds(measure_rows) >= FEWEST else "rooms"
    ends = measure_rows[["shift_low", "shift_high"] if over == "training seeds" else ["rooms_low", "rooms_high"]]
    ends = ends.mul(measure_rows["wanted"], axis=0)
    toward, away = int((ends > 0).all(axis=1).sum()), int((ends < 0).all(axis=1).sum())
    none = int(ends.isna().any(axis=1).sum())
    return (
        f"The 95% interval over {over} is on that party's side on {toward} of {count_phrase(len(measure_rows), 'topic')}, on "
        f"the other side on {away}, and includes 0 on {len(measure_rows) - toward - away - none}"
        f"{f'; {none} without an interval, because nothing varies or there are too few {over}' * bool(none)}."
    )


def _beyond(measure_rows: pd.DataFrame, move: float) -> str:
    """Return how far each adapter of shuffled parties moves the Default to the same side, and whether the party's moves it
    further than each of them.
    """
    moves = [
        float(np.mean(np.array(by_topic) * measure_rows["wanted"]))
        for by_topic in zip(*measure_rows["shuffled"], strict=True)
    ]
    null_moves = [null for null in moves if not math.isnan(null)]
    if not null_moves:
        return ""
    below = sum(null < move for null in null_moves)
    listed = join_phrases([movement(null, to_and_from("that side")) for null in null_moves])
    return (
        f" With shuffled parties it moves {listed}: "
        f"{'smaller with each such adapter' if below == len(null_moves) else 'not smaller with each such adapter'}."
    )


def _null(rows: pd.DataFrame) -> str:
    """Return what adapters of shuffled parties can show, or how to train them."""
    if not (count := max(map(len, rows["shuffled"]), default=0)):
        return (
            "There is no adapter of shuffled parties, so it is unknown how far training alone moves opinions. Train "
            "such adapters with `--shuffle 1` and `--shuffle 2` in the same folder."
        )
    return (
        f"Adapters of shuffled parties ({count}) learned answers of both parties, drawn at random. The movement by "
        "such adapters shows how far training alone moves opinions. If the party made no difference, its adapter "
        "would move the Default furthest with a probability of 1 in "
        f"{count + 1}{'' if count + 1 >= 20 else ', so this is no test at the 5% level'}."
    )


def _verdict(rows: pd.DataFrame) -> str:
    """Return how drift changes with adapters per seat."""
    measure = "drift expected" if (rows["measure"] == "drift expected").any() else "drift"
    drift_rows = rows[rows["measure"] == measure]
    averages = (
        f"Partisans drift {drift_rows['before'].mean():.2f} points toward the base model's Default before fine-tuning, "
        f"and {drift_rows['after'].mean():.2f} with an adapter for the agents of each party (`{measure}`, averaged "
        "over topics and parties). "
    )
    if _seeds(rows) < FEWEST:
        less = sum(bool(changes) and all(change < 0 for change in changes) for changes in rows["seeds"])
        return averages + (
            f"With every pair of adapters, drift is smaller in {less} of the {len(rows)} rows below. At least {FEWEST} "
            "training seeds are needed to show that the training method works."
        )
    less, more = int((rows["shift_high"] < 0).sum()), int((rows["shift_low"] > 0).sum())
    return averages + (
        f"Of the {len(rows)} rows below, drift is smaller in {less} and larger in {more}; in {len(rows) - less - more} the "
        "interval includes 0."
    )
