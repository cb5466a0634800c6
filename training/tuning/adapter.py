"""Trains an adapter on given examples in a folder, unless it is there: for trainings whose examples are no interviews."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.training.base_model import BaseModel
from parley.training.tuning.dataset import Example, digest_of
from parley.training.tuning.model_card import read_values, write_card
from parley.training.tuning.pipeline import training_folders, training_key
from parley.training.tuning.recipe import Recipe


def make_adapter(
    folder: Path,
    recipe: Recipe,
    base: BaseModel,
    examples: Sequence[Example],
    data: Mapping[str, Any],
    use: str,
    bar: Bar,
    start: Path | None = None,
) -> Path:
    """Return the folder `adapters/NAME` of an adapter, trained unless it is there.

    data: what the card says of the examples. use: what the adapter may be used for. start: the adapter to begin with. Errors:
    UserError when the adapter there was trained with another recipe or on other examples.
    """
    from parley.training.tuning.trainers import train, versions

    out = folder / "adapters" / recipe.name
    if out.exists():
        _check_same(out, recipe, examples)
        return out
    with (
        training_folders(out, training_key(recipe, examples, start)) as (part, work),
        bar(recipe.name, recipe.steps(len(examples))) as progress,
    ):
        result = train(recipe, base, examples, [], part, work, start, progress)
        described = {**data, "digest": digest_of(examples)}
        write_card(part, recipe, {**base.card_identity, **result.identity}, described, versions(), result, use)
    return out


def _check_same(out: Path, recipe: Recipe, examples: Sequence[Example]) -> None:
    values = read_values(out)
    other = [name for name, value in asdict(recipe).items() if values["recipe"].get(name) != value]
    if values["data"].get("digest") != digest_of(examples):
        other.append("set of examples")
    if other:
        raise UserError(f"{out} was trained with another {', '.join(other)}: give another --out")
