"""The report on scores: comparisons by both procedures, reversion, slopes, echo chambers, and the figure of the UCL study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import fill, wrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.agents.society import PartyNames, load_society, party_name
from parley.analysis import formatting
from parley.analysis.figures import STYLES, add_legend, new_figure, styles_by_party
from parley.analysis.formatting import Column, count_phrase, estimate, frame_table
from parley.analysis.report import Report
from parley.analysis.scores.contrasts import sorted_by_p
from parley.analysis.scores.reversion import CONVERTED, ECHO, REFERENCES, STATISTICS, echo_chambers, gradients, ratios
from parley.analysis.scores.table import HIGH, LOW, ScoreLine, lines
from parley.analysis.scores.ucl import DIFFER, Chosen, compare, is_smoothed, smoothed
from parley.analysis.statistics.intervals import FEWEST, nanmean, quartiles
from parley.model.titles import seat_title

REVERSION = (
    "{how}. The ratio R is 1 if the last statement returns to the first statement, and negative if the last statement moves "
    "further away; over topics, {rule}. R has no interval if the direction of the agent's change is uncertain. Intervals are "
    "over casts (groups of people) with all their topics, because the same people debate on every topic. If all runs have one "
    "cast, or people are unknown, intervals are over runs. The middle is the mean of all statements except the first and the "
    "last. The file `reversion.csv` also has two other rules of the authors: medians over runs, and the last statement but one "
    "as the middle."
)
SIZES = (
    "Differences in points and omega squared (the share of variance between conditions, minus the share expected by chance) "
    "have a 95% interval. Ratios of SDs, Hedges' g and eta squared of shuffled labels have no interval."
)
FEW_RUNS = (
    f" With fewer than {FEWEST} runs in a condition, the report leaves out p of the published procedure, which takes statements "
    "as units (`--mode ucl` prints this p)."
)
SMOOTHED = (
    "The scores in the file were smoothed already{how}, so Parley does not smooth the scores again. The tests by run, the "
    "slopes and reversion therefore use smoothed scores, in which changes look slower than they were."
)
ALPHA = 0.05
PAGE = 6
"""Conditions per figure."""
ROWS = 20
"""Rows of a table in the report; the CSV has all of them."""
LABEL, LABELS = 26, 4
"""Characters per line, and lines, of a condition's name next to the figure."""
WORDS = {"neutral": "default"}
"""The study's own word for a party."""
SLOPES: Mapping[str, Column] = {
    "topic": "topic", "condition": "condition", "agent": "agent", "mean": "mean", "last - first": "change",
    "mean IQR": "iqr", "slope": estimate("slope", 3), "way": "way",
}  # fmt: skip
COMPARED: Mapping[str, Column] = {
    "topic": "topic", "procedure": "procedure", "conditions": "effect", "test": "test", "unit": "unit", "n": "n",
    "estimate": lambda row: _size(row), "p": lambda row: p_value(row["p"]), "p corrected": lambda row: p_value(row["p_holm"]),
}  # fmt: skip
Tables = Mapping[str, pd.DataFrame]
Looks = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class ReportedTest:
    """More paragraphs of a report: at the start of "In short", after it, and at the end."""

    short: Sequence[str] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()


