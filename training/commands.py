"""The commands of this floor, `run.py train` and `run.py fine-tuned`: what they ask for and say."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands import hold_all
from parley.llm.backends.hf.checkpoint import check_base
from parley.llm.budget import Budget
from parley.llm.errors import UserError
from parley.model.commandline import Parser, amount, bar, natural
from parley.model.options import add_keep_going
from parley.training.base_model import base_model
from parley.training.estimate import of_debates, of_training, show
from parley.training.tuning.pipeline import PARTIES, Pipeline, TuningPlan, read_plan
from parley.training.tuning.recipe import Recipe

if TYPE_CHECKING:
    from parley.analysis.studies.fine_tuned import Arm

SEATED = (*PARTIES, "default")
EXAMPLES = """examples:
  python run.py train --party republican --out runs/tuned                           (the paper's SFT, on the model in the box)
  python run.py train --party republican --method dpo --out runs/tuned              (goes on from that SFT adapter)
  python run.py train --party democrat --questions 20 --answers 5 --out runs/quick  (a quick try)
  python run.py train --party republican --r 256 --llm hf:mistralai/Mistral-7B-Instruct-v0.2,load=4bit --out runs/mistral
then debate with it: python run.py --scenario three_way --llm pocket,adapters=runs/tuned/adapters/republican-sft-r16 \\
                         --set adapters=default:republican-sft-r16"""


def train(arguments: Sequence[str]) -> int:
    """`run.py train`: self-fine-tuning, from questions to an adapter."""
    options = train_parser().parse_args(arguments)
    from parley.model.scenario_run import lock_folder

    options.out = options.out or Path("runs") / f"tuned-{time.strftime('%Y%m%d-%H%M%S')}"
    plan, recipe = replace(chosen(TuningPlan, options), **of_people(options.set)), chosen(Recipe, options)
    if options.dry_run:
        return show(of_training(plan, recipe))
    print(f"folder   {options.out}", flush=True)
    with lock_folder(options.out):
        adapter = Pipeline(plan, options.out, bar).adapter(recipe, options.start)
    print(f"data     {options.out / 'data' / 'card.md'}\nadapter  {adapter}\ncard     {adapter / 'README.md'}")
    return 0


def train_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="run.py train",
        description="Fine-tune a model on its own partisan answers (SFT), or on its preference for them (DPO).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_plan(parser)
    add_set(parser, "personas=NAME or personas=./folder: whose answers; training takes no other field")
    add_dry_run(parser)
    parser.add_argument("--party", choices=PARTIES, required=True, help="whose answers are learned")
    parser.add_argument("--method", choices=("sft", "dpo"), default="sft", help="sft; dpo goes on from its adapter")
    for name, kind, text in RECIPE:
        parser.add_argument(f"--{name}", metavar="X" if kind is amount else "N", type=kind, help=text)
    parser.add_argument(
        "--start", metavar="DIR", type=Path, help="for dpo: the adapter to go on from, in place of sft's"
    )
    return parser


def add_plan(parser: argparse.ArgumentParser, counts: Sequence[str] = ()) -> None:
    """What data are made from (`counts`: some of it), and the folder."""
    parser.add_argument("--llm", metavar="SPEC", help="the model that answers and is trained (pocket)")
    parser.add_argument(
        "--writer", metavar="SPEC", help="the model that writes the questions (the same; pocket: oracle)"
    )
    for name, text in PLAN:
        if not counts or name in counts:
            parser.add_argument(f"--{name}", metavar="N", type=natural, help=text)
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder; what it holds is gone on with")


def add_set(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help=text)


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print calls, steps, time and memory, from one measured step; train nothing",
    )


def of_people(settings: Sequence[str]) -> dict[str, str]:
    """What `--set personas=...` says of a Plan. Errors: UserError on any other field."""
    found = {name: text for name, _, text in (one.partition("=") for one in settings)}
    if other := [name for name in found if name != "personas"]:
        raise UserError(f"train takes --set personas=NAME and no other field, not {other[0]!r}")
    return {"people": found["personas"]} if found else {}


PLAN = (
    ("questions", "neutral questions, ten of them given (100)"),
    ("answers", "answers to each (20)"),
    ("personas", "people of each party who answer (1)"),
    ("tokens", "most tokens of an answer (120)"),
    ("seed", "same seed, same data, same adapter (0)"),
)
RECIPE: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank (16)"),
    ("alpha", natural, "scale (twice the rank)"),
    ("dropout", amount, "dropout (0.05)"),
    ("rate", amount, "learning rate (2e-4, dpo 5e-6; pocket has its own)"),
    ("epochs", amount, "times through the data (1)"),
    ("batch", natural, "examples a step (32)"),
    ("beta", amount, "for dpo: how hard it is held to where it began (0.5)"),
    ("length", natural, "most tokens of an example (512)"),
    ("held-out", amount, "share of the questions kept for a loss (0)"),
)


def chosen(kind: Any, options: argparse.Namespace) -> Any:
    """A Plan or Recipe with the options that were given."""
    given = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return kind(**{name: value for name, value in given.items() if value is not None})


def fine_tuned(arguments: Sequence[str]) -> int:
    """`run.py fine-tuned`: the same debates before and after, and with adapters per seat."""
    options = fine_tuned_parser().parse_args(arguments)
    from parley.analysis.studies.fine_tuned import fine_tuned as study
    from parley.analysis.studies.fine_tuned import write_fine_tuned
    from parley.model.scenario import load_preset, parse_settings

    folders = [Path(folder) for folder in options.tuned]
    settings = parse_settings(options.set) | {
        name: value
        for name in ("topics", "repetitions", "rounds", "seed")
        if (value := getattr(options, name)) is not None
    }
    base = load_preset("fine_tuned").with_settings(settings)
    planned = arms(folders, options.method, options.r, options.llm)
    if options.dry_run:
        return show(of_debates(base, planned[0].spec, len(planned)))
    out = options.out or Path("runs") / f"fine_tuned-{time.strftime('%Y%m%d-%H%M%S')}"
    print(f"folder   {out}", flush=True)
    budgets = [Budget(keep_going=options.keep_going)] * len(planned)
    found = hold_all(study(base, planned), [arm.name for arm in planned], out, tuple(settings), budgets=budgets)
    print(f"report   {write_fine_tuned(found, out, base)}\nfigure   {out / 'fine_tuned.png'}")
    return 0


def arms(folders: Sequence[Path], method: str, rank: int, llm: str | None) -> list[Arm]:
    """Before; after, for each party and training seed; per seat, for each seed that has both. Errors: UserError."""
    from parley.analysis.studies.fine_tuned import AFTER, BEFORE, SEATS, Arm

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


def fine_tuned_parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="run.py fine-tuned",
        description="Hold the same debates before and after fine-tuning, and with an adapter for each party's seats.",
    )
    parser.add_argument(
        "--tuned", metavar="DIR", action="append", required=True, help="a folder of run.py train; one for each seed"
    )
    parser.add_argument("--method", choices=("sft", "dpo"), default="sft", help="which adapters (sft)")
    parser.add_argument("--r", metavar="N", type=natural, default=16, help="their rank (16)")
    parser.add_argument("--llm", metavar="SPEC", help="the model as it is (that of the folders)")
    parser.add_argument("--topic", dest="topics", metavar="SLUG[,SLUG]", help="topics (those of the paper)")
    parser.add_argument("--repetitions", metavar="N", help="rooms per topic (40)")
    parser.add_argument("--rounds", metavar="N", help="rounds (3)")
    parser.add_argument("--seed", metavar="N", help="of the debates; same seed, same rooms")
    add_set(parser, "any field of the preset (repeatable)")
    add_dry_run(parser)
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder (runs/fine_tuned-<time>); an unfinished one is resumed"
    )
    add_keep_going(parser)
    return parser
