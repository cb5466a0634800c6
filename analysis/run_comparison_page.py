"""The page of a comparison of runs: what came out in one sentence, the figure, what was set differently, all differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.agents.society import DEFAULT
from parley.analysis.contrasts import OWN, PERCENT, TO_AND_FRO, UP_AND_DOWN, Sides, amount, contrast, span
from parley.analysis.formatting import (
    Column,
    count_phrase,
    escape_markdown,
    estimate,
    format_range,
    format_span,
    frame_cells,
)
from parley.analysis.html_page import Chapter
from parley.analysis.provenance import names_of_runs, settings_table
from parley.analysis.report import Report, disk_errors
from parley.analysis.run_comparison import (
    PAIRED,
    common_sides,
    compare_runs,
    last_differences,
    missing_ratings,
    overall,
    pairing,
    shared_seats,
)
from parley.analysis.run_comparison_figure import draw_runs
from parley.analysis.scores.table import MANY
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.tables import Tables, load
from parley.analysis.unknown import clause, unknown_sentence
from parley.model.titles import group_title, join_phrases, seat_title

LEVEL = 0.05
MOST = 2
"""Differences of a run that have a sentence."""
TITLE = "How the runs differ"
HOW = (
    "A difference is how many points further up the axis (0 to 10) agents moved than in {}, averaged over rooms. "
    "Movement is counted from the survey before the debate. Brackets and bars are 95% intervals over rooms. p is "
    "corrected by Holm's method for the {} (every topic, group and party, after the last round that the runs have in "
    "common). The sentences above name only differences with a corrected p below 0.05. {}"
)
CAUSES = (
    "The movements of opinions include the influence of agents on each other, so the movements do not show which model pulls "
    "agents harder toward its own opinion. To compare the pull of models, compare their bias cards (`python run.py audit --llm "
    "MODEL`)."
)
BOUNDED = (
    f"If more than {MANY:.0%} of the agents of a difference lack a rating, the table also has the lowest and the highest "
    "value that the difference could have with these ratings."
)
MISSING: Mapping[str, Column] = {
    "run": "run", "missing ratings": lambda row: f"{row['missing']:,} of {row['ratings']:,}",
    "share": lambda row: f"{row['share']:.1%}", "difference (percentage points)": estimate("difference", 1, 100),
    "reason if missing": "reason",
}  # fmt: skip
Runs = Mapping[str, Tables]


def named_runs(folders: Sequence[Path]) -> dict[str, Tables]:
    """Load runs, by their names (see `names_of_runs`). Errors: UserError."""
    runs = list(map(load, folders))
    return dict(zip(names_of_runs(folders, [tables.header for tables in runs]), runs, strict=True))


def sentences(runs: Runs, table: pd.DataFrame, within: float | None = None) -> list[str]:
    """Return what came out, as plain text: of each run after the first, its differences from it, or that none can be shown.

    within: a bound in points; then also which parties moved alike within it.
    """
    (first, base), *others = runs.items()
    last = last_differences(table)
    lines = []
    shares = missing_ratings(runs).set_index("run")
    for name, tables in others:
        rows = last[last["run"] == name]
        lines += _overall(first, base, name, tables)
        lines += _sentences(first, base, name, tables, rows)
        lines += _missing(first, name, shares) if len(rows) else []
        compared = rows[rows["difference"].notna()]
        enough = len(compared) and (compared["rooms"] >= FEWEST).all()
        if within is not None and len(rows) and not (enough and _identical(compared)):
            lines.append(_alike(first, base, name, rows, within))
    return lines


def _overall(first: str, base: Tables, name: str, tables: Tables) -> list[str]:
    """Return in which of two runs agents moved further toward the model's own opinion; nothing where the side is not known."""
    sides = common_sides(base, tables)
    row = overall(base, tables, sides) if sides else None
    if row is None or pd.isna(row["difference_low"]):
        return []
    moved, apart = [row["moved"], row["moved_first"]], [row[f"difference{end}"] for end in ("", "_low", "_high")]
    of = f"{row['rooms']:.0f} {'paired repetitions' if row['how'] == PAIRED else 'repetitions of both runs'}"
    parties = dict.fromkeys(party for _, _, party in sides)
    seated = dict.fromkeys(party for party in base.agents["party"] if party != DEFAULT)
    unknown = [base.plural(str(party)) for party in seated if party not in parties]
    if len(sides) == 1 and not unknown:  # the sentence of that party says the same
        return []
    why = "because the direction toward the model's own opinion is not known in both runs"
    left_out = f"{join_phrases(unknown)} are not counted, {why}. " if unknown else ""
    mean = " (mean over topics, groups and parties)" if len(sides) > 1 else ""
    who = f"{join_phrases([base.plural(party) for party in parties])}{mean}"
    line = _larger_first(who, (moved[0], moved[1]), (name, first), (apart[0], apart[1], apart[2]), TO_AND_FRO, of)
    chance = "" if row["p"] < LEVEL else "This difference between runs may be chance. "
    return [f"{line} {chance}{left_out}".strip()]


