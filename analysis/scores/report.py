"""A report on scores: comparisons by either procedure, reversion, gradients, echo chambers, and the figure of the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from analysis.gaps import nanmean, quartiles
from analysis.plots import OTHERS, STYLES, save, style
from analysis.scores.gradients import echo_chambers, gradients
from analysis.scores.reversion import REFERENCES, STATISTICS, ratios
from analysis.scores.table import HIGH, LOW, Line, lines
from analysis.scores.ucl import DIFFER, compare, smoothed
from analysis.wording import counted, estimate, markdown_table, number, span

REVERSION = (
    "{how}. R is 1 when the last statement is back at the first, negative when it went on; over topics, {rule}. No interval: it "
    "is not sure which way the agent moved. The middle is the mean of all statements but the first and the last; reversion.csv "
    "has the median and the last but one as well."
)
PAGE = 6
"""Conditions in one figure."""
PARTIES = {"Sam": "default", "Alex": "republican", "Riley": "republican", "Morgan": "republican",
           "Taylor": "democrat", "Quinn": "democrat", "Drew": "democrat"}  # fmt: skip
"""The names of the study. Seats ("republican 2") tell their party; other agents are told apart, but are of no party."""


def write(
    scores: pd.DataFrame,
    folder: Path,
    published: bool,
    what: str,
    chosen: Sequence[Sequence[str]] | None = None,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
) -> Path:
    """Write report.md, figures and tables; the path of the first. `published`: smoothed scores and statement units first.

    chosen: the conditions that are compared (see `compare`). before, after: more paragraphs, under the head and at the end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown = smoothed(scores) if published else scores
    parties = parties_of(scores)
    found = {
        "comparisons": pd.concat(
            [compare(scores, way, chosen) for way in (published, not published)], ignore_index=True
        ),
        "reversion": pd.concat([ratios(shown, way, published) for way in REFERENCES], ignore_index=True),
        "gradients": gradients(shown),
        "echo_chambers": echo_chambers(shown, {name: party for name, party in parties.items() if party != "default"}),
    }
    for name, frame in found.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    caption = f"{what}: means over runs, bars from first to third quartile, crosses at the ends"
    pictures = list(_pictures(shown, f"{caption}{', smoothed' if published else ''}", parties, folder))
    path = folder / "report.md"
    parts = [*_parts(scores, found, published, what, pictures, before), *after]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return path


def _pictures(shown: pd.DataFrame, caption: str, parties: Mapping[str, str], folder: Path) -> Iterator[str]:
    """Figures of at most PAGE conditions each: scores.png, scores_2.png, ..."""
    conditions = list(shown["condition"].unique())
    for page, start in enumerate(range(0, len(conditions), PAGE), 1):
        name = "scores" if page == 1 else f"scores_{page}"
        part = shown[shown["condition"].isin(conditions[start : start + PAGE])]
        save(figure(part, caption, parties), folder / name)
        yield f"![Scores by statement]({name}.png)"


def parties_of(scores: pd.DataFrame) -> dict[str, str]:
    """The party of every agent that has one, by the study's names or the seat."""
    seats = {name: name.split()[0].lower() for name in map(str, scores["agent"].unique()) if name}
    return {name: PARTIES.get(name, seat) for name, seat in seats.items() if name in PARTIES or seat in STYLES}


def figure(scores: pd.DataFrame, caption: str, parties: Mapping[str, str]) -> Figure:
    """A row a condition, a column a topic; a line an agent."""
    known = {(line.topic, line.condition, line.agent): line for line in lines(scores)}
    topics, conditions = (list(scores[name].unique()) for name in ("topic", "condition"))
    agents = list(scores["agent"].unique())
    with style():
        drawn = Figure(figsize=(max(2.1 * len(topics) + 0.6, 3.5), 1.7 * len(conditions) + 0.8), layout="constrained")
        FigureCanvasAgg(drawn)
        grid = drawn.subplots(len(conditions), len(topics), sharex=True, sharey=True, squeeze=False)
        for axes, condition in zip(grid, conditions, strict=True):
            for axis, topic in zip(axes, topics, strict=True):
                for place, agent in enumerate(agents):
                    if line := known.get((topic, condition, agent)):
                        _line(axis, line, _look(agent, place, agents, parties), (place - (len(agents) - 1) / 2) * 0.12)
                axis.set(ylim=(LOW - 0.2, HIGH + 0.2), yticks=range(LOW, HIGH + 1))
                axis.grid(axis="y", color="#e3e3e3", linewidth=0.5)
            axes[0].set_ylabel(f"{condition}\nscore (1-7)")
        for axis, topic in zip(grid[0], topics, strict=True):
            axis.set_title(str(topic))
        for axis in grid[-1]:
            axis.set_xlabel("statement")
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        shown: dict[str, Artist] = {}
        for axis in grid.flat:
            handles, labels = axis.get_legend_handles_labels()
            shown |= {str(label): handle for label, handle in zip(labels, handles, strict=True) if label not in shown}
        drawn.legend(
            list(shown.values()),
            list(shown),
            loc="outside lower center",
            ncols=min(len(shown), len(topics) + 1),
            frameon=False,
            fontsize=7,
        )
        drawn.suptitle("\n".join(wrap(caption, 32 * len(topics) + 24)), fontsize=7)
    return drawn


