"""human.md: people and a run, side by side.

The picture: change against initial opinion, correlations by source with intervals, and the way there turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis import disclaimers
from parley.analysis.figures import new_figure
from parley.analysis.formatting import (
    DASH,
    Column,
    count_phrase,
    escape_markdown,
    estimate,
    format_estimate,
    format_number,
    frame_table,
    join_phrases,
    markdown_table,
    number,
)
from parley.analysis.human.fidelity import NAMES, ORIGIN, Published, fidelity, published
from parley.analysis.human.measures import TITLES, measure_source, traces
from parley.analysis.human.readers import ALL, HABERMAS, SALVI, TRACES, Source, complete, find, sources, table
from parley.analysis.human.rooms import PUBLIC, RUN, each_turn, of_posts, of_run
from parley.analysis.judge_quality import against_truth, warning
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.errors import UserError

UNITS = (
    "Opinions are 0-1 on each source's own scale. Brackets: 95% intervals over groups (debates, rooms), the unit of "
    "analysis. A dash is a number that a source does not hold, never a zero; why stands under the tables."
)
REGRESSION = (
    "**Regression to the mean**: change correlates negatively with the opinion before without any influence, because what was "
    "extreme by chance is less so the next time; the distance to a partner holds the opinion before and is no better. The "
    "correlation with the mean of before and after (Oldham) has no such part: negative when opinions really draw together."
)
STILL = (
    "Who does not move names the same point again; fewer points, more such people. On the sliders of PersuasionTrace it is a "
    "change of up to 0.05. The Habermas data hold groups only."
)
WHERE = "The other side is the opponent's or persuader's; in a run, where the others' mean lies before."
SPREAD = "Mean SD (n - 1) over groups of two and more, before and after, and a paired t-test."
STEPS = (
    "A step is the change of an opinion from one turn to the next, toward the other side. Distance is that between the run's "
    "steps and the people's (Wasserstein, 0-1); beside it the distance of random halves of the people, and that of somebody who "
    "never moves. Score: 1 the people's own distribution, 0 no nearer than who never moves. Intervals of a distance lie too high."
)
NO_DATA = "No human data were given: `--data FOLDER` (docs/human.md says which files and where they are)."


def write(tables: Tables, data: Path | None, folder: Path, verdicts: Path | None = None) -> Path:
    """Write human.md, its tables (human, traces) and the picture into the folder; the path of the first.

    data: the folder with the human files; None: the run alone. verdicts: a judge's of this run, for what was said in public.
    Errors: UserError when a file is none of what it should be.
    """
    people, known = read(data) if data else ([], [])
    every, warned = [*people, of_run(tables)], ""
    if verdicts:
        judged = table(verdicts, ["topic", "room", "text"], {"score": (1, 7)})
        every.append(of_posts(tables, judged))
        warned = warning(against_truth(judged))
    found = pd.concat([measure_source(source) for source in every], ignore_index=True)
    ways = pd.concat([traces(source.people).assign(source=source.name) for source in every], ignore_index=True)
    model = disclaimers.model_label(tables.header)
    private = [source for source in every if source.name != PUBLIC], [entry for entry in known if not entry.public]
    report = Report(folder, "human", "People and a run")
    report.data(human=found, traces=ways)
    report.add(UNITS, NO_DATA if len(every) == 1 else None)
    report.disclaim(tables.header)
    report.note(f"{PUBLIC}: {warned}" if warned else None)
    if not tables.finished:
        report.add("The run is not finished: agents without a last survey are missing.")
    drawn = draw(private[0], found, private[1], f"People, and a run held by {model}")
    report.figure(drawn, "human", "People and the run")
    _results(report, every, found, ways, {RUN: f"{RUN}: {model}"}, known, len(each_turn(tables)) > 0)
    if dashes := _dashes(found):
        report.section("Dashes", dashes)
    report.section("Sources")
    report.lines(f"- **{source.name}**: {' '.join([f'{source.origin}.', *source.notes])}" for source in every)
    return report.write()


def _results(
    report: Report,
    every: Sequence[Source],
    found: pd.DataFrame,
    ways: pd.DataFrame,
    labels: Mapping[str, str],
    known: Sequence[Published],
    by_turn: bool,
) -> None:
    """Add a section a measure."""
    report.section(
        "Who moves", REGRESSION, STILL, _table(found, labels, ["own", "oldham", "distance", "shuffled", "still"])
    )
    report.section("Where to", WHERE, _table(found, labels, ["toward", "majority"]))
    report.section("Spread within a group", SPREAD, _table(found, labels, ["sd_before", "sd_after", "spread"]))
    if by_turn:
        own = every[[one.name for one in every].index(RUN)]
        people = [one for one in every if one.name not in (RUN, PUBLIC)]
        report.section("From turn to turn", STEPS, _steps(fidelity(own, people)))
    if known:
        told = f"{ORIGIN}. As they were published, not computed here."
        report.section("Beside published values", told, _published(found, known, labels[RUN]))
    if len(ways):
        told = "Mean way toward the other side since before; `last` is the opinion told after the debate."
        report.section("Turn by turn", told, _ways_text(ways, labels))


def read(folder: Path) -> tuple[list[Source], list[Published]]:
    """What the folder holds. Errors: UserError on a missing folder, one without any of the files, a file that cannot be read."""
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder: --data wants the one with the human data (docs/human.md)")
    people, path = sources(folder), find(folder, NAMES)
    known = published(path) if path else []
    if not people and not known:
        wanted = join_phrases([names[0] for names in (SALVI, TRACES, HABERMAS, NAMES)])
        raise UserError(f"{folder} holds none of {wanted} (docs/human.md)")
    return people, known


def _table(found: pd.DataFrame, labels: Mapping[str, str], keys: Sequence[str]) -> str:
    rows = []
    for (source, condition), part in found.groupby(["source", "condition"], sort=False):
        results = part.set_index("key").loc[keys]
        counts = part.iloc[0]
        cells = [_cell(results.loc[key]) for key in keys]
        rows.append([labels.get(str(source), str(source)), str(condition), count_phrase(counts["groups"], counts["unit"]),
                     str(counts["people"]), str(counts["missing"]), *cells])  # fmt: skip
    return markdown_table(["source", "condition", "groups", "people", "missing", *[TITLES[key] for key in keys]], rows)


def _cell(row: pd.Series) -> str:
    told = format_estimate(row["estimate"], row["low"], row["high"], 2 if row["measure"] in ("r", "share") else 3)
    if row.name == "shuffled" and not pd.isna(row["p"]):
        return f"{told}, p={row['p']:.3f}"
    return told if pd.isna(row["statistic"]) else f"{told}, {_t(row)}"


def _t(row: pd.Series) -> str:
    p = "p<.001" if row["p"] < 0.001 else f"p={row['p']:.3f}"
    return f"t({row['df']:.0f})={row['statistic']:.2f}, {p}"


def _steps(found: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "talks": "talks", "steps": "steps",
        "rooms of the run": "rooms", "distance": estimate("distance", 3), "score": estimate("score", 3),
        "halves of the people": number("halves", 3), "never moving": number("still", 3),
        "why empty": lambda row: row["reason"] or DASH,
    }  # fmt: skip
    return frame_table(found, columns) if len(found) else "No people were given who were asked turn by turn."


def _published(found: pd.DataFrame, known: Sequence[Published], run: str) -> str:
    private, public = _own(found, RUN), _own(found, PUBLIC)
    rows = [
        [entry.title, entry.human, entry.model, (public if entry.public else private).get(entry.measure, DASH)]
        for entry in known
        if public or not entry.public
    ]
    return markdown_table(["measure", "DEBATE, people", "DEBATE, model", run], rows)


def _own(found: pd.DataFrame, name: str) -> dict[str, str]:
    """The run's cells by measure, all conditions together; nothing where it is no source."""
    own = found[(found["source"] == name)]
    whole = own[own["condition"] == ALL] if own["condition"].nunique() > 1 else own
    return dict(whole.set_index("key").apply(_cell, axis=1)) if len(whole) else {}


