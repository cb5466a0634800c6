"""What each rule of choice would choose, how well ballots are predicted, the final vote.

The unit is the group: the people of one session. A measure is averaged over the contests of a session first, and its interval is
over sessions (none below five).
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from parley.agents.ballots import renumbered
from parley.agents.choice_rules import RULES, points_of
from parley.agents.representative import BALLOT, VOTE
from parley.agents.social_choice import Places, break_ties, preference_levels
from parley.analysis.deliberation.run_episodes import USUAL, WRITTEN, run_names
from parley.analysis.statistics.intervals import SHARE, SIGNED, mean_interval, why_no_interval, with_interval
from parley.llm.errors import UserError
from parley.model import events
from parley.model.recorder import read_lines
from parley.model.scenario import MEDIATOR
from parley.model.scenario_run import record_of

BY_LOT = "a random candidate"
FORESEEN = "schulze, predicted ballots"
UNIT = "session"
DRAFT = "draft"


class Contest(NamedTuple):
    """A choice among `candidates`, with the ballots that could be read, by member: candidates are numbered from 0."""

    session: str
    room: str
    round: int
    candidates: int
    predicted: Mapping[int, Places]
    own: Mapping[int, Places]


@dataclass
class Ballots:
    """All contests of some runs, the final votes, and why ballots and votes are missing.

    What a representative gave is no ballot or vote of the member: it is missing, with the reason `represented`.
    seats: sessions, each with a person who takes part (set of personas, persona).
    """

    contests: list[Contest] = field(default_factory=list)
    votes: list[dict[str, Any]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    headers: list[events.Header] = field(default_factory=list)
    seats: set[tuple[str, tuple[str, str]]] = field(default_factory=set)


def read_ballots(runs: Sequence[Path]) -> Ballots:
    """Return what members and mediators ranked in some runs. Errors: UserError for runs that asked for no ballot or vote."""
    ballots = Ballots()
    for run, name in zip(runs, run_names(runs), strict=True):
        _read_run(ballots, run, name)
    if not ballots.asked:
        raise UserError(
            "no run has a ballot: run a deliberation with --set mediator=habermas,ballots=both --set vote=final"
        )
    return ballots


def _read_run(ballots: Ballots, run: Path, name: str) -> None:
    sessions: dict[str, str] = {}
    members, personas = list[tuple[str, str]](), ""
    represented: set[tuple[str, int, int, str]] = set()
    ranked: dict[tuple[str, int], dict[str, dict[int, Places]]] = {}
    usable: dict[tuple[str, int], list[int]] = {}
    for event in read_lines(record_of(run)):
        if isinstance(event, events.Header):
            ballots.headers.append(event)
            personas = str(event.scenario["personas"])
        elif isinstance(event, events.Seated) and event.party != MEDIATOR:
            members.append((event.room, event.persona))
        elif isinstance(event, events.Posed):
            sessions[event.room] = f"{name}/{event.session}"
        elif isinstance(event, events.Represented):
            represented.add((event.room, event.round, event.agent, event.form))
        elif isinstance(event, events.Proposed) and event.text is not None:
            usable.setdefault((event.room, event.round), []).append(event.number)
        elif isinstance(event, events.Ranked | events.Balloted):
            kind = "predicted" if isinstance(event, events.Ranked) else "own"
            proxy = kind == "own" and (event.room, event.round, event.agent, BALLOT) in represented
            if (order := _counted(ballots, kind, event, proxy)) is not None:
                kinds = ranked.setdefault((event.room, event.round), {"predicted": {}, "own": {}})
                kinds[kind][event.agent] = order
        elif isinstance(event, events.Voted):
            proxy = (event.room, event.round, event.agent, VOTE) in represented
            if (order := _counted(ballots, "vote", event, proxy)) is not None:
                value = 0.5 if len(order) == 1 else float(DRAFT not in order[0])
                ballots.votes.append({"session": sessions[event.room], "room": event.room, "revision": value})
    ballots.seats |= {(sessions[room], (personas, persona)) for room, persona in members if room in sessions}
    for place, kinds in ranked.items():
        index = usable[place].index
        predicted, own_orders = (
            {agent: renumbered(order, index) for agent, order in kinds[kind].items()} for kind in ("predicted", "own")
        )
        ballots.contests.append(Contest(sessions[place[0]], *place, len(usable[place]), predicted, own_orders))


def _counted(ballots: Ballots, kind: str, event: events.Ranked | events.Balloted | events.Voted, proxy: bool) -> Any:
    """Count a ballot or vote; return its order, or None if it cannot be read or (`proxy`) a representative gave it."""
    order, reason = (None, WRITTEN) if proxy else (event.order, event.reason)
    ballots.asked[kind] += 1
    if order is None:
        ballots.missing[kind, str(reason)] += 1
    return order


def rule_table(contests: Sequence[Contest], kind: str) -> pd.DataFrame:
    """Return a row per rule of choice and one for a random candidate, on the ballots of a kind (predicted, own).

    same: share of contests with the winner of Schulze's rule. mean, worst: the share of other candidates that the winner beats on
    a member's ballot, the mean over members and the lowest. gain: `worst` minus that of a random candidate. Each with low and
    high. sessions: those in which the rule could be counted. On own ballots there is also a row for Schulze's winner on
    predicted ballots, where there are both.
    """
    rows = [row for contest in contests if (row := _winners(contest, kind))]
    per_session = pd.DataFrame(rows).groupby("session").mean(numeric_only=True) if rows else pd.DataFrame()
    names = [name for name in (*RULES, FORESEEN, BY_LOT) if f"{name} mean" in per_session]
    return pd.DataFrame([{"rule": name, **_estimates(per_session, name)} for name in names])


def _estimates(per_session: pd.DataFrame, name: str) -> dict[str, float]:
    """Return the mean of each measure of a rule, with its interval within 0 and 1, over the sessions that have it."""
    complete = per_session.dropna(subset=[f"{name} mean"])
    estimates: dict[str, float] = {"sessions": len(complete)}
    for measure in ("same", "mean", "worst", "gain"):
        values = complete[f"{name} {measure}"].to_numpy(dtype=float)
        ends = mean_interval(values, bounds=SIGNED if measure == "gain" else SHARE)
        estimates |= with_interval(measure, float(values.mean()), ends)
    return estimates


def _winners(contest: Contest, kind: str) -> dict[str, Any]:
    """Return what every rule gives in one contest; nothing of a contest without ballots or with one candidate."""
    ballots = _in_order(getattr(contest, kind))
    if not ballots or contest.candidates < 2:
        return {}
    points = points_of(ballots, contest.candidates) / (contest.candidates - 1)
    winners = {name: _winner(contest, name, ballots) for name in RULES}
    if kind == "own" and contest.predicted:
        winners[FORESEEN] = _winner(contest, USUAL, _in_order(contest.predicted))
    row: dict[str, Any] = {"session": contest.session}
    for name, winner in winners.items():
        row[f"{name} same"] = float(winner == winners[USUAL])
        row[f"{name} mean"], row[f"{name} worst"] = points[:, winner].mean(), np.min(points[:, winner])
    row[f"{BY_LOT} same"] = 1 / contest.candidates
    row[f"{BY_LOT} mean"], row[f"{BY_LOT} worst"] = points.mean(), np.min(points, axis=0).mean()
    row |= {f"{name} gain": row[f"{name} worst"] - row[f"{BY_LOT} worst"] for name in (*winners, BY_LOT)}
    return row


def _in_order(ballots: Mapping[int, Places]) -> list[Places]:
    return [ballots[agent] for agent in sorted(ballots)]


def _winner(contest: Contest, rule: str, ballots: Sequence[Places]) -> int:
    """Return the candidate that a rule puts first; ties are broken by ballots drawn alike for all rules."""
    lot = random.Random(f"{contest.room} {contest.round}")
    return break_ties(RULES[rule](ballots, contest.candidates), ballots, lot)[0]


def accuracy_table(contests: Sequence[Contest]) -> pd.DataFrame:
    """Return how well predicted ballots fit: the member's own, those of the other members, and the difference.

    tau: Kendall's tau-b between a predicted ballot and an own one, over candidates, the mean over members and contests. Ballots
    in which all candidates are tied have no tau. Columns: ballots (what is compared), tau, low, high, sessions, pairs, reason.
    """
    rows = [row for contest in contests for row in _fits(contest)]
    frame = pd.DataFrame(rows, columns=["session", "same", "other"])
    complete = frame.dropna()
    per_session = complete.groupby("session")[["same", "other"]].mean()
    parts = {
        "the member's own": per_session["same"],
        "another member's": per_session["other"],
        "difference": per_session["same"] - per_session["other"],
    }
    table = []
    for name, series in parts.items():
        values = series.to_numpy(dtype=float)
        low, high = mean_interval(values, bounds=None if name == "difference" else SIGNED)
        value = float(values.mean()) if len(values) else math.nan
        reason = why_no_interval(values, UNIT)
        ends = {"tau": value, "low": low, "high": high}
        table.append({"ballots": name, **ends, "sessions": len(values), "pairs": len(complete), "reason": reason})
    return pd.DataFrame(table)


def _fits(contest: Contest) -> Iterable[dict[str, Any]]:
    """Yield the tau of each predicted ballot with the member's own, and its mean tau with those of the others."""
    own_levels = {agent: preference_levels(order, contest.candidates) for agent, order in contest.own.items()}
    for agent, order in contest.predicted.items():
        guess = preference_levels(order, contest.candidates)
        taus = {other: rank_correlation(guess, levels) for other, levels in own_levels.items()}
        others = [tau for other, tau in taus.items() if other != agent and not math.isnan(tau)]
        same = taus.get(agent, math.nan)
        yield {"session": contest.session, "same": same, "other": float(np.mean(others)) if others else math.nan}


def rank_correlation(first: Sequence[int], second: Sequence[int]) -> float:
    """Return Kendall's tau-b of two ballots' levels; NaN where all candidates of one are tied.

    >>> rank_correlation((0, 1, 2), (0, 2, 1)), rank_correlation((0, 0, 0), (0, 1, 2))
    (0.33333333333333337, nan)
    """
    if min(len(set(first)), len(set(second))) < 2:
        return math.nan
    return float(kendalltau(first, second).statistic)


def vote_row(votes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the share of members who prefer the revision to the draft (ties half), with its interval over sessions."""
    frame = pd.DataFrame(votes, columns=["session", "room", "revision"])
    values = frame.groupby("session")["revision"].mean().to_numpy(dtype=float)
    low, high = mean_interval(values, bounds=SHARE)
    share = float(values.mean()) if len(values) else math.nan
    reason = why_no_interval(values, UNIT)
    ends = {"low": low, "high": high}
    return {"share": share, **ends, "sessions": len(values), "votes": len(frame), "reason": reason}
