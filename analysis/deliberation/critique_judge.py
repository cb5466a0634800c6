"""A judge says which of two critiques a participant would rather have written (the study's Eq 20), asked in both orders.

The same critique in both orders is a verdict; another in the other order is a tie, and ties are kept: half a win each. A reply
that cannot be read is none, with its reason. The judge sees opinion, draft and the participant's critiques on other
questions, not the critique that was really written. Two equal critiques tie without being asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from parley.agents.representative import OTHERS
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.representation import RepresentationCase
from parley.analysis.judging import PREFERRED, REJECTED, TIED, Item, Verdict, judge_item, load_rubric, one_line
from parley.llm.driver import Conversation

RUBRIC = load_rubric("autorater")
WIN, TIE, LOSS = "win", "tie", "loss"
POINTS = {WIN: PREFERRED, TIE: TIED, LOSS: REJECTED}


def compare(case: RepresentationCase, ours: str, baseline: str, seed: int) -> Conversation[Verdict]:
    """Ask which of the two is the participant's, ours first and then the baseline first."""
    brief = case.brief
    known = [one_line(other.critique) for other in brief.others[:OTHERS] if other.critique]
    earlier = "".join(f"\nOf another draft, on another question, this participant wrote: {text}" for text in known)
    slots = {"issue": brief.question.question, "opinion": brief.opinion, "statement": brief.draft}
    filled = {name: one_line(text) for name, text in slots.items()} | {"earlier": earlier}
    return judge_item(RUBRIC, Item((case.key,), filled, pair=(ours, baseline), facts={"earlier": known}), seed)


def outcome(verdict: Verdict) -> str:
    """Win (of ours), tie or loss; empty where the verdict is missing."""
    return next((word for word, points in POINTS.items() if points == verdict.value), "")


def win_rate(rows: pd.DataFrame) -> ClusteredMean:
    """Wins and half the ties among what was judged. rows: verdict (win, tie, loss, empty), participant."""
    return clustered_mean(rows["verdict"].map(POINTS).astype(float), rows["participant"])


def table(found: Sequence[RepresentationCase], verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    """A row a case: case, participant, verdict, reason."""
    rows = [(case.key, case.participant, outcome(one), one.reason) for case in found if (one := verdicts.get(case.key))]
    return pd.DataFrame(rows, columns=["case", "participant", "verdict", "reason"])
