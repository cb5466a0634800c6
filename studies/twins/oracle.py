"""The planted law of twins: how much of a person's history a twin uses, and how far it follows what it hears.

An answer is `(1 - knows) * middle + knows * own`, where `own` is the person's last answer to the same question, else the mean of
its answers, and the middle is 0.5 of the scale. Lines that state a grade of the scale (`Grade 3 of 7`) pull it toward their
mean by the share `follows`. A message repeats the person's last message with the grade of its present answer (`knows` above
0.5), or is the same for all people. With `knows=0` a twin says what a stranger's twin says.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean
from typing import cast

from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.request import Reply, set_choice

from .asking import TwinFacts
from .law import USUAL, TwinLaw

GRADE = re.compile(r"Grade (\d) of 7")
GRADES = 7
WIDTH = 0.12
"""How far from its value, as a share of the scale, an answer still has a probability."""
NO_HISTORY = "I have not made up my mind."


def planted_answer(
    rated: Sequence[tuple[str, float]], lines: Sequence[str], question: str, law: TwinLaw = USUAL
) -> float:
    """Return the answer of a twin, from 0 to 1.

    >>> planted_answer([("Tea?", 1.0), ("Jam?", 0.5)], [], "Bread?", TwinLaw(knows=1.0))
    0.75
    """
    same = [value for topic, value in rated if topic == question]
    own = same[-1] if same else fmean(value for _, value in rated) if rated else 0.5
    value = (1 - law.knows) * 0.5 + law.knows * own
    heard = [grade for line in lines for grade in grades_in(line)]
    return value if not heard else value + law.follows * (fmean(heard) - value)


def grades_in(text: str) -> list[float]:
    """Return the grades that a text states, as shares of the scale.

    >>> grades_in("Grade 4 of 7, I would say.")
    [0.5]
    """
    return [(int(grade) - 1) / (GRADES - 1) for grade in GRADE.findall(text)]


def planted_message(wrote: Sequence[str], value: float, law: TwinLaw = USUAL) -> str:
    """Return the message of a twin whose answer would be `value`."""
    own = GRADE.sub("", wrote[-1]).strip() if wrote and law.knows > 0.5 else NO_HISTORY
    return f"{own} Grade {1 + round(value * (GRADES - 1))} of 7"


def answer_twin(reading: Reading, speaker: Speaker) -> Reply:
    """Answer the closed question of a twin, with its exact distribution."""
    law, facts = speaker.laws.of("twins"), cast(TwinFacts, reading.facts)
    value = planted_answer(facts.get("rated_before", ()), facts.get("lines", ()), facts.get("question", ""), law)
    count = len(reading.request.answers)
    shares = [max(0.0, 1 - abs(place / (count - 1) - value) / max(WIDTH, 1 / (count - 1))) for place in range(count)]
    reply = Reply(None)
    set_choice(reply, reading.request, shares)
    return reply


def write_twin(reading: Reading, speaker: Speaker) -> Reply:
    """Write the next message of a twin."""
    law, facts = speaker.laws.of("twins"), cast(TwinFacts, reading.facts)
    value = planted_answer(facts.get("rated_before", ()), facts.get("lines", ()), facts.get("topic", ""), law)
    return Reply(planted_message(facts.get("wrote", ()), value, law))
