"""Finds out how a row's numbers can be the same to the last bit, whatever is read with it (CPU, float32).

A processor adds up the products of few rows in another order than those of many. Which numbers of rows differ depends on the
processor, the number of threads and the shape of the weights: with one thread often 1 to 3, with two also 5 to 7 and 9 to 11, on
some machines all up to 15 (tools/log). Rows in multiples of some small number have all been the same so far. `same_sums` tries
such numbers on one product of each shape that the model has, and on attention, which takes a second. Then it reads a few tokens
with the whole model, alone and with other rows. What it found is kept in the user's cache, by machine and shapes.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from torch.nn.functional import pad
from transformers.pytorch_utils import Conv1D

from parley.llm.backends.hf.grouped_attention import BLOCK, STEPS, attend, name_of, step_of
from parley.llm.backends.hf.loading import Loaded
from parley.llm.user_file import user_cache

SIZES = (4, 8, 12, 16, 20, 24, 28, 32, 48, 64, 512)
"""Rows of the products that are compared."""
SMALL, LARGEST = 64, 3e9
"""Products of more than SMALL rows are left out where they take more multiplications than LARGEST: those of all tokens that the
model knows, and of large models.
"""
QUERIES = (1, 3, 5, 17, 33, 200)
"""Queries at once that are compared: attention changes its own pieces at 192."""
VARIABLES = ("MKL_", "ATEN_", "DNNL_", "ONEDNN_")
"""How the variables of the environment begin that choose the code for products."""


class Steps(NamedTuple):
    """Of which numbers rows of products and queries of attention come in multiples, and whether the model then passed."""

    products: int
    queries: int
    passed: bool


def same_sums(loaded: Loaded, check: Callable[[Loaded], bool]) -> bool:
    """Set up the model so that rows do not depend on each other; return whether that is certain.

    `check` reads some tokens with the whole model, in the way of the backend. Its result is kept with the steps.
    """
    model = loaded.model
    path = user_cache() / "sums" / f"{_digest(model)}.json"
    if (steps := _read(path)) is None:
        steps = Steps(_product_step(model), _query_step(model.config.get_text_config()), False)
        if steps.products and steps.queries:
            _set(model, steps)
            steps = steps._replace(passed=check(loaded))
        _write(path, steps)
    _set(model, steps if steps.passed else Steps(1, 1, False))
    return steps.passed


def _set(model: Any, steps: Steps) -> None:
    if step_of(model.config.get_text_config()._attn_implementation):
        model.set_attn_implementation(name_of(steps.queries))
    for module in _products(model):
        module.forward = partial(_in_multiples, type(module).forward.__get__(module), steps.products)


def _in_multiples(product: Callable[[torch.Tensor], torch.Tensor], step: int, rows: torch.Tensor) -> torch.Tensor:
    """Return the product of rows (..., width), computed for a multiple of `step` rows."""
    flat = rows.reshape(-1, rows.shape[-1])
    if padding := -len(flat) % step:
        return product(pad(flat, (0, 0, 0, padding)))[: len(flat)].reshape(*rows.shape[:-1], -1)
    return product(rows)


def _products(model: Any) -> Iterator[torch.nn.Module]:
    return (module for module in model.modules() if isinstance(module, torch.nn.Linear | Conv1D))


def _product_step(model: Any) -> int:
    """Return the smallest step that serves all shapes of weights; 0 for none."""
    by_shape = {(type(module), module.weight.shape): module for module in _products(model)}
    with torch.inference_mode():
        differing = {size for module in by_shape.values() for size in _differing_sizes(module)}
    return next((step for step in STEPS[1:] if not any(size % step == 0 for size in differing)), 0)


def _differing_sizes(module: Any) -> set[int]:
    """Return the numbers of rows with which the last rows of a product differ from those of the largest product."""
    sizes = [size for size in SIZES if size <= SMALL or size * module.weight.numel() < LARGEST]
    width = module.weight.shape[0 if isinstance(module, Conv1D) else 1]
    rows = torch.randn(sizes[-1], width, generator=torch.Generator().manual_seed(0))
    product = type(module).forward.__get__(module)
    expected = product(rows)
    return {size for size in sizes if not torch.equal(product(rows[-size:].clone()), expected[-size:])}


def _query_step(config: Any) -> int:
    """Return the smallest step that serves attention; 0 for none."""
    heads = config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // heads
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(1, heads, max(QUERIES), width, generator=generator)
    key_heads = getattr(config, "num_key_value_heads", None) or heads
    key, value = torch.randn(2, 1, key_heads, 2 * BLOCK, width, generator=generator)
    mask = torch.zeros(1, 1, max(QUERIES), 2 * BLOCK)
    mask.masked_fill_(torch.arange(2 * BLOCK) > torch.arange(max(QUERIES))[:, None], torch.finfo(mask.dtype).min)

    def attention(count: int, columns: int, rows: int, step: int) -> torch.Tensor:
        queries, masks = query[:, :, -count:], mask[:, :, -count:, :columns]
        copies = [each.repeat(rows, 1, 1, 1) for each in (queries, key[:, :, :columns], value[:, :, :columns], masks)]
        return attend(copies[0], copies[1], copies[2], copies[3], step)[-1]

    def serves(step: int) -> bool:
        expected = attention(max(QUERIES), BLOCK, 1, step)
        return all(
            torch.equal(attention(count, columns, rows, step), expected[:, -count:])
            for count in QUERIES
            for columns, rows in ((BLOCK, 1), (BLOCK, 3), (2 * BLOCK, 2))
        )

    return next((step for step in STEPS[1:] if serves(step)), 0)


def _digest(model: Any) -> str:
    """Return what the order of sums may depend on: the machine, the libraries, the threads and the shapes of the model."""
    try:
        processor = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    except OSError:
        processor = []
    variables = sorted(item for item in os.environ.items() if item[0].startswith(VARIABLES))
    shapes = sorted({f"{type(module).__name__} {tuple(module.weight.shape)}" for module in _products(model)})
    config: Mapping[str, Any] = model.config.get_text_config().to_dict()
    sizes = sorted((name, value) for name, value in config.items() if isinstance(value, int | float))
    parts = (
        [line for line in processor if line.startswith(("model name", "flags"))],
        (platform.uname(), variables, torch.get_num_threads()),
        (torch.__version__, transformers.__version__, torch.backends.cpu.get_cpu_capability()),
        (config.get("model_type"), shapes, sizes),
    )
    return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def _read(path: Path) -> Steps | None:
    try:
        return Steps(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write(path: Path, steps: Steps) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(steps._asdict()) + "\n", encoding="utf-8")
    except OSError:
        pass  # found again in the next run
