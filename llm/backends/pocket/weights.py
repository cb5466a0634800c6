"""Loads the weights of a small Llama for compiled code, and merges adapters into copies of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from parley.llm.backends.hf.checkpoint import adapter_config
from parley.llm.backends.pocket.layout import WIDTH, Weights
from parley.llm.errors import UserError

ROTATION = 10000.0
"""The base of the angles of positions where a configuration names none."""
CONTEXT = 2048
"""Tokens that fit where a configuration does not say."""
SPARE = 512
"""Positions behind the context, for the answers that are scored behind a prompt."""
LAYER = "model.layers.{}."
PARTS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj")
DOWN = "mlp.down_proj"
Tensors = dict[str, np.ndarray]


class Definition(NamedTuple):
    """What a model is besides its weights.

    `context` is the number of tokens that fit, `ends` are the tokens that end a reply. A reply may hold one of the forms of a
    name in `copied` only if the prompt has one, and `suppressed` tokens never. A token whose probability is below `min_p` times
    the largest one is never drawn.
    """

    context: int
    ends: frozenset[int]
    copied: tuple[tuple[int, ...], ...]
    suppressed: tuple[int, ...]
    min_p: float


def read_configuration(folder: Path, name: str) -> dict[str, Any]:
    """Return a configuration file of a model, {} if there is none. Errors: UserError when it cannot be read."""
    path = folder / name
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise UserError(f"cannot load the model {folder}: {name} cannot be read ({error})") from error


def read_definition(folder: Path) -> Definition:
    """Return what config.json and generation_config.json say about replies."""
    config, generation = read_configuration(folder, "config.json"), read_configuration(folder, "generation_config.json")
    named = generation.get("eos_token_id", config.get("eos_token_id"))
    return Definition(
        int(config.get("max_position_embeddings", CONTEXT)),
        frozenset(named if isinstance(named, list) else [named]) - {None},
        tuple(map(tuple, config.get("copied", ()))),
        tuple(generation.get("suppress_tokens") or ()),
        float(generation.get("min_p") or 0.0),
    )


def load_tensors(folder: Path) -> Tensors:
    """Return the weights of a folder by name, float32. Errors: UserError."""
    tensors: Tensors = {}
    try:
        for path in sorted(folder.glob("*.safetensors")):
            tensors |= {name: tensor.astype(np.float32) for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError, TypeError) as error:  # TypeError: numpy knows no bfloat16
        raise UserError(f"cannot load the model {folder}: {error}") from error
    if not tensors:
        raise UserError(f"cannot load the model {folder}, because it has no file model.safetensors")
    return tensors


def merge_adapter(tensors: Mapping[str, np.ndarray], folder: Path) -> Tensors:
    """Return the weights with a LoRA adapter added to them: W + s B A. Errors: UserError."""
    config, merged = adapter_config(folder), dict(tensors)
    try:
        parts = load_file(folder / "adapter_model.safetensors")
    except (OSError, SafetensorError, TypeError) as error:
        raise UserError(f"cannot load the adapter {folder}: {error}") from error
    for name, low in parts.items():
        if ".lora_" not in name:
            raise UserError(
                f"cannot load the adapter {folder}: it has whole layers, such as {name}, which pocket cannot load"
            )
        module, matrix_name = name.removeprefix("base_model.model.").rsplit(".lora_", 1)
        target = f"{module}.weight"
        if target not in merged or matrix_name not in ("A.weight", "B.weight"):
            raise UserError(f"cannot load the adapter {folder}: the model has no part {name}")
        if matrix_name == "A.weight":
            high = parts[name.replace("lora_A", "lora_B")].astype(np.float32)
            merged[target] = merged[target] + _scale(config, module, len(low)) * (high @ low.astype(np.float32))
    return merged


def _scale(config: Mapping[str, Any], module: str, rank: int) -> np.float32:
    alpha = next(
        (value for key, value in (config.get("alpha_pattern") or {}).items() if module.endswith(key)),
        config["lora_alpha"],
    )
    return np.float32(alpha / rank**0.5 if config.get("use_rslora") else alpha / rank)


def arrange(tensors: Mapping[str, np.ndarray], folder: Path) -> Weights:
    """Return weights in the order in which compiled code reads them. Errors: UserError on another architecture."""
    config = read_configuration(folder, "config.json")
    check_architecture(config, folder)
    layers = range(int(config["num_hidden_layers"]))
    try:
        each = [
            [tensors[f"{LAYER.format(layer)}{weight_name}.weight"] for weight_name in (*PARTS, DOWN)]
            for layer in layers
        ]
        norms = [
            tensors[f"{LAYER.format(layer)}{norm_name}.weight"]
            for layer in layers
            for norm_name in ("input_layernorm", "post_attention_layernorm")
        ]
        embedding, last = tensors["model.embed_tokens.weight"], tensors["model.norm.weight"]
        final = embedding if config.get("tie_word_embeddings") else tensors["lm_head.weight"]
    except KeyError as error:
        raise UserError(f"cannot load the model {folder}, because its weights lack {error.args[0]}") from error
    inner = -(-each[0][4].shape[0] // WIDTH) * WIDTH
    cosine, sine = _rotations(config)
    return Weights(
        np.ascontiguousarray(embedding),
        np.stack([*norms, last]),
        _panels([np.concatenate(parts[:3]) for parts in each]),
        _panels([parts[3] for parts in each]),
        _panels([np.concatenate([_padded(parts[4], inner), _padded(parts[5], inner)]) for parts in each]),
        _panels([_padded(parts[6].T, inner).T for parts in each]),
        _panels([final]),
        cosine,
        sine,
        int(config["num_attention_heads"]),
        int(config["num_key_value_heads"]),
        float(config["rms_norm_eps"]),
    )


def check_architecture(config: Mapping[str, Any], folder: Path) -> None:
    """Errors: UserError unless the model is a plain Llama with heads of width 32."""
    heads = config.get("num_attention_heads", 1)
    width = config.get("head_dim") or config.get("hidden_size", 0) // heads
    plain = config.get("model_type") == "llama" and config.get("hidden_act", "silu") == "silu"
    plain &= not config.get("attention_bias") and not config.get("mlp_bias")
    plain &= (config.get("rope_parameters") or config.get("rope_scaling") or {}).get(
        "rope_type", "default"
    ) == "default"
    if not plain or width != WIDTH or config["hidden_size"] % WIDTH or heads % config.get("num_key_value_heads", heads):
        raise UserError(
            f"{folder} is not a plain Llama with heads of width {WIDTH}: "
            f"use --llm pocket:{folder},engine=torch (docs/tutorial.md)"
        )


def _rotations(config: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return cosines and sines of the angles of all positions, (positions, 16)."""
    base = (config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta", ROTATION))
    powers = np.arange(0, WIDTH, 2, dtype=np.float32) / np.float32(WIDTH)
    frequencies = (1.0 / np.float32(base) ** powers).astype(np.float32)
    angles = (
        np.arange(int(config.get("max_position_embeddings", CONTEXT)) + SPARE, dtype=np.float32)[:, None] * frequencies
    )
    return np.cos(angles), np.sin(angles)


def _padded(matrix: np.ndarray, rows: int) -> np.ndarray:
    return np.pad(matrix, ((0, rows - len(matrix)), (0, 0)))


def _panels(matrices: list[np.ndarray]) -> np.ndarray:
    """Return matrices (outputs, inputs) as (matrices, panels, inputs, 32); columns are added up to whole panels."""
    stacked = np.stack(matrices)
    stacked = np.pad(stacked, ((0, 0), (0, -stacked.shape[1] % WIDTH), (0, 0)))
    count, outputs, inputs = stacked.shape
    return np.ascontiguousarray(stacked.reshape(count, outputs // WIDTH, WIDTH, inputs).transpose(0, 1, 3, 2))
