"""The response of a party's agents to what they hear, fitted by least squares to a recorded run; the unit is the room.

    stay: the share of intervals in which the attitude did not move (by less than 0.000001)
    else: shift = intercept + own * attitude + heard * mean heard + normal noise of the spread

Without hearing (`hears=False`) the last coefficient is 0: each party drifts to a level of its own, -intercept / own, at
a rate of its own. That is the baseline a surrogate has to beat (`fidelity.py`). `run_transitions` reads what happened
between two surveys of a run: the own attitude, the mean of what was heard, the next attitude.

Ratings are taken as they are: a surrogate stands in for a rated agent, so `own` holds the regression of noisy ratings to their
mean, and is no estimate of the model's pull (influence_model.py is).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.rating_value import EXPECTED
from parley.analysis.statistics.clusters import effective_clusters
from parley.analysis.statistics.intervals import Floats, is_few
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import MEDIATOR

STILL = 1e-6
ROOMS = 5
QUANTILES = 20
BANK = 500
"""Lines kept per party, for surrogates that take its seats (agents/surrogate_agent.py)."""
FITTED = ("intercept", "own", "heard")
Grade = Callable[[str, str], float | None]
AGENT = ["room", "agent"]


@dataclass(frozen=True)
class Transitions:
    """One topic of a run.

    levels: attitude by (room, agent) and survey; NaN where missing. parties: by (room, agent). steps:  a row per agent
    and interval: room, agent, party, before (the survey), own, heard, after; only where all three are known. hearings: a
    row per line that an agent heard: room, agent, speaker, before, grade; only with a grade. spoken: a row per line: room,
    party, own (its speaker's attitude at the survey before), grade; only where both are known. lines:  a row per line:
    room, agent, party, grade (its speaker's attitude if lines are not graded), text. links:  room, source, target: who
    hears whom in a network at the start; empty where everyone hears everyone. missing: intervals left out, by reason.
    how: `expected` (mean of the answer distribution) or `attitude` (the rating).
    """

    levels: pd.DataFrame
    parties: pd.Series
    steps: pd.DataFrame
    hearings: pd.DataFrame
    spoken: pd.DataFrame
    lines: pd.DataFrame
    links: pd.DataFrame
    missing: dict[str, int]
    how: str


def fit_response(
    data: Transitions, rooms: Iterable[str] | None = None, hears: bool = True
) -> dict[str, dict[str, Any]]:
    """Return by party: the numbers of agents/laws/surrogate.py, transitions, rooms, share of all agents,
    quantiles of first attitudes, and lines with their grades.

    rooms: only these. hears: whether what was heard may matter. Errors: UserError when a party has fewer than 5 rooms.
    """
    first = data.levels.iloc[:, 0]
    chosen = set(first.index.get_level_values("room") if rooms is None else rooms)
    here = first.index.get_level_values("room").isin(list(chosen))
    fitted = {}
    for party in data.parties.unique():
        steps, spoken, lines = (
            rows[(rows["party"] == party) & rows["room"].isin(chosen)] for rows in (data.steps, data.spoken, data.lines)
        )
        count = steps["room"].nunique()
        if count < ROOMS:
            raise UserError(
                f"{party}: a surrogate can only be fitted to {ROOMS} rooms or more, but only {count} are available: "
                "run more repetitions"
            )
        starts = np.quantile(first[here & (data.parties == party)].dropna(), np.linspace(0, 1, QUANTILES + 1)).tolist()
        share = float((data.parties[here] == party).mean())
        about = {"share": share, "starts": starts, "said": _sample_lines(lines)}
        fitted[str(party)] = _speech(spoken) | _response(steps, hears) | about
    return fitted


def _sample_lines(lines: pd.DataFrame) -> list[list[Any]]:
    """Return grade and text of a party's lines, each text once, by grade; of more than BANK lines, evenly spaced ones."""
    rows = lines.drop_duplicates("text").sort_values(["grade", "text"])[["grade", "text"]]
    sample = rows.iloc[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), BANK)).astype(int))]
    return [[round(float(grade), 4), str(text)] for grade, text in sample.itertuples(index=False)]


def _speech(spoken: pd.DataFrame) -> dict[str, Any]:
    """Return how far a line is above its speaker's attitude, and how much that varies; 0 and 0 if lines are not graded."""
    gap = (spoken["grade"] - spoken["own"]).to_numpy(dtype=float)
    offset, noise = (float(gap.mean()), float(gap.std(ddof=1))) if len(gap) > 1 else (0.0, 0.0)
    return {"offset": offset, "noise": noise, "lines": len(gap)}


