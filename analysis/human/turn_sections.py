"""The sections of human.md about opinions after each turn: steps, their order, and two kinds of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from parley.analysis import formatting
from parley.analysis.formatting import DASH, Column, estimate, number
from parley.analysis.human.fidelity import fidelity
from parley.analysis.human.kinds import PUBLISHED, compare_kinds, compare_published
from parley.analysis.human.readers import TRACES, Source, find
from parley.analysis.human.sequences import PARTS
from parley.analysis.report import Report

STEPS = (
    "A step is the change of an opinion from one turn to the next, toward the other side. Distance is that between "
    "the steps of the run and of the people (Wasserstein, 0-1). Compare it with the distance between random halves "
    "of the people, and with that of someone who never moves. The score is 1 for the people's own distribution, and "
    "0 for no nearer than never moving. Intervals of a distance lie too high."
)
ORDER = (
    "These parts depend on the order of steps, so a sampler of shuffled human steps fails them. Distances are from random halves "
    "of the people: to the run, to the other half (the ceiling), to the other half with its steps shuffled, and to people who "
    "never move. The score is 1 for a run as near as other people, and 0 for a run as near as the nearer of shuffled steps and "
    "never moving. It can be above 1 or below 0. The first two numbers are the part itself, in the run and in people: the slope "
    "of the step on the belief before it, the two correlations, and the share. Brackets hold 95% intervals over talks and rooms. "
    "The parts are not added up: a run can be like people in one part and unlike them in another. Where people themselves have "
    "no more order than shuffled steps (permutation test, p of 0.05 and more), the score is unknown."
)
KINDS = (
    "K-means (k = 2) divides people into those who stay and those who move, by how far they have gone at each part of the talk. "
    "Each agent belongs to the kind whose centre is nearer. Brackets hold 95% intervals over talks and rooms. K-means always "
    "finds two kinds: `explained` is the share of spread that they explain, `shuffled` the same in shuffled steps, and p says "
    "how often shuffled steps have as large a share."
)
AS_PUBLISHED = (
    "The published clusters, recomputed from the traces (change toward the persuader, 0-1). Most of these talks have a persuader "
    "against the claim, and there the belief after the last turn does not go with the belief right after the talk. Compare the "
    "change at the last turn with the change right after the talk before you read much into the kind that moves."
)
NO_TURNS = "The human data have no opinions after single turns, so the turns cannot be compared."


def add_turn_sections(
    report: Report, run: Source, people: Sequence[Source], order: pd.DataFrame, data: Path | None
) -> None:
    """Add the sections, and the tables sequences and kinds. order: `compare_sequences`; data: the folder with the human files."""
    steps = fidelity(run, people)
    if steps.empty:
        report.section("From turn to turn", STEPS, NO_TURNS)
        return
    kinds = compare_kinds(run, people, data)
    report.data(sequences=order, kinds=kinds)
    report.section("From turn to turn", STEPS, _step_table(steps))
    report.section("The order of steps", ORDER, _order_table(order))
    report.section("Two kinds of people", KINDS, _kind_table(kinds))
    summary, traces = (find(data, names) if data else None for names in (PUBLISHED, TRACES))
    if summary and traces and len(published := compare_published(summary, traces)):
        report.add(AS_PUBLISHED)
        report.add(formatting.frame_table(published, PUBLISHED_COLUMNS))


def _step_table(steps: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "talks": "talks", "steps": "steps",
        "rooms of different people": "rooms", "distance": estimate("distance", 3), "score": estimate("score", 3),
        "halves of the people": number("halves", 3), "never moving": number("still", 3),
        "reason if missing": lambda row: row["reason"] or DASH,
    }  # fmt: skip
    return formatting.frame_table(steps, columns)


def _order_table(order: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "part": lambda row: PARTS.get(row["part"], DASH),
        "run": number("run_value"), "people's": number("people_value"), "distance to the run": number("run", 3),
        "to other people": number("halves", 3), "to shuffled": number("shuffled", 3), "to never moving": number("still", 3),
        "p of no order": number("p", 3), "score": _score_cell,
    }  # fmt: skip
    return formatting.frame_table(order, columns)


def _score_cell(row: Mapping[str, Any]) -> str:
    return f"unknown: {row['reason']}" if row["reason"] else estimate("score")(row)


def _kind_table(kinds: pd.DataFrame) -> str:
    columns: Mapping[str, Column] = {
        "people": lambda row: f"{row['people']}: {row['condition']}", "talks": "talks", "rooms of different people": "rooms",
        "people who move": estimate("moving"), "agents who move": estimate("run_moving"), "explained": number("explained"),
        "shuffled": number("explained_shuffled"), "p": number("p", 3), "reason if missing": lambda row: row["reason"] or DASH,
    }  # fmt: skip
    return formatting.frame_table(kinds, columns)


PUBLISHED_COLUMNS: Mapping[str, Column] = {
    "kind": "kind", "talks, published": "published_n", "talks": "n", "first step, published": number("published_first", 3),
    "first step": number("first", 3), "last turn, published": number("published_end", 3), "last turn": number("end", 3),
    "right after the talk": number("after", 3),
}  # fmt: skip