def _larger_first(
    who: str,
    moved: tuple[float, float],
    names: tuple[str, str],
    apart: tuple[float, float, float],
    ways: Sides,
    of: str,
) -> str:
    """Return the sentence of a difference that begins with the run in which agents moved more."""
    if abs(moved[0]) >= abs(moved[1]):
        return contrast(who, moved, names, apart, ways, of)
    return contrast(who, moved[::-1], names[::-1], (-apart[0], -apart[2], -apart[1]), ways, of)


def _identical(compared: pd.DataFrame) -> bool:
    """Return whether no agent moved differently in any pair of rooms."""
    paired = (compared["how"] == PAIRED).all() and (compared["difference"] == 0).all()
    return bool(len(compared) and paired and compared["p"].isna().all())


def _missing(first: str, name: str, shares: pd.DataFrame) -> list[str]:
    """Return how many ratings two runs lack, and whether one lacks more; nothing where neither lacks any."""
    mine, theirs = (shares.loc[run] for run in (first, name))
    if not mine["missing"] + theirs["missing"]:
        return []
    start = (
        f"{mine['share']:.1%} of the ratings after round 0 are missing in {first}, and {theirs['share']:.1%} in {name}"
    )
    if pd.isna(theirs["p"]):
        why = clause(theirs["reason"] or "no interval")
        return [f"{start}; it is unknown whether one of the runs lacks more ratings, because {why}."]
    ends = tuple(PERCENT * theirs[end] for end in ("difference", "difference_low", "difference_high"))
    size = amount(ends, Sides(f"more in {name}", f"fewer in {name}"), "percentage points", 1)
    if theirs["p"] >= LEVEL:
        return [f"{start}: {size}, which may be chance."]
    return [f"{start}: {size}. Movements are computed over the agents that are rated in both runs."]


def _alike(first: str, base: Tables, name: str, last: pd.DataFrame, within: float) -> str:
    """Return which parties moved alike within a bound, by equivalence tests."""
    tested = last[last["p_alike"].notna()]
    bound = "1 point" if within == 1 else f"{within:g} points"
    start = f"Whether agents moved alike in {first} and {name} within {bound}"
    if tested.empty:
        reasons = last["reason"].dropna()
        return unknown_sentence(f"w{start[1:]}", reasons.iloc[0] if len(reasons) else None)
    sure = tested[tested["p_alike"] < LEVEL]
    of = count_phrase(len(tested), "equivalence test")
    if sure.empty:
        return f"It cannot be shown that agents moved alike in {first} and {name} within {bound} ({of})."
    who = [_who(base, row, last) for row in sure.head(MOST).to_dict("records")]
    more = [f"{len(sure) - MOST} others"] if len(sure) > MOST else []
    largest = sure["p_alike"].max()
    return (
        f"{join_phrases([*who, *more])} moved alike in {first} and {name} within {bound}, in {len(sure)} of {of} "
        f"(p {'< 0.001' if largest < 0.001 else f'up to {largest:.3f}'}, corrected)."
    )


