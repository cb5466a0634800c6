"""Attention for training on a CPU: blocks of queries, each against the keys that can come before it.

With a mask of any shape (`rows.visible`) torch's fused attention computes the upper triangle as well, and on a CPU its backward
pass is slow: this plain form is 2-3 times faster at the lengths of the corpus (tools/log, 2026-11-21).
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface

NAME, BLOCKS = "blocked", 6


def blocked(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor,
    scaling: float,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Softmax attention under an additive mask (rows, 1, length, length), in the order that transformers expects.

    query (rows, heads, length, width), key and value (rows, key heads, length, width); returns (rows, length, heads, width).
    """
    rows, heads, length, width = query.shape
    groups = heads // key.shape[1]
    keys = key.repeat_interleave(groups, 1).reshape(rows * heads, length, width)
    values = value.repeat_interleave(groups, 1).reshape(rows * heads, length, width)
    queries = query.reshape(rows * heads, length, width)
    step = -(-length // BLOCKS)
    parts = []
    for start in range(0, length, step):
        stop = min(start + step, length)
        mask = (
            attention_mask[:, :, start:stop, :stop]
            .expand(rows, heads, -1, -1)
            .reshape(rows * heads, stop - start, stop)
        )
        scores = torch.baddbmm(mask, queries[:, start:stop], keys[:, :stop].transpose(1, 2), alpha=scaling)
        parts.append(scores.softmax(-1).bmm(values[:, :stop]))
    return torch.cat(parts, 1).view(rows, heads, length, width).transpose(1, 2).contiguous(), None


AttentionInterface.register(NAME, blocked)
