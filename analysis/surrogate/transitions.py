"""What happened between two surveys of a run: own attitude, the mean of what was heard, the next attitude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.load import Tables
from llm.errors import UserError
from model.scenario import MEDIATOR

Grade = Callable[[str, str], float | None]
WHO = ["room", "agent"]


@dataclass(frozen=True)
class Transitions:
    """One topic of a run.

    levels: attitude by (room, agent) and survey; NaN where it is missing. parties: by (room, agent).
    steps:  a row an agent and interval: room, agent, party, own, heard, after; only where all three are known.
    spoken: a row a line: room, party, own (its speaker's attitude at the survey before), grade; only where both are known.
    missing: intervals left out, by reason. how: `expected` (mean of the answer distribution) or `attitude` (the rating).
    """

    levels: pd.DataFrame
    parties: pd.Series
    steps: pd.DataFrame
    spoken: pd.DataFrame
    missing: dict[str, int]
    how: str


def transitions(tables: Tables, topic: str, grade: Grade | None) -> Transitions:
    """What was heard is the grade of each line by anybody else in the room; without `grade` its speaker's attitude at the
    survey before.

    Lines that cannot be graded are left out of the mean. Errors: UserError for a run with a mediator, and without two
    surveys.
    """
    rated = tables.attitudes[(tables.attitudes["topic"] == topic) & (tables.attitudes["group"] != "reference")]
    if (tables.agents["party"] == MEDIATOR).any():
        raise UserError("a surrogate hears the others in the room: this run has a mediator instead")
    how = "expected" if rated["expected"].notna().all() else "attitude"
    levels = rated.pivot(index=WHO, columns="round", values=how)
    if levels.shape[1] < 2:
        raise UserError(f"{topic}: no attitudes before and after anything was heard (--set survey=rounds)")
    parties = rated.drop_duplicates(WHO).set_index(WHO)["party"].reindex(levels.index)
    lines = _lines(tables, topic, grade)
    parts = [_interval(levels, lines, *pair) for pair in zip(levels.columns[:-1], levels.columns[1:], strict=True)]
    steps, spoken = (pd.concat(found) for found in zip(*parts, strict=True))
    steps["party"] = parties.reindex(pd.MultiIndex.from_frame(steps[WHO])).to_numpy()
    spoken["party"] = parties.reindex(pd.MultiIndex.from_frame(spoken[WHO])).to_numpy()
    missing = {
        "no attitude before": int(steps["own"].isna().sum()),
        "no attitude after": int((steps["own"].notna() & steps["after"].isna()).sum()),
        "nothing heard that could be graded": int(
            steps.loc[steps[["own", "after"]].notna().all(axis=1), "heard"].isna().sum()
        ),
    }
    missing = {reason: number for reason, number in missing.items() if number}
    return Transitions(levels, parties, steps.dropna(), spoken.dropna(), missing, how)


def _lines(tables: Tables, topic: str, grade: Grade | None) -> pd.DataFrame:
    """room, round, agent and grade (NaN where there is none) of every line."""
    said = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines = said[["room", "round", "agent"]].copy()
    graded = [grade(topic, str(text)) for text in said["text"]] if grade else None
    lines["grade"] = np.nan if graded is None else pd.Series(graded, index=lines.index, dtype=float)
    lines["mine"] = grade is None
    return lines


def _interval(levels: pd.DataFrame, lines: pd.DataFrame, before: int, after: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """What every agent heard between two surveys, and the lines said there with their speakers' attitudes before."""
    said = lines[(lines["round"] > before) & (lines["round"] <= after)].copy()
    said["own"] = levels[before].reindex(pd.MultiIndex.from_frame(said[WHO])).to_numpy()
    said["grade"] = said["grade"].where(~said["mine"], said["own"])
    known = said.dropna(subset=["grade"])
    room, mine = (known.groupby(keys)["grade"].agg(["sum", "count"]) for keys in ("room", WHO))
    steps = pd.DataFrame({"own": levels[before], "after": levels[after]}).reset_index()
    whole = room.reindex(steps["room"]).fillna(0.0).to_numpy()
    part = mine.reindex(pd.MultiIndex.from_frame(steps[WHO])).fillna(0.0).to_numpy()
    total, count = (whole - part).T
    steps["heard"] = np.divide(total, count, out=np.full(len(steps), np.nan), where=count > 0)
    return steps, said.loc[~said["mine"], [*WHO, "own", "grade"]]
