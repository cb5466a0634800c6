"""The command `run.py predict`: find hidden answers of a survey by a model, trained on the other answers or not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.elicit import add_survey, survey_from_args
from parley.analysis.commands.runs import print_calls, print_paths, results_folder
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar
from parley.training.commands.optional_training import check_train_only
from parley.training.commands.tuning import RECIPE, add_numbers, from_args
from parley.training.tuning.recipe import SFT, Recipe

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.analysis.survey_prediction.prediction import PredictionStudy
    from parley.training.survey_answers import SurveyTraining

EXAMPLES = """predict planted --llm oracle
predict answers.csv --questions questions.csv --llm openai:gpt-4o-mini --people 200
predict answers.csv --questions questions.csv --llm pocket --train"""
NUMBERS = ("r", "alpha", "dropout", "rate", "epochs", "batch", "length")


def predict_parser() -> Parser:
    """Return the options of `run.py predict`."""
    parser = Parser(
        "predict",
        "Hide answers of a survey, and let a model predict them from the other answers of each person: answers of known people "
        "to known questions, questions that no one was asked, and new people (docs/survey_prediction.md).\n"
        "With --train: also train the model on the answers that are not hidden.",
        EXAMPLES,
        *cli.asking("runs/predict-<time>", "the model that predicts answers"),
        cli.dry_run("print the number of questions, and stop: no model is called"),
    )
    add_survey(parser)
    add_option(
        parser,
        "--held-out X",
        "share of people, of questions, and of each person's answers that is hidden",
        amount,
        0.25,
    )
    add_option(
        parser,
        "--train",
        "train by SFT on the answers that are not hidden; takes pocket or hf:MODEL",
        action="store_true",
    )
    about = (
        "with --train: number of trainings on answers that are shuffled between people, to compare with (default: 1)"
    )
    add_option(parser, "--shuffles N", about, positive)
    add_numbers(parser, [(name, kind, f"with --train: {about}") for name, kind, about in RECIPE if name in NUMBERS])
    return parser


def predict(words: Sequence[str]) -> int:
    """Run `run.py predict`."""
    options = predict_parser().parse_args(words)
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.survey_prediction.asking import Interviewer
    from parley.analysis.survey_prediction.prediction import MODEL
    from parley.analysis.survey_prediction.prediction_report import write_predictions
    from parley.model.scenario_run import lock_folder

    study, out = _study(options), results_folder(options, "predict")
    _check_options(options)
    if options.dry_run:
        return print_calls(_planned(study, options.shuffles or 1 if options.train else 0), study.llm)
    training = _training(options, study, out) if options.train else None
    spending = shared_budget(options, out, study.llm)
    print_paths(folder=out)
    with lock_folder(out):
        check_manifest(out / "survey.json", study.to_dict(), "survey or split")
        # a model that answers in other words before its training may answer in those of the survey after it
        desk: CallDesk = CallDesk(out, bar, options.keep_going or options.train, spending)
        asking = Interviewer(study.llm, study.survey.language, desk, study.seed, study.samples)
        predictions, interviewers = {MODEL: study.predict(asking, "predictions")}, [asking]
        if training:
            for name, trained in training.interviewers(desk).items():
                predictions[name] = study.predict(trained, f"predictions {name}")
                interviewers.append(trained)
        print(desk.tally.line)
        report = write_predictions(study, predictions, interviewers, out)
    print_paths(report=report, figure=out / "predictions.png")
    return 0


def _study(options: argparse.Namespace) -> PredictionStudy:
    from parley.analysis.survey_prediction.prediction import PredictionStudy
    from parley.llm.backends import check_spec

    llm = only_model(models_from_args(options))
    check_spec(llm)
    study = PredictionStudy(survey_from_args(options), llm, options.held_out, options.samples, options.seed)
    study.questions()  # refuses a survey or share that cannot be split, before anything is asked
    return study


def _planned(study: PredictionStudy, shuffles: int) -> str:
    """Return the number of questions, as text. shuffles: trainings on shuffled answers; 0 without a training."""
    count, runs = len(study.questions()), shuffles + 2 if shuffles else 1
    most = "" if study.samples == 1 else f" (times {study.samples} for a model that gives no probabilities)"
    return f"at most {runs * count:,} questions{most}{f', and {runs - 1} trainings' if shuffles else ''}"


def _check_options(options: argparse.Namespace) -> None:
    """Errors: UserError for a setting of the training without --train."""
    check_train_only(options, (*NUMBERS, "shuffles"), "--train")


def _training(options: argparse.Namespace, study: PredictionStudy, out: Path) -> SurveyTraining:
    """Return the training that the options describe. Errors: UserError where a setting or the model does not allow it."""
    from parley.training.survey_answers import SurveyTraining

    options.party, options.held_out = (
        "survey",
        None,
    )  # what is hidden is never trained on, so the recipe holds out nothing
    training = SurveyTraining(study, replace(from_args(Recipe, options), method=SFT), out, options.shuffles or 1)
    training.base()
    return training
