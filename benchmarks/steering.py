"""How often an effect of steering words is claimed, where there is none and where there is one.

python benchmarks/steering.py [--audits 100] [--blocks 8]

Debates of three on the oracle with a strong confirmation bias, and without it (`study flips`, arm `unsteered`). `ignored`: the
oracle ignores the bias, so nothing is to be found. `read`: it reads it; the truth is the mean over all audits.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import run  # noqa: F401, I001  (`parley` is this checkout)

import pandas as pd
from audit_coverage import driven

from parley.analysis.statistics.intervals import share_interval
from parley.analysis.card.conditions import Batch
from parley.studies.flips import arms, steered
from parley.studies.flips.decomposition import LEVEL
from parley.model.scenario import load_preset

SPEAKERS = {"ignored": "oracle,ignores=confirmation_bias", "read": "oracle"}


def audits(llm: str, number: int, blocks: int) -> Iterator[pd.DataFrame]:
    """Yield the effects of one audit after another, each with a seed of its own."""
    settings = {"topic": "racism", "repetitions": blocks, "rounds": 1, "llm": llm, "confirmation_bias": ("strong",)}
    base = load_preset("three_way").with_settings(settings | arms.SETTINGS)
    section = SimpleNamespace(NEEDS=(arms.in_full, arms.without_steering), WATCH=())
    for seed in range(number):
        with tempfile.TemporaryDirectory() as folder:
            study = driven(Batch(base.with_settings({"seed": seed}), Path(folder)), {"steering": section})  # type: ignore[dict-item]
        yield steered.effects(steered.changes(steered.compared(study))).assign(seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--blocks", type=int, default=8)
    options = parser.parse_args()
    for name, llm in SPEAKERS.items():
        effects = pd.concat(audits(llm, options.audits, options.blocks))
        for effect, rows in effects.groupby("effect", sort=False):
            truth = 0.0 if name == "ignored" else float(rows["estimate"].mean())
            with_interval = rows.dropna(subset=["low"])
            inside = int(((with_interval["low"] <= truth) & (truth <= with_interval["high"])).sum())
            claimed = int((rows["p_holm"] < LEVEL).sum())
            print(
                f"{name}, {effect}: truth {truth:.3f}, in {inside} of {len(with_interval)} intervals "
                f"{_span(inside, len(with_interval))}, claimed in {claimed} of {len(rows)} {_span(claimed, len(rows))}"
            )


def _span(count: int, of: int) -> str:
    low, high = share_interval(count, of)
    return f"({low:.3f} to {high:.3f})"


if __name__ == "__main__":
    main()
