"""How often the intervals of `run.py study mixed` hold a planted effect, and how wide they are.

python benchmarks/mixed_subjects.py [--populations 2000]

A line per population and estimator: the share of intervals that hold the effect, the mean width beside that of people alone, and
the mean estimate. Predictions are 3 points too high, and their effect is 1 in place of 0.5. `points`: outcomes of whole points,
1-7; `skewed`: outcomes with a long tail. The bar is 94 to 96%.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401  (`parley` is this checkout)

EFFECT = 0.5
POPULATIONS = (  # people and others in a condition, correlation, kind
    (5, 50, 0.5, "normal"), (10, 20, 0.8, "normal"), (10, 200, 0.0, "normal"), (20, 200, 0.6, "normal"),
    (50, 50, 0.3, "normal"), (100, 1000, 0.7, "normal"), (20, 200, 0.6, "points"), (20, 200, 0.6, "skewed"),
)  # fmt: skip


def draw(random: object, people: int, others: int, r: float, kind: str) -> object:
    """A sample with two arms, and predictions of other people in both conditions."""
    import numpy as np

    from parley.studies.mixed_subjects.people import Arm, Sample

    assert isinstance(random, np.random.Generator)

    def outcome(hidden: np.ndarray, treated: int) -> np.ndarray:
        latent = r * hidden + np.sqrt(1 - r * r) * random.normal(size=len(hidden))
        if kind == "points":
            return np.clip(np.round(4 + 2 * (latent + EFFECT * treated)), 1, 7)
        return (np.exp(0.7 * latent) if kind == "skewed" else latent) + EFFECT * treated

    def predicted(hidden: np.ndarray, treated: int) -> np.ndarray:
        return 3 + 2 * hidden + treated + 0.5 * random.normal(size=len(hidden))

    arms = []
    for treated in (0, 1):
        hidden, more = random.normal(size=people), random.normal(size=others)
        arms.append(Arm(outcome(hidden, treated), predicted(hidden, treated), predicted(more, treated)))
    both = random.normal(size=2 * others)
    return Sample(tuple(arms), np.column_stack([predicted(both, 0), predicted(both, 1)]))


def planted(r: float, kind: str) -> float:
    """The effect in the population."""
    import numpy as np

    if kind != "points":
        return EFFECT
    latent = np.random.default_rng(0).normal(size=2_000_000)
    low, high = (np.clip(np.round(4 + 2 * (latent + shift)), 1, 7).mean() for shift in (0, EFFECT))
    return float(high - low)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--populations", type=int, default=2000)
    options = parser.parse_args()
    import numpy as np

    from parley.studies.mixed_subjects.estimators import ESTIMATORS, estimate

    print("| people, others, r, outcomes | estimator | holds, % | width | mean |\n|---|---|---:|---:|---:|")
    for people, others, r, kind in POPULATIONS:
        random, truth = np.random.default_rng(1), planted(r, kind)
        outcomes: dict[str, list[tuple[bool, float, float]]] = {name: [] for name in ESTIMATORS}
        for _ in range(options.populations):
            sample = draw(random, people, others, r, kind)
            for name, estimator in ESTIMATORS.items():
                result = estimate(sample, estimator)  # type: ignore[arg-type]
                outcomes[name].append((result.low <= truth <= result.high, result.high - result.low, result.value))
        alone = np.mean([width for _, width, _ in outcomes["people alone"]])
        for name, rows in outcomes.items():
            held, width, value = np.mean(np.array(rows, dtype=float), axis=0)
            print(
                f"| {people}, {others}, {r}, {kind} | {name} | {100 * held:.1f} | {width / alone:.2f} | {value:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
