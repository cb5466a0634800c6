"""A report on scores: comparisons by either procedure, reversion, gradients, echo chambers, and the figure of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill, wrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from parley.analysis.bootstrap import nanmean, quartiles
from parley.analysis.figures import STYLES, add_legend, new_figure, styles_by_party
from parley.analysis.formatting import (
    DASH,
    Column,
    count_phrase,
    estimate,
    format_estimate,
    format_number,
    format_range,
    frame_table,
    markdown_table,
)
from parley.analysis.report import Report
from parley.analysis.scores.contrasts import sorted_by_p
from parley.analysis.scores.reversion import CONVERTED, ECHO, REFERENCES, STATISTICS, echo_chambers, gradients, ratios
from parley.analysis.scores.table import HIGH, LOW, ScoreLine, lines
from parley.analysis.scores.ucl import DIFFER, compare, is_smoothed, smoothed

REVERSION = (
    "{how}. R is 1 when the last statement is back at the first, negative when it went on; over topics, {rule}. No interval: it "
    "is not sure which way the agent moved. The middle is the mean of all statements but the first and the last; reversion.csv "
    "has the authors' two other rules as well: medians over runs, and the last statement but one for the middle."
)
SIZES = (
    "A difference in points has its 95% interval, and so has omega squared (the share of variance between conditions, less what "
    "chance explains). Ratios of SDs, Hedges' g and eta squared of shuffled labels have none."
)
SMOOTHED = (
    "The scores are smoothed already{how}: they are not smoothed again, and the tests by run, the slopes and reversion are of "
    "smoothed scores, in which changes look slower than they were."
)
ALPHA = 0.05
PAGE = 6
"""Conditions in one figure."""
ROWS = 20
"""Rows of a table in the report; the CSV has all of them."""
LABEL, LABELS = 26, 4
"""Characters of a line, and lines, of a condition's name beside the figure."""
PARTIES = {"Sam": "default", "Alex": "republican", "Riley": "republican", "Morgan": "republican",
           "Taylor": "democrat", "Quinn": "democrat", "Drew": "democrat"}  # fmt: skip
"""The names of the study. Seats ("republican 2") tell their party; other agents are told apart, but are of no party."""
WORDS = {"neutral": "default"}
"""The study's own word for a party."""


@dataclass(frozen=True)
class ReportedTest:
    """What else goes into a report: paragraphs under the head, first of all `short`, and at the end."""

    short: Sequence[str] = ()
    before: Sequence[str] = ()
    after: Sequence[str] = ()


def write(
    scores: pd.DataFrame,
    folder: Path,
    published: bool,
    what: str,
    chosen: Sequence[Sequence[str]] | None = None,
    told: ReportedTest | None = None,
    people: pd.DataFrame | None = None,
    already: bool = False,
) -> Path:
    """Write report.md, figures and tables; return the path of the first. `published`: smoothed scores and statement units first.

    chosen: the conditions that are compared (see `compare`). people: who sat where (analysis/scores/table.py). already: the
    scores are smoothed, whether or not they look so.
    """
    looks = is_smoothed(scores)
    shown = smoothed(scores) if published and not (already or looks) else scores
    parties = parties_of(scores)
    found = {
        "comparisons": pd.concat(
            [compare(scores, way, chosen, already or looks, people) for way in (published, not published)],
            ignore_index=True,
        ),
        "reversion": pd.concat([ratios(shown, way, published) for way in REFERENCES], ignore_index=True),
        "gradients": gradients(shown),
        "echo_chambers": echo_chambers(shown, {name: party for name, party in parties.items() if party != "default"}),
    }
    caption = f"{what}: means over runs, bars from first to third quartile, crosses at the ends"
    told, report = told or ReportedTest(), Report(folder, "report", f"{what}: scores of statements")
    report.data(**found)
    report.add(_counts(scores))
    report.section("In short", *_short(found, told.short), *told.before)
    if already or looks:
        how = "" if already else " (undone, they are the thirds of a judge that was asked three times)"
        report.add(SMOOTHED.format(how=how))
    _pictures(report, shown, f"{caption}{', smoothed' if shown is not scores else ''}", parties)
    how = "of smoothed scores" if shown is not scores or already or looks else "of scores as they are"
    report.add(*_parts(found, published, how), *told.after)
    return report.write()


