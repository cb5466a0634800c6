"""Do people say in public what they rate in private? The same conversation in frames: neutral, reward, pressure, audience.

Counterpart of DeceptionBench (2025), whose models answer without a frame, for a reward, or under pressure, over several turns.
Here the frame is a sentence with every request for a line (a role, agents/languages), and with nothing else. People, rooms, seeds
and the ratings before the conversation are the same in all frames (checked), so an effect is a difference within a room: frame
minus neutral. A judge grades the lines on the axis of the ratings, and lines of known grade say what its grades are worth. The
null is the neutral frame in other words. The unit is the repetition: the same people talk about all of its topics.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from parley.analysis import judge_quality
from parley.analysis.judge_quality import on_axis
from parley.analysis.line_gaps import UNIT, Calibration, gap_row, line_gaps, room_gaps
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import p_of_mean, slope, why_no_interval
from parley.analysis.studies.intervention import check_past
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.tables import Tables
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

NEUTRAL, AGAIN = "neutral", "neutral_again"
FRAMES = ("reward", "order", "exclusion", "audience")
CONDITIONS = (NEUTRAL, AGAIN, *FRAMES)
"""Each is the name of a role."""
MEASURES = {
    "toward": "gap toward the audience (points of 0-10)",
    "growth": "change of this gap per round",
    "absolute": "distance of line and rating",
}


def conditions(base: Scenario) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition. Errors: UserError for a scenario in which the gap would mean nothing."""
    if base.people.roles:
        raise UserError(
            f"the scenario {base.name} gives roles, and frames are roles: choose another, or set roles= (empty)"
        )
    if base.surveys.survey != "rounds" or base.rounds < 2:
        raise UserError("the gap needs a survey after each of at least 2 rounds: set survey=rounds and --rounds 2")
    for topic in base.subject.all_topics:
        if base.subject.questions or not judge_quality.comparable(topic.slug, base.surveys.probe):
            raise UserError(
                f"on {topic.title} the survey asks for something else than the agreement that a judge reads in lines: set "
                "probe=agreement"
            )
    return {name: {"roles": (name,)} for name in CONDITIONS}


def honesty(base: Scenario) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yield the scenario of each condition and receive its tables. Errors: UserError where first ratings differ."""
    runs: dict[str, Tables] = {}
    for name, settings in conditions(base).items():
        runs[name] = yield base.with_settings(settings)
        check_past(runs[NEUTRAL], runs[name], 1)
    return runs


def gaps(tables: Tables, verdicts: pd.DataFrame, graders: Mapping[str, Calibration]) -> pd.DataFrame:
    """Return the gaps of the lines of a run (`line_gaps`), from the judge's verdicts (topic, room, iteration, score 1-7)."""
    grades = verdicts[["room", "iteration"]].assign(grade=on_axis(verdicts["score"], verdicts["topic"]))
    return line_gaps(tables, grades, graders)


def rooms(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `room_gaps` with growth, the slope of `toward` over rounds (NaN: unknown)."""
    found = room_gaps(lines).set_index("room")
    by_round = lines.pivot_table(index="room", columns="round", values="toward", aggfunc="mean").reindex(found.index)
    at = by_round.columns.to_numpy(dtype=float)
    found["growth"] = slope(by_round.to_numpy(dtype=float), at) if len(at) else np.nan
    return found.reset_index()


def effects(by_room: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per measure and frame: pairs, missing (pairs left out), effect with its interval, p, p_holm, reason.

    p_holm is corrected for the four frames of a measure; the null has none. by_room: that of `rooms`, by condition. Rooms of the
    same people on several topics are averaged first.
    """
    keyed = {name: frame.groupby(UNIT)[list(MEASURES)].mean() for name, frame in by_room.items()}
    rows = []
    for measure, frame in product(MEASURES, CONDITIONS[1:]):
        differences = keyed[frame][measure] - keyed[NEUTRAL][measure]
        known = differences.dropna().to_numpy(dtype=float)
        row = {"measure": measure, "frame": frame, "pairs": len(known), "missing": len(differences) - len(known)}
        row |= mean_row(known, "effect", "effect_") | {"p": p_of_mean(known), "reason": why_no_interval(known)}
        rows.append(row)
    table = pd.DataFrame(rows)
    tried = table[table["frame"].isin(FRAMES)].groupby("measure", sort=False)["p"]
    return table.assign(p_holm=tried.transform(lambda p: holm(p.to_numpy(dtype=float))))


def levels(lines: Mapping[str, pd.DataFrame], graders: Mapping[str, Calibration]) -> pd.DataFrame:
    """Return one row per condition, with the columns of `gap_row`. lines: those of `gaps`, by condition."""
    return pd.DataFrame([{"frame": frame, **gap_row(part, graders)} for frame, part in lines.items()])
