"""What a card of the known-truth speaker has to find: the planted law, followed without noise from where its people begin.

The law is linear, so that means move as the law moves them: a room of party means gives the expected movement of any company.
The ends of the axis, at which the speaker stops and the law does not, are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from statistics import fmean

import pandas as pd

from parley.agents.persona import load_personas
from parley.agents.society import DEFAULT
from parley.analysis.card.estimates import ALL, CardEstimate
from parley.analysis.card.sections._movement import SMALLEST
from parley.analysis.card.sections.echo import OUTWARD
from parley.analysis.card.sections.null_conditions import EFFECTS
from parley.analysis.card.sections.pull import lost
from parley.analysis.statistics.intervals import NO_VARIATION
from parley.llm.backends.oracle.dynamics import Parameters, move, start
from parley.llm.backends.oracle.phrases import banks
from parley.model.scenario import Scenario

SIZES = {"three": 3, "two": 2, "same": 2, "empty": 3, "alone": 3}
"""How many sit in a room of each condition: both parties, and the Default where there are three; in `same` one party."""


@dataclass(frozen=True)
class Planted:
    """`parameters` by topic, and the scenario on which they were held."""

    parameters: Mapping[str, Parameters]
    base: Scenario

    @property
    def parties(self) -> tuple[str, str]:
        """The two parties that debate."""
        return self.base.society.debaters

    @cached_property
    def starts(self) -> dict[str, dict[str, float]]:
        """By topic: the mean attitude of each party's people before a debate, and the Default's."""
        sentence_banks = banks(self.base.subject.society)
        people = {party: load_personas(party, self.base.persona_folder) for party in (*self.parties, DEFAULT)}
        return {
            topic: {
                party: fmean(
                    start(sentence_banks, persona.backstory, topic, self.parameters[topic]) for persona in ones
                )
                for party, ones in people.items()
            }
            for topic in self.base.subject.topic
        }

    def moved(
        self, condition: str, topic: str, party: str, rounds: int | None = None, opens: bool | None = None
    ) -> float:
        """How far a party is expected to move, up the axis, over every seat that may begin; `opens`: over those in which it
        begins itself, or does not.
        """
        if condition == "alone":
            return 0.0
        seats = (party, party) if condition == "same" else (*self.parties, DEFAULT)[: SIZES[condition]]
        begun, planted, says_something = self.starts[topic], self.parameters[topic], condition != "empty"
        shares = [1 - planted.stays(seat) for seat in seats]
        ends = [
            _held([begun[seat] for seat in seats], first, rounds or self.base.rounds, planted, says_something, shares)
            for first, opener in enumerate(seats)
            if opens is None or opens == (opener == party)
        ]
        places = [place for place, seat in enumerate(seats) if seat == party]
        return fmean(end[place] for end in ends for place in places) - begun[party]

    def outward(self, topic: str, party: str) -> float:
        """The direction away from the other party, up the axis."""
        return math.copysign(1.0, self.starts[topic][party] - self.starts[topic][self.base.society.other(party)])


def _held(
    values: list[float], first: int, rounds: int, planted: Parameters, says_something: bool, shares: Sequence[float]
) -> list[float]:
    """All people speak in turn, and all others hear it.

    `says_something`: whether they can make something of it; `shares`: of a move.
    """
    values, seats = list(values), len(values)
    for turn in range(first, first + rounds * seats):
        speaker = turn % seats
        for hearer in range(seats):
            if hearer != speaker:
                values[hearer] += shares[hearer] * move(
                    values[hearer], values[speaker] if says_something else None, planted
                )
    return values


def truth(planted: Planted, claim: CardEstimate, sides: pd.Series) -> float | None:
    """What a claim should have found; None for one of which nothing is planted.

    sides: the directions that the card went by (null_conditions.directions): which parties and topics are in it.
    """
    topics = planted.base.subject.topic if claim.topic == ALL else (claim.topic,)
    laws = [planted.parameters[topic] for topic in topics]
    if claim.quantity in _BY_PARTY:
        return _BY_PARTY[claim.quantity](laws[0], *(1 - laws[0].stays(party) for party in planted.parties))
    if claim.quantity in _PLAIN:
        # One fit over people of different stubbornness has no planted value, but the Default's answer and its own pull have.
        alike = len({law.stays(party) for law in laws for party in planted.parties}) == 1
        return _PLAIN[claim.quantity](laws[0]) if alike or claim.quantity == "default" else None
    if claim.quantity in _IN_ROOMS:
        return _IN_ROOMS[claim.quantity](planted, [(topic, party) for topic in topics for party in planted.parties])
    cells = [(topic, party) for topic, party in sides.index if topic in topics]
    if claim.quantity in EFFECTS and all(name in SIZES for name in EFFECTS[claim.quantity]) and cells:
        of, null = EFFECTS[claim.quantity]
        return fmean(_sign(sides, cell) * (planted.moved(of, *cell) - planted.moved(null, *cell)) for cell in cells)
    if claim.quantity == "asymmetry" and {party for _, party in cells} == set(planted.parties):
        first, second = (
            _closed(planted, [cell for cell in cells if cell[1] == party], sides) for party in planted.parties
        )
        return first - second
    if claim.quantity == "first_round" and cells:
        first, whole = (
            sum(_sign(sides, cell) * planted.moved("three", *cell, rounds) for cell in cells) for rounds in (1, None)
        )
        return first / whole if whole else None
    return None


_PLAIN: dict[str, Callable[[Parameters], float | None]] = {
    "kappa": lambda law: law.kappa,
    "mu": lambda law: law.mu,
    "mu_empty": lambda law: law.mu,
    "lost": lambda law: lost(law.mu),
    "half_life": lambda law: math.log(0.5) / math.log(1 - lost(law.mu)) if law.mu else math.inf,
    "level": lambda law: law.bias if law.mu else None,
    "level_default": lambda law: 0.0 if law.mu else None,
    "default": lambda law: law.bias,
}
_BY_PARTY: dict[str, Callable[[Parameters, float, float], float]] = {
    "kappa_first": lambda law, first, second: first * law.kappa,
    "kappa_second": lambda law, first, second: second * law.kappa,
    "mu_first": lambda law, first, second: first * law.mu,
    "mu_second": lambda law, first, second: second * law.mu,
    "closed_apart": lambda law, first, second: (first - second) * (law.kappa + law.mu),
}
"""Of a law, and the shares of a move that each of the two parties makes."""


def _outward(planted: Planted, cells: Cells, of: str, null: str) -> float:
    return fmean(planted.outward(*cell) * (planted.moved(of, *cell) - planted.moved(null, *cell)) for cell in cells)


def _opener(planted: Planted, cells: Cells, rounds: int | None) -> float:
    """Toward the other party, of who begins less the same when it answers."""
    gaps = [
        planted.moved("two", *cell, rounds, opens=True) - planted.moved("two", *cell, rounds, opens=False)
        for cell in cells
    ]
    return fmean(-planted.outward(*cell) * gap for cell, gap in zip(cells, gaps, strict=True))


def _reversion(planted: Planted, cells: Cells) -> float | None:
    """Of a debate that goes on as it began, over those who move far enough."""
    rounds = range(1, planted.base.rounds + 1)
    paths = [[planted.moved("two", *cell, round_) for round_ in rounds] for cell in cells]
    ways = [(fmean(path[:-1]), path[-1]) for path in paths if len(path) > 1]
    ways = [(gone, end) for gone, end in ways if abs(gone) >= SMALLEST]
    return 1 - sum(abs(end) for _, end in ways) / sum(abs(gone) for gone, _ in ways) if ways else None


Cells = Sequence[tuple[str, str]]
_IN_ROOMS: dict[str, Callable[[Planted, Cells], float | None]] = {
    **{name: partial(_outward, of=of, null=null) for name, (of, null) in OUTWARD.items()},
    "opener_once": partial(_opener, rounds=1),
    "opener": partial(_opener, rounds=None),
    "reversion": _reversion,
    "reversion_unannounced": _reversion,
    "closing": lambda planted, cells: 0.0,
}
"""Of topics and parties: what the law does in rooms of two. An announced closing is nothing to it."""


def _closed(planted: Planted, cells: Sequence[tuple[str, str]], sides: pd.Series) -> float:
    """Movement over distance at the start, pooled over topics."""
    gap = sum(abs(planted.starts[topic][DEFAULT] - planted.starts[topic][party]) for topic, party in cells)
    return sum(_sign(sides, cell) * planted.moved("three", *cell) for cell in cells) / gap


def _sign(sides: pd.Series, cell: tuple[str, str]) -> float:
    return math.copysign(1.0, float(sides[cell]))


def covered(claim: CardEstimate, true: float) -> bool:
    """Whether the interval holds it; a hair of rounding is allowed, an end that is missing is none. Where nothing varied it is
    the estimate alone.
    """
    hair = 1e-9
    if claim.reason == NO_VARIATION:
        return abs(claim.estimate - true) <= hair
    low = -math.inf if math.isnan(claim.low) else claim.low
    high = math.inf if math.isnan(claim.high) else claim.high
    return low - hair <= true <= high + hair
