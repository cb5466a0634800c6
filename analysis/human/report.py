"""human.md: people and a run, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.formatting import (
    DASH,
    count_phrase,
    escape_markdown,
    format_estimate,
    format_number,
    join_phrases,
    markdown_table,
)
from parley.analysis.human.debate import NAMES, ORIGIN, Published, published
from parley.analysis.human.fidelity import fidelity
from parley.analysis.human.figure import draw
from parley.analysis.human.measures import TITLES, measure_source, traces
from parley.analysis.human.readers import HABERMAS, SALVI, TRACES, find, sources, table
from parley.analysis.human.rooms import PUBLIC, RUN, each_turn, of_posts, of_run
from parley.analysis.human.table import ALL, Source
from parley.analysis.judge.quality import against_truth, warning
from parley.analysis.plots import save
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
STEPS = (
    "A step is the change of an opinion from one turn to the next, toward the other side. Distance is that between the run's "
    "steps and the people's (Wasserstein, 0-1); beside it the distance of random halves of the people, and that of somebody who "
    "never moves. Score: 1 the people's own distribution, 0 no nearer than who never moves. Intervals of a distance lie too high."
)
NO_DATA = "No human data were given: `--data FOLDER` (docs/human.md says which files and where they are)."


def write(tables: Tables, data: Path | None, folder: Path, verdicts: Path | None = None) -> Path:
    """Write human.md, human.csv, traces.csv and the picture into the folder; the path of the first.

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
    folder.mkdir(parents=True, exist_ok=True)
    found.to_csv(folder / "human.csv", index=False)
    ways.to_csv(folder / "traces.csv", index=False)
    model = disclaimers.model_label(tables.header)
    private = [source for source in every if source.name != PUBLIC], [entry for entry in known if not entry.public]
    save(draw(private[0], found, private[1], f"People, and a run held by {model}"), folder / "human")
    path = folder / "human.md"
    path.write_text("\n\n".join(_parts(tables, every, found, ways, known, warned)) + "\n", encoding="utf-8")
    return path


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


def _parts(
    tables: Tables,
    every: Sequence[Source],
    found: pd.DataFrame,
    ways: pd.DataFrame,
    known: Sequence[Published],
    warned: str,
) -> Iterator[str]:
    labels = {RUN: f"{RUN}: {disclaimers.model_label(tables.header)}"}
    yield f"# People and a run\n\n{UNITS}"
    if len(every) == 1:
        yield NO_DATA
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}"
    if warned:
        yield f"> {PUBLIC}: {warned}"
    if not tables.finished:
        yield "The run is not finished: agents without a last survey are missing."
    yield "![People and the run](human.png)"
    yield f"## Who moves\n\n{REGRESSION}\n\n{STILL}"
    yield _table(found, labels, ["own", "oldham", "distance", "shuffled", "still"])
    yield "## Where to\n\nThe other side is the opponent's or persuader's; in a run, where the others' mean lies before."
    yield _table(found, labels, ["toward", "majority"])
    yield "## Spread within a group\n\nMean SD (n - 1) over groups of two and more, before and after, and a paired t-test."
    yield _table(found, labels, ["sd_before", "sd_after", "spread"])
    if len(each_turn(tables)):
        yield f"## From turn to turn\n\n{STEPS}"
        yield _steps(
            fidelity(
                every[[one.name for one in every].index(RUN)], [one for one in every if one.name not in (RUN, PUBLIC)]
            )
        )
    if known:
        yield f"## Beside published values\n\n{ORIGIN}. As they were published, not computed here."
        yield _published(found, known, labels[RUN])
    if len(ways):
        yield "## Turn by turn\n\nMean way toward the other side since before; `last` is the opinion told after the debate."
        yield _ways(ways, labels)
    if len(dashes := _dashes(found)):
        yield f"## Dashes\n\n{dashes}"
    yield "## Sources"
    yield "\n".join(f"- **{source.name}**: {' '.join([f'{source.origin}.', *source.notes])}" for source in every)


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
    rows = [
        [f"{row['people']}: {row['condition']}", str(row["talks"]), str(row["steps"]), str(row["rooms"]),
         *[format_estimate(row[name], row[f"{name}_low"], row[f"{name}_high"], 3) for name in ("distance", "score")],
         format_number(row["halves"], 3), format_number(row["still"], 3), row["reason"] or DASH]
        for row in found.to_dict("records")
    ]  # fmt: skip
    heads = [
        "people",
        "talks",
        "steps",
        "rooms of the run",
        "distance",
        "score",
        "halves of the people",
        "never moving",
        "why empty",
    ]
    return markdown_table(heads, rows) if rows else "No people were given who were asked turn by turn."


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
