"""Groups with representatives in place of participants: what the mediator then writes, and what it is worth to them.

A group is re-simulated from its draft on, with a mediator of ours (the study's is a black box; another one wrote the
recorded revision). There is one profile for each kind of substitution (regime):

    true        the participants' own critiques
    again       the same with other random draws: how far apart two re-simulations of the same people are
    one         one participant at a time is substituted by the own representative
    stranger    the same, by another participant's representative
    all         all participants are substituted
    mute        one participant at a time has no critique (on request)
    mute_all    no participant has a critique (on request)

With several models that write, the regimes of the second and later ones carry the model: `one:SPEC`.

The discrepancy (Eq 16 and 21) is the expected payoff in a profile minus that in the true one, averaged over the
substituted participants, signed and absolute; expectations are means over repetitions. The absolute discrepancy is
above 0 by chance alone: compare it with that of `again`.

A participant who wrote no critique, although others of the episode did, is not represented: the representative would
add a critique. Where the representative of a substituted participant is silent, there is no statement; nothing takes
its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from parley.agents.mediators.base import Mediator, MediatorBrief, ParticipantInput, Statement
from parley.agents.representative import Critique
from parley.analysis.deliberation.episode import Episode
from parley.analysis.deliberation.position_change import ClusteredMean, clustered_mean
from parley.llm.driver import Conversation
from parley.llm.request import Sampling
from parley.llm.seeding import derive

TRUE, AGAIN, ONE, STRANGER, ALL = "true", "again", "one", "stranger", "all"
OWN = "own"
MUTE, MUTE_ALL = "mute", "mute_all"
REGIMES = (AGAIN, MUTE, MUTE_ALL, ONE, STRANGER, ALL)
WITHOUT = (TRUE, AGAIN, MUTE, MUTE_ALL)
"""Regimes in which no representative writes."""
SILENT = "representative silent"
"""How the reason of a statement begins that no mediator was asked for."""
Texts = Mapping[tuple[str, str, int], Critique]
"""Critiques of representatives by case key, `own` or `stranger` (with the model: see `named`), and repetition."""


def named(kind: str, writer: str) -> str:
    """Return the name of a regime, or of whose representative writes, with the model that writes; "" for the first model.

    >>> named("one", "pocket:a"), named("one", "")
    ('one:pocket:a', 'one')
    """
    return f"{kind}:{writer}" if writer else kind


def kind_of(regime: str) -> str:
    """Return the kind of a regime, without the model.

    >>> kind_of("one:pocket:a")
    'one'
    """
    return regime.partition(":")[0]


def in_order(regimes: Iterable[str]) -> list[str]:
    """Return the regimes that there are, each once, without the true profile: first by kind, then as the models are given."""
    there = [regime for regime in dict.fromkeys(regimes) if regime != TRUE]
    return sorted(there, key=lambda regime: REGIMES.index(kind_of(regime)))


class Profile(NamedTuple):
    """Who speaks in one re-simulation. who: the substituted participant under ONE and STRANGER. number: the repetition."""

    regime: str
    who: str
    number: int


class Resimulation(NamedTuple):
    """What the mediator wrote for a profile of an episode."""

    episode: Episode
    profile: Profile
    statement: Statement


def represented(episode: Episode) -> tuple[str, ...]:
    """Return who can be represented: those with an opinion and a critique; if no one has both, those with an opinion.

    The others speak for themselves in every profile, or are silent in every one.
    """
    able = [voice for voice in episode.voices if voice.opinion is not None]
    wrote = [voice for voice in able if voice.critique is not None]
    return tuple(voice.participant for voice in wrote or able)


def profiles(
    episode: Episode, repetitions: int, writers: Sequence[str] = ("",), mute: bool = False
) -> Iterator[Profile]:
    """Yield all re-simulations of a group; a single represented participant has no stranger.

    writers: the models that write, "" for the first. mute: also without critiques.
    """
    people = represented(episode)
    each = (ONE, STRANGER) if len(people) > 1 else (ONE,)
    alone = [*((MUTE,) if mute else ()), *(named(kind, writer) for writer in writers for kind in each)]
    whole = [TRUE, AGAIN, *((MUTE_ALL,) if mute else ()), *(named(ALL, writer) for writer in writers)]
    for number in range(repetitions):
        yield from (Profile(regime, "", number) for regime in whole)
        for regime in alone:
            yield from (Profile(regime, who, number) for who in people)


def substituted(episode: Episode, profile: Profile) -> tuple[str, ...]:
    """Return whose payoff counts: the substituted participants; without substitution, all who can be represented."""
    return (profile.who,) if profile.who else represented(episode)


def resimulated(
    episode: Episode, profile: Profile, written: Texts, mediator: Mediator, seed: int, temperature: float = 1.0
) -> Conversation[Statement]:
    """Return what the mediator makes of the draft and the critiques; it is not asked if a representative is silent."""
    critiques = _representative_critiques(episode, profile, written)
    if silent := [critique.reason for critique in critiques.values() if critique.text is None]:
        return Statement(None, f"{SILENT}: {silent[0]}")
    texts = {voice.participant: voice.critique for voice in episode.voices}
    texts |= {who: critique.text for who, critique in critiques.items()}
    if profile.regime in (MUTE, MUTE_ALL):
        texts |= dict.fromkeys(substituted(episode, profile))
    members = tuple(
        ParticipantInput(voice.opinion, texts[voice.participant], voice.position) for voice in episode.voices
    )
    brief = MediatorBrief(episode.question, members, episode.draft, Sampling(temperature))
    return (yield from mediator.speak(brief, lambda *name: derive(seed, "mediator", episode.id, *profile, *name)))


def _representative_critiques(episode: Episode, profile: Profile, written: Texts) -> dict[str, Critique]:
    """Return what representatives say in a profile, by the participant that they represent."""
    if profile.regime in WITHOUT:
        return {}
    kind, _, writer = profile.regime.partition(":")
    author = named(STRANGER if kind == STRANGER else OWN, writer)
    return {who: written[f"{episode.id} {who}", author, profile.number] for who in substituted(episode, profile)}


def discrepancies(payoffs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per episode and regime: episode, session, regime, signed, absolute (means over participants),
    people, missing.

    payoffs: a row per payoff: episode, session, regime, participant, number, value (NaN: missing). A participant counts
    with a payoff in both the regime and the true profile.
    """
    keys = ["episode", "session", "participant"]
    columns = ["episode", "session", "regime", "signed", "absolute", "people", "missing"]
    expected = payoffs.groupby([*keys, "regime"], sort=False)["value"].mean().unstack("regime")
    tables = []
    for regime in in_order(payoffs["regime"]):
        if {regime, TRUE} <= set(expected):
            people = payoffs.loc[payoffs["regime"] == regime, keys].drop_duplicates()
            gap = (
                (expected[regime] - expected[TRUE])
                .reindex(pd.MultiIndex.from_frame(people))
                .rename("gap")
                .reset_index()
            )
            groups = gap.assign(size=gap["gap"].abs()).groupby(["episode", "session"], sort=False)
            table = groups.agg(signed=("gap", "mean"), absolute=("size", "mean"), people=("gap", "count"))
            table["missing"] = groups.size() - table["people"]
            tables.append(table.reset_index().assign(regime=regime))
    return pd.concat(tables)[columns].reset_index(drop=True) if tables else pd.DataFrame(columns=columns)


def summary(gaps: pd.DataFrame) -> dict[tuple[str, str], ClusteredMean]:
    """Return by regime and measure (signed, absolute) the mean over episodes, with its interval over groups (sessions)."""
    return {
        (regime, measure): clustered_mean(regime_gaps[measure], regime_gaps["session"])
        for regime in in_order(gaps["regime"])
        for measure in ("signed", "absolute")
        if len(regime_gaps := gaps[gaps["regime"] == regime])
    }
