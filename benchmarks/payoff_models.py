"""Payoff measures on ratings with a known linear law: the ceiling, calibration, false alarms by unit. Run it by hand:

    python benchmarks/payoff_models.py            about two minutes on one core

The law: rating = quality of the statement - 0.7 * distance(person, statement) + Gumbel noise, so that the chance that a person
rates one statement above another is exactly expit(difference of the law). The linear model learns the law's features by least
squares on other people. Two scorers that are equally good by construction show how often an interval of their difference
leaves out 0: with groups as units, and with participants.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import numpy as np
import pandas as pd

from parley.analysis.statistics.intervals import Floats
from parley.studies.representatives.payoff_measures import (
    ERROR,
    GAIN,
    KEYS,
    MEASURES,
    PERSON,
    STATEMENT,
    Line,
    compare_scorers,
    deal_ratings,
    fit_line,
    measure_scorer,
    values,
)

STEP = 0.7
"""How much a rating falls for each point of distance."""
SIZE, EPISODES = 5, 3
EXACT = Line(0.0, 1.0, 1.0)


def draw_ratings(groups: int, seed: int) -> pd.DataFrame:
    """Return a row per rating: KEYS, rating, law, other (a rating with other noise), distance, quality."""
    rng = np.random.default_rng(seed)
    rows = []
    for group in range(groups):
        people = rng.normal(4.0, 1.5, SIZE)
        for episode in range(EPISODES):
            for statement in ("draft", "revision"):
                stance, quality = rng.normal(4.0, 1.0), rng.normal(5.0, 0.5)
                distance = np.abs(people - stance)
                law = quality - STEP * distance
                for person in range(SIZE):
                    rows.append(
                        (f"g{group}", f"g{group}e{episode}", f"g{group}p{person}", statement,
                         law[person] + rng.gumbel(), law[person], law[person] + rng.gumbel(), distance[person], quality)
                    )  # fmt: skip
    return pd.DataFrame(rows, columns=[*KEYS, "rating", "law", "other", "distance", "quality"])


def learn(train: pd.DataFrame, test: pd.DataFrame, name: str) -> Floats:
    """Return predictions for `test` of least squares on `train`. name: trained, blind (no distance), shuffled (dealt ratings)."""
    columns = ["quality"] if name == "blind" else ["distance", "quality"]
    if name == "shuffled":
        train = deal_ratings(train, np.random.default_rng(0))
    design = np.column_stack([np.ones(len(train)), train[columns]])
    weights, *_ = np.linalg.lstsq(design, train["rating"].to_numpy(float), rcond=None)
    return np.asarray(np.column_stack([np.ones(len(test)), test[columns]]) @ weights, dtype=float)


def table(groups: int = 120) -> Iterator[str]:
    """Yield the measures of the law, of the linear model, and of its two controls, a line each."""
    train, test = draw_ratings(groups, 1), draw_ratings(groups, 2)
    scores = {"law": test["law"]} | {name: learn(train, test, name) for name in ("trained", "blind", "shuffled")}
    for name, score in scores.items():
        rows = test.assign(score=score)
        line = fit_line(rows)
        measures = measure_scorer(rows, line, MEASURES)
        shown = ", ".join(
            f"{key} {measure.value:.3f} ({measure.low:.3f} to {measure.high:.3f})" for key, measure in measures.items()
        )
        yield f"{name}: {shown}, slope {line.slope:.2f}"


def false_alarms(repetitions: int = 400, groups: int = 20) -> Iterator[str]:
    """Yield how often the interval of the difference of two equally good scorers leaves out 0, by unit and measure."""
    alarms: dict[tuple[str, str], list[bool]] = {}
    for seed in range(repetitions):
        rows = draw_ratings(groups, seed)
        rng = np.random.default_rng([seed, 1])
        places = rows.groupby(["episode", "statement"], sort=False).ngroup().to_numpy()
        noisy = [rows.assign(score=rows["law"] + rng.normal(0, 1, places.max() + 1)[places]) for _ in range(2)]
        people = [scorer_rows.assign(group=scorer_rows["participant"]) for scorer_rows in noisy]
        for unit, scored in (("group", noisy), ("participant", people)):
            for measure in (STATEMENT, ERROR):
                mean = compare_scorers(*(values(scorer_rows, measure, EXACT) for scorer_rows in scored))
                alarms.setdefault((unit, measure), []).append(not mean.low <= 0 <= mean.high)
    for (unit, measure), flags in alarms.items():
        yield f"{measure}, unit {unit}: {np.mean(flags):.1%} of {len(flags)} intervals leave out 0"


def main() -> None:
    """Print the tables."""
    print("\n".join([*table(), *false_alarms()]))
    print(f"a blind scorer has {GAIN} and {PERSON} of 0.5 by definition")


if __name__ == "__main__":
    main()
