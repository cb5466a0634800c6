"""Writes a pocket model as a GGUF file, which llama.cpp and Ollama serve (docs/tuning.md).

The converter of llama.cpp refuses a tokenizer that it does not know. llama.cpp itself has one of the same kind (Unigram, from
T5), so the file says that its tokens are of that kind. All other models have a converter: use theirs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter, TokenType
from safetensors.numpy import load_file

from parley.llm.backends.gguf.adapters import in_order
from parley.llm.errors import UserError

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
"""Names of a layer's weights: those of transformers, and those of llama.cpp."""


def write_gguf(folder: Path, file: Path) -> Path:
    """Write the model of a folder as a file and return its path. Errors: UserError when the tokenizer is of another kind."""
    config, tokenizer = (json.loads((folder / name).read_text("utf-8")) for name in ("config.json", "tokenizer.json"))
    if tokenizer["model"]["type"] != "Unigram" or config["model_type"] != "llama":
        raise UserError(
            f"{folder} is not a pocket model: convert it with convert_hf_to_gguf.py of llama.cpp (docs/tuning.md)"
        )
    writer = GGUFWriter(file, "llama")
    _add_shape(writer, config)
    _add_tokenizer(writer, config, tokenizer, (folder / "chat_template.jinja").read_text("utf-8"))
    for name, weights in load_file(folder / "model.safetensors").items():
        writer.add_tensor(_name(name), _arranged(name, weights.astype(np.float32), config))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_shape(writer: GGUFWriter, config: dict[str, Any]) -> None:
    width = config["hidden_size"] // config["num_attention_heads"]
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(width)
    writer.add_rope_freq_base(config.get("rope_theta") or config["rope_parameters"]["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])


def _add_tokenizer(writer: GGUFWriter, config: dict[str, Any], tokenizer: dict[str, Any], template: str) -> None:
    special = {token["id"]: token["content"] for token in tokenizer["added_tokens"]}
    vocabulary = tokenizer["model"]["vocab"]
    writer.add_tokenizer_model("t5")
    writer.add_token_list([token for token, _ in vocabulary])
    writer.add_token_scores([score for _, score in vocabulary])
    writer.add_token_types([_kind(number, token, special) for number, (token, _) in enumerate(vocabulary)])
    writer.add_unk_token_id(tokenizer["model"]["unk_id"])
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    writer.add_add_bos_token(False)  # the chat template writes it
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(False)
    writer.add_chat_template(template)


def _kind(number: int, token: str, special: dict[int, str]) -> TokenType:
    if number in special:
        return TokenType.CONTROL
    if token == "<unk>":
        return TokenType.UNKNOWN
    return TokenType.BYTE if token.startswith("<0x") else TokenType.NORMAL


def _name(name: str) -> str:
    """Return llama.cpp's name of a tensor.

    >>> _name("model.layers.3.mlp.up_proj.weight")
    'blk.3.ffn_up.weight'
    """
    if name == "model.embed_tokens.weight":
        return "token_embd.weight"
    if name == "model.norm.weight":
        return "output_norm.weight"
    if name == "lm_head.weight":
        return "output.weight"
    _, _, layer, *middle, _ = name.split(".")
    return f"blk.{layer}.{NAMES['.'.join(middle)]}.weight"


def _arranged(name: str, weights: np.ndarray, config: dict[str, Any]) -> np.ndarray:
    """Return queries and keys with the two halves of a head interleaved, as llama.cpp turns them; others as they are."""
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
    if heads is None:
        return weights
    return in_order(weights, config[heads])