def write(
    scores: pd.DataFrame,
    folder: Path,
    published: bool,
    what: str,
    chosen: Chosen = None,
    told: ReportedTest | None = None,
    people: pd.DataFrame | None = None,
    already: bool = False,
    looks: Looks | None = None,
) -> Path:
    """Write report.md, figures and tables; return the path of the first. published: smoothed scores and statement units first.

    chosen: the conditions that are compared (see `compare`). told: more paragraphs. people: who sat where
    (analysis/scores/table.py). already: the scores are smoothed, even if they do not look so. looks: those of the parties, as the
    header of a record has them (none: those of the society `us`).
    """
    smooth = already or is_smoothed(scores)
    shown = smoothed(scores) if published and not smooth else scores
    parties = parties_of(scores, people)
    fewest = scores.groupby(["topic", "condition"])["run"].nunique().min()
    ways = (published, not published) if published or fewest >= FEWEST else (published,)
    tests = [compare(scores, way, chosen, smooth, people) for way in ways]
    tables = {
        "comparisons": pd.concat(tests, ignore_index=True),
        "reversion": pd.concat([ratios(shown, way, published, people) for way in REFERENCES], ignore_index=True),
        "gradients": gradients(shown),
        "echo_chambers": echo_chambers(shown, {name: party for name, party in parties.items() if party != "default"}),
    }
    caption = f"{what}: means over runs, bars from first to third quartile, crosses at the ends"
    told, report = told or ReportedTest(), Report(folder, "report", f"{what}: scores of statements")
    report.data(**tables)
    report.add(_counts(scores))
    blocks = [text for text in told.short if text.startswith((">", "|"))]
    report.add(*(text for text in blocks if text.startswith(">")))
    lines = [text for text in told.short if text not in blocks]
    report.in_short([*lines, *_short(tables)], *(text for text in blocks if text.startswith("|")), *told.before)
    if smooth:
        how = "" if already else " (without smoothing, they are the thirds that a judge with three calls gives)"
        report.add(SMOOTHED.format(how=how))
    _add_figures(report, shown, f"{caption}{', smoothed' if shown is not scores else ''}", parties, looks)
    how = "of smoothed scores" if smooth or published else "of scores as they are"
    report.add(*_sections(tables, published, how, PartyNames.from_header(looks or {})), *told.after)
    return report.write()


def _add_figures(
    report: Report, shown: pd.DataFrame, caption: str, parties: Mapping[str, str], looks: Looks | None
) -> None:
    """Add figures of at most PAGE conditions each: scores.png, scores_2.png, ..."""
    conditions = list(shown["condition"].unique())
    for page, start in enumerate(range(0, len(conditions), PAGE), 1):
        page_scores = shown[shown["condition"].isin(conditions[start : start + PAGE])]
        name = "scores" if page == 1 else f"scores_{page}"
        report.figure(figure(page_scores, caption, parties, looks), name, "Scores by statement")


def study_names() -> dict[str, str]:
    """The party of each name of the UCL study (`enhanced` in the files of its parties)."""
    recipes = {party: description.enhanced for party, description in load_society().parties.items()}
    return {name: party for party, about in recipes.items() for name in about.get("names", ())}


def parties_of(scores: pd.DataFrame, people: pd.DataFrame | None = None) -> dict[str, str]:
    """The party of every agent that has one, by who sat where, else by the study's names or the seat."""
    if people is not None:
        return {str(agent): str(party) for agent, party in zip(people["agent"], people["party"], strict=True)}
    parties, party_by_name = {}, study_names()
    for name in filter(None, map(str, scores["agent"].unique())):
        seat = name.split()[0].lower()
        party = party_by_name.get(name, WORDS.get(seat, seat))
        if party in STYLES:
            parties[name] = party
    return parties


