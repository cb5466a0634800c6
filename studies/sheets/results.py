"""Facts on the results of a run: ratings, missing replies, changes with intervals, comparison with people."""

from __future__ import annotations

import pandas as pd

from parley.agents.topic import load_topic
from parley.analysis.findings import missing_ratings
from parley.analysis.formatting import REFERENCE, count_phrase, format_estimate, format_number
from parley.analysis.metrics import drift
from parley.analysis.statistics.intervals import FEWEST
from parley.analysis.tables import asked_for
from parley.analysis.unknown import unknown_sentence
from parley.llm.errors import UserError
from parley.model.titles import seat_title
from parley.studies.sheets.facts import HEADER, Fact, SheetRun, fact

MOST = 6
"""Up to this number of rows each is in a sheet."""


@fact
def survey(run: SheetRun) -> Fact | None:
    """The survey question and its scale."""
    if run.tables.attitudes.empty:
        return None
    try:
        probe = load_topic(run.tables.topics[0]).probe(str(run.scenario["probe"]))
    except UserError:
        return None
    text = (
        f"Survey question: “{probe.question}”, from {probe.scale.low} to {probe.scale.high}, on an axis from 0 to 10."
    )
    return Fact(text, f"{HEADER}, scenario.probe; tables/attitudes.csv, attitude")


@fact
def start(run: SheetRun) -> Fact | None:
    """The mean attitude of each party before the debates."""
    rows = run.tables.attitudes
    first = rows[(rows["round"] == 0) & rows["attitude"].notna() & (rows["group"] != REFERENCE)]
    if first.empty:
        return None
    means = [
        f"{seat_title(str(party), run.tables.names)} {format_number(mean)} (n = {n} ratings)"
        for party, mean, n in first.groupby("party")["attitude"].agg(["mean", "size"]).itertuples()
    ]
    return Fact(
        f"Mean attitude before the debates, 0 to 10: {'; '.join(means)}.", "tables/attitudes.csv, round 0, attitude"
    )


@fact
def change(run: SheetRun) -> Fact:
    """How far parties moved toward the Default, with intervals over rooms."""
    place = "tables/drift.csv, drift, drift_low, drift_high"
    rows = drift.compute(run.tables)
    with_drift = rows[rows["drift"].notna()] if len(rows) else rows
    if with_drift.empty:
        reasons = rows["reason"].dropna().replace("", None).dropna().unique() if len(rows) else ()
        return Fact(
            unknown_sentence("how far agents moved", "; ".join(reasons) or "the run has no ratings to compare"),
            place,
            known=False,
        )
    parts = [
        f"{seat_title(str(row['party']), run.tables.names)} on {run.tables.title(str(row['topic']))} "
        f"{format_estimate(row['drift'], row['drift_low'], row['drift_high'])} (n = {row['rooms']} rooms)"
        for row in with_drift.head(MOST).to_dict("records")
    ]
    more = f"; {len(with_drift) - MOST} more rows" if len(with_drift) > MOST else ""
    few = (
        (f" With fewer than {FEWEST} rooms, results have no interval and no verdict.")
        if with_drift["drift_low"].isna().any()
        else ""
    )
    return Fact(f"Points moved toward the model's own opinion: {'; '.join(parts)}{more}.{few}", place)


@fact
def missing(run: SheetRun) -> Fact:
    lines, calls = run.tables.utterances, run.tables.calls
    lost = int(asked_for(lines)["text"].isna().sum())
    failed = int(calls["failure"].notna().sum())
    text = f"{missing_ratings(run.tables)} Missing messages: {lost} of {len(lines):,}. Failed calls: {failed} of {len(calls):,}."
    return Fact(text, "tables/attitudes.csv, utterances.csv, reason; tables/calls.csv, failure")


@fact
def finished(run: SheetRun) -> Fact:
    if run.tables.finished:
        return Fact("The run is finished.", "record.jsonl, last line")
    return Fact("The run is unfinished: it was stopped before its last round.", "record.partial.jsonl")


@fact
def expected_answers(run: SheetRun) -> Fact | None:
    """How ratings were read."""
    ways = run.tables.attitudes["how"].value_counts()
    if ways.empty:
        return None
    return Fact(
        f"How ratings were read: {'; '.join(f'{way}: {count:,}' for way, count in ways.items())}.",
        "tables/attitudes.csv, how",
    )


@fact
def human_data(run: SheetRun) -> Fact | None:
    """Whether the run was compared with data of people."""
    path = run.folder / "human" / "human.csv"
    if not path.exists():
        return None
    return Fact(
        f"The run was compared with data of people ({count_phrase(len(pd.read_csv(path)), 'row')}).", "human/human.csv"
    )


@fact
def stochastic(run: SheetRun) -> Fact:
    rooms = run.tables.agents.loc[run.tables.agents["group"] != REFERENCE, "room"].nunique()
    place, number = "tables/agents.csv, room", count_phrase(rooms, "room")
    if run.tables.attitudes.empty or drift.compute(run.tables)["drift_low"].isna().all():
        return Fact(f"The unit of analysis is the room; the run has {number} and no interval.", place)
    return Fact(f"Intervals are over the rooms of a topic and group, not over agents; the run has {number}.", place)
