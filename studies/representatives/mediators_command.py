"""The command `run.py study mediators`: whom mediators suit, and what the order of opinions changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from parley.analysis.commands.runs import EPISODES, print_paths, results_folder
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget
from parley.model.cli import Parser, add_option, natural, positive
from parley.model.progress import bar

EXAMPLES = """study mediators runs/known/episodes.jsonl --mediator draft_revise --mediator majority --llm oracle
study mediators runs/consensus --mediator habermas,candidates=4 --llm openai:gpt-4o-mini --judge openai:gpt-4o"""
USUAL = ["draft_revise", "majority", "random_opinion"]


def mediators_parser() -> Parser:
    """Return the options of `run.py study mediators`."""
    parser = Parser(
        "study mediators",
        "Let mediators write drafts from recorded opinions, in several orders, and measure which side the drafts suit and what "
        "the order of opinions changes (studies/representatives/README.md).",
        EXAMPLES,
        *cli.asking("runs/mediators-<time>", "the model that the mediators use", "oracle"),
    )
    add_option(parser, "EPISODES", EPISODES, Path, nargs="+")
    about = f"a mediator with its options; repeat --mediator to compare several (default: {', '.join(USUAL)})"
    add_option(parser, "--mediator NAME[,key=value]", about, action="append")
    add_option(parser, "--judge SPEC", "the model that says how far members agree with a draft", default="oracle")
    about = "how a draft is scored for a member: judge (1 to 7), ranking or trained:FOLDER (docs/deliberation.md)"
    add_option(parser, "--payoff NAME", about, default="judge")
    add_option(parser, "--orders N", "number of orders of the opinions, at most one for each member", positive, 5)
    add_option(parser, "--draws N", "number of drafts from each order, each with another random seed", positive, 2)
    add_option(parser, "--limit N", "maximum number of episodes (default: all)", natural)
    return parser


def mediators(words: Sequence[str]) -> int:
    """Run `run.py study mediators`."""
    options = mediators_parser().parse_args(words)
    from parley.analysis.deliberation.episode_readers import read_all
    from parley.analysis.journaled_calls import CallDesk
    from parley.studies.representatives.fairness_study import FairnessStudy, run_fairness

    *specs, judge = models_from_args(options, "judge")
    llm, names = only_model(specs, "oracle"), tuple(dict.fromkeys(options.mediator or USUAL))
    study_options = {name: getattr(options, name) for name in ("payoff", "orders", "draws", "seed")}
    study, folder = FairnessStudy(names, llm, judge, **study_options), results_folder(options, "mediators")
    episodes = read_all(options.episodes)[: options.limit]
    print_paths(folder=folder)
    desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, llm, judge))
    page = run_fairness(episodes, study, desk)
    if desk.tally.line:
        print(desk.tally.line)
    print_paths(report=page)
    return 0
