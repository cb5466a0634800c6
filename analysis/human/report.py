"""human.md: people and a run compared, as tables and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers, formatting
from parley.analysis.figures import draw_null, new_figure
from parley.analysis.formatting import DASH, count_phrase, format_estimate, format_number, uncorrected
from parley.analysis.human import readers
from parley.analysis.human.likeness import compare_parts
from parley.analysis.human.measures import TITLES, measure_source, traces
from parley.analysis.human.readers import ALL, Published, Source, complete
from parley.analysis.human.rooms import PUBLIC, RUN, each_turn, of_posts, of_run
from parley.analysis.human.sections import add_likeness, add_turn_sections
from parley.analysis.human.sequences import compare_sequences
from parley.analysis.judge_quality import against_truth, warning
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.titles import join_phrases

COUNT = (0.0, float("inf"))
"""Where numbers of agents and of turns lie."""
UNITS = (
    "Opinions are 0-1 on each source's own scale. Brackets hold 95% intervals over groups (debates, rooms of different "
    "people), the unit of analysis. A dash is a missing number, never a zero; the reasons are listed below the tables."
)
NO_DATA = "No human data were given: `--data FOLDER` (docs/personas.md says which files, and where to get them)."
REGRESSION = (
    "**Regression to the mean**: change correlates negatively with the opinion before, even without any influence. An "
    "opinion that is extreme by chance is usually less extreme at the next measurement. The correlation with the "
    "distance to the partner has the same fault, because this distance is computed from the opinion before the debate. "
    "The correlation with the mean of before and after (Oldham) does not have this fault: this correlation is negative "
    "when opinions really draw together. The correlation with the partner's opinion, with one's own opinion kept "
    "fixed, does not have this fault either: this correlation is 0 if partners have no influence."
)
STILL = (
    "People who do not move name the same point again. The fewer points a scale has, the more people name the same point. On "
    "the sliders of PersuasionTrace, a change of up to 0.05 does not count as moving. The Habermas data have groups only."
)
WHERE = (
    "*The other side* is the assigned side of the opponent or persuader. In a run, *the other side* is the direction of the "
    "other agents' mean before the debate, by ratings that have noise. Noise in ratings alone brings change toward the other "
    "side (regression to the mean). Without any influence, the mean change is above 0 in a quarter of runs of 12 groups and in "
    "nearly all runs of 60 groups. Do not compare this number with the number of people whose sides were assigned."
)
SPREAD = (
    "The table shows the mean SD (n - 1) within groups of two or more people, before and after the debate. A paired "
    "t-test tests the change over groups (of different people)."
)
WAY = (
    "Each column shows how far people's opinions have moved from before the debate to that turn, on average, toward the "
    "other side. The column `last` uses the opinion after the debate."
)


def write(tables: Tables, data: Path | None, folder: Path, verdicts: Path | None = None) -> Path:
    """Write human.md, its tables (human, traces) and the figure into the folder; return the path of human.md.

    data: the folder with the human files; None: the run alone. verdicts: a judge's verdicts on this run's posts.
    Errors: UserError when a file is not what it should be.
    """
    people, published_values = read(data) if data else ([], [])
    run, judge_warning = of_run(tables), ""
    every = [*people, run]
    if verdicts:
        judged = readers.table(
            verdicts, ["topic", "room", "text"], {"score": (1, 7), "agent": COUNT, "iteration": COUNT}
        )
        every.append(of_posts(tables, judged))
        judge_warning = warning(against_truth(judged))
    measured = pd.concat([measure_source(source) for source in every], ignore_index=True)
    ways = pd.concat([traces(source).assign(source=source.name) for source in every], ignore_index=True)
    report, model = Report(folder, "human", "People and a run"), disclaimers.model_label(tables.header)
    report.data(human=measured, traces=ways)
    report.add(UNITS, uncorrected(measured, ways), NO_DATA if len(every) == 1 else None)
    report.disclaim(tables.header)
    report.add(_shared_people(run))
    report.note(f"{PUBLIC}: {judge_warning}" if judge_warning else None)
    if not tables.finished:
        report.add(
            "The run is not finished, so agents without a last survey are missing: "
            "repeat the command of the run to continue."
        )
    private = [*people, run]
    values = [entry for entry in published_values if not entry.public]
    drawn = draw(private, measured, values, f"People, and a run on {model}")
    report.figure(drawn, "human", "People and the run")
    labels = {RUN: f"{RUN}: {model}"}
    for title, notes, keys in (
        ("Who moves", (REGRESSION, STILL), ["own", "oldham", "distance", "partner", "still"]),
        ("Where to", (WHERE,), ["toward", "majority"]),
        ("Spread within a group", (SPREAD,), ["sd_before", "sd_after", "spread"]),
    ):
        report.section(title, *notes, _measure_table(measured, labels, keys))
    turns = bool(len(each_turn(tables)))
    order = compare_sequences(run, people if turns else [])
    if len(parts := compare_parts(run, people, order, turns)):
        add_likeness(report, parts, f"People, and a run on {model}")
    if turns:
        add_turn_sections(report, run, people, order, data)
    if published_values:
        about = f"{readers.DEBATE_ORIGIN}. The values are as published; Parley did not compute the values."
        report.section(
            "Compared with published values", about, _published_table(measured, published_values, labels[RUN])
        )
    if len(ways):
        report.section("Turn by turn", WAY, _way_table(ways, labels))
    if missing := _missing_lines(measured):
        report.section("Missing numbers")
        report.lines(missing)
    report.section("Sources")
    report.lines(f"- **{source.name}**: {' '.join([f'{source.origin}.', *source.notes])}" for source in every)
    return report.write()


def _shared_people(run: Source) -> str | None:
    """Return that the same people sit in several rooms of the run; None if they do not."""
    if not run.casts:
        return None
    return (
        f"The {len(run.casts)} rooms of this run have {count_phrase(len(set(run.casts.values())), 'set')} of people, because "
        "the same people debate on every topic. If rooms are pooled, intervals of the run are over sets of people."
    )


def read(folder: Path) -> tuple[list[Source], list[Published]]:
    """Return what the folder holds. Errors: UserError on a missing folder, on one without any of the files, on a broken file."""
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder: give --data the folder with the human data (docs/personas.md)")
    people, path = readers.sources(folder), readers.find(folder, readers.DEBATE)
    published_values = readers.published(path) if path else []
    if not people and not published_values:
        files = (readers.SALVI, readers.TRACES, readers.HABERMAS, readers.DEBATE)
        wanted = join_phrases([names[0] for names in files])
        raise UserError(f"{folder} has none of the files of human data: {wanted} (docs/personas.md)")
    return people, published_values


def _measure_table(measured: pd.DataFrame, labels: Mapping[str, str], keys: Sequence[str]) -> str:
    rows = []
    for (source, condition), condition_rows in measured.groupby(["source", "condition"], sort=False):
        results, counts = condition_rows.set_index("key").loc[keys], condition_rows.iloc[0]
        groups = count_phrase(counts["groups"], counts["unit"])
        groups += f", {counts['units']} of different people" if counts["units"] < counts["groups"] else ""
        rows.append([labels.get(source, source), condition, groups, str(counts["people"]), str(counts["missing"]),
                     *results.apply(_cell, axis=1)])  # fmt: skip
    header = ["source", "condition", "groups", "people", "missing", *[TITLES[key] for key in keys]]
    return formatting.markdown_table(header, rows)


def _cell(row: pd.Series) -> str:
    value = format_estimate(row["estimate"], row["low"], row["high"], 2 if row["measure"] in ("r", "share") else 3)
    p = "p<.001" if row["p"] < 0.001 else f"p={row['p']:.3f}"
    return value if pd.isna(row["statistic"]) else f"{value}, t({row['df']:.0f})={row['statistic']:.2f}, {p}"


def _published_table(measured: pd.DataFrame, published_values: Sequence[Published], run: str) -> str:
    private, public = _whole_cells(measured, RUN), _whole_cells(measured, PUBLIC)
    rows = [
        [entry.title, entry.human, entry.model, (public if entry.public else private).get(entry.measure, DASH)]
        for entry in published_values
        if public or not entry.public
    ]
    return formatting.markdown_table(["measure", "DEBATE, people", "DEBATE, model", run], rows)


def _whole_cells(measured: pd.DataFrame, name: str) -> dict[str, str]:
    """Return a source's cells by measure, all conditions together; empty if it is no source."""
    source_rows = measured[measured["source"] == name]
    whole = source_rows[source_rows["condition"] == ALL] if source_rows["condition"].nunique() > 1 else source_rows
    return dict(whole.set_index("key").apply(_cell, axis=1)) if len(whole) else {}


