"""The commands `run.py export adapter` and `sweep-lora`."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from parley.analysis.commands.runs import hold_all, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import fields_from_args, model_from_args, shared_budget
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import bar
from parley.training.commands.tuning import DRY_RUN, add_plan, in_its_scale, interviewed, plan_from_args, with_debaters


def export_adapter_parser() -> Parser:
    """The options of `run.py export adapter`."""
    parser = Parser(
        "export adapter",
        "Merge adapters into their model and save it as a folder that vLLM, Ollama or llama.cpp can serve (docs/tuning.md). "
        "Without --adapter, the model itself is saved.",
        with_debaters("export adapter --adapter runs/tuned/adapters/{first}-sft-r16 --out runs/served"),
        cli.model("the model that the adapters were trained on", "pocket", trained=True),
        cli.out("", about="the folder for the model, empty or new", required=True),
    )
    about = (
        "an adapter folder, and its weight: 1 (default), 0.5 for half, -1 for the opposite; give --adapter "
        "again to add another"
    )
    add_option(parser, "--adapter DIR[:WEIGHT]", about, weighted, action="append", default=[])
    gguf = "also write model.gguf, for llama.cpp and Ollama (only possible with the pocket model)"
    parser.add_argument("--gguf", action="store_true", help=gguf)
    return parser


def export_adapter(arguments: Sequence[str]) -> int:
    """Merge the adapters and save the model. Errors: UserError."""
    options = export_adapter_parser().parse_args(arguments)
    from parley.training.base_model import base_model

    base = base_model(model_from_args(options, "pocket"))
    needed = ("torch", "transformers", "peft", *(["gguf"] if options.gguf else []))
    if missing := [name for name in needed if find_spec(name) is None]:
        raise UserError(
            f"export needs packages that are not installed ({', '.join(missing)}): pip install -e '.[local]' (docs/tutorial.md)"
        )
    from parley.training.export import merge_adapters

    folder = merge_adapters(base, options.adapter, options.out)
    if options.gguf:
        from parley.training.gguf_file import write_gguf

        print(f"gguf     {write_gguf(folder, folder / 'model.gguf')}")
    print(f"model    {folder}\nserve    vllm serve {folder}   (Ollama, llama.cpp and others: docs/tuning.md)")
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


def sweep_lora_parser() -> Parser:
    """The options of `run.py study sweep-lora`."""
    usual = {"topic": "the topics of the paper", "repetitions": "40", "rounds": "3", "llm": "pocket"}
    parser = Parser(
        "study sweep-lora",
        "Compare ranks and methods of fine-tuning, as in Table 1 of Taubenfeld et al. 2024. Each method "
        "is trained several times. The report says how far fine-tuning moves the Default agent, and what "
        "the model loses in other tasks (docs/tuning.md). --set personas=NAME also chooses the personas "
        "whose answers are learned.",
        "study sweep-lora --out runs/table1",
        *cli.debating("runs/sweep_lora-<time>", usual, trained=True),
        cli.dry_run(DRY_RUN),
    )
    add_plan(parser)
    add_option(
        parser,
        "--party NAME",
        "the party whose answers are learned (default: first, the first debating party of the society)",
    )
    add_option(
        parser,
        "--ranks N[,N]",
        "ranks of the SFT adapters to compare (default: 16,64,128,256; with pocket: 2,8,16,32)",
        ranks,
    )
    add_option(
        parser,
        "--dpo N",
        "rank of the DPO adapter, and of the SFT adapter that DPO continues from (default: 8)",
        positive,
    )
    add_option(
        parser,
        "--trainings N",
        "number of trainings per method and rank, with the seeds 0, 1, ...",
        positive,
        default=3,
    )
    add_option(
        parser,
        "--tasks",
        "tasks of lm-evaluation-harness, such as mmlu,hellaswag (default: two tasks that come with Parley)",
    )
    add_option(parser, "--limit N", "maximum number of items per task (default: all)", positive)
    about = (
        "another model (folder or hub id) to score in the same table, such as the paper's Llama 2 7B "
        "(repeatable); the other model does not debate"
    )
    add_option(parser, "--also MODEL", about, default=[], action="append")
    return parser


def sweep_lora(arguments: Sequence[str]) -> int:
    """Train at every rank with every seed, debate, measure, write the table."""
    options = sweep_lora_parser().parse_args(arguments)
    from parley.model.scenario import load_preset
    from parley.training import sweep_lora as study
    from parley.training.base_model import base_model
    from parley.training.capability.measure import Harness, measure, saved_capability
    from parley.training.capability.tasks import LOCAL
    from parley.training.estimate import of_sweep, show
    from parley.training.tuning.pipeline import Pipeline

    tasks, plan = options.tasks.split(",") if options.tasks else list(LOCAL), plan_from_args(options)
    settings, model = fields_from_args(options, models=()), base_model(plan.llm)
    base = in_its_scale(load_preset("fine_tuned").with_settings(settings), settings, plan.llm)
    plan, party = interviewed(plan, base), base.society.seat(options.party or "first")
    plan.compared(party)  # reports a wrong party before the first training
    ranks, preferred = options.ranks or study.RANKS[model.kind], options.dpo or study.PREFERRED[model.kind]
    planned = study.cells(ranks, preferred, options.trainings)
    if options.dry_run:
        return show(of_sweep(plan, base, planned, party))
    Harness(tasks, options.limit, 1)  # reports what is missing before the first training
    out = results_folder(options, "sweep_lora")
    spending = shared_budget(options, out, plan.llm, plan.written_by)
    seeds = range(options.trainings)
    pipelines = [Pipeline(replace(plan, seed=seed), out / f"seed-{seed}", bar, spending, print) for seed in seeds]
    capability = saved_capability(
        partial(measure, tasks=tasks, limit=options.limit, load=model.load),
        out / "capability",
        f"{tasks} {options.limit} {model.load}",
    )
    print(f"folder   {out}", flush=True)
    rows = hold_all(
        study.sweep(base, plan.llm, party, planned, pipelines, capability, options.also),
        [cell.name for cell in planned],
        out,
        tuple(settings),
        budgets=[spending.of(plan.llm)] * len(planned),
        ledger=spending.ledger,
    )
    print(f"table    {study.report(rows, out, base, plan.llm, party)}")
    return 0


def ranks(text: str) -> tuple[int, ...]:
    """`2,8,16`."""
    return tuple(map(positive, text.split(",")))
