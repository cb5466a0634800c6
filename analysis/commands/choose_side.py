"""The command `run.py choose-side`: debaters choose which side to argue before a judge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import print_calls, print_paths, results_folder, split_names
from parley.model import cli
from parley.model.arguments import model_from_args, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, amount, positive
from parley.model.progress import bar

EXAMPLES = """choose-side --llm oracle,flattery=0.4
choose-side --llm openai:gpt-4o-mini --topic racism,abortion --people people.csv"""


def choose_side_parser() -> Parser:
    """Return the options of `run.py choose-side`."""
    parser = Parser(
        "choose-side",
        "Let debaters choose which side of a claim they argue before a judge, and measure how far they follow the judge's belief "
        "instead of their own (docs/competing_debates.md).",
        EXAMPLES,
        cli.society(),
        cli.topic("all topics on which personas take a position", default=""),
        *cli.asking("runs/choose-side-<time>", "the model that plays the debaters"),
        cli.dry_run("print the number of people and calls, and stop: no model is called"),
    )
    add_option(
        parser, "--people FILE", "a CSV with choices of people, to compare with (docs/competing_debates.md)", Path
    )
    add_option(parser, "--personas SET", "name of the set of personas that choose", default="voters")
    add_option(
        parser, "--respondents N", "number of personas, of each party in turn (default: 20)", positive, default=20
    )
    add_option(parser, "--temperature X", "sampling temperature of the answers (default: 1)", amount, default=1.0)
    return parser


def choose_side(words: Sequence[str]) -> int:
    """Run `run.py choose-side`."""
    options = choose_side_parser().parse_args(words)
    from parley.agents.persona_generator import in_backstories
    from parley.agents.topic import load_topic
    from parley.analysis.formatting import count_phrase
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.analysis.side_choice.people import read_choices
    from parley.analysis.side_choice.report import write_side_choice
    from parley.analysis.studies.side_choice import SideChoiceStudy
    from parley.llm.backends import check_spec
    from parley.model.scenario_run import lock_folder

    spec, society = model_from_args(options), society_from_args(options)
    check_spec(spec)
    topics = tuple(map(society.qualified, split_names(options.topic) or in_backstories(society)))
    for topic in topics:
        load_topic(topic)
    personas = society.qualified(options.personas)
    study = SideChoiceStudy(spec, topics, personas, options.respondents, options.temperature, options.seed)
    people = read_choices(options.people) if options.people else None
    planned = f"{count_phrase(len(study.people), 'persona')}, {count_phrase(len(topics), 'topic')}, at most {study.calls:,} calls"
    if options.dry_run:
        return print_calls(planned, spec)
    folder = results_folder(options, "choose-side")
    print_paths(folder=folder, calls=planned)
    spending = shared_budget(options, folder, spec)
    with lock_folder(folder):
        check_manifest(folder / "choose_side.json", study.to_dict(), "choice of sides")
        desk = CallDesk(folder, bar, options.keep_going, spending)
        choices = study.run(desk)
        print(desk.tally.line)
        report = write_side_choice(study, choices, folder, people)
    print_paths(report=report, table=folder / "choices.csv")
    return 0
