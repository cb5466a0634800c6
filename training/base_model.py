"""The model to be trained: which one a spec names, and a smaller one of the same kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.analysis.journaled_calls import check_manifest
from parley.llm.backends import check_spec
from parley.llm.backends.hf import CHOICES
from parley.llm.backends.hf.checkpoint import fingerprint
from parley.llm.backends.pocket import WEIGHTS, organisms
from parley.llm.errors import UserError, unknown_name
from parley.llm.model_catalogue import cached_files

DTYPES = {"pocket": "float32", "hf": "auto"}
"""The backends whose models can be trained, with their default number format."""


@dataclass(frozen=True)
class BaseModel:
    """A model to be trained: `name` is the folder or hub id to load, `kind` is pocket or hf.

    `dtype`, `load` and `device` take the values of the backend hf. When `weights` is given, a model with other weights is not
    trained.
    """

    name: str
    kind: str
    dtype: str = "auto"
    load: str = "full"
    device: str = "auto"
    weights: str = ""

    @property
    def identity(self) -> dict[str, Any]:
        """Model and weights as far as they are known without loading it (of a hub id: its name)."""
        folder = Path(self.name)
        if folder.is_dir():
            return {"model": folder.resolve().name, "weights": fingerprint(folder)}
        return {"model": self.name}

    @property
    def card_identity(self) -> dict[str, Any]:
        """The same with backend and precision, as the card of a trained model states it."""
        kind = {"kind": "model organism with a planted, known bias"} if self.kind == "pocket" else {}
        return {**self.identity, "backend": self.kind, "dtype": self.dtype, "load": self.load, **kind}

    @property
    def path_name(self) -> str:
        """The model as a part of a path: `pocket-pocket`, `hf-Mistral-7B-v0_1`; of a folder its last part."""
        return f"{self.kind}-{re.sub(r'[^A-Za-z0-9-]+', '_', Path(self.name).name)}"


def base_model(spec: str) -> BaseModel:
    """Return the model of `--llm SPEC`. Loads nothing, and ignores options of generation (batch, closed, ...).

    Errors: UserError on a backend that cannot be trained, on adapters or style=plain, and on a spec that the backend refuses.

    >>> base_model("hf:org/model,load=4bit")
    BaseModel(name='org/model', kind='hf', dtype='auto', load='4bit', device='auto', weights='')
    """
    _, kind, options = check_spec(spec)
    name = str(options.get("model", ""))
    if kind not in DTYPES:
        raise UserError(
            f"{kind} cannot be trained, because its weights are not on this machine: use pocket or hf:PATH_OR_ID"
        )
    if options.get("adapters"):
        raise UserError(f"--llm {spec}: training starts from the model alone, so leave out adapters")
    if options.get("style") == "plain":
        raise UserError(f"--llm {spec}: models are trained in their chat format, so leave out style=plain")
    values = {"dtype": DTYPES[kind]} | {key: str(options[key]) for key in ("dtype", "load", "device") if key in options}
    for key, value in values.items():
        if key in CHOICES and value not in CHOICES[key]:
            raise UserError(f"option {key} of {kind} is {value!r}, but must be one of {', '.join(CHOICES[key])}")
    if kind == "pocket":
        name = _pocket_folder(name)
    elif not name:
        raise UserError("--llm hf needs a model: hf:PATH or hf:HUB_ID, such as hf:mistralai/Mistral-7B-Instruct-v0.2")
    return BaseModel(name, kind, **values)


def _pocket_folder(name: str) -> str:
    """Return the folder of a pocket model: a shipped one by its name, another one by its path."""
    folder = Path(name) if "/" in name else WEIGHTS / (name or "pocket")
    if (folder / "config.json").is_file():
        return str(folder)
    if "/" in name:
        raise UserError(f"{folder} is not a model folder: its config.json is missing")
    raise unknown_name("pocket model", name, organisms())


def halve_layers(base: BaseModel, folder: Path) -> Path:
    """Save the model with its first, third, fifth ... layer and its tokenizer, unless it is there; return the folder.

    Such a model must be trained before it writes anything that makes sense.
    Errors: UserError on a model that cannot be loaded, on one without such layers, and when the folder has half of another.
    """
    if not (folder / "config.json").is_file():
        _save_half(base, folder)
    check_manifest(folder.with_name(f"{folder.name}.json"), base.card_identity, "half of a model")
    return folder


def _save_half(base: BaseModel, folder: Path) -> None:
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
            f"a second, smaller model cannot be made from {base.name}, because its layers differ from Llama's: "
            "give a second --llm"
        )
    for place, layer in enumerate(layers):
        layer.self_attn.layer_idx = place
    model.model.layers = nn.ModuleList(layers)
    model.config.num_hidden_layers = len(layers)
    if getattr(model.config, "layer_types", None):
        model.config.layer_types = model.config.layer_types[::2]
    unfinished = folder.with_name(f".{folder.name}.part")
    model.save_pretrained(unfinished)
    tokenizer.save_pretrained(unfinished)
    unfinished.replace(folder)
