"""The law of social learning: how a Bayesian reads the choices of the people before it, and what it chooses.

The state of the world is A or B. People choose A or B one after another. Each has a private signal that is right with probability
`precision`, and sees the choices, not the signals, of the people before it. A belief is a log-odds: log(P(A) / P(B)).

A Bayesian who is undecided tosses a coin (`ties="coin"`, the rule of the source) or follows its own signal (`ties="own"`). An act
that no Bayesian would choose is read as the signal of the person who chose it (Anderson and Holt 1997, American Economic
Review 87(5)).

Source: Bikhchandani, Hirshleifer and Welch 1992, Journal of Political Economy 100(5).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from parley.llm.errors import UserError

A, B = "A", "B"
STATES = (A, B)
TIE = 1e-9
"""Log-odds nearer to 0 than this are undecided."""


class Person(NamedTuple):
    """How a person weighs what it knows. The defaults are a Bayesian's.

    own     weight of its own signal
    public  weight of the public belief, which holds the prior and the choices of others
    noise   0: it chooses what it believes; above 0: P(A) = 1 / (1 + exp(-(public L + own l) / noise))
    """

    own: float = 1.0
    public: float = 1.0
    noise: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number that is not finite, and for negative noise."""
        if not (all(map(math.isfinite, self)) and self.noise >= 0):
            raise UserError(
                "oracle: own, public and noise must be finite numbers, and noise at least 0. Example: oracle,own=2,noise=1"
            )


BAYESIAN = Person()
ALONE = Person(public=0.0)
"""A person who follows its own signal, whatever the others choose."""


class Outcomes(NamedTuple):
    """How a period ends: the probability of each end, and the expected share of people who choose right.

    right, wrong  a cascade on the right (wrong) option that no later person leaves
    left          a cascade that a later person leaves
    none          no cascade
    """

    right: float
    wrong: float
    left: float
    none: float
    correct: float


def log_odds(probability: float) -> float:
    """Return log(p / (1 - p)).

    >>> log_odds(0.5)
    0.0
    """
    return math.log(probability / (1 - probability))


def choice_probability(belief: float, signal: str, precision: float, ties: str, person: Person = BAYESIAN) -> float:
    """Return the probability that a person chooses A, given the public belief and its own signal.

    >>> choice_probability(0.0, "B", 0.7, "coin"), choice_probability(log_odds(0.7), "B", 0.7, "coin")
    (0.0, 0.5)
    """
    side = 1 if signal == A else -1
    weighed = person.public * belief + person.own * side * log_odds(precision)
    if person.noise > 0:
        return 1 / (1 + math.exp(-max(min(weighed / person.noise, 700.0), -700.0)))
    if abs(weighed) <= TIE:
        return 0.5 if ties == "coin" else float(side > 0)
    return float(weighed > 0)


@lru_cache(maxsize=1 << 16)
def act_probabilities(belief: float, precision: float, ties: str, person: Person = BAYESIAN) -> tuple[float, float]:
    """Return the probability of the act A when the state is A, and when it is B, over the person's signals."""
    after_a, after_b = (choice_probability(belief, signal, precision, ties, person) for signal in STATES)
    return precision * after_a + (1 - precision) * after_b, (1 - precision) * after_a + precision * after_b


def updated(belief: float, act: str, precision: float, ties: str) -> float:
    """Return the public belief after an act of a person whose signal has this precision, and who is taken for a Bayesian.

    >>> round(updated(0.0, "A", 0.7, "coin"), 3) == round(log_odds(0.7), 3)
    True
    """
    likely = [chance if act == A else 1 - chance for chance in act_probabilities(belief, precision, ties)]
    if max(likely) <= TIE:  # no Bayesian acts like this: the act shows the signal
        return belief + (1 if act == A else -1) * log_odds(precision)
    return belief + math.log(likely[0] / likely[1])


def public_belief(prior: float, history: Iterable[tuple[str, float]], ties: str) -> float:
    """Return the public belief after acts, each with the precision of its person's signal. prior: P(A) before all of them."""
    belief = log_odds(prior)
    for act, precision in history:
        belief = updated(belief, act, precision, ties)
    return belief


def in_cascade(belief: float, precision: float) -> str:
    """Return the option that a Bayesian chooses whatever its signal says; "" while the signal matters.

    >>> in_cascade(1.0, 0.7), in_cascade(-0.5, 0.7)
    ('A', '')
    """
    if abs(belief) <= log_odds(precision) + TIE:
        return ""
    return A if belief > 0 else B


def outcomes(prior: float, precision: float, ties: str, people: int, person: Person = BAYESIAN) -> Outcomes:
    """Return how a period with one precision ends when all people are such a person, exactly: every path is followed.

    Cascades are those of a Bayesian who sees the acts and takes the people for Bayesians. One that begins after the last person
    counts, too.
    """
    ends = defaultdict[tuple[bool, str], float](float)
    correct = 0.0
    for state, chance in ((A, prior), (B, 1 - prior)):
        paths = {(log_odds(prior), ""): chance}
        for _ in range(people):
            paths, right = _step(paths, state, precision, ties, person)
            correct += right / people
        for (belief, side), probability in paths.items():
            ends[state == A, _entered(side, belief, precision)] += probability
    right, wrong = ends[True, A] + ends[False, B], ends[True, B] + ends[False, A]
    left, none = (ends[True, end] + ends[False, end] for end in ("left", ""))
    return Outcomes(right, wrong, left, none, correct)


Paths = dict[tuple[float, str], float]
"""The probability of each public belief, with the cascade that it is in: A, B, left, or "" for none."""


def _step(paths: Paths, state: str, precision: float, ties: str, person: Person) -> tuple[Paths, float]:
    """Return the paths after one more person, and the probability that this person chooses right."""
    later, right = defaultdict[tuple[float, str], float](float), 0.0
    for (belief, side), probability in paths.items():
        side = _entered(side, belief, precision)
        chance = act_probabilities(belief, precision, ties, person)[STATES.index(state)]
        for act, share in ((A, chance), (B, 1 - chance)):
            if share > 0:
                end = "left" if side in STATES and side != act else side
                after = round(updated(belief, act, precision, ties), 9)
                later[after, end] += probability * share
                right += probability * share * (act == state)
    return dict(later), right


def _entered(side: str, belief: float, precision: float) -> str:
    return side or in_cascade(belief, precision)
