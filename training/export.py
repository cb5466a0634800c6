"""Save a fine-tuned model in a folder that any server can load; use it with `--llm openai:...` (docs/tuning.md).

An adapter of weight w adds w times its change to the weights of the model, W + w s B A (s: its own scale). Several adapters add
up. PEFT's `add_weighted_adapter` would first make one adapter of them, which is wrong for rank-stabilised LoRA; here each is
merged with its own scale. The model is always loaded in full precision: weights of 4 or 8 bits could not hold the sum.
"""

from __future__ import annotations

import filecmp
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from peft.tuners.lora import LoraLayer
from safetensors import SafetensorError
from transformers import AutoTokenizer

from parley.llm.backends.hf.checkpoint import adapter_config
from parley.llm.backends.hf.loading import Loaded, load_model
from parley.llm.errors import UserError
from parley.llm.model_catalogue import cached_files
from parley.training.base_model import BaseModel
from parley.training.tuning.model_card import ORGANISM, USE

NAMES = "People's names are tokens of this model, which only `--llm pocket:FOLDER` inserts."


def merge_adapters(base: BaseModel, adapters: Sequence[tuple[Path, float]], out: Path) -> Path:
    """Merge LoRA adapters, each with its weight, into the model and save it in `out` as `base.dtype`; return `out`.

    The folder has weights (safetensors), configuration, tokenizer, chat template and a card.
    Errors: UserError when `out` is not empty or the disk too small, and on a folder without an adapter or with another model's.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not an empty folder: give another --out")
    for folder, _ in adapters:
        _check_adapter(folder, base)
    loaded = load_model(base.name, base.dtype, "full", base.device, [str(folder) for folder, _ in adapters])
    weights = dict(zip(loaded.adapters, (weight for _, weight in adapters), strict=True))
    model = _merge(loaded, weights)
    _check_space(model, out)
    _save(model, base, _card(out.name, base, loaded.identity, weights), out)
    return out


def _card(name: str, base: BaseModel, identity: Mapping[str, Any], weights: Mapping[str, float]) -> str:
    """Return the card as Markdown: what the model was made of and what it is for. `identity`: of model and adapters."""
    rows = [f"| {adapter} | {weight:g} | {identity['adapters'][adapter]} |" for adapter, weight in weights.items()]
    made = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "peft"))
    parts = [
        f"# {name}",
        f"{identity['model']}{_merged(weights)}, saved by Parley ({made}), in {identity['dtype']}.",
        *(["\n".join(["| adapter | weight | digest |", "|---|---:|---|", *rows])] if rows else []),
        f"Base: {identity['model']}, {identity['weights']}. The digests are those in the header of a record.",
        USE,
        *([f"{ORGANISM} {NAMES}"] if base.kind == "pocket" else []),
    ]
    return "\n\n".join(parts) + "\n"


def _merged(weights: Mapping[str, float]) -> str:
    return f" with {' and '.join(weights)} merged into its weights" if weights else ""


def _check_adapter(folder: Path, base: BaseModel) -> None:
    """Errors: UserError on an adapter of another model, and on one that replaces whole layers."""
    config = adapter_config(folder)
    if config.get("modules_to_save"):
        raise UserError(
            f"{folder} has whole layers (modules_to_save), which cannot be merged with a weight: leave out the weight"
        )
    trained_on = config.get("base_model_name_or_path")
    if trained_on and not _is_same_model(Path(trained_on), Path(base.name)):
        raise UserError(
            f"{folder} was trained on {trained_on}, not on {base.name} "
            "(if both are the same model, write {base.name} into its adapter_config.json)"
        )


def _is_same_model(first: Path, other: Path) -> bool:
    """Compare two folders or hub ids: by the weights if both are local folders, else by the last part of the names."""
    if not (first.is_dir() and other.is_dir()):
        return first.name == other.name
    files = [path.name for path in other.iterdir() if path.suffix in (".safetensors", ".bin")]
    return first.samefile(other) or filecmp.cmpfiles(first, other, files, shallow=False)[0] == files


def _merge(loaded: Loaded, weights: Mapping[str, float]) -> Any:
    """Return the model with W + the sum of w s B A in every layer. Errors: UserError on a model that cannot be merged."""
    model, name = loaded.model, loaded.identity["model"]
    if getattr(model.config, "quantization_config", None) is not None:
        raise UserError(
            f"{name} is quantised, and adapters can only be merged into a full model: "
            "give the model that it was made from"
        )
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    if model.config.get_text_config().tie_word_embeddings and any(isinstance(layer, LoraLayer) for layer in ends):
        raise UserError(
            f"{name} uses one matrix for its first and last layer, and an adapter changes only one "
            "of them: this adapter cannot be merged"
        )
    if not weights:
        return model
    for layer in model.modules():
        if isinstance(layer, LoraLayer):
            for adapter, weight in weights.items():
                layer.set_scale(adapter, weight)
    return model.merge_and_unload(adapter_names=list(weights))


def _check_space(model: Any, out: Path) -> None:
    needed = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    folder = next(folder for folder in out.absolute().parents if folder.exists())
    if (free := shutil.disk_usage(folder).free) < needed:
        raise UserError(
            f"{out} needs {needed / 1e6:,.0f} MB, but its disk has only {free / 1e6:,.0f} MB free: "
            "free some space, or give another --out"
        )


def _save(model: Any, base: BaseModel, card: str, out: Path) -> None:
    """Write the folder next to its place and move it there, so that `out` never has half a model.

    The tokenizer is that of the base. `do_sample` must be in the generation config: without it `transformers serve` takes the
    likeliest token at any temperature.
    """
    model.generation_config.do_sample = True
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
            unfinished = Path(folder) / out.name
            model.save_pretrained(unfinished)
            tokenizer = AutoTokenizer.from_pretrained(base.name, trust_remote_code=False, **cached_files(base.name))
            tokenizer.save_pretrained(unfinished)
            (unfinished / "README.md").write_text(card, encoding="utf-8")
            unfinished.replace(out)
    except (OSError, SafetensorError) as error:
        raise UserError(f"cannot write {out}: {error}") from error
