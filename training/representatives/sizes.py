"""A smaller model of the same kind, for a second size where none is at hand: every other layer of the given one."""

from __future__ import annotations

from pathlib import Path

from training.base import Base


def halved(base: Base, folder: Path) -> Path:
    """Save the model with its first, third, fifth ... layer and its tokenizer, if it is not there yet; the folder.

    Left as it is such a model says nothing that makes sense: it is there to be trained.
    """
    if (folder / "config.json").is_file():
        return folder
    from torch import nn
    from transformers import AutoModelForCausalLM, AutoTokenizer, utils

    utils.logging.disable_progress_bar()

    model = AutoModelForCausalLM.from_pretrained(base.name, dtype=base.dtype)
    layers = list(model.model.layers)[::2]
    for place, layer in enumerate(layers):
        layer.self_attn.layer_idx = place
    model.model.layers = nn.ModuleList(layers)
    model.config.num_hidden_layers = len(layers)
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[::2]
    part = folder.with_name(f".{folder.name}.part")
    model.save_pretrained(part)
    AutoTokenizer.from_pretrained(base.name).save_pretrained(part)
    part.replace(folder)
    return folder
