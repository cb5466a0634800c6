"""Attention through a mask on a CPU, without copies of the keys that several heads share, and never with a single query.

The library copies keys and values for each head; with a mask and more than one new token a row, that took a quarter of the time
of attention (docs/log.md). And the product of fewer than `LEAST` queries with the keys is added up in another order than that of
more queries. Then the last digits of a token's numbers would depend on the number of tokens that are read with it. So queries
come in multiples of LEAST (prefill.py). The library does the rest.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

NAME = "grouped"
LEAST = 4
"""Rows from which on the products of matrices on a CPU are added up in one order."""
SPECIAL = ("softcap", "position_bias", "cache")
"""Options of attention, besides a mask, with which the library's own attention is used."""


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Return the result of attention (rows, new tokens, heads, width).

    `query` is (rows, heads, new tokens, width), `key` and `value` are (rows, key heads, tokens, width).
    """
    if attention_mask is None or module.training or any(options.get(name) is not None for name in SPECIAL):
        result: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **options
        )
        return result
    new = query.shape[2]
    if padding := -new % LEAST:
        query = pad(query, (0, 0, 0, padding))
        attention_mask = pad(attention_mask, (0, 0, 0, new + padding - attention_mask.shape[2]))
    output = scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scaling, enable_gqa=True)
    return output[:, :, :new].transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, grouped_attention)
AttentionMaskInterface.register(NAME, eager_mask)
"""The mask is made of numbers once for all layers: one of truth values is turned into numbers in each layer."""
