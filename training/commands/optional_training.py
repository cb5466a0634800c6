"""Options of a training that another command runs with --train, as `run.py compete --train dpo`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from parley.llm.errors import UserError
from parley.training.commands.tuning import RECIPE, add_numbers

NUMBERS = ("r", "alpha", "dropout", "rate", "epochs", "batch", "beta", "length")
USUAL = {"epochs": 4.0, "batch": 8, "length": 1024}
"""Settings of a training on preferences that are not those of run.py train, because there are few pairs and prompts are long."""


def add_training_numbers(parser: argparse.ArgumentParser) -> None:
    """Add the numbers of a training on preferences."""
    rows = [(name, kind, about, USUAL.get(name)) for name, kind, about in RECIPE if name in NUMBERS]
    add_numbers(parser, [
        (name, kind, f"with --train: {about}" if usual is None else
         f"with --train: {about.partition(' (default')[0]} (default: {usual:g})")
        for name, kind, about, usual in rows
    ])  # fmt: skip


def set_usual_numbers(options: argparse.Namespace) -> None:
    """Give the numbers that were not given their usual values."""
    for name, value in USUAL.items():
        if getattr(options, name) is None:
            setattr(options, name, value)


def check_train_only(options: argparse.Namespace, names: Iterable[str], train: str = "--train sft or dpo") -> None:
    """Errors: UserError for a setting of the training without --train. train: what to add."""
    given = [name.replace("_", "-") for name in names if getattr(options, name) is not None]
    if given and not options.train:
        raise UserError(f"--{given[0]} only works with --train: add {train}, or leave out --{given[0]}")
