"""`run.py representatives payoff`: train a payoff model on recorded ratings, and compare it with other scorers."""

from __future__ import annotations

import argparse
from pathlib import Path

from parley.analysis.commands.runs import EPISODES
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar
from parley.training.commands.lesson import dataset_builder, print_report
from parley.training.commands.tuning import add_numbers, from_args

BOTH = "both"
LESSON = (
    ("r", natural, "rank of LoRA; 0 trains all weights (default: 0)"),
    ("rate", amount, "constant learning rate (default: 1e-5; pocket 1e-3; with LoRA that of run.py train)"),
    ("batch", natural, "ratings or pairs per step (default: 32)"),
    ("micro", natural, "ratings or pairs per forward pass; fewer need less memory (default: 16)"),
    ("epochs", amount, "maximum passes through the data (default: 5)"),
    ("every", natural, "training steps between two measurements of the validation loss (default: 20)"),
    ("patience", natural, "measurements without a better loss before training stops (default: 3)"),
    ("length", natural, "maximum tokens of a question, an opinion and a statement together (default: 1024)"),
)


def payoff_parser() -> Parser:
    """The options of `run.py representatives payoff`."""
    parser = Parser(
        "representatives payoff",
        "Train a model that predicts from question, opinion and statement how a participant rates the statement, and compare "
        "it with a judge, a ranking, self-report and models that do not read the opinion, on people that it was not trained on "
        "(docs/payoffs.md).",
        "representatives payoff runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/payoff",
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
    add_numbers(parser, LESSON)
    return parser


def payoff(options: argparse.Namespace) -> int:
    """Train and compare payoff models."""
    from parley.analysis.journaled_calls import CallDesk
    from parley.llm.backends.hf.reward import FORMS
    from parley.training.payoffs.pipeline import PayoffLesson
    from parley.training.payoffs.study import run_payoffs

    forms = FORMS if options.form == BOTH else (options.form,)
    options.form = forms[0]
    *specs, judge = models_from_args(options, "judge")
    llm, lesson = only_model(specs, "pocket"), from_args(PayoffLesson, options)
    builder = dataset_builder(options)
    spending = shared_budget(options, builder.folder, llm, *filter(None, [judge]))
    desk = CallDesk(builder.folder, bar, options.keep_going, spending)
    return print_report(desk, run_payoffs(builder, llm, lesson, forms, judge, desk))
