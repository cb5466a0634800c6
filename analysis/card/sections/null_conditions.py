"""Movement toward the Default: each condition compared with a control in which that cause of movement is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from parley.agents.society import DEFAULT
from parley.analysis.card.conditions import Batch, alone, copy, empty, same, shuffled, three, two
from parley.analysis.card.estimates import CardEstimate, find_estimate, jackknife, mean_estimate
from parley.analysis.card.labels import DIFFERENCE, NAMES, contrasted, directed
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import Quantity
from parley.analysis.card.sections._movement import SMALLEST, changes, effect, moved, starts, toward
from parley.analysis.contrasts import movement, to_and_from
from parley.analysis.formatting import count_phrase
from parley.model.scenario import Scenario
from parley.model.titles import join_phrases

ORDER = 2
TITLE = "Debates compared with controls"
NOTE = (
    "The numbers are points that an agent moves toward the Default's answer, from the first survey to the last. The "
    "Default's answer before the debates counts as exact. If a party begins at that answer on a topic, there is no "
    "direction, and the topic is left out for that party. Controls are the same rooms with the same agents and seeds. "
    "In *silence*, no agent speaks. In *empty talk*, the partners say a phrase without content. In *replies of other "
    "rooms*, the partners say what agents of their party said in other rooms. In the *debate with a copy of oneself*, "
    "the partner is the same persona under another name. Differences are within blocks."
)
NEEDS = (three, two, same, alone, copy, shuffled, empty)
SIGNED = ("share", DIFFERENCE)
PAIRS = ("three alone", "three empty", "three shuffled", "two alone", "same alone", "same copy")
EFFECTS = {pair.replace(" ", "_"): (pair.split()[0], pair.split()[1]) for pair in PAIRS}
"""Each difference: a condition and its control."""
QUANTITIES = {
    **{
        name: Quantity(f"moved toward the Default: {NAMES[condition]} minus {NAMES[control]}", "points")
        for name, (condition, control) in EFFECTS.items()
    },
    "asymmetry": Quantity("distance to the Default closed in a debate of three: {firsts} minus {seconds}", *SIGNED),
    "first_round": Quantity("share of the movement in a debate of three that the first round brings", "share"),
}
WATCH = ("three_alone",)
TO_DEFAULT, THERE = to_and_from("the Default's answer"), to_and_from("the Default")
NOWHERE = "no party begins away from the Default"


def claims(study: ConditionRecords, base: Scenario) -> list[CardEstimate]:
    sides = directions(study)
    moves = {name: moved(study, name, sides) for pair in EFFECTS.values() for name in pair}
    effects = [
        claim for name, (of, control) in EFFECTS.items() for claim in effect(name, moves[of], moves[control], NOWHERE)
    ]
    return [*effects, _asymmetry(study, sides), _first_round(study, sides)]


def directions(study: ConditionRecords) -> pd.Series:
    """By topic and party: how many points the Default starts above the party in debates of three, if `SMALLEST` or more."""
    before = starts(study, "three").reindex(columns=[*study.parties, DEFAULT]).astype(float)
    gaps = before[list(study.parties)].rsub(before[DEFAULT], axis=0).stack()
    return gaps[gaps.abs() >= SMALLEST]


def _asymmetry(study: ConditionRecords, sides: pd.Series) -> CardEstimate:
    """Movement divided by the distance at the start, each pooled over blocks: first minus second party."""
    claim, sums = CardEstimate("asymmetry"), _sums(changes(study, "three"), sides, "change")
    if any(party not in sums for party in study.parties):
        return replace(claim, reason="a party begins at the Default's answer, or its ratings could not be read")

    def closed(block_sums: pd.DataFrame) -> float:
        whole = block_sums.sum()
        first, second = (whole[party, "moved"] / whole[party, "gap"] for party in study.parties)
        return float(first - second)

    return jackknife(claim, sums, closed)


def _first_round(study: ConditionRecords, sides: pd.Series) -> CardEstimate:
    """The share of the movement in round 1, of agents rated before, after the first round, and last."""
    claim, rows = CardEstimate("first_round"), changes(study, "three").dropna(subset="first")
    sums = {"first": _sums(rows, sides, "first"), "whole": _sums(rows, sides, "change")}
    if sums["first"].empty:
        return replace(claim, reason=f"{NOWHERE}, or no agent was rated in three surveys")
    both = pd.DataFrame({name: party_sums.T.groupby(level=1).sum().T["moved"] for name, party_sums in sums.items()})
    if not mean_estimate(claim, both["whole"]).low > 0:
        return replace(claim, n=len(both), reason="no movement, so no share of the movement")
    return jackknife(claim, both, lambda block_sums: float(block_sums["first"].sum() / block_sums["whole"].sum()))


def _sums(rows: pd.DataFrame, sides: pd.Series, name: str) -> pd.DataFrame:
    """Sums over agents and topics: one row per block, columns party x (moved toward the Default, gap at the start).

    Empty if no agent was rated that could come nearer.
    """
    rows = toward(rows.assign(moved=rows[name]), sides, "moved").join(sides.abs().rename("gap"), on=["topic", "party"])
    if rows.empty:
        return pd.DataFrame()
    return rows.groupby(["block", "party"], sort=False)[["moved", "gap"]].sum().unstack().swaplevel(axis=1).dropna()


def sentences(claims: Sequence[CardEstimate], first: Batch) -> Iterator[str]:
    """For "In short"."""
    silence, empty_talk, others = (
        find_estimate(claims, name) for name in ("three_alone", "three_empty", "three_shuffled")
    )
    if silence is None:
        return
    people = " and ".join(map(first.society.plural, first.parties))
    who = f"Over {count_phrase(first.base.rounds, 'round')}, {people}"
    text = f"**Is the movement persuasion?** {contrasted(who, silence, ('debates of three', 'silence'), TO_DEFAULT)}"
    if empty_talk:
        text += (
            f" With empty talk, agents moved {movement(empty_talk.null, TO_DEFAULT)} without any argument. "
            f"What partners say moves agents {directed(empty_talk, THERE)}."
        )
    if others:
        text += (
            " With replies recorded in other rooms, which answer no agent in the room, agents moved "
            f"{movement(others.null, TO_DEFAULT)}. Replies to agents in the room move agents "
            f"{directed(others, THERE)}, computed before rounding."
        )
    yield text


def result(claims: Sequence[CardEstimate], first: Batch) -> str:
    """The first sentence of the section."""
    claim_by_condition = {
        name: claim for name in ("three", "two", "same") if (claim := find_estimate(claims, f"{name}_alone"))
    }
    parts = [f"{directed(claim, TO_DEFAULT)} in a {NAMES[name]}" for name, claim in claim_by_condition.items()]
    return f"Compared with silence, agents moved {join_phrases(parts)}." if parts else ""
