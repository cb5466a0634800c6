"""Which of Aristotle's three appeals an utterance makes, according to a judge, and how far hearers move after each appeal.

The judge is asked about each appeal separately, so an utterance may make several. Written: rhetoric.md, tables and a figure.
How far a hearer moves is known if all agents were asked after every turn (`also=NAME:turns`). The unit is the repetition of a
group: the same people meet on every topic of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.reply_cleaning import one_line
from parley.analysis import disclaimers
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import DASH, Column, count_phrase, count_table, estimate
from parley.analysis.human.rooms import each_turn
from parley.analysis.judging import Item, Judge, load_rubric, open_judge
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import SHARE, Floats, interval, why_no_interval
from parley.analysis.studies.paired_conditions import mean_row, unit_means
from parley.analysis.table_export import write_csv
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar
from parley.model.titles import seat_title

RUBRIC = load_rubric("appeal")
APPEALS = {
    "logos": "an appeal to reason: facts, figures, causes, consequences",
    "pathos": "an appeal to feeling: fear, anger, pity, hope, pride",
    "ethos": "an appeal to character: the speaker's own experience, honesty or standing, or that of somebody who is named",
}
"""Part of the judge's prompt."""
TOWARD = (
    "How far readers moved toward the speaker's attitude, in points (0-10), from the survey before the turn "
    "to the one after it."
)
CAUTION = (
    "Turns are not assigned to appeals at random: speaker, time and readers differ as well. The difference is an "
    "association, not an effect of the appeal."
)
SHARES: Mapping[str, Column] = {
    "party": "party", "appeal": "appeal", "utterances": "utterances", "missing": "missing",
    "rooms": "rooms", "share": estimate("share"),
}  # fmt: skip
NOT_APART = "the appeals do not vary apart within readers"
MOST_ALIKE = 1e8
"""Condition number of the appeals from which their effects cannot be separated."""
STEPS: Mapping[str, Column] = {
    "appeal": "appeal", "steps with": "with", "without": "without", "rooms": "rooms",
    "mean with": "mean_with", "mean without": "mean_without", "difference": estimate("difference"),
}  # fmt: skip
BETWEEN = (
    "How much farther the same reader moves after one appeal than after another one, in points, with the effects of all three "
    "estimated together (least squares within readers, intervals over repetitions). Here an appeal does not look weak because it "
    "replaces a strong one, and longer utterances with several appeals do not look strong."
)
PAIRS: Mapping[str, Column] = {
    "appeal": "appeal", "compared with": "other", "steps": "steps", "rooms": "rooms", "difference": estimate("difference"),
    "reason": lambda row: row["reason"] or DASH,
}  # fmt: skip
TYPES = {"room": "object", "iteration": "int64", "agent": "int64", "toward": "float64"}
COLUMNS = list(TYPES)


