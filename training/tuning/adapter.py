"""Trains an adapter on given examples in a folder, unless it is there: for trainings whose examples are no interviews."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from parley.llm.backends.hf.checkpoint import adapter_weights
from parley.llm.driver import Bar
from parley.llm.errors import UserError
from parley.llm.seeding import digest
from parley.training.base_model import BaseModel
from parley.training.tuning.dataset import Example, digest_of
from parley.training.tuning.model_card import read_values, write_card
from parley.training.tuning.pipeline import START, training_folders, training_key
from parley.training.tuning.preferences import Preference, preference_examples
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
    UserError when the adapter there was trained with another recipe, on other examples, on another model or from another start.
    """
    from parley.training.tuning.trainers import train, versions

    out = folder / "adapters" / recipe.name
    described = {**data, "digest": digest_of(examples), **({START: adapter_weights(start)} if start else {})}
    if out.exists():
        _check_same(out, recipe, base, described)
        return out
    key = training_key(recipe, examples, start) + digest(json.dumps(base.card_identity)).hex()[:8]
    with (
        training_folders(out, key) as (model_folder, work),
        bar(recipe.name, recipe.steps(len(examples)), "step") as progress,
    ):
        result = train(recipe, base, examples, [], model_folder, work, start, progress)
        write_card(model_folder, recipe, {**base.card_identity, **result.identity}, described, versions(), result, use)
    return out


def preference_adapter(
    folder: Path,
    recipe: Recipe,
    base: BaseModel,
    given: Sequence[Preference],
    data: tuple[str, Mapping[str, Any]],
    use: str,
    bar: Bar,
) -> Path:
    """Return the folder of an adapter trained on preferences, as `make_adapter`. data: what they are (`wins`), and whose."""
    margin = round(fmean(preference.margin for preference in given), 3)
    described = {data[0]: len(given), "mean margin": margin, **data[1]}
    examples = preference_examples(given, recipe.method, recipe.seed)
    return make_adapter(folder, recipe.filled(base.kind), base, examples, described, use, bar)


def _check_same(out: Path, recipe: Recipe, base: BaseModel, data: Mapping[str, Any]) -> None:
    values = read_values(out)
    other = [name for name, value in asdict(recipe).items() if values["recipe"].get(name) != value]
    what = {"digest": "set of examples", START: "adapter to begin with"}
    other += [title for key, title in what.items() if values["data"].get(key) != data.get(key)]
    if values["base"].get("weights") != base.identity.get("weights", values["base"].get("weights")):
        other.append("model")
    if other:
        raise UserError(f"{out} was trained with another {', '.join(other)}: remove it, or give another --out")
