"""`run.py study representatives payoff`: train a payoff model on recorded ratings, and compare it with other scorers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import EPISODES, results_folder
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar
from parley.training.commands.tuning import add_numbers, from_args

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.outcomes import OutcomePlan
    from parley.studies.representatives.pipeline import DatasetBuilder, Lesson

BOTH = "both"
HYPERPARAMETERS = (
    ("r", natural, "rank of LoRA; 0 trains all weights (default: 0)"),
    ("rate", amount, "constant learning rate (default: 1e-5; pocket 1e-3; with LoRA that of run.py train)"),
    ("batch", natural, "ratings or pairs per step (default: 32)"),
    ("micro", natural, "ratings or pairs per forward pass; a smaller number needs less memory (default: 16)"),
    ("epochs", amount, "maximum number of passes through the data (default: 5)"),
    ("every", natural, "number of training steps between two measurements of the validation loss (default: 20)"),
    ("patience", natural, "number of measurements without a better loss after which training stops (default: 3)"),
    ("length", natural, "maximum tokens of a question, an opinion and a statement together (default: 1024)"),
)


def payoff_parser() -> Parser:
    """The options of `run.py study representatives payoff`."""
    parser = Parser(
        "study representatives payoff",
        "Train a model that predicts how a participant rates a statement, from the question and the "
        "participant's opinion. The report compares the model with other scorers on people outside the "
        "training data (studies/representatives/README.md).",
        "study representatives payoff runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/payoff",
        cli.model("the model that is trained", "pocket", trained=True),
        cli.budget(),
        cli.seed(),
        cli.out("runs/representatives-<time>"),
    )
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    about = "both: train both forms (default)\nrating: learn the rating\npairs: learn which of two statements is rated higher"
    add_option(parser, "--form", about, default=BOTH, choices=(BOTH, "rating", "pairs"))
    about = "the model that judges and ranks, for comparison (default: oracle; '' for none)"
    add_option(parser, "--judge SPEC", about, default="oracle")
    add_numbers(parser, HYPERPARAMETERS)
    parser.set_defaults(wording="given")
    return parser


def payoff(options: argparse.Namespace) -> int:
    """Train and compare payoff models."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.llm.backends.hf.reward import FORMS
    from parley.studies.representatives.payoff_training import PayoffLesson, run_payoffs

    forms = FORMS if options.form == BOTH else (options.form,)
    options.form = forms[0]
    *specs, judge = models_from_args(options, "judge")
    llm, lesson = only_model(specs, "pocket"), from_args(PayoffLesson, options)
    builder = dataset_builder(options)
    spending = shared_budget(options, builder.folder, llm, *filter(None, [judge]))
    desk = CallDesk(builder.folder, bar, options.keep_going, spending)
    return print_report(desk, run_payoffs(builder, llm, lesson, forms, judge, desk))


PREFERENCES = (
    ("dpo-rate", amount, "learning rate of DPO (default: 5e-6; pocket 1e-3)"),
    ("dpo-epochs", amount, "passes of DPO through the pairs (default: 1)"),
    ("dpo-batch", natural, "pairs per step of DPO (default: 16)"),
    (
        "beta",
        amount,
        "how strongly DPO keeps the representative similar to the representative before DPO; a higher "
        "number means more similar (default: 0.5)",
    ),
)
BATCH = 16


def outcomes_parser() -> Parser:
    """The options of `run.py study representatives outcomes`."""
    parser = lesson_parser(
        "outcomes",
        "Train a representative. Then train the representative further (DPO) on critiques that lead the "
        "group to a statement with a higher payoff for the represented person, and measure the change on "
        "other people and questions (studies/representatives/README.md).",
        cli.budget(),
        adapter=True,
    )
    for name, metavar, default, about in SUBSTITUTION:
        if name in ("--mediator", "--mediator-llm", "--payoff", "--judge"):
            add_option(parser, f"{name} {metavar}", about, default=default)
    add_option(parser, "--tries N", "number of critiques that are tried for each person", positive, 6)
    about = "number of trainings on shuffled preferences, for comparison; a conclusion needs at least five trainings"
    add_option(parser, "--shuffles N", about, positive, 1)
    add_option(parser, "--repetitions N", "number of simulations of the group with each critique", positive, 1)
    add_option(
        parser, "--limit N", "maximum number of critiques and episodes to train on and to test (default: all)", natural
    )
    for name, kind, about in PREFERENCES:
        add_option(parser, f"--{name} X", about, kind)
    return parser


