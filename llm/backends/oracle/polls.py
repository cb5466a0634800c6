"""Answers to closed questions of a survey, as a member of a group, by the law of survey_law.py; a persona with sentences on
attributes moves them by that of attribute_law.py.
"""

from __future__ import annotations

from parley.llm.backends.oracle.attributes import kinds_in
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice


def answer_poll(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with an option, and the exact share of each option in the group that the prompt names."""
    facts, answers = reading.facts, reading.request.answers
    choices = facts.get("choices", ())
    if not answers or len(answers) != len(choices) or "question" not in facts:
        return unknown(reading)
    reply = Reply(None)
    laws, question = speaker.laws, facts["question"]
    shares = laws.survey.shares(question, choices, facts.get("group", ""))
    if laws.attributes.effect:
        shares = laws.attributes.move(shares, question, choices, kinds_in(reading.banks, reading.persona))
    set_choice(reply, reading.request, shares)
    return reply