def _pictures(report: Report, shown: pd.DataFrame, caption: str, parties: Mapping[str, str]) -> None:
    """Add figures of at most PAGE conditions each: scores.png, scores_2.png, ..."""
    conditions = list(shown["condition"].unique())
    for page, start in enumerate(range(0, len(conditions), PAGE), 1):
        part = shown[shown["condition"].isin(conditions[start : start + PAGE])]
        name = "scores" if page == 1 else f"scores_{page}"
        report.figure(figure(part, caption, parties), name, "Scores by statement")


def parties_of(scores: pd.DataFrame) -> dict[str, str]:
    """The party of every agent that has one, by the study's names or the seat."""
    seats = {name: name.split()[0].lower() for name in map(str, scores["agent"].unique()) if name}
    seats = {name: WORDS.get(seat, seat) for name, seat in seats.items()}
    return {name: PARTIES.get(name, seat) for name, seat in seats.items() if name in PARTIES or seat in STYLES}


def figure(scores: pd.DataFrame, caption: str, parties: Mapping[str, str]) -> Figure:
    """A row a condition, a column a topic; a line an agent."""
    known = {(line.topic, line.condition, line.agent): line for line in lines(scores)}
    topics, conditions = (list(scores[name].unique()) for name in ("topic", "condition"))
    agents = list(scores["agent"].unique())
    with new_figure(max(2.1 * len(topics) + 0.6, 3.5), 1.7 * len(conditions) + 0.8) as drawn:
        grid = drawn.subplots(len(conditions), len(topics), sharex=True, sharey=True, squeeze=False)
        for axes, condition in zip(grid, conditions, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                for place, agent in enumerate(agents):
                    if line := known.get((topic, condition, agent)):
                        _line(axis, line, _look(agent, agents, parties), (place - (len(agents) - 1) / 2) * 0.12)
                axis.set(ylim=(LOW - 0.2, HIGH + 0.2), yticks=range(LOW, HIGH + 1))
                axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
            axes[0].set_ylabel(f"{_label(str(condition))}\nscore (1-7)", fontsize=6)
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(str(topic))
        for axis in grid[-1]:
            axis.set_xlabel("statement")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        add_legend(drawn, grid.flat, min(len(agents), len(topics) + 1))
        drawn.suptitle("\n".join(wrap(caption, 32 * len(topics) + 24)), fontsize=7)
    return drawn


def _label(condition: str) -> str:
    """The name of a condition in lines that fit beside a row."""
    return fill(condition, LABEL, max_lines=LABELS, placeholder=" ...", break_on_hyphens=False)


def _line(axis: Axes, line: ScoreLine, look: dict[str, object], aside: float) -> None:
    means = nanmean(line.scores)
    low, high = quartiles(line.scores)
    at = line.at
    axis.vlines(at + aside, low, high, color=look["color"], linewidth=0.8, alpha=0.7)
    ends = pd.DataFrame(line.scores).agg(["min", "max"]).to_numpy()
    for end in ends:
        axis.plot(at + aside, end, "x", color=look["color"], markersize=1.8, markeredgewidth=0.5, alpha=0.7)
    axis.plot(at + aside, means, label=line.agent, linewidth=1.0, markersize=3, **look)  # type: ignore[arg-type]


def _look(agent: str, agents: list[str], parties: Mapping[str, str]) -> dict[str, object]:
    """Colour and line of the party, a marker of its own for each of a party's agents."""
    party = parties.get(agent, agent)
    found = styles_by_party(parties.get(one, one) for one in agents)[party]
    alike = [other for other in agents if parties.get(other, other) == party]
    return {
        "color": found["color"],
        "linestyle": found["linestyle"],
        "marker": found["markers"][alike.index(agent) % 4],
    }


def _counts(scores: pd.DataFrame) -> str:
    missing = int(scores["score"].isna().sum())
    runs = scores.groupby(["topic", "condition"])["run"].nunique()
    return f"{count_phrase(len(scores), 'score')}, {missing} missing, {format_range(runs)} runs a topic and condition."


def _short(found: Mapping[str, pd.DataFrame], short: Sequence[str]) -> Iterator[str]:
    """What a reader takes away: the study's own question first, then how many of the other tests found anything."""
    yield from short
    comparisons, echo = found["comparisons"], found["echo_chambers"]
    lines = []
    tested = comparisons[(comparisons["procedure"] == "by run") & comparisons["p"].notna()]
    if len(comparisons):
        sure = tested[tested["p_holm"] < ALPHA]
        named = "; ".join(f"{row.topic}, {row.effect} ({row.test})" for row in sorted_by_p(sure).head(3).itertuples())
        untested = int((comparisons["procedure"] == "by run").sum()) - len(tested)
        lines.append(
            f"- {len(sure)} of {count_phrase(len(tested), 'test')} by run find a "
            "difference between conditions (p below .05 after "
            f"Holm's correction within a topic){f': {named}' if named else ''}."
            + (f" {untested} could not be made: the table says why." if untested else "")
        )
    if len(echo):
        formed = echo[echo["outcome"] == ECHO]
        gone = int((echo["outcome"] == CONVERTED).sum())
        unknown = int(echo["formed"].isna().sum())
        which = "; ".join(f"{row.topic}, {row.condition}" for row in formed.itertuples())
        lines.append(
            f"- An echo chamber formed in {len(formed)} of {len(echo)} cases{f' ({which})' if which else ''}; in {gone} the "
            "party was converted: it ended on the other side of the middle."
            + (f" In {unknown} there are too few runs to say so." if unknown else "")
        )
    if lines:
        yield "\n".join(lines)


def _parts(found: Mapping[str, pd.DataFrame], published: bool, how: str) -> Iterator[str]:
    comparisons = found["comparisons"]
    if len(comparisons):
        yield (
            f"## Do conditions differ?\n\n{DIFFER} {SIZES} p is corrected (Holm) within a topic and procedure; the smallest p "
            "of a procedure comes first."
        )
        procedures = [part for _, part in comparisons.groupby("procedure", sort=False)]
        rows = [row for part in procedures for row in sorted_by_p(part).head(ROWS).to_dict("records")]
        yield markdown_table(_COMPARED, [_compared(row) for row in rows])
        yield from more(len(comparisons) - len(rows), "comparisons")
    rule = "undefined ratios count as 0, as in the paper" if published else "undefined ratios are left out"
    yield f"## Reversion\n\n{REVERSION.format(how=how.capitalize(), rule=rule)}"
    ratios_ = found["reversion"][found["reversion"]["reference"] == REFERENCES[0]]
    names = {name: name for name in ("condition", "agent", "topics", "undefined")}
    yield frame_table(ratios_, names | {f"{name} R": estimate(name) for name in STATISTICS})
    yield (
        f"## Slopes\n\nPoints a statement, {how}; the interval is over runs. The steepest come first. Way: outward (from the "
        "side of its first statements to further out on it), converted (it ends on the other side), or neither."
    )
    steepest = found["gradients"].sort_values("slope", key=abs, ascending=False, kind="stable")
    yield frame_table(steepest.head(ROWS), SLOPES)
    yield from more(len(steepest) - ROWS, "gradients")
    yield from _echo(found["echo_chambers"], how)


def _echo(found: pd.DataFrame, how: str) -> Iterator[str]:
    if found.empty:
        return
    yield (
        f"## Echo chambers\n\nFormed when all agents of a party go outward, {how}: they end further from the middle than they "
        "began, on the side of their first statements, with slopes that are sure. Converted when all end on the other side."
    )
    order = found.assign(rank=found["outcome"].map({ECHO: 0, CONVERTED: 1}).fillna(2)).sort_values(
        "rank", kind="stable"
    )
    names = ["topic", "condition", "party", "agents", "outward", "converted", "outcome"]
    yield frame_table(order.head(ROWS), {name: name for name in names})
    yield from more(len(order) - ROWS, "echo_chambers")


def more(rows: int, name: str) -> Iterator[str]:
    """Say how many rows of a table stand in its CSV alone."""
    if rows > 0:
        yield f"{count_phrase(rows, 'more row')} in {name}.csv."


SLOPES: Mapping[str, Column] = {
    "topic": "topic", "condition": "condition", "agent": "agent", "mean": "mean", "last - first": "change",
    "mean IQR": "iqr", "slope": estimate("slope", 3), "way": "way",
}  # fmt: skip
_COMPARED = ("topic", "procedure", "conditions", "test", "unit", "n", "estimate", "p", "p corrected")


def _compared(row: Mapping[str, object]) -> list[str]:
    size = format_estimate(row["estimate"], row["low"], row["high"])  # type: ignore[arg-type]
    known = f"{row['measure']} {size}" if size != DASH else ""
    told = [", ".join(filter(None, [known, str(row["reason"])])), p_value(row["p"]), p_value(row["p_holm"])]
    return [*[str(row[name]) for name in ("topic", "procedure", "effect", "test", "unit", "n")], *told]


def p_value(value: object) -> str:
    """`0.0123`, `3.5e-08`."""
    return format_number(value, 4) if not isinstance(value, float) or not value < 0.0001 else f"{value:.1e}"
