"""The episodes of a command of `representatives`: how they are read and split."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from parley.model.progress import bar
from parley.training.commands.tuning import out_folder

if TYPE_CHECKING:
    from parley.training.representatives.pipeline import DatasetBuilder


def dataset_builder(options: argparse.Namespace) -> DatasetBuilder:
    """Read and split the episodes."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.training.representatives.pipeline import DatasetBuilder

    out = out_folder(options, "representatives")
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar)
