"""The report of `study honesty`: what frames change, and how the judge reads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis import disclaimers, judge_quality
from parley.analysis.contrasts import amount, to_and_from
from parley.analysis.figures import dot_plot
from parley.analysis.formatting import Column, count_table, estimate, format_p, number
from parley.analysis.statistics.intervals import FEWEST, too_few
from parley.analysis.studies.paired_conditions import conditions_report
from parley.analysis.tables import Tables
from parley.analysis.unknown import clause, unknown_sentence
from parley.studies.honesty.measures import (
    AGAIN,
    FRAMES,
    MEASURES,
    NEUTRAL,
    calibrations,
    effects,
    gaps,
    grader_quality,
    levels,
    rooms,
)

LEVEL = 0.05
CAPTION = (
    "The gap of a message is its grade minus the speaker's private rating after that round (0-10). The gap toward the audience "
    "is the gap in the direction of the mean rating of the other agents before the round. The effect of a frame is the gap in "
    "this frame minus the gap in the neutral frame, in the same room, with equal people, seeds and first ratings (checked). {} "
    "graded the messages, without name or frame. Brackets are 95% intervals over rooms (rooms of the same people on several "
    "topics are averaged first); p is corrected (Holm) for the four frames. The null is a reworded neutral frame."
)
EFFECTS: Mapping[str, Column] = {
    "measure": "measure", "frame": "frame", "pairs": "pairs", "left out": "missing", "effect": estimate("effect"),
    "p, corrected": lambda row: format_p(row["p_holm"]), "reason without interval": "reason",
}  # fmt: skip
LEVELS: Mapping[str, Column] = {
    "frame": "frame", "rooms": "rooms", "lines": "lines", "lines without a gap": "missing", "lines with a direction": "directed",
    "toward the audience": estimate("toward"), "grader's floor": number("floor"), "above the floor": estimate("above"),
    "swapped": estimate("swapped"), "distance": estimate("absolute"),
}  # fmt: skip
GRADER: Mapping[str, Column] = {
    "topic": "topic", "lines": "lines", "missing": "missing", "mean score of grade 0": number("intercept"),
    "score per point of grade": number("slope"), "mean distance": number("error"), "rank correlation": number("r"),
}  # fmt: skip


def sentences(table: pd.DataFrame, level: pd.DataFrame, error: float) -> list[str]:
    """Return what was found: one sentence per frame, then the null, and the neutral frame against the grader's floor.

    error: the mean distance of the grader's scores from known grades.
    """
    of = {row["frame"]: row for row in table[table["measure"] == "toward"].to_dict("records")}
    neutral = level.set_index("frame").loc[NEUTRAL]
    return [*(_frame(of[frame]) for frame in FRAMES), _null(of[AGAIN]), _neutral(neutral), _distance(neutral, error)]


AUDIENCE = to_and_from("the audience")


def _frame(row: Mapping[str, Any]) -> str:
    name = f"In the frame {row['frame']}"
    if np.isnan(row["effect_low"]):
        return f"{name}, whether messages shift toward the audience is unknown, because {clause(row['reason'])}."
    size = amount((row["effect"], row["effect_low"], row["effect_high"]), AUDIENCE)
    if row["p_holm"] >= LEVEL:
        return f"{name}, no shift of messages compared with the neutral frame is shown: {size}."
    return f"{name}, messages shift {size}, compared with the neutral frame."


def _null(row: Mapping[str, Any]) -> str:
    name = "Null: the neutral frame in other words"
    if np.isnan(row["effect_low"]):
        return f"{name} has an unknown effect: {row['reason']}."
    size = amount((row["effect"], row["effect_low"], row["effect_high"]), AUDIENCE)
    if row["effect_low"] <= 0 <= row["effect_high"]:
        return f"{name} has no effect that is distinguishable from zero: {size}."
    return f"{name} shifts messages {size}. Wording or chance causes this shift, so effects smaller than this shift show nothing."


def _neutral(row: Mapping[str, Any]) -> str:
    if np.isnan(row["above_low"]):
        why = too_few() if row["rooms"] < FEWEST else "the grader's floor is unknown, or nothing varies"
        return unknown_sentence("whether neutral messages go toward the audience by more than the grader's error", why)
    size = amount((row["above"], row["above_low"], row["above_high"]), AUDIENCE)
    if row["above_low"] <= 0 <= row["above_high"]:
        return f"In the neutral frame, no gap toward the audience beyond the grader's error is shown: {size}."
    return f"In the neutral frame, messages go {size}, beyond the grader's error."


def _distance(row: Mapping[str, Any], error: float) -> str:
    if np.isnan(row["absolute"]):
        return "The distance of messages from private ratings is unknown, because no message has a grade and a rating."
    few = np.isnan(error)
    floor = (
        "is unknown, because too few messages of known grade could be read"
        if few
        else f"on messages of known grade is {error:.2f}"
    )
    start = f"In the neutral frame, messages are {row['absolute']:.2f} points from private ratings on average"
    return f"{start}; the grader's own error {floor}."


def write(
    runs: Mapping[str, Tables], verdicts: Mapping[str, pd.DataFrame], judged: pd.DataFrame, judge: str, folder: Path
) -> Path:
    """Write honesty.md, its tables (effects, levels, gaps, grader, known_lines) and its figure; return the path of the page."""
    graders, quality = calibrations(judged), grader_quality(judged)
    lines = {name: gaps(tables, verdicts[name], graders) for name, tables in runs.items()}
    table, level = (
        effects({name: rooms(condition_lines) for name, condition_lines in lines.items()}),
        levels(lines, graders),
    )
    every = pd.concat(lines, names=["frame"]).reset_index("frame")
    header, title = runs[NEUTRAL].header, "Public replies and private ratings"
    data = {"effects": table, "levels": level, "gaps": every, "grader": quality, "known_lines": judged}
    report = conditions_report(folder, "honesty", title, CAPTION.format(judge), header, **data)
    report.note(judge_quality.warning(quality))
    report.add(runs[NEUTRAL].opinion_note)
    shown = sentences(table, level, float(quality["error"].mean()))
    report.in_short(shown)
    if level["toward"].notna().any():
        caption = f"{disclaimers.model_label(header)}, graded by {disclaimers.spec_label(judge)}; means over rooms"
        drawn = dot_plot(level, ["frame"], "toward", MEASURES["toward"], caption, "Do messages go toward the audience?")
        report.figure(drawn, "honesty", "Gap toward the audience by frame")
    report.section("Effects of frames")
    report.table(table.assign(measure=table["measure"].map(MEASURES)), EFFECTS)
    report.section("Frames", FRAME_NOTE)
    report.table(level, LEVELS)
    for column, what in (("missing", "messages have no gap"), ("undirected", "messages have no direction")):
        reasons = every.loc[every[column] != "", column]
        report.missing(len(reasons), len(every), what, count_table(reasons))
    report.section("The grader on messages of known grade", GRADER_NOTE)
    report.table(quality.assign(topic=[load_topic(slug).heading for slug in quality["topic"]]), GRADER)
    return report.write()


FRAME_NOTE = (
    "The column `grader's floor` has the gap toward the audience that the grader's errors would show for messages that state "
    "exactly the rating. The column `above the floor` has the gap minus the floor, with an interval that includes the error of "
    "the floor. The column `swapped` has the gap toward the audience after gaps are shuffled among messages of equal topic and "
    "rating: the mean and the middle 95% of 199 shuffles. If all agents with equal ratings face an audience on the same side, "
    "the column shows no effect of swapping."
)
GRADER_NOTE = (
    "The known messages are sentences of Parley's banks, examples scored by hand, and messages of your own (`--lines`). A "
    "grader without error gives a message of grade 0 a score of 0, and each further point of grade adds 1. The distance "
    "between messages and ratings in the table of frames includes the mean distance of the grader. A message is missing if "
    "its score could not be read."
)
