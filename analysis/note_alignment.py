"""`run.py study judge` with `--notes`: do private notes say what agents think?

An agent with `think=latent` (or bdi) notes its states before it speaks. HumanLM (2026) scores how well such states fit what a
person then says; here the measure is the agent's own private rating in the survey before. The unit is the repetition of a group:
the same people meet on every topic of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from parley.analysis.formatting import Column, estimate, format_estimate
from parley.analysis.judge_quality import on_axis
from parley.analysis.line_gaps import UNIT
from parley.analysis.report import Report
from parley.analysis.statistics.intervals import FEWEST, SCALE, too_few, verdict
from parley.analysis.studies.paired_conditions import mean_row, unit_means
from parley.analysis.tables import Tables
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError
from parley.llm.seeding import derive

NOTES = ("latent", "bdi")
TURN = ["room", "agent", "iteration"]
MEASURES: Mapping[str, str] = {
    "note": "distance of the note from the agent's own rating",
    "line": "distance of the reply after the note from the agent's own rating",
    "stranger": "distance of the note from the rating of a stranger: same topic, party and round, another room",
    "known": "distance of the stranger minus distance of the note: what the note says about the agent beyond the agent's party",
    "closer": "distance of the reply minus distance of the note: how much nearer the note is to the agent's rating",
}
DISTANCES = ("note", "line", "stranger")
ABOUT = (
    "A judge scores the opinion in each note (the stance or belief at its beginning) and in each reply, from 1 to 7 on the "
    "topic's claim. The scores of notes and replies are converted to the topic's axis from 0 to 10 and compared with the "
    "agent's own rating in the survey before. The table shows means over the turns of a room, then over the rooms of a "
    "repetition (in which the same people meet on every topic), then over repetitions. Brackets are 95% intervals over "
    "repetitions. A note that says nothing about its agent beyond the party is as near to a stranger's rating as to the agent's "
    "own rating."
)


def with_notes(tables: Tables) -> Tables:
    """Return the tables with the states of notes in the place of the lines. Errors: UserError if no agent made one."""
    notes = (
        tables.private[tables.private["purpose"].isin(NOTES)].set_index(TURN)["text"].map(stated, na_action="ignore")
    )
    if notes.notna().sum() == 0:
        raise UserError("no agent of this run wrote private notes: run the debates with --set think=latent")
    keys = pd.MultiIndex.from_frame(tables.utterances[TURN])
    noted_lines = tables.utterances[keys.isin(notes.index)]
    return replace(tables, utterances=noted_lines.assign(text=notes.reindex(keys[keys.isin(notes.index)]).to_numpy()))


def stated(note: str) -> str:
    """Return the first state of a note, which is the stance or the belief, without its label.

    >>> stated("Stance: Nothing will change.\\nFeeling: I feel sure.")
    'Nothing will change.'
    """
    first = note.strip().splitlines()[0]
    return first.partition(":")[2].strip() or first


def alignment_table(tables: Tables, notes: pd.DataFrame, lines: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Return one row per turn with a note: room, agent, iteration, topic, UNIT, party, round, own (rating), note, line and
    stranger (distances), known, closer. NaN where a part is missing. notes, lines: verdicts of a judge.
    """
    probe = tables.header.scenario["probe"]
    ratings = tables.attitudes[tables.attitudes["probe"] == probe].set_index(["room", "agent", "round"])["attitude"]
    table = notes[[*TURN, "topic", *UNIT, "party"]].assign(said=on_axis(notes["score"], notes["topic"]))
    rounds = tables.utterances.set_index(TURN)["round"]
    table["round"] = rounds.reindex(pd.MultiIndex.from_frame(table[TURN])).to_numpy()
    before = pd.MultiIndex.from_arrays([table["room"], table["agent"], table["round"] - 1])
    table["own"] = ratings.reindex(before).to_numpy(dtype=float)
    spoken = lines.assign(axis=on_axis(lines["score"], lines["topic"])).set_index(TURN)["axis"]
    table["line"] = (spoken.reindex(pd.MultiIndex.from_frame(table[TURN])).to_numpy(dtype=float) - table["own"]).abs()
    table["note"] = (table["said"] - table["own"]).abs()
    table["stranger"] = (table["said"] - _strangers(table, np.random.default_rng(derive(seed, "strangers")))).abs()
    return table.assign(known=table["stranger"] - table["note"], closer=table["line"] - table["note"])


def _strangers(table: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    """Return for each turn a rating of the same topic, party and round from another room; NaN if there is none."""
    strangers = pd.Series(np.nan, index=table.index)
    for _, alike_turns in table.groupby(["topic", "party", "round"]):
        rooms, own_ratings = alike_turns["room"].to_numpy(), alike_turns["own"].to_numpy(dtype=float)
        for place, room in zip(alike_turns.index, rooms, strict=True):
            others = own_ratings[(rooms != room) & np.isfinite(own_ratings)]
            if len(others):
                strangers[place] = rng.choice(others)
    return strangers


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measure: measure, rooms, repetitions (with a number), missing (turns without it), estimate (points of
    10) with its interval over repetitions.
    """
    rows = []
    for name in MEASURES:
        rooms = table.groupby([*UNIT, "room"])[name].mean().dropna()
        values = unit_means(rooms)
        counts = {"rooms": len(rooms), "repetitions": len(values), "missing": int(table[name].isna().sum())}
        rows.append({"measure": name, **counts, **mean_row(values, bounds=SCALE if name in DISTANCES else None)})
    return pd.DataFrame(rows)


def sentences(table: pd.DataFrame) -> list[str]:
    """Return what the notes know of their agents, and whether they are nearer than the lines."""
    rows = table.set_index("measure")
    phrases = {
        "known": (
            "The notes say more about their agent than its party does",
            "The notes are nearer to the ratings of strangers than to the rating of their own agent",
            "the notes say anything about their agent beyond its party",
        ),
        "closer": (
            "The notes are nearer to the agent's rating than the agent's replies are",
            "The agent's replies are nearer to the agent's rating than the agent's notes are",
            "the notes are nearer to the agent's rating than the agent's replies",
        ),
    }
    lines = []
    for name, (claim, opposite, question) in phrases.items():
        row = rows.loc[name]
        if np.isnan(row["low"]):
            reason = too_few("repetition") if row["repetitions"] < FEWEST else "nothing varies between repetitions"
            lines.append(unknown_sentence(f"whether {question}", reason))
            continue
        value = format_estimate(row["estimate"], row["low"], row["high"])
        start = verdict(row["low"], row["high"], claim, opposite, f"It cannot be shown that {question}")
        lines.append(f"{start}: {value} points.")
    return lines


def write_notes(tables: Tables, notes: pd.DataFrame, lines: pd.DataFrame, folder: Path, spec: str) -> Path:
    """Write notes.md and its tables (note_alignment, notes) into the folder; return the path of the page."""
    table = alignment_table(tables, notes, lines)
    summary_rows = summary(table)
    report = Report(folder, "notes", "Do private notes say what agents think?")
    report.add(ABOUT)
    report.disclaim(tables.header)
    report.disclaim_models(spec)
    report.lines(f"- {line}" for line in sentences(summary_rows))
    columns: Mapping[str, Column] = {
        "measure": lambda row: MEASURES[str(row["measure"])], "rooms": "rooms", "repetitions": "repetitions",
        "turns left out": "missing", "points (of 10)": estimate("estimate"),
    }  # fmt: skip
    report.table(summary_rows, columns)
    report.data(note_alignment=summary_rows, notes=table)
    return report.write()
