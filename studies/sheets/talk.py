"""Facts on what agents were sent and what they say. Prompts are derived from record and journal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from parley.agents.claim_questions import GUESSES, OPTIONS, RIGHT
from parley.agents.probe import Probe
from parley.agents.topic import load_topic
from parley.analysis.formatting import count_phrase, strip_controls
from parley.analysis.tables import asked_for
from parley.analysis.unknown import unknown_sentence
from parley.llm.request import Request
from parley.model.sent_requests import Exchange
from parley.studies.sheets.facts import Fact, SheetRun, fact

HINTS = re.compile(
    r"\b(experiment\w*|hypothes\w+|simulat\w+|stud(?:y|ies|ie|ien)\b|research\w*|forschung\w*|versuch\b|étude\b|estudio\b)",
    re.I,
)
"""Words of a prompt that tell an agent that it is studied, in English, German, French and Spanish."""
QUOTED = 160
MOST = 500
"""Up to this number of prompts is searched for earlier lines, evenly over the run."""
PLACE = "record.jsonl and journal.sqlite (run.py show)"
SPEECH = "speech"


@fact
def talk(run: SheetRun) -> Fact | None:
    """How many lines agents said, and how many another agent could hear."""
    lines = run.tables.utterances
    if lines.empty:
        return None
    missing = int(asked_for(lines)["text"].isna().sum())
    rooms = run.tables.agents.groupby("room")["agent"].nunique()
    alone = int((lines["room"].map(rooms) < 2).sum())
    text = f"{count_phrase(len(lines), 'message')}, {missing} missing; {alone} said in a room with no other agent."
    return Fact(text, "tables/utterances.csv, text, reason")


@fact
def heard(run: SheetRun) -> Fact | None:
    """Lines that agents of a network heard."""
    rows = run.tables.heard
    if rows.empty:
        return None
    mean = len(rows) / max(run.tables.utterances["iteration"].count(), 1)
    return Fact(f"A message was read by {mean:.1f} agents on average ({len(rows):,} times in all).", "tables/heard.csv")


@fact
def remembered(run: SheetRun) -> Fact:
    """In how many prompts for a line an earlier line of another agent of the room appears; and, as a control, of another room."""
    if isinstance(run.prompts, str):
        return Fact(unknown_sentence("whether prompts contain earlier messages", run.prompts), PLACE, known=False)
    prompts = [exchange for exchange in run.prompts if exchange.call.purpose == SPEECH and exchange.call.round > 1]
    if not prompts:
        why = "no agent spoke after round 1"
        return Fact(unknown_sentence("whether prompts contain earlier messages", why), PLACE, known=False)
    spoken = run.tables.utterances.dropna(subset=["text"])
    lines = {
        key: list(rows[["agent", "round", "text"]].itertuples(index=False)) for key, rows in spoken.groupby("room")
    }
    after = dict(zip(lines, [*list(lines)[1:], *list(lines)[:1]], strict=True))
    looked = prompts[:: -(-len(prompts) // MOST)]
    own_count = sum(_holds(exchange, lines.get(exchange.call.room, ())) for exchange in looked)
    what = "Prompts after round 1 that contain an earlier message of another agent word for word"
    text = f"{what}: {own_count:,} of {len(looked):,}"
    if len(lines) < 2:
        return Fact(f"{text} (with one room there is no control).", PLACE)
    other = sum(_holds(exchange, lines.get(after.get(exchange.call.room, ""), ())) for exchange in looked)
    return Fact(f"{text}; as a control, an earlier message of another room: {other:,}.", PLACE)


def _holds(exchange: Exchange, lines: Sequence[Any]) -> bool:
    """Return whether a prompt holds a line that another agent said in the round before."""
    text, now = _text(exchange.request), exchange.call.round
    return any(row.text in text for row in lines if row.agent != exchange.call.agent and row.round == now - 1)


@fact
def hints(run: SheetRun) -> Fact:
    """How many prompts say that agents are studied."""
    if isinstance(run.prompts, str):
        return Fact(unknown_sentence("whether prompts say that agents are studied", run.prompts), PLACE, known=False)
    hint_words = [match[0].lower() for exchange in run.prompts if (match := HINTS.search(_text(exchange.request)))]
    words = f" ({', '.join(sorted(set(hint_words)))})" if hint_words else ""
    text = f"Prompts with a word such as experiment, study or hypothesis: {len(hint_words):,} of {len(run.prompts):,}{words}."
    return Fact(text, PLACE)


@fact
def guessed(run: SheetRun) -> Fact | None:
    """What agents answered when they were asked what is studied, and which change the researchers expect."""
    texts = []
    for name in GUESSES:
        rows = run.tables.probes[run.tables.probes["probe"] == name]
        probes = {topic: load_topic(str(topic)).probe(name) for topic in rows["topic"].unique()}
        questions = rows["topic"].map({topic: probe.question for topic, probe in probes.items()})
        texts += [
            _guesses(question_rows, probes[question_rows["topic"].iloc[0]])
            for _, question_rows in rows.groupby(questions, sort=False)
        ]
    return Fact(" ".join(texts), "tables/probes.csv, rating") if texts else None


def _guesses(rows: pd.DataFrame, probe: Probe) -> str:
    """Return how many agents gave each answer to a question at the end. rows: of this question, on one topic or several."""
    counts = rows["rating"].value_counts()
    given = [f"{label}: {int(counts.get(point, 0))}" for point, label in probe.scale.labels.items()]
    missing = f"; {int(rows['rating'].isna().sum())} did not answer" if rows["rating"].isna().any() else ""
    right = ""
    if probe.name == GUESSES[0]:
        right = (
            f" The right answer is {probe.scale.labels[RIGHT]}; {1 / OPTIONS:.0%} are expected to choose it by chance."
        )
    return f"{probe.question} {len(rows)} agents: {', '.join(given)}{missing}.{right}"


@fact
def example(run: SheetRun) -> Fact | None:
    """The end of one prompt for a line."""
    if isinstance(run.prompts, str):
        return None
    speech_prompts = [exchange for exchange in run.prompts if exchange.call.purpose == SPEECH]
    if not speech_prompts:
        return None
    text = strip_controls(_text(speech_prompts[0].request))
    return Fact(f"A prompt for a message ends: “…{text[-QUOTED:]}”", PLACE)


def _text(request: Request | None) -> str:
    return "\n".join(message.content for message in request.messages) if request else ""
