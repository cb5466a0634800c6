"""A judge says which of two texts a participant would prefer; it is asked in both orders.

Critiques (the study's Eq 20): which would the participant rather have written? The judge sees opinion, draft, and the
participant's critiques on other questions, but not the critique that the participant really wrote.

Statements (Eq 22): which would the participant rather agree with? The statement of a group with representatives is
compared with that of the same group without them, for every substituted participant, from the opinion. The text of the
study lacks this equation; asking about the substituted participants, as in Eq 21, is our choice. Two re-simulations of
the same people have a rate of 0.5 but for chance: below that, representatives cost the people something.

The same text in both orders is a win or a loss. If the order decides, it is a tie, which counts half a win. Two equal
critiques tie without being asked. A reply that cannot be read gives no verdict, and the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from parley.agents.mediators.base import Statement
from parley.agents.reply_cleaning import one_line
from parley.agents.representative import OTHERS
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.analysis.judging import PREFERRED, REJECTED, TIED, Item, Verdict, judge_item, load_rubric, missing
from parley.analysis.statistics.intervals import SHARE
from parley.llm.driver import Conversation
from parley.studies.representatives.representation import RepresentationCase
from parley.studies.representatives.substitution import TRUE, Resimulation, in_order, substituted

CRITIQUE_RUBRIC, STATEMENT_RUBRIC = load_rubric("autorater"), load_rubric("preferred")
WIN, TIE, LOSS = "win", "tie", "loss"
POINTS = {WIN: PREFERRED, TIE: TIED, LOSS: REJECTED}
COLUMNS = ["episode", "session", "participant", "regime", "number", "verdict", "reason"]


def outcome(verdict: Verdict) -> str:
    """Return win (of ours), tie or loss; empty where the verdict is missing."""
    return next((word for word, points in POINTS.items() if points == verdict.value), "")


def compare_critiques(case: RepresentationCase, ours: str, baseline: str, seed: int) -> Conversation[Verdict]:
    """Ask which critique is the participant's, ours first and then the baseline first."""
    brief = case.brief
    earlier_critiques = [one_line(other.critique) for other in brief.others[:OTHERS] if other.critique]
    earlier = "".join(
        f"\nOf another draft, on another question, this participant wrote: {text}" for text in earlier_critiques
    )
    texts = {"issue": brief.question.question, "opinion": brief.opinion, "statement": brief.draft}
    slots = {name: one_line(text) for name, text in texts.items()} | {"earlier": earlier}
    return judge_item(
        CRITIQUE_RUBRIC, Item((case.key,), slots, pair=(ours, baseline), facts={"earlier": earlier_critiques}), seed
    )


def win_rate(rows: pd.DataFrame) -> ClusteredMean:
    """Return wins plus half the ties, as a share of verdicts. rows: verdict (win, tie, loss, empty), participant."""
    return clustered_mean(rows["verdict"].map(POINTS).astype(float), rows["participant"], bounds=SHARE)


def critique_table(cases: Sequence[RepresentationCase], verdicts: Mapping[str, Verdict]) -> pd.DataFrame:
    """Return a row per case: case, participant, verdict, reason."""
    judged = [(case, verdicts[case.key]) for case in cases if case.key in verdicts]
    rows = [(case.key, case.participant, outcome(verdict), verdict.reason) for case, verdict in judged]
    return pd.DataFrame(rows, columns=["case", "participant", "verdict", "reason"])


class Pair(NamedTuple):
    """Two statements and a participant: `ours` of a profile with representatives, `baseline` of the true profile."""

    episode: Episode
    voice: Voice
    regime: str
    number: int
    ours: Statement
    baseline: Statement


def statement_pairs(resimulations: Sequence[Resimulation]) -> list[Pair]:
    """Pair each profile's statement with that of the true profile of its repetition, for every substituted participant."""
    true = {
        (episode.id, profile.number): statement
        for episode, profile, statement in resimulations
        if profile.regime == TRUE
    }
    return [
        Pair(episode, voice, profile.regime, profile.number, statement, true[episode.id, profile.number])
        for episode, profile, statement in resimulations
        if profile.regime != TRUE
        for voice in episode.voices
        if voice.participant in substituted(episode, profile)
    ]


def compare_statements(pair: Pair, seed: int) -> Conversation[Verdict]:
    """Ask which statement the participant would rather agree with, ours first and then the baseline first."""
    ours, baseline = pair.ours.text, pair.baseline.text
    if ours is None or baseline is None:
        lacking = missing(f"no statement ({(pair.baseline if ours else pair.ours).reason})")
        return judge_item(STATEMENT_RUBRIC, lacking, seed)
    slots = {"issue": one_line(pair.episode.question.question), "opinion": one_line(pair.voice.opinion or "")}
    item = Item((pair.episode.id, pair.voice.participant), slots, pair=(ours, baseline))
    return judge_item(STATEMENT_RUBRIC, item, seed)


def statement_table(pairs: Sequence[Pair], verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """Return a row per comparison (COLUMNS); verdict: win (of ours), tie, loss or empty."""
    rows = [
        (pair.episode.id, pair.episode.session, pair.voice.participant, pair.regime, pair.number, outcome(verdict),
         verdict.reason)
        for pair, verdict in zip(pairs, verdicts, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


def win_rates(verdicts: pd.DataFrame) -> dict[str, ClusteredMean]:
    """Return by regime the wins plus half the ties of an episode, averaged over episodes, with intervals over groups."""
    points = verdicts.assign(points=verdicts["verdict"].map(POINTS).astype(float))
    rates = {}
    for regime in in_order(points["regime"]):
        regime_points = points[points["regime"] == regime]
        means = regime_points.groupby(["episode", "session"], sort=False)["points"].mean().reset_index()
        rates[regime] = clustered_mean(means["points"], means["session"], bounds=SHARE)
    return rates
