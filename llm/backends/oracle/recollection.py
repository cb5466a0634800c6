"""Plans, and what the speaker recalls of its life: exactly what its prompt holds. A judge of what others recall.

What it should recall and what its prompt does not hold it declines, so its recall is known from its prompt.

How the speaker fares: worry about money, low spirits, leaving home. Each answers to news of one kind, by a planted size.

The rating starts at a whole point from 3 to 7 that depends on the persona. News is read in what others said, by the patterns
[events] of language.toml:

    money_worry   falls by `events` points once a monthly payment to all is announced
    low_spirits   falls by half of that
    mobility      falls by `events` points while the last news on a storm says to stay inside
"""

from __future__ import annotations

import json
import re

from parley.llm.backends.oracle import surveys
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.self_questions import decline
from parley.llm.backends.oracle.stance import FIRM, intention, standing, unknown
from parley.llm.backends.oracle.surveys import nearest_point, nearest_shares, pick
from parley.llm.request import Reply
from parley.llm.seeding import stream

SIZES = {"money_worry": 1.0, "low_spirits": 0.5, "mobility": 1.0}
"""By construct, the size of its answer to news, as a share of `events`."""
LOWEST, HIGHEST = 3, 7


def answer_survey(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a rating of how the speaker fares, and its exact distribution; any other survey question as in surveys.py."""
    if reading.facts.get("construct") not in SIZES:
        return surveys.answer_survey(reading, speaker)
    scale, construct = reading.facts.get("scale"), reading.facts.get("construct", "")
    if scale is None:
        return unknown(reading)
    start = stream(0, reading.persona, construct).randint(LOWEST, HIGHEST)
    moved = start - SIZES[construct] * speaker.laws.events * _holds(reading, construct)
    value = scale.low + min(max(moved, 0.0), 10.0) / 10 * (scale.high - scale.low)
    return pick(reading, nearest_shares(scale, value), str, reading.ask, value)


def _holds(reading: Reading, construct: str) -> bool:
    """Whether news that matters to this construct was heard, and is not over."""
    patterns = reading.banks.data("language")["events"]
    begins, ends = ("danger", patterns["over"]) if construct == "mobility" else ("payment", "")
    holds = False
    for _, text in reading.heard:
        if re.search(patterns[begins], text, re.I):
            holds = True
        elif ends and re.search(ends, text, re.I):
            holds = False
    return holds


def answer_plan(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a plan: its stance, what it wants by its conviction, and whom it will answer."""
    if (own_standing := standing(reading, speaker)) is None:
        return unknown(reading)
    desire = reading.banks.data("language")["notes"]["convince" if own_standing.conviction >= FIRM else "learn"]
    return Reply(f"{own_standing.line} {desire} {intention(reading, own_standing)}", notes=own_standing.notes)


def answer_interview(reading: Reading, speaker: Speaker) -> Reply:
    """Answer what is to be recalled from the prompt, or any other question of an interview."""
    about = reading.facts.get("about")
    if about is None:
        return surveys.answer_interview(reading, speaker)
    return Reply(text) if (text := _recalled(reading, about)) else decline(reading)


def _recalled(reading: Reading, about: str) -> str:
    """Return what the prompt has about something; of several own lines, or lines of the speaker in question, the first."""
    facts, question = reading.facts, reading.question
    sources = {
        "self": [reading.persona],
        "said": [*facts.get("remembered", ()), *reading.own],
        "heard": [text for name, text in reading.heard if re.search(rf"\b{re.escape(name)}\b", question)],
        "plan": [facts.get("plan", "")],
        "insight": [" ".join(facts.get("insights", ()))],
    }
    return next(iter(sources.get(about, ())), "")


def answer_embedding(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the embedding of a text: its grade on each topic as shares of the eleven points, so that sentences of one
    opinion have the same embedding, whatever their words. A text with no known sentence has none.
    """
    vector: list[float] = []
    for bank in reading.banks.topics.values():
        grade = bank.grade(reading.last)
        vector += [0.0 if grade is None else max(0.0, 1 - abs(grade - point)) for point in range(11)]
    return Reply(json.dumps(vector)) if any(vector) else Reply.failed("no_known_sentence", reading.last[:120])


def judge_recall(reading: Reading, speaker: Speaker) -> Reply:
    """How much of the truth does an answer recall? The share of the truth's sentences that the answer has word by word."""
    truth, scale = sentences(reading.facts.get("truth", "")), reading.facts.get("scale")
    if scale is None:
        return unknown(reading)
    answer_sentences = set(sentences(reading.facts.get("statement", "")))
    share = sum(sentence in answer_sentences for sentence in truth) / len(truth)
    return nearest_point(reading, scale, scale.low + share * (scale.high - scale.low))
