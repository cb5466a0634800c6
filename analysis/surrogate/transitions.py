"""What happened between two surveys of a run: own attitude, the mean of what was heard, the next attitude."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parley.analysis.load import Tables
from parley.llm.errors import UserError
from parley.model.scenario import MEDIATOR

Grade = Callable[[str, str], float | None]
WHO = ["room", "agent"]


@dataclass(frozen=True)
class Transitions:
    """One topic of a run.

    levels: attitude by (room, agent) and survey; NaN where it is missing. parties: by (room, agent).
    steps:  a row an agent and interval: room, agent, party, own, heard, after; only where all three are known.
    spoken: a row a line: room, party, own (its speaker's attitude at the survey before), grade; only where both are known.
    lines:  a row a line: room, agent, party, grade (where lines are not graded, its speaker's attitude), text.
    links:  room, source, target: who hears whom in a network at the start; empty where everybody hears everybody.
    missing: intervals left out, by reason. how: `expected` (mean of the answer distribution) or `attitude` (the rating).
    """

    levels: pd.DataFrame
    parties: pd.Series
    steps: pd.DataFrame
    spoken: pd.DataFrame
    lines: pd.DataFrame
    links: pd.DataFrame
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
    if tables.header.stand_ins:
        raise UserError("some seats of this run were held by a surrogate: fit one to a run in which a model was asked")
    if len(tables.interventions):
        raise UserError(
            "a surrogate hears the others in the room: this run has interventions besides (fit one without)"
        )
    how = "expected" if rated["expected"].notna().all() else "attitude"
    levels = rated.pivot(index=WHO, columns="round", values=how)
    if levels.shape[1] < 2:
        raise UserError(f"{topic}: no attitudes before and after anything was heard (--set survey=rounds)")
    parties = rated.drop_duplicates(WHO).set_index(WHO)["party"].reindex(levels.index)
    lines = _lines(tables, topic, grade)
    parts = [
        _interval(levels, lines, tables.heard, *pair)
        for pair in zip(levels.columns[:-1], levels.columns[1:], strict=True)
    ]
    steps, spoken, said = (pd.concat(found) for found in zip(*parts, strict=True))
    for frame in (steps, spoken, said):
        frame["party"] = parties.reindex(pd.MultiIndex.from_frame(frame[WHO])).to_numpy()
    missing = {
        "no attitude before": int(steps["own"].isna().sum()),
        "no attitude after": int((steps["own"].notna() & steps["after"].isna()).sum()),
        "nothing heard that could be graded": int(
            steps.loc[steps[["own", "after"]].notna().all(axis=1), "heard"].isna().sum()
        ),
    }
    links = tables.links.loc[tables.links["round"] == 0, ["room", "source", "target"]]
    missing = {reason: number for reason, number in missing.items() if number}
    return Transitions(levels, parties, steps.dropna(), spoken.dropna(), said.dropna(), links, missing, how)


def _lines(tables: Tables, topic: str, grade: Grade | None) -> pd.DataFrame:
    """room, round, iteration, agent, text and grade (NaN where there is none) of every line."""
    said = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines = said[["room", "round", "iteration", "agent", "text"]].copy()
    graded = [grade(topic, str(text)) for text in said["text"]] if grade else None
    lines["grade"] = np.nan if graded is None else pd.Series(graded, index=lines.index, dtype=float)
    lines["mine"] = grade is None
    return lines


def _interval(
    levels: pd.DataFrame, lines: pd.DataFrame, heard: pd.DataFrame, before: int, after: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """What every agent heard between two surveys; the lines said there with their speakers' attitudes before; and in words."""
    said = lines[lines["round"] <= after].copy()
    said["own"] = levels[before].reindex(pd.MultiIndex.from_frame(said[WHO])).to_numpy()
    said["grade"] = said["grade"].where(~said["mine"], said["own"])
    new = said["round"] > before
    steps = pd.DataFrame({"own": levels[before], "after": levels[after]}).reset_index()
    means = _shown(said, heard, before, after) if len(heard) else _around(said[new], steps)
    steps["heard"] = means.reindex(pd.MultiIndex.from_frame(steps[WHO])).to_numpy(dtype=float)
    return steps, said.loc[new & ~said["mine"], [*WHO, "own", "grade"]], said.loc[new, [*WHO, "grade", "text"]]


def _shown(said: pd.DataFrame, heard: pd.DataFrame, before: int, after: int) -> pd.Series:
    """The mean grade of what everybody of a network heard or was shown, posts of earlier rounds among it."""
    rows = heard[(heard["round"] > before) & (heard["round"] <= after)]
    found = rows.merge(said[["room", "iteration", "grade"]], on=["room", "iteration"])
    return found.groupby(WHO)["grade"].mean()


def _around(said: pd.DataFrame, steps: pd.DataFrame) -> pd.Series:
    """The mean grade of what the others in the room said."""
    known = said.dropna(subset=["grade"])
    room, mine = (known.groupby(keys)["grade"].agg(["sum", "count"]) for keys in ("room", WHO))
    who = pd.MultiIndex.from_frame(steps[WHO])
    total, count = (room.reindex(steps["room"]).fillna(0.0).to_numpy() - mine.reindex(who).fillna(0.0).to_numpy()).T
    return pd.Series(np.divide(total, count, out=np.full(len(steps), np.nan), where=count > 0), index=who)
