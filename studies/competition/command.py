"""`run.py study compete`: two writers compete for an audience; how often each wins, and how often each breaks a rule."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import open_desk, print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, positive
from parley.training.commands.optional_training import NUMBERS, add_training, check_train_only, training_from_args

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.competition.contest import CompetitionStudy
    from parley.studies.competition.training import WriterTraining
    from parley.studies.competition.writers import GivenMessages

EXAMPLES = """study compete --llm oracle,embellish=0.9 --against oracle,embellish=0.1 --audience oracle,craves=2 --judge oracle
study compete sales --llm openai:gpt-4o-mini --judge openai:gpt-4o
study compete cases.toml --messages messages.csv --llm openai:gpt-4o-mini --judge openai:gpt-4o
study compete --llm pocket --audience oracle,longer=3 --judge oracle --train dpo --shuffles 5"""
SAMPLES, TRAINING_SAMPLES, HELD_OUT = 2, 6, 0.33


def parser() -> Parser:
    """Return the options of `run.py study compete`."""
    parser = Parser(
        "study compete",
        "Let two writers compete for an audience of personas (sellers, candidates, posters), and let a judge say which messages "
        "break a rule, such as claiming what is not known (studies/competition/README.md).",
        EXAMPLES,
        cli.society(),
        *cli.asking("runs/compete-<time>", "the model that writes"),
        cli.dry_run("print the number of messages, choices and verdicts, and stop without calling a model"),
    )
    about = "the competitions: sales, election, media (default: all three), or .toml files of your own"
    add_option(parser, "COMPETITION", about, nargs="*")
    add_option(
        parser,
        "--against SPEC",
        "the model of the rival (default: the model of --llm, so that neither writer is better)",
    )
    add_option(parser, "--audience SPEC", "the model that plays the audience (default: the model of --llm)")
    add_option(parser, "--judge SPEC", "the model that judges the messages", required=True)
    about = (
        "messages of two writers (CSV or .jsonl; studies/competition/README.md), in place of messages that models write"
    )
    add_option(parser, "--messages FILE", about, Path)
    add_option(parser, "--personas SET", "name of the set of personas of the audience", default="voters")
    add_option(parser, "--panel N", "number of personas in the audience", positive, default=20)
    about = f"number of messages of each writer about each case (default: {SAMPLES}; with --train {TRAINING_SAMPLES})"
    add_option(parser, "--samples N", about, positive)
    add_option(parser, "--words N", "maximum number of words of a message", positive, default=60)
    training_options(parser)
    return parser


def training_options(parser: Parser) -> None:
    """Add the options of the training."""
    about = (
        "train the writer on the messages that won, and compare the trained writer with the untrained one; takes pocket or "
        "hf:MODEL as --llm\nsft: train on the best message about each case\ndpo: train on pairs of a better and a worse message"
    )
    add_option(parser, "--train METHOD", about, choices=("sft", "dpo"))
    add_training(parser, "cases", "wins", HELD_OUT)


def run(words: Sequence[str]) -> int:
    """Run `run.py study compete`."""
    options = parser().parse_args(words)
    from parley.llm.backends import check_spec, identity_spec
    from parley.studies.competition.writers import read_pitches

    writer, against, audience, judge = models_of(options)
    for spec in (writer, against, audience, judge):
        check_spec(spec)
    study = study_from_args(options, audience, judge)
    for competition in study.competitions:
        study.readers(competition)  # too few personas are an error before the first call
    check_options(options)
    given = read_pitches(options.messages, study.competitions) if options.messages else None
    planned = planned_calls(study, (options.shuffles or 1) if options.train else 0, given)
    if options.dry_run:
        return print_calls(planned, writer, against, audience, judge)
    written = {"messages": given[0]} if given else {"writer": identity_spec(writer), "rival": identity_spec(against)}
    identity = study.to_dict() | written
    folder = results_folder(options, "compete")
    training = writer_training(options, study, writer, folder) if options.train else None
    print_paths(folder=folder, calls=planned)
    spending = shared_budget(options, folder, *dict.fromkeys((writer, against, audience, judge)))
    about = identity | {"trained": options.train}
    with open_desk(options, folder / "competition.json", about, "competition", spending) as desk:
        return train(training, desk) if training else hold(study, (writer, against), given, desk)


def models_of(options: argparse.Namespace) -> tuple[str, str, str, str]:
    """Return the models of the writer, the rival, the audience and the judge."""
    *models, against, audience, judge = models_from_args(options, "against", "audience", "judge")
    writer = only_model(models)
    return writer, against or writer, audience or writer, judge


def study_from_args(options: argparse.Namespace, audience: str, judge: str) -> CompetitionStudy:
    """Return what is written about, chosen and judged. Errors: UserError for competitions with the same name."""
    from parley.studies.competition.contest import CompetitionStudy
    from parley.studies.competition.writers import NAMES, load_competition

    society = society_from_args(options)
    named = options.competition or NAMES
    competitions = tuple([load_competition(name, society.language.code) for name in named])
    names = [competition.name for competition in competitions]
    if twice := [name for name in names if names.count(name) > 1]:
        raise UserError(f"two competitions are called {twice[0]}: give each file another name")
    personas = society.qualified(options.personas)
    samples = options.samples or (TRAINING_SAMPLES if options.train else SAMPLES)
    shape = (personas, options.panel, samples, options.words, options.seed)
    return CompetitionStudy(competitions, audience, judge, *shape)


def planned_calls(study: CompetitionStudy, shuffles: int = 0, given: GivenMessages | None = None) -> str:
    """Return the number of calls of a contest, or of a training with so many shuffles, as text. given: messages of a file."""
    from parley.studies.competition.contest import paired

    if shuffles:
        pairs = len(study.keys) * study.samples * (study.samples - 1) * study.panel
        messages = len(study.keys) * study.samples * (shuffles + 2)
        return f"at most {messages:,} messages, {pairs + 2 * messages * study.panel:,} choices, and {shuffles + 1} trainings"
    probes = {(key.competition.name, key.case.name): len(key.competition.probes) for key in study.keys}
    known_verdicts = 2 * sum(len(key.case.planted) for key in study.keys)
    if given:
        pairs = len(paired(given.pitches, given.writers))
        verdicts = sum(probes[pitch.competition, pitch.case] for pitch in given.pitches)
        return f"at most {2 * pairs * study.panel:,} choices, at most {verdicts + known_verdicts:,} verdicts"
    messages = 2 * len(study.keys) * study.samples
    verdicts = 2 * study.samples * sum(probes.values()) + known_verdicts
    return f"{messages:,} messages, {messages * study.panel:,} choices, at most {verdicts:,} verdicts"


def check_options(options: argparse.Namespace) -> None:
    """Errors: UserError for a setting of the training without --train, and for rivals of a training."""
    check_train_only(options, (*NUMBERS, "shuffles", "held_out"))
    if options.train and (options.against or options.messages):
        name = "against" if options.against else "messages"
        raise UserError(f"with --train the rival is the untrained writer: leave out --{name}")


def writer_training(options: argparse.Namespace, study: CompetitionStudy, llm: str, folder: Path) -> WriterTraining:
    """Return the training that the options describe. Errors: UserError where a setting or the model does not allow it."""
    from parley.studies.competition.training import WriterTraining

    recipe, share, shuffles = training_from_args(options, "writer", options.train, HELD_OUT)
    training = WriterTraining(study, llm, recipe, folder, share, shuffles)
    training.base()
    return training


def train(training: WriterTraining, desk: CallDesk) -> int:
    """Train a writer on wins, and write the report."""
    from parley.studies.competition.training import write_training

    outcome = training.run(desk)
    wins = {
        name: sum(win.margin for win in writer_wins) / len(writer_wins) for name, writer_wins in outcome.wins.items()
    }
    facts = [
        f"{training.llm} was trained by {training.recipe.method.upper()} on "
        f"{len(next(iter(outcome.wins.values())))} wins; in {outcome.left_out} training cases no message won",
        "mean score of the winning message minus that of the other message, in logits: "
        + ", ".join(f"{name} {margin:.2f}" for name, margin in wins.items()),
    ]
    print(desk.tally.line)
    page = write_training(
        training.study, training.llm, outcome.contests, outcome.judged, outcome.scored, facts, desk.folder
    )
    print_paths(report=page, figure=desk.folder / "trained.png", adapters=desk.folder / "adapters")
    return 0


def hold(study: CompetitionStudy, specs: tuple[str, str], given: GivenMessages | None, desk: CallDesk) -> int:
    """Hold the contest of two models, or of given messages, and write its report."""
    from parley.studies.competition.contest import RIVAL, WRITER, hold_contest
    from parley.studies.competition.report import write_contest

    if given:
        (pitches, names), specs = given, ("", "")
    else:
        names = (WRITER, RIVAL)
        pitches = [pitch for name, spec in zip(names, specs, strict=True) for pitch in study.write(name, spec, desk)]
    judged = study.check_judge(desk)
    contest = hold_contest(study, pitches, names, desk)
    print(desk.tally.line)
    report, figure = write_contest(study, contest, judged, specs, desk.folder), desk.folder / "competition.png"
    print_paths(report=report, **({"figure": figure} if figure.exists() else {}))
    return 0
