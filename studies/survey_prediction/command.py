"""The commands `study predict` (hidden answers of a survey) and `study elicit` (the next question)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import open_desk, print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, amount, positive
from parley.training.commands.optional_training import check_train_only
from parley.training.commands.tuning import RECIPE, add_numbers, from_args
from parley.training.tuning.recipe import SFT, Recipe

if TYPE_CHECKING:
    from .prediction import PredictionStudy
    from .survey import Survey
    from .training import SurveyTraining

EXAMPLES = """study predict planted --llm oracle
study predict answers.csv --questions questions.csv --llm openai:gpt-4o-mini --people 200
study predict answers.csv --questions questions.csv --llm pocket --train"""
NUMBERS = ("r", "alpha", "dropout", "rate", "epochs", "batch", "length")


def parser() -> Parser:
    """Return the options of `run.py study predict`."""
    options = Parser(
        "study predict",
        "Hide answers of a survey, and let a model predict the hidden answers from the person's other "
        "answers. Three kinds of answers are hidden: answers of known people to known questions, answers "
        "to new questions, and answers of new people (studies/survey_prediction/README.md).\n"
        "With --train, the model is also trained on the answers that are not hidden.",
        EXAMPLES,
        *cli.asking("runs/predict-<time>", "the model that predicts answers"),
        cli.dry_run("print the number of questions, and stop without calling a model"),
    )
    add_survey(options)
    add_option(
        options,
        "--held-out X",
        "share of people, of questions, and of each person's answers that is hidden",
        amount,
        0.25,
    )
    add_option(
        options,
        "--train",
        "train by SFT on the answers that are not hidden; takes pocket or hf:MODEL",
        action="store_true",
    )
    about = "with --train: number of trainings on answers that are shuffled between people, for comparison (default: 1)"
    add_option(options, "--shuffles N", about, positive)
    add_numbers(options, [(name, kind, f"with --train: {about}") for name, kind, about in RECIPE if name in NUMBERS])
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study predict`."""
    options = parser().parse_args(words)
    from .asking import Interviewer
    from .prediction import MODEL, write_predictions

    study, out = _study(options), results_folder(options, "predict")
    _check_options(options)
    if options.dry_run:
        return print_calls(_planned(study, options.shuffles or 1 if options.train else 0), study.llm)
    training = _training(options, study, out) if options.train else None
    spending = shared_budget(options, out, study.llm)
    print_paths(folder=out)
    # a model that answers in other words before its training may answer in those of the survey after it
    options.keep_going = options.keep_going or options.train
    with open_desk(options, out / "survey.json", study.to_dict(), "survey or split", spending) as desk:
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
    from parley.llm.backends import check_spec

    from .prediction import PredictionStudy

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
    from .training import SurveyTraining

    options.party, options.held_out = (
        "survey",
        None,
    )  # what is hidden is never trained on, so the recipe holds out nothing
    training = SurveyTraining(study, replace(from_args(Recipe, options), method=SFT), out, options.shuffles or 1)
    training.base()
    return training


ELICITED = """study elicit planted --llm oracle
study elicit answers.csv --questions questions.csv --llm hf:Qwen/Qwen2.5-0.5B-Instruct --people 50"""


def elicit_parser() -> Parser:
    """Return the options of `run.py study elicit`."""
    options = Parser(
        "study elicit",
        "Choose the next survey question for each person by expected information gain "
        "(studies/survey_prediction/README.md). The report says how well the person's other answers are "
        "predicted, and compares this order of questions with random and fixed orders.",
        ELICITED,
        *cli.asking("runs/elicit-<time>", "the model that predicts answers"),
        cli.dry_run("print the number of questions to the model, and stop without calling a model"),
    )
    add_survey(options)
    add_option(options, "--steps N", "number of questions asked to each person", positive, 3)
    add_option(
        options, "--candidates N", "maximum number of questions from which the next question is chosen", positive, 6
    )
    add_option(options, "--rest N", "maximum number of predicted answers of a person", positive, 6)
    add_option(
        options,
        "--repeats N",
        "number of random orders of questions for each person; the errors of these orders are averaged",
        positive,
        3,
    )
    return options


def add_survey(options: Parser) -> None:
    """Add the options that say which survey: SURVEY, --questions, --people, --language, --samples."""
    about = (
        "a .csv table of answers (columns: studies/survey_prediction/README.md), or the name of an "
        "invented survey\n"
        "planted: answers depend on a hidden position of each person\n"
        "independent: answers do not depend on a hidden position\n"
        "shuffled: the answers of planted, shuffled among people"
    )
    add_option(options, "SURVEY", about)
    add_option(
        options, "--questions FILE", "the texts and answers of the questions (.csv), for a survey of your own", Path
    )
    about = "number of people: drawn from a survey of your own (default: all), or invented (default: 100)"
    add_option(options, "--people N", about, positive)
    add_option(options, "--language CODE", "language of the prompts, such as de (default: en)")
    add_option(
        options,
        "--samples N",
        "number of answers drawn for each question if the model gives no probabilities",
        positive,
        10,
    )


def survey_from_args(options: argparse.Namespace) -> Survey:
    """Return the survey of the options. Errors: UserError for an unknown one, and for one without its questions."""
    from parley.agents.language import load_language

    from .survey import INVENTED, LANGUAGES, invent_survey, read_survey

    code = options.language or "en"
    language = load_language(code)
    if options.survey in INVENTED:
        if options.questions:
            raise UserError(f"the invented survey {options.survey} has its own questions: leave out --questions")
        if code not in LANGUAGES:
            raise UserError(f"there is no invented survey in {code}: give --language {' or '.join(LANGUAGES)}")
        return invent_survey(options.survey, options.people or 100, options.seed, code)
    if not options.survey.endswith(".csv"):
        raise UserError(
            f"there is no survey {options.survey!r}: give {', '.join(INVENTED)}, or a table of answers (.csv)"
        )
    if not options.questions:
        raise UserError(f"{options.survey} needs the texts of its questions: add --questions questions.csv")
    survey = read_survey(Path(options.survey), options.questions, language)
    return survey.drawn(options.people, options.seed) if options.people else survey


def elicit(words: Sequence[str]) -> int:
    """Run `run.py study elicit`."""
    options = elicit_parser().parse_args(words)
    from parley.llm.backends import check_spec

    from .asking import Interviewer
    from .elicitation import ElicitationStudy, run_elicitation, write_elicitation

    llm = only_model(models_from_args(options))
    check_spec(llm)
    sizes = options.steps, options.candidates, options.rest, options.repeats, options.samples, options.seed
    study = ElicitationStudy(survey_from_args(options), llm, *sizes)
    calls = study.planned_calls()  # refuses a survey with too few answers, before anything is asked
    if options.dry_run:
        planned = f"at most {calls:,} questions (times {study.samples} for a model that gives no probabilities)"
        return print_calls(planned, llm)
    out = results_folder(options, "elicit")
    spending = shared_budget(options, out, llm)
    print_paths(folder=out)
    with open_desk(options, out / "survey.json", study.to_dict(), "survey or set of questions", spending) as desk:
        interviewer = Interviewer(llm, study.survey.language, desk, study.seed, study.samples)
        rows = run_elicitation(study, interviewer)
        print(desk.tally.line)
        report = write_elicitation(study, rows, interviewer, out)
    print_paths(report=report, figure=out / "elicitation.png")
    return 0