def _ways_text(ways: pd.DataFrame, labels: Mapping[str, str]) -> str:
    turns = sorted(ways.loc[~ways["last"] & (ways["turn"] > 0), "turn"].unique())
    rows = []
    for (source, condition), part in ways.groupby(["source", "condition"], sort=False):
        known = part[~part["last"]].set_index("turn")["mean"]
        end = part[part["last"]].iloc[0]
        told = [format_number(float(known[turn]), 3) if turn in known else DASH for turn in turns]
        rows.append([labels.get(str(source), str(source)), str(condition), str(part["n"].iloc[0]), *told,
                     format_estimate(end["mean"], end["low"], end["high"], 3)])  # fmt: skip
    return markdown_table(["source", "condition", "people", *[f"{turn}" for turn in turns], "last"], rows)


def _dashes(found: pd.DataFrame) -> str:
    """Why a number is missing: a line a source and reason."""
    lines = []
    for (source, reason), part in found[found["reason"] != ""].groupby(["source", "reason"], sort=False):
        titles = "; ".join(TITLES[key] for key in part["key"].unique())
        here = list(map(str, part["condition"].unique()))
        some = len(here) < found.loc[found["source"] == source, "condition"].nunique()
        which = (
            f" ({escape_markdown('; '.join(here)) if len(here) < 4 else count_phrase(len(here), 'condition')})"
            if some
            else ""
        )
        lines.append(f"- {source}{which}: {titles}: {reason}.")
    return "\n".join(lines)


