"""How far readers move after statements with a tag of a judge and without it, of runs with a survey after every turn.

The survey is `also=NAME:turns`. The unit is the repetition of a group: the same people meet on every topic of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd

from parley.analysis.formatting import DASH, Column, estimate
from parley.analysis.human.rooms import each_turn
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import Floats, interval, why_no_interval
from parley.analysis.tables import Tables

TOWARD = (
    "Each number is how many points (0-10) farther readers moved toward the speaker's attitude after a statement with a tag "
    "than after other statements that the same reader heard. Movement is counted from the survey before the turn to the survey "
    "after the turn. All tags are estimated together (least squares within readers, intervals over repetitions). Statements "
    "with different tags also differ in speaker and time. So each number is an association, not an effect of the tag."
)
NO_SURVEY = (
    "This run has no survey after each turn, so movement after a statement is unknown: run the "
    "debates with `--set also=attitude:turns`."
)
NOT_APART = "the tags do not vary independently of each other within readers"
STILL, MOST_ALIKE = 1e-9, 1e8
"""Below this sum of squares a tag does not vary; from this condition number on, effects of tags cannot be separated."""
EFFECTS: Mapping[str, Column] = {
    "tag": "tag", "compared with": "other", "steps with": "with", "steps": "steps", "rooms": "rooms",
    "difference": estimate("difference"), "reason": lambda row: row["reason"] or DASH,
}  # fmt: skip
WITHOUT = "without it"
TYPES = {"room": "object", "iteration": "int64", "agent": "int64", "toward": "float64"}


def add_moves(report: Report, verdicts: pd.DataFrame, tables: Tables, tags: Sequence[str]) -> None:
    """Add how far readers move after each tag, with the table moves; or why it is unknown."""
    moved = effects(verdicts, hearer_moves(tables), tags)
    report.section("How far readers move after each tag")
    if not moved["steps"].any():
        report.add(NO_SURVEY)
        return
    report.data(moves=moved)
    report.add(TOWARD)
    report.table(moved, EFFECTS)


def effects(verdicts: pd.DataFrame, moved: pd.DataFrame, tags: Sequence[str]) -> pd.DataFrame:
    """One row per tag (other: WITHOUT), then one per pair of tags: tag, other, with (steps after the tag), steps, rooms,
    difference (points toward the speaker), its ends, reason (why the difference or its interval is unknown).

    Steps and tags are centred within each hearer; one least-squares fit has all tags. Intervals are over units.
    """
    joined = moved.merge(verdicts[[*UNIT, "room", "iteration", *tags]], on=["room", "iteration"], how="inner").dropna()
    values = joined[[*tags, "toward"]].astype(float)
    centred = (values - values.groupby([joined["room"], joined["agent"]]).transform("mean")).to_numpy()
    terms = (centred[:, :-1, None] * centred[:, None, :]).reshape(len(centred), len(tags) * (len(tags) + 1))
    sums, sizes = _unit_sums(terms, joined), _unit_sums(np.ones((len(terms), 1)), joined)[:, 0]
    rows = []
    for weights in contrasts(len(tags)):
        pair = partial(_contrast, weights=weights)
        difference = float(pair(sums[None])[0]) if len(sums) else np.nan
        ends = interval(sums, pair, sizes) if np.isfinite(difference) else (np.nan, np.nan)
        unsure = why_no_interval(sums, "repetition", sizes) if np.isnan(ends[0]) else ""
        why = NOT_APART if np.isnan(difference) else unsure
        tag, other = tags[int(np.argmax(weights))], tags[int(np.argmin(weights))] if np.min(weights) < 0 else WITHOUT
        counts = int((joined[tag] == 1).sum()), len(joined), joined["room"].nunique()
        rows.append((tag, other, *counts, difference, *ends, why))
    columns = ["tag", "other", "with", "steps", "rooms", "difference", "difference_low", "difference_high", "reason"]
    return pd.DataFrame(rows, columns=columns)


def contrasts(count: int) -> list[Floats]:
    """Return the weights of coefficients: of each tag alone, then of each pair, the first minus the second."""
    alone = list(np.eye(count))
    return [*alone, *(first - other for first, other in combinations(alone, 2))]


def _unit_sums(terms: Floats, steps: pd.DataFrame) -> Floats:
    """Return the sums of terms, a row per step, over the steps of each unit."""
    sums: Floats = pd.DataFrame(terms).groupby([steps[name].to_numpy() for name in UNIT]).sum().to_numpy(dtype=float)
    return sums


def _contrast(drawn: Floats, weights: Floats) -> Floats:
    """(drawn,): the weighted sum of coefficients; NaN where tags cannot be separated, and for a tag that does not vary."""
    total = drawn.sum(axis=1).reshape(-1, len(weights), len(weights) + 1)
    squares, products = total[:, :, :-1], total[:, :, -1:]
    still = np.diagonal(squares, axis1=1, axis2=2) < STILL
    # A tag that does not vary gets a 1 in its row, so that the others can be solved; its own coefficient is not used.
    squares = squares + still[:, :, None] * np.eye(len(weights))
    separable = np.linalg.cond(squares) < MOST_ALIKE
    coefficients = np.linalg.solve(np.where(separable[:, None, None], squares, np.eye(len(weights))), products)[:, :, 0]
    return np.where(separable & ~still[:, weights != 0].any(axis=1), coefficients @ weights, np.nan)


def hearer_moves(tables: Tables) -> pd.DataFrame:
    """One row per hearer and turn: room, iteration, agent (the hearer), toward.

    toward: change of attitude (points of 0-10) since the last survey, positive toward where the speaker stood. There is no row
    without a rating before and after, nor without a side to go to, nor if there were several turns between two surveys of the
    room, because no one could say which turn it was.
    """
    before = tables.attitudes[(tables.attitudes["round"] == 0) & tables.attitudes["group"].isin(tables.groups)]
    ratings = pd.concat([before, each_turn(tables)])
    speakers = tables.utterances[tables.utterances["text"].notna()].set_index(["room", "iteration"])["agent"].to_dict()
    rows = [
        row
        for room, room_ratings in ratings.groupby("room", sort=False)
        for row in _room_moves(str(room), room_ratings, speakers)
    ]
    return pd.DataFrame(rows, columns=list(TYPES)).astype(TYPES).dropna(subset="toward")


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
