"""A judge says which of two statements a participant would rather agree with (the study's Eq 22), asked in both orders.

The statement of a group with representatives against that of the same group without them, re-simulated with our mediator (the
golden baseline): for each of those substituted, from the opinion that the participant wrote. Verdicts and ties are those of
critique_judge.py. The equation itself is missing in the text; that those substituted are asked about, as in Eq 21, is ours. Two
re-simulations of the same people have a rate of 0.5 but for chance: below that, representatives cost the people something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from parley.agents.mediators.base import Statement
from parley.analysis.deliberation.critique_judge import POINTS, outcome
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.deliberation.substitution import REGIMES, TRUE, Statements, substituted
from parley.analysis.judging import Item, Verdict, judge_item, load_rubric, missing, one_line
from parley.llm.driver import Conversation

RUBRIC = load_rubric("preferred")
COLUMNS = ["episode", "session", "participant", "regime", "number", "verdict", "reason"]


class Pair(NamedTuple):
    """Two statements and a participant: `ours` of a profile with representatives, `baseline` of the true one."""

    episode: Episode
    voice: Voice
    regime: str
    number: int
    ours: Statement
    baseline: Statement


def pairs(told: Statements) -> list[Pair]:
    """For everybody who is substituted in a profile, its statement and that of the true profile, the same repetition."""
    true = {(one.id, profile.number): said for one, profile, said in told if profile.regime == TRUE}
    return [
        Pair(one, voice, profile.regime, profile.number, said, true[one.id, profile.number])
        for one, profile, said in told
        if profile.regime != TRUE
        for voice in one.voices
        if voice.participant in substituted(one, profile)
    ]


def compare(pair: Pair, seed: int) -> Conversation[Verdict]:
    """Ask which of the two the participant would rather agree with, ours first and then the baseline first."""
    return judge_item(RUBRIC, pair_item(pair), seed)


def pair_item(pair: Pair) -> Item | Verdict:
    """The question about two statements; where one is lacking there is nothing to ask."""
    ours, baseline = pair.ours.text, pair.baseline.text
    if ours is None or baseline is None:
        return missing(f"no statement ({(pair.baseline if ours else pair.ours).reason})")
    slots = {"issue": one_line(pair.episode.question.question), "opinion": one_line(pair.voice.opinion or "")}
    return Item((pair.episode.id, pair.voice.participant), slots, pair=(ours, baseline))


def table(asked: Sequence[Pair], verdicts: Sequence[Verdict]) -> pd.DataFrame:
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
