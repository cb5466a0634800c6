"""Plans, and what the speaker recalls of its life: exactly what its prompt holds. A judge of what others recall.

What it should recall and what its prompt does not hold it declines, so its recall is known from its prompt.
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
from parley.llm.request import Reply


def answer_plan(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a plan: its stance, what it wants by its conviction, and whom it will answer."""
    own = standing(reading, speaker)
    if own is None:
        return unknown(reading)
    desire = reading.banks.data("language")["notes"]["convince" if own.conviction >= FIRM else "learn"]
    return Reply(f"{own.line} {desire} {intention(reading, own)}", notes=own.notes)


def answer_interview(reading: Reading, speaker: Speaker) -> Reply:
    """Answer what is to be recalled from the prompt, or any other question of an interview."""
    about = reading.facts.get("about")
    if about is None:
        return surveys.answer_interview(reading, speaker)
    return Reply(text) if (text := _recalled(reading, about)) else decline(reading)


def _recalled(reading: Reading, about: str) -> str:
    """Return what the prompt has about something; of several own lines, or lines of the speaker in question, the first."""
    facts, asked = reading.facts, reading.question
    known = {
        "self": [reading.persona],
        "said": [*facts.get("remembered", ()), *reading.own],
        "heard": [text for name, text in reading.heard if re.search(rf"\b{re.escape(name)}\b", asked)],
        "plan": [facts.get("plan", "")],
        "insight": [" ".join(facts.get("insights", ()))],
    }
    return next(iter(known.get(about, ())), "")


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
    said = set(sentences(reading.facts.get("statement", "")))
    share = sum(sentence in said for sentence in truth) / len(truth)
    shares = surveys.nearest_shares(scale, scale.low + share * (scale.high - scale.low))
    allowed = reading.request.answers
    answers = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(str(max(shares, key=shares.__getitem__)), answers=answers)
