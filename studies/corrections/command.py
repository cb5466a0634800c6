"""`study correct`: replies to false claims with evidence and without, judged; a trained corrector."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import open_desk, print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, positive
from parley.training.commands.optional_training import NUMBERS, add_training, check_train_only, training_from_args
from parley.training.tuning.recipe import DPO

if TYPE_CHECKING:
    from parley.agents.persuasion import Reader
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.corrections.measures import CorrectionStudy
    from parley.studies.corrections.training import CorrectorTraining

EXAMPLES = """study correct en --llm oracle --judge oracle
study correct posts.toml --evidence texts --llm openai:gpt-4o-mini --judge openai:gpt-4o
study correct en --llm pocket --judge oracle --train"""
SAMPLES, HELD_OUT = 8, 0.33


def parser() -> Parser:
    """Return the options of `run.py study correct`."""
    parser = Parser(
        "study correct",
        "Let a model answer posts that spread false claims, with and without evidence from the files of "
        "a folder. A judge rates the refutation, evidence, politeness and factuality of each answer "
        "(studies/corrections/README.md).\n"
        "With --train, the command trains the model on the model's own rated replies, and compares "
        "replies before and after the training, on posts that were not used for training.",
        EXAMPLES,
        *cli.asking("runs/correct-<time>", "the model that writes the replies"),
        cli.dry_run("print the number of replies and verdicts, and stop without calling a model"),
    )
    add_option(
        parser, "POSTS", "the posts: en or de (Parley's own), or a .toml file of your own", nargs="?", default="en"
    )
    add_option(parser, "--judge SPEC", "the model that rates the replies", required=True)
    about = "folder of .txt and .md files that may be quoted (default: the folder `evidence` next to the file of posts)"
    add_option(parser, "--evidence FOLDER", about, Path)
    add_option(parser, "--passages N", "number of passages shown to the model for each post", positive, 3)
    add_option(parser, "--words N", "the prompt asks for a reply of at most N words", positive, 60)
    add_option(
        parser,
        "--samples N",
        f"number of replies to each post in each condition (default: 1; with --train {SAMPLES})",
        positive,
    )
    about = "number of personas that compare replies in pairs, and choose the more persuasive reply (default: none)"
    add_option(parser, "--panel N", about, positive)
    add_option(parser, "--personas SET", "with --panel: name of the set of personas (default: voters)")
    add_option(
        parser, "--train", "train by DPO on the rated replies; takes pocket or hf:MODEL as --llm", action="store_true"
    )
    add_training(parser, "posts", "preferences", HELD_OUT)
    return parser


def run(words: Sequence[str]) -> int:
    """Run `run.py study correct`."""
    options = parser().parse_args(words)
    study, out = study_from_args(options), results_folder(options, "correct")
    _check_options(options)
    if options.dry_run:
        planned = planned_calls(study, (options.shuffles or 1) if options.train else 0, options.panel or 0)
        return print_calls(planned, study.llm, study.judge)
    panel = _panel(options, study)
    training = _training(options, study, out) if options.train else None
    spending = shared_budget(options, out, study.llm, study.judge)
    print(f"folder   {out}", flush=True)
    about = study.to_dict() | {"trained": options.train}
    with open_desk(options, out / "corrections.json", about, "set of replies", spending) as desk:
        return _train(training, desk) if training else _measure(study, out, desk, panel)


def study_from_args(options: argparse.Namespace) -> CorrectionStudy:
    """Return what is written and judged."""
    from parley.agents.evidence import load_evidence
    from parley.llm.backends import check_spec
    from parley.studies.corrections.corrector import load_posts
    from parley.studies.corrections.measures import CorrectionStudy

    *specs, judge = models_from_args(options, "judge")
    posts, llm = load_posts(options.posts), only_model(specs)
    for spec in (llm, judge):
        check_spec(spec)
    evidence = load_evidence(options.evidence or posts.folder)
    samples = options.samples or (SAMPLES if options.train else 1)
    return CorrectionStudy(posts, evidence, llm, judge, options.passages, options.words, samples, options.seed)


def planned_calls(study: CorrectionStudy, shuffles: int, panel: int = 0) -> str:
    """Return the number of calls, as text. A draft is the reply without passages, so it is asked for once.

    shuffles: trainings on shuffled preferences; 0 without a training. panel: number of personas.
    """
    replies, runs = study.size * study.samples, shuffles + 2
    if shuffles:
        return f"at most {runs * replies:,} replies and {4 * runs * replies:,} verdicts, and {runs - 1} trainings"
    compared = f", and {2 * 4 * panel * replies:,} comparisons" if panel else ""
    return f"{4 * replies:,} replies and {4 * 5 * replies:,} verdicts{compared}"


def _check_options(options: argparse.Namespace) -> None:
    """Errors: UserError for a setting of the training without --train, for a panel with it, and for personas without a panel."""
    if options.personas and not options.panel:
        raise UserError("--personas names who compares the replies: add --panel N, or leave out --personas")
    if options.panel and options.train:
        raise UserError("--panel compares replies without a training: leave out --panel or --train")
    check_train_only(options, (*NUMBERS, "shuffles", "held_out"), "--train")


def _panel(options: argparse.Namespace, study: CorrectionStudy) -> Sequence[Reader]:
    """Return the readers of --panel, none without it. Errors: UserError if the set of personas has fewer people."""
    from parley.studies.corrections.panel import draw_panel

    return draw_panel(study, options.personas or "voters", options.panel) if options.panel else ()


def _measure(study: CorrectionStudy, out: Path, desk: CallDesk, panel: Sequence[Reader]) -> int:
    from parley.studies.corrections.measures import measure
    from parley.studies.corrections.panel import ask_panel
    from parley.studies.corrections.report import write_corrections

    replies = measure(study, desk)
    compared = ask_panel(study, replies, panel, study.llm, desk) if panel else None
    print(desk.tally.line)
    print_paths(report=write_corrections(study, replies, out, compared), figure=out / "corrections.png")
    return 0


def _train(training: CorrectorTraining, desk: CallDesk) -> int:
    from parley.studies.corrections.report import compare_measures, write_training

    outcome, out = training.run(desk), training.folder
    rated = {"samples": outcome.samples, "held_out": outcome.held_out, "compared": compare_measures(outcome.held_out)}
    print(desk.tally.line)
    report = write_training(training.study, rated, outcome.lines(), out)
    print_paths(report=report, figure=out / "trained.png", adapters=out / "adapters")
    return 0


def _training(options: argparse.Namespace, study: CorrectionStudy, out: Path) -> CorrectorTraining:
    """Return the training that the options describe. Errors: UserError where a setting or the model does not allow it."""
    from parley.studies.corrections.training import CorrectorTraining

    recipe, share, shuffles = training_from_args(options, "corrector", DPO, HELD_OUT)
    training = CorrectorTraining(study, recipe, out, share, shuffles)
    training.base()
    return training
