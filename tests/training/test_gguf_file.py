"""The pocket model as a GGUF file: what llama.cpp reads there is what transformers reads in the folder."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

gguf = pytest.importorskip("gguf", reason="the [local] extra is not installed")

from safetensors.numpy import load_file  # noqa: E402

from parley.llm.backends.pocket import WEIGHTS  # noqa: E402
from parley.llm.errors import UserError  # noqa: E402
from parley.training.gguf_file import write_gguf  # noqa: E402

POCKET = WEIGHTS / "pocket"


def test_weights_and_tokens_are_those_of_the_folder(tmp_path: Path) -> None:
    """Queries and keys with the two halves of a head interleaved, everything else as it is."""
    reader = gguf.GGUFReader(write_gguf(POCKET, tmp_path / "pocket.gguf"))
    written = {tensor.name: tensor.data for tensor in reader.tensors}
    weights = load_file(POCKET / "model.safetensors")
    assert len(written) == len(weights)
    assert np.array_equal(written["token_embd.weight"], weights["model.embed_tokens.weight"].astype(np.float32))
    assert np.array_equal(written["blk.2.ffn_down.weight"], weights["model.layers.2.mlp.down_proj.weight"])
    query, key = (weights[f"model.layers.1.self_attn.{name}_proj.weight"] for name in "qk")
    for name, original in (("attn_q", query), ("attn_k", key)):
        found = written[f"blk.1.{name}.weight"]
        for head in range(len(original) // 32):
            assert np.array_equal(found[32 * head : 32 * head + 32 : 2], original[32 * head : 32 * head + 16])
            assert np.array_equal(found[32 * head + 1 : 32 * head + 32 : 2], original[32 * head + 16 : 32 * head + 32])
    tokens = reader.fields["tokenizer.ggml.tokens"]
    assert len(tokens.data) == len(weights["model.embed_tokens.weight"])
    assert bytes(tokens.parts[tokens.data[8]]).decode() == "<|end|>"


def test_a_model_with_another_tokenizer_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "other"
    copytree(WEIGHTS / "control", folder)
    written = json.loads((folder / "tokenizer.json").read_text())
    written["model"]["type"] = "BPE"
    (folder / "tokenizer.json").write_text(json.dumps(written))
    with pytest.raises(UserError, match="convert_hf_to_gguf"):
        write_gguf(folder, tmp_path / "other.gguf")
