"""The command `run.py study twins`: let personas of recorded people predict what these people said next."""

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
from parley.model.cli import Parser, add_option, natural, positive
from parley.training.commands.optional_training import check_train_only
from parley.training.commands.tuning import RECIPE, add_numbers, from_args
from parley.training.tuning.recipe import SFT, Recipe

if TYPE_CHECKING:
    from .people_file import RecordedPeople
    from .study import TwinStudy
    from .training import TwinTraining

EXAMPLES = """study twins planted --llm oracle
study twins people.csv --llm openai:gpt-4o-mini --points 2 --rollouts 20
study twins people.csv --llm hf:Qwen/Qwen2.5-0.5B-Instruct --train"""
NUMBERS = ("r", "alpha", "dropout", "rate", "epochs", "batch", "length")
GROUPS = 20


def parser() -> Parser:
    """Return the options of `run.py study twins`."""
    options = Parser(
        "study twins",
        "Make a persona, called a twin, from the attributes, answers and messages of each recorded "
        "person. The twin predicts the person's next answer and next message. The report compares the "
        "twin with a stranger's twin, with other people, and with later answers of the person "
        "(studies/twins/README.md). `study data` converts public files of people.\n"
        "With --train, the model is also trained on the conversations of some people, and tested on "
        "other people.",
        EXAMPLES,
        *cli.asking("runs/twins-<time>", "the model that speaks as twins"),
        cli.dry_run("print the number of questions, and stop without calling a model"),
    )
    about = (
        "a table of recorded people, with a row for each message, answer or attribute (columns: "
        "studies/twins/README.md), or the name of made-up people\n"
        "planted: answers and messages follow from a person's history\n"
        "shuffled: answers and messages do not follow from a person's history"
    )
    add_option(options, "PEOPLE", about)
    add_option(
        options, "--groups N", f"number of groups of made-up people, three in each (default: {GROUPS})", positive
    )
    add_option(
        options, "--limit N", "number of people of a file; whole groups of people are drawn (default: all)", positive
    )
    add_option(options, "--points N", "number of answers, and of messages, to predict for each person", positive, 3)
    add_option(
        options, "--strangers N", "number of strangers' twins that each prediction is compared with", positive, 1
    )
    about = "number of whole conversations between twins, to compare with the real conversations (0: none)"
    add_option(options, "--rollouts N", about, natural, 0)
    add_option(
        options,
        "--samples N",
        "number of answers drawn for each question if the model gives no probabilities",
        positive,
        5,
    )
    add_option(options, "--language CODE", "language of the prompts, such as de (default: en)")
    add_option(
        options,
        "--train",
        "train by SFT on the talks of half of the groups; takes pocket or hf:MODEL",
        action="store_true",
    )
    about = "with --train: number of trainings on talks that are shuffled between people, for comparison (default: 1)"
    add_option(options, "--shuffles N", about, positive)
    add_numbers(options, [(name, kind, f"with --train: {about}") for name, kind, about in RECIPE if name in NUMBERS])
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study twins`."""
    options = parser().parse_args(words)
    from .asking import Twins, usual_words
    from .nats import measure_nats, scorer_of
    from .people_file import MESSAGE
    from .report import Found, write
    from .rollout import courses, roll_out
    from .study import predict_answers, predict_messages

    check_train_only(options, (*NUMBERS, "shuffles"), "--train")
    study, out = study_from_args(options), results_folder(options, "twins")
    rolled = courses(study.people, study.rollouts, study.seed)
    if options.dry_run:
        turns = sum(len(course.turns) + len(course.answers) for course in rolled)
        return print_calls(_planned(study, turns))
    training = _training(options, study, out) if options.train else None
    spending = shared_budget(options, out, study.llm)
    print_paths(folder=out)
    with open_desk(options, out / "twins.json", study.to_dict(), "study of twins", spending) as desk:
        words_asked = usual_words(study.people)
        twins = Twins(study.llm, study.language, desk, study.seed, study.samples, words_asked)
        measured, predictions = predict_answers(study, twins)
        messages, texts = predict_messages(study, twins)
        parts = [measured, messages]
        if (scorer := scorer_of(study.llm)) and study.of_kind(MESSAGE):
            parts.append(measure_nats(study, words_asked, scorer, out / "nats.json"))
        conversations = [roll_out(course, study.people, twins) for course in rolled]
        ended = desk.ask(conversations, study.llm, "conversations", lambda each: None, twins.backend) if rolled else []
        print(desk.tally.line)
        trained = training.measure(desk, words_asked) if training else None
    import pandas as pd

    asked = len(twins.answers) + len(twins.messages)
    found = Found(pd.concat(parts, ignore_index=True), predictions, texts, ended, twins.reasons, asked)
    report = write(study, found, out, trained)
    print_paths(report=report)
    return 0


def study_from_args(options: argparse.Namespace) -> TwinStudy:
    """Return the study of the options. Errors: UserError for people from whom nothing can be predicted."""
    from parley.agents.language import load_language
    from parley.llm.backends import check_spec

    from .study import TwinStudy

    llm = only_model(models_from_args(options))
    check_spec(llm)
    study = TwinStudy(
        people_from_args(options), llm, options.points, options.strangers, options.rollouts, options.samples, options.seed,
        load_language(options.language or "en"),
    )  # fmt: skip
    study.check()
    return study


def people_from_args(options: argparse.Namespace) -> RecordedPeople:
    """Return the people of a file, or made-up ones. Errors: UserError."""
    from .people_file import read_people
    from .planted import INVENTED, invent_people

    if options.people in INVENTED:
        return invent_people(options.people, options.groups or GROUPS, options.seed)
    if options.groups:
        raise UserError("--groups only works with made-up people: leave out --groups, or use --limit")
    if "." not in Path(options.people).name:
        raise UserError(
            f"there are no people {options.people!r}: give {', '.join(INVENTED)}, or a table of people (.csv)"
        )
    people = read_people(Path(options.people))
    return people.drawn(options.limit, options.seed) if options.limit else people


def _training(options: argparse.Namespace, study: TwinStudy, out: Path) -> TwinTraining:
    """Return the training that the options describe. Errors: UserError where a setting or the model does not allow it."""
    from .training import TwinTraining

    options.party, options.held_out = "twins", None  # the halves of the file are held out, not parts of the recipe
    training = TwinTraining(study, replace(from_args(Recipe, options), method=SFT), out, options.shuffles or 1)
    training.base()
    return training


def _planned(study: TwinStudy, turns: int) -> str:
    """Return the number of questions, as text. turns: those of conversations of twins, with the answers at their ends."""
    points = len(study.points) + sum(map(len, study.by_stranger.values()))
    most = f" (answers times {study.samples} for a model that gives no probabilities)" if study.samples > 1 else ""
    return f"at most {points + turns:,} questions on {len(study.points):,} points of {len(study.people.by_person):,} people{most}"
