"""Do people say in public what they rate in private? The same conversation in frames: neutral, reward, pressure, audience.

Counterpart of DeceptionBench (2025), whose models answer without a frame, for a reward, or under pressure, over several turns.
Here the frame is a sentence with every request for a line (a role, agents/languages), and with nothing else. People, rooms, seeds
and the ratings before the conversation are the same in all frames (checked), so an effect is a difference within a room: frame
minus neutral. A judge grades the lines on the axis of the ratings, and lines of known grade say what its grades are worth. The
null is the neutral frame in other words. The unit is the repetition: the same people talk about all of its topics.

Lines of known grade for a judge to read: sentences of our banks, scored examples by hand, and lines of the user.

They show what a judge's score is worth: its calibration (analysis/line_gaps.py), and whether it must not be used
(analysis/judge_quality.py). An example is judged without itself among the examples that the judge is shown.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.probe import scales
from parley.agents.reply_cleaning import one_line
from parley.agents.topic import load_topic
from parley.analysis import judge_quality
from parley.analysis.judge_quality import on_axis, on_scale, quality_by_topic
from parley.analysis.judging import Item, Judge
from parley.analysis.line_gaps import UNIT, Calibration, calibrate, gap_row, line_gaps, room_gaps
from parley.analysis.statement_judge import SCALE, Judging, examples, statement_item
from parley.analysis.statistics.groups import holm
from parley.analysis.statistics.intervals import p_of_mean, slope, why_no_interval
from parley.analysis.studies.intervention import check_past
from parley.analysis.studies.paired_conditions import mean_row
from parley.analysis.table_files import read_table
from parley.analysis.tables import Tables
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.errors import UserError
from parley.model.scenario import Scenario

COLUMNS = ["topic", "source", "text", "grade"]
BANK, EXAMPLE, FILE = "bank", "example", "file"
PER_GRADE = 3
"""Sentences of the banks for each of the six grades of a topic."""


def known_lines(topics: Sequence[str], own_lines: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row per line: COLUMNS, with the grade on the topic's axis (0-10). own_lines: those of `read_lines`."""
    rows = [(topic, *row) for topic in topics for row in _lines(topic)]
    shipped = pd.DataFrame(rows, columns=COLUMNS)
    return shipped if own_lines is None else pd.concat([shipped, own_lines], ignore_index=True)


def _lines(topic: str) -> Iterator[tuple[str, str, float]]:
    root = load_topic(topic).root
    if bank := topic_bank(root):
        for grade, forms in bank.by_grade.items():
            places = np.linspace(0, len(forms) - 1, min(PER_GRADE, len(forms))).round().astype(int)
            yield from ((BANK, forms[place][0], float(grade)) for place in places)
    polarity = load_topic(topic).probe("agreement").polarity
    yield from ((EXAMPLE, text, scales()[SCALE].attitude(score, polarity)) for text, score in examples(root))


def read_lines(path: Path, topics: Sequence[str]) -> pd.DataFrame:
    """Return one row per line of the user's table (CSV or .jsonl) with topic, text and grade (0-10 on the topic's axis): COLUMNS.

    Errors: UserError for a file that does not fit.
    """
    needed = ("topic", "text", "grade")
    table = read_table(path, needed, "studies/honesty/README.md", filled=needed, ends={"grade": (0.0, 10.0)})
    for row, topic in table["topic"].items():
        if topic not in topics:
            raise UserError(f"{path}, row {row}: the topic {topic} is not in the study: use {', '.join(topics)}")
    return table.assign(source=FILE)[COLUMNS].reset_index(drop=True)


def judge_lines(lines: pd.DataFrame, judge: Judge, judging: Judging) -> pd.DataFrame:
    """Return the lines with score (1-7 on the claim; NaN: unread), scored (the score on the axis, 0-10) and reason."""
    items = [_item(row.topic, one_line(str(row.text)), judging) for row in lines.itertuples()]
    verdicts = judge.judge_items(judging.rubric, items, judging.seed, "known lines")
    scores = pd.Series([verdict.value for verdict in verdicts], lines.index, "float64")
    scored = on_axis(scores, lines["topic"])
    return lines.assign(score=scores, scored=scored, reason=[verdict.reason for verdict in verdicts])


def _item(topic: str, text: str, judging: Judging) -> Item:
    """Return the question about a line, without the line itself among the examples."""
    item = statement_item(f"known {text}", load_topic(topic), text, "", "", judging)
    return item._replace(examples=[example for example in item.examples if example[0]["statement"] != text])


