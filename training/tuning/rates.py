"""Which learning rate?  python -m training.tuning.rates --out DIR [--party republican] [--r 16] [--grid 5e-4,1e-3,2e-3,4e-3,8e-3]

The rule, stated before any rating is looked at: of a grid in steps of two the rate with the least loss on the answers to a
tenth of the questions, which are held out; first for SFT, then for DPO from that adapter. A rate at an end of the grid asks
for a longer one.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from model.commandline import bar
from training.commands import add_plan, chosen
from training.tuning.card import read_values
from training.tuning.pipeline import PARTIES, Pipeline, Plan
from training.tuning.recipe import DPO, SFT, Recipe

GRID = "5e-4,1e-3,2e-3,4e-3,8e-3"
HELD_OUT = 0.1


def losses(pipeline: Pipeline, recipe: Recipe, grid: Sequence[float], start: Path | None = None) -> dict[float, float]:
    """The held-out loss of each rate; the adapters lie in `rates/` of the folder, the one in `adapters/` is put away."""
    found = {}
    for rate in grid:
        kept = pipeline.folder / "rates" / f"{recipe.name}-{rate:g}"
        if not kept.exists():
            kept.parent.mkdir(exist_ok=True)
            pipeline.adapter(replace(recipe, rate=rate, held_out=HELD_OUT), start).replace(kept)
        found[rate] = read_values(kept)["held_out"]["loss"]
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_plan(parser)
    parser.add_argument("--party", choices=PARTIES, default="republican")
    parser.add_argument("--r", type=int, default=16)
    parser.add_argument("--grid", default=GRID)
    given = parser.parse_args(arguments)
    pipeline = Pipeline(chosen(Plan, given), given.out or Path("runs") / "rates", bar)
    grid, start = [float(rate) for rate in given.grid.split(",")], None
    for method in (SFT, DPO):
        found = losses(pipeline, Recipe(given.party, method, r=given.r, seed=pipeline.plan.seed), grid, start)
        best = min(found, key=lambda rate: found[rate])
        print(method, *[f"{rate:g}: {loss:.4f}" for rate, loss in found.items()], f"least at {best:g}", sep="   ")
        start = pipeline.folder / "rates" / f"{given.party}-{SFT}-r{given.r}-{best:g}"
    shutil.rmtree(pipeline.folder / "adapters", ignore_errors=True)


if __name__ == "__main__":
    main()