def _sentences(first: str, base: Tables, name: str, tables: Tables, last: pd.DataFrame) -> list[str]:
    if not shared_seats(base, tables):
        return [f"{name} cannot be compared with {first}, because {_nothing_shared(first, base, name, tables)}."]
    compared = last[last["difference"].notna()]
    if compared.empty:
        return [f"{name} cannot be compared with {first}, because they have no rating after the same round in common."]
    sure = compared[compared["p_holm"] < LEVEL].sort_values("difference", key=abs, ascending=False)
    if sure.empty:
        return [_none(first, base, name, tables, compared)]
    lines = [_difference(first, base, name, tables, row, compared) for row in sure.head(MOST).to_dict("records")]
    named = f"; the {MOST} largest differences are named above" if len(sure) > MOST else ""
    of = count_phrase(len(compared), "difference")
    rest = f"Of {of}, {len(sure)} can be distinguished from chance after correction{named}."
    return [*lines, rest] if len(compared) > len(lines) else lines


def _nothing_shared(first: str, base: Tables, name: str, tables: Tables) -> str:
    """Return why two runs have nothing in common: their topics, or on the same topic their groups."""
    topics = [topic for topic in base.topics if topic in tables.topics]
    if not topics:
        return "they have no topic in common"
    on = join_phrases([base.title(topic) for topic in topics[:MOST]])
    mine, theirs = (join_phrases([group_title(group, run.names) for group in run.groups]) for run in (base, tables))
    return f"both are on {on}, but other groups debate: {mine} in {first}; {theirs} in {name}"


def _none(first: str, base: Tables, name: str, tables: Tables, compared: pd.DataFrame) -> str:
    """Return that no difference can be shown, and why."""
    if _identical(compared):
        agents, lost = int(compared["agents"].sum()), int(compared["missing"].sum())
        rooms = f"{format_range([int(count) for count in compared['rooms']])} paired rooms"
        if not lost:
            return f"No difference: ratings moved alike in {first} and {name}, in {rooms}."
        return (
            f"No agent that is rated in both runs moved differently in {first} and {name} "
            f"({agents - lost:,} of {agents:,} agents, in {rooms}). A rating of the other {lost:,} agents "
            "is missing, so whether the runs differ is unknown."
        )
    if compared["p"].isna().all() and (compared["reason"] == f"fewer than {FEWEST} rooms").all():
        count = _rooms(compared.loc[compared["rooms"].idxmax()])
        return (
            f"No difference between {first} and {name} can be shown with {count}: "
            f"at least {FEWEST} rooms per topic and group are needed (--repetitions)."
        )
    row = compared.loc[compared["difference"].abs().idxmax()].to_dict()
    largest = _difference(first, base, name, tables, row, compared)
    return f"No difference between {first} and {name} can be distinguished from chance. Largest difference: {largest}"


def _difference(
    first: str, base: Tables, name: str, tables: Tables, row: Mapping[str, Any], compared: pd.DataFrame
) -> str:
    side = common_sides(base, tables).get((row["topic"], row["group"], row["party"]), 0)
    sign = side or 1
    moved = sign * row["moved"], sign * row["moved_first"]
    apart = row["difference"], *sorted(sign * row[f"difference_{end}"] for end in ("low", "high"))
    ways = TO_AND_FRO if side else UP_AND_DOWN
    return _larger_first(
        _who(base, row, compared), moved, (name, first), (sign * apart[0], *apart[1:]), ways, _basis(row)
    )


def _who(base: Tables, row: Mapping[str, Any] | pd.Series, compared: pd.DataFrame) -> str:
    who = base.plural(str(row["party"]))
    group = f" in {group_title(str(row['group']), base.names)}" if compared["group"].nunique() > 1 else ""
    topic = f" on {base.title(str(row['topic']))}" if compared["topic"].nunique() > 1 else ""
    return f"{who}{group}{topic}"


def _basis(row: Mapping[str, Any] | pd.Series) -> str:
    """Return the rooms of a difference, and its bounds where many ratings are missing."""
    if pd.isna(row["bound_low"]):
        return _rooms(row)
    ends = span(math.nan, row["bound_low"], row["bound_high"], UP_AND_DOWN)
    return f"{_rooms(row)}; {ends} whatever the missing ratings are"


def _rooms(row: Mapping[str, Any] | pd.Series) -> str:
    return f"{row['rooms']:.0f} {'paired rooms' if row['how'] == PAIRED else 'rooms of both runs'}"


