"""The same debates with interventions and without, from the same seed.

    without   the control: there is no intervention
    with      all interventions of the scenario
    placebo   the same interventions, in which every message is replaced by one without content

Rooms, people and seeds are the same in all branches. Each branch begins with the replies of the branch before it, so that every
word and rating before the first intervention is the same. After it, an effect is a difference within a room, with minus without.
Replies after it are sampled anew in each branch. Therefore ratings differ by chance even where an intervention does nothing, and
the intervals over rooms contain that.

The report says what was done and what it changed, and draws the branches in one figure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from parley.agents.surrogate_agent import SURROGATE
from parley.analysis import disclaimers, provenance
from parley.analysis.contrasts import HIGHER, amount
from parley.analysis.figures import add_legend, make_panels, new_figure, styles_of_run
from parley.analysis.formatting import Column, count_phrase, estimate, format_number, number
from parley.analysis.metrics._cells import REFERENCE
from parley.analysis.plots import intervention_tags, mark
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, mean_interval, too_few, why_no_interval
from parley.analysis.studies.paired_conditions import draw_attitudes, legend_lines, units_of
from parley.analysis.studies.room_effects import describe, paired_values
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.interventions.base import Saying
from parley.model.interventions.fact_check import FactCheck
from parley.model.interventions.planner import Planner
from parley.model.scenario import Scenario
from parley.model.titles import group_title, seat_title

WITHOUT, PLACEBO, WITH = "without", "placebo", "with"
BRANCHES = (WITHOUT, WITH)
LINES: dict[str, str] = {WITH: "-", PLACEBO: "--", WITHOUT: ":"}
_SAID = ["room", "round", "iteration", "agent", "text", "reason"]
_RATED = ["room", "round", "iteration", "agent", "probe", "rating", "raw", "reason"]
_KEYS = ["topic", "group", "party", "told", "round", "measure"]
_COLUMNS = [*_KEYS, WITHOUT, WITH, "effect", "effect_low", "effect_high", "rooms", "sd", "missing", "reason"]


@dataclass(frozen=True)
class InterventionResult:
    """What a study of interventions found.

    tables: the run with interventions. first: the round of the first one. effects, points: see the functions of these names.
    untouched: rooms that no intervention reached; both frames leave them out. placebo: where there is a placebo branch, the
    effects of the placebo and of the interventions compared with it, by `contrast`. rooms: the effects on whole rooms
    (room_effects.py), by `contrast`. names: what a reader sees for the columns
    `without` and `with`; compared: with and without, in a sentence.
    """

    tables: Tables
    first: int
    effects: pd.DataFrame
    points: pd.DataFrame
    untouched: int
    placebo: pd.DataFrame | None = None
    rooms: pd.DataFrame = field(default_factory=pd.DataFrame)
    names: tuple[str, str] = BRANCHES
    compared: tuple[str, str] = ("with the interventions", "without them")


def intervention(base: Scenario, placebo: bool = False) -> Generator[Scenario, Tables, InterventionResult]:
    """Yield the scenario without interventions, with a placebo if wanted, and with them; receive the tables of each run.

    Errors: UserError where there is nothing to compare.
    """
    if not base.interventions:
        raise UserError(
            f"the scenario {base.name} has no intervention with a measurable effect: give one with --intervene"
        )
    if base.surveys.survey == "never":
        raise UserError(
            "the effect is a difference between ratings, and this scenario has no "
            "survey: set survey=rounds or survey=ends"
        )
    return _branches(base, placebo_scenario(base) if placebo else None)


def _branches(base: Scenario, placebo: Scenario | None) -> Generator[Scenario, Tables, InterventionResult]:
    without = yield control(base)
    empty = (yield placebo) if placebo else None
    with_ = yield base
    result = compare_branches(without, with_)
    whole = {f"{WITH} - {WITHOUT}": result.rooms}
    if empty is None:
        return replace(result, rooms=_by_contrast(whole))
    interruption = compare_branches(without, empty)
    content = compare_branches(empty, with_)
    parts = {f"{PLACEBO} - {WITHOUT}": interruption.effects, f"{WITH} - {PLACEBO}": content.effects}
    whole |= {f"{PLACEBO} - {WITHOUT}": interruption.rooms, f"{WITH} - {PLACEBO}": content.rooms}
    line = interruption.points[interruption.points["branch"] == WITH].assign(branch=PLACEBO)
    points = pd.concat([result.points, line], ignore_index=True)
    return replace(result, points=points, placebo=_by_contrast(parts), rooms=_by_contrast(whole))


def _by_contrast(parts: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, names=["contrast"]).reset_index("contrast")


def placebo_of(base: Scenario, wanted: bool | None) -> tuple[bool, str]:
    """Return whether there is a placebo branch; where none was asked for or refused (None) and none is possible, also why."""
    if wanted is not None or not base.interventions:
        return bool(wanted), ""
    try:
        placebo_scenario(base)
    except UserError as error:
        return False, str(error).removeprefix("--placebo: ")
    return True, ""


def placebo_scenario(base: Scenario) -> Scenario:
    """Return the scenario with empty messages. Errors: UserError where there is no message, or a model decides on it."""
    if any(isinstance(event, Planner) for event in base.interventions):
        raise UserError("--placebo: a planner may say nothing, so its message cannot be replaced: leave out --placebo")
    if any(isinstance(event, FactCheck) and event.llm for event in base.interventions):
        raise UserError(
            "--placebo: a fact check by a model may say nothing, so its message cannot be replaced: give the "
            "text of the fact check"
        )
    empty = tuple([event.placebo() for event in base.interventions])
    if empty == base.interventions:
        raise UserError("--placebo: no intervention has a message to replace: leave out --placebo")
    return base.with_settings({"interventions": empty})


def control(base: Scenario) -> Scenario:
    """Return the scenario without its interventions: agents that join later never come, agents that leave stay."""
    remaining = [event.control() for event in base.interventions]
    return base.with_settings({"interventions": tuple(filter(None, remaining))})


def compare_branches(without: Tables, with_: Tables) -> InterventionResult:
    """Return what the interventions changed. Errors: UserError if branches differ before the first, or it reached no agent."""
    first = min(event["round"] for event in with_.header.scenario["interventions"])
    if with_.interventions.empty:
        raise UserError(
            "no intervention reached an agent, because no room has the parties or roles named in to=: correct to="
        )
    return compare_from(without, with_, first, with_.interventions)


def compare_from(without: Tables, with_: Tables, first: int, acts: pd.DataFrame) -> InterventionResult:
    """Return what differs from round `first` on, in the rooms of these interventions; without any, in all rooms.

    Errors: UserError where the two differ before.
    """
    check_past(without, with_, first)
    pairs, rooms = _pairs(without, with_, acts), set(acts["room"])
    reached = pairs[pairs["room"].isin(rooms)] if rooms else pairs
    untouched = pairs["room"].nunique() - reached["room"].nunique()
    effect_rows = effects(reached[reached["round"] >= first])
    whole = room_effects(paired_values(without, with_, first, rooms), units_of(without))
    return InterventionResult(with_, first, effect_rows, points(reached), untouched, rooms=whole)


def room_effects(paired: dict[str, pd.DataFrame], units: pd.DataFrame) -> pd.DataFrame:
    """Return with minus without in whole rooms: one row per measure, with the columns of `effect`. See room_effects.py.

    The rooms of a unit (of `units_of`) are averaged first: the same people meet on every topic.
    """
    rows = []
    for name, rooms in paired.items():
        if len(rooms):
            means = rooms.join(units).groupby(list(units), sort=False).mean()
            rows.append({"measure": name} | effect(means, "repetition") | {"rooms": len(rooms)})
    return pd.DataFrame(rows, columns=["measure", *_COLUMNS[_COLUMNS.index(WITHOUT) :]]).drop(columns="missing")


def check_past(without: Tables, with_: Tables, first: int) -> None:
    """Errors: UserError unless every word and rating before round `first` is the same in both."""
    for name, columns in (("utterances", _SAID), ("attitudes", _RATED)):
        frames = getattr(without, name), getattr(with_, name)
        past = [frame.loc[frame["round"] < first, columns].reset_index(drop=True) for frame in frames]
        if not past[0].equals(past[1]):
            raise UserError(
                f"{name} before round {first} differ between the two branches, so they cannot be compared: give another --out"
            )


def _pairs(without: Tables, with_: Tables, acts: pd.DataFrame) -> pd.DataFrame:
    """Return one row per agent, round and rating of the main probe: the agent's keys, how it was read without interventions,
    told (whether one of these interventions ever reached that agent), and each measure without and with. The reference is left
    out.
    """
    keys = ["room", "topic", "group", "party", "agent", "round"]
    probe, values = with_.header.scenario["probe"], ["iteration", "how", "attitude", "answer"]
    before, after = (
        rated.loc[(rated["probe"] == probe) & (rated["group"] != REFERENCE), [*keys, *values]]
        for rated in (without.attitudes, with_.attitudes)
    )
    pairs = before.merge(after.drop(columns=["iteration", "how"]), on=keys, suffixes=(f" {WITHOUT}", f" {WITH}"))
    reached = {(event.room, agent) for event in acts.itertuples() for agent in json.loads(event.agents)}
    return pairs.assign(told=[pair in reached for pair in zip(pairs["room"], pairs["agent"], strict=True)])


def effects(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return with minus without interventions, within rooms: one row per topic, group, party, told, round and measure.

    told: whether an intervention reached these agents themselves, or only others of their room.
    measure: `attitude` (the opinion, 0-10), `answer` (the rating itself, which is a whole point). Agents of a room are averaged
    first. effect: with its 95% interval over `rooms`. sd: of the differences, one per room. without, with:
    means over the same rooms. missing: pairs left out because a
    rating is missing. reason: why there is no interval (`fewer than 5 rooms`, `no variation`).
    """
    return pd.DataFrame(list(_effects(pairs)), columns=_COLUMNS)


