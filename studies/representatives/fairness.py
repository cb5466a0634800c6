"""How fair a mediator is: whom its statement suits, and what the order of the opinions changes.

A mediator writes a draft from recorded opinions, several times: in other orders of the opinions (each order turns the circle of
the members who wrote one by one place), and for each order with the same seeds of several draws. A payoff scorer says how far
each member agrees.

Coverage    the agreement of the smaller side of the question (positions above and below 4) minus that of the larger side.
Order       how far agreement moves between two draws in different orders, minus how far it moves between two draws in the same
            order: 0 on average if the order changes nothing, whatever the draws do (an energy distance, Székely and Rizzo 2013).
First       the agreement of a member when its opinion is read first, minus its agreement when it is read later.

The unit is the session: measures are averaged over its episodes first. Intervals are Student's, none below five sessions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from parley.agents.mediators.base import Mediator, MediatorBrief, ParticipantInput, Statement
from parley.analysis.deliberation.episode import Episode, Voice
from parley.analysis.statistics.intervals import FEWEST, Floats, mean_interval, nanmean, why_no_interval, with_interval
from parley.analysis.statistics.null import share_as_large
from parley.llm.driver import Conversation
from parley.llm.request import Reply, Request, Sampling
from parley.llm.seeding import derive

MINORITY, MAJORITY, NEITHER = "minority", "majority", ""
MIDDLE = 4
SHUFFLES = 999
UNIT = "session"


class Draft(NamedTuple):
    """A statement, or None and why not, and the member whose opinion was read first."""

    text: str | None
    reason: str | None
    first: str | None


class Measures(NamedTuple):
    """What is measured in each session; NaN where it is unknown. again: how far two equal runs (same order) are apart."""

    minority: Floats
    majority: Floats
    again: Floats
    order: Floats
    first: Floats


def with_opinion(episode: Episode) -> list[Voice]:
    """Return the members who wrote an opinion: only these have a place in an order."""
    return [voice for voice in episode.voices if voice.opinion is not None]


def write_draft(episode: Episode, mediator: Mediator, order: int, draw: int, seed: int) -> Conversation[Draft]:
    """Write the draft from the opinions turned by `order` places. Seeds do not depend on `order`."""
    written = with_opinion(episode)
    silent = [voice for voice in episode.voices if voice.opinion is None]
    voices = [*written[order:], *written[:order], *silent]
    members = tuple(ParticipantInput(voice.opinion, None, voice.position) for voice in voices)
    brief = MediatorBrief(episode.question, members, None, Sampling(1.0))

    def seeds(*name: object) -> int:
        return derive(seed, "mediator", episode.id, *(() if name[0] == "order" else (draw,)), *name)

    heard: list[tuple[Request, Reply]] = []
    statement = yield from _overhear(mediator.speak(brief, seeds), heard)
    return Draft(statement.text, statement.reason, _read_first(statement, voices, heard))


def _overhear(conversation: Conversation[Statement], heard: list[tuple[Request, Reply]]) -> Conversation[Statement]:
    """Pass a conversation on, and keep its requests and replies."""
    try:
        requests = next(conversation)
        while True:
            replies = yield requests
            heard += zip(requests, replies, strict=True)
            requests = conversation.send(replies)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def _read_first(statement: Statement, voices: Sequence[Voice], heard: Sequence[tuple[Request, Reply]]) -> str | None:
    """Return whose opinion comes first in the prompt of the statement; the first member of all if there is no prompt."""
    if statement.text is None:
        return None
    opinions = [voice.opinion for voice in voices if voice.opinion is not None]
    for request, reply in heard:
        if request.facts.get("opinions") and reply.text == (statement.raw or statement.text):
            opinions = list(request.facts["opinions"])
            break
    return next((voice.participant for voice in voices if opinions and voice.opinion == opinions[0]), None)


def sides(episode: Episode) -> dict[str, str]:
    """Return the side of each member: minority, majority or neither (in the middle, or without a position).

    All are neither with one side or equal sides, and where the members without a position could turn which side is smaller.
    """
    signs = {voice.participant: np.sign((voice.position or MIDDLE) - MIDDLE) for voice in episode.voices}
    more, fewer = (sum(sign == side for sign in signs.values()) for side in (1, -1))
    unknown = sum(voice.position is None for voice in episode.voices)
    if not min(more, fewer) or abs(more - fewer) < max(1, unknown):
        return dict.fromkeys(signs, NEITHER)
    names = {1: MAJORITY if more > fewer else MINORITY, -1: MINORITY if more > fewer else MAJORITY, 0: NEITHER}
    return {who: names[int(sign)] for who, sign in signs.items()}


def measure(payoffs: pd.DataFrame) -> Measures:
    """Return the measures by session. payoffs: session, episode, participant, side, order, draw, first, value."""
    rows = [
        (session, _sides(episode_payoffs), *_orders(episode_payoffs), _lead(episode_payoffs))
        for (session, _), episode_payoffs in payoffs.groupby(["session", "episode"], sort=True)
    ]
    flat = [(session, *means, *rest) for session, means, *rest in rows]
    frame = pd.DataFrame(flat, columns=["session", *Measures._fields]).astype(dict.fromkeys(Measures._fields, float))
    return Measures(*frame.groupby("session").mean().to_numpy(dtype=float).T)


def _sides(payoffs: pd.DataFrame) -> tuple[float, float]:
    """Return the mean payoff of the two sides of an episode; NaN for both if one is unknown."""
    means = payoffs.groupby("side")["value"].mean()
    both = float(means.get(MINORITY, math.nan)), float(means.get(MAJORITY, math.nan))
    return (math.nan, math.nan) if math.isnan(sum(both)) else both


def _orders(payoffs: pd.DataFrame) -> tuple[float, float]:
    """Return how far payoffs of two draws are apart in the same order, and how much farther they are in different orders."""
    wide = payoffs.pivot(index=["order", "draw"], columns="participant", values="value")
    places = wide.index.to_list()
    apart = nanmean(np.abs(wide.to_numpy()[:, None] - wide.to_numpy()[None]), axis=2)
    same, other = list[float](), list[float]()
    for (here, (order, draw)), (there, (order_2, draw_2)) in product(enumerate(places), repeat=2):
        if draw != draw_2 and not math.isnan(apart[here, there]):
            (same if order == order_2 else other).append(float(apart[here, there]))
    again = float(np.mean(same)) if same else math.nan
    return again, (float(np.mean(other)) if other else math.nan) - again


def _lead(payoffs: pd.DataFrame) -> float:
    """Return the mean over members of their payoff when read first minus that when read later; NaN if no member was both."""
    means = payoffs.groupby(["participant", "first"])["value"].mean().unstack("first")
    return float((means[True] - means[False]).mean()) if {True, False} <= set(means) else math.nan


def shuffled_p(payoffs: pd.DataFrame, rng: np.random.Generator, shuffles: int = SHUFFLES) -> float:
    """Return how often sides that are shuffled give as large a difference in coverage, in size, as the real ones.

    The members of a session exchange their sides, the same way in all its episodes. Where an exchange leaves a side of a session
    without a payoff, the session is left out of that shuffle. NaN below five sessions.
    """
    gaps = [_gaps(session_payoffs, rng, shuffles) for _, session_payoffs in payoffs.groupby("session", sort=True)]
    sessions = [session_gaps for session_gaps in gaps if len(session_gaps) and math.isfinite(session_gaps[0])]
    if len(sessions) < FEWEST:
        return math.nan
    means = np.abs(nanmean(np.array(sessions)))
    return share_as_large(means[1:], means[0])


def _gaps(payoffs: pd.DataFrame, rng: np.random.Generator, shuffles: int) -> Floats:
    """Return the difference between sides in a session: the real one, then those with shuffled sides; empty if unknown."""
    people = sorted(payoffs["participant"].unique())
    orders = np.vstack([np.arange(len(people)), rng.permuted(np.tile(np.arange(len(people)), (shuffles, 1)), axis=1)])
    gaps = []
    for _, rows in payoffs.groupby("episode", sort=True):
        members = rows.groupby("participant").agg(value=("value", "mean"), side=("side", "first")).reindex(people)
        if {MINORITY, MAJORITY} <= set(members["side"]):
            values, labels = members["value"].to_numpy(dtype=float), members["side"].to_numpy()[orders]
            small, large = (nanmean(np.where(labels == side, values, np.nan), 1) for side in (MINORITY, MAJORITY))
            gaps.append(small - large)
    return nanmean(np.array(gaps)) if gaps else np.array([])


def estimate_all(payoffs: pd.DataFrame, rng: np.random.Generator) -> dict[str, Any]:
    """Return one row of the table: the mean of each measure and, for the three results, its interval, sessions and reason."""
    measures = measure(payoffs)
    row: dict[str, Any] = {
        name: _mean(getattr(measures, name)) for name in ("minority", "majority", "again")
    }  # fmt: skip
    results = {"coverage": measures.minority - measures.majority, "order": measures.order, "first": measures.first}
    for name, all_values in results.items():
        values = all_values[np.isfinite(all_values)]
        row |= with_interval(name, _mean(values), mean_interval(values))
        row |= {f"{name}_sessions": len(values), f"{name}_reason": why_no_interval(values, UNIT)}
    return row | {"coverage_p": shuffled_p(payoffs, rng)}


def _mean(values: Floats) -> float:
    return float(nanmean(values)) if len(values) else math.nan
