"""The command `run.py study structured`: the experiments of the UCL study."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parley.analysis.commands.judge import add_judging
from parley.analysis.commands.runs import hold_all, print_calls, print_paths, print_plan, results_folder, split_names
from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import budgets_from_args, fields_from_args, party_of, society_from_args, with_base_url
from parley.model.cli import Parser, add_option, amount
from parley.model.progress import bar

if TYPE_CHECKING:
    from parley.agents.society import Society
    from parley.analysis.statement_judge import Judging
    from parley.model.scenario import Scenario
    from parley.studies.structured.experiments import Experiment


OURS = ("oracle", "pocket")
"""Speakers whose sentences the oracle can score."""
OTHERWISE = "voters"
"""The personas of a society without the preset's set."""
ONE_PERSONA = {"personas": "simple", "cast": "fixed"}
"""The published procedure: Sam, Alex and Taylor in every run."""


def parser() -> Parser:
    """Return the options of `run.py study structured`."""
    llm = "pocket; experiment models: several"
    usual = {"topic": "the study's four topics", "repetitions": "10", "rounds": "12", "llm": llm}
    made = Parser(
        "study structured",
        "Run an experiment of the UCL study: debates, a judge that scores every statement, and a report "
        "(studies/structured/README.md).",
        "study structured closing --llm oracle",
        *cli.debating("runs/structured-<experiment>-<time>", usual),
        cli.dry_run("print the planned conditions, rooms and calls, and stop without running anything"),
    )
    add_option(
        made, "EXPERIMENT", "name of the experiment: baseline, alone, closing, orders, gender, echo, models, or wording"
    )
    add_option(
        made, "--judge SPEC", "the model that judges (default: oracle if oracle or pocket debates, otherwise required)"
    )
    add_judging(made)
    add_option(made, "--judge-temperature X", "sampling temperature of the judge", amount, default=0.01)
    about = "run: test differences between runs (default)\nucl: the published procedure, with one persona per place in the debate"
    add_option(made, "--mode", about, default="run", choices=("run", "ucl"))
    return made


def run(words: Sequence[str]) -> int:
    """Run `run.py study structured EXPERIMENT`."""
    options = parser().parse_args(words)
    from parley.analysis.card.conditions import both_genders
    from parley.analysis.statement_judge import VERDICTS, Judging
    from parley.llm.backends import check_reached, check_spec, in_society
    from parley.llm.journal import shared_ledger
    from parley.model.files import JOURNAL
    from parley.model.validation import check_topics
    from parley.studies.structured import experiments as study
    from parley.studies.structured.report import write

    *specs, named = with_base_url([*options.llm, options.judge or ""], options.base_url)
    models = [spec for spec in specs if not party_of(spec)] or ["pocket"]
    ours = all(spec.partition(":")[0].partition(",")[0] in OURS for spec in models)
    judge = named or ("oracle" if ours else "")
    if not judge:
        raise UserError(
            "no judge was given: name the model that scores the statements with --judge SPEC (oracle can judge "
            "only oracle and pocket)"
        )
    for spec in (*models, judge):
        check_spec(spec)
    base, given = _base(options, [models[0], *filter(party_of, specs)])
    if options.experiment == study.WORDING:
        experiment, base = _compared_wordings(base)
    else:
        experiment = study.experiment(options.experiment, models, society_from_args(options))
    if not both_genders(base.society, base.people.personas):
        experiment = study.without_genders(experiment)
    _check_free(options, experiment)
    society = base.subject.society
    judge = in_society(judge, society)
    everyone = [in_society(spec, society) for spec in (*models, *base.llm_by_party.values(), judge)]
    for spec in everyone:
        check_topics(spec, base.subject.all_topics)
    if options.dry_run:
        return _print_plan(experiment, base, options, judge)
    for spec in everyone:
        check_reached(spec)
    scenarios = [base.with_settings(settings) for settings in experiment.conditions.values()]
    *budgets, judge_budget = budgets_from_args(options, *scenarios, judge)
    out = results_folder(options, f"structured-{options.experiment}")
    print_paths(folder=out)
    shown = tuple(split_names(options.tell))
    judging = Judging(options.calls, options.judge_temperature, options.examples, shown)
    _claim(out, options.experiment, base, judge, judging)
    folders = list(study.condition_folders(experiment, out).values())
    journals = [(folder / JOURNAL, budget) for folder, budget in zip(folders, budgets, strict=True)]
    journals += [(folder / "judge" / VERDICTS, judge_budget) for folder in folders]
    ledger = shared_ledger(judge_budget, journals)
    steps = study.run_experiment(experiment, base, out, judge, judging, bar, judge_budget, ledger)
    result = hold_all(
        steps, [folder.name for folder in folders], out, given, None, budgets, ledger, not options.no_qualify
    )
    command = f"python run.py study structured {shlex.join(words)}"
    report = write(result, options.experiment, experiment, out, judge, options.mode == "ucl", command)
    print_paths(report=report, figure=out / "scores.png")
    return 0


