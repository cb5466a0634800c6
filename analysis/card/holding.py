"""Holds what a battery wants, a condition after the other, as far as the budget goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from parley.analysis.card.battery import Sections, Step, audit
from parley.analysis.card.conditions import Batch
from parley.analysis.card.held import Held
from parley.analysis.card.outside import Bench, Outside
from parley.analysis.load import load
from parley.llm.backends import open_spec, split_spec
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.request import Backend
from parley.llm.several import Several
from parley.model.commandline import Progress, told
from parley.model.scenario import Scenario
from parley.model.session import RECORD, Ask, sit, whole


def hold(first: Batch, chosen: Sections, batches: int, tight: float | None, bench: Bench) -> tuple[Held, str]:
    """Hold what the battery wants, as far as the budget goes; and why it was stopped, if it was.

    Errors: UserError where no rating can be read, after the first condition in which that is so.
    """
    study, held, stopped = audit(first, chosen, batches, tight), Held(), ""
    try:
        step = next(study)
        while True:
            if isinstance(step, Outside):
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


def _sit(step: Step, bench: Bench) -> str:
    """Hold one condition; why it was stopped, if it was."""
    task = Ask(step.scenario, step.folder, budget=bench.budgets[0], ledger=bench.ledger)
    backend = None if whole(step.folder / RECORD) else _model(step.scenario)
    with Progress(step.scenario) as bar:
        outcome = sit(task, bar.calls, bar.step, backend)
    bench.say(f"{step.condition}: {told(step.scenario, step.folder, outcome)}")
    return outcome.stopped or ""


def _model(scenario: Scenario) -> Backend:
    """The scenario's models, of which each is opened once for all conditions."""
    first = opened(scenario.llm)
    if not scenario.llms or split_spec(scenario.llm)[0] == "recorded":
        return first
    return Several(first, {voice: opened(spec) for voice, spec in scenario.own_llms().items()})


def _speaking(scenario: Scenario) -> Callable[[str], Backend]:
    """What opens the scenario's models under its first spec, and any other by itself."""
    return lambda spec: _model(scenario) if spec == scenario.llm else opened(spec)


@cache
def opened(spec: str) -> Backend:
    return open_spec(spec)
