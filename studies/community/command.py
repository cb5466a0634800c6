"""The command `run.py study community`: posts of a community before and after a change of its rules."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parley.analysis.commands.runs import print_calls, print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import models_from_args, only_model, shared_budget, society_from_args
from parley.model.cli import Parser, add_option, amount, natural, positive
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk

    from .report import CommunityOutcome
    from .rooms import CommunityStudy

EXAMPLES = """study community garden --llm oracle,obeys=0.5 --judge oracle
study community patients --before insult --after insult,dosage --llm openai:gpt-4o-mini --judge openai:gpt-4o
study community own.toml --llm openai:gpt-4o-mini --judge openai:gpt-4o --data posts.csv
study community garden --llm oracle,provokes=0.4 --judge oracle --what-if 'You are all idiots.'"""
ALL, NO_RULES = "all", "none"


def parser() -> Parser:
    """Return the options of `run.py study community`."""
    options = Parser(
        "study community",
        "Let people write posts and replies in an online community before and after a change of its rules, and let a judge "
        "say which posts break a rule (studies/community/README.md).",
        EXAMPLES,
        cli.society(),
        *cli.asking("runs/community-<time>", "the model that plays the members"),
        cli.dry_run("print the largest number of calls, and stop without calling a model"),
    )
    add_option(
        options,
        "COMMUNITY",
        "the community: garden or patients (Parley's own), or a .toml file of your own",
        nargs="?",
        default="garden",
    )
    add_option(options, "--judge SPEC", "the model that judges posts", required=True)
    about = "names of the rules that members read before the change, separated by commas; or all, or none"
    add_option(options, "--before RULES", about, default=NO_RULES)
    add_option(options, "--after RULES", "rules that members read after the change", default=ALL)
    add_option(
        options,
        "--rooms N",
        "number of rooms; the seed draws the people and the topics of each room",
        positive,
        default=20,
    )
    add_option(options, "--threads N", "number of threads in a room", positive, default=2)
    add_option(options, "--people N", "number of members in a room", positive, default=5)
    add_option(
        options, "--members N", "number of members that the model adds to the members of the file", natural, default=0
    )
    add_option(options, "--words N", "maximum number of words of a post", positive, default=40)
    add_option(options, "--temperature X", "sampling temperature of posts (default: 1)", amount, default=1.0)
    about = (
        "an answer to one post, whose effect is measured: the thread is continued many times with the "
        "answer and without the answer, under the rules after the change"
    )
    add_option(options, "--what-if TEXT", about)
    add_option(options, "--by NAME", "with --what-if: the member of the room who answers (default: the first)")
    add_option(
        options,
        "--continuations N",
        "with --what-if: number of continuations with the answer, and of continuations without the answer",
        positive,
        default=20,
    )
    about = "posts of people (CSV or .jsonl with the column text): can the judge distinguish these posts from the model's posts?"
    add_option(options, "--data FILE", about, Path)
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study community`."""
    options = parser().parse_args(words)
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.llm.backends import check_spec
    from parley.model.scenario_run import lock_folder

    from .measures import read_posts
    from .report import write_community

    *models, judge = models_from_args(options, "judge")
    llm = only_model(models)
    for spec in (llm, judge):
        check_spec(spec)
    study = study_from_args(options)
    if options.by and not options.what_if:
        raise UserError("--by only works with --what-if: add --what-if TEXT, or leave out --by")
    real = read_posts(options.data) if options.data else []
    planned = planned_calls(study, options)
    if options.dry_run:
        return print_calls(planned, llm, judge)
    folder = results_folder(options, "community")
    print_paths(folder=folder, calls=planned)
    desk = CallDesk(folder, bar, options.keep_going, shared_budget(options, folder, *dict.fromkeys((llm, judge))))
    with lock_folder(folder):
        run_options = {
            "what_if": options.what_if,
            "by": options.by,
            "continuations": options.continuations,
            "data": real,
        }
        check_manifest(folder / "community.json", study.to_dict(llm, judge) | run_options, "community")
        outcome = hold(study, options, (llm, judge), real, desk)
        print(desk.tally.line)
        page = write_community(study, outcome, (llm, judge), options.what_if or "", folder)
    print_paths(report=page, figure=folder / "community.png")
    return 0


def study_from_args(options: argparse.Namespace) -> CommunityStudy:
    """Return the community and its two sets of rules. Errors: UserError for what does not fit."""
    from .members import load_community
    from .rooms import CommunityStudy

    community = load_community(options.community, society_from_args(options).language.code)
    every = tuple(rule.name for rule in community.rules)

    def named(text: str) -> tuple[str, ...]:
        if text in (ALL, NO_RULES):
            return every if text == ALL else ()
        return tuple(rule.name for rule in community.rules_of([name.strip() for name in text.split(",")]))

    shape = {
        name: getattr(options, name)
        for name in ("rooms", "threads", "people", "members", "words", "temperature", "seed")
    }
    study = CommunityStudy(community, named(options.before), named(options.after), **shape)
    study.check()
    return study


def planned_calls(study: CommunityStudy, options: argparse.Namespace) -> str:
    """Return the largest number of calls, as text."""
    threads, rules = 3 * study.rooms * study.threads, len(study.community.rules)
    posts, others = threads * study.people, study.people - 2
    again = 2 * options.continuations * others if options.what_if else 0
    known_verdicts = 2 * rules * len(study.community.topics)
    choices = threads * (study.people - 1) + again
    return (
        f"{study.members:,} members, at most {posts + again:,} posts, {choices:,} choices, "
        f"{(posts + again) * rules + known_verdicts:,} verdicts"
    )


def hold(
    study: CommunityStudy, options: argparse.Namespace, specs: tuple[str, str], real: Sequence[str], desk: CallDesk
) -> CommunityOutcome:
    """Ask for everything that the report needs: the judge's quality first, then members, posts, verdicts."""
    from .measures import ask_origin, draw_pairs
    from .report import CommunityOutcome
    from .rooms import AFTER, WhatIf

    llm, judge = specs
    judged = study.check_judge(judge, desk)
    people, lost = study.write_members(llm, desk)
    if len(people) < study.people:
        raise UserError(
            f"only {len(people)} members could be read, and --people is {study.people}: set a smaller --people"
        )
    rooms = study.draw_rooms(people)
    what_if = WhatIf(options.what_if or "", options.by or "", options.continuations)
    if options.what_if:
        study.check_what_if(rooms, what_if)
    posts = study.write(rooms, llm, desk)
    outcome = CommunityOutcome(len(people), lost, posts, study.judge_posts(posts, judge, desk), judged)
    if options.what_if:
        post, by, replies = study.continue_post(posts, rooms, what_if, llm, desk)
        outcome = outcome._replace(continued=(post, by, replies, study.judge_posts(replies, judge, desk)))
    if real:
        generated = [post.text for post in posts if post.condition == AFTER and post.text]
        pairs = draw_pairs(real, generated, study.seed)
        outcome = outcome._replace(origins=ask_origin(pairs, study.community.language, judge, study.seed, desk))
    return outcome
