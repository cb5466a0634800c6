"""`run.py export`: a fine-tuned model as a folder that other servers can serve (docs/export.md)."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import model_from_args
from parley.model.cli import Parser, add_option
from parley.training.commands.tuning import with_debaters


def export_parser() -> Parser:
    """The options of `run.py export`."""
    parser = Parser(
        "export",
        "Merge adapters into their model and save it as a folder that vLLM, Ollama or llama.cpp can serve (docs/export.md). "
        "Without --adapter, the model itself is saved.",
        with_debaters("export --adapter runs/tuned/adapters/{first}-sft-r16 --out runs/served"),
        cli.model("the model that the adapters were trained on", "pocket", trained=True),
        cli.out("", about="the folder for the model, empty or new", required=True),
    )
    about = (
        "an adapter folder, and its weight: 1 (default), 0.5 for half, -1 for the opposite; give --adapter "
        "again to add another"
    )
    add_option(parser, "--adapter DIR[:WEIGHT]", about, weighted, action="append", default=[])
    gguf = "also write model.gguf, for llama.cpp and Ollama (the pocket model only: other models have a converter)"
    parser.add_argument("--gguf", action="store_true", help=gguf)
    return parser


def export(arguments: Sequence[str]) -> int:
    """Merge the adapters and save the model. Errors: UserError."""
    options = export_parser().parse_args(arguments)
    from parley.training.base_model import base_model

    base = base_model(model_from_args(options, "pocket"))
    needed = ("torch", "transformers", "peft", *(["gguf"] if options.gguf else []))
    if missing := [name for name in needed if find_spec(name) is None]:
        raise UserError(
            f"export needs packages that are not installed ({', '.join(missing)}): pip install -e '.[local]' (docs/install.md)"
        )
    from parley.training.export import merge_adapters

    folder = merge_adapters(base, options.adapter, options.out)
    if options.gguf:
        from parley.training.gguf_file import write_gguf

        print(f"gguf     {write_gguf(folder, folder / 'model.gguf')}")
    print(f"model    {folder}\nserve    vllm serve {folder}   (Ollama, llama.cpp and others: docs/export.md)")
    return 0


def weighted(text: str) -> tuple[Path, float]:
    """Return an adapter's folder and its weight.

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
