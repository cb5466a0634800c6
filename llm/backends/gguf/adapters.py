"""Brings LoRA adapters of `run.py train` into the form that llama.cpp loads. Needs gguf and safetensors, and no torch."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from parley.llm.backends.gguf.header import Header
from parley.llm.backends.hf.checkpoint import adapter_config, adapter_folders, fingerprint
from parley.llm.errors import UserError
from parley.llm.user_file import user_cache

HALVES = {"A.weight": "lora_a", "B.weight": "lora_b"}
"""The two halves of an adapter's weights: their names in PEFT and in llama.cpp."""
TURNED = "llama"
"""The kind of model whose queries and keys llama.cpp keeps in another order than transformers."""
SAME_ORDER = ("qwen2", "qwen3", "gemma", "gemma2", "gemma3")
"""The kinds whose weights llama.cpp keeps as transformers does."""


def adapter_files(header: Header, adapters: str) -> dict[str, tuple[Path, str]]:
    """Return the file that llama.cpp loads and the digest for each adapter by name.

    Parameters
    ----------
    header : Header
        The model that the adapters belong to.
    adapters : str
        Folders of LoRA adapters, joined by `+`.

    Errors: UserError as `adapter_folders`, for a kind of model whose order of weights is not known, and without the packages.
    """
    folders = adapter_folders([folder for folder in adapters.split("+") if folder])
    if not folders:
        return {}
    kind = str(header.fields.get("general.architecture"))
    if kind not in (TURNED, *SAME_ORDER):
        raise UserError(
            f"gguf loads adapters only for models of the kinds {', '.join((TURNED, *SAME_ORDER))}, but {header.name} is of the "
            f"kind {kind}: merge the adapter into the model (python run.py export adapter), and convert the merged model"
        )
    files = {}
    for name, folder in folders.items():
        digest = fingerprint(folder)  # of alpha, too
        file = user_cache() / "adapters" / f"{digest}-{header.digest}.gguf"
        if not file.is_file():
            _convert(folder, header, kind, file)
        files[name] = (file, digest)
    return files


def _convert(folder: Path, header: Header, kind: str, file: Path) -> None:
    """Write an adapter as a GGUF file, completely or not at all. Errors: UserError for what llama.cpp has no place for."""
    try:
        from gguf import GGUFWriter
        from safetensors import SafetensorError
        from safetensors.numpy import load_file
    except ImportError as error:
        raise UserError("an adapter for gguf needs packages that are missing: pip install gguf safetensors") from error
    config = adapter_config(folder)
    if config.get("alpha_pattern") or config.get("rank_pattern"):
        raise UserError(
            f"{folder}: gguf can load only adapters with one alpha and one rank for all weights: load this adapter "
            "with hf"
        )
    try:
        weights = load_file(folder / "adapter_model.safetensors")
    except (OSError, SafetensorError, TypeError) as error:  # TypeError: numpy knows no bfloat16
        raise UserError(f"cannot load the adapter {folder}: {error}") from error
    file.parent.mkdir(parents=True, exist_ok=True)
    partial_file = file.with_name(f"{file.name}.{os.getpid()}.part")
    writer = GGUFWriter(partial_file, kind)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", _alpha(config))
    for name, rows in _placed(weights, header, kind, folder):
        writer.add_tensor(name, rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    partial_file.replace(file)


def _placed(
    weights: Mapping[str, np.ndarray], header: Header, kind: str, folder: Path
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the weights of an adapter by their names in llama.cpp, and in its order."""
    from gguf.constants import MODEL_ARCH_NAMES
    from gguf.tensor_mapping import get_tensor_name_map

    number = next(number for number, name in MODEL_ARCH_NAMES.items() if name == kind)
    names = get_tensor_name_map(number, header.number("block_count"))
    heads = header.number("attention.head_count")
    turned = {"attn_q": heads, "attn_k": header.number("attention.head_count_kv") or heads} if kind == TURNED else {}
    for key, rows in weights.items():
        module, _, half = key.removeprefix("base_model.model.").rpartition(".lora_")
        place = names.get_name(module)
        if not place or half not in HALVES:
            raise UserError(f"{folder}: llama.cpp cannot load the weights {key}: load this adapter with hf")
        count = turned.get(place.rpartition(".")[2], 0) if half == "B.weight" else 0
        if count and len(rows) % (2 * count):
            raise UserError(f"{folder} does not fit {header.name}: it was trained on a model of another size")
        weight = rows.astype(np.float32)
        yield f"{place}.weight.{HALVES[half]}", in_order(weight, count) if count else weight


def in_order(rows: np.ndarray, heads: int) -> np.ndarray:
    """Return the rows of queries or keys in the order of llama.cpp: the two halves of each head take turns.

    >>> in_order(np.arange(8).reshape(8, 1), heads=2).ravel().tolist()
    [0, 2, 1, 3, 4, 6, 5, 7]
    """
    halves = rows.reshape(heads, 2, len(rows) // heads // 2, *rows.shape[1:])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(rows.shape)


def _alpha(config: Mapping[str, Any]) -> float:
    """Return alpha as llama.cpp takes it, which divides it by the rank (rank-stabilised LoRA: by its root)."""
    rank = float(config["r"])
    return float(config["lora_alpha"]) * (rank**0.5 if config.get("use_rslora") else 1.0)
