"""Groups with representatives in the place of participants: what the mediator then writes, and what it is worth to them.

A group is re-simulated from its draft on, with a mediator of ours (the study's is a black box; the recorded revision was made by
another): once as it was (`true`, own critiques), once more with other random draws (`again`: how far apart two re-simulations
of the same people are), with one participant substituted at a time (`one`, and `stranger`: by somebody else's
representative), with all substituted (`all`). Eq 16 and 21: the discrepancy is the mean over those who are substituted of
expected payoff in the model profile minus that in the true one, signed and absolute; expectations are means over repetitions.
The absolute one is above 0 by chance alone: compare it with that of `again`.

Who wrote no critique where others of the episode did is not represented: a critique more is not another's critique. Where the
representative of somebody who is substituted is silent there is no statement: nothing is told in its place.

A payoff scorer beside the final ratings of those it speaks for: does it order statements alike, and how far off is it?
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from parley.agents.mediators.base import Mediator, MediatorBrief, ParticipantInput, Statement
from parley.agents.representative import Critique
from parley.analysis.bootstrap import correlation, correlation_interval
from parley.analysis.deliberation.episode import STATEMENTS, Episode
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.llm.driver import Conversation
from parley.llm.request import Sampling
from parley.llm.seeding import derive

TRUE, AGAIN, ONE, STRANGER, ALL = "true", "again", "one", "stranger", "all"
OWN = "own"
REGIMES = (AGAIN, ONE, STRANGER, ALL)
Texts = Mapping[tuple[str, str, int], Critique]
"""Critiques of representatives by case key, `own` or `stranger`, and repetition."""


class Profile(NamedTuple):
    """Who speaks in one re-simulation: `who` is substituted under ONE and STRANGER."""

    regime: str
    who: str
    number: int


SILENT = "representative silent"
"""How the reason of a statement that no mediator was asked for begins."""
Statements = Sequence[tuple[Episode, Profile, Statement]]
"""What the mediator wrote in each re-simulation."""


def represented(episode: Episode) -> tuple[str, ...]:
    """Who can be: those with an opinion and a critique, where nobody has both those with an opinion.

    The others speak for themselves in every profile, or are silent in every one.
    """
    able = [voice for voice in episode.voices if voice.opinion is not None]
    wrote = [voice for voice in able if voice.critique is not None]
    return tuple(voice.participant for voice in wrote or able)


def profiles(episode: Episode, repetitions: int) -> Iterator[Profile]:
    """All re-simulations of a group; who is alone in being represented has no stranger."""
    people = represented(episode)
    for number in range(repetitions):
        yield from (Profile(regime, "", number) for regime in (TRUE, AGAIN, ALL))
        for regime in (ONE, STRANGER) if len(people) > 1 else (ONE,):
            yield from (Profile(regime, who, number) for who in people)


def resimulated(
    episode: Episode, profile: Profile, written: Texts, mediator: Mediator, seed: int, temperature: float = 1.0
) -> Conversation[Statement]:
    """What the mediator makes of the draft and these critiques; it is not asked where one that is substituted is silent."""
    told = _told(episode, profile, written)
    if silent := [one.reason for one in told.values() if one.text is None]:
        return Statement(None, f"{SILENT}: {silent[0]}")
    said = {voice.participant: voice.critique for voice in episode.voices} | {
        who: one.text for who, one in told.items()
    }
    heard = tuple(ParticipantInput(voice.opinion, said[voice.participant], voice.position) for voice in episode.voices)
    brief = MediatorBrief(episode.question, heard, episode.draft, Sampling(temperature))

    def named(*name: object) -> int:
        return derive(seed, "mediator", episode.id, *profile, *name)

    return (yield from mediator.speak(brief, named))


def _told(episode: Episode, profile: Profile, written: Texts) -> dict[str, Critique]:
    """What representatives say in this profile, by whom they stand for."""
    if profile.regime in (TRUE, AGAIN):
        return {}
    kind = STRANGER if profile.regime == STRANGER else OWN
    return {who: written[f"{episode.id} {who}", kind, profile.number] for who in substituted(episode, profile)}


def substituted(episode: Episode, profile: Profile) -> tuple[str, ...]:
    """Whose payoff counts: those who are substituted; of the re-simulations of the true profile everybody's who can be."""
    return (profile.who,) if profile.who else represented(episode)


