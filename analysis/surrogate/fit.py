"""The response of a party's people to what they hear, by least squares; rooms are the unit.

stay: the share of intervals in which the attitude did not move (by less than 0.000001)
else: shift = intercept + own * attitude + heard * mean heard + normal noise of the spread

Without hearing (`hears=False`) the last coefficient is 0: each party drifts to a level of its own, -intercept / own, at a rate of
its own. That is the baseline a surrogate has to beat (`fidelity.py`).

What happened between two surveys of a run: own attitude, the mean of what was heard, the next attitude.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.bootstrap import Floats
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import MEDIATOR

STILL = 1e-6
ROOMS = 5
QUANTILES = 20
BANK = 500
"""Lines of a party that are kept, for those who stand in for it (agents/surrogate_agent.py)."""
FITTED = ("intercept", "own", "heard")


def fit_response(
    data: Transitions, rooms: Iterable[str] | None = None, hears: bool = True
) -> dict[str, dict[str, Any]]:
    """By party: the numbers of agents/opinion_dynamics.py, transitions, rooms, share of all agents, quantiles of first
    attitudes, and what was said with its grade.

    rooms: only these. hears: whether what was heard may matter. Errors: UserError when a party has fewer than 5 rooms.
    """
    chosen = set(data.levels.index.get_level_values("room") if rooms is None else rooms)
    first = data.levels.iloc[:, 0]
    mine = first.index.get_level_values("room").isin(list(chosen))
    found = {}
    for party in data.parties.unique():
        steps, spoken = (
            rows[(rows["party"] == party) & rows["room"].isin(chosen)] for rows in (data.steps, data.spoken)
        )
        if steps["room"].nunique() < ROOMS:
            raise UserError(
                f"{party}: {steps['room'].nunique()} rooms to fit a surrogate to; it needs at least {ROOMS}"
            )
        begun = first[mine & (data.parties == party)].dropna()
        starts = np.quantile(begun, np.linspace(0, 1, QUANTILES + 1)).tolist()
        share = float((data.parties[mine] == party).mean())
        fitted = _speech(spoken) | _response(steps, hears)
        found[str(party)] = fitted | {"share": share, "starts": starts, "said": _bank(data.lines, party, chosen)}
    return found


def _bank(lines: pd.DataFrame, party: str, rooms: Iterable[str]) -> list[list[Any]]:
    """Grade and text of what a party's people said, each text once, by grade; of more than BANK every so many-th."""
    mine = lines[(lines["party"] == party) & lines["room"].isin(list(rooms))].drop_duplicates("text")
    rows = mine.sort_values(["grade", "text"])[["grade", "text"]]
    kept = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), BANK)).astype(int))]
    return [[round(float(grade), 4), str(text)] for grade, text in kept.itertuples(index=False)]


def _speech(spoken: pd.DataFrame) -> dict[str, Any]:
    """How far above its speaker's attitude a line stands, and how much that varies; 0 and 0 where lines are not graded."""
    gap = (spoken["grade"] - spoken["own"]).to_numpy(dtype=float)
    enough = len(gap) > 1
    return {
        "offset": float(gap.mean()) if enough else 0.0,
        "noise": float(gap.std(ddof=1)) if enough else 0.0,
        "lines": len(gap),
    }


def _response(steps: pd.DataFrame, hears: bool = True) -> dict[str, Any]:
    shift = (steps["after"] - steps["own"]).to_numpy(dtype=float)
    still = np.abs(shift) < STILL
    moved = steps[~still]
    design = np.column_stack((np.ones(len(moved)), moved["own"], moved["heard"]))[:, : 3 if hears else 2]
    coefficients, ends = _jackknifed(design, shift[~still], moved["room"].to_numpy())
    left, free = shift[~still] - design @ coefficients, len(moved) - design.shape[1]
    spread = float(np.sqrt(left @ left / free)) if free > 0 else 0.0
    reach = {f"{name}_{end}": float(getattr(steps[name], which)()) for name in ("own", "heard") for end, which in ENDS}
    sizes = {"transitions": len(steps), "moved": len(moved), "rooms": int(steps["room"].nunique())}
    fitted = dict.fromkeys(FITTED, 0.0) | dict(zip(FITTED, coefficients.tolist(), strict=False))
    return {"stay": float(still.mean()), **fitted, "spread": spread, **reach, **sizes, "intervals": ends}


ENDS = (("low", "min"), ("high", "max"))


def _jackknifed(design: Floats, shift: Floats, rooms: np.ndarray) -> tuple[Floats, dict[str, list[float]] | None]:
    """The coefficients, and their 95% intervals: least squares with one room at a time left out (the covariance is CR3).

    That takes out most of the bias that an attitude which is both what moves and what is moved brings
    (analysis/influence_model.py).
    With fewer than 5 rooms that moved, or where own and heard cannot be told apart, plain least squares without intervals.
    """
    (codes, names), size = pd.factorize(rooms), design.shape[1]
    parts = [design[codes == code] for code in range(len(names))]
    squares = np.array([part.T @ part for part in parts]).reshape(-1, size, size)
    products = np.array([part.T @ shift[codes == code] for code, part in enumerate(parts)]).reshape(-1, size)
    without = squares.sum(axis=0) - squares
    count = len(names)
    if count < ROOMS or (np.linalg.matrix_rank(without, hermitian=True) < size).any():
        return np.asarray(np.linalg.lstsq(design, shift)[0], dtype=np.float64), None
    whole = np.linalg.solve(squares.sum(axis=0), products.sum(axis=0))
    steps = np.linalg.solve(without, (products.sum(axis=0) - products)[..., None])[..., 0] - whole
    errors = np.sqrt((count - 1) / count * ((steps - steps.mean(axis=0)) ** 2).sum(axis=0))
    found = whole - (count - 1) * steps.mean(axis=0)
    reach = float(stdtrit(count - 1, 0.975)) * errors
    return found, dict(zip(FITTED, np.column_stack((found - reach, found + reach)).tolist(), strict=False))


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


def run_transitions(tables: Tables, topic: str, grade: Grade | None) -> Transitions:
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