def comparison_report(runs: Runs, folder: Path, within: float | None = None) -> tuple[Report, list[Chapter]]:
    """Write table and figure of a comparison into a folder; return its report and the chapters of its page."""
    table, shares, report = compare_runs(runs, within), missing_ratings(runs), Report(folder, "compare")
    (first, _), *others = runs.items()
    report.data(compare=table)
    lines = sentences(runs, table, within)
    report.add(f"**{escape_markdown(lines[0])}**")
    report.lines(f"- {escape_markdown(line)}" for line in lines[1:])
    if any(OWN in line for line in lines):
        report.add(CAUSES)
    if any(shared_seats(runs[first], tables) for _, tables in others):
        report.figure(
            draw_runs(runs, table), "compare", f"Attitudes in {', '.join(runs)}, and differences from {first}"
        )
    report.disclaim(*(tables.header for tables in runs.values()))
    last = last_differences(table)
    pairs = [pairing_sentence(first, runs[first], name, tables) for name, tables in others]
    tested = count_phrase(int(last["p"].notna().sum()), "test")
    report.add(HOW.format(escape_markdown(first), tested, escape_markdown(" ".join(pairs))))
    report.data(missing=shares)
    if shares["missing"].any():
        report.table(shares, MISSING)
        lost, agents = int(last["missing"].sum()), int(last["agents"].sum())
        report.add(f"Differences leave out {lost:,} of {agents:,} agents, because a rating is missing. {BOUNDED}")
    return report, [
        Chapter("compare", TITLE, report.text, folder),
        Chapter("compare-settings", "What was set differently", _settings_text(runs), folder),
        Chapter("compare-differences", "All differences", _differences_text(runs, last), folder),
    ]


def pairing_sentence(first: str, base: Tables, name: str, tables: Tables) -> str:
    """Return whether two runs are compared within rooms, and why (not)."""
    room_pairing = pairing(base, tables)
    if room_pairing.how == PAIRED:
        return f"{first} and {name} are compared room by room, because {room_pairing.reason}."
    return f"{first} and {name} are compared as independent rooms, because {room_pairing.reason}."


def _settings_text(runs: Runs) -> str:
    frame = settings_table(list(runs), [tables.header for tables in runs.values()])
    section = Report(Path(), "settings")
    section.table([[str(name), *map(str, row)] for name, *row in frame.itertuples()], ["setting", *runs])
    return section.text


def difference_rows(runs: Runs, last: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the headings and the rows of the table of differences. last: of `last_differences`."""
    base = next(iter(runs.values()))
    columns: dict[str, Column] = {
        "run": "run",
        "topic": lambda row: base.title(row["topic"]),
        "group": lambda row: group_title(row["group"], base.names),
        "party": lambda row: seat_title(row["party"], base.names),
        "after round": "round",
        "difference (95% interval)": estimate("difference"),
        "whatever is missing": lambda row: format_span(row["bound_low"], row["bound_high"]),
        "rooms": lambda row: f"{row['rooms']:.0f} {row['how']}",
        "p, corrected": lambda row: _p(row["p_holm"]),
        "reason if missing": lambda row: row["reason"] or "",
    }
    shown = [name for name in columns if name not in ("run", "topic", "group") or last[name].nunique() > 1]
    if last["bound_low"].isna().all():
        shown.remove("whatever is missing")
    kinds = {name: columns[name] for name in shown}
    return shown, [list(frame_cells(row, kinds)) for row in last.to_dict("records")]


def _differences_text(runs: Runs, last: pd.DataFrame) -> str:
    section = Report(Path(), "differences")
    header, rows = difference_rows(runs, last)
    section.table(rows, header)
    section.add("The file `compare.csv` has every round and the average attitudes.")
    return section.text if len(last) else "The runs have nothing in common that can be compared."


def _p(value: float) -> str:
    return "" if pd.isna(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def write_run_comparison(runs: Runs, folder: Path, within: float | None = None) -> Path:
    """Write compare.html, compare.csv, compare.png and .svg; return the path of the page. Errors: UserError.

    within: a bound in points, to test which parties moved alike.
    """
    with disk_errors(folder, "choose another folder with --out"):
        report, chapters = comparison_report(runs, folder, within)
        return report.write_document(f"{' and '.join(runs)} compared", chapters)
