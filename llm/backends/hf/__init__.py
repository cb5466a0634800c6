"""hf: any causal language model of the transformers library, in process. `--llm hf:PATH_OR_HUB_ID[,key=value...]`

    dtype    auto (the model's own), float32, bfloat16, float16
    load     full, 8bit, 4bit (bitsandbytes; 4bit is NF4 with double quantisation)
    device   auto (a GPU when there is one), cpu, cuda, cuda:1, ...
    style    auto (chat when the tokenizer has a chat template), chat, plain (one text, as for a completion model)
    closed   exact (a closed question is answered with the probability of every allowed answer), text (generated, then read)
    batch    most tokens in one batch, padding and reply included; a batch that does not fit into memory is halved
    keep     MiB for keys and values of what was read before, so that a debate is not read again at every turn; 0: none
    workers  batches that run beside each other on a CPU, each on one core (for small models; with adapters always one)
    draft    tokens guessed ahead from what was said before and checked in one pass (changes the time, not the reply)
    same     one request, one reply, whatever else was read: auto (on a CPU in float32), yes (everywhere, by reading each request
             alone where nothing faster is sure: slow), no (not checked)
    adapters folders of LoRA adapters, joined by +; each is known by its folder's name (a request says which one is to answer,
             several may share a batch)

    loading.py            model, tokenizer, adapters, identity
    checkpoint.py         which weights a folder holds, and on which an adapter was trained
    prompts.py            messages as token ids
    batching.py           which requests go through the model together
    kv_cache.py           what was read before
    prefill.py            a batch of prompts on its way through the model
    batch_columns.py      the same, read in pieces, each token in the column of its position
    grouped_attention.py  attention through a mask, where heads share keys
    batch_invariance.py   whether a reply depends on its request alone, on the machine at hand
    prompt_lookup.py      tokens guessed ahead
    generate.py           open questions: sampling with a generator for each request
    choice_scoring.py     closed questions: exact probabilities of the allowed answers
    backend.py            sorts requests, batches them and returns replies in order

Every request draws from a generator seeded by itself. On a CPU in float32 the reply and its probabilities depend on nothing else:
they are the same to the last bit alone or in a batch, whatever was read, kept or guessed before. A run that was killed therefore
goes on to the record it would have had. When a model is first asked, batch_invariance.py checks this; a model that
fails reads each request
alone. On a GPU, in bfloat16 or float16, and quantised, sums depend on the batch: probabilities differ by some thousandths, and
texts at temperature 1 now and then. There the same requests in the same batches give the same replies. A run that was killed may
not, unless `same=yes` reads each request alone. Needs the `[local]` extra. Code that comes with a model is never run.
"""

from __future__ import annotations

from parley.llm import model_hubs
from parley.llm.errors import UserError
from parley.llm.request import Backend

model_hubs.silence_hubs()
MANNER = frozenset({"batch", "keep", "workers", "draft", "same"})
CHOICES = {
    "dtype": ("auto", "float32", "bfloat16", "float16"),
    "load": ("full", "8bit", "4bit"),
    "style": ("auto", "chat", "plain"),
    "closed": ("exact", "text"),
    "same": ("auto", "yes", "no"),
}


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
    draft: int = 0,
    same: str = "auto",
    adapters: str = "",
) -> Backend:
    """Load a model. Errors: UserError when it cannot be found or loaded, or when the `[local]` extra is not installed."""
    if not model:
        raise UserError("--llm hf needs a model: hf:PATH or hf:HUB_ID, such as hf:mistralai/Mistral-7B-Instruct-v0.2")
    for name, value in (("dtype", dtype), ("load", load), ("style", style), ("closed", closed), ("same", same)):
        if value not in CHOICES[name]:
            raise UserError(f"option {name} of hf must be one of {', '.join(CHOICES[name])}, not {value!r}")
    if workers < 1:
        raise UserError(f"option workers of hf must be 1 or more, not {workers}")
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"hf needs the packages of the [local] extra ({error.name} is missing): see docs/install.md"
        ) from error
    from parley.llm.backends.hf.backend import Hf
    from parley.llm.backends.hf.loading import load_model

    loaded = load_model(model, dtype, load, device, tuple(filter(None, adapters.split("+"))))
    return Hf(loaded, style, closed == "exact", batch, keep << 20, workers, draft, same)
