"""`run.py export`: a fine-tuned model as a folder that other servers can serve (docs/export.md)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from parley.llm.errors import UserError
from parley.model.commandline import Parser
from parley.training.base_model import base_model


def export(arguments: Sequence[str]) -> int:
    """`run.py export --llm SPEC --adapter DIR[:WEIGHT] --out DIR`. Errors: UserError."""
    options = _parser().parse_args(arguments)
    base = base_model(options.llm)
    if missing := [name for name in ("torch", "transformers", "peft") if find_spec(name) is None]:
        raise UserError(
            f"export needs the packages of the [local] extra ({', '.join(missing)} missing): see docs/install.md"
        )
    from parley.training.export import merge_adapters

    folder = merge_adapters(base, options.adapter, options.out)
    print(f"model    {folder}\nserve    vllm serve {folder}   (Ollama, llama.cpp and others: docs/export.md)")
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="run.py export",
        description="Merge adapters into their model and save it as a folder that vLLM, Ollama or llama.cpp can serve.",
    )
    parser.add_argument(
        "--llm", metavar="NAME[:MODEL][,dtype=...]", default="pocket", help="the model they were trained on"
    )
    parser.add_argument(
        "--adapter",
        metavar="DIR[:WEIGHT]",
        type=weighted,
        action="append",
        required=True,
        help="an adapter and how much of it (1; 0.5: half, -1: the other way round); several add up",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="folder for the model, empty or not there yet"
    )
    return parser


def weighted(text: str) -> tuple[Path, float]:
    """An adapter's folder and its weight.

    >>> weighted("runs/a:0.5")
    (PosixPath('runs/a'), 0.5)
    """
    folder, _, number = text.rpartition(":")
    try:
        weight = float(number)
    except ValueError:
        return Path(text), 1.0
    if not folder or not math.isfinite(weight):
        raise argparse.ArgumentTypeError(f"{text!r} is not DIR or DIR:WEIGHT with a finite number")
    return Path(folder), weight