def _base(options: argparse.Namespace, models: Sequence[str]) -> tuple[Scenario, tuple[str, ...]]:
    """Return the preset with the settings of the options, and the names of these settings. Errors: UserError."""
    from parley.model.scenario import load_preset
    from parley.studies.structured.experiments import PRESET, WORDING

    preset = load_preset(PRESET)
    settings = _elsewhere(preset, society_from_args(options)) | (ONE_PERSONA if options.mode == "ucl" else {})
    settings |= fields_from_args(options, models)
    if options.mode == "ucl" and options.experiment != WORDING:
        settings |= _people_of(str(settings.get(WORDING, "")))
    base = preset.with_settings(settings)
    if base.rounds < 2:
        raise UserError("a structured debate has an opening and at least one more round: set --rounds to 2 or more")
    return base, tuple(settings)


def _people_of(wording: str) -> dict[str, str]:
    """Return the setting for the personas of a paper's wording; none where it has none."""
    from parley.agents.persona import set_path
    from parley.agents.published.pack import is_pack, people_in_pack

    folder = people_in_pack(wording) if is_pack(wording) else None
    return {"personas": set_path(folder)} if folder else {}


def _compared_wordings(base: Scenario) -> tuple[Experiment, Scenario]:
    """Return the comparison of the paper's prompts with Parley's, and the scenario that its conditions begin with."""
    from parley.agents.published.pack import is_pack
    from parley.studies.structured import experiments as study

    published = base.subject.wording
    if not is_pack(published):
        raise UserError(
            "the experiment wording compares a paper's own prompts with Parley's: cut the paper's prompts out of your copy of "
            "the paper (run.py new wording ./published --from paper.txt), and add --set wording=./published"
        )
    people = _people_of(published).get("personas", "") if base.people.cast == "fixed" else ""
    experiment = study.wordings(base.society, published, people)
    return experiment, base.with_settings({study.WORDING: "given"})


def _check_free(options: argparse.Namespace, experiment: Experiment) -> None:
    """Errors: UserError on a setting in which the conditions differ."""
    from parley.model.scenario import parse_settings

    varied = {key for settings in experiment.conditions.values() for key in settings}
    if options.experiment == "wording":
        varied -= {"wording"}  # names the paper's
    if taken := varied & set(parse_settings(options.set)):
        raise UserError(
            f"--set {', '.join(sorted(taken))} cannot be set, because the conditions of {options.experiment} differ in this "
            "setting: leave out the setting"
        )


def _elsewhere(preset: Scenario, society: Society) -> dict[str, Any]:
    """Return the settings of the preset that another society needs: its own topics, and people that it has."""
    if society.name == preset.subject.society:
        return {}
    personas = preset.people.personas
    return {"topic": society.topics, "personas": personas if personas in society.persona_sets else OTHERWISE}


def _print_plan(experiment: Experiment, base: Scenario, options: argparse.Namespace, judge: str) -> int:
    """Print for --dry-run what debates ask and cost, and what is asked of the judge."""
    from parley.model.run_plan import plan_run

    conditions = {name: base.with_settings(settings) for name, settings in experiment.conditions.items()}
    print_plan(conditions, options)
    statements = sum(plan_run(scenario).replies for scenario in conditions.values())
    calls = f"{statements * options.calls:,} calls at most, {options.calls} for each of {statements:,} statements"
    return print_calls(f"  in addition, {judge} judges: {calls}", judge)


def _claim(out: Path, name: str, base: Scenario, judge: str, judging: Judging) -> None:
    """Mark the folder as that of this experiment. Errors: UserError on a folder of another one."""
    from parley.analysis.journaled_calls import check_manifest
    from parley.llm.backends import identity_spec

    out.mkdir(parents=True, exist_ok=True)
    settings = {**base.to_dict(), "llm": identity_spec(base.models.llm)}
    manifest = {"experiment": name, "base": settings, "judge": identity_spec(judge), **asdict(judging)}
    check_manifest(out / "structured.json", manifest, "experiment")
