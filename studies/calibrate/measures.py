"""Check the instruments: speakers with a known bias debate, and the analysis looks for the values that were planted.

Every speaker runs the same debates (same people, same seats, same seed). From each record
`analysis.influence_model.recover_parameters` fits the law that the speakers follow or were trained on:
a <- a + kappa * (g - a) + mu * (bias - a) for every line of grade g that an agent hears.

    oracle                the rule-based speaker: an instrument that does not find its parameters is broken
    oracle,kappa=0,mu=0   the same without influence and drift: there is nothing to find
    pocket                the small model that comes with Parley, trained on sentences of the oracle
    pocket:control        its control, trained on an oracle without influence and drift

For the pocket models, "planted" are the values they were trained on. Where the instruments find the oracle's own values, a
difference in the pocket rows is a property of the model.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from parley.agents.society import Society
from parley.agents.topic import load_topic
from parley.analysis.figures import make_canvas, style
from parley.analysis.formatting import format_estimate, format_number
from parley.analysis.influence_model import ALL, CLOSED, NAMES, recover_parameters
from parley.analysis.report import Report
from parley.analysis.tables import Tables
from parley.llm.backends import in_society, topics_of
from parley.llm.backends.oracle.dynamics import Parameters, planted
from parley.llm.backends.oracle.phrases import topic_bank
from parley.llm.errors import unknown_name
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases

COLOURS = ("#555555", "#999999", "#1f5fa8", "#c77b00")
LIMITS = {"kappa": (-0.05, 0.15), "mu": (-0.05, 0.15), "bias": (0.0, 10.0)}
NOTE = (
    "The oracle rows check the analysis: if a planted value is outside its interval in an oracle row, the analysis has an "
    "error. The pocket rows show how much of the oracle's planted bias the model pocket learned. No row says anything about "
    "people or about large language models."
)

NONE_IN_COMMON = (
    "Some people are more stubborn than others by design, so no single planted value describes all people: compare the values "
    "by party."
)
PEOPLE_DIFFER = (
    "people differ, so one fit to all people does not give their average. Per message read, influence and drift close a share "
    "of the distances: {closed}."
)
NO_DIFFERENCE = "no difference between parties was found in how far a message moves people."

PROBE = "attitude_labelled"
SETTINGS = {"repetitions": 40, "rounds": 5}
"""Settings of the three-way debate, unless the options name others."""
MEANING = {
    "kappa": "influence: share of the distance to a message that an agent moves when it reads the message",
    "mu": "drift rate: share of the distance to its own bias that an agent moves per message",
    "bias": "rating toward which agents drift (missing without drift)",
}


@dataclass(frozen=True)
class Known:
    """A speaker with a planted law: its spec, its title, and the parameters that differ from every topic's own."""

    spec: str
    title: str
    changes: tuple[tuple[str, float], ...] = ()

    @property
    def kind(self) -> str:
        """`oracle` or `pocket`, for the speaker itself and for its control."""
        return self.title.split(",")[0]


STILL = (("kappa", 0.0), ("mu", 0.0))
SPEAKERS = (
    Known("oracle", "oracle"),
    Known("oracle,kappa=0,mu=0", "oracle, control", STILL),
    Known("pocket", "pocket"),
    Known("pocket:control", "pocket, control", STILL),
)


def chosen(names: Sequence[str]) -> tuple[Known, ...]:
    """Return the speakers `oracle`, `pocket` (no name: both), each with its control. Errors: UserError on another name."""
    kinds = list(dict.fromkeys(speaker.kind for speaker in SPEAKERS))
    for name in names:
        if name not in kinds:
            raise unknown_name("speaker of a known bias", name, kinds)
    return tuple(speaker for speaker in SPEAKERS if speaker.kind in (names or kinds))


def able(speakers: Sequence[Known], base: Scenario) -> tuple[Known, ...]:
    """Return the speakers that know all topics of the debates."""
    topics = {topic.root for topic in base.subject.all_topics}
    known_topics = [topics_of(in_society(speaker.spec, base.subject.society)) for speaker in speakers]
    return tuple(
        speaker
        for speaker, speaker_topics in zip(speakers, known_topics, strict=True)
        if speaker_topics is None or topics <= {*speaker_topics}
    )


