"""Ranks mechanisms by their error on rooms that they were not fitted to, and says which one the run supports.

The error is that of one interval: what each agent knew and heard is as recorded, and the law predicts its next
attitude. So a law is judged by its mechanism alone; errors do not add up from survey to survey, as they would in the
prediction of a whole debate. Each room is predicted by a fit to all other rooms.

The unit is the room. One law beats another if the 95% interval of the difference of their squared errors, paired by
room, is above 0. With K laws, each law has K - 1 rivals, so the interval is widened (Bonferroni). A law that is best is
then beaten by any other in at most about 5% of runs. The verdict is the law that no other beats. A law that contains
another one (docs/populations.md) has more numbers to fit, and so a larger error if the smaller law is right. The test of
Clark and West 2007 (Journal of Econometrics 138(1), 291-311) takes this into account: the larger law is left out if it
is not better by this test, at half the level: fits to all other rooms are nearly the same fit, so that a larger law
seems better whichever way chance moves its numbers. If several laws remain, the run cannot tell between them. Source of
the idea: the model confidence set of Hansen, Lunde and Nason 2011, Econometrica 79(2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from parley.agents.laws.base import Floats
from parley.agents.mechanisms import MECHANISMS, Mechanism
from parley.analysis.statistics.intervals import FEWEST, LEVEL, NONE, Ends, is_even
from parley.llm.errors import UserError
from parley.llm.seeding import derive

from .fit import Fit, fit_with_draws, predict_rooms, room_means, sum_rooms
from .rows import Rows

VERDICT_ROOMS = 10
"""With fewer rooms there is no verdict."""
DRAWS = 200
ALL = "all"


@dataclass(frozen=True, eq=False)
class Candidate:
    """A mechanism fitted to a run.

    spec: its name in the registry. predicted: (n,) the next attitude by a fit to the other rooms. errors: (rooms,) the
    mean squared error. fit: the fit
    to all rooms. draws: fits drawn from the uncertainty of the numbers.
    """

    name: str
    spec: str
    mechanism: Mechanism
    predicted: Floats
    errors: Floats
    fit: Fit
    draws: Fit

    @property
    def error(self) -> float:
        """The mean squared error over rooms, in squared points."""
        return float(self.errors.mean())


@dataclass(frozen=True)
class Verdict:
    """What a run supports.

    winner: the name of the law, "" if there is none. rivals: the laws between which the run cannot tell. equals: laws
    that contain the winner and are not beaten: they cannot be excluded, but are not needed. reason: why there is no
    winner.
    """

    winner: str = ""
    rivals: tuple[str, ...] = ()
    equals: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Contest:
    """Candidates from the lowest error to the highest; why others were not fitted, by name; the verdict; the rows."""

    candidates: tuple[Candidate, ...]
    unfit: Mapping[str, str]
    verdict: Verdict
    rows: Rows

    @property
    def best(self) -> Candidate:
        """The winner; without one, the rival with the lowest error."""
        names = [self.verdict.winner] if self.verdict.winner else self.verdict.rivals
        return next((candidate for candidate in self.candidates if candidate.name in names), self.candidates[0])


def choose_mechanisms(specs: Iterable[str] = (ALL,)) -> dict[str, tuple[str, Mechanism]]:
    """Return the spec and the mechanism of each candidate by name, baselines first; they always take part.

    specs: names of mechanisms, `all`, or files of your own. Errors: UserError.
    """
    builtin = {name: MECHANISMS.open(name) for name in MECHANISMS.names()}
    given = [spec.strip() for spec in specs]
    chosen = [name for name, mechanism in builtin.items() if mechanism.baseline]
    chosen += [name for name in builtin if ALL in given and name not in chosen]
    chosen += [spec for spec in given if spec != ALL and spec not in chosen]
    labels = MECHANISMS.modules(chosen)
    return {label: (spec, MECHANISMS.open(spec)) for label, spec in zip(labels, chosen, strict=True)}


def run_contest(rows: Rows, mechanisms: Mapping[str, tuple[str, Mechanism]], draws: int = DRAWS) -> Contest:
    """Return the contest of mechanisms on rows. Errors: UserError with fewer than 5 rooms."""
    if rows.count < FEWEST:
        raise UserError(
            f"laws are compared over rooms, and this run has {rows.count} with intervals that can be used: run {FEWEST} "
            f"repetitions or more ({VERDICT_ROOMS} for a verdict)"
        )
    unfit = {name: why for name, (_, mechanism) in mechanisms.items() if (why := mechanism.unfit(rows.situation))}
    fitted = [_fit(name, *mechanisms[name], rows, draws) for name in mechanisms if name not in unfit]
    candidates = tuple(sorted(fitted, key=lambda candidate: candidate.error))
    return Contest(candidates, unfit, decide(candidates, rows), rows)


def _fit(name: str, spec: str, mechanism: Mechanism, rows: Rows, draws: int) -> Candidate:
    sums, generator = sum_rooms(mechanism, rows), np.random.default_rng(derive(0, "law contest", name))
    predicted, fits = predict_rooms(mechanism, rows, sums), fit_with_draws(mechanism, sums, draws, generator)
    return Candidate(name, spec, mechanism, predicted, room_means((predicted - rows.after) ** 2, rows), *fits)


def decide(candidates: Sequence[Candidate], rows: Rows) -> Verdict:
    """Return the verdict."""
    rooms = len(candidates[0].errors)
    if rooms < VERDICT_ROOMS:
        names = tuple([candidate.name for candidate in candidates])
        return Verdict(rivals=names, reason=f"{rooms} rooms are too few: a verdict needs {VERDICT_ROOMS}")
    count = len(candidates)
    unbeaten = [
        candidate for candidate in candidates if not any(beats(other, candidate, count) for other in candidates)
    ]
    needed = [
        candidate for candidate in unbeaten if not any(_spared(candidate, other, rows, count) for other in unbeaten)
    ]
    if len(needed) > 1:
        return Verdict(
            rivals=tuple([candidate.name for candidate in needed]), reason="their errors on unseen rooms are too alike"
        )
    return Verdict(
        needed[0].name, equals=tuple([candidate.name for candidate in unbeaten if candidate is not needed[0]])
    )


def contains(candidate: Candidate, other: Candidate, parties: int) -> bool:
    """Return whether `other` is a special case of `candidate`. With one party, levels of parties are nothing special."""
    return other.name in candidate.mechanism.contains and (
        parties > 1 or not candidate.mechanism.by_party or other.name == "still"
    )


def _spared(candidate: Candidate, other: Candidate, rows: Rows, count: int) -> bool:
    """Return whether `candidate` contains `other` and is not better by the test of Clark and West."""
    if not contains(candidate, other, len(rows.situation.names)):
        return False
    noise = room_means((candidate.predicted - other.predicted) ** 2, rows)
    return not difference_interval(other.errors - candidate.errors + noise, 2 * count - 1)[0] > 0


def beats(candidate: Candidate, other: Candidate, count: int) -> bool:
    """Return whether `candidate` has a smaller error than `other` on rooms not seen. count: how many laws are compared."""
    return difference_interval(other.errors - candidate.errors, count)[0] > 0


def difference_interval(differences: Floats, count: int) -> Ends:
    """Return the 95% interval of a mean difference, one a room, widened for the K - 1 rivals of each of `count` laws.

    (nan, nan) where nothing varies: such laws predict the same, or there is one room too few.
    """
    rooms = len(differences)
    if rooms < FEWEST or is_even(differences):
        return NONE
    level = 1 - (1 - LEVEL) / max(count - 1, 1)
    reach = float(stdtrit(rooms - 1, (1 + level) / 2) * differences.std(ddof=1)) / math.sqrt(rooms)
    return float(differences.mean()) - reach, float(differences.mean()) + reach
