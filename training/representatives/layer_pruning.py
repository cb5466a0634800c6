"""A smaller model of the same kind, for a second size where none is at hand: every other layer of the given one."""

from __future__ import annotations

from pathlib import Path

from parley.analysis.journaled_calls import check_manifest
from parley.llm.errors import UserError
from parley.llm.model_hubs import cached_files
from parley.training.base_model import BaseModel
from parley.training.representatives.pipeline import builder_identity


def halve_layers(base: BaseModel, folder: Path) -> Path:
    """Save the model with its first, third, fifth ... layer and its tokenizer, if it is not there yet; the folder.

    Left as it is such a model says nothing that makes sense: it is there to be trained.
    Errors: UserError on a model that cannot be loaded, on one without such layers, and where the folder is half of another.
    """
    if not (folder / "config.json").is_file():
        _halve(base, folder)
    check_manifest(folder.with_name(f"{folder.name}.json"), builder_identity(base), "half of a model")
    return folder


def _halve(base: BaseModel, folder: Path) -> None:
    from torch import nn
    from transformers import AutoModelForCausalLM, AutoTokenizer, utils

    from parley.llm.backends.hf.loading import load_errors

    utils.logging.disable_progress_bar()
    with load_errors(base.name):
        model = AutoModelForCausalLM.from_pretrained(base.name, dtype=base.dtype, **cached_files(base.name))
        tokenizer = AutoTokenizer.from_pretrained(base.name, **cached_files(base.name))
    layers = list(getattr(getattr(model, "model", None), "layers", ()))[::2]
    if not layers or not all(hasattr(layer, "self_attn") for layer in layers):
        raise UserError(
            f"cannot make half of {base.name}: its layers are not built like those of Llama; give a second --llm"
        )
    for place, layer in enumerate(layers):
        layer.self_attn.layer_idx = place
    model.model.layers = nn.ModuleList(layers)
    model.config.num_hidden_layers = len(layers)
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[::2]
    part = folder.with_name(f".{folder.name}.part")
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    part.replace(folder)
