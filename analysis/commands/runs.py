"""What the commands share: the folder of their results, the runs of a study, and the lines that say where the files are."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from parley.llm.errors import UserError
from parley.model import cli
from parley.model.arguments import (
    budgets_from_args,
    model_from_args,
    prices_from_args,
    scenario_from_args,
    shared_budget,
    study_budgets,
)
from parley.model.cli import Parser, add_option, positive
from parley.model.progress import Progress, bar, summary_line

if TYPE_CHECKING:
    from parley.analysis.journaled_calls import CallDesk
    from parley.analysis.judging import Judge, Rubric
    from parley.analysis.tables import Tables
    from parley.llm.budget import Budget, Ledger, SharedBudget
    from parley.llm.request import Backend
    from parley.model.scenario import Scenario

PLANNED = "print the planned conditions, rooms, calls, tokens and cost, and stop without running anything"
EPISODES = (
    "recorded deliberations (docs/deliberation.md): .jsonl files of episodes, run folders, a folder "
    "of the public Habermas Machine data, or the two small .json files of these data"
)
"""What may be given where a command reads episodes."""
Answers = TypeVar("Answers", covariant=True)


FINDINGS = 2
"""Sentences of a report that a command prints at its end: whether the model plays people, or who moved, and the next one."""


def print_paths(**paths: object) -> None:
    """Print one line for each path, after what it is: `report   runs/a/bets.md`. What a report found comes first."""
    found = paths.get("summary") or paths.get("report")
    if isinstance(found, Path) and found.suffix == ".md":
        from parley.analysis.result_folders import read_cautions, read_findings, read_headline

        findings = read_findings(found)[:FINDINGS] or list(filter(None, [read_headline(found)[1]]))
        cautions = [line for line in read_cautions(found) if line not in findings]
        for kind, lines in (("finding", findings), ("caution", cautions)):
            for line in lines:
                print(f"{kind}  {line}")
    for name, path in paths.items():
        print(f"{name:<8} {path}", flush=True)


def results_folder(options: argparse.Namespace, name: str) -> Path:
    """Return the folder of --out, or a new one: runs/<name>-<time>."""
    return options.out or Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"


def judge_from_args(options: argparse.Namespace, tables: Tables, name: str) -> tuple[Path, str, Budget]:
    """Return the folder of a judge's verdicts on a run (RUN/name, or --out), the judge of --llm, and its budget.

    Errors: UserError without a model, and for limits that do not fit.
    """
    spec = model_from_args(options, society=tables.society.name)
    (budget,) = budgets_from_args(options, spec)
    return options.out or options.run / name, spec, budget


def split_names(text: str) -> list[str]:
    """Return the names of a list with commas, each once: `a, b, a` is a and b."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def hold_all(
    study: Generator[Scenario, Tables, Any],
    names: Sequence[str],
    out: Path,
    given: tuple[str, ...],
    backend: Backend | None = None,
    budgets: Sequence[Budget] = (),
    ledger: Ledger | None = None,
    qualify: bool = False,
) -> Any:
    """Run the scenarios of a study one after the other, each in a folder of its own, and return what the study returns.

    names: the folders in `out`. backend: one for all scenarios; each run then begins with the replies of the run before it.
    budgets: one for each run, with the prices of its models. ledger: what all runs have spent together. qualify: check each new
    model before its first run, and ask all runs in the way that serves the model of the first one (docs/models.md).
    Errors: UserError when the budget is spent; the journals keep all replies.
    """
    from parley.analysis.qualify.before_run import qualified_run
    from parley.analysis.tables import load
    from parley.llm.budget import NO_LIMIT
    from parley.model.scenario_run import RunSpec, run_scenario

    scenario, start, way = next(study), None, None
    try:
        for place, (name, budget) in enumerate(zip(names, budgets or [NO_LIMIT] * len(names), strict=True), 1):
            folder = out / name
            task, opened = RunSpec(scenario, folder, given, budget, ledger=ledger, start=start), backend
            if qualify:
                task, opened = qualified_run(task, bar, backend, way)
                scenario, way = task.scenario, task.scenario.surveys.asked
            with Progress(scenario, f"{name} ({place} of {len(names)})") as progress:
                outcome = run_scenario(task, progress.calls, progress.step, opened)
                print(summary_line(scenario, folder, outcome))
            if outcome.stopped:
                raise UserError(outcome.stopped)
            start = folder if backend else None
            scenario = study.send(load(folder))
    except StopIteration as done:
        return done.value
    raise RuntimeError("the study wants more runs than it has names for")