def outcomes(options: argparse.Namespace) -> int:
    """Train on outcomes, and write the page."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.outcome_report import write_outcomes
    from parley.studies.representatives.outcomes import train_outcomes

    *specs, options.mediator_llm, options.judge = models_from_args(options, "mediator_llm", "judge")
    options.spec = only_model(specs, "pocket")
    plan = _plan(options)
    builder = dataset_builder(options)
    spending = shared_budget(options, builder.folder, plan.spec, plan.how.mediator_llm, plan.how.judge)
    desks: list[CallDesk] = []

    def desk_in(folder: Path) -> CallDesk:
        folder.mkdir(parents=True, exist_ok=True)
        desks.append(CallDesk(folder, bar, options.keep_going, spending))
        return desks[-1]

    report = write_outcomes(builder, plan, train_outcomes(builder, plan, desk_in))
    print("\n".join([*(desk.tally.line for desk in desks if desk.tally.line), f"report   {report}"]))
    return 0


def _plan(options: argparse.Namespace) -> OutcomePlan:
    """Return what is trained and how. Errors: UserError where a setting does not fit."""
    from parley.studies.representatives.outcomes import OutcomePlan
    from parley.studies.representatives.resimulation import Procedure
    from parley.training.tuning.recipe import DPO, Recipe

    given = {name: getattr(options, f"dpo_{name}") for name in ("rate", "epochs", "batch")} | {"beta": options.beta}
    values = {name: value for name, value in given.items() if value is not None}
    options.lesson = lesson_from_args(options)
    options.recipe = Recipe("outcomes", DPO, length=options.lesson.length, **{"batch": BATCH, **values})
    options.how = from_args(Procedure, options)
    return from_args(OutcomePlan, options)  # type: ignore[no-any-return]


EXAMPLES = """study representatives episodes --laps 16 --out runs/known
study representatives train runs/known/episodes.jsonl --llm pocket --out runs/represented
study representatives measure runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
study representatives grid runs/known/episodes.jsonl --llm pocket --out runs/grid
study representatives substitute runs/known/episodes.jsonl --llm oracle --mediator-llm oracle --judge oracle
study representatives study runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/study
study representatives payoff runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/payoff
study representatives outcomes runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
study representatives ballots runs/consensus
study representatives steps runs/consensus --llm oracle --out runs/steps"""
LESSON: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of LoRA; 0 trains all weights, as in the study (default: 0)"),
    ("rate", amount, "constant learning rate (default: 1e-5; pocket 1e-3; with LoRA that of run.py train)"),
    ("batch", natural, "examples per step (default: 32; the study used 128)"),
    ("micro", natural, "examples per forward pass; a smaller number needs less memory (default: 8)"),
    ("epochs", amount, "maximum number of passes through the data (default: 20)"),
    ("every", natural, "number of training steps between two measurements of the validation loss (default: 20)"),
    ("patience", natural, "number of measurements without a better loss after which training stops (default: 3)"),
    ("length", natural, "maximum tokens of a prompt with its critique (default: 2048)"),
)
RANK = 16
"""Of a representative that is always trained with LoRA."""
LETTERS = "letters of D (demographics), O (opinions), C (critiques), P (positions)"
SUBSTITUTION = (
    ("--adapter", "NAME", "", "the adapter of --llm that writes critiques (default: none)"),
    ("--knows", "LETTERS", "OC", f"what representatives know: {LETTERS}"),
    ("--mediator", "NAME[,key=value]", "draft_revise", "the mediator that writes group statements"),
    ("--mediator-llm", "SPEC", "oracle", "the model that the mediator uses"),
    ("--payoff", "NAME", "judge", "how a statement is scored for a participant: judge, ranking, own, trained:FOLDER"),
    ("--judge", "SPEC", "oracle", "the model that scores and compares statements"),
)


def lesson_parser(name: str, text: str, *parents: cli.Parent, many: bool = False, adapter: bool = False) -> Parser:
    """Return the parser of a command that trains a representative.

    many: several models may be given. adapter: it is always trained with LoRA.
    """
    about = "a model to train; give --llm twice for two sizes" if many else "the model that is trained"
    shared = cli.model(about, "pocket", trained=True), *parents, cli.seed(), cli.out("runs/representatives-<time>")
    example = next(line for line in EXAMPLES.splitlines() if line.startswith(f"study representatives {name} "))
    parser = Parser(f"study representatives {name}", text, example, *shared)
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    if not many:
        add_option(parser, "--knows LETTERS", f"what the representative knows: {LETTERS} (default: OC)")
    about = "how prompts of representatives are worded: given, second, or a paper's own (run.py new wording)"
    add_option(parser, "--wording NAME", about, default="given")
    rank = ("r", natural, f"rank of LoRA (default: {RANK})")
    add_numbers(parser, (rank, *LESSON[1:]) if adapter else LESSON)
    if adapter:
        parser.set_defaults(r=RANK)
    return parser


def lesson_from_args(options: argparse.Namespace) -> Lesson:
    """Return the settings of the representative's training."""
    from parley.studies.representatives.pipeline import Lesson

    return from_args(Lesson, options)  # type: ignore[no-any-return]


def print_report(desk: CallDesk, report: Path) -> int:
    """Print what is missing and where the report is."""
    print("\n".join(filter(None, [desk.tally.line, f"report   {report}"])))
    return 0


def dataset_builder(options: argparse.Namespace) -> DatasetBuilder:
    """Read and split the episodes."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.studies.representatives.pipeline import DatasetBuilder

    out = results_folder(options, "representatives")
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar, options.wording)
