"""gguf: any model of a GGUF file, in this process, through llama.cpp. `--llm gguf:FILE[,key=value...]`, or `--llm smollm2`

    threads  cores that work on a reply (0: those that are free now, one in each worker of a sweep; with more it crawls)
    context  the most tokens of a prompt with its reply (0: what the model was trained on, 8192 at most)
    slots    requests at the same time. With 1, a repeated run has the same record; more are faster on large machines
    keep     MiB for what was read before, so that a debate is not read again at every turn; 0: each request is read alone, and
             its reply depends on nothing else
    style    auto (chat when the file has a chat template), chat, plain (one text, as for a base model)
    penalty  how much less likely a token becomes that was said already (1: not at all)
    adapters folders of LoRA adapters, joined by +; an adapter has the name of its folder; a request names the one that answers,
             or none

    header.py       reads the header of a GGUF file
    speed.py        the memory and the time that a run takes on this machine
    adapters.py     brings LoRA adapters into the form that llama.cpp loads
    engine.py       llama.cpp in this process
    answering.py    writes requests as calls of the engine, and reads its replies
    backend.py      hands requests to the slots of the engine

Closed questions get the exact probability of every allowed answer, behind the beginning of the reply where the question gives one
(llm/answer_tree.py). The distribution is always kept; `covered` says how much of the model's replies it covers.

Temperature, top_p, min_p, top_k and the length come with each request; everything else is in the identity of the model. What
llama.cpp has read before changes the last digits of a probability, and so a text now and then. With one slot the order of
requests is fixed, and the same seed gives the same record on the same machine; a run that was killed and goes on may end
differently, unless keep=0. Needs the extra `[gguf]`.
"""

from __future__ import annotations

from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from parley.llm.backends.gguf.header import Header, read_header
from parley.llm.backends.gguf.speed import MachineCosts, free_cores, machine_costs
from parley.llm.errors import UserError
from parley.llm.model_catalogue import fetched_names, weights_of
from parley.llm.request import Backend, Usage

MANNER = frozenset({"threads"})
STYLES = ("auto", "chat", "plain")
SMALL, SMALL_MIN_P = 600 << 20, 0.05
"""Below so many bytes of weights (a billion parameters in 4 bits) no token is drawn that has less than this share of the
probability of the likeliest one, unless a debate sets its sampling itself.
"""
LONGEST_CONTEXT = 8192
"""Tokens of context by default, if the model takes as many: keys and values take memory for each."""


def check_options(model: str, **options: Any) -> None:
    """Errors: UserError for a file that is none, and for a value that cannot be."""
    file_of(model)
    least = {"threads": 0, "context": 0, "slots": 1, "keep": 0, "penalty": 0}
    for name, lowest in least.items():
        if options.get(name, lowest) < lowest:
            raise UserError(f"option {name} of gguf is {options[name]}, but must be {lowest} or more")
    if options.get("style", "auto") not in STYLES:
        raise UserError(f"option style of gguf is {options['style']!r}, but must be one of {', '.join(STYLES)}")


def file_of(model: str) -> Path:
    """Return the file of a model: of a path, or of a name in the catalogue. Errors: UserError where there is none."""
    if model in fetched_names():
        return weights_of(model)
    if not model.endswith(".gguf") and "/" not in model:
        raise UserError(
            f"--llm gguf{':' * bool(model)}{model} needs a file, as in --llm gguf:models/model.gguf, or one of the "
            f"models that python run.py models lists ({', '.join(fetched_names())})"
        )
    path = Path(model).expanduser()
    if not path.is_file():
        raise UserError(f"there is no file {model}: give the path of a .gguf file, as in --llm gguf:models/model.gguf")
    return path


def open_backend(
    model: str,
    threads: int = 0,
    context: int = 0,
    slots: int = 1,
    keep: int = 512,
    style: str = "auto",
    penalty: float = 1.0,
    adapters: str = "",
) -> Backend:
    """Load a GGUF file. Errors: UserError when it cannot be found or loaded, or when the `[gguf]` extra is not installed."""
    given = {"threads": threads, "context": context, "slots": slots, "keep": keep, "style": style}
    check_options(model, **given, penalty=penalty)
    header = read_header(file_of(model))
    from parley.llm.backends.gguf.adapters import adapter_files
    from parley.llm.backends.gguf.backend import Gguf
    from parley.llm.backends.gguf.engine import EngineSettings, LlamaCpp

    alone = parent_process() is None  # a worker of a sweep has others at the same time, each with its own model
    files = adapter_files(header, adapters)
    settings = EngineSettings(
        header.path,
        threads or (free_cores() if alone else 1),
        context or context_of(header),
        slots,
        keep,
        tuple(file for file, _ in files.values()),
    )
    is_chat = header.is_chat if style == "auto" else style == "chat"
    backend = Gguf(
        LlamaCpp(settings), header, settings, penalty, is_chat, {name: digest for name, (_, digest) in files.items()}
    )
    backend.check_begun()
    return backend


def suited_sampling(model: str) -> dict[str, float]:
    """Return what a small model needs to write sentences: drawn from all tokens at temperature 1 it writes noise."""
    return {"min_p": SMALL_MIN_P} if file_of(model).stat().st_size < SMALL else {}


def recorded_name(model: str) -> str:
    """Return the name of a model in journals: that of its file, without ending."""
    return file_of(model).stem


def run_costs(model: str, usage: Usage, context: int = 0, slots: int = 1, keep: int = 512, **_: object) -> MachineCosts:
    """Return the memory and the time that a run of so many tokens takes on this machine. Errors: UserError as `open_backend`."""
    header = read_header(file_of(model))
    return machine_costs(header, context or context_of(header), slots, keep, usage)


def context_of(header: Header) -> int:
    """Return the tokens of context by default."""
    return min(header.context or LONGEST_CONTEXT, LONGEST_CONTEXT)