def calibrate(base: Scenario, speakers: Sequence[Known] = SPEAKERS) -> Generator[Scenario, Tables, pd.DataFrame]:
    """Yield one scenario per speaker, receive the tables of its run, return the estimates over all agents and by party.

    Columns: speaker, topic, party (ALL: one fit over all agents), parameter (kappa, mu, bias; by party also CLOSED), planted
    (NaN: without a pull there is no bias, and people of different stubbornness have no planted value in common), estimate, low,
    high (95%), covered (is the planted value in the interval?), differs (by party: whether parties were found to move
    differently on the topic), rooms, graded (share of lines that have a grade). Errors: UserError of `recover_parameters`.
    """
    parts = []
    for speaker in speakers:
        tables = yield base.with_settings({"llm": speaker.spec, "probe": PROBE, "survey": "rounds"})
        rows = pd.concat(
            [recover_parameters(tables, _grade, by_party) for by_party in (False, True)], ignore_index=True
        )
        truth, seats = planted(dict(speaker.changes), base.subject.society), tuple(tables.attitudes["party"].unique())
        rows["planted"] = [
            math.nan if name == "bias" and speaker.changes == STILL else planted_value(truth[topic], name, party, seats)
            for topic, party, name in zip(rows["topic"], rows["party"], rows["parameter"], strict=True)
        ]
        inside = rows["planted"].between(rows["low"], rows["high"])
        rows["covered"] = inside & rows["estimate"].notna()  # an infinite interval contains everything and says nothing
        spoken = tables.utterances.dropna(subset="text")
        graded = np.mean([_grade(*line) is not None for line in zip(spoken["topic"], spoken["text"], strict=True)])
        parts.append(rows.assign(speaker=speaker.title, graded=float(graded)))
    columns = [
        "speaker",
        "topic",
        "party",
        "parameter",
        "planted",
        "estimate",
        "low",
        "high",
        "covered",
        "differs",
        "rooms",
    ]
    return pd.concat(parts, ignore_index=True)[[*columns, "graded"]]


def planted_value(law: Parameters, name: str, party: str, seats: Sequence[str]) -> float:
    """Return what a fit over a party, or over ALL of these parties, should find; NaN where they have no value in common.

    A stubborn person moves less by influence and by pull alike, toward the same level.
    """
    moves = {1 - law.stays(seat) for seat in (seats if party == ALL else (party,))}
    if len(moves) > 1 and (law.kappa or law.mu):
        return math.nan
    if name == "bias":
        return law.bias
    return moves.pop() * (law.kappa + law.mu if name == CLOSED else float(getattr(law, name)))


def _grade(topic: str, text: str) -> float | None:
    bank = topic_bank(topic)
    return bank.grade(text) if bank else None


def write(estimates: pd.DataFrame, folder: Path, base: Scenario) -> Path:
    """Write calibration.md, its table and its figure; return the path of the page."""
    report = Report(folder, "calibration", "Calibration: planted and measured values")
    report.data(calibration=estimates)
    report.add(
        f"Three-way debates, {base.repetitions} rooms per topic, {base.rounds} rounds, seed {base.seed}, the same personas for "
        "every speaker. The fitted model (analysis/influence_model.py) changes an agent's attitude a after every message that "
        "the agent reads, where g is the opinion of the message: a ← a + kappa (g − a) + mu (bias − a). Brackets are 95% "
        "confidence intervals over rooms."
    )
    report.lines(f"- **{name}**: {meaning}" for name, meaning in MEANING.items())
    report.figure(forest(estimates, base), "calibration", "Planted and measured")
    for speaker, rows in estimates.groupby("speaker", sort=False):
        whole, parts = rows[rows["party"] == ALL], rows[rows["party"] != ALL]
        graded = f"{rows['graded'].iloc[0]:.0%} of the messages have a known opinion (grade)."
        report.section(str(speaker), f"{_hits(whole)} {graded}")
        report.table(*_table(whole, base.society))
        report.add(f"**By party.** {_hits(parts)}")
        report.lines([f"- {line}" for line in _differences(parts, base.society)])
        report.table(*_table(parts, base.society))
    report.add(NOTE)
    return report.write()