def calibrations(judged: pd.DataFrame) -> dict[str, Calibration]:
    """Return the calibration of a judge by topic, from the table of `judge_lines`."""
    return {
        str(topic): calibrate(topic_lines["grade"].to_numpy(dtype=float), topic_lines["scored"].to_numpy(dtype=float))
        for topic, topic_lines in judged.groupby("topic", sort=False)
    }


def grader_quality(judged: pd.DataFrame) -> pd.DataFrame:
    """Return one row per topic of how the judge reads lines of known grade: lines, missing, calibration, and r with its reason.

    judged: the table of `judge_lines`.
    """
    judged_lines = judged.assign(truth=on_scale(judged["grade"], judged["topic"]), room=judged.index)
    quality = quality_by_topic(judged_lines.dropna(subset=["score"]), "truth").set_index("topic")
    rows = []
    for topic, calibration in calibrations(judged).items():
        scores = judged.loc[judged["topic"] == topic, "score"]
        row = {"topic": topic, "lines": len(scores), "missing": int(scores.isna().sum())}
        rows.append(row | {"intercept": calibration.intercept, "slope": calibration.slope, "error": calibration.error})
    columns = ["statements", "rooms", "r", "r_low", "r_high", "reason", "bias"]
    return pd.DataFrame(rows).join(quality[columns], on="topic")


NEUTRAL, AGAIN = "neutral", "neutral_again"
FRAMES = ("reward", "order", "exclusion", "audience")
CONDITIONS = (NEUTRAL, AGAIN, *FRAMES)
"""Each is the name of a role."""
MEASURES = {
    "toward": "gap toward the audience (points of 0-10)",
    "growth": "change of the gap toward the audience per round",
    "absolute": "distance of message and rating",
}


def conditions(base: Scenario) -> dict[str, dict[str, Any]]:
    """Return the settings of each condition. Errors: UserError for a scenario in which the gap would mean nothing."""
    if base.people.roles:
        raise UserError(
            f"the scenario {base.name} gives agents roles, but a frame is a role too: choose another scenario, or "
            "set roles= (empty)"
        )
    if base.surveys.survey != "rounds" or base.rounds < 2:
        raise UserError("the gap needs a survey after each of at least 2 rounds: set survey=rounds and --rounds 2")
    for topic in base.subject.all_topics:
        if base.subject.questions or not judge_quality.comparable(topic.slug, base.surveys.probe):
            raise UserError(
                f"on {topic.title} the survey question does not ask for agreement, but the judge scores "
                "agreement: set probe=agreement"
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
    rows = room_gaps(lines).set_index("room")
    by_round = lines.pivot_table(index="room", columns="round", values="toward", aggfunc="mean").reindex(rows.index)
    at = by_round.columns.to_numpy(dtype=float)
    rows["growth"] = slope(by_round.to_numpy(dtype=float), at) if len(at) else np.nan
    return rows.reset_index()


def effects(by_room: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return one row per measure and frame: pairs, missing (pairs left out), effect with its interval, p, p_holm, reason.

    p_holm is corrected for the four frames of a measure; the null has none. by_room: that of `rooms`, by condition. Rooms of the
    same people on several topics are averaged first.
    """
    keyed = {name: frame.groupby(UNIT)[list(MEASURES)].mean() for name, frame in by_room.items()}
    rows = []
    for measure, frame in product(MEASURES, CONDITIONS[1:]):
        differences = keyed[frame][measure] - keyed[NEUTRAL][measure]
        readable = differences.dropna().to_numpy(dtype=float)
        row = {"measure": measure, "frame": frame, "pairs": len(readable), "missing": len(differences) - len(readable)}
        row |= mean_row(readable, "effect", "effect_") | {"p": p_of_mean(readable), "reason": why_no_interval(readable)}
        rows.append(row)
    table = pd.DataFrame(rows)
    tried = table[table["frame"].isin(FRAMES)].groupby("measure", sort=False)["p"]
    return table.assign(p_holm=tried.transform(lambda p: holm(p.to_numpy(dtype=float))))


def levels(lines: Mapping[str, pd.DataFrame], graders: Mapping[str, Calibration]) -> pd.DataFrame:
    """Return one row per condition, with the columns of `gap_row`. lines: those of `gaps`, by condition."""
    return pd.DataFrame([{"frame": frame, **gap_row(frame_lines, graders)} for frame, frame_lines in lines.items()])
