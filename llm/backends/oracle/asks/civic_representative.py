"""A representative's question: the critique of a draft by somebody of whom opinions and critiques are shown.

Written by the law of the participants themselves, from what the texts show: position, values, demand and habits of the opinion,
and where it shows none, habits of the critiques on other questions.
"""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.asks.civic_speech import critique, fitted
from parley.llm.backends.oracle.civic import Habit, read, shown
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
WORDS = 75
_KNOWS = re.compile(r"^You stand in for one participant of a group\b")
_LINES = {
    "question": re.compile(r"(?m)^The question that the group discusses now: (.+)$"),
    "opinion": re.compile(r"(?m)^The opinion of the participant: (.+)$"),
    "draft": re.compile(r"(?m)^The draft statement of the group: (.+)$"),
}
_EARLIER = re.compile(r"(?m)^The (?:opinion|critique) of the participant (?:of the draft )?on it: (.+)$")


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.last) is not None and all(line.search(reading.last) for line in _LINES.values())


def answer(reading: Reading, oracle: Oracle) -> Reply:
    told = {name: found[1] for name, line in _LINES.items() if (found := line.search(reading.last))}
    stands, said = read(told["opinion"], told["question"]).stance, read(told["draft"], told["question"])
    if stands is None or said.stance is None:
        return Reply.failed("no_known_sentence", told["opinion" if stands is None else "draft"][:120])
    seed = 0 if reading.greedy else reading.request.seed
    rng = random.Random(derive(seed, told["opinion"], told["draft"]))
    own = habits([told["opinion"], *_EARLIER.findall(reading.last)])
    return Reply(fitted(critique(own, said.stance - stands, said, rng), WORDS))


def habits(texts: list[str]) -> Habit:
    """The habits that texts of one person show, each from the first that shows it; the values are those of the first."""
    every = [shown(text) for text in texts]
    opener, demand, closer = (
        next((getattr(one, name) for one in every if getattr(one, name)), "") for name in ("opener", "demand", "closer")
    )
    return Habit(opener, demand, closer, every[0].values)
