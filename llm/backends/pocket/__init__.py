"""pocket: a small Llama that comes with Parley, trained from scratch on texts of the oracle. `--llm pocket[:NAME]`

    pocket            bias, drift and influence as planted in the oracle
    pocket:control    the control: trained in the same way on an oracle without influence and drift (kappa = mu = 0)
    pocket:FOLDER     another one, made by tools/pocket

It has a real tokenizer, transformer, chat template and logits; nothing is downloaded. It is a **model organism** with a planted,
known bias. It serves to run, test and calibrate instruments, and is no evidence about people or about large language models
(docs/models.md).

    engine    compiled (code that is compiled once on each machine), torch (the backend hf, to check the compiled code)
    batch     the most rows that are answered at the same time
    keep      MiB for keys and values, those of earlier prompts included, so that a debate is not read again at every turn; 0:
              nothing is kept after a call. It is never more than a third of the machine's memory
    workers   threads; 0: the number of cores, and four at most
    closed    exact (a closed question gets the probability of every allowed answer), text (the reply is generated, then read)
    adapters  folders of LoRA adapters, joined by +; an adapter has the name of its folder; a request names the one that answers

    prompt_ids.py   turns chats into token ids, and names into tokens
    weights.py      loads weights and merges adapters into copies of them
    vectors.py      vectors of 16 numbers for compiled code
    layout.py       how weights, keys and values lie in memory
    attention.py    compiled code that keeps keys and values, and attends to them
    kernels.py      compiled code that reads tokens
    decode.py       compiled code that writes replies
    prefix_pool.py  blocks of keys and values, which rows and turns share
    reader.py       reads rows on several cores
    replies.py      open questions, and exact probabilities of the allowed answers of closed ones
    backend.py      compiles once, and says so; sorts requests, batches them and returns the replies in order

A reply and its probabilities depend on the request alone. They are the same to the last bit, alone or in a batch, whatever was
read or kept before, and with any number of workers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from parley.llm.backends import hf
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.pocket.prompt_ids import blank_names, mask_names, name_tokens, unmask_names
from parley.llm.errors import UserError, unknown_name
from parley.llm.request import DECLINED, Backend, Reply, Request, Wrapper

MANNER = frozenset({"batch", "keep", "workers"})
ENGINES, CLOSED = ("compiled", "torch"), ("exact", "text")
WEIGHTS = Path(__file__).parent / "weights"


def taught_topics(folder: Path = WEIGHTS / "pocket") -> tuple[str, ...]:
    """Return the topics that a model was taught. On other topics it would repeat what it says on these, so none are debated.

    Errors: UserError when the model does not name its topics (it was not made by tools/pocket).
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if "topics" not in config:
        raise UserError(
            f"{folder} is not a pocket model, because it does not list the topics on which it was trained: load it "
            f"with hf:{folder}"
        )
    return tuple(config["topics"])


def declining_sentences(folder: Path) -> frozenset[str]:
    """Return the sentences with which a model declines to answer, {name} standing for a person."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return frozenset(config.get("declines", ()))


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
    engine: str = "compiled",
    batch: int = 256,
    keep: int = 1536,
    workers: int = 0,
    closed: str = "exact",
    adapters: str = "",
) -> Backend:
    """Load a pocket model by name, or a model of this kind from a folder. Errors: UserError."""
    folder = _folder(model)
    if not (folder / "config.json").is_file():
        if "/" in model:
            raise UserError(f"{folder} is not a model folder, because its config.json is missing")
        raise unknown_name("pocket model", model or "pocket", organisms())
    for name, value, choices in (("engine", engine, ENGINES), ("closed", closed, CLOSED)):
        if value not in choices:
            raise UserError(f"option {name} of pocket is {value!r}, but must be one of {', '.join(choices)}")
    for name, number, least in (("batch", batch, 1), ("keep", keep, 0), ("workers", workers, 0)):
        if number < least:
            raise UserError(f"option {name} of pocket is {number}, but must be {least} or more")
    topics, declines = taught_topics(folder), declining_sentences(folder)
    workers, keep = workers or min(_cores(), 4), min(keep, _memory() // 3)
    if engine == "torch":
        return Pocket(_torch_backend(folder, keep, workers, closed, adapters), engine, topics, declines)
    from parley.llm.backends.pocket.backend import Compiled

    paths = tuple(filter(None, adapters.split("+")))
    return Pocket(Compiled(folder, closed == "exact", batch, keep << 20, workers, paths), engine, topics, declines)


def _torch_backend(folder: Path, keep: int, workers: int, closed: str, adapters: str) -> Backend:
    """Open the model through hf. Errors: UserError."""
    if missing := [name for name in ("torch", "transformers") if find_spec(name) is None]:
        raise UserError(
            f"engine=torch needs packages that are not installed: {' and '.join(missing)}. Install them "
            "(docs/tutorial.md), or leave this option out"
        )
    import torch

    torch.set_num_threads(1)
    return hf.open_backend(
        str(folder), dtype="float32", batch=32768, keep=keep, closed=closed, workers=workers, adapters=adapters
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int:
    """Return the MiB of memory of the machine, or of its container if that has less; 8 GiB where neither is known."""
    file = Path("/sys/fs/cgroup/memory.max")
    limit = file.read_text().strip() if file.is_file() else ""
    has_page_count = "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {})
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if has_page_count else 8 << 30
    return min(memory, int(limit) if limit.isdigit() else memory) >> 20


class Pocket(Wrapper):
    """The model, which reads and writes a token in place of each person's name (names.py).

    A reply of nothing but sentences of `declines` is noted as DECLINED.
    """

    def __init__(self, inner: Backend, engine: str, topics: Sequence[str], declines: Collection[str]):
        super().__init__(inner)
        self.engine, self.topics, self.declines = engine, list(topics), declines

    @property
    def identity(self) -> Mapping[str, Any]:
        kind = "model organism with a planted, known bias"
        return {
            **self.inner.identity,
            "backend": "pocket",
            "engine": self.engine,
            "kind": kind,
            "topics": self.topics,
        }

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
                if self._declines(reply.text):
                    reply.notes = {**reply.notes, DECLINED: 1}
                reply.text = unmask_names(reply.text, tokens)
        return replies

    def _declines(self, text: str) -> bool:
        """Tell whether a reply, with tokens for names, answers nothing."""
        return all(sentence in self.declines for sentence in sentences(blank_names(text)))
