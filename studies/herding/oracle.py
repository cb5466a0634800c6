"""Choices one after another: the oracle as a person, by the law of law.py, and as a planner, by that of optimum.py.

It reads the prior, the acts, the precision of each signal and its own signal from the facts of the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.request import Reply, set_choice

from .law import A, choice_probability, public_belief
from .optimum import Aim, best_precision

if TYPE_CHECKING:
    from .members import HerdFacts

NEEDED = ("prior", "history", "ties")


def answer_decision(reading: Reading, speaker: Speaker) -> Reply:
    """Answer which option a person chooses, with the exact probability of each."""
    facts, answers = cast("HerdFacts", reading.facts), reading.request.answers
    if len(answers) != 2 or any(name not in facts for name in (*NEEDED, "signal", "precision")):
        return unknown(reading)
    belief = public_belief(facts["prior"], facts["history"], facts["ties"])
    chance = choice_probability(belief, facts["signal"], facts["precision"], facts["ties"], speaker.laws.of("herding"))
    reply = Reply(None)
    set_choice(reply, reading.request, [chance if answer == A else 1 - chance for answer in answers])
    return reply


def answer_precision(reading: Reading, speaker: Speaker) -> Reply:
    """Answer how precise the planner makes the next signal: the optimum, in whole percent."""
    facts = cast("HerdFacts", reading.facts)
    if any(name not in facts for name in (*NEEDED, "levels", "base", "cost", "aim", "left")):
        return unknown(reading)
    belief = public_belief(facts["prior"], facts["history"], facts["ties"])
    aim = Aim(facts["levels"], facts["base"], facts["cost"], facts["aim"], facts["ties"])
    best = best_precision(belief, facts["left"], aim)
    reply = Reply(None)
    set_choice(reply, reading.request, [float(level == best) for level in facts["levels"]])
    return reply
