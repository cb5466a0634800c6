"""What several commands of `run.py representatives` share: examples, options of a training, options of a re-simulation."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import EPISODES, results_folder
from parley.model import cli
from parley.model.cli import Parser, add_option, amount, natural
from parley.model.progress import bar
from parley.training.commands.tuning import add_numbers, from_args

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.training.representatives.pipeline import DatasetBuilder, Lesson

EXAMPLES = """representatives episodes --laps 16 --out runs/known
representatives train runs/known/episodes.jsonl --llm pocket --out runs/represented
representatives measure runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
representatives grid runs/known/episodes.jsonl --llm pocket --out runs/grid
representatives substitute runs/known/episodes.jsonl --llm oracle --mediator-llm oracle --judge oracle
representatives study runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/study
representatives payoff runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/payoff
representatives outcomes runs/known/episodes.jsonl --llm pocket --judge oracle --out runs/represented
representatives ballots runs/consensus
representatives steps runs/consensus --llm oracle --out runs/steps"""
LESSON: tuple[tuple[str, Any, str], ...] = (
    ("r", natural, "rank of LoRA; 0 trains all weights, as in the study (default: 0)"),
    ("rate", amount, "constant learning rate (default: 1e-5; pocket 1e-3; with LoRA that of run.py train)"),
    ("batch", natural, "examples per step (default: 32; the study 128)"),
    ("micro", natural, "examples per forward pass; fewer need less memory (default: 8)"),
    ("epochs", amount, "maximum passes through the data (default: 20)"),
    ("every", natural, "training steps between two measurements of the validation loss (default: 20)"),
    ("patience", natural, "measurements without a better loss before training stops (default: 3)"),
    ("length", natural, "maximum tokens of a prompt with its critique (default: 2048)"),
)
RANK = 16
"""Of a representative that is always trained with LoRA."""
LETTERS = "letters of D (demographics), O (opinions), C (critiques), P (positions)"
SUBSTITUTION = (
    ("--adapter", "NAME", "", "the adapter of --llm that writes critiques (default: none)"),
    (
        "--knows",
        "LETTERS",
        "OC",
        f"what representatives know: {LETTERS}",
    ),
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
    example = next(line for line in EXAMPLES.splitlines() if line.startswith(f"representatives {name} "))
    parser = Parser(f"representatives {name}", text, example, *shared)
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    if not many:
        add_option(
            parser,
            "--knows LETTERS",
            f"what the representative knows: {LETTERS} (default: OC)",
        )
    rank = ("r", natural, f"rank of LoRA (default: {RANK})")
    add_numbers(parser, (rank, *LESSON[1:]) if adapter else LESSON)
    if adapter:
        parser.set_defaults(r=RANK)
    return parser


def lesson_from_args(options: argparse.Namespace) -> Lesson:
    """Return the settings of the representative's training."""
    from parley.training.representatives.pipeline import Lesson

    return from_args(Lesson, options)  # type: ignore[no-any-return]


def print_report(desk: CallDesk, report: Path) -> int:
    """Print what is missing and where the report is."""
    print("\n".join(filter(None, [desk.tally.line, f"report   {report}"])))
    return 0


def dataset_builder(options: argparse.Namespace) -> DatasetBuilder:
    """Read and split the episodes."""
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.training.representatives.pipeline import DatasetBuilder

    out = results_folder(options, "representatives")
    print(f"folder   {out}", flush=True)
    return DatasetBuilder(read_all(options.episodes), options.seed, out, bar)
