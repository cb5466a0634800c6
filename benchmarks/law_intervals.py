"""Do the 95% intervals of `run.py study fit-law` contain the planted numbers, by the number of rooms?

    python benchmarks/law_intervals.py          200 sets a row (minutes)
    python benchmarks/law_intervals.py 100      100 sets a row

Two kinds of rooms, both without a language model. `fitted law`: everyone moves at once, as in the law that is fitted
(benchmarks/law_contest.py). `in turn`: three people speak one after another, as in a debate of the oracle: each line has an even
grade, and each hearer moves by it at once, so that the second line of a round meets a person whom the first one has moved.
The fitted law leaves this out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from law_contest import Plan, simulate

from parley.agents.laws.base import AXIS, Floats
from parley.agents.mechanisms import MECHANISMS, Situation
from parley.analysis.statistics.intervals import tail
from parley.studies.law_contest.fit import fit_with_draws, sum_rooms
from parley.studies.law_contest.rows import Rows

ROOMS = (10, 20, 40, 80, 160, 320)
LAW, DRAWS = "pull_and_hearing", 200
KAPPA, MU, POINT, SIGMA = 0.05, 0.06, 8.0, 0.15
"""The oracle's numbers on racism, of each line."""
STARTS, QUIRK, ROUNDS = (2.8, 8.7, 8.0), (0.5, 0.5, 0.0), 5
"""Where people of the two debaters and a Default begin, and how far people of one party differ (SD)."""
MOVED = 1 - (1 - KAPPA - MU) ** 2
TURNS = np.array([KAPPA / (KAPPA + MU) * MOVED, MU / (KAPPA + MU) * MOVED, POINT])
"""The numbers of the fitted law that two lines a round amount to: kappa, mu, point."""
AT_ONCE = np.array([0.15, 0.12, 10 * 0.10 / 0.12])


def speak_in_turn(rooms: int, generator: np.random.Generator) -> Rows:
    """Return the rows of rooms in which three people speak in turn for five rounds."""
    level = np.clip(STARTS + np.array(QUIRK) * generator.standard_normal((rooms, 3)), *AXIS)
    path, heard = [level.copy()], np.zeros((rooms, ROUNDS, 3, 2))
    for round_ in range(ROUNDS):
        for speaker in range(3):
            low = 2 * np.floor(level[:, speaker] / 2)
            grade = low + 2 * (generator.random(rooms) < (level[:, speaker] - low) / 2)
            for hearer in {0, 1, 2} - {speaker}:
                heard[:, round_, hearer, speaker - (speaker > hearer)] = grade
                move = KAPPA * (grade - level[:, hearer]) + MU * (POINT - level[:, hearer])
                moved = level[:, hearer] + move + SIGMA * generator.standard_normal(rooms)
                level[:, hearer] = np.clip(moved, *AXIS)
        path.append(level.copy())
    return _rows(np.stack(path, axis=1), heard)


def _rows(path: Floats, heard: Floats) -> Rows:
    """path: (rooms, surveys, people); heard: (rooms, rounds, people, lines)."""
    rooms, positions = len(path), path[:, :-1].reshape(-1)
    parties = np.tile(np.arange(3), rooms * ROUNDS).astype(np.int64)
    first, ends = np.repeat(path[:, :1], ROUNDS, axis=1).reshape(-1), 2 * np.arange(len(positions) + 1)
    situation = Situation(positions, first, parties, ("a", "b", "c"), ends, heard.reshape(-1), np.ones(heard.size))
    return Rows(situation, path[:, 1:].reshape(-1), np.repeat(np.arange(rooms), ROUNDS * 3), {})


def move_at_once(rooms: int, generator: np.random.Generator) -> Rows:
    """Return the rows of rooms that follow the fitted law."""
    return simulate(Plan(LAW, (0.15, 0.02, 0.10), rooms=rooms), generator)


def coverage(
    make: Callable[[int, np.random.Generator], Rows], truth: Floats, rooms: int, sets: int
) -> tuple[Floats, Floats]:
    """Return for kappa, mu and point: the share of intervals that contain the truth, and the bias in standard deviations."""
    mechanism, share, inside, fitted = MECHANISMS.open(LAW), tail(rooms), [], []
    for number in range(sets):
        generator = np.random.default_rng([13, rooms, number])
        rows = make(rooms, generator)
        whole, drawn = fit_with_draws(mechanism, sum_rooms(mechanism, rows), DRAWS, generator)
        best, values = (
            np.stack(list(mechanism.parameters(fit.coefficients, fit.thresholds, rows.situation).values()))
            for fit in (whole, drawn)
        )
        low, high = np.nanquantile(values, [share, 1 - share], axis=1)  # without a pull there is no point
        inside.append((low <= truth) & (truth <= high))
        fitted.append(best[:, 0])
    return np.mean(inside, axis=0), (np.mean(fitted, axis=0) - truth) / np.std(fitted, axis=0, ddof=1)


def main(sets: int) -> None:
    """Print a row for each kind and number of rooms."""
    print(f"{sets} sets a row; share of 95% intervals with the truth (and bias / SD): kappa, mu, point")
    for name, make, truth in (("fitted law", move_at_once, AT_ONCE), ("in turn", speak_in_turn, TURNS)):
        for rooms in ROOMS:
            shares_and_biases = zip(*coverage(make, truth, rooms, sets), strict=True)
            print(
                f"{name:12} {rooms:4} rooms ",
                *[f"{share:.3f} ({bias:+.2f})" for share, bias in shares_and_biases],
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
