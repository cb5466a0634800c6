"""The command `run.py study search`: look for the best intervention within a budget, and test it on new rooms."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.runs import print_paths, results_folder
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, fields_from_args, prices_from_args
from parley.model.cli import Parser, add_option, natural, positive

from .methods import METHODS, TPE

if TYPE_CHECKING:
    from parley.model.scenario import Scenario

    from .searching import Plan
    from .space import Space

EXAMPLES = """study search messages --llm oracle --trials 8 --rooms 5 --new-rooms 10
study search space.toml --llm openai:MODEL --trials 20 --max-cost 5
study search audiences --llm oracle --rooms 5 --new-rooms 10
study search refutations --llm oracle --dry-run"""


def parser() -> Parser:
    """Return the options of `run.py study search`."""
    options = Parser(
        "study search",
        "Try many interventions, or many audiences of one intervention, in equal rooms, and find the setting that changes an "
        "outcome most. Then test the best setting in new rooms of new people, against no intervention and against a random "
        "choice (studies/search/README.md).",
        EXAMPLES,
        cli.society(),
        cli.topic("the values in the space, or in the scenario of the space"),
        cli.rounds("the values in the space, or in the scenario of the space"),
        cli.settings(),
        cli.model("the model that speaks", parties=True),
        cli.budget(),
        cli.seed(None),
        cli.out("runs/search-<time>"),
        cli.dry_run("print the planned runs, calls, tokens and cost, and stop without running anything"),
    )
    about = "the interventions to try: messages, refutations or audiences (Parley's own), or a .toml file of your own"
    add_option(options, "SPACE", about, nargs="?", default="messages")
    add_option(options, "--trials N", "number of settings that each method tries", positive, 20)
    add_option(options, "--rooms N", "number of repetitions with which each setting is tried", positive, 6)
    add_option(
        options, "--new-rooms N", "number of new repetitions with which the best setting is tested", positive, 12
    )
    add_option(options, "--runners N", "number of settings next after the best that are also tested", natural, 2)
    method = (
        "how settings are chosen; every method is compared with random settings\n"
        "tpe: learns where good settings are (needs the package optuna)\n"
        "nsga2: looks for settings that are cheap and good (needs optuna)\n"
        "random: draws settings at random"
    )
    add_option(options, "--method NAME", method, default=TPE, choices=METHODS)
    add_option(options, "--no-qualify", cli.NO_QUALIFY, action="store_true")
    return options


def run(words: Sequence[str]) -> int:
    """Run `run.py study search`. Errors: UserError, also where a budget is spent; what was asked is kept."""
    options = parser().parse_args(words)
    from parley.model.scenario_run import lock_folder

    from .bench import Bench, outcome_of
    from .optimiser import version_of
    from .report import NAME, write_search
    from .searching import Search
    from .space import load_space

    space = load_space(options.space)
    base, given = base_from_args(options, space)
    outcome = outcome_of(space.objective, base)
    plan, version = make_plan(options, space, base), version_of(options.method)
    voices = voices_of(plan)
    if options.dry_run:
        return print_planned(plan, options)
    folder, (budget,) = results_folder(options, "search"), budgets_from_args(options, base)
    print_paths(folder=folder)
    with lock_folder(folder):
        label_folder(folder / f"{NAME}.json", plan, version, options.runners)
        bench = Bench(folder, outcome, given, budget, voices, not options.no_qualify)
        page = write_search(Search(plan, bench).run(), outcome, folder)
    figure = folder / f"{NAME}.png"
    print_paths(report=page, **({"figure": figure} if figure.exists() else {}))
    return 0


def base_from_args(options: argparse.Namespace, space: Space) -> tuple[Scenario, tuple[str, ...]]:
    """Return the scenario of a space with the settings of the command line, and the names of all fields that are set.

    Errors: UserError for an intervention that does not fit, a scenario without a survey, and models that do not know a topic.
    """
    from parley.llm.backends import check_spec
    from parley.model.model_shares import called_models
    from parley.model.scenario import load_preset
    from parley.model.validation import check_topics, topics_to_know

    from .bench import with_new_people, with_people_for_all

    fields = {**space.settings, **fields_from_args(options)}
    for name in ("repetitions", "interventions"):
        if name in fields:
            raise UserError(f"--set {name}: the search sets it: give --rooms and --new-rooms, or change the space")
    if both := sorted(fields.keys() & space.audience.keys()):
        raise UserError(f"--set {both[0]}: the space varies {both[0]}: remove {both[0]} from its [audience]")
    total = options.rooms + options.new_rooms
    base = load_preset(space.scenario, {**fields, "repetitions": total, "interventions": ()})
    if base.surveys.survey == "never":
        raise UserError("the outcome is a rating, and this scenario has no survey: set survey=rounds or survey=ends")
    for setting in space.corners():
        shown = base.with_settings(
            {"interventions": (space.intervention(setting),), **dict(space.audience_of(setting))}
        )
        for spec in called_models(shown):
            check_spec(spec)
            check_topics(spec, topics_to_know(shown))
    if not space.audience:
        return with_new_people(base), (*fields, "repetitions", "interventions", "cast")
    base = with_people_for_all(base, space.audiences)
    for audience in space.audiences:
        base.with_settings(dict(audience))
    return base, (*fields, *space.audience, "repetitions", "interventions", "cast", "block")


def make_plan(options: argparse.Namespace, space: Space, base: Scenario) -> Plan:
    """Return what is searched, and how much of it. Errors: UserError where every setting costs too much."""
    from .bench import Rooms
    from .optimiser import first_settings
    from .searching import Plan

    rooms = Rooms(base, options.rooms, options.new_rooms)
    plan = Plan(space, rooms, options.method, options.trials, options.runners, base.seed)
    costs = [plan.cost(setting) for setting in first_settings(space, base.seed, options.trials)]
    if min(costs) > space.objective.most_cost:
        raise UserError(f"objective: every setting costs more than {space.objective.most_cost:g}: raise most_cost")
    return plan


def voices_of(plan: Plan) -> dict[str, str]:
    """Return every model of the scenario and of its interventions, by voice; the first one under ""."""
    voices = {"": plan.rooms.base.models.llm}
    for setting in plan.space.corners():
        rooms = plan.rooms.of(plan.space.audience_of(setting))
        voices |= rooms.with_setting(plan.space, setting).llm_by_party
    return voices


def label_folder(path: Path, plan: Plan, version: str, runners: int) -> None:
    """Write what the folder is for, or check that it is the same search. Errors: UserError."""
    import json

    from parley.analysis.journaled_calls import check_manifest
    from parley.model.run_folder import scenario_fields

    about: dict[str, Any] = {
        "space": plan.space.to_dict(), "scenario": scenario_fields(plan.rooms.all), "method": plan.method, "optuna": version,
        "trials": plan.trials, "rooms": plan.rooms.searched, "new_rooms": plan.rooms.new, "runners": runners,
    }  # fmt: skip
    check_manifest(path, json.loads(json.dumps(about, default=str)), "search")


def print_planned(plan: Plan, options: argparse.Namespace) -> int:
    """Print for --dry-run the most runs, rooms and calls, and the tokens and cost of all; return 0."""
    from parley.analysis.qualify.before_run import planned_checks
    from parley.model.cost_estimate import estimate_cost
    from parley.model.run_plan import plan_run

    largest = max(plan.space.audiences, key=lambda audience: plan.rooms.of(audience).size)
    rooms, (searched, new) = plan.rooms.of(largest), plan.most_runs
    first = plan_run(rooms.first)
    later = plan_run(rooms.base.with_settings({"repetitions": rooms.new, "interventions": ()}))
    size = f"{plan.space.size:,.0f}" if plan.space.size < float("inf") else "any number of"
    print(f"space    {size} settings of {len(plan.space.options)} interventions")
    if plan.space.audience:
        print(f"         before {len(plan.space.audiences)} audiences; calls are those of the largest")
    print(f"search   at most {searched} runs of {first.rooms:,} rooms, {first.calls:,} calls each")
    print(f"test     at most {new} runs of {later.rooms:,} new rooms, {later.calls:,} calls each")
    print(
        f"in all   at most {searched * first.calls + new * later.calls:,} calls; rounds before an intervention are run once"
    )
    prices = [prices_from_args(options, scenario) for scenario in (rooms.first, rooms.all)]
    checks = planned_checks([rooms.first], options.no_qualify)
    print("\n".join(estimate_cost([(first, searched), (later, new)], prices, checks)))
    return 0
