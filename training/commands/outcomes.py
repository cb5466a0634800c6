"""`run.py representatives outcomes`: train a representative on what its person gets from the group's statement."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar
from parley.training.commands.lesson import SUBSTITUTION, dataset_builder, lesson_from_args, lesson_parser
from parley.training.commands.tuning import from_args

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.outcomes import OutcomePlan

PREFERENCES = (
    ("dpo-rate", amount, "learning rate of DPO (default: 5e-6; pocket 1e-3)"),
    ("dpo-epochs", amount, "passes of DPO through the pairs (default: 1)"),
    ("dpo-batch", natural, "pairs per step of DPO (default: 16)"),
    ("beta", amount, "how strongly DPO keeps the representative near its start; higher is nearer (default: 0.5)"),
)
BATCH = 16


def outcomes_parser() -> Parser:
    """The options of `run.py representatives outcomes`."""
    parser = lesson_parser(
        "outcomes",
        "Train a representative, then train it further (DPO) on critiques that lead the group to a statement with a higher "
        "payoff for its person, and measure on other people and questions what that changes (docs/outcomes.md).",
        cli.budget(),
        adapter=True,
    )
    for name, metavar, default, about in SUBSTITUTION:
        if name in ("--mediator", "--mediator-llm", "--payoff", "--judge"):
            add_option(parser, f"{name} {metavar}", about, default=default)
    add_option(parser, "--tries N", "critiques that are tried for each person", positive, 6)
    about = "number of trainings on shuffled preferences, to compare with; a verdict needs five"
    add_option(parser, "--shuffles N", about, positive, 1)
    add_option(parser, "--repetitions N", "simulations of the group with each critique", positive, 1)
    add_option(
        parser, "--limit N", "maximum number of critiques and episodes to train on and to test (default: all)", natural
    )
    for name, kind, about in PREFERENCES:
        add_option(parser, f"--{name} X", about, kind)
    return parser


def outcomes(options: argparse.Namespace) -> int:
    """Train on outcomes, and write the page."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.outcome_report import write_outcomes
    from parley.training.representatives.outcomes import train_outcomes

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
    from parley.analysis.deliberation.resimulation import Procedure
    from parley.training.representatives.outcomes import OutcomePlan
    from parley.training.tuning.recipe import DPO, Recipe

    given = {name: getattr(options, f"dpo_{name}") for name in ("rate", "epochs", "batch")} | {"beta": options.beta}
    values = {name: value for name, value in given.items() if value is not None}
    options.lesson = lesson_from_args(options)
    options.recipe = Recipe("outcomes", DPO, length=options.lesson.length, **{"batch": BATCH, **values})
    options.how = from_args(Procedure, options)
    return from_args(OutcomePlan, options)  # type: ignore[no-any-return]
