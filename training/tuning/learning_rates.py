"""Chooses a learning rate by the loss on unseen questions.

The rule was fixed before any rating was seen. A tenth of the questions are held out with their answers. The rates of the grid
rise in steps of two. The rule takes the largest rate whose held-out loss is at most one standard error of the difference (over
questions, paired) above the least: first for SFT, then for DPO from that adapter. When it takes a rate at an end of the grid,
run a longer grid. The one-standard-error rule of Breiman et al. (1984) takes the simplest model that does not differ from the
best. Here that is the model that learned most: the question is how far a model moves before its answers become worse.
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
from parley.training.tuning.recipe import DPO, SFT, Recipe

GRID = "5e-4,1e-3,2e-3,4e-3,8e-3"
HELD_OUT = 0.1


def rate_losses(
    pipeline: Pipeline, recipe: Recipe, grid: Sequence[float], start: Path | None = None
) -> dict[float, list[float]]:
    """Return the loss of each rate on each held-out question; the adapters lie in `rates/` of the folder."""
    losses = {}
    for rate in grid:
        adapter = pipeline.folder / "rates" / f"{recipe.name}-{rate:g}"
        if not adapter.exists():
            adapter.parent.mkdir(exist_ok=True)
            pipeline.adapter(replace(recipe, rate=rate, held_out=HELD_OUT), start).replace(adapter)
        losses[rate] = read_values(adapter)["held_out"]
    return losses


def chosen_rate(losses: Mapping[float, Sequence[float]]) -> float:
    """Return the largest rate that is worse than the best by at most one standard error of the difference.

    >>> chosen_rate({1e-3: [1.0, 2.0, 3.0], 2e-3: [1.1, 1.9, 3.06], 4e-3: [1.3, 2.3, 3.3]})
    0.002
    """
    best = losses[min(losses, key=lambda rate: fmean(losses[rate]))]
    differences = {rate: [loss - least for loss, least in zip(losses[rate], best, strict=True)] for rate in losses}
    return max(rate for rate, gaps in differences.items() if fmean(gaps) <= _standard_error(gaps))


def _standard_error(values: Sequence[float]) -> float:
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[cli.society(), cli.model(usual="pocket", trained=True), cli.seed(), cli.out("runs/rates")],
    )
    add_plan(parser)
    parser.add_argument("--party")
    parser.add_argument("--r", type=int, default=16)
    parser.add_argument("--grid", default=GRID)
    options = parser.parse_args(arguments)
    pipeline = Pipeline(plan_from_args(options), options.out or Path("runs") / "rates", bar)
    party = options.party or pipeline.plan.home.debaters[0]
    grid, start = [float(rate) for rate in options.grid.split(",")], None
    for method in (SFT, DPO):
        losses = rate_losses(pipeline, Recipe(party, method, r=options.r, seed=pipeline.plan.seed), grid, start)
        best = chosen_rate(losses)
        print(method, *[f"{rate:g}: {fmean(loss):.4f}" for rate, loss in losses.items()], f"taken: {best:g}", sep="   ")
        start = pipeline.folder / "rates" / f"{party}-{SFT}-r{options.r}-{best:g}"
    shutil.rmtree(pipeline.folder / "adapters", ignore_errors=True)


if __name__ == "__main__":
    main()