def run_study(
    options: argparse.Namespace,
    base: Scenario,
    given: tuple[str, ...],
    study: Generator[Scenario, Tables, Any],
    names: Sequence[str],
    folder: Path,
) -> Any:
    """Run a study whose scenarios all use the models of `base`, within the limits of the options; return its result."""
    budgets, ledger = study_budgets(options, [base] * len(names), folder, names)
    print_paths(folder=folder)
    return hold_all(study, names, folder, given, None, budgets, ledger, not options.no_qualify)


def run_continued(
    options: argparse.Namespace,
    base: Scenario,
    given: tuple[str, ...],
    study: Generator[Scenario, Tables, Any],
    names: Sequence[str],
    folder: Path,
    budget: Budget,
    judged: Sequence[tuple[Path, Budget]] = (),
) -> tuple[Any, Ledger | None]:
    """Run a study whose scenarios all use the models of `base`, each with the replies of the one before it.

    Return its result, and the ledger of all calls. judged: journals of judges, which count too.
    """
    from parley.llm.journal import shared_ledger
    from parley.llm.router import open_all
    from parley.model.files import JOURNAL

    last = [path for name in names if (path := folder / name / JOURNAL).exists()][-1:]
    ledger = shared_ledger(budget, [*((path, budget) for path in last), *judged])
    models, budgets = open_all(base.models.llm, base.llm_by_party), [budget] * len(names)
    return hold_all(study, names, folder, given, models, budgets, ledger, not options.no_qualify), ledger


@contextmanager
def judged_runs(
    options: argparse.Namespace,
    base: Scenario,
    given: tuple[str, ...],
    study: Generator[Scenario, Tables, Any],
    names: Sequence[str],
    folder: Path,
    judge: str,
    rubric: Rubric,
    of: str = "judge",
) -> Iterator[tuple[Any, Judge]]:
    """Run a study by `run_continued`; give its result and the judge of its lines. of: the judge's folder in `folder`."""
    from parley.analysis.judging import VERDICTS, open_judge

    budget, limit = budgets_from_args(options, base, judge)
    print_paths(folder=folder)
    judged = [(folder / of / VERDICTS, limit)]
    runs, ledger = run_continued(options, base, given, study, names, folder, budget, judged)
    with open_judge(rubric, judge, folder / of, bar, {"seed": base.seed}, limit, ledger) as opened:
        yield runs, opened


def conditions_parser(command: str, description: str, page: str = "docs/presets.md", preset: str = "") -> Parser:
    """Return the parser of a study that runs one preset in several conditions.

    page: where the command is explained. preset: in the example, of a command that is given one.
    """
    example = " ".join(filter(None, ("study", command, preset, "--llm oracle --repetitions 2")))
    parents = (*cli.debating(f"runs/{command}-<time>"), cli.dry_run(PLANNED))
    return Parser(f"study {command}", f"{description} See {page}.", example, *parents)


def run_conditions(
    options: argparse.Namespace,
    command: str,
    preset: str,
    conditions: Callable[[Scenario], Mapping[str, Mapping[str, Any]]],
    write: Callable[[dict[str, Tables], Path], Path],
    judge: str = "",
) -> int:
    """Run a preset once in each condition, each in a folder named after it, and write the report.

    conditions: returns the settings of each condition by its name, given the preset's scenario. judge: as for `print_plan`.
    """
    base, given = scenario_from_args(options, preset)
    settings, folder = conditions(base), results_folder(options, command)
    if options.dry_run:
        return print_plan(
            {name: base.with_settings(condition_settings) for name, condition_settings in settings.items()},
            options,
            judge,
        )
    names = [name.replace(", ", "_").replace(" ", "_") for name in settings]
    tables = run_study(options, base, given, each_condition(base, settings), names, folder)
    print_paths(report=write(tables, folder))
    return 0


