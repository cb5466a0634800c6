"""A tiny model of random weights as a GGUF file: real code, no download. Needs the packages gguf and xllamacpp."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pytest

CHAT = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
WIDTH, INNER, LAYERS, HEADS, CONTEXT = 32, 64, 2, 4, 512
WORDS = [
    "▁a",
    "▁the",
    "▁not",
    "▁problem",
    "▁big",
    "▁small",
    "▁is",
    "▁I",
    "▁think",
    "▁",
    *"0123456789abcdefghijklmnopqrstuvwxyz.,:",
]


def write_tiny_gguf(
    path: Path, template: str | None = CHAT, added: Mapping[str, np.ndarray] = MappingProxyType({})
) -> Path:
    """Write a model of the Llama shape, always the same one; without a template it is a base model. added: to weights by name."""
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("xllamacpp")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *WORDS]
    kinds = [2, 3, 3, *[6] * 256, *[1] * len(WORDS)]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    if template:
        writer.add_chat_template(template)
    draw = np.random.default_rng(7)

    def add(name: str, *shape: int, scale: float = 0.5) -> None:
        weights = draw.standard_normal(shape) * scale + added.get(name, 0.0)
        writer.add_tensor(name, weights.astype(np.float32))

    add("token_embd.weight", len(tokens), WIDTH)
    add("output.weight", len(tokens), WIDTH)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for norm in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{norm}.weight", np.ones(WIDTH, np.float32))
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
