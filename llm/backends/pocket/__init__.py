"""pocket: a small Llama that comes with Parley, trained from scratch on texts of the oracle. `--llm pocket[:NAME]`

    pocket            bias, drift and influence as planted in the oracle
    pocket:control    the control: trained in the same way on an oracle without influence and drift (kappa = mu = 0)
    pocket:FOLDER     another one, made by training/pocket

It has a real tokenizer, transformer, chat template and logits; nothing is downloaded. It is a **model organism** with a planted,
known bias. It serves to run, test and calibrate instruments, and is no evidence about people or about large language models
(docs/pocket.md).

Its options are those of hf without load, device and style. `workers` is by default the number of cores (4 at most); each worker
has one thread, because on so small a model several threads in a matrix product slow each other down. `keep` is never more than a
third of the machine's memory. Needs the `[local]` extra.
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
    """Return the topics that a model was taught. On other topics it would repeat what it says on these, so none are debated.

    Errors: UserError when the model does not name its topics (it was not made by training/pocket).
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if "topics" not in config:
        raise UserError(
            f"{folder} is not a model of the pocket kind, because it does not list the topics it was taught: "
            f"load it with hf:{folder}"
        )
    return tuple(config["topics"])


def known_topics(model: str) -> tuple[str, ...] | None:
    """Return the topics that the model of this name or folder was taught; None where there is no such model."""
    folder = _folder(model)
    return taught_topics(folder) if (folder / "config.json").is_file() else None


def _folder(model: str) -> Path:
    return Path(model) if "/" in model else WEIGHTS / (model or "pocket")


def organisms() -> list[str]:
    """Return the names of the pocket models that come with Parley."""
    return sorted(path.parent.name for path in WEIGHTS.glob("*/config.json"))


def open_backend(
    model: str,
    dtype: str = "float32",
    batch: int = 32768,
    keep: int = 2560,
    closed: str = "exact",
    adapters: str = "",
    workers: int = 0,
    same: str = "auto",
) -> Backend:
    """Load a pocket model by name, or a model of this kind from a folder. Errors: UserError."""
    folder = _folder(model)
    if not (folder / "config.json").is_file():
        if "/" in model:
            raise UserError(f"{folder} is not a model folder: its config.json is missing")
        raise unknown_name("pocket model", model or "pocket", organisms())
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise UserError(
            f"the model pocket needs packages that are not installed: {' and '.join(missing)} (docs/install.md). "
            "Without them, use "
            "the oracle: --llm oracle, or in Python llm='oracle'"
        )
    import torch

    torch.set_num_threads(1)
    inner = hf.open_backend(
        str(folder),
        dtype=dtype,
        closed=closed,
        batch=batch,
        keep=min(keep, _memory() // 3),
        workers=workers or min(_cores(), 4),
        same=same,
        adapters=adapters,
    )
    return Pocket(inner, taught_topics(folder))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    """Return the MiB of memory of the machine, or of its container if that has less; 8 GiB where neither is known."""
    file = Path("/sys/fs/cgroup/memory.max")
    limit = file.read_text().strip() if file.is_file() else ""
    known = "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else 8 << 30
    return min(memory, int(limit) if limit.isdigit() else memory) >> 20


class Pocket(Wrapper):
    """The model, which reads and writes a token in place of each person's name (names.py)."""

    def __init__(self, inner: Backend, topics: Sequence[str]):
        super().__init__(inner)
        self.topics = list(topics)

    @property
    def identity(self) -> Mapping[str, Any]:
        kind = "model organism with a planted, known bias"
        return {**self.inner.identity, "backend": "pocket", "kind": kind, "topics": self.topics}

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        names = [name_tokens(request.messages, request.names) for request in requests]
        replies = self.inner.complete(
            [
                replace(request, messages=tuple(mask_names(request.messages, tokens)))
                for request, tokens in zip(requests, names, strict=True)
            ]
        )
        for reply, tokens in zip(replies, names, strict=True):
            if reply.text is not None:
                reply.text = unmask_names(reply.text, tokens)
        return replies
