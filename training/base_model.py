"""The model that a spec names, as training takes it: `pocket`, `pocket:FOLDER`, `hf:PATH_OR_ID` as a folder or hub id to load."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parley.llm.backends import check_spec
from parley.llm.backends.hf import CHOICES
from parley.llm.backends.hf.checkpoint import fingerprint
from parley.llm.backends.pocket import WEIGHTS, organisms
from parley.llm.errors import UserError, unknown_name

DTYPES = {"pocket": "float32", "hf": "auto"}
"""The backends whose models can be trained, and how each holds its numbers unless told otherwise."""


@dataclass(frozen=True)
class BaseModel:
    """A model to be trained: `name` is the folder or hub id to load, `kind` pocket or hf.

    `dtype`, `load` and `device` are those of the spec, with the values that the backend hf knows. `weights`, where given, are
    those that the model's identity has to have: another model is not trained.
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


def base_model(spec: str) -> BaseModel:
    """The model behind `--llm SPEC`; nothing is loaded. How it is asked (batch, closed, ...) is left out.

    Errors: UserError on a backend that cannot be trained, on adapters or style=plain, and where the backend would refuse it.

    >>> base_model("hf:org/model,load=4bit")
    Base(name='org/model', kind='hf', dtype='auto', load='4bit', device='auto')
    """
    _, kind, options = check_spec(spec)
    model = str(options.get("model", ""))
    if kind not in DTYPES:
        raise UserError(f"{kind} cannot be trained: name a model whose weights are here, pocket or hf:PATH_OR_ID")
    if options.get("adapters"):
        raise UserError(f"--llm {spec}: name the model without its adapters")
    if options.get("style") == "plain":
        raise UserError(f"--llm {spec}: models are trained in their chat format, leave out style=plain")
    held = {"dtype": DTYPES[kind]} | {key: str(options[key]) for key in ("dtype", "load", "device") if key in options}
    for key, value in held.items():
        if key in CHOICES and value not in CHOICES[key]:
            raise UserError(f"option {key} of {kind} must be one of {', '.join(CHOICES[key])}, not {value!r}")
    return BaseModel(_organism(model) if kind == "pocket" else _named(model), kind, **held)


def _organism(model: str) -> str:
    """The folder of a model in the box, or of one of its kind."""
    folder = Path(model) if "/" in model else WEIGHTS / (model or "pocket")
    if (folder / "config.json").is_file():
        return str(folder)
    if "/" in model:
        raise UserError(f"{folder} holds no model (no config.json)")
    raise unknown_name("pocket model", model, organisms())


def _named(model: str) -> str:
    if not model:
        raise UserError("--llm hf needs a model: hf:PATH or hf:HUB_ID, such as hf:mistralai/Mistral-7B-Instruct-v0.2")
    return model
