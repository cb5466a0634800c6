"""Which learning rate?  python -m parley.training.tuning.learning_rates --out DIR [--party republican] [--r 16] [--grid RATE,...]

The rule, stated before any rating is looked at: a tenth of the questions are held out with their answers; of a grid in steps
of two the largest rate is taken whose loss on them is above the least by no more than one standard error of that difference
(over questions, paired); first for SFT, then for DPO from that adapter. A rate at an end of the grid asks for a longer one.
The one-standard-error rule of Breiman et al. (1984) takes the simplest model that cannot be told from the best; here that
is the one that learned most, since what is asked is how far a model can be moved before it writes its own answers worse.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

from parley.model import cli
from parley.model.progress import bar
from parley.training.commands.tuning import add_plan, plan_from_args
from parley.training.tuning.model_card import read_values
from parley.training.tuning.pipeline import Pipeline
from parley.training.tuning.recipe import DPO, PARTIES, SFT, Recipe

GRID = "5e-4,1e-3,2e-3,4e-3,8e-3"
HELD_OUT = 0.1


def rate_losses(
    pipeline: Pipeline, recipe: Recipe, grid: Sequence[float], start: Path | None = None
) -> dict[float, list[float]]:
    """The loss of each rate on each held-out question; the adapters lie in `rates/` of the folder."""
    found = {}
    for rate in grid:
        kept = pipeline.folder / "rates" / f"{recipe.name}-{rate:g}"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            pipeline.adapter(replace(recipe, rate=rate, held_out=HELD_OUT), start).replace(kept)
        found[rate] = read_values(kept)["held_out"]
    return found


def chosen_rate(found: Mapping[float, Sequence[float]]) -> float:
    """The largest rate that is worse than the best by no more than one standard error of the difference.

    >>> chosen_rate({1e-3: [1.0, 2.0, 3.0], 2e-3: [1.1, 1.9, 3.06], 4e-3: [1.3, 2.3, 3.3]})
    0.002
    """
    best = min(found, key=lambda rate: fmean(found[rate]))
    return max(
        rate for rate in found if _alike([one - other for one, other in zip(found[rate], found[best], strict=True)])
    )


def _alike(gaps: Sequence[float]) -> bool:
    return fmean(gaps) <= (stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else 0)


def main(arguments: list[str] | None = None) -> None:
    parents, form = (
        [cli.model(usual="pocket", trained=True), cli.seed(), cli.out("runs/rates")],
        argparse.RawDescriptionHelpFormatter,
    )
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form, parents=parents)
    add_plan(parser)
    parser.add_argument("--party", choices=PARTIES, default="republican")
    parser.add_argument("--r", type=int, default=16)
    parser.add_argument("--grid", default=GRID)
    given = parser.parse_args(arguments)
    pipeline = Pipeline(plan_from_args(given), given.out or Path("runs") / "rates", bar)
    grid, start = [float(rate) for rate in given.grid.split(",")], None
    for method in (SFT, DPO):
        found = rate_losses(pipeline, Recipe(given.party, method, r=given.r, seed=pipeline.plan.seed), grid, start)
        best = chosen_rate(found)
        print(method, *[f"{rate:g}: {fmean(loss):.4f}" for rate, loss in found.items()], f"taken: {best:g}", sep="   ")
        start = pipeline.folder / "rates" / f"{given.party}-{SFT}-r{given.r}-{best:g}"
    shutil.rmtree(pipeline.folder / "adapters", ignore_errors=True)


if __name__ == "__main__":
    main()
