"""The command `run.py elicit`: choose the next question to each person by expected information gain."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.survey_prediction.answers import Survey

EXAMPLES = """elicit planted --llm oracle
elicit answers.csv --questions questions.csv --llm hf:Qwen/Qwen2.5-0.5B-Instruct --people 50"""


def elicit_parser() -> Parser:
    """Return the options of `run.py elicit`."""
    parser = Parser(
        "elicit",
        "Choose the next question to each person of a survey by expected information gain, and compare how well the rest of the "
        "person's answers is predicted with random and fixed orders (docs/survey_prediction.md).",
        EXAMPLES,
        *cli.asking("runs/elicit-<time>", "the model that predicts answers"),
        cli.dry_run("print the number of questions to the model, and stop: no model is called"),
    )
    add_survey(parser)
    add_option(parser, "--steps N", "number of questions asked to each person", positive, 3)
    add_option(parser, "--candidates N", "the most questions among which the next one is chosen", positive, 6)
    add_option(parser, "--rest N", "the most answers of a person that are predicted", positive, 6)
    add_option(parser, "--repeats N", "number of random orders of each person, whose errors are averaged", positive, 3)
    return parser


def add_survey(parser: Parser) -> None:
    """Add the options that say which survey: SURVEY, --questions, --people, --language, --samples."""
    about = (
        "a table of answers (.csv; docs/survey_prediction.md has its columns), or an invented survey: planted (answers depend "
        "on a hidden position), independent (they do not), shuffled (planted, then dealt to other people)"
    )
    add_option(parser, "SURVEY", about)
    add_option(
        parser, "--questions FILE", "the texts and answers of the questions (.csv), for a survey of your own", Path
    )
    about = "number of people: drawn from a survey of your own (default: all), or invented (default: 100)"
    add_option(parser, "--people N", about, positive)
    add_option(parser, "--language CODE", "language of the prompts, such as de (default: en)")
    add_option(
        parser, "--samples N", "answers drawn for each question if the model gives no probabilities", positive, 10
    )


def survey_from_args(options: argparse.Namespace) -> Survey:
    """Return the survey of the options. Errors: UserError for an unknown one, and for one without its questions."""
    from parley.agents.language import load_language
    from parley.analysis.survey_prediction.answers import read_survey
    from parley.analysis.survey_prediction.invented import INVENTED, LANGUAGES, invent_survey

    code = options.language or "en"
    language = load_language(code)
    if options.survey in INVENTED:
        if options.questions:
            raise UserError(f"the invented survey {options.survey} has questions of its own: leave out --questions")
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
    """Run `run.py elicit`."""
    options = elicit_parser().parse_args(words)
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.survey_prediction.asking import Interviewer
    from parley.analysis.survey_prediction.elicitation import ElicitationStudy, run_elicitation
    from parley.analysis.survey_prediction.elicitation_report import write_elicitation
    from parley.llm.backends import check_spec
    from parley.model.scenario_run import lock_folder

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
    with lock_folder(out):
        check_manifest(out / "survey.json", study.to_dict(), "survey or set of questions")
        desk = CallDesk(out, bar, options.keep_going, spending)
        interviewer = Interviewer(llm, study.survey.language, desk, study.seed, study.samples)
        rows = run_elicitation(study, interviewer)
        print(desk.tally.line)
        report = write_elicitation(study, rows, interviewer, out)
    print_paths(report=report, figure=out / "elicitation.png")
    return 0