def _response(steps: pd.DataFrame, hears: bool = True) -> dict[str, Any]:
    shift = (steps["after"] - steps["own"]).to_numpy(dtype=float)
    still = np.abs(shift) < STILL
    moved = steps[~still]
    design = np.column_stack((np.ones(len(moved)), moved["own"], moved["heard"]))[:, : 3 if hears else 2]
    coefficients, intervals = _jackknifed(design, shift[~still], moved["room"].to_numpy())
    residuals, freedom = shift[~still] - design @ coefficients, len(moved) - design.shape[1]
    spread = float(np.sqrt(residuals @ residuals / freedom)) if freedom > 0 else 0.0
    ranges = {
        f"{name}_{end}": float(getattr(steps[name], extreme)())
        for name in ("own", "heard")
        for end, extreme in (("low", "min"), ("high", "max"))
    }
    counts = {"transitions": len(steps), "moved": len(moved), "rooms": int(steps["room"].nunique())}
    fitted = dict.fromkeys(FITTED, 0.0) | dict(zip(FITTED, coefficients.tolist(), strict=False))
    return {"stay": float(still.mean()), **fitted, "spread": spread, **ranges, **counts, "intervals": intervals}


def _jackknifed(design: Floats, shift: Floats, rooms: np.ndarray) -> tuple[Floats, dict[str, list[float]] | None]:
    """Return the coefficients and their 95% intervals: least squares with one room at a time left out (the covariance
    is CR3).

    This removes most of the bias that arises because an attitude both moves others and is moved
    (analysis/influence_model.py). With fewer than 5 rooms that moved, also where a few have most of the steps, or where
    own and heard cannot be separated, there are no intervals.
    """
    codes, size = pd.factorize(rooms)[0], design.shape[1]
    count = codes.max(initial=-1) + 1
    parts = [(design[codes == code], shift[codes == code]) for code in range(count)]
    squares = np.array([x.T @ x for x, _ in parts]).reshape(-1, size, size)
    products = np.array([x.T @ y for x, y in parts]).reshape(-1, size)
    without = squares.sum(axis=0) - squares
    if count < ROOMS or (np.linalg.matrix_rank(without, hermitian=True) < size).any():
        return np.asarray(np.linalg.lstsq(design, shift)[0], dtype=np.float64), None
    whole = np.linalg.solve(squares.sum(axis=0), products.sum(axis=0))
    steps = np.linalg.solve(without, (products.sum(axis=0) - products)[..., None])[..., 0] - whole
    errors = np.sqrt((count - 1) / count * ((steps - steps.mean(axis=0)) ** 2).sum(axis=0))
    estimates = whole - (count - 1) * steps.mean(axis=0)
    worth = effective_clusters(np.bincount(codes).astype(float))
    if is_few(worth):
        return estimates, None
    reach = float(stdtrit(worth - 1, 0.975)) * errors
    return estimates, dict(zip(FITTED, np.column_stack((estimates - reach, estimates + reach)).tolist(), strict=False))


def run_transitions(tables: Tables, topic: str, grade: Grade | None, what: str = "a surrogate") -> Transitions:
    """Return the transitions of a topic. What was heard is the grade of each line by another agent of the room; without
    `grade`, its speaker's attitude at the survey before. what: what is fitted to them, for errors.

    Lines that cannot be graded are left out of the mean. Errors: UserError for a run with a mediator, surrogates or
    interventions, and without two surveys.
    """
    rated = tables.attitudes[(tables.attitudes["topic"] == topic) & (tables.attitudes["group"] != "reference")]
    if (tables.agents["party"] == MEDIATOR).any():
        raise UserError(
            f"{what} can only be fitted to debates, and in this run agents write to a mediator: choose another run"
        )
    if tables.header.stand_ins:
        raise UserError(
            "some agents of this run were surrogates themselves: choose a run in which a model played every seat"
        )
    if len(tables.interventions):
        raise UserError(f"{what} cannot be fitted to a run with interventions: choose a run without interventions")
    how = "expected" if (rated["measure"] == EXPECTED).all() else "attitude"
    levels = rated.pivot(index=AGENT, columns="round", values="attitude")
    if levels.shape[1] < 2:
        raise UserError(
            f"{topic}: the run has no ratings before and after a round: run the debates again with --set survey=rounds"
        )
    parties = rated.drop_duplicates(AGENT).set_index(AGENT)["party"].reindex(levels.index)
    lines = graded_lines(tables, topic, grade)
    surveys = zip(levels.columns[:-1], levels.columns[1:], strict=True)
    intervals = [_interval(levels, lines, tables.heard, before, after) for before, after in surveys]
    steps, hearings, spoken, said_lines = (pd.concat(parts) for parts in zip(*intervals, strict=True))
    for frame in (steps, spoken, said_lines):
        frame["party"] = parties.reindex(pd.MultiIndex.from_frame(frame[AGENT])).to_numpy()
    before, after, heard = (steps[name].notna() for name in ("own", "after", "heard"))
    missing = {
        "no attitude before": int((~before).sum()),
        "no attitude after": int((before & ~after).sum()),
        "nothing heard that could be graded": int((before & after & ~heard).sum()),
    }
    missing = {reason: count for reason, count in missing.items() if count}
    links = tables.links.loc[tables.links["round"] == 0, ["room", "source", "target"]]
    return Transitions(
        levels, parties, steps.dropna(), hearings, spoken.dropna(), said_lines.dropna(), links, missing, how
    )


