"""The commands of this floor, `run.py train` and `run.py fine-tuned`: what they ask for and say."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import hold_all
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import (
    budgets_from_args,
    fields_from_args,
    model_from_args,
    models_from_args,
    only_model,
    shared_budget,
)
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar
from parley.training.tuning.recipe import PARTIES, Recipe

if TYPE_CHECKING:
    from parley.analysis.studies.fine_tuned import Arm
    from parley.training.tuning.pipeline import TuningPlan


SEATED = (*PARTIES, "default")
EXAMPLES = """train --party republican --out runs/tuned                           (the paper's SFT, on the model in the box)
train --party republican --method dpo --out runs/tuned              (goes on from that SFT adapter)
train --party democrat --questions 20 --answers 5 --out runs/quick  (a quick try)
train --party republican --r 256 --llm hf:mistralai/Mistral-7B-Instruct-v0.2,load=4bit --out runs/mistral
--scenario three_way --llm pocket,adapters=runs/tuned/adapters/republican-sft-r16 --set adapters=default:republican-sft-r16"""
DRY_RUN = "print calls, steps, time and memory, from one measured step; train nothing"


def train_parser() -> Parser:
    """The options of `run.py train`."""
    parser = Parser(
        "train",
        "Fine-tune a model on its own partisan answers (SFT), or on its preference for them (DPO) (docs/tuning.md).",
        EXAMPLES,
        cli.settings("personas=NAME or personas=./folder: the personas that answer; training takes no other field"),
        cli.model("the model that answers and is trained", "pocket", trained=True),
        cli.budget(),
        cli.seed(),
        cli.out("runs/tuned-<time>"),
        cli.dry_run(DRY_RUN),
    )
    add_plan(parser)
    add_option(parser, "--party", "the party whose answers are learned", choices=PARTIES, required=True)
    add_option(
        parser,
        "--method",
        "sft: learn the party's answers (default)\ndpo: learn to prefer them, going on from the SFT adapter",
        default="sft",
        choices=("sft", "dpo"),
    )
    for name, kind, text in RECIPE:
        add_option(parser, f"--{name} {'X' if kind is amount else 'N'}", text, kind)
    add_option(parser, "--start DIR", "for dpo: another adapter to go on from", Path)
    return parser


def train(arguments: Sequence[str]) -> int:
    """`run.py train`: self-fine-tuning, from questions to an adapter."""
    options = train_parser().parse_args(arguments)
    from parley.model.scenario_run import lock_folder
    from parley.training.estimate import of_training, show
    from parley.training.tuning.pipeline import Pipeline

    options.out = options.out or Path("runs") / f"tuned-{time.strftime('%Y%m%d-%H%M%S')}"
    plan, recipe = replace(plan_from_args(options), people=people(options.set)), chosen(Recipe, options)
    if options.dry_run:
        return show(of_training(plan, recipe))
    spending = shared_budget(options, options.out, plan.llm, plan.written_by)
    print(f"folder   {options.out}", flush=True)
    with lock_folder(options.out):
        adapter = Pipeline(plan, options.out, bar, spending).adapter(recipe, options.start)
    print(f"data     {options.out / 'data' / 'card.md'}\nadapter  {adapter}\ncard     {adapter / 'README.md'}")
    return 0


def add_plan(parser: argparse.ArgumentParser) -> None:
    """What training data are made from."""
    add_option(
        parser, "--writer SPEC", "the model that writes the questions (default: that of --llm; for pocket: oracle)"
    )
    for name, text in PLAN:
        add_option(parser, f"--{name} N", text, natural)


def plan_from_args(options: argparse.Namespace) -> TuningPlan:
    """What the data are made from, as asked for."""
    from parley.training.tuning.pipeline import TuningPlan

    *specs, options.writer = models_from_args(options, "writer")
    options.llm = only_model(specs, TuningPlan.llm)
    return chosen(TuningPlan, options)  # type: ignore[no-any-return]


def people(settings: Sequence[str]) -> str:
    """The personas that `--set personas=...` names. Errors: UserError on any other field."""
    from parley.training.tuning.pipeline import TuningPlan

    found = {name: text for name, _, text in (one.partition("=") for one in settings)}
    if other := [name for name in found if name != "personas"]:
        raise UserError(f"train takes --set personas=NAME and no other field, not {other[0]!r}")
    return found.get("personas", TuningPlan.people)


PLAN = (
    ("questions", "neutral questions; ten of them are given (default: 100)"),
    ("answers", "answers to each question (default: 20)"),
    ("personas", "people of each party who answer (default: 1)"),
    ("tokens", "maximum tokens per answer (default: 120)"),
)
RECIPE: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of LoRA (default: 16)"),
    ("alpha", natural, "scale of LoRA (default: twice the rank)"),
    ("dropout", amount, "dropout (default: 0.05)"),
    ("rate", amount, "learning rate (default: 2e-4, dpo 5e-6; pocket has its own)"),
    ("epochs", amount, "times through the data (default: 1)"),
    ("batch", natural, "examples per step (default: 32)"),
    ("beta", amount, "for dpo: how strongly the model is kept near where it began (default: 0.5)"),
    ("length", natural, "maximum tokens per example (default: 512)"),
    ("held-out", amount, "share of the questions kept to measure a loss (default: 0)"),
)


def chosen(kind: Any, options: argparse.Namespace) -> Any:
    """A Plan or Recipe with the options that were given."""
    given = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return kind(**{name: value for name, value in given.items() if value is not None})


def fine_tuned_parser() -> Parser:
    """The options of `run.py fine-tuned`."""
    own = {"topic": "those of the paper", "repetitions": "40", "rounds": "3", "llm": "that of the folders"}
    parser = Parser(
        "fine-tuned",
        "Run the same debates before and after fine-tuning, and with an adapter for each party's agents (docs/tuning.md).",
        "fine-tuned --tuned runs/tuned --repetitions 5",
        *cli.debating("runs/fine_tuned-<time>", own, trained=True),
        cli.dry_run(DRY_RUN),
    )
    add_option(
        parser,
        "--tuned DIR",
        "a folder of run.py train (repeatable: one per training seed)",
        action="append",
        required=True,
    )
    add_option(
        parser,
        "--method",
        "sft: adapters of SFT (default)\ndpo: adapters of DPO",
        default="sft",
        choices=("sft", "dpo"),
    )
    add_option(parser, "--r N", "the adapters' rank", natural, default=16)
    return parser


def fine_tuned(arguments: Sequence[str]) -> int:
    """`run.py fine-tuned`: the same debates before and after, and with adapters per seat."""
    options = fine_tuned_parser().parse_args(arguments)
    from parley.analysis.studies.fine_tuned import fine_tuned as study
    from parley.analysis.studies.fine_tuned import write_fine_tuned
    from parley.llm.journal import shared_ledger
    from parley.model.scenario import load_preset
    from parley.model.scenario_run import JOURNAL
    from parley.training.estimate import of_debates, show

    folders, llm = [Path(folder) for folder in options.tuned], model_from_args(options)
    settings = fields_from_args(options, models=())
    base = load_preset("fine_tuned").with_settings(settings)
    planned = arms(folders, options.method, options.r, llm or None)
    if options.dry_run:
        return show(of_debates(base, planned[0].spec, len(planned)))
    out = options.out or Path("runs") / f"fine_tuned-{time.strftime('%Y%m%d-%H%M%S')}"
    budgets = budgets_from_args(options, *[arm.spec for arm in planned])
    ledger = shared_ledger(
        budgets[0], [(out / arm.name / JOURNAL, one) for arm, one in zip(planned, budgets, strict=True)]
    )
    print(f"folder   {out}", flush=True)
    found = hold_all(study(base, planned), [arm.name for arm in planned], out, tuple(settings), None, budgets, ledger)
    print(f"report   {write_fine_tuned(found, out, base)}\nfigure   {out / 'fine_tuned.png'}")
    return 0


def arms(folders: Sequence[Path], method: str, rank: int, llm: str | None) -> list[Arm]:
    """Before; after, for each party and training seed; per seat, for each seed that has both. Errors: UserError."""
    from parley.analysis.studies.fine_tuned import AFTER, BEFORE, SEATS, Arm
    from parley.llm.backends.hf.checkpoint import check_base
    from parley.training.base_model import base_model
    from parley.training.tuning.pipeline import read_plan

    plans = [read_plan(folder) for folder in folders]
    if len({(plan["llm"], plan["seed"]) for plan in plans}) < len(plans) or len({plan["llm"] for plan in plans}) > 1:
        raise UserError("--tuned folders must be of one model, each of another seed")
    spec = llm or plans[0]["llm"]
    held = base_model(spec).identity
    found, seats = [Arm(BEFORE, spec)], []
    for folder, plan in zip(folders, plans, strict=True):
        paths = {party: folder / "adapters" / f"{party}-{method}-r{rank}" for party in PARTIES}
        there = {party: path for party, path in paths.items() if (path / "adapter_config.json").is_file()}
        if not there:
            raise UserError(
                f"{folder} holds no adapter {method}-r{rank}: python run.py train --method {method} --r {rank} --out {folder}"
            )
        for path in there.values():
            check_base(path, held)
        found += [
            Arm(AFTER, f"{spec},adapters={path}", party, plan["seed"], tuple(f"{seat}:{path.name}" for seat in SEATED))
            for party, path in there.items()
        ]
        if len(there) == len(PARTIES):
            both = "+".join(map(str, there.values()))
            seats.append(
                Arm(
                    SEATS,
                    f"{spec},adapters={both}",
                    "",
                    plan["seed"],
                    tuple(f"{p}:{path.name}" for p, path in there.items()),
                )
            )
    return [*found, *seats]
