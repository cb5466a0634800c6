"""human.md: people and a run, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from parley.analysis import disclaimers
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
from parley.analysis.human.debate import NAMES, ORIGIN, Published, published
from parley.analysis.human.fidelity import fidelity
from parley.analysis.human.figure import draw
from parley.analysis.human.measures import TITLES, measure_source, traces
from parley.analysis.human.readers import HABERMAS, SALVI, TRACES, find, sources, table
from parley.analysis.human.rooms import PUBLIC, RUN, each_turn, of_posts, of_run
from parley.analysis.human.table import ALL, Source
from parley.analysis.judge.quality import against_truth, warning
from parley.analysis.reporting import Report
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
        report.section("Turn by turn", told, _ways(ways, labels))


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


def _ways(ways: pd.DataFrame, labels: Mapping[str, str]) -> str:
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
