"""What changes when representatives cast the ballots of people: the ballot, the group's choice, what people get of it.

A choice by ballots is a decision mechanism that is known exactly: the state is the list of candidates, what a member says is its
ballot, and a rule leads to the choice. So each of the three equivalences of the study of digital representatives has a measure on
recorded choices, each weaker than the one before:

    conditional  the ballot is the person's own ballot
    transition   the group chooses the same: under the rule of the run, and under every rule of `choice_rules`
    trajectory   the person gets the same: its points for the choice, on its own ballot

**Proposition 1 holds in every row**: the same ballots lead to the same choice, and the same choice to the same points; not the
reverse. A profile replaces the ballots of one member or of all members. Ties are broken by the same lots in all of them.

Source: "Language Agents as Digital Representatives in Collective Decision-Making", Definition 3 and Proposition 1.
`benchmarks/representation_theory.py` computes them for all mechanisms of a small size.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from parley.agents.choice_rules import RULES, points_of
from parley.agents.social_choice import Places, break_ties, preference_levels
from parley.analysis.statistics.intervals import mean_interval, why_no_interval, with_interval
from parley.studies.representatives.ballots import UNIT

LOT = "lot"
"""The null: a strict ballot drawn at random."""
DRAWS = 20
"""Ballots by lot for each one that is replaced; their mean counts."""
ONE, ALL = "one", "all"
"""Whose ballots are replaced: those of one member at a time, or those of all members."""
MEASURES = ("same_ballot", "same_by_all", "same_choice", "gap")
Ballots = Mapping[str, Places]
"""Ballots by member, in the order of seats; candidates have the same numbers on all of them."""


class Poll(NamedTuple):
    """One recorded choice: the ballots of people, and by who casts them instead, those that could be read.

    step: "ballot" or a vote. statements: the candidates, by number. rule: of the run. reasons: by who and member, why a ballot is
    missing.
    """

    step: str
    session: str
    episode: str
    round: int
    statements: tuple[str, ...]
    rule: str
    ballots: Ballots
    instead: Mapping[str, Ballots]
    reasons: Mapping[tuple[str, str], str]

    @property
    def candidates(self) -> int:
        return len(self.statements)


class Outcome(NamedTuple):
    """What one profile of ballots leads to, for one member, compared with the recorded ballots.

    same_ballot (all that are replaced), same_by_all (every rule), same_choice (the rule of the run): 1 or 0; means lie between.
    gap: how many more points the choice has on the member's own ballot, as a share of all points: from -1 to 1.
    """

    same_ballot: float
    same_by_all: float
    same_choice: float
    gap: float


UNKNOWN = Outcome(*[math.nan] * 4)


def compare_ballots(polls: Iterable[Poll]) -> pd.DataFrame:
    """Return a row per recorded choice, profile, who casts ballots instead, and member whose ballot counts.

    Columns: step, session, episode, round, member, profile, who (LOT among them), MEASURES (NaN: unknown), reason. A profile of
    all members is unknown where one of their ballots is missing. Choices of one ballot or of one candidate are left out.
    """
    rows = [row for poll in polls if len(poll.ballots) > 1 < poll.candidates for row in _rows(poll)]
    names = ["step", "session", "episode", "round", "member", "profile", "who", *MEASURES, "reason"]
    return pd.DataFrame(rows, columns=names).astype(dict.fromkeys(MEASURES, float))


def _rows(poll: Poll) -> Iterator[tuple[Any, ...]]:
    place, usual = (poll.step, poll.session, poll.episode, poll.round), choices(poll, poll.ballots)
    for profile, replaced in [(ONE, [member]) for member in poll.ballots] + [(ALL, list(poll.ballots))]:
        for who, ballots in poll.instead.items():
            lost = [poll.reasons[who, voter] for voter in replaced if voter not in ballots]
            new = {voter: ballots[voter] for voter in replaced if voter in ballots}
            by_member = dict.fromkeys(replaced, UNKNOWN) if lost else outcomes(poll, new, usual)
            for member, outcome in by_member.items():
                yield *place, member, profile, who, *outcome, lost[0] if lost else ""
        for member, outcome in _by_lot(poll, replaced, usual).items():
            yield *place, member, profile, LOT, *outcome, ""


def outcomes(poll: Poll, new: Ballots, usual: Mapping[str, int]) -> dict[str, Outcome]:
    """Return what happens to each member whose ballot is replaced by a new one. usual: `choices` of the recorded ballots."""
    after = choices(poll, {**poll.ballots, **new})
    ballots = all(_levels(poll, ballot) == _levels(poll, poll.ballots[member]) for member, ballot in new.items())
    same = float(ballots), float(usual == after), float(usual[poll.rule] == after[poll.rule])
    points = points_of([poll.ballots[member] for member in new], poll.candidates) / (poll.candidates - 1)
    gaps = points[:, after[poll.rule]] - points[:, usual[poll.rule]]
    return {member: Outcome(*same, float(gap)) for member, gap in zip(new, gaps, strict=True)}


def _levels(poll: Poll, ballot: Places) -> tuple[int, ...]:
    return preference_levels(ballot, poll.candidates)


def _by_lot(poll: Poll, replaced: Sequence[str], usual: Mapping[str, int]) -> dict[str, Outcome]:
    """Return the mean over drawn ballots."""
    lot = random.Random(f"{poll.session} {poll.episode} {poll.round} {replaced}")
    drawn = [
        outcomes(poll, {voter: tuple(lot.sample(range(poll.candidates), poll.candidates)) for voter in replaced}, usual)
        for _ in range(DRAWS)
    ]
    return {
        voter: Outcome(*map(fmean, zip(*(lot_outcomes[voter] for lot_outcomes in drawn), strict=True)))
        for voter in replaced
    }


def choices(poll: Poll, ballots: Ballots) -> dict[str, int]:
    """Return the choice by each rule: the first candidate with the text that is chosen.

    Ties are broken by the same lots whatever the ballots are.
    """
    given, place = list(ballots.values()), f"{poll.session} {poll.episode} {poll.round}"
    orders = {rule: choose(given, poll.candidates) for rule, choose in RULES.items()}
    winners = {rule: break_ties(order, given, random.Random(place))[0] for rule, order in orders.items()}
    return {rule: poll.statements.index(poll.statements[winner]) for rule, winner in winners.items()}


def equivalence_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per step, profile and who, with the estimate of each measure; and rows for own minus stranger and minus LOT.

    Values are means over the cases of a session first; the interval is over sessions (none below five). A difference
    counts the cases that have both. Columns: step, profile, who, for each measure itself, with _low and _high, sessions, choices,
    cases, missing, reason.
    """
    table_rows: list[dict[str, Any]] = []
    for (step, profile), profile_rows in rows.groupby(["step", "profile"], sort=False):
        cases = {
            str(who): who_rows.set_index(["session", "episode", "round", "member"])
            for who, who_rows in profile_rows.groupby("who", sort=False)
        }
        values = {who: who_rows[list(MEASURES)] for who, who_rows in cases.items()}
        values |= {
            f"own - {other}": values["own"] - values[other]
            for other in ("stranger", LOT)
            if {"own", other} <= set(values)
        }
        table_rows += [
            {"step": step, "profile": profile, "who": who, **_estimates(who_rows, -1.0 if " - " in who else 0.0)}
            for who, who_rows in values.items()
        ]
    return pd.DataFrame(table_rows)


def _estimates(values: pd.DataFrame, least: float) -> dict[str, Any]:
    """Return the estimates of all measures. least: the lowest possible share; the points can fall to -1."""
    complete = values.dropna()
    sessions = complete.groupby(level="session").mean()
    estimates: dict[str, Any] = {}
    for measure in MEASURES:
        lowest = -1.0 if measure == "gap" else least
        ends = mean_interval(sessions[measure].to_numpy(dtype=float), bounds=(lowest, 1.0))
        estimates |= with_interval(measure, float(sessions[measure].mean()), ends)
    reason = why_no_interval(sessions["same_choice"].to_numpy(dtype=float), UNIT)
    choices = len(complete.reset_index().drop_duplicates(["session", "episode", "round"]))
    counts = {
        "sessions": len(sessions),
        "choices": choices,
        "cases": len(complete),
        "missing": len(values) - len(complete),
    }
    return estimates | counts | {"reason": reason}