def figure(scores: pd.DataFrame, caption: str, parties: Mapping[str, str], looks: Looks | None = None) -> Figure:
    """One row per condition, one column per topic, one line per agent."""
    line_by_key = {(line.topic, line.condition, line.agent): line for line in lines(scores)}
    topics, conditions, agents = (list(scores[name].unique()) for name in ("topic", "condition", "agent"))
    with new_figure(max(2.1 * len(topics) + 0.6, 3.5), 1.7 * len(conditions) + 0.8) as drawn:
        grid = drawn.subplots(len(conditions), len(topics), sharex=True, sharey=True, squeeze=False)
        for axes, condition in zip(grid, conditions, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                for place, agent in enumerate(agents):
                    if line := line_by_key.get((topic, condition, agent)):
                        offset = (place - (len(agents) - 1) / 2) * 0.12
                        title = _agent_title(agent, PartyNames.from_header(looks or {}))
                        _draw_line(axis, line, _look(agent, agents, parties, looks), offset, title)
                axis.set(ylim=(LOW - 0.2, HIGH + 0.2), yticks=range(LOW, HIGH + 1))
                axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
            name = fill(str(condition), LABEL, max_lines=LABELS, placeholder=" ...", break_on_hyphens=False)
            axes[0].set_ylabel(f"{name}\nscore (1-7)", fontsize=6)
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(str(topic))
        for axis in grid[-1]:
            axis.set_xlabel("statement")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        add_legend(drawn, grid.flat, min(len(agents), len(topics) + 1))
        drawn.suptitle("\n".join(wrap(caption, 32 * len(topics) + 24)), fontsize=7)
    return drawn


def _draw_line(axis: Axes, line: ScoreLine, look: dict[str, Any], offset: float, name: str) -> None:
    color = look["color"]
    low, high = quartiles(line.scores)
    axis.vlines(line.at + offset, low, high, color=color, linewidth=0.8, alpha=0.7)
    for end in pd.DataFrame(line.scores).agg(["min", "max"]).to_numpy():
        axis.plot(line.at + offset, end, "x", color=color, markersize=1.8, markeredgewidth=0.5, alpha=0.7)
    axis.plot(line.at + offset, nanmean(line.scores), label=name, linewidth=1.0, markersize=3, **look)


def _look(agent: str, agents: list[str], parties: Mapping[str, str], looks: Looks | None) -> dict[str, Any]:
    """Colour and line of the party, and a different marker for each of a party's agents."""
    party = parties.get(agent, agent)
    style = styles_by_party((parties.get(name, name) for name in agents), looks)[party]
    members = [other for other in agents if parties.get(other, other) == party]
    marker = style["markers"][members.index(agent) % 4]
    return {"color": style["color"], "linestyle": style["linestyle"], "marker": marker}


def _counts(scores: pd.DataFrame) -> str:
    missing, runs = int(scores["score"].isna().sum()), scores.groupby(["topic", "condition"])["run"].nunique()
    sizes = formatting.format_range(runs)
    return f"{count_phrase(len(scores), 'score')}, {missing} missing, {sizes} runs per topic and condition."


def _short(tables: Tables) -> Iterator[str]:
    """How many tests found anything, and how many echo chambers formed."""
    comparisons, echo = tables["comparisons"], tables["echo_chambers"]
    if not len(comparisons) and not len(echo):
        yield "Conditions are not compared, because the scores have one condition."
    if len(comparisons):
        by_run = comparisons[comparisons["procedure"] == "by run"]
        tested = by_run[by_run["p"].notna()]
        sure = tested[tested["p_holm"] < ALPHA]
        named = "; ".join(f"{row.topic}, {row.effect} ({row.test})" for row in sorted_by_p(sure).head(3).itertuples())
        untested = len(by_run) - len(tested)
        if tested.empty:
            reasons = "; ".join(dict.fromkeys(f"{row.effect}: {row.reason}" for row in by_run.itertuples()))
            yield f"Whether conditions differ cannot be tested by run. {reasons}."
        else:
            yield (
                f"{len(sure)} of {count_phrase(len(tested), 'test')} by run find a difference between conditions (p below .05 "
                f"after Holm's correction within a topic){f': {named}' if named else ''}."
                + (f" {untested} further tests could not be made; the table has the reasons." if untested else "")
            )
    if len(echo):
        formed, unknown = echo[echo["outcome"] == ECHO], int(echo["formed"].isna().sum())
        named = "; ".join(f"{row.topic}, {row.condition}" for row in formed.itertuples())
        yield (
            f"A party's agents formed an echo chamber in {len(formed)} of {len(echo)} cases (one per topic, condition and "
            f"party){f' ({named})' if named else ''}; in {int((echo['outcome'] == CONVERTED).sum())} cases the party was "
            "converted: its agents ended on the other side of the middle."
            + (f" In {unknown} cases the runs are too few for a verdict." if unknown else "")
        )


def _sections(tables: Tables, published: bool, how: str, parties: PartyNames) -> Iterator[str]:
    agent: Column = partial(_agent_of, parties=parties)
    comparisons, slopes = tables["comparisons"], tables["gradients"]
    shown = "published" in set(comparisons.get("procedure", ()))
    if len(comparisons):
        yield (
            f"## Do conditions differ?\n\n{DIFFER} {SIZES}{'' if shown else FEW_RUNS} p is corrected (Holm) within a topic and "
            "procedure; the smallest p of a procedure comes first."
        )
        procedures = [
            sorted_by_p(procedure_rows).head(ROWS) for _, procedure_rows in comparisons.groupby("procedure", sort=False)
        ]
        rows = pd.concat(procedures)
        yield frame_table(rows, COMPARED)
        yield from more(len(comparisons) - len(rows), "comparisons")
    rule = "undefined ratios count as 0, as in the paper" if published else "undefined ratios are left out"
    yield f"## Reversion\n\n{REVERSION.format(how=how.capitalize(), rule=rule)}"
    means = tables["reversion"][tables["reversion"]["reference"] == REFERENCES[0]]
    names = {name: name for name in ("condition", "agent", "topics", "undefined")}
    yield frame_table(means, names | {"agent": agent} | {f"{name} R": estimate(name) for name in STATISTICS})
    yield (
        f"## Slopes\n\nPoints per statement, {how}; the interval is over runs. The steepest slopes come first. The column `way` "
        "is `outward` (the agent ends further out on the side of its first statements), `converted` (the agent ends on the "
        "other side), or `neither`."
    )
    yield frame_table(
        slopes.sort_values("slope", key=abs, ascending=False, kind="stable").head(ROWS), {**SLOPES, "agent": agent}
    )
    yield from more(len(slopes) - ROWS, "gradients")
    yield from _echo(tables["echo_chambers"], how, parties)


def _agent_of(row: Mapping[str, Any], parties: PartyNames) -> str:
    return _agent_title(row["agent"], parties)


def _agent_title(agent: str, parties: PartyNames) -> str:
    """Return the title of an agent that is named by its seat: `spd 1` -> `SPD 1`; any other name as it is."""
    return seat_title(agent, parties) if agent.partition(" ")[0] in parties else agent


def _echo(table: pd.DataFrame, how: str, parties: PartyNames) -> Iterator[str]:
    if table.empty:
        return
    yield (
        f"## Echo chambers\n\nAn echo chamber has formed if all agents of a party go outward, {how}: the agents end further "
        "from the middle than at the beginning, on the side of their first statements, and their intervals exclude the middle "
        "and a slope of 0. A party is converted if all of its agents end on the other side."
    )
    rank = table["outcome"].map({ECHO: 0, CONVERTED: 1}).fillna(2)
    names = ["topic", "condition", "party", "agents", "outward", "converted", "outcome"]
    columns: dict[str, Column] = {name: name for name in names}
    columns |= {"party": lambda row: party_name(row["party"], parties) if row["party"] in parties else row["party"]}
    yield frame_table(table.loc[rank.sort_values(kind="stable").index].head(ROWS), columns)
    yield from more(len(table) - ROWS, "echo_chambers")


def more(rows: int, name: str) -> Iterator[str]:
    """Say how many rows of a table are in its CSV only."""
    if rows > 0:
        yield f"{count_phrase(rows, 'more row')} in {name}.csv."


def _size(row: Mapping[str, Any]) -> str:
    size = formatting.format_estimate(row["estimate"], row["low"], row["high"])
    size_phrase = f"{row['measure']} {size}" if size != formatting.DASH else ""
    return ", ".join(filter(None, [size_phrase, str(row["reason"])]))


def p_value(value: object) -> str:
    """`0.0123`, `3.5e-08`."""
    small = isinstance(value, float) and value < 0.0001
    return f"{value:.1e}" if small else formatting.format_number(value, 4)
