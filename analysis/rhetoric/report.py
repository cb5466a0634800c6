"""rhetoric.md: shares of utterances with each appeal, and how far hearers move after one with it and after one without.

How far each hearer moved toward the speaker after a turn, where everybody was asked after every turn (`also=NAME:turns`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis import disclaimers
from parley.analysis.bootstrap import Floats, interval, mean_interval
from parley.analysis.formatting import DASH, count_phrase, count_table, format_estimate, markdown_table
from parley.analysis.human.rooms import each_turn
from parley.analysis.rhetoric.tags import APPEALS
from parley.analysis.tables import Tables

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


def write_rhetoric(tags: pd.DataFrame, tables: Tables, folder: Path, spec: str) -> Path:
    """Write rhetoric.md, shares.csv and steps.csv; the path of the first."""
    found, moved = shares(tags), hearer_moves(tables)
    steps = effects(tags, moved)
    found.to_csv(folder / "shares.csv", index=False)
    steps.to_csv(folder / "steps.csv", index=False)
    path = folder / "rhetoric.md"
    path.write_text("\n\n".join(_parts(tags, tables, found, steps, spec)) + "\n", encoding="utf-8")
    return path


def _parts(tags: pd.DataFrame, tables: Tables, found: pd.DataFrame, steps: pd.DataFrame, spec: str) -> Iterator[str]:
    yield "# What is appealed to"
    yield f"{count_phrase(len(tags), 'utterance')}, each asked of {spec} for each appeal by itself. Intervals: 95%, over rooms."
    if note := disclaimers.disclaimer(tables.header):
        yield f"> {note}"
    unread = tags[list(APPEALS)].isna().any(axis=1)
    reasons = count_table(reason for told in tags.loc[unread, "reasons"] for reason in str(told).split(", ") if reason)
    yield f"{int(unread.sum())} of {len(tags):,} lack a verdict{f' ({reasons})' if reasons else ''}."
    yield "\n".join(f"- **{appeal}**: {meaning}" for appeal, meaning in APPEALS.items())
    rows = [
        [str(row["party"]).title(), row["appeal"], str(row["utterances"]), str(row["missing"]), str(row["rooms"]),
         format_estimate(row["share"], row["share_low"], row["share_high"])]
        for row in found.to_dict("records")
    ]  # fmt: skip
    yield markdown_table(["party", "appeal", "utterances", "missing", "rooms", "share"], rows)
    yield f"## How far hearers move after it\n\n{_steps(steps)}"


def _steps(steps: pd.DataFrame) -> str:
    if not steps[["with", "without"]].to_numpy().any():
        return "Nobody was asked after each turn: hold the debates with `--set also=attitude:turns`."
    rows = [
        [row["appeal"], str(row["with"]), str(row["without"]), format_estimate(row["mean_with"], None, None),
         format_estimate(row["mean_without"], None, None),
         format_estimate(row["difference"], row["difference_low"], row["difference_high"])]
        for row in steps.to_dict("records")
    ]  # fmt: skip
    heads = ["appeal", "steps with", "without", "mean with", "mean without", "difference"]
    told = "Points (0-10) toward where the speaker stood, from being asked before the turn to being asked after it."
    return f"{told} {CAUTION} A dash ({DASH}): no such steps.\n\n{markdown_table(heads, rows)}"


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