def print_plan(conditions: Mapping[str, Scenario], options: argparse.Namespace, judge: str = "") -> int:
    """Print for --dry-run the rooms and calls of each condition, and the tokens, cost and time of all; return 0.

    judge: the model that reads what was said, whose calls are not among them.
    """
    from parley.analysis.formatting import count_phrase
    from parley.analysis.qualify.before_run import planned_checks
    from parley.model.cost_estimate import estimate_cost
    from parley.model.run_plan import plan_run

    plans = {name: plan_run(scenario) for name, scenario in conditions.items()}
    width, total = max(28, *map(len, plans)), sum(plan.calls for plan in plans.values())
    for name, plan in plans.items():
        print(f"{name:<{width}} {count_phrase(plan.rooms, 'room'):>12} {plan.calls:>10,} calls")
    rooms = count_phrase(sum(plan.rooms for plan in plans.values()), "room")
    print(f"{'in all':<{width}} {rooms:>12} {total:>10,} calls")
    prices = [prices_from_args(options, scenario) for scenario in conditions.values()]
    checks = planned_checks(list(conditions.values()), getattr(options, "no_qualify", True))
    print("\n".join(estimate_cost([(plan, 1) for plan in plans.values()], prices, checks)))
    if judge:
        print_calls(
            f"  in addition, {judge} judges the statements; this plan does not include the calls, tokens and "
            f"cost of {judge}",
            judge,
        )
    return 0


def print_calls(planned: str, *specs: str) -> int:
    """Print for --dry-run the planned calls, and the servers of these models with the names of their keys; return 0."""
    from parley.llm.backends import server_lines

    print("\n".join([planned, *server_lines(filter(None, specs))]))
    return 0


def each_condition(
    base: Scenario, conditions: Mapping[str, Mapping[str, Any]]
) -> Generator[Scenario, Tables, dict[str, Tables]]:
    """Yield the scenario of each condition, receive its tables, and return them by condition."""
    tables = {}
    for name, settings in conditions.items():
        tables[name] = yield base.with_settings(settings)
    return tables


@contextmanager
def open_desk(
    options: argparse.Namespace, manifest: Path, about: Mapping[str, Any], kind: str, spending: SharedBudget
) -> Iterator[CallDesk]:
    """Give the desk of calls outside of debates, in the folder of a manifest, which is locked meanwhile.

    about: what the manifest says. kind: what the folder holds, for the message about a folder of something else.
    """
    from parley.analysis.journaled_calls import CallDesk, check_manifest
    from parley.model.scenario_run import lock_folder

    with lock_folder(manifest.parent):
        check_manifest(manifest, about, kind)
        yield CallDesk(manifest.parent, bar, options.keep_going, spending)


class Questions(Protocol[Answers]):
    """A study that asks a model outside of debates."""

    @property
    def llm(self) -> str:
        """The model that is asked."""

    def to_dict(self) -> dict[str, Any]:
        """Return what identifies the study on any machine."""

    def run(self, desk: CallDesk) -> Answers:
        """Ask all questions. Errors: Unreadable, BudgetSpent."""


def ask_questions(
    options: argparse.Namespace,
    name: str,
    study: Questions[Answers],
    planned: str,
    kind: str,
    write: Callable[[Answers, Path], Path],
) -> int:
    """Ask all questions of a study in the folder of --out, and write its report; with --dry-run only print what is planned.

    name: of the command, its manifest and its figure. planned: the number of questions and calls. kind: what the folder holds,
    for the message about a folder of something else. write: writes the report into the folder, and returns its path.
    """
    if options.dry_run:
        return print_calls(planned, study.llm)
    folder, stem = results_folder(options, name), name.replace("-", "_")
    spending = shared_budget(options, folder, study.llm)
    print_paths(folder=folder, calls=planned)
    with open_desk(options, folder / f"{stem}.json", study.to_dict(), kind, spending) as desk:
        answers = study.run(desk)
        print(desk.tally.line)
        report, figure = write(answers, folder), folder / f"{stem}.png"
    print_paths(report=report, **({"figure": figure} if figure.exists() else {}))
    return 0


def add_people(parser: Parser, count: str, usual: int | None = None) -> None:
    """Add the options that say which personas answer. count: the option with their number; usual: its default (None: all)."""
    add_option(parser, "--personas SET", "name of the set of personas that answer", default="voters")
    about = f"number of personas, taken from each party in turn{'' if usual else ' (default: all personas of the set)'}"
    add_option(parser, f"--{count} N", about, positive, usual)
