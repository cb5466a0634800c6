"""The episodes of a command of `representatives`: what may be given, and how they are read and split."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from parley.model.progress import bar
from parley.training.commands.tuning import out_folder

if TYPE_CHECKING:
    from parley.training.representatives.pipeline import DatasetBuilder

SOURCES = (
    ".jsonl files of episodes, run folders of deliberations, a folder of the public Habermas Machine data, or its two small "
    ".json files (docs/deliberation.md)"
)


def dataset_builder(options: argparse.Namespace) -> DatasetBuilder:
    """Read and split the episodes."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.training.representatives.pipeline import DatasetBuilder

    out = out_folder(options, "representatives")
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar)
