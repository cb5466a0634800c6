"""Options of a training that another command runs with --train, on what its audience, judge or panel prefers."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from parley.llm.errors import UserError
from parley.model.cli import Parser, add_option, amount, positive
from parley.training.commands.tuning import RECIPE, add_numbers, from_args
from parley.training.tuning.recipe import Recipe

NUMBERS = ("r", "alpha", "dropout", "rate", "epochs", "batch", "beta", "length")
USUAL = {"epochs": 4.0, "batch": 8, "length": 1024}
"""Settings of a training on preferences that are not those of run.py train, because there are few pairs and prompts are long."""


def add_training(parser: Parser, units: str, learned: str, share: float) -> None:
    """Add the options of a training on preferences. units: of which a share is held out (posts). learned: what (verdicts)."""
    about = f"with --train: share of the {units} that are not trained on (default: {share})"
    add_option(parser, "--held-out X", about, amount)
    about = (
        f"with --train: number of trainings on shuffled {learned}, for comparison; a conclusion needs at least five "
        "trainings (default: 1)"
    )
    add_option(parser, "--shuffles N", about, positive)
    rows = [(name, kind, about, USUAL.get(name)) for name, kind, about in RECIPE if name in NUMBERS]
    add_numbers(parser, [
        (name, kind, f"with --train: {about}" if usual is None else
         f"with --train: {about.partition(' (default')[0]} (default: {usual:g})")
        for name, kind, about, usual in rows
    ])  # fmt: skip


def training_from_args(options: argparse.Namespace, party: str, method: str, share: float) -> tuple[Recipe, float, int]:
    """Return the recipe of a training, the share that is held out (`share` unless given), and the number of shuffles."""
    for name, value in USUAL.items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    held_out = share if options.held_out is None else options.held_out
    # the recipe holds out nothing: what is trained on is chosen already
    options.party, options.held_out, options.method = party, None, method
    return from_args(Recipe, options), held_out, options.shuffles or 1


def check_train_only(options: argparse.Namespace, names: Iterable[str], train: str = "--train sft or dpo") -> None:
    """Errors: UserError for a setting of the training without --train. train: what to add."""
    given = [name.replace("_", "-") for name in names if getattr(options, name) is not None]
    if given and not options.train:
        raise UserError(f"--{given[0]} only works with --train: add {train}, or leave out --{given[0]}")
