"""hf: any causal language model of the transformers library, in this process. `--llm hf:PATH_OR_HUB_ID[,key=value...]`

    dtype    auto (the model's own), float32, bfloat16, float16
    load     full, 8bit, 4bit (bitsandbytes; 4bit is NF4 with double quantisation)
    device   auto (a GPU when there is one), cpu, cuda, cuda:1, ...
    style    auto (chat when the tokenizer has a chat template), chat, plain (one text, as for a completion model)
    closed   exact (a closed question gets the probability of every allowed answer), text (the reply is generated, then read)
    batch    the most tokens in one batch, padding and replies included; a batch that does not fit into memory is halved
    keep     MiB for the keys and values of earlier prompts, so that a debate is not read again at every turn; 0: none
    workers  batches that run at the same time on a CPU, each on one core (for small models; with adapters always one)
    same     whether a reply must depend on its request alone: auto (on a CPU in float32), yes (everywhere; where nothing faster
             is certain, each request is read alone, which is slow), no (not checked)
    adapters folders of LoRA adapters, joined by +; an adapter has the name of its folder; a request names the one that answers,
             and several may share a batch

    loading.py            loads model, tokenizer and adapters; identifies the model
    checkpoint.py         says which weights a folder holds, and on which an adapter was trained
    kv_cache.py           keeps the keys and values of earlier prompts
    prefill.py            reads a batch of prompts; checks that a reply depends on its request alone
    same_sums.py          finds out in which numbers rows come on this machine, so that sums do not depend on the batch
    grouped_attention.py  attention through a mask, where heads share keys
    generate.py           open questions: samples with a random stream for each request
    answer_tokens.py      prompts and the allowed answers of closed questions as tokens
    backend.py            sorts requests, batches them and returns the replies in order; probabilities of allowed answers

Every request has its own seed. On a CPU in float32 a reply and its probabilities depend on nothing else: they are the same to
the last bit, alone or in a batch, whatever was read or kept before. So a run that was killed continues to the record that it
would have had. Before the first request, same_sums.py finds out how this is so on the machine (seconds for a model of 135M
parameters; what it finds is kept in the user's cache). Where nothing works, each request is read alone, and the `model` line
of the run says so. On a GPU, in bfloat16 or float16, and when quantised, sums depend on the batch: probabilities differ by
some thousandths, and texts at temperature 1 differ now and then. There the same requests in the same batches get the same
replies. A killed run may end differently, unless `same=yes` reads each request alone. Needs the `[local]` extra. Code that
comes with a model is never run.
"""

from __future__ import annotations

import os
from pathlib import Path

from parley.llm import model_catalogue as model_hubs
from parley.llm.errors import UserError
from parley.llm.request import Backend
from parley.llm.trust import Contact, host_of, key_for

model_hubs.silence_hubs()
MANNER = frozenset({"batch", "keep", "workers", "same"})
ON_GPU = True
"""Whether the weights run in this process, on its GPU if it has one."""
CHOICES = {
    "dtype": ("auto", "float32", "bfloat16", "float16"),
    "load": ("full", "8bit", "4bit"),
    "style": ("auto", "chat", "plain"),
    "closed": ("exact", "text"),
    "same": ("auto", "yes", "no"),
}


def servers(model: str, **_: object) -> list[Contact]:
    """Return the hub, from which a model that is no folder here is downloaded."""
    hub = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    is_path = model.startswith((".", "/", "~")) or Path(model).is_dir()
    return [] if is_path else [Contact(host_of(hub))]


def open_backend(
    model: str,
    dtype: str = "auto",
    load: str = "full",
    device: str = "auto",
    style: str = "auto",
    closed: str = "exact",
    batch: int = 65536,
    keep: int = 512,
    workers: int = 1,
    same: str = "auto",
    adapters: str = "",
) -> Backend:
    """Load a model. Errors: UserError when it cannot be found or loaded, or when the `[local]` extra is not installed."""
    if not model:
        raise UserError("--llm hf needs a model: hf:PATH or hf:HUB_ID, such as hf:mistralai/Mistral-7B-Instruct-v0.2")
    given = {"dtype": dtype, "load": load, "style": style, "closed": closed, "same": same}
    for name, value in given.items():
        if value not in CHOICES[name]:
            raise UserError(f"option {name} of hf is {value!r}, but must be one of {', '.join(CHOICES[name])}")
    if workers < 1:
        raise UserError(f"option workers of hf is {workers}, but must be 1 or more")
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hf needs packages that are not installed ({error.name}): pip install -e '.[local]' (docs/tutorial.md)"
        ) from error
    for contact in servers(model):
        key_for(contact)
    from parley.llm.backends.hf.backend import Hf
    from parley.llm.backends.hf.loading import load_model

    loaded = load_model(model, dtype, load, device, tuple(filter(None, adapters.split("+"))))
    return Hf(loaded, style, closed == "exact", batch, keep << 20, workers, same)