def discrepancies(payoffs: pd.DataFrame) -> pd.DataFrame:
    """A row an episode and regime: episode, session, regime, signed, absolute (means over those substituted), people, missing.

    payoffs: episode, session, regime, participant, number, value (NaN: missing); a row a payoff. A participant counts who has
    a payoff in the regime and in the true profile.
    """
    keys = ["episode", "session", "participant"]
    expected = payoffs.groupby([*keys, "regime"], sort=False)["value"].mean().unstack("regime")
    rows = []
    for regime in REGIMES:
        if regime not in expected or TRUE not in expected:
            continue
        asked = payoffs.loc[payoffs["regime"] == regime, keys].drop_duplicates()
        gap = (expected[regime] - expected[TRUE]).reindex(pd.MultiIndex.from_frame(asked))
        by = gap.groupby(level=["episode", "session"], sort=False)
        table = pd.DataFrame(
            {"signed": by.mean(), "absolute": gap.abs().groupby(level=["episode", "session"], sort=False).mean()}
        )
        table["people"], table["missing"] = by.count(), by.size() - by.count()
        rows.append(table.reset_index().assign(regime=regime))
    columns = ["episode", "session", "regime", "signed", "absolute", "people", "missing"]
    return pd.concat(rows)[columns].reset_index(drop=True) if rows else pd.DataFrame(columns=columns)


def summary(found: pd.DataFrame) -> dict[tuple[str, str], ClusteredMean]:
    """By regime and measure (signed, absolute): the mean over episodes, its interval over groups (sessions)."""
    return {
        (regime, measure): clustered_mean(part[measure], part["session"])
        for regime in REGIMES
        for measure in ("signed", "absolute")
        if len(part := found[found["regime"] == regime])
    }


class Calibration(NamedTuple):
    """r: Pearson's correlation with the rating. preferred: of those whose two ratings differ, the share whose better statement
    has the better score (ties half). bias and error: score minus rating and its size, for scores on the ratings' scale. missing:
    ratings without a score.
    """

    r: ClusteredMean
    preferred: ClusteredMean
    bias: ClusteredMean
    error: ClusteredMean
    missing: int


def rated_statements(episodes: Sequence[Episode]) -> list[tuple[str, str, str, float]]:
    """(episode, participant, which statement, rating) of every final rating there is."""
    return [
        (episode.id, voice.participant, name, float(value))
        for episode in episodes
        for voice in episode.voices
        for name in STATEMENTS
        if getattr(episode, name) is not None and (value := voice.agreement.get(name)) is not None
    ]


def calibrate_payoff(rows: pd.DataFrame, same_scale: bool) -> Calibration:
    """rows: participant, episode, statement, rating, score (NaN: missing). Intervals over participants."""
    there = rows.dropna(subset=["score"])
    gap = (there["score"] - there["rating"]) if same_scale else pd.Series(math.nan, there.index)
    wide = there.pivot_table(["rating", "score"], ["participant", "episode"], "statement")
    return Calibration(
        _correlated(there),
        _preferred(wide),
        clustered_mean(gap, there["participant"]),
        clustered_mean(gap.abs(), there["participant"]),
        int(rows["score"].isna().sum()),
    )


def _correlated(rows: pd.DataFrame) -> ClusteredMean:
    x, y = rows["rating"], rows["score"]
    sums = (
        pd.DataFrame({"n": 1.0, "x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y})
        .groupby(rows["participant"])
        .sum()
    )
    table = sums.to_numpy(dtype=float)
    value = float(correlation(table.sum(axis=0))) if len(table) else math.nan
    return ClusteredMean(value, *correlation_interval(table), len(rows), len(table))


def _preferred(wide: pd.DataFrame) -> ClusteredMean:
    """wide: (rating, score) by statement, a row a participant and episode."""
    if not {("rating", name) for name in STATEMENTS} <= set(wide.columns):
        return ClusteredMean(math.nan, math.nan, math.nan, 0, 0)
    rating, score = (wide[what]["revision"] - wide[what]["draft"] for what in ("rating", "score"))
    told = (rating != 0) & rating.notna() & score.notna()
    points = (np.sign(score[told]) * np.sign(rating[told]) + 1) / 2
    people = pd.Series(points.index.get_level_values("participant"), index=points.index)
    return clustered_mean(points, people)
