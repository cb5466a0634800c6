"""Attention over keys that several heads share, read where they are: the library copies keys and values for each of the heads.

On a CPU, with a mask and more than one new token a row, that was a quarter of the time of attention (docs/log.md). The mask is
made of numbers once for all layers: one of truth values is turned into numbers in each. All else is left to the library, and so
are the results: the same kernel is asked.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

NAME = "grouped"
SPECIAL = ("softcap", "position_bias", "cache")
"""What a model may ask of attention besides a mask; then the library's own is used."""


def grouped(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """query (rows, heads, new tokens, width), key and value (rows, key heads, tokens, width); returns (rows, new, heads,
    width).
    """
    shared = attention_mask is not None and query.shape[2] > 1 and query.shape[1] > key.shape[1]
    if not shared or module.training or any(options.get(name) is not None for name in SPECIAL):
        out: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return out
    found = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling, enable_gqa=True)
    return found.transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, grouped)
AttentionMaskInterface.register(NAME, eager_mask)
