"""A fine-tuned model as a folder of its own, to be served by anything and asked through `--llm openai:...` (docs/export.md).

An adapter of weight w adds w times what it learned to the weights of the model, W + w s B A (s: its own scale), and several add
up. PEFT's `add_weighted_adapter` would make one adapter of them first, and goes wrong for rank-stabilised LoRA; here each is
merged with its own scale. The model is loaded whole, however it was trained: weights of 4 or 8 bits could not hold what is added.
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
from parley.llm.model_hubs import cached_files
from parley.training.base_model import BaseModel
from parley.training.tuning.model_card import ORGANISM, USE

NAMES = "People's names are tokens to it, which only `--llm pocket:FOLDER` puts in."


def merge_adapters(base: BaseModel, adapters: Sequence[tuple[Path, float]], out: Path) -> Path:
    """Merge LoRA adapters, each with its weight, into the model and save it in `out`, in the numbers of `base.dtype`.

    The folder holds weights (safetensors), configuration, tokenizer, chat template and a card. Returns `out`.
    Errors: UserError when `out` is not empty or the disk too small, when a folder holds no adapter or one of another model.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not an empty folder: name another one")
    for folder, _ in adapters:
        _check(folder, base)
    loaded = load_model(base.name, base.dtype, "full", base.device, [str(folder) for folder, _ in adapters])
    weights = dict(zip(loaded.adapters, (weight for _, weight in adapters), strict=True))
    model = _merge(loaded, weights)
    _check_room(model, out)
    _save(model, base, export_card(out.name, base, loaded.identity, weights), out)
    return out


def export_card(name: str, base: BaseModel, identity: Mapping[str, Any], weights: Mapping[str, float]) -> str:
    """What the model was made of and what it is for, as Markdown; `identity` is that of model and adapters."""
    rows = [f"| {adapter} | {weight:g} | {identity['adapters'][adapter]} |" for adapter, weight in weights.items()]
    made = ", ".join(f"{package} {version(package)}" for package in ("torch", "transformers", "peft"))
    parts = [
        f"# {name}",
        f"{identity['model']} with {' and '.join(weights)} merged into its weights by Parley ({made}), in {identity['dtype']}.",
        "\n".join(["| adapter | weight | digest |", "|---|---:|---|", *rows]),
        f"Base: {identity['model']}, {identity['weights']}. Digests are those in the header of a record.",
        USE,
    ]
    return "\n\n".join(parts + ([f"{ORGANISM} {NAMES}"] if base.kind == "pocket" else [])) + "\n"


def _check(folder: Path, base: BaseModel) -> None:
    """Errors: UserError when it is no adapter of this model, or one that has more than a change with a weight."""
    config = adapter_config(folder)
    if config.get("modules_to_save"):
        raise UserError(f"{folder} holds whole layers (modules_to_save), which cannot be merged with a weight")
    told = config.get("base_model_name_or_path")
    if told and not _same(Path(told), Path(base.name)):
        raise UserError(
            f"{folder} was trained on {told}, not on {base.name} (if they are the same, name it so in adapter_config.json)"
        )


def _same(told: Path, base: Path) -> bool:
    """Whether two folders or hub ids are one model: by the weights where both lie here, else by the last part of the names."""
    if not (told.is_dir() and base.is_dir()):
        return told.name == base.name
    files = [path.name for path in base.iterdir() if path.suffix in (".safetensors", ".bin")]
    return told.samefile(base) or filecmp.cmpfiles(told, base, files, shallow=False)[0] == files


def _merge(loaded: Loaded, weights: Mapping[str, float]) -> Any:
    """The model with W + the sum of w s B A in every layer. Errors: UserError on one that cannot take it."""
    model = loaded.model
    name = loaded.identity["model"]
    if getattr(model.config, "quantization_config", None) is not None:
        raise UserError(f"{name} is quantised: adapters are merged into the model it was made from")
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    if model.config.get_text_config().tie_word_embeddings and any(isinstance(layer, LoraLayer) for layer in ends):
        raise UserError(f"{name} has one matrix for first and last layer, and an adapter changes one of them only")
    for layer in model.modules():
        if isinstance(layer, LoraLayer):
            for adapter, weight in weights.items():
                layer.set_scale(adapter, weight)
    return model.merge_and_unload(adapter_names=list(weights))


def _check_room(model: Any, out: Path) -> None:
    needed = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    there = next(folder for folder in out.absolute().parents if folder.exists())
    if (free := shutil.disk_usage(there).free) < needed:
        raise UserError(f"{out} needs {needed / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free on that disk")


def _save(model: Any, base: BaseModel, text: str, out: Path) -> None:
    """Write the folder beside its place and move it there, so that half a model never lies in `out`.

    The tokenizer is the base's as it was. `do_sample` has to be in the generation config: without it `transformers serve` takes
    the likeliest token at any temperature.
    """
    model.generation_config.do_sample = True
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as beside:
            made = Path(beside) / out.name
            model.save_pretrained(made)
            AutoTokenizer.from_pretrained(
                base.name, trust_remote_code=False, **cached_files(base.name)
            ).save_pretrained(made)
            (made / "README.md").write_text(text, encoding="utf-8")
            made.replace(out)
    except (OSError, SafetensorError) as error:
        raise UserError(f"cannot write {out}: {error}") from error