def _effects(pairs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for measure in ("attitude", "answer"):
        columns = [f"{measure} {branch}" for branch in BRANCHES]
        unmeasured = (pairs["how"] == SURROGATE) & pairs[columns].isna().all(axis=1)
        for keys, cell in pairs[~unmeasured].groupby(_KEYS[:-1], sort=False):
            rated = cell.dropna(subset=columns)
            if len(rated) or measure == "attitude":
                row = dict(zip(_KEYS, (*keys, measure), strict=True))
                row |= effect(rated.groupby("room", sort=False)[columns].mean())
                yield row | {"missing": len(cell) - len(rated)}


def effect(rooms: pd.DataFrame, unit: str = "room") -> dict[str, Any]:
    """Return the mean difference of a frame with one row per unit and two columns, without and with."""
    differences = (rooms.iloc[:, 1] - rooms.iloc[:, 0]).to_numpy(dtype=float)
    if not len(differences):
        return {"rooms": 0, "reason": too_few(unit)}
    low, high = mean_interval(differences)
    sd = float(differences.std(ddof=1)) if len(differences) > 1 else math.nan
    return dict(zip(BRANCHES, map(float, rooms.mean()), strict=True)) | {
        "effect": float(differences.mean()), "effect_low": low, "effect_high": high, "rooms": len(differences), "sd": sd,
        "reason": why_no_interval(differences, unit),
    }  # fmt: skip


def points(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return mean attitudes over rooms by topic, group, party, branch and round, to draw.

    iteration: replies so far without interventions; where chance decides how many agents speak, the rounded mean over rooms.
    """
    keys = ["topic", "group", "party", "round"]
    columns = {f"attitude {branch}": branch for branch in BRANCHES}
    by_room = pairs.groupby([*keys, "room"], sort=False)[["iteration", *columns]].mean()
    means = by_room.groupby(keys, sort=False).mean().rename(columns=columns)
    means["iteration"] = means["iteration"].round().astype("int64")
    return means.reset_index().melt([*keys, "iteration"], list(BRANCHES), "branch", "attitude")


HOW = """All branches have the same rooms, agents and seeds. Parley checked that the branches are the same word for word \
before round {}. After that round, an effect is the rating with the interventions minus the rating without interventions, in \
the same room. Agents of a room are averaged first. Brackets are 95% confidence intervals over rooms, not corrected for the \
number of rows. An effect without brackets cannot be distinguished from zero: the run has fewer than 5 rooms, or the \
difference is the same in all rooms. Replies after the first intervention are sampled again in each branch, so ratings also \
differ by chance; the intervals include such chance differences.{}
"""
PLACEBO_NOTE = (
    f'In the placebo branch every message reads "{Saying.EMPTY}". The effect of an interruption is the rating '
    "with the placebo minus the rating without interventions. The effect of the content is the rating with the "
    "interventions minus the rating with the placebo. The file `placebo.csv` has every round."
)
ROOMS_NOTE = (
    "Ratings are the ratings after the last round. Acts are counted from the first intervention on. The column "
    "`first` is the mean without the interventions (or with the placebo); the column `second` is the mean with the "
    "interventions (or with the placebo). Intervals are over repetitions, because the same people meet on every "
    "topic, and are not corrected for the number of rows. The file `rooms.csv` has the same numbers."
)
NO_PLACEBO = " To separate the effect of the message's content from the effect of an interruption, run with --placebo."


def write_intervention(result: InterventionResult, folder: Path) -> Path:
    """Write intervention.md, its tables (effects, points, placebo) and its figure; return the path of the page."""
    header = result.tables.header
    caption = f"{header.scenario['name']} on {disclaimers.model_label(header)}, seed {header.scenario['seed']}"
    report = Report(folder, "intervention", "With and without")
    report.data(effects=result.effects, points=result.points)
    report.plain(f"{caption}.")
    report.disclaim(header)
    report.figure(intervention_figure(result, caption), "intervention", "Attitudes with and without")
    report.add(headline(result), HOW.format(result.first, NO_PLACEBO if result.placebo is None else ""))
    if result.untouched:
        report.add(
            f"In {count_phrase(result.untouched, 'room')}, no intervention reached an "
            "agent; the effects leave these rooms out."
        )
    report.lines(provenance.intervention_table(result.tables))
    report.section("Effects")
    report.table(*effects_table(result, result.effects))
    if result.placebo is not None:
        report.data(placebo=result.placebo)
        report.section("Compared with a placebo", PLACEBO_NOTE)
        for contrast, contrast_rows in result.placebo.groupby("contrast", sort=False):
            report.add(f"**{contrast}**")
            report.table(*effects_table(result, contrast_rows))
    _add_rooms(report, result)
    attitudes = result.effects[result.effects["measure"] == "attitude"]
    if missing := int(attitudes["missing"].sum()):
        report.add(f"Number of pairs of ratings left out because one rating of the pair is missing: {missing:,}.")
    report.add(
        "The file `effects.csv` has every round. Each branch is a complete run in its own folder, with a summary and "
        "a transcript."
    )
    return report.write()


def _add_rooms(report: Report, result: InterventionResult) -> None:
    """Add the effects on whole rooms."""
    if result.rooms.empty:
        return
    report.data(rooms=result.rooms)
    report.section("Effects on whole rooms", ROOMS_NOTE)
    columns: dict[str, Column] = {
        "compared": "contrast",
        "measure": lambda row: describe(row["measure"]),
        "first": number(WITHOUT),
        "second": number(WITH),
        "effect": estimate("effect"),
        "rooms": "rooms",
    }
    report.table(result.rooms, columns)


def intervention_figure(result: InterventionResult, caption: str) -> Figure:
    """Draw attitudes by round: a row per group, a column per topic, a line style per branch."""
    tables, points = result.tables, result.points
    groups, topics = list(points["group"].unique()), list(points["topic"].unique())
    looks = {party: look for party, look in styles_of_run(tables).items() if party in set(points["party"])}
    title = f"{provenance.run_title(tables.header)}: with and without interventions"
    tags = intervention_tags(tables, [(group, topic) for group in groups for topic in topics])
    with new_figure(max(1.75 * len(topics) + 0.4, 3.5), 1.9 * len(groups) + 0.9, caption, title=title) as figure:
        grid = make_panels(figure, len(groups), list(map(tables.title, topics)), "Round (0: before)", sharey=True)
        for row, group in zip(grid, groups, strict=True):
            for axis, topic in zip(row, topics, strict=True):
                here = points[(points["group"] == group) & (points["topic"] == topic)]
                for (party, branch), line in here.groupby(["party", "branch"], sort=False):
                    style = {"linestyle": LINES[branch], "fillstyle": "full" if branch == WITH else "none"}
                    draw_attitudes(axis, line, "round", "attitude", looks[party], **style)
                axis.set_ylim(-0.3, 10.3)
                mark(axis, tables, group, topic, tags)
            name = f"{group_title(group, tables.names)}\n" if len(groups) > 1 else ""
            row[0].set_ylabel(f"{name}Attitude (0–10)")
        lines = {branch: {"linestyle": style} for branch, style in LINES.items() if branch in set(points["branch"])}
        add_legend(figure, grid.flat, handles=legend_lines(looks, lines, tables.names))
    return figure


MOST_NAMED = 5
"""Differences that the headline names."""


def headline(result: InterventionResult) -> str:
    """Return the largest effects after the last round, and how many cannot be distinguished from zero."""
    effects = result.effects
    last = estimate_rows(effects[effects["round"] == effects["round"].max()])
    sure = last[(last["effect_low"] > 0) | (last["effect_high"] < 0)]
    unsure, few = len(last) - len(sure), int((last["rooms"] < FEWEST).sum())
    keys = [key for key in ("topic", "group", "party") if key != "group" or last[key].nunique() > 1]
    reached = {True: " (reached by an intervention)", False: " (not reached)"} if last["told"].nunique() > 1 else {}
    sentences = []
    for row in sure.sort_values("effect", key=abs, ascending=False).head(MOST_NAMED).to_dict("records"):
        agents = ", ".join(_label(result, key, row[key]) for key in keys) + reached.get(row["told"], "")
        means = (
            f"{format_number(row[WITH])} {result.compared[0]}, and {format_number(row[WITHOUT])} {result.compared[1]}"
        )
        size = amount((row["effect"], row["effect_low"], row["effect_high"]), HIGHER)
        sentences.append(f"{agents}: after the last round, opinions are at {means}: {size}.")
    if len(sure) > MOST_NAMED:
        sentences.append(f"{len(sure) - MOST_NAMED} more effects can be distinguished from zero.")
    if unsure:
        sentences.append(
            f"For {unsure} of {count_phrase(len(last), 'group')} of agents (one per topic and party), the effect after the last "
            "round cannot be distinguished from zero."
        )
    if few:
        sentences.append(
            f"{few} of the effects are from fewer than {FEWEST} rooms: run more rooms with `--repetitions`."
        )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def estimate_rows(effects: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic, group, party, told and round: that of the opinion."""
    return effects[effects["measure"] == "attitude"].reset_index(drop=True)


def effects_table(result: InterventionResult, effects: pd.DataFrame) -> tuple[list[list[str]], list[str]]:
    """Return rows and headings: a row per topic, group, party, told and measure, with the first and last round (or the one)."""
    keys = ["topic", "group", "party", "told", "measure"]
    shown = [key for key in keys if key in ("topic", "party") or effects[key].nunique() > 1]
    ends = list(dict.fromkeys([effects["round"].min(), effects["round"].max()]))
    rows = []
    for values, line in effects.groupby(keys, sort=False):
        values_by_key = dict(zip(keys, values, strict=True))
        by_round = line.set_index("round").reindex(ends)  # agents that join or leave have no ratings in some rounds
        last = by_round.loc[ends[-1]]
        rows.append([
            *(_label(result, key, values_by_key[key]) for key in shown),
            format_number(last[WITHOUT]),
            format_number(last[WITH]),
            *(estimate("effect")(by_round.loc[end]) for end in ends),
            f"{0 if pd.isna(last['rooms']) else last['rooms']:.0f}",
            format_number(last["sd"]),
        ])  # fmt: skip
    control, treatment = str(effects["contrast"].iloc[0]).split(" - ")[::-1] if "contrast" in effects else result.names
    after = [f"effect after round {ends[0]}", *(f"after round {end}" for end in ends[1:])]
    return rows, [*shown, f"{control}, at the end", treatment, *after, "rooms", "SD of the effect"]


def _label(result: InterventionResult, key: str, value: Any) -> str:
    names = result.tables.names
    titles: dict[str, Callable[[str], str]] = {
        "topic": result.tables.title,
        "group": lambda group: group_title(group, names),
        "party": lambda party: seat_title(party, names),
    }
    return titles[key](value) if key in titles else {True: "yes", False: "no"}.get(value, str(value))