def _line(axis: Axes, line: Line, look: dict[str, object], aside: float) -> None:
    means = nanmean(line.scores)
    low, high = quartiles(line.scores)
    at = line.at
    axis.vlines(at + aside, low, high, color=look["color"], linewidth=0.8, alpha=0.7)
    ends = pd.DataFrame(line.scores).agg(["min", "max"]).to_numpy()
    for end in ends:
        axis.plot(at + aside, end, "x", color=look["color"], markersize=1.8, markeredgewidth=0.5, alpha=0.7)
    axis.plot(at + aside, means, label=line.agent, linewidth=1.0, markersize=3, **look)  # type: ignore[arg-type]


def _look(agent: str, place: int, agents: list[str], parties: Mapping[str, str]) -> dict[str, object]:
    """Colour and line of the party, a marker of its own for each of a party's agents."""
    party = parties.get(agent)
    found = STYLES[party] if party in STYLES else OTHERS[place % len(OTHERS)]
    alike = [other for other in agents if parties.get(other) == party]
    return {
        "color": found["color"],
        "linestyle": found["linestyle"],
        "marker": found["markers"][alike.index(agent) % 4],
    }


def _parts(
    scores: pd.DataFrame,
    found: Mapping[str, pd.DataFrame],
    published: bool,
    what: str,
    pictures: Sequence[str],
    before: Sequence[str],
) -> Iterator[str]:
    missing = int(scores["score"].isna().sum())
    runs = scores.groupby(["topic", "condition"])["run"].nunique()
    held = f"{counted(len(scores), 'score')}, {missing} missing, {span(runs)} runs a topic and condition"
    yield f"# Scores of statements\n\n{what}: {held}."
    yield from before
    yield from pictures
    comparisons = found["comparisons"]
    if len(comparisons):
        yield f"## Do conditions differ?\n\n{DIFFER} Brackets: 95% intervals; p is corrected (Holm) within a topic and procedure."
        yield markdown_table(_COMPARED, [_compared(row) for row in comparisons.to_dict("records")])
    rule = "undefined ratios count as 0, as in the paper" if published else "undefined ratios are left out"
    how = "of smoothed scores" if published else "of scores as they are"
    yield f"## Reversion\n\n{REVERSION.format(how=how.capitalize(), rule=rule)}"
    rows = [
        [str(row["condition"]), str(row["agent"]), str(row["topics"]), str(row["undefined"]),
         *[estimate(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in STATISTICS]]
        for row in found["reversion"][found["reversion"]["reference"] == REFERENCES[0]].to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["condition", "agent", "topics", "undefined", "mean R", "median R", "pooled R"], rows)
    yield f"## Slopes\n\nPoints a statement, over the means of runs, {how}; the interval is over runs."
    rows = [
        [str(row["topic"]), str(row["condition"]), str(row["agent"]), number(row["mean"]), number(row["change"]),
         number(row["iqr"]), estimate(row["slope"], row["slope_low"], row["slope_high"], 3)]
        for row in found["gradients"].to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["topic", "condition", "agent", "mean", "last - first", "mean IQR", "slope"], rows)
    if len(found["echo_chambers"]):
        yield (
            f"## Echo chambers\n\nFormed when all agents of a party have slopes away from the middle, on its side, {how}. "
            "A dash: with one run it cannot be known."
        )
        rows = [
            [number(None) if pd.isna(value) else str(value) for value in row.values()]
            for row in found["echo_chambers"].to_dict("records")
        ]
        yield markdown_table(["topic", "condition", "party", "agents", "outward", "formed"], rows)


_COMPARED = ("topic", "procedure", "conditions", "test", "unit", "n", "estimate", "p", "p corrected")


def _compared(row: Mapping[str, object]) -> list[str]:
    if row["reason"]:
        told = [str(row["reason"]), "–", "–"]
    else:
        size = estimate(row["estimate"], row["low"], row["high"])  # type: ignore[arg-type]
        told = [f"{row['measure']} {size}", _p(row["p"]), _p(row["p_holm"])]
    return [*[str(row[name]) for name in ("topic", "procedure", "effect", "test", "unit", "n")], *told]


def _p(value: object) -> str:
    """`0.0123`, `3.5e-08`."""
    return number(value, 4) if not isinstance(value, float) or not value < 0.0001 else f"{value:.1e}"