def tag_run(tables: Tables, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """The table of `tags`, journaled in the folder and written to tags.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "appeals": APPEALS}, budget) as judge:
        table = tags(tables, judge, seed)
        write_csv(table, folder / "tags.csv")
    return table


def tags(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """One row per utterance: WHO, text, logos, pathos, ethos (1, 0, or NaN), reasons."""
    items = {appeal: partial(appeal_item, appeal) for appeal in APPEALS}
    return judge.judge_utterances(RUBRIC, tables, seed, items, "appeals").drop(columns="readings")


def appeal_item(appeal: str, row: Any) -> Item:
    """Return the question about one appeal; it does not name the speaker."""
    slots = {"statement": one_line(str(row.text)), "appeal": appeal, "meaning": APPEALS[appeal]}
    return Item((f"{row.room} {row.iteration}", appeal), slots)


def shares(tags: pd.DataFrame) -> pd.DataFrame:
    """One row per party and appeal: utterances (with a verdict), missing, rooms, share and its interval.

    The share is the mean over units of the means of their rooms. tags: those of `tags`.
    """
    rows = []
    for party, part in tags.groupby("party", sort=False):
        for appeal in APPEALS:
            rooms = part.groupby([*UNIT, "room"])[appeal].mean().dropna()
            known = int(part[appeal].notna().sum())
            counts = {"utterances": known, "missing": len(part) - known, "rooms": len(rooms)}
            rows.append(
                {"party": party, "appeal": appeal, **counts, **mean_row(unit_means(rooms), "share", "share_", SHARE)}
            )
    return pd.DataFrame(rows)


def effects(tags: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    """One row per appeal: steps with it and without, rooms, the mean of each (points toward the speaker), and the difference.

    The interval of the difference is over units.
    """
    joined = _steps(tags, moved)
    rows = []
    for appeal in APPEALS:
        known = joined.dropna(subset=[appeal])
        made, without = (known.loc[known[appeal] == value, "toward"] for value in (1, 0))
        sums = _sums(known, appeal)
        sizes = (sums[:, [1, 3]] / np.maximum(sums[:, [1, 3]].sum(axis=0), 1)).sum(axis=1)
        low_high, means = interval(sums, _difference, sizes), (made.mean(), without.mean())
        rows.append((appeal, len(made), len(without), known["room"].nunique(), *means, means[0] - means[1], *low_high))
    difference = ("difference", "difference_low", "difference_high")
    columns = ["appeal", "with", "without", "rooms", "mean_with", "mean_without", *difference]
    return pd.DataFrame(rows, columns=columns)


def appeal_contrasts(tags: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    """One row per pair of appeals: appeal, other, steps, rooms, difference (points toward the speaker), its ends, reason.

    Steps and appeals are centred within each hearer; one least-squares fit has all three appeals. Intervals are over units.
    """
    joined = _steps(tags, moved).dropna()
    values = joined[[*APPEALS, "toward"]].astype(float)
    centred = (values - values.groupby([joined["room"], joined["agent"]]).transform("mean")).to_numpy()
    terms = (centred[:, :3, None] * centred[:, None, :]).reshape(len(centred), 12)
    sums, sizes = _unit_sums(terms, joined), _unit_sums(np.ones((len(terms), 1)), joined)[:, 0]
    rows = []
    for first, second in ((0, 1), (0, 2), (1, 2)):
        pair = partial(_contrast, first=first, second=second)
        difference = float(pair(sums[None])[0]) if len(sums) else np.nan
        ends = interval(sums, pair, sizes) if np.isfinite(difference) else (np.nan, np.nan)
        unsure = why_no_interval(sums, "repetition", sizes) if np.isnan(ends[0]) else ""
        why = NOT_APART if np.isnan(difference) else unsure
        names = list(APPEALS)
        rows.append((names[first], names[second], len(joined), joined["room"].nunique(), difference, *ends, why))
    columns = ["appeal", "other", "steps", "rooms", "difference", "difference_low", "difference_high", "reason"]
    return pd.DataFrame(rows, columns=columns)


def _steps(tags: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `hearer_moves` with the UNIT and the appeals of the turn."""
    return moved.merge(tags[[*UNIT, "room", "iteration", *APPEALS]], on=["room", "iteration"], how="inner")


def _unit_sums(terms: Floats, steps: pd.DataFrame) -> Floats:
    """Return the sums of terms, a row per step, over the steps of each unit."""
    sums: Floats = pd.DataFrame(terms).groupby([steps[name].to_numpy() for name in UNIT]).sum().to_numpy(dtype=float)
    return sums


def _contrast(drawn: Floats, first: int, second: int) -> Floats:
    """(drawn,): the difference of two coefficients; NaN where the appeals cannot be separated."""
    total = drawn.sum(axis=1).reshape(-1, 3, 4)
    known = np.linalg.cond(total[:, :, :3]) < MOST_ALIKE
    squares = np.where(known[:, None, None], total[:, :, :3], np.eye(3))
    effects = np.linalg.solve(squares, total[:, :, 3:])[:, :, 0]
    return np.where(known, effects[:, first] - effects[:, second], np.nan)


def _sums(known: pd.DataFrame, appeal: str) -> Floats:
    """(units, 4): sum and number of steps with the appeal, and without."""
    made, moves = known[appeal] == 1, known["toward"]
    terms = np.column_stack([moves.where(made, 0.0), made, moves.where(~made, 0.0), ~made]).astype(float)
    return _unit_sums(terms, known)


def _difference(drawn: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        total = drawn.sum(axis=1)
        return np.asarray(total[:, 0] / total[:, 1] - total[:, 2] / total[:, 3])


def write_rhetoric(tags: pd.DataFrame, tables: Tables, folder: Path, spec: str) -> Path:
    """Write rhetoric.md, its tables (shares, steps, pairs) and the figure; return the path of the first."""
    moved = hearer_moves(tables)
    parts, steps, pairs = shares(tags), effects(tags, moved), appeal_contrasts(tags, moved)
    shown = parts.assign(party=[seat_title(party, tables.names) for party in parts["party"]])
    report = Report(folder, "rhetoric", "Appeals to reason, emotion and character")
    report.data(shares=parts, steps=steps, pairs=pairs)
    report.add(
        f"{spec} tagged {count_phrase(len(tags), 'utterance')}, with a separate question for each appeal. "
        "Brackets hold 95% intervals over repetitions, because the same people meet on every topic of a repetition."
    )
    report.disclaim(tables.header)
    unread = tags[list(APPEALS)].isna().any(axis=1)
    reasons = count_table(
        reason for noted in tags.loc[unread, "reasons"] for reason in str(noted).split(", ") if reason
    )
    report.missing(int(unread.sum()), len(tags), "utterances have no tag for at least one appeal", reasons)
    report.lines(f"- **{appeal}**: {meaning}" for appeal, meaning in APPEALS.items())
    title, model = "Shares of utterances with each appeal", disclaimers.model_label(tables.header)
    drawn = dot_plot(shown, ["party", "appeal"], "share", "share of utterances", model, title)
    report.figure(drawn, "rhetoric", title)
    report.table(shown, SHARES)
    report.section("How far readers move after each appeal")
    if steps[["with", "without"]].to_numpy().any():
        report.add(f"{TOWARD} {CAUTION} A dash ({DASH}) means that no turn had this appeal.")
        report.table(steps, STEPS)
        report.add(BETWEEN)
        report.table(pairs, PAIRS)
    else:
        report.add(
            "This run has no survey after each turn, so movement after an appeal is unknown: run the "
            "debates with `--set also=attitude:turns`."
        )
    return report.write()


def hearer_moves(tables: Tables) -> pd.DataFrame:
    """One row per hearer and turn: room, iteration, agent (the hearer), toward.

    toward: change of attitude (points of 0-10) since the last survey, positive toward where the speaker stood. There is no row
    without a rating before and after, nor without a side to go to, nor if there were several turns between two surveys of the
    room, because no one could say which turn it was.
    """
    before = tables.attitudes[(tables.attitudes["round"] == 0) & tables.attitudes["group"].isin(tables.groups)]
    ratings = pd.concat([before, each_turn(tables)])
    speakers = tables.utterances[tables.utterances["text"].notna()].set_index(["room", "iteration"])["agent"].to_dict()
    rows = [row for room, part in ratings.groupby("room", sort=False) for row in _room_moves(str(room), part, speakers)]
    return pd.DataFrame(rows, columns=COLUMNS).astype(TYPES).dropna(subset="toward")


def _room_moves(
    room: str, ratings: pd.DataFrame, speakers: dict[tuple[str, int], int]
) -> Iterator[tuple[str, int, int, float]]:
    last: dict[int, float] = {}
    before = 0
    for iteration, survey in ratings.sort_values("iteration", kind="stable").groupby("iteration"):
        turn = int(str(iteration))
        speaker, before = speakers.get((room, turn)) if turn == before + 1 else None, turn
        now = dict(zip(survey["agent"], survey["attitude"], strict=True))
        for agent, attitude in now.items():
            if speaker not in (None, agent) and agent in last:
                side = np.sign(last.get(speaker, np.nan) - last[agent])
                yield room, turn, int(agent), (attitude - last[agent]) * side if side else np.nan
        last |= now
