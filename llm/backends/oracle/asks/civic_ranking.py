"""How would somebody who wrote this rank these statements? By the agreement that the planted law gives for what can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.civic import agreement, read
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import digest

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 0
_KNOWS = re.compile(
    r"^(?:That answer could not be read\. )?A group deliberates in private on a question\b"
    r".*\bRank the statements as this member would\b"
)
_PART = re.compile(r"(?m)^(Question|Opinion|Critique of it|[A-Z]): (.+)$")


def knows(reading: Reading) -> bool:
    return _KNOWS.search(reading.last) is not None


def answer(reading: Reading, oracle: Oracle) -> Reply:
    told = dict(_PART.findall(reading.last))
    question = told.get("Question", "")
    member = read(f"{told.get('Opinion', '')} {told.get('Critique of it', '')}".strip(), question)
    statements = {name: read(text, question) for name, text in told.items() if len(name) == 1}
    stands = member.stance
    scores = {
        name: agreement(stands, sorted(member.values), next(iter(sorted(member.demands)), None), said)
        for name, said in statements.items()
        if stands is not None and said.stance is not None
    }
    if not scores or len(scores) < len(statements):
        return Reply.failed("no_known_sentence", "the opinion or a statement could not be read")
    order = sorted(scores, key=lambda name: (-(scores[name] or 0.0), digest("lot", reading.request.seed, name)))
    return Reply(" > ".join(order))
