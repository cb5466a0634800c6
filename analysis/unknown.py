"""That something is not known, and why, as one sentence. Tables name a reason in few words; here it becomes a clause."""

from __future__ import annotations

import re

CLAUSES = {
    "no variation": "nothing varies",
    "no interval": "there is no interval",
    "no movement to share": "no movement is distinguishable from zero",
    "no pairs that both have": "there are no pairs that both have",
    "not asked": "it was not asked",
    "all agents alike": "all agents have the same opinion",
    "starts at the Default's first rating": "opinions start at the Default's first rating",
    "whether it starts above or below the Default's first rating is unknown": (
        "it is uncertain whether opinions start above or below the Default's first rating"
    ),
    "fewer than 2 rated": "fewer than 2 agents were rated",
    "not two parties": "there are not two parties",
    "posts were not shown": "no post was shown",
    "one person only": "there is only one person",
    "one block only": "all agents are in one block",
}
"""Reasons of tables that are no clause, and what they are within a sentence."""
FEWER = re.compile(r"fewer than [\d,.]+ (?:\w+ )?\w+s|fewer than [\d,.]+ people(?: with \w+ \w+)?")
"""A reason that is a number of units alone, which leads the sentence."""
FEW = re.compile(r"(?:too few|fewer than) ")
VERB = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|could|cannot|answered|compared|differs?|vary|varies|made|guess|agree)\b"
)
UNEQUAL = "too unequal: "
LABEL = re.compile(r"^[a-z_]+: (?=[a-z])")
"""The column of a reason, as in `bimodality: fewer than 4 rated`."""


def unknown_sentence(what: str, reason: str | None, be: str = "is") -> str:
    """Return the sentence that something is not known, and why.

    what: a question that begins in lower case, such as `whether agents agree`, or what has no value, such as `the share`.
    be: the verb after what has no value.

    >>> unknown_sentence("whether opinions spread", "fewer than 5 rooms")
    'With fewer than 5 rooms, it is unknown whether opinions spread.'
    >>> unknown_sentence("the share", "no variation; no agent spoke")
    'The share is unknown, because nothing varies, and no agent spoke.'
    """
    asked = re.match(r"(?:whether|what|which|how|on which)\b", what)
    said = f"it is unknown {what}" if asked else f"{what} {be} unknown"
    reasons = [part for part in (reason or "no interval").rstrip(".").split("; ") if part]
    if len(reasons) == 1 and FEWER.fullmatch(reasons[0]):
        return f"With {reasons[0]}, {said}."
    return f"{said[0].upper()}{said[1:]}, because {', and '.join(map(clause, reasons))}."


def clause(reason: str) -> str:
    """Return a reason as a clause.

    >>> clause("fewer than 5 rooms"), clause("too unequal: one room of 9 has 90% of the rows")
    ('there are fewer than 5 rooms', 'one room of 9 has 90% of the rows')
    """
    reason = LABEL.sub("", reason.removeprefix(UNEQUAL))
    reason = reason if reason in CLAUSES else reason.replace("no variation", CLAUSES["no variation"])
    if reason in CLAUSES:
        return CLAUSES[reason]
    if FEWER.fullmatch(reason) or (FEW.match(reason) and not VERB.search(reason)):
        return f"there are {reason}"
    return reason
