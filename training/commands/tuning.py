"""`run.py train` and `run.py study fine-tuned`: train adapters, and run debates before and after."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import hold_all, results_folder
from parley.llm.errors import UserError
from parley.model import arguments as args
from parley.model import cli
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar
from parley.training.tuning.recipe import Recipe, seated_parties

if TYPE_CHECKING:
    from parley.analysis.studies.fine_tuned import Arm
    from parley.model.scenario import Scenario
    from parley.training.tuning.pipeline import TuningPlan

EXAMPLES = """train --party first --out runs/tuned                          (the paper's SFT, on pocket)
train --party first --method dpo --out runs/tuned             (continues from that SFT adapter)
train --party second --questions 20 --answers 5 --out runs/quick  (a quick try)
train --party first --r 256 --llm hf:mistralai/Mistral-7B-Instruct-v0.2,load=4bit --out runs/mistral
--scenario three_way --llm pocket,adapters=runs/tuned/adapters/{first}-sft-r16 --set adapters=default:{first}-sft-r16"""
"""{first} and {second} are replaced by the debaters of the society `us`."""
DRY_RUN = "measure one training step, print the expected calls, steps, time and memory, and stop without training"
PLAN = (
    (
        "questions",
        "number of neutral questions to train on (default: 100). With --society us, ten of the questions "
        "come from the paper",
    ),
    ("answers", "number of answers to each question (default: 20)"),
    ("personas", "number of personas of each party that answer (default: 1)"),
)
RECIPE: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of the LoRA adapter: its size (default: 16)"),
    ("alpha", natural, "scale of LoRA (default: twice the rank)"),
    ("dropout", amount, "share of LoRA inputs dropped at random in training, 0 to 1 (default: 0.05)"),
    ("rate", amount, "learning rate (default: 2e-4; dpo 5e-6; pocket has other defaults)"),
    ("epochs", amount, "passes through the data (default: 1)"),
    ("batch", natural, "examples per step (default: 32)"),
    (
        "beta",
        amount,
        "for dpo: how strongly the model is kept similar to the model before training; a higher number "
        "means more similar (default: 0.5)",
    ),
    ("length", natural, "maximum tokens per example (default: 512)"),
    (
        "held-out",
        amount,
        "fraction of the questions, 0 to 1, that is not used for training but to measure the loss (default: 0)",
    ),
    (
        "shuffle",
        natural,
        "train a control on answers of both parties in a random order, to measure what training alone "
        "changes; N (1, 2, ...) chooses the random order",
    ),
)


def train_parser() -> Parser:
    """The options of `run.py train`."""
    parser = Parser(
        "train",
        "Fine-tune a model on its own partisan answers. With supervised fine-tuning (SFT), the model "
        "learns to give the answers of a party. With direct preference optimisation (DPO), the model "
        "learns to prefer the party's answers to the other party's answers. The result is a LoRA "
        "adapter, a small set of added weights (docs/tuning.md).",
        with_debaters(EXAMPLES),
        cli.society(),
        cli.settings(
            "personas=NAME or personas=./folder: the set of personas that answer\n"
            "words=N: the length of an answer that the prompt asks for (60)\n"
            "max_tokens=N: the maximum length of an answer (120); a longer answer is cut after the last "
            "whole sentence\n"
            "temperature=X, top_p=X, min_p=X, top_k=N: how an answer is drawn (1, 1, 0, 0)"
        ),
        cli.model("the model that answers and is trained", "pocket", trained=True),
        cli.budget(),
        cli.seed(),
        cli.out("runs/tuned-<time>"),
        cli.dry_run(DRY_RUN),
    )
    add_plan(parser)
    about = (
        "the party whose answers are learned: a party of the society except the neutral party; first and "
        "second are the two debating parties"
    )
    add_option(parser, "--party NAME", about, required=True)
    about = (
        "sft: learn the party's answers (default)\n"
        "dpo: learn to prefer the party's answers, continuing from the SFT adapter"
    )
    add_option(parser, "--method", about, default="sft", choices=("sft", "dpo"))
    add_numbers(parser, RECIPE)
    add_option(parser, "--start DIR", "for dpo: the adapter to continue from (default: the SFT adapter in --out)", Path)
    return parser


def train(arguments: Sequence[str]) -> int:
    """Make the data and train the adapter."""
    options = train_parser().parse_args(arguments)
    from parley.model.scenario_run import lock_folder
    from parley.training.estimate import of_training, show
    from parley.training.tuning.pipeline import Pipeline

    out = results_folder(options, "tuned")
    plan, recipe = interviewed(plan_from_args(options), settings_of_train(options)), from_args(Recipe, options)
    recipe = replace(recipe, party=plan.home.seat(recipe.party))
    plan.compared(recipe.party)  # reports a wrong party before anything is written
    if options.dry_run:
        return show(of_training(plan, recipe))
    spending = args.shared_budget(options, out, plan.llm, plan.written_by)
    print(f"folder   {out}", flush=True)
    with lock_folder(out):
        adapter = Pipeline(plan, out, bar, spending, print).adapter(recipe, options.start)
    print(f"data     {out / 'data' / 'card.md'}\nadapter  {adapter}\ncard     {adapter / 'README.md'}")
    return 0


def with_debaters(examples: str) -> str:
    """Return command lines with the debaters of the society `us` in the place of {first} and {second}."""
    from parley.agents.society import SEATS, load_society

    return examples.format(**dict(zip(SEATS, load_society().debaters, strict=True)))


def add_plan(parser: argparse.ArgumentParser) -> None:
    """Add the options of the training data."""
    about = "the model that writes the questions (default: the model of --llm; with pocket: oracle)"
    add_option(parser, "--writer SPEC", about)
    for name, text in PLAN:
        add_option(parser, f"--{name} N", text, natural)


def add_numbers(parser: argparse.ArgumentParser, options: Sequence[tuple[str, Any, str]]) -> None:
    """Add options that take a number: name, type, help."""
    for name, kind, about in options:
        add_option(parser, f"--{name} {'X' if kind is amount else 'N'}", about, kind)


def plan_from_args(options: argparse.Namespace) -> TuningPlan:
    """Return the settings of the training data."""
    from parley.training.tuning.pipeline import TuningPlan

    *specs, options.writer = args.models_from_args(options, "writer")
    options.llm = args.only_model(specs, TuningPlan.llm)
    return from_args(TuningPlan, options)  # type: ignore[no-any-return]


def settings_of_train(options: argparse.Namespace) -> Scenario:
    """Return debates with the fields of `--set`. Errors: UserError on a field that an interview has not."""
    from parley.model.scenario import load_preset, parse_settings
    from parley.training.tuning.pipeline import DRAWN

    settings, settable = parse_settings(options.set), ("personas", *DRAWN)
    if other := [name for name in settings if name not in settable]:
        raise UserError(f"train takes only --set {', '.join(settable)}: leave out {other[0]!r}")
    society = {"society": options.society} if options.society else {}
    return load_preset("fine_tuned").with_settings({**society, **settings})


def interviewed(plan: TuningPlan, base: Scenario) -> TuningPlan:
    """Return the plan with the personas of debates, and with the length and sampling of what is said there."""
    from parley.training.tuning.pipeline import DRAWN

    return replace(plan, people=base.people.personas, **{name: base.value(name) for name in DRAWN})


def from_args(kind: Any, options: argparse.Namespace) -> Any:
    """Return a dataclass made of the options that were given."""
    values = {field.name: getattr(options, field.name, None) for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if value is not None})


def fine_tuned_parser() -> Parser:
    """The options of `run.py study fine-tuned`."""
    usual = {
        "topic": "the topics of the paper",
        "repetitions": "40",
        "rounds": "3",
        "llm": "the model named in the folders",
    }
    parser = Parser(
        "study fine-tuned",
        "Run the same debates before and after fine-tuning, and with an adapter for each party's agents (docs/tuning.md).",
        "study fine-tuned --tuned runs/tuned --repetitions 5",
        *cli.debating("runs/fine_tuned-<time>", usual, trained=True),
        cli.dry_run(DRY_RUN),
    )
    about = "a folder written by run.py train; give --tuned once per training seed"
    add_option(parser, "--tuned DIR", about, action="append", required=True)
    about = "sft: debate with the adapters of SFT (default)\ndpo: debate with the adapters of DPO"
    add_option(parser, "--method", about, default="sft", choices=("sft", "dpo"))
    add_option(parser, "--r N", "rank of the adapters to debate with", natural, default=16)
    return parser


def in_its_scale(base: Scenario, settings: Mapping[str, Any], llm: str) -> Scenario:
    """Return the debates of the preset with the survey question of other models than pocket, whose native scale has labels."""
    from parley.llm.backends import split_spec

    if "probe" in settings or split_spec(llm).name == "pocket":
        return base
    return base.with_settings({"probe": "attitude"})


def fine_tuned(arguments: Sequence[str]) -> int:
    """Run the debates before and after fine-tuning and with adapters per seat, and compare them."""
    options = fine_tuned_parser().parse_args(arguments)
    from parley.analysis.studies import fine_tuned as study
    from parley.model.scenario import load_preset
    from parley.training.estimate import of_debates, show

    folders = [Path(folder) for folder in options.tuned]
    options.society = society_of_folders(folders, options.society)
    llm = args.model_from_args(options)
    settings = args.fields_from_args(options, models=())
    base = load_preset("fine_tuned").with_settings(settings)
    planned = arms(folders, options.method, options.r, llm or None, seated_parties(base))
    base = in_its_scale(base, settings, planned[0].spec)
    if options.dry_run:
        return show(of_debates(base, planned[0].spec, len(planned)))
    out = results_folder(options, "fine_tuned")
    names = [arm.name for arm in planned]
    budgets, ledger = args.study_budgets(options, [arm.spec for arm in planned], out, names)
    print(f"folder   {out}", flush=True)
    result = hold_all(study.fine_tuned(base, planned), names, out, tuple(settings), None, budgets, ledger)
    print(f"report   {study.write_fine_tuned(result, out, base)}\nfigure   {out / 'fine_tuned.png'}")
    return 0


def society_of_folders(folders: Sequence[Path], named: str | None) -> str | None:
    """Return --society, or the society of the folders of `run.py train`; None for us. Errors: UserError if they differ."""
    from parley.agents.society import US, load_society
    from parley.training.tuning.pipeline import read_plan

    trained = {str(folder): str(read_plan(folder).get("society", US)) for folder in folders}
    wanted = load_society(named).name if named else next(iter(trained.values()))
    if other := [folder for folder, society in trained.items() if society != wanted]:
        raise UserError(
            f"{other[0]} has adapters of the society {trained[other[0]]}, not of {wanted}: debate in the society "
            f"{trained[other[0]]}"
        )
    return named or (None if wanted == US else wanted)


def arms(folders: Sequence[Path], method: str, rank: int, llm: str | None, seated: Sequence[str]) -> list[Arm]:
    """Return the arms: before; after, per party and training seed; shuffled, per such adapter; per seat, per seed with adapters
    of all partisan seats.

    seated: the parties that debate. A party with an adapter need not debate itself.
    Errors: UserError on folders of different models or the same seed, and on a folder without such an adapter.
    """
    from parley.agents.society import DEFAULT, US, load_society
    from parley.analysis.studies.fine_tuned import AFTER, BEFORE, SEATS, SHUFFLED, Arm
    from parley.llm.backends.hf.checkpoint import check_base
    from parley.training.base_model import base_model
    from parley.training.tuning.pipeline import read_plan

    plans = [read_plan(folder) for folder in folders]
    if len({(plan["llm"], plan["seed"]) for plan in plans}) < len(plans) or len({plan["llm"] for plan in plans}) > 1:
        raise UserError(
            "the --tuned folders must have the same model and different seeds: train again with another --seed"
        )
    spec = llm or plans[0]["llm"]
    identity = base_model(spec).identity
    after, shuffled, per_seat = [], [], []
    for folder, plan in zip(folders, plans, strict=True):
        parties = [party for party in load_society(plan.get("society", US)).parties if party != DEFAULT]
        paths = {party: folder / "adapters" / f"{party}-{method}-r{rank}" for party in parties}
        adapters = {party: path for party, path in paths.items() if (path / "adapter_config.json").is_file()}
        if not adapters:
            raise UserError(
                f"{folder} has no adapter {method}-r{rank}: train it with python run.py train --method {method} "
                f"--r {rank} --out {folder}"
            )
        nulls = [
            path for party in parties for path in sorted(paths[party].parent.glob(f"{paths[party].name}-shuffle*"))
        ]
        for party, path in [*adapters.items(), *(("", path) for path in nulls)]:
            check_base(path, identity)
            seats, llm_spec = tuple(f"{seat}:{path.name}" for seat in seated), f"{spec},adapters={path}"
            if party:
                after.append(Arm(AFTER, llm_spec, party, plan["seed"], seats))
            else:
                shuffled.append(Arm(SHUFFLED, llm_spec, "", plan["seed"], seats, path.name))
        partisans = [party for party in seated if party != DEFAULT]
        if set(partisans) <= adapters.keys():
            seat_spec = f"{spec},adapters={'+'.join(str(adapters[party]) for party in partisans)}"
            seats = tuple(f"{party}:{adapters[party].name}" for party in partisans)
            per_seat.append(Arm(SEATS, seat_spec, "", plan["seed"], seats))
    return [Arm(BEFORE, spec), *after, *shuffled, *per_seat]