def graded_lines(tables: Tables, topic: str, grade: Grade | None) -> pd.DataFrame:
    """Return room, round, iteration, agent, text and grade (NaN: none) of every line; `ungraded`: if lines have no grades."""
    topic_lines = tables.utterances[(tables.utterances["topic"] == topic) & tables.utterances["text"].notna()]
    lines = topic_lines[["room", "round", "iteration", "agent", "text"]].copy()
    lines["grade"] = np.nan if grade is None else [grade(topic, str(text)) for text in topic_lines["text"]]
    lines["grade"] = lines["grade"].astype(float)
    return lines.assign(ungraded=grade is None)


def _interval(
    levels: pd.DataFrame, lines: pd.DataFrame, heard: pd.DataFrame, before: int, after: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return what every agent heard between two surveys (mean, then line by line), the graded lines, and their texts."""
    past_lines = lines[lines["round"] <= after].copy()
    past_lines["own"] = levels[before].reindex(pd.MultiIndex.from_frame(past_lines[AGENT])).to_numpy()
    past_lines["grade"] = past_lines["grade"].where(~past_lines["ungraded"], past_lines["own"])
    new = past_lines["round"] > before
    steps = pd.DataFrame({"own": levels[before], "after": levels[after]}).reset_index().assign(before=before)
    if len(heard):
        hearings = _network_hearings(past_lines, heard, before, after)
        means = hearings.groupby(AGENT)["grade"].mean()
    else:
        hearings, means = _room_hearings(past_lines[new], steps), _room_means(past_lines[new], steps)
    steps["heard"] = means.reindex(pd.MultiIndex.from_frame(steps[AGENT])).to_numpy(dtype=float)
    hearings = hearings[[*AGENT, "speaker", "grade"]].dropna().assign(before=before)
    spoken = past_lines.loc[new & ~past_lines["ungraded"], [*AGENT, "own", "grade"]]
    return steps, hearings, spoken, past_lines.loc[new, [*AGENT, "grade", "text"]]


def _network_hearings(past_lines: pd.DataFrame, heard: pd.DataFrame, before: int, after: int) -> pd.DataFrame:
    """Return a row per line that an agent of a network heard or was shown, posts of earlier rounds included."""
    rows = heard[(heard["round"] > before) & (heard["round"] <= after)]
    lines = past_lines[["room", "iteration", "agent", "grade"]].rename(columns={"agent": "speaker"})
    return rows.merge(lines, on=["room", "iteration"])


def _room_hearings(new_lines: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Return a row per line that an agent heard from another agent of the room."""
    lines = new_lines[[*AGENT, "grade"]].rename(columns={"agent": "speaker"})
    rows = steps[AGENT].merge(lines, on="room")
    return rows[rows["agent"] != rows["speaker"]]


def _room_means(new_lines: pd.DataFrame, steps: pd.DataFrame) -> pd.Series:
    """Return the mean grade of what the others in the room said."""
    graded, agents = new_lines.dropna(subset=["grade"]), pd.MultiIndex.from_frame(steps[AGENT])
    room, mine = (graded.groupby(keys)["grade"].agg(["sum", "count"]) for keys in ("room", AGENT))
    total, count = (room.reindex(steps["room"]).fillna(0.0).to_numpy() - mine.reindex(agents).fillna(0.0).to_numpy()).T
    return pd.Series(np.divide(total, count, out=np.full(len(steps), np.nan), where=count > 0), index=agents)
