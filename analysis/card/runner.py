"""Holds what a battery wants, a condition after the other, as far as the budget goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from parley.analysis.card.conditions import Batch
from parley.analysis.card.interviews import BatchInterviews, InterviewBench
from parley.analysis.card.protocol import ProtocolStep, Sections, run_protocol
from parley.analysis.card.records import ConditionRecords
from parley.analysis.tables import load
from parley.llm.backends import open_spec, split_spec
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.request import Backend
from parley.llm.router import RoutedBackend
from parley.model.progress import Progress, summary_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RECORD, RunSpec, is_complete, run_scenario


def run_conditions(
    first: Batch, chosen: Sections, batches: int, tight: float | None, bench: InterviewBench
) -> tuple[ConditionRecords, str]:
    """Hold what the battery wants, as far as the budget goes; and why it was stopped, if it was.

    Errors: UserError where no rating can be read, after the first condition in which that is so.
    """
    study, held, stopped = run_protocol(first, chosen, batches, tight), ConditionRecords(), ""
    try:
        step = next(study)
        while True:
            if isinstance(step, BatchInterviews):
                answers = step.held(bench._replace(opened=_speaking(step.batch.scenario)))
                bench.say(f"{step.condition}: {len(answers):,} before the judge {step.batch.judge}")
                held.hear(step.condition, answers)
                step = study.send(answers)
                continue
            if stopped := _sit(step, bench):
                break
            tables = load(step.folder)
            held.add(step.condition, tables)
            if reason := held.unread():
                raise UserError(
                    f"{step.condition}: {reason}; a card needs ratings. See the replies: python run.py report {step.folder}; "
                    "then try another --set probe=NAME, or another model"
                )
            step = study.send(tables)
    except BudgetSpent as spent:
        stopped = str(spent)
    except StopIteration:
        pass
    return held, stopped


def _sit(step: ProtocolStep, bench: InterviewBench) -> str:
    """Hold one condition; why it was stopped, if it was."""
    task = RunSpec(step.scenario, step.folder, budget=bench.budgets[0], ledger=bench.ledger)
    backend = None if is_complete(step.folder / RECORD) else _model(step.scenario)
    with Progress(step.scenario) as bar:
        outcome = run_scenario(task, bar.calls, bar.step, backend)
    bench.say(f"{step.condition}: {summary_line(step.scenario, step.folder, outcome)}")
    return outcome.stopped or ""


def _model(scenario: Scenario) -> Backend:
    """The scenario's models, of which each is opened once for all conditions."""
    first = open_models(scenario.models.llm)
    if not scenario.models.llms or split_spec(scenario.models.llm)[0] == "recorded":
        return first
    return RoutedBackend(first, {voice: open_models(spec) for voice, spec in scenario.llm_by_party.items()})


def _speaking(scenario: Scenario) -> Callable[[str], Backend]:
    """What opens the scenario's models under its first spec, and any other by itself."""
    return lambda spec: _model(scenario) if spec == scenario.models.llm else open_models(spec)


@cache
def open_models(spec: str) -> Backend:
    return open_spec(spec)