def _way_table(ways: pd.DataFrame, labels: Mapping[str, str]) -> str:
    turns = sorted(ways.loc[~ways["last"] & (ways["turn"] > 0), "turn"].unique())
    rows = []
    for (source, condition), condition_ways in ways.groupby(["source", "condition"], sort=False):
        means, end = (
            condition_ways[~condition_ways["last"]].set_index("turn")["mean"].reindex(turns),
            condition_ways[condition_ways["last"]].iloc[0],
        )
        last = format_estimate(end["mean"], end["low"], end["high"], 3)
        by_turn = [format_number(float(mean), 3) for mean in means]
        rows.append([labels.get(source, source), condition, str(condition_ways["n"].iloc[0]), *by_turn, last])
    return formatting.markdown_table(["source", "condition", "people", *map(str, turns), "last"], rows)


def _missing_lines(measured: pd.DataFrame) -> list[str]:
    """Return why numbers are missing: a line per source and reason."""
    lines = []
    for (source, reason), reason_rows in measured[measured["reason"] != ""].groupby(["source", "reason"], sort=False):
        titles = "; ".join(TITLES[key] for key in reason_rows["key"].unique())
        conditions = list(map(str, reason_rows["condition"].unique()))
        few = formatting.escape_markdown("; ".join(conditions))
        which = f" ({few if len(conditions) < 4 else count_phrase(len(conditions), 'condition')})"
        every = len(conditions) == measured.loc[measured["source"] == source, "condition"].nunique()
        lines.append(f"- {source}{'' if every else which}: {titles}: {reason}.")
    return lines


LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"), ("#e69f00", "P"))
OWN = ("#000000", "X")
"""Colours of Okabe and Ito, which people of any colour vision can tell apart; the run is black. Markers differ too."""
BINS, LEAST = 5, 5
"""Steps of initial opinion; people below which a step is not drawn."""
CORRELATIONS = {"own": "own initial opinion", "oldham": "mean of before and after", "distance": "distance to partner",
                "partner": "partner's opinion"}  # fmt: skip


PANELS = (
    "The top left panel shows the mean change of people who began in each fifth of the scale. The top right panel "
    "shows which numbers the change correlates with. The lower panels show how far opinions have moved toward the "
    "other side after each turn (people) and each round (run). All opinions are scaled to 0-1."
)


def draw(sources: Sequence[Source], measured: pd.DataFrame, published: Sequence[Published], caption: str) -> Figure:
    """Draw change by initial opinion, correlations, and opinions turn by turn, of people and of the run.

    measured: the rows of `measure_source` of these sources. published: DEBATE's values, drawn hollow and without an
    interval.
    """
    persons = [source for source in sources if len(source.people)]
    title = "How opinions move: people and agents"
    with new_figure(7.2, 6.2, caption, 8, title=title, about=PANELS) as figure:
        (change, effects), (talks, rounds) = figure.subplots(2, 2)
        _draw_change(change, persons)
        _draw_correlations(effects, persons, measured, published)
        people, runs = ([source for source in persons if (source.name == RUN) == mine] for mine in (False, True))
        _draw_traces(talks, people, "People: toward the other side", "Turn (hollow: after the talk)")
        _draw_traces(rounds, runs, "Run: toward the other agents of the room", "Round (hollow: the last)")
        rounds.sharey(talks)
        talks.autoscale()
    return figure


def _draw_change(axis: Axes, sources: Sequence[Source]) -> None:
    """Draw mean change by initial opinion, in fifths of the scale; a dot where at least LEAST people started."""
    looks = _looks(sources)
    for source in sources:
        people = complete(source.people)
        # an opinion on an edge belongs to the fifth above, also where the product is rounded down; 1 belongs to the last
        steps = np.minimum((people["before"] * BINS + 1e-9).astype("int64"), BINS - 1)
        means = people.assign(change=people["after"] - people["before"]).groupby(steps)[["before", "change"]]
        shown, (colour, marker) = means.mean()[means.size() >= LEAST], looks[source.name]
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "linewidth": 1}
        axis.plot(shown["before"], shown["change"], label=source.name, **style)
    draw_null(axis)
    axis.set(
        title="Change by initial opinion", xlabel="Opinion before (0–1)", ylabel="Mean change (0–1)", xlim=(-0.04, 1.04)
    )
    if sources:
        axis.legend(frameon=False, fontsize=7)