LOOKS = (("#0072b2", "o"), ("#d55e00", "s"), ("#009e73", "^"), ("#cc79a7", "D"), ("#56b4e9", "v"), ("#e69f00", "P"))
OWN = ("#000000", "X")
"""Colours of Okabe and Ito, which people of any colour vision tell apart; the run is black. Markers differ too."""
BINS, LEAST = 5, 5
"""Steps of initial opinion; people below which a step is not drawn."""


def draw(sources: Sequence[Source], found: pd.DataFrame, published: Sequence[Published], caption: str) -> Figure:
    """Four panels. `found`: the rows of `measured` of these sources; `published`: DEBATE's values, drawn hollow, no interval."""
    persons = [source for source in sources if len(source.people)]
    with new_figure(7.2, 6.2, caption, 8) as figure:
        (change, effects), (talks, rounds) = figure.subplots(2, 2)
        _change(change, persons)
        _effects(effects, persons, found, published)
        people, own = ([source for source in persons if (source.name == RUN) == mine] for mine in (False, True))
        _traces(talks, people, "People: toward the other side", "turn (hollow: told after the talk)")
        _traces(rounds, own, "Run: toward the others of the room", "round (hollow: the last)")
        rounds.sharey(talks)
        talks.autoscale()
    return figure


def _change(axis: Axes, sources: Sequence[Source]) -> None:
    """Mean change by initial opinion, in steps of a fifth; a dot where at least LEAST people started there."""
    looks = _looks(sources)
    for source in sources:
        people = complete(source.people)
        steps = np.minimum((people["before"] * BINS + 1e-9).astype("int64"), BINS - 1)
        means = people.assign(change=people["after"] - people["before"]).groupby(steps)[["before", "change"]]
        shown = means.mean()[means.size() >= LEAST]
        colour, marker = looks[source.name]
        axis.plot(
            shown["before"], shown["change"], color=colour, marker=marker, markersize=4, linewidth=1, label=source.name
        )
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.set(title="Change by initial opinion", xlabel="opinion before (0-1)", ylabel="mean change", xlim=(-0.04, 1.04))
    axis.legend(frameon=False, fontsize=7)


