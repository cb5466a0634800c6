"""A judge says which of two critiques a participant would rather have written (the study's Eq 20), asked in both orders.

The same critique in both orders is a verdict; another in the other order is a tie, and ties are kept: half a win each. A reply
that cannot be read is none, with its reason. The judge sees opinion, draft and the participant's critiques on other
questions, not the critique that was really written. Two equal critiques tie without being asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from parley.agents.representative import OTHERS, CritiqueBrief, knowledge_line
from parley.agents.scales import NUMERIC, Scale, read_rating
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.representation import RepresentationCase
from parley.llm.driver import Conversation, ask_all
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive

PROMPTS = Path(__file__).parent / "prompts"
CHOICE = Scale("autorater", NUMERIC, 1, 2, {1: "the first", 2: "the second"})
TOKENS = 8
_LABEL = re.compile(r"^\W*(?:critique|statement)\s+", re.I)
WIN, TIE, LOSS = "win", "tie", "loss"
POINTS = {WIN: 1.0, TIE: 0.5, LOSS: 0.0}


class Verdict(NamedTuple):
    """`found`: win (of ours), tie, loss, or None with the reason."""

    found: str | None
    reason: str = ""


UNASKED = "no statement"
"""How the reason of a verdict that nobody was asked for begins."""


def undecided(verdict: Verdict) -> str | None:
    """Why a judge that was asked gave none; None also where it was not asked."""
    return None if verdict.found or verdict.reason.startswith(UNASKED) else verdict.reason or "empty"


def compare(case: RepresentationCase, ours: str, baseline: str, seed: int) -> Conversation[Verdict]:
    """Ask which of the two is the participant's, ours first and then the baseline first."""
    if knowledge_line(ours) == knowledge_line(baseline):
        return Verdict(TIE)
    pairs = [(ours, baseline), (baseline, ours)]
    replies = yield from ask_all(
        [
            compose(case.brief, *pair, derive(seed, "autorater", case.key, place, *pair))
            for place, pair in enumerate(pairs)
        ]
    )
    return verdict(*replies)


def compose(brief: CritiqueBrief, first: str, second: str, seed: int) -> Request:
    """The question with two critiques in this order."""
    known = [knowledge_line(other.critique) for other in brief.others[:OTHERS] if other.critique]
    earlier = "".join(f"\nOf another draft, on another question, this participant wrote: {text}" for text in known)
    slots = {"question": brief.question.question, "opinion": brief.opinion, "draft": brief.draft}
    told = prompt(PROMPTS, "autorater").fill(
        **{name: knowledge_line(text) for name, text in slots.items()},
        earlier=earlier,
        first=knowledge_line(first),
        second=knowledge_line(second),
    )
    facts: Facts = {
        "issue": knowledge_line(brief.question.question),
        "opinion": knowledge_line(brief.opinion),
        "statement": knowledge_line(brief.draft),
        "earlier": known,
        "candidates": [knowledge_line(first), knowledge_line(second)],
    }
    return Request((Message("user", told),), Sampling(0.0, TOKENS), seed, CHOICE.answers, "authorship", facts=facts)


def verdict(ours_first: Reply, baseline_first: Reply) -> Verdict:
    """What both replies say together.

    >>> verdict(Reply("1"), Reply("2")), verdict(Reply("1"), Reply("1"))
    (Verdict(found='win', reason=''), Verdict(found='tie', reason=''))
    """
    (first, why), (second, why_not) = choice(ours_first), choice(baseline_first)
    if first is None or second is None:
        return Verdict(None, ", ".join(dict.fromkeys(reason for reason in (why, why_not) if reason)))
    ours = {(1.0, 2.0): WIN, (2.0, 1.0): LOSS}
    return Verdict(ours.get((first, second), TIE))


def choice(reply: Reply) -> tuple[float | None, str]:
    """1 or 2, 1.5 when a distribution has both alike; or None and the reason."""
    if reply.failure:
        return None, reply.failure.name
    if reply.answers:
        share = reply.answers["1"]
        return (1.5 if share == 0.5 else 1.0 if share > 0.5 else 2.0), ""
    found = read_rating(_LABEL.sub("", reply.text or ""), CHOICE, "strict")
    return found.value, found.reason or ""


def win_rate(rows: pd.DataFrame) -> ClusteredMean:
    """Wins and half the ties among what was judged. rows: verdict (win, tie, loss, empty), participant."""
    return clustered_mean(rows["verdict"].map(POINTS).astype(float), rows["participant"])


def table(found: Sequence[RepresentationCase], verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    """A row a case: case, participant, verdict, reason."""
    rows = [
        (case.key, case.participant, one.found or "", one.reason) for case in found if (one := verdicts.get(case.key))
    ]
    return pd.DataFrame(rows, columns=["case", "participant", "verdict", "reason"])
