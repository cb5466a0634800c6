"""pocket: the language model in the box, a small Llama trained from scratch on what the oracle wrote. `--llm pocket[:NAME]`

    pocket            bias, drift and influence as planted in the oracle
    pocket:control    the control organism: trained alike on an oracle that nothing moves (kappa = mu = 0)
    pocket:FOLDER     another one, made by training/pocket

A real tokenizer, transformer, chat template, logits; nothing is downloaded. It is a **model organism** with a planted, known
bias: it is there to run, test and calibrate instruments, and is no evidence about people or about large language models
(docs/pocket.md).
Options are those of hf but for load, device and style; `workers` is one for each core unless given (4 at most), each of one
thread: on so small a model more threads in a matrix product are in each other's way. `keep` is never more than a third of the
machine's memory. Needs the `[local]` extra.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parley.llm.backends import hf
from parley.llm.backends.pocket.names import mask_names, name_tokens, unmask_names
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import Backend, Reply, Request, Wrapper

MANNER = hf.MANNER
WEIGHTS = Path(__file__).parent / "weights"


def taught_topics(folder: Path = WEIGHTS / "pocket") -> tuple[str, ...]:
    """The topics that a model knows: of others it would say what it says of these, so that no debate of them is held.

    Errors: UserError when the model does not tell (it was not made by training/pocket).
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if "topics" not in config:
        raise UserError(
            f"{folder} does not tell the topics it was taught: for a model of another kind write hf:{folder}"
        )
    return tuple(config["topics"])


def known_topics(model: str) -> tuple[str, ...] | None:
    """Those that the model of this name or folder was taught; None where there is no such model."""
    folder = _folder(model)
    return taught_topics(folder) if (folder / "config.json").is_file() else None


def _folder(model: str) -> Path:
    return Path(model) if "/" in model else WEIGHTS / (model or "pocket")


def organisms() -> list[str]:
    """The models in the box."""
    return sorted(path.parent.name for path in WEIGHTS.glob("*/config.json"))


def open_backend(
    model: str,
    dtype: str = "float32",
    batch: int = 32768,
    keep: int = 2560,
    closed: str = "exact",
    adapters: str = "",
    workers: int = 0,
    draft: int = 3,
    same: str = "auto",
) -> Backend:
    """Load one of the models in the box, or one from a folder. Errors: UserError."""
    folder = _folder(model)
    if not (folder / "config.json").is_file():
        if "/" in model:
            raise UserError(f"{folder} holds no model (no config.json)")
        raise unknown_name("pocket model", model or "pocket", organisms())
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        needed = " and ".join(missing)
        raise UserError(
            f"pocket, the model in the box, needs {needed} (docs/install.md); without them take "
            "the oracle: --llm oracle, in Python llm='oracle'"
        )
    import torch

    torch.set_num_threads(1)
    workers = workers or min(
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 4
    )
    options: dict[str, Any] = {"dtype": dtype, "closed": closed, "batch": batch, "keep": min(keep, _memory() // 3)}
    options |= {"workers": workers, "draft": draft, "same": same}
    return Pocket(hf.open_backend(str(folder), adapters=adapters, **options), taught_topics(folder))


def _memory() -> int:
    """MiB of memory that this process may use: the machine's, or its container's; 8 GiB where neither can be told."""
    limit = Path("/sys/fs/cgroup/memory.max")
    told = limit.read_text() if limit.is_file() else ""
    names = getattr(os, "sysconf_names", {})
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in names else 8 << 30
    return min(whole, int(told) if told.strip().isdigit() else whole) >> 20


class Pocket(Wrapper):
    """The model with people's names as tokens (names.py)."""

    def __init__(self, inner: Backend, topics: Sequence[str]):
        super().__init__(inner)
        self.topics = list(topics)

    @property
    def identity(self) -> Mapping[str, Any]:
        kind = "model organism with a planted, known bias"
        return {**self.inner.identity, "backend": "pocket", "kind": kind, "topics": self.topics}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        casts = [name_tokens(request.messages, request.names) for request in requests]
        inner = [_masked(request, names) for request, names in zip(requests, casts, strict=True)]
        replies = self.inner.complete(inner)
        for reply, names in zip(replies, casts, strict=True):
            if reply.text is not None:
                reply.text = unmask_names(reply.text, names)
        return replies


def _masked(request: Request, names: Mapping[str, str]) -> Request:
    messages = tuple(mask_names(request.messages, names))
    return replace(request, messages=messages)
