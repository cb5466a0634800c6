"""Answers a survey as a person of whom other answers are known, by the law of position_law.py."""

from __future__ import annotations

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.position_law import known_statement, predicted_agreement
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice


def answer_respondent(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the exact probability of agreement. A question that is not in the oracle's surveys is a named failure.

    Stated answers to other questions than the oracle's own are ignored.
    """
    facts, answers = reading.facts, reading.request.answers
    asked = known_statement(facts.get("question", ""))
    if asked is None or len(answers) != 2:
        return unknown(reading)
    known = [(known_statement(text), answer == answers[0]) for text, answer in facts.get("stated", ())]
    chance = predicted_agreement([(one, agreed) for one, agreed in known if one is not None], asked)
    reply = Reply(None)
    set_choice(reply, reading.request, [chance, 1 - chance])
    return reply
