"""Which adapter DPO can go on from: one of this model with LoRA's settings as asked for, that did not learn what is held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parley.llm.backends.hf.checkpoint import adapter_config, adapter_weights, check_base
from parley.llm.errors import UserError
from parley.training.base_model import BaseModel
from parley.training.tuning.recipe import SFT, Recipe

START = "goes on from weights"
"""What the card calls the digest of the weights that a training began with."""


def check_start(start: Path, recipe: Recipe, base: BaseModel) -> None:
    """Errors: UserError where nothing can go on from the adapter with this recipe."""
    if recipe.method == SFT:
        raise UserError("--start is for --method dpo: sft begins with a new adapter")
    config = adapter_config(start)
    adapter_weights(start)
    check_base(start, base.identity)
    is_ = tuple(config.get(name) for name in ("r", "lora_alpha", "lora_dropout"))
    if is_ != (recipe.r, recipe.alpha, recipe.dropout):
        told = "--r {} --alpha {} --dropout {}".format(*is_)
        raise UserError(f"{start} was made with {told}, which dpo cannot change: give the same")
    _check_held_out(_recipe_of(start), start, recipe)


def _check_held_out(was: dict[str, Any], start: Path, recipe: Recipe) -> None:
    """What is held out is drawn from the questions, which go with the seed."""
    other = [name for name in ("held_out", "seed") if name in was and was[name] != getattr(recipe, name)]
    if recipe.held_out and other:
        raise UserError(
            f"{start} was trained with another {' and '.join(other)} and may know what is to be held out: give the same, "
            "or another --out"
        )


def _recipe_of(adapter: Path) -> dict[str, Any]:
    """Of an adapter from elsewhere nothing is known."""
    from parley.training.tuning.model_card import VALUES, read_values

    return dict(read_values(adapter)["recipe"]) if (adapter / VALUES).is_file() else {}
