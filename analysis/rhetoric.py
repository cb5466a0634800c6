"""Which of Aristotle's three appeals an utterance makes, by a judge's word: each is asked for by itself, one may hold several.

rhetoric.md: shares of utterances with each appeal, and how far hearers move after one with it and after one without.

How far each hearer moved toward the speaker after a turn, where everybody was asked after every turn (`also=NAME:turns`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, interval, mean_interval
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import DASH, Column, count_phrase, count_table, estimate
from parley.analysis.human.rooms import each_turn
from parley.analysis.judging import Item, Judge, load_rubric, one_line, open_judge
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.budget import NO_LIMIT, Budget
from parley.llm.driver import Bar

RUBRIC = load_rubric("appeal")
APPEALS = {
    "logos": "an appeal to reason: facts, figures, causes, consequences",
    "pathos": "an appeal to feeling: fear, anger, pity, hope, pride",
    "ethos": "an appeal to character: the speaker's own experience, honesty or standing, or that of somebody who is named",
}


def tag_run(tables: Tables, folder: Path, spec: str, seed: int, bar: Bar, budget: Budget = NO_LIMIT) -> pd.DataFrame:
    """The table of `tags`, journaled in the folder and written to tags.csv. Errors: as `open_judge`."""
    with open_judge(RUBRIC, spec, folder, bar, {"seed": seed, "appeals": APPEALS}, budget) as judge:
        found = tags(tables, judge, seed)
        found.to_csv(folder / "tags.csv", index=False)
    return found


def tags(tables: Tables, judge: Judge, seed: int) -> pd.DataFrame:
    """A row an utterance: WHO, text, logos, pathos, ethos (1, 0, or NaN), reasons."""
    items = {appeal: partial(appeal_item, appeal) for appeal in APPEALS}
    return judge.judge_utterances(RUBRIC, tables, seed, items, "appeals").drop(columns="readings")


def appeal_item(appeal: str, row: Any) -> Item:
    """The question about one appeal; the speaker is not told."""
    slots = {"statement": one_line(str(row.text)), "appeal": appeal, "meaning": APPEALS[appeal]}
    return Item((f"{row.room} {row.iteration}", appeal), slots)


TOWARD = "Points (0-10) toward where the speaker stood, from being asked before the turn to being asked after it."
CAUTION = (
    "Which turn makes an appeal is not drawn by lot: who says it, when and to whom differs with it. The difference is an "
    "association, not an effect of the appeal."
)


def shares(tags: pd.DataFrame) -> pd.DataFrame:
    """One row a party and appeal: utterances (with a verdict), missing, rooms, share (mean of room means) and its interval."""
    rows = []
    for party, part in tags.groupby("party", sort=False):
        for appeal in APPEALS:
            rooms = part.groupby("room")[appeal].mean().dropna()
            ends = mean_interval(rooms.to_numpy(dtype=float))
            told = {
                "utterances": int(part[appeal].notna().sum()),
                "missing": int(part[appeal].isna().sum()),
                "rooms": len(rooms),
            }
            rows.append(
                {
                    "party": party,
                    "appeal": appeal,
                    **told,
                    "share": rooms.mean(),
                    "share_low": ends[0],
                    "share_high": ends[1],
                }
            )
    return pd.DataFrame(rows)


def effects(tags: pd.DataFrame, moved: pd.DataFrame) -> pd.DataFrame:
    """One row an appeal: steps with it and without, mean of each (points toward the speaker), their difference and interval."""
    joined = moved.merge(tags[["room", "iteration", *APPEALS]], on=["room", "iteration"], how="inner")
    rows = []
    for appeal in APPEALS:
        known = joined.dropna(subset=[appeal])
        with_it, without = (known.loc[known[appeal] == value, "toward"] for value in (1, 0))
        row = {"appeal": appeal, "with": len(with_it), "without": len(without), "mean_with": with_it.mean(),
               "mean_without": without.mean()}  # fmt: skip
        ends = interval(_sums(known, appeal), _difference)
        row |= {"difference": with_it.mean() - without.mean(), "difference_low": ends[0], "difference_high": ends[1]}
        rows.append(row)
    return pd.DataFrame(rows)


SHARES: Mapping[str, Column] = {
    "party": lambda row: row["party"].title(), "appeal": "appeal", "utterances": "utterances", "missing": "missing",
    "rooms": "rooms", "share": estimate("share"),
}  # fmt: skip
STEPS: Mapping[str, Column] = {
    "appeal": "appeal", "steps with": "with", "without": "without", "mean with": "mean_with", "mean without": "mean_without",
    "difference": estimate("difference"),
}  # fmt: skip


def write_rhetoric(tags: pd.DataFrame, tables: Tables, folder: Path, spec: str) -> Path:
    """Write rhetoric.md, its tables (shares, steps) and the figure; the path of the first."""
    found, steps = shares(tags), effects(tags, hearer_moves(tables))
    report = Report(folder, "rhetoric", "What is appealed to")
    report.data(shares=found, steps=steps)
    report.add(
        f"{count_phrase(len(tags), 'utterance')}, each asked of {spec} for each appeal by itself. Intervals: 95%, over rooms."
    )
    report.disclaim(tables.header)
    unread = tags[list(APPEALS)].isna().any(axis=1)
    reasons = count_table(reason for told in tags.loc[unread, "reasons"] for reason in str(told).split(", ") if reason)
    report.missing(int(unread.sum()), len(tags), "lack a verdict", reasons)
    report.lines(f"- **{appeal}**: {meaning}" for appeal, meaning in APPEALS.items())
    drawn = dot_plot(found, ["party", "appeal"], "share", "share of utterances", disclaimers.model_label(tables.header))
    report.figure(drawn, "rhetoric", "Shares of utterances with each appeal")
    report.table(found, SHARES)
    report.section("How far hearers move after it")
    if steps[["with", "without"]].to_numpy().any():
        report.add(f"{TOWARD} {CAUTION} A dash ({DASH}): no such steps.")
        report.table(steps, STEPS)
    else:
        report.add("Nobody was asked after each turn: hold the debates with `--set also=attitude:turns`.")
    return report.write()


def _sums(known: pd.DataFrame, appeal: str) -> Floats:
    """(rooms, 4): sum and number of steps with the appeal, and without."""
    with_it = known[appeal] == 1
    terms = np.column_stack(
        [known["toward"].where(with_it, 0.0), with_it, known["toward"].where(~with_it, 0.0), ~with_it]
    )
    sums: Floats = (
        pd.DataFrame(terms.astype(float)).groupby(known["room"].to_numpy(), sort=False).sum().to_numpy(dtype=float)
    )
    return sums


def _difference(drawn: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        total = drawn.sum(axis=1)
        return np.asarray(total[:, 0] / total[:, 1] - total[:, 2] / total[:, 3])


TYPES = {"room": "object", "iteration": "int64", "agent": "int64", "toward": "float64"}
COLUMNS = list(TYPES)


def hearer_moves(tables: Tables) -> pd.DataFrame:
    """A row a hearer and turn: room, iteration, agent (the hearer), toward: change of attitude (points of 0-10) since it was last
    asked, positive toward where the speaker stood. Without a rating before and after, or a side to go to, there is no row; nor
    where several turns went by between two surveys of the room, which nobody could tell apart.
    """
    before = tables.attitudes[(tables.attitudes["round"] == 0) & tables.attitudes["group"].isin(tables.groups)]
    ratings = pd.concat([before, each_turn(tables)])
    speakers = tables.utterances[tables.utterances["text"].notna()].set_index(["room", "iteration"])["agent"].to_dict()
    rows = [row for room, part in ratings.groupby("room", sort=False) for row in _room(str(room), part, speakers)]
    return pd.DataFrame(rows, columns=COLUMNS).astype(TYPES).dropna(subset="toward")


def _room(
    room: str, ratings: pd.DataFrame, speakers: dict[tuple[str, int], int]
) -> Iterator[tuple[str, int, int, float]]:
    last: dict[int, float] = {}
    before = 0
    for iteration, told in ratings.sort_values("iteration", kind="stable").groupby("iteration"):
        turn = int(str(iteration))
        speaker, before = speakers.get((room, turn)) if turn == before + 1 else None, turn
        now = dict(zip(told["agent"], told["attitude"], strict=True))
        for agent, attitude in now.items():
            if speaker not in (None, agent) and agent in last:
                side = np.sign(last.get(speaker, np.nan) - last[agent])
                yield room, turn, int(agent), (attitude - last[agent]) * side if side else np.nan
        last |= now
