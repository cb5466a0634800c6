"""What a contest is fitted to: a row per agent and interval between two surveys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from parley.agents.laws.base import Codes, Floats
from parley.agents.mechanisms import Situation
from parley.analysis.surrogate.fit import AGENT, Transitions
from parley.analysis.tables import Tables

KEY = [*AGENT, "before"]
"""What names a row: the agent, and the survey before the interval."""
COVERED = 0.95
"""A further question is used if at least this share of the rows has an answer to it."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Intervals between two surveys, sorted by room.

    situation: what the agents knew. after: (n,) the next attitude. rooms: (n,) int64 the room of each row, from 0, every
    room with a row. missing: intervals left out, by reason.
    """

    situation: Situation
    after: Floats
    rooms: Codes
    missing: dict[str, int]

    @property
    def count(self) -> int:
        """The number of rooms."""
        return int(self.rooms[-1]) + 1 if len(self.rooms) else 0

    @property
    def starts(self) -> Codes:
        """(rooms,) the first row of each room."""
        return np.searchsorted(self.rooms, np.arange(self.count))


def read_rows(data: Transitions, tables: Tables, topic: str) -> Rows:
    """Return the rows of a topic. Rows without a first attitude or, if agents rate further questions, without an answer
    to these, are left out and counted.
    """
    steps, missing = data.steps.sort_values(KEY).reset_index(drop=True), dict(data.missing)
    surveys = data.levels.columns.to_numpy()
    place = np.searchsorted(surveys, steps["before"].to_numpy())
    levels = data.levels.reindex(pd.MultiIndex.from_frame(steps[AGENT])).to_numpy(dtype=float)
    so_far = np.where(np.arange(len(surveys)) <= place[:, None], levels, np.nan)
    counted = np.isfinite(so_far).sum(axis=1)
    average = np.nansum(so_far, axis=1) / np.maximum(counted, 1)
    answers = _further_answers(tables, topic, steps)
    others = answers.reindex(pd.MultiIndex.from_frame(steps[KEY])).to_numpy(dtype=float)
    complete = {
        "no first attitude": np.isfinite(levels[:, 0]),
        "no answer to a further question": np.isfinite(others).all(axis=1),
    }
    missing |= {reason: int((~there).sum()) for reason, there in complete.items() if not there.all()}
    keep = np.logical_and(*complete.values())
    codes, names = pd.factorize(steps["party"][keep])
    ends, lines = _lines_heard(steps[keep], data.hearings)
    heard = lines["grade"].to_numpy(dtype=float)
    situation = Situation(
        own=steps["own"].to_numpy(dtype=float)[keep],
        first=levels[keep, 0],
        parties=codes.astype(np.int64),
        names=tuple(map(str, names)),
        ends=ends,
        heard=heard,
        weights=np.ones(len(heard)),
        average=average[keep],
        others=others[keep],
        questions=tuple(map(str, answers.columns)),
        apart=_distances(data, answers, lines),
        starts=first_means(data),
    )
    rooms = pd.factorize(steps["room"][keep])[0].astype(np.int64)
    return Rows(situation, steps["after"].to_numpy(dtype=float)[keep], rooms, missing)


def first_means(data: Transitions) -> dict[str, float]:
    """Return by party the mean of the first attitudes."""
    return {str(party): float(mean) for party, mean in data.levels.iloc[:, 0].groupby(data.parties).mean().items()}


def _lines_heard(steps: pd.DataFrame, hearings: pd.DataFrame) -> tuple[Codes, pd.DataFrame]:
    """Return the ends of each row's lines, and all lines in the order of the rows."""
    row = pd.MultiIndex.from_frame(steps[KEY]).get_indexer(pd.MultiIndex.from_frame(hearings[KEY]))
    order = np.argsort(row, kind="stable")
    order = order[row[order] >= 0]
    counts = np.bincount(row[order], minlength=len(steps))
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64), hearings.iloc[order]


def _further_answers(tables: Tables, topic: str, steps: pd.DataFrame) -> pd.DataFrame:
    """Return the attitudes by (room, agent, before) on the further questions that (nearly) all rows answer: a column each."""
    rated, keys, columns = tables.probes[tables.probes["topic"] == topic], pd.MultiIndex.from_frame(steps[KEY]), {}
    for name, rows in rated.rename(columns={"round": "before"}).groupby("probe", sort=True):
        answers = rows.groupby(KEY)["attitude"].last()
        if np.isfinite(answers.reindex(keys).to_numpy(dtype=float)).mean() >= COVERED:
            columns[str(name)] = answers
    return pd.DataFrame(columns) if columns else pd.DataFrame(index=keys)


def _distances(data: Transitions, answers: pd.DataFrame, lines: pd.DataFrame) -> Floats:
    """Return (lines,) the Euclidean distance of speaker and hearer over the main and the further questions."""
    levels = data.levels.rename_axis(columns="before").stack().reorder_levels(KEY)
    all_answers = pd.concat([levels.rename("main"), answers], axis=1)
    who = (lines[KEY], lines[["room", "speaker", "before"]].set_axis(KEY, axis=1))
    ends = [all_answers.reindex(pd.MultiIndex.from_frame(keys)).to_numpy(dtype=float) for keys in who]
    distances: Floats = np.sqrt(((ends[0] - ends[1]) ** 2).sum(axis=1))
    return distances
