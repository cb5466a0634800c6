"""How often does a contest of laws find the law that was planted, and are its draws calibrated?

    python benchmarks/law_contest.py            every part, 200 sets a row (minutes)
    python benchmarks/law_contest.py 20         20 sets a row

Planted: debates of rooms that follow one mechanism, with normal noise. For each mechanism: how often the verdict is the
planted law, another one, or that the run cannot tell. Nulls: no agent moves; noise of ratings around fixed levels, for
which `regression` is right. Weak: laws that are hard to tell from others.
Calibration (Talts and others 2018, arXiv 1804.06788): parameters are drawn, rooms simulated and fitted; the rank of the
true value among the draws has to be uniform.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import chisquare

from parley.agents.laws.base import AXIS, Codes, Flags, Floats
from parley.agents.mechanisms import MECHANISMS, Situation
from parley.studies.law_contest.contest import choose_mechanisms, run_contest
from parley.studies.law_contest.fit import fit_with_draws, sum_rooms
from parley.studies.law_contest.rows import Rows

OF_PEOPLE, OF_LINES = ("own", "first", "parties", "average", "others"), ("heard", "weights", "apart")
PARTIES = {"left": 3.0, "right": 8.0}


@dataclass(frozen=True)
class Plan:
    """Rooms that follow a mechanism.

    people: in a room, half of each party. surveys: after the first one. noise: SD of each move. error: SD of each
    rating. spread: SD of first attitudes around their party's mean. reach: probability that an agent hears a line.
    questions: further questions, on which everyone wanders about.
    """

    law: str
    coefficients: tuple[float, ...] = ()
    thresholds: tuple[float, ...] = ()
    rooms: int = 40
    people: int = 4
    surveys: int = 5
    noise: float = 0.2
    error: float = 0.0
    spread: float = 1.5
    reach: float = 1.0
    questions: int = 0
    label: str = field(default="", compare=False)

    @property
    def truth(self) -> str:
        """The verdict that is right: noise around fixed levels is regression to the mean."""
        return "regression" if self.error and self.law == "still" else self.law


PLANTED = (
    Plan("still"),
    Plan("still", noise=0.0, error=0.3, label="still, ratings with noise"),
    Plan("party_levels", (1.2, 1.4, -0.3, -0.2)),
    Plan("degroot", (0.2,)),
    Plan("friedkin_johnsen", (0.25, 0.25)),
    Plan("model_pull", (0.03, 0.12)),
    Plan("pull_and_hearing", (0.15, 0.02, 0.10)),
    Plan("anchored_pull", (0.25, 0.2, 0.04, 0.16)),
    Plan("line_by_line", (0.4, 0.1, 0.5), (0.2,), people=6, reach=0.4, label="line_by_line, 1 to 5 lines"),
    Plan("hegselmann_krause", (0.4,), (3.0,), people=6, spread=3.0),
    Plan("deffuant", (0.5,), (2.5,), people=6, spread=3.0),
    Plan("jager_amblard", (0.1,), (2.5, 5.0), people=6),
    Plan("majority", (0.2,), (2.0,)),
    Plan("coupled", (0.1, 0.1), questions=1),
    Plan("vector_confidence", (0.4,), (4.0,), people=6, spread=3.0, questions=1),
)
WEAK = (
    Plan("degroot", (0.02,), label="degroot, rate 0.02"),
    Plan("degroot", (0.05,), rooms=10, label="degroot, rate 0.05, 10 rooms"),
    Plan("friedkin_johnsen", (0.25, 0.03), label="friedkin_johnsen, innate 0.03"),
    Plan("pull_and_hearing", (0.03, 0.02, 0.10), label="pull_and_hearing, kappa 0.03"),
    Plan("deffuant", (0.4,), (2.5,), label="deffuant, one near line at most"),
    Plan("degroot", (0.2,), error=0.3, label="degroot, ratings with noise"),
)


def simulate(plan: Plan, generator: np.random.Generator) -> Rows:
    """Return the rows of rooms that follow a plan: in each interval everyone hears all others of its room, or some."""
    mechanism, size = MECHANISMS.open(plan.law), plan.rooms * plan.people
    parties = np.tile(np.arange(plan.people) % 2, plan.rooms).astype(np.int64)
    means = np.array(list(PARTIES.values()))[parties]
    path, reached, others = [np.clip(means + plan.spread * generator.standard_normal(size), *AXIS)], [], []
    wander = 10 * generator.random((size, plan.questions))
    for _ in range(plan.surveys):
        reached.append(generator.random((size, plan.people - 1)) < plan.reach)
        wander = np.clip(wander + plan.noise * generator.standard_normal(wander.shape), *AXIS)
        others.append(wander)
        situation = _situation(path, reached[-1], wander, parties, plan)
        move = mechanism.columns(situation, np.array(plan.thresholds)) @ np.array(plan.coefficients)
        path.append(np.clip(path[-1] + move + plan.noise * generator.standard_normal(size), *AXIS))
    rated = [np.clip(level + plan.error * generator.standard_normal(size), *AXIS) for level in path]
    times = [_situation(rated[: time + 1], reached[time], others[time], parties, plan) for time in range(plan.surveys)]
    return _rows(times, np.concatenate(rated[1:]), plan)


def _situation(path: list[Floats], reached: Flags, answers: Floats, parties: Codes, plan: Plan) -> Situation:
    """Return what everyone knows at the end of a path: (people of all rooms,) at each survey.

    reached: (people, others of the room). answers: (people, questions).
    """
    positions, count = path[-1], plan.people
    others = np.array([[j for j in range(count) if j != i] for i in range(count)])
    speakers = (np.arange(plan.rooms)[:, None, None] * count + others).reshape(reached.shape)[reached]
    hearers = np.repeat(np.arange(len(positions)), reached.sum(axis=1))
    everything = np.column_stack((positions, answers))
    starts = {name: float(path[0][parties == code].mean()) for code, name in enumerate(PARTIES)}
    return Situation(
        own=positions,
        first=path[0],
        parties=parties,
        names=tuple(PARTIES),
        ends=_ends(reached.sum(axis=1)),
        heard=positions[speakers],
        weights=np.ones(len(speakers)),
        average=np.mean(path, axis=0),
        others=answers,
        questions=tuple([f"question {number}" for number in range(plan.questions)]),
        apart=np.sqrt(((everything[speakers] - everything[hearers]) ** 2).sum(axis=1)),
        starts=starts,
    )


def _rows(times: list[Situation], after: Floats, plan: Plan) -> Rows:
    """Return the situations of all surveys as rows sorted by room; who heard nothing is left out, as in a run."""
    rooms = np.tile(np.repeat(np.arange(plan.rooms), plan.people), plan.surveys)
    counts = np.concatenate([np.diff(situation.ends) for situation in times])
    order = np.argsort(rooms, kind="stable")
    order = order[counts[order] > 0]
    lines = np.split(np.arange(counts.sum()), np.cumsum(counts)[:-1])
    line = np.concatenate([lines[row] for row in order.tolist()])
    whole = {
        name: np.concatenate([getattr(situation, name) for situation in times]) for name in (*OF_PEOPLE, *OF_LINES)
    }
    parts = {name: values[order if name in OF_PEOPLE else line] for name, values in whole.items()}
    situation = replace(times[0], ends=_ends(counts[order]), **parts)
    return Rows(situation, after[order], rooms[order].astype(np.int64), {})


def _ends(counts: Codes) -> Codes:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def verdicts(plan: Plan, sets: int) -> Counter[str]:
    """Return how often each verdict was reached; "" for cannot tell."""
    laws = choose_mechanisms()
    generators = (np.random.default_rng([7, number]) for number in range(sets))
    return Counter(run_contest(simulate(plan, rng), laws, draws=1).verdict.winner for rng in generators)


def ranks(plan: Plan, sets: int, draws: int = 99, seed: int = 11) -> Iterator[Floats]:
    """Yield the rank of each true parameter of `pull_and_hearing` among its draws, 0 to `draws`: (kappa, mu, point)."""
    mechanism = MECHANISMS.open("pull_and_hearing")
    for number in range(sets):
        generator = np.random.default_rng([seed, number])
        true = np.array([generator.uniform(0.05, 0.3), generator.uniform(0.05, 0.2), generator.uniform(2, 8)])
        kappa, mu, point = true.tolist()
        drawn = (kappa, mu * (1 - point / 10), mu * point / 10)
        rows = simulate(Plan(plan.law, drawn, (), plan.rooms, plan.people, plan.surveys, plan.noise), generator)
        _, fit = fit_with_draws(mechanism, sum_rooms(mechanism, rows), draws, generator)
        numbers = np.stack(list(mechanism.parameters(fit.coefficients, fit.thresholds, rows.situation).values()))
        yield (numbers < true[:, None]).sum(axis=1)


def uniformity(set_ranks: Floats, draws: int = 99, bins: int = 10) -> list[float]:
    """Return the p of a chi-square test that ranks are uniform, for each parameter: set_ranks is (sets, parameters)."""
    counts = [np.histogram(column, bins=bins, range=(0, draws + 1))[0] for column in np.asarray(set_ranks).T]
    return [float(chisquare(count).pvalue) for count in counts]


def main(sets: int) -> None:
    """Print all parts."""
    print(f"{sets} sets a row; 40 rooms of 4 people (bounded confidence and lines: 6), 5 intervals, unless noted")
    for title, plans in (("planted", PLANTED), ("weak", WEAK)):
        print(f"{title:34} {'right':>6} {'wrong':>6} {'cannot tell':>12}   wrong verdicts")
        for plan in plans:
            _print_verdicts(plan, sets)
    for rooms in (20, 40):
        set_ranks = np.array(list(ranks(Plan("pull_and_hearing", rooms=rooms), 5 * sets)))
        print(f"calibration, {rooms} rooms: p of kappa, mu, point:", *[f"{p:.3f}" for p in uniformity(set_ranks)])


def _print_verdicts(plan: Plan, sets: int) -> None:
    begun, counts = time.perf_counter(), verdicts(plan, sets)
    right, unsure = counts.pop(plan.truth, 0), counts.pop("", 0)
    others = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    took, wrong = (time.perf_counter() - begun) / sets, sets - right - unsure
    print(f"{plan.label or plan.law:34} {right:6} {wrong:6} {unsure:12}   {others} ({took:.2f} s a set)", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
