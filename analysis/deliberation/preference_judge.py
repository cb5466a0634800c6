"""A judge says which of two critiques a participant would rather have written (the study's Eq 20), asked in both orders.

The same critique in both orders is a verdict; another in the other order is a tie, and ties are kept: half a win each. A reply
that cannot be read is none, with its reason. The judge sees opinion, draft and the participant's critiques on other
questions, not the critique that was really written. Two equal critiques tie without being asked.

A judge says which of two statements a participant would rather agree with (the study's Eq 22), asked in both orders.

The statement of a group with representatives against that of the same group without them, re-simulated with our mediator (the
golden baseline): for each of those substituted, from the opinion that the participant wrote. Verdicts and ties are those of
critique_judge.py. The equation itself is missing in the text; that those substituted are asked about, as in Eq 21, is ours. Two
re-simulations of the same people have a rate of 0.5 but for chance: below that, representatives cost the people something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from parley.agents.mediators.base import Statement
from parley.agents.representative import OTHERS
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.representation import RepresentationCase
from parley.analysis.deliberation.substitution import REGIMES, TRUE, Statements, substituted
from parley.analysis.judging import PREFERRED, REJECTED, TIED, Item, Verdict, judge_item, load_rubric, missing, one_line
from parley.llm.driver import Conversation

CRITIQUE_RUBRIC = load_rubric("autorater")
WIN, TIE, LOSS = "win", "tie", "loss"
POINTS = {WIN: PREFERRED, TIE: TIED, LOSS: REJECTED}


def compare_critiques(case: RepresentationCase, ours: str, baseline: str, seed: int) -> Conversation[Verdict]:
    """Ask which of the two is the participant's, ours first and then the baseline first."""
    brief = case.brief
    known = [one_line(other.critique) for other in brief.others[:OTHERS] if other.critique]
    earlier = "".join(f"\nOf another draft, on another question, this participant wrote: {text}" for text in known)
    slots = {"issue": brief.question.question, "opinion": brief.opinion, "statement": brief.draft}
    filled = {name: one_line(text) for name, text in slots.items()} | {"earlier": earlier}
    return judge_item(CRITIQUE_RUBRIC, Item((case.key,), filled, pair=(ours, baseline), facts={"earlier": known}), seed)


def outcome(verdict: Verdict) -> str:
    """Win (of ours), tie or loss; empty where the verdict is missing."""
    return next((word for word, points in POINTS.items() if points == verdict.value), "")


def win_rate(rows: pd.DataFrame) -> ClusteredMean:
    """Wins and half the ties among what was judged. rows: verdict (win, tie, loss, empty), participant."""
    return clustered_mean(rows["verdict"].map(POINTS).astype(float), rows["participant"])


def critique_table(found: Sequence[RepresentationCase], verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    """A row a case: case, participant, verdict, reason."""
    rows = [(case.key, case.participant, outcome(one), one.reason) for case in found if (one := verdicts.get(case.key))]
    return pd.DataFrame(rows, columns=["case", "participant", "verdict", "reason"])


STATEMENT_RUBRIC = load_rubric("preferred")
COLUMNS = ["episode", "session", "participant", "regime", "number", "verdict", "reason"]


class Pair(NamedTuple):
    """Two statements and a participant: `ours` of a profile with representatives, `baseline` of the true one."""

    episode: Episode
    voice: Voice
    regime: str
    number: int
    ours: Statement
    baseline: Statement


def statement_pairs(told: Statements) -> list[Pair]:
    """For everybody who is substituted in a profile, its statement and that of the true profile, the same repetition."""
    true = {(one.id, profile.number): said for one, profile, said in told if profile.regime == TRUE}
    return [
        Pair(one, voice, profile.regime, profile.number, said, true[one.id, profile.number])
        for one, profile, said in told
        if profile.regime != TRUE
        for voice in one.voices
        if voice.participant in substituted(one, profile)
    ]


def compare_statements(pair: Pair, seed: int) -> Conversation[Verdict]:
    """Ask which of the two the participant would rather agree with, ours first and then the baseline first."""
    return judge_item(STATEMENT_RUBRIC, pair_item(pair), seed)


def pair_item(pair: Pair) -> Item | Verdict:
    """The question about two statements; where one is lacking there is nothing to ask."""
    ours, baseline = pair.ours.text, pair.baseline.text
    if ours is None or baseline is None:
        return missing(f"no statement ({(pair.baseline if ours else pair.ours).reason})")
    slots = {"issue": one_line(pair.episode.question.question), "opinion": one_line(pair.voice.opinion or "")}
    return Item((pair.episode.id, pair.voice.participant), slots, pair=(ours, baseline))


def statement_table(asked: Sequence[Pair], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """A row a comparison: COLUMNS; verdict win (of ours), tie, loss or empty."""
    rows = [
        (
            one.episode.id,
            one.episode.session,
            one.voice.participant,
            one.regime,
            one.number,
            outcome(said),
            said.reason,
        )
        for one, said in zip(asked, verdicts, strict=True)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def win_rates(found: pd.DataFrame) -> dict[str, ClusteredMean]:
    """By regime: wins and half the ties of those substituted in an episode, mean over episodes, interval over groups."""
    points = found.assign(points=found["verdict"].map(POINTS).astype(float))
    rates = {}
    for regime in REGIMES:
        part = points[points["regime"] == regime]
        if len(part):
            each = part.groupby(["episode", "session"], sort=False)["points"].mean().reset_index()
            rates[regime] = clustered_mean(each["points"], each["session"])
    return rates
