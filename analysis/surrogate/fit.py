"""The response of a party's people to what they hear, by least squares; rooms are the unit.

stay: the share of intervals in which the attitude did not move (by less than 0.000001)
else: shift = intercept + own * attitude + heard * mean heard + normal noise of the spread

Without hearing (`hears=False`) the last coefficient is 0: each party drifts to a level of its own, -intercept / own, at a rate of
its own. That is the baseline a surrogate has to beat (`fidelity.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parley.analysis.bootstrap import Floats
from parley.analysis.surrogate.transitions import Transitions
from parley.llm.errors import UserError

STILL = 1e-6
ROOMS = 5
QUANTILES = 20
BANK = 500
"""Lines of a party that are kept, for those who stand in for it (agents/standin.py)."""
FITTED = ("intercept", "own", "heard")


def fit(data: Transitions, rooms: Iterable[str] | None = None, hears: bool = True) -> dict[str, dict[str, Any]]:
    """By party: the numbers of agents/laws/surrogate.py, transitions, rooms, share of all agents, quantiles of first
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

    That takes out most of the bias that an attitude which is both what moves and what is moved brings (analysis/recovery.py).
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