def _draw_correlations(
    axis: Axes, sources: Sequence[Source], measured: pd.DataFrame, published: Sequence[Published]
) -> None:
    """Draw a line per source and measure: the correlation with its 95% interval; hollow: published, without one."""
    looks, values = _looks(sources), {entry.measure: (entry.human, entry.model) for entry in published}
    debate = ["DEBATE people", "DEBATE model"] if published else []
    names = [*[source.name for source in sources if source.name != RUN], *debate, RUN]
    ticks, height = [], len(names) + 1
    for place, (key, title) in enumerate(CORRELATIONS.items()):
        axis.text(1.06, place * height - 0.72, title, ha="right", va="center", fontsize=6.5, style="italic")
        for at, name in enumerate(names, place * height):
            ticks.append(at)
            if name in looks:
                _draw_estimate(axis, at, _whole_row(measured, name, key), looks[name])
            elif key in values:
                axis.plot(float(values[key][name.endswith("model")]), at, "h", color="#444444", markerfacecolor="none")
            else:
                _draw_gap(axis, at, "not published")
    axis.set_yticks(ticks, names * len(CORRELATIONS), fontsize=6.5)
    draw_null(axis, upright=True)
    axis.set(title="What change correlates with", xlabel="Correlation r, with 95% interval", xlim=(-1.08, 1.08))
    axis.set_ylim(len(CORRELATIONS) * height - 1.3, -1.3)


def _draw_estimate(axis: Axes, at: int, row: pd.Series | None, look: tuple[str, str]) -> None:
    if row is None or np.isnan(row["estimate"]):
        _draw_gap(axis, at, "not known")
        return
    axis.plot(row["estimate"], at, look[1], color=look[0], markersize=4)
    axis.hlines(at, row["low"], row["high"], color=look[0], linewidth=1.2)


def _draw_gap(axis: Axes, at: int, reason: str) -> None:
    axis.text(0.03, at, reason, va="center", fontsize=6, color="#666666")


def _whole_row(measured: pd.DataFrame, name: str, key: str) -> pd.Series | None:
    """Return the row of all conditions together, or of the only condition."""
    rows = measured[(measured["source"] == name) & (measured["key"] == key)]
    whole = rows[rows["condition"] == ALL] if len(rows) > 1 else rows
    return whole.iloc[0] if len(whole) else None


def _draw_traces(axis: Axes, sources: Sequence[Source], title: str, turn: str) -> None:
    """Draw the mean change toward the other side after each turn; more conditions than LOOKS are drawn as one."""
    shown = [
        replace(source, people=source.people.assign(condition=ALL)) if _is_crowded(source) else source
        for source in sources
    ]
    trace_points = pd.concat(map(traces, shown), ignore_index=True) if shown else pd.DataFrame()
    axis.set(title=title, xlabel=turn, ylabel="Mean change since before (0–1)")
    if trace_points.empty:
        why = (
            "the source has the source has no opinions between before and after"
            if sources
            else "no opinions of people were given (--data FOLDER) (--data FOLDER)"
        )
        axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center")
        axis.set_xticks([])
        return
    for place, (condition, line) in enumerate(trace_points.groupby("condition", sort=False)):
        colour, marker = LOOKS[place]
        at, means = line["turn"] + 0.05 * place, line["mean"]
        axis.vlines(at, line["low"], line["high"], color=colour, linewidth=0.8, alpha=0.7)
        axis.plot(
            at, means, color=colour, linewidth=1, marker=marker, markersize=4, markevery=range(len(at) - 1),
            label=f"{condition} (n={line['n'].iloc[0]})",
        )  # fmt: skip
        axis.plot(at.iloc[-1], means.iloc[-1], marker, color=colour, markerfacecolor="white", markersize=4)
    draw_null(axis)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(frameon=False, fontsize=6.5, loc="upper left")


def _is_crowded(source: Source) -> bool:
    """Return whether a source has more conditions than there are looks."""
    return bool(source.people["condition"].nunique() > len(LOOKS))


def _looks(sources: Sequence[Source]) -> dict[str, tuple[str, str]]:
    names = [source.name for source in sources if source.name != RUN]
    return {**dict(zip(names, LOOKS, strict=False)), RUN: OWN}
