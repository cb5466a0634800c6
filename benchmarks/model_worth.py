"""Whether a model that is a sample of n people is worth n in `run.py study distributions`.

python benchmarks/model_worth.py [--surveys 200]

A line per population: the median worth, how often the 95% interval holds the planted number, how often a set of the chosen size
holds the people of new questions, and how often it holds the whole population (where the model's shares are exact). A model that
is a sample of n people is worth n. `bias`: its shares are moved by this part toward random shares.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401  (`parley` is this checkout)

PEOPLE, NEW = 400, 20
SURVEYS = (  # questions, groups, options, people the model is a sample of (None: all), bias, replies (None: exact)
    (24, 1, 4, 100, 0.0, None), (24, 4, 4, 100, 0.0, None), (100, 1, 4, 100, 0.0, None), (60, 1, 3, 30, 0.0, None),
    (60, 1, 4, 20, 0.0, 40), (60, 1, 4, None, 0.0, None), (60, 1, 4, 100, 0.1, None), (60, 1, 4, 100, 0.3, None),
)  # fmt: skip


def draw_question(
    random: Any, options: int, people: int | None, bias: float, replies: int | None
) -> tuple[Any, Any, Any]:
    """Return the population's shares, those of PEOPLE people, and those of the model."""
    whole = random.dirichlet([2.0] * options)
    model = whole if people is None else random.multinomial(people, whole) / people
    model = (1 - bias) * model + bias * random.dirichlet([1.0] * options)
    sample = random.multinomial(PEOPLE, whole) / PEOPLE
    return whole, sample, random.multinomial(replies, model) / replies if replies else model


def main() -> None:
    """Print a line per population."""
    import numpy as np

    from parley.studies.distributions.worth import largest_size, worth_of

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surveys", type=int, default=200)
    surveys = parser.parse_args().surveys
    print(
        "questions, groups, options, people, bias, replies | median worth | interval holds it | new people | population"
    )
    for questions, groups, *settings in SURVEYS:
        rest: Any = settings
        random, replies = np.random.default_rng(0), rest[-1] or math.inf
        worths: list[float] = []
        held: list[bool] = []
        new: list[float] = []
        whole: list[float] = []
        for _ in range(surveys):
            drawn = [draw_question(random, *rest) for _ in range(questions * groups + NEW)]
            sizes = np.array([largest_size(sample, PEOPLE, model, replies) for _, sample, model in drawn])
            k, low, high = worth_of(list(sizes[:-NEW].reshape(questions, groups)))
            worths.append(k)
            held.append(low <= (rest[1] or math.inf) <= high)
            new.append(float((sizes[-NEW:] >= k).mean()))
            if rest[-1] is None and math.isfinite(k):
                exact = [largest_size(all_, math.inf, model) >= k for all_, _, model in drawn[-NEW:]]
                whole.append(float(np.mean(exact)))
        shown = f"{np.mean(whole):.1%}" if whole else "-"
        print(
            f"{(questions, groups, *rest)} | {np.median(worths):.0f} | {np.mean(held):.1%} | {np.mean(new):.1%} | {shown}",
            flush=True,
        )


if __name__ == "__main__":
    main()
