"""Attention through a mask on a CPU, without copies of the keys that several heads share, and with queries in multiples.

The library copies keys and values for each head; with a mask and more than one new token a row, that took a quarter of the time
of attention (tools/log). And the product of few queries with the keys is added up in another order than that of more queries:
the last digits of a token's numbers would depend on the number of tokens that are read with it. So queries come in multiples of
a number, which the name of the attention states and which depends on the machine (same_sums.py). The library does the rest.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import eager_mask

BLOCK = 512
"""Keys that attention on a CPU adds up at once."""
STEPS = (1, 4, 8, 16, 32)
"""Numbers of queries, and of rows of a product, of whose multiples one may be needed; 1: as many as there are."""
SPECIAL = ("softcap", "position_bias", "cache")
"""Options of attention, besides a mask, with which the library's own attention is used."""


def name_of(step: int) -> str:
    """Return the name of the attention with queries in multiples of `step`."""
    return f"grouped_{step}"


def step_of(name: str) -> int:
    """Return the number of queries of whose multiples an attention takes; 0 for one that is not from this module."""
    return _STEPS.get(name, 0)


def grouped_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    step: int,
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
    output = attend(query, key, value, attention_mask, step, scaling)
    return output.transpose(1, 2).contiguous(), None


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    step: int,
    scaling: float | None = None,
) -> torch.Tensor:
    """Return the result of attention (rows, heads, new tokens, width), computed for a multiple of `step` queries.

    Where there are fewer new tokens, heads that share a key are queries of one head: three heads of one token are then filled up
    with one query, not each with three.
    """
    rows, heads, new, width = query.shape
    if new < step:
        query = query.reshape(rows, key.shape[1], -1, width)
        mask = mask.repeat(1, 1, query.shape[2] // new, 1)
    count = query.shape[2]
    if padding := -count % step:
        query, mask = pad(query, (0, 0, 0, padding)), pad(mask, (0, 0, 0, padding))
    result = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling, enable_gqa=True)
    return result[:, :, :count].reshape(rows, heads, new, width)


_STEPS = {name_of(step): step for step in STEPS}
for _name, _step in _STEPS.items():
    AttentionInterface.register(_name, partial(grouped_attention, step=_step))
    AttentionMaskInterface.register(_name, eager_mask)  # numbers, made once: truth values become numbers in each layer