def _effects(axis: Axes, sources: Sequence[Source], found: pd.DataFrame, published: Sequence[Published]) -> None:
    """A line a source and measure: correlation with 95% interval; hollow: published, without one."""
    keys = ["own", "oldham", "distance"]
    looks = _looks(sources)
    names = [*[source.name for source in sources if source.name != RUN], "DEBATE people", "DEBATE model", RUN]
    if not published:
        names = [name for name in names if not name.startswith("DEBATE")]
    for place, key in enumerate(keys):
        values = {entry.measure: (entry.human, entry.model) for entry in published}
        for row, name in enumerate(names):
            at = place * (len(names) + 1) + row
            if name in looks:
                _estimate(axis, at, _whole(found, name, key), looks[name])
            elif key in values:
                axis.plot(float(values[key][name.endswith("model")]), at, "h", color="#444444", markerfacecolor="none")
            else:
                _absent(axis, at, "not published")
    ticks = [place * (len(names) + 1) + row for place in range(len(keys)) for row in range(len(names))]
    axis.set_yticks(ticks, names * len(keys), fontsize=6.5)
    for place, title in enumerate(("own initial opinion", "mean of before and after", "distance to partner")):
        axis.text(1.06, place * (len(names) + 1) - 0.72, title, ha="right", va="center", fontsize=6.5, style="italic")
    axis.axvline(0, color="#999999", linewidth=0.6)
    axis.set(title="Change correlates with ...", xlabel="r, 95% interval", xlim=(-1.08, 1.08))
    axis.set_ylim(len(keys) * (len(names) + 1) - 1.3, -1.3)


def _estimate(axis: Axes, at: int, row: pd.Series | None, look: tuple[str, str]) -> None:
    if row is None or np.isnan(row["estimate"]):
        _absent(axis, at, "not known")
        return
    axis.plot(row["estimate"], at, look[1], color=look[0], markersize=4)
    axis.hlines(at, row["low"], row["high"], color=look[0], linewidth=1.2)


def _absent(axis: Axes, at: int, why: str) -> None:
    axis.text(0.03, at, why, va="center", fontsize=6, color="#666666")


def _whole(found: pd.DataFrame, name: str, key: str) -> pd.Series | None:
    """The row of all conditions together; of the only one where there is one."""
    rows = found[(found["source"] == name) & (found["key"] == key)]
    whole = rows[rows["condition"] == ALL] if len(rows) > 1 else rows
    return whole.iloc[0] if len(whole) else None


def _traces(axis: Axes, sources: Sequence[Source], title: str, turn: str) -> None:
    """Mean way toward the other side after each turn; the last opinion is hollow. More conditions than LOOKS are drawn as one."""
    found = pd.concat([_ways(source) for source in sources], ignore_index=True) if sources else pd.DataFrame()
    axis.set(title=title, xlabel=turn, ylabel="mean change since before (0-1)")
    if found.empty:
        why = "nobody was asked in between" if sources else "no opinions of people were given"
        axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center")
        axis.set_xticks([])
        return
    for place, (condition, line) in enumerate(found.groupby("condition", sort=False)):
        colour, marker = LOOKS[place]
        at, means = line["turn"] + 0.05 * place, line["mean"]
        axis.vlines(at, line["low"], line["high"], color=colour, linewidth=0.8, alpha=0.7)
        axis.plot(
            at, means, color=colour, linewidth=1, marker=marker, markersize=4, markevery=range(len(at) - 1),
            label=f"{condition} (n={line['n'].iloc[0]})",
        )  # fmt: skip
        axis.plot(at.iloc[-1], means.iloc[-1], marker, color=colour, markerfacecolor="white", markersize=4)
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(frameon=False, fontsize=6.5, loc="upper left")


def _ways(source: Source) -> pd.DataFrame:
    many = source.people["condition"].nunique() > len(LOOKS)
    return traces(source.people.assign(condition=ALL) if many else source.people)


def _looks(sources: Sequence[Source]) -> dict[str, tuple[str, str]]:
    names = [source.name for source in sources if source.name != RUN]
    return {**dict(zip(names, LOOKS, strict=False)), RUN: OWN}