def _hits(rows: pd.DataFrame) -> str:
    """Return how many intervals contain the planted value; or why there is none."""
    planted_rows = rows[rows["parameter"].isin(NAMES)].dropna(subset="planted")
    if planted_rows.empty:
        return NONE_IN_COMMON
    return f"{int(planted_rows['covered'].sum())} of {len(planted_rows)} intervals contain the planted value."


def _differences(rows: pd.DataFrame, society: Society) -> Iterator[str]:
    """Yield a sentence per topic: how much of its distances each party closes per line heard, and whether parties differ."""
    for topic, topic_rows in rows[rows["parameter"] == CLOSED].groupby("topic", sort=False):
        if topic_rows["differs"].iloc[0]:
            estimated = topic_rows.dropna(subset="estimate")
            closed = [f"{society.plural(row.party)} {row.estimate:.1%}" for row in estimated.itertuples()]
            yield f"{load_topic(str(topic)).title}: {PEOPLE_DIFFER.format(closed=join_phrases(closed))}"
        else:
            yield f"{load_topic(str(topic)).title}: {NO_DIFFERENCE}"


def _table(rows: pd.DataFrame, society: Society) -> tuple[list[list[str]], list[str]]:
    cells, by_party = [], bool((rows["party"] != ALL).any())
    for (topic, party), party_rows in rows.groupby(["topic", "party"], sort=False):
        cells.append([load_topic(topic).title, *([society.plural(party)] if by_party else [])])
        for name, row in party_rows.set_index("parameter").loc[list(NAMES)].iterrows():
            digits = 2 if name == "bias" else 3
            measured = format_estimate(row["estimate"], row["low"], row["high"], digits)
            cells[-1] += [format_number(row["planted"], digits), measured]
    heads = [head for name in NAMES for head in (f"{name} planted", "measured")]
    return cells, ["topic", *["party"] * by_party, *heads]


def forest(estimates: pd.DataFrame, base: Scenario) -> Figure:
    """Draw one panel per parameter: intervals by speaker and topic, the planted value as a cross.

    Where people of different stubbornness have no planted value in common, there is an interval for each party.
    """
    whole = estimates["party"] == ALL
    apart = set(estimates[whole & estimates["planted"].isna() & (estimates["parameter"] != "bias")]["topic"])
    chosen = whole != estimates["topic"].isin(apart)
    estimates = estimates[chosen & estimates["parameter"].isin(NAMES)]
    with style():
        figure = make_canvas(7.0, 0.5 + 0.16 * len(estimates) / len(NAMES) + 0.6)
        axes = figure.subplots(1, len(NAMES), sharey=True)
        for axis, name in zip(axes, NAMES, strict=True):
            _panel(axis, estimates[estimates["parameter"] == name], name, base.society)
        title = f"Planted (cross) and measured (95% interval): {base.repetitions} rooms per topic, seed {base.seed}"
        figure.suptitle(title, fontsize=8)
        figure.tight_layout()
    return figure


def _panel(axis: Axes, rows: pd.DataFrame, name: str, society: Society) -> None:
    low_end, high_end = LIMITS[name]
    speakers, records = list(rows["speaker"].unique()), rows.to_dict("records")
    for place, row in enumerate(records):
        colour = COLOURS[speakers.index(row["speaker"]) % len(COLOURS)]
        if pd.notna(row["estimate"]):
            ends = max(row["low"], low_end), min(row["high"], high_end)
            axis.plot(ends, (place, place), color=colour, linewidth=1.2)
            axis.plot(row["estimate"], place, "o", color=colour, markersize=3)
        if pd.notna(row["planted"]):
            axis.plot(row["planted"], place, "x", color="black", markersize=4)
    axis.set_xlim(low_end, high_end)
    axis.set_title(name)
    of = ["" if row["party"] == ALL else f", {society.plural(row['party'])}" for row in records]
    labels = [f"{row['speaker']}: {load_topic(row['topic']).title}{who}" for row, who in zip(records, of, strict=True)]
    axis.set_yticks(range(len(rows)), labels, fontsize=6)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.grid(axis="x", color="#e3e3e3", linewidth=0.5)
