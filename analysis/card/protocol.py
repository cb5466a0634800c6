"""The protocol of a card: which conditions run, in which order, until when, and the plan before it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.analysis.card import records
from parley.analysis.card.conditions import LINES, Batch
from parley.analysis.card.estimates import NOT_RUN, CardEstimate
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS, BatchInterviews, InterviewBench, interview_calls
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import SPAN, absent
from parley.analysis.formatting import count_phrase
from parley.analysis.statistics.power import detectable
from parley.analysis.tables import load
from parley.llm.backends import is_scripted, open_spec, split_spec
from parley.llm.budget import Budget, Ledger
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.journal import shared_ledger
from parley.llm.prices import FREE, Prices, cost_by_model
from parley.llm.request import NOTHING, Backend, Usage, total
from parley.llm.router import RoutedBackend
from parley.model.casting import seat_rooms
from parley.model.cost_estimate import Check, check_lines, planned_accounts, usage_by_spec
from parley.model.files import RECORD
from parley.model.progress import Progress, summary_line
from parley.model.run_plan import RunPlan, plan_run
from parley.model.run_time import machine_lines
from parley.model.scenario import Scenario
from parley.model.scenario_run import RunSpec, is_complete, run_scenario

Sections = Mapping[str, ModuleType]
FAILED = "this section could not be computed ({error}); please report it, with the folder of the card"


class ProtocolStep(NamedTuple):
    """A condition to run, its folder, and its title: `asked (1 of 2)`, with its place in the batch."""

    condition: str
    scenario: Scenario
    folder: Path
    title: str = ""


def run_protocol(
    first: Batch, sections: Sections, batches: int = 1, tight: float | None = None
) -> Generator[ProtocolStep | BatchInterviews, Any, ConditionRecords]:
    """Yield the conditions of one batch after another, take the tables of each, and return all records.

    If there is a judge, what is asked outside of debates comes last in a batch; its answers (a data frame) are sent back. After
    each batch, a section whose watched intervals are tight is done (see `tight_enough`). The other sections are run again with
    other agents, up to `batches` times. The rule looks only at the width of intervals, never at an estimate or at whether it
    differs from 0.
    """
    study, going = ConditionRecords(), dict(sections)
    for number in range(1, batches + 1):
        batch = replace(first, number=number)
        for step in protocol_steps(batch, going):
            tables = yield step
            study.add(step.condition, tables)
            if step.condition == "three":
                records.write_yoked_lines(tables, step.folder / LINES)
        for kind in step_interviews(batch, going):
            study.add_answers(kind, (yield BatchInterviews(kind, batch, study.records["three"][-1])))
        if tight is not None:
            going = {name: each for name, each in going.items() if not tight_enough(each, study, first, tight)}
        if not going:
            break
    return study


def protocol_steps(batch: Batch, sections: Sections) -> list[ProtocolStep]:
    """The conditions of a batch that the sections need, each once."""
    scenarios: dict[str, Scenario] = {}
    for section in sections.values():
        for need in section.NEEDS if not absent(section, batch) else ():
            scenarios |= need(batch)
    return [
        ProtocolStep(name, scenario, batch.place / name.replace(" ", "-"), f"{name} ({place} of {len(scenarios)})")
        for place, (name, scenario) in enumerate(scenarios.items(), 1)
    ]


def check_people(batch: Batch, sections: Sections) -> None:
    """Errors: UserError where a condition cannot be seated, before any condition asks the model."""
    try:
        for step in protocol_steps(batch, sections):
            deque(seat_rooms(step.scenario), maxlen=0)
    except UserError as error:
        if "too few personas" not in str(error):
            raise
        few = str(error).partition(":")[0]
        raise UserError(f"{few}: some rooms need two personas of a party, so add personas to the set") from None


def step_interviews(batch: Batch, sections: Sections) -> list[str]:
    """The kinds of question outside of debates that the sections need, each once; none without a judge."""
    kinds = [kind for section in sections.values() for kind in getattr(section, "OUTSIDE", ())]
    return list(dict.fromkeys(kinds)) if batch.judge else []


def tight_enough(section: ModuleType, study: ConditionRecords, first: Batch, tight: float) -> bool:
    """Whether half of every watched interval is at most `tight` of the range of its measure (10 points, or a whole share).

    A section that watches no interval is done after one batch.
    """
    if not section.WATCH:
        return True
    watched = [claim for claim in section_estimates(section, study, first) if claim.quantity in section.WATCH]
    spans = [SPAN[section.QUANTITIES[claim.quantity].measure] for claim in watched]
    return bool(watched) and all(claim.width <= tight * span for claim, span in zip(watched, spans, strict=True))


def card_estimates(study: ConditionRecords, first: Batch, sections: Sections) -> list[CardEstimate]:
    """The estimates of all sections; if the first conditions of a section were not run, all of its quantities are missing.

    A section that cannot be made with these people has none.
    """
    return [
        replace(claim, section=name)
        for name, section in sections.items()
        if not absent(section, first)
        for claim in section_estimates(section, study, first)
    ]


def section_estimates(section: ModuleType, study: ConditionRecords, first: Batch) -> list[CardEstimate]:
    """The estimates of a section. One that fails has none, and says why: the calls of the others are paid."""
    reason = NOT_RUN
    if all(condition in study for condition in section.NEEDS[0](first)):
        try:
            return list(section.claims(study, first.base))
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = FAILED.format(error=f"{type(error).__name__}: {error}")
    return [CardEstimate(quantity, reason=reason) for quantity in section.QUANTITIES]


def run_conditions(
    first: Batch, chosen: Sections, batches: int, tight: float | None, bench: InterviewBench
) -> tuple[ConditionRecords, str]:
    """Run the protocol within the budget; the records, and why it was stopped early ("": it was not).

    Errors: UserError if no rating can be read, after the first condition in which that is so.
    """
    protocol, study, stopped = run_protocol(first, chosen, batches, tight), ConditionRecords(), ""
    try:
        step = next(protocol)
        while True:
            if isinstance(step, BatchInterviews):
                answers = step.run(bench._replace(opened=_opener(step.batch.scenario)))
                bench.say(f"{step.condition}: the judge {step.batch.judge} read {len(answers):,}")
                study.add_answers(step.condition, answers)
                step = protocol.send(answers)
                continue
            if stopped := _run_condition(step, bench):
                break
            tables = load(step.folder)
            study.add(step.condition, tables)
            if reason := study.unread():
                raise UserError(
                    f"{step.condition}: {reason}, and a bias card needs ratings. Read the replies with python run.py report "
                    f"{step.folder}, then try another --set probe=NAME, or another model"
                )
            step = protocol.send(tables)
    except BudgetSpent as spent:
        stopped = str(spent)
    except StopIteration:
        pass
    return study, stopped


def _run_condition(step: ProtocolStep, bench: InterviewBench) -> str:
    """Run one condition; why it was stopped ("": it was not)."""
    task = RunSpec(step.scenario, step.folder, budget=bench.budgets[0], ledger=bench.ledger)
    backend = None if is_complete(step.folder / RECORD) else _open_routed(step.scenario)
    with Progress(step.scenario, step.title) as bar:
        outcome = run_scenario(task, bar.calls, bar.step, backend)
    bench.say(f"{step.condition}: {summary_line(step.scenario, step.folder, outcome)}")
    return outcome.stopped or ""


def _open_routed(scenario: Scenario) -> Backend:
    """The models of a scenario; each is opened once for all conditions."""
    first = open_models(scenario.models.llm)
    if not scenario.models.llms or split_spec(scenario.models.llm)[0] == "replay":
        return first
    return RoutedBackend(first, {voice: open_models(spec) for voice, spec in scenario.llm_by_party.items()})


def _opener(scenario: Scenario) -> Callable[[str], Backend]:
    """A function that opens the scenario's models for its first spec, and any other spec by itself."""
    return lambda spec: _open_routed(scenario) if spec == scenario.models.llm else open_models(spec)


@cache
def open_models(spec: str) -> Backend:
    return open_spec(spec)


def audit_ledger(folder: Path, budgets: tuple[Budget, Budget]) -> Ledger | None:
    """The budget of the model and the judge minus what earlier sessions spent; None: there is no limit.

    Interviews and their verdicts share one journal, which is counted at the higher of the two prices.
    """
    model, judge = budgets
    dearer = judge.prices.get("") or FREE
    prices = {voice: max(price or FREE, dearer, key=attrgetter("in_and_out")) for voice, price in model.prices.items()}
    budget_by_kind = {INTERVIEWS: Budget(prices=prices), VERDICTS: judge}
    return shared_ledger(
        model, [(path, budget_by_kind.get(path.parent.name, model)) for path in sorted(folder.rglob("*.sqlite"))]
    )


class AuditPlan(NamedTuple):
    """What a batch of an audit asks its models: the calls, and the tokens of its debates by voice."""

    scenario: Scenario
    calls: int
    tokens: Mapping[str, Usage]


def plan_audit(first: Batch, sections: Sections, checks: Sequence[Check] = ()) -> AuditPlan:
    """Count a batch by a dry run. checks: what the model is asked before the first condition."""
    plans = [plan_run(step.scenario) for step in protocol_steps(first, sections)]
    outside = sum(sum(interview_calls(first, kind)) for kind in step_interviews(first, sections))
    used: dict[str, Usage] = {"": total([NOTHING, *(check.usage for check in checks)])}
    for plan in plans:
        for voice in plan.calls_by_voice:
            if not is_scripted(plan.scenario.llm_by_party.get(voice, "")):
                used[voice] = total([used.get(voice, NOTHING), plan.tokens[voice]])
    debates = sum(sum(plan.calls_by_voice.values()) - plan.scripted_calls for plan in plans)
    return AuditPlan(first.base, debates + outside + sum(check.calls for check in checks), used)


def plan_lines(
    first: Batch,
    sections: Sections,
    batches: int,
    spread: float,
    prices: Prices,
    title: str = "the bias card",
    checks: Sequence[Check] = (),
) -> Iterator[str]:
    """The plan for a person: conditions with rooms and calls, the cost, memory and time, and which differences can be found.

    title: what is made of the conditions. checks: what the model is asked before the first condition.
    """
    calls, scripted, used, base = 0, 0, dict[str, Usage](), first.base
    plans, finished, kept = list[tuple[RunPlan, int]](), 0, 0
    yield f"{title} of {base.models.llm}: {', '.join(sections)}"
    yield f"  {len(base.subject.topic)} topics, {base.repetitions} blocks per batch, {base.rounds} rounds; in a batch:"
    for step in protocol_steps(first, sections):
        plan, specs = plan_run(step.scenario), step.scenario.llm_by_party
        for voice in plan.calls_by_voice:
            if not is_scripted(specs.get(voice, "")):
                used[voice] = total([used.get(voice, NOTHING), plan.tokens[voice]])
        model_calls = sum(plan.calls_by_voice.values()) - plan.scripted_calls
        if is_complete(step.folder / RECORD):
            finished, kept = finished + 1, kept + model_calls
        else:
            plans.append((plan, 1))
        calls, scripted = calls + model_calls, scripted + plan.scripted_calls
        lines = f", {plan.scripted_calls:,} replies of scripted partners" if plan.scripted_calls else ""
        yield f"    {step.condition:<20} {count_phrase(plan.rooms, 'room'):>11} {model_calls:>7,} calls{lines}"
    for kind in step_interviews(first, sections):
        model_calls, judged = interview_calls(first, kind)
        calls += model_calls
        yield f"    {kind:<20} {'':>11} {model_calls:>7,} calls, and at most {judged:,} calls of the judge {first.judge}"
    if scripted:
        yield (
            f"  the {scripted:,} replies of scripted partners need no model and cost nothing, but --max-calls counts "
            "them as calls"
        )
    most = f"; with at most {batches} batches up to {batches * calls:,} calls" if batches > 1 else ""
    read, written = total(used.values())
    yield f"  {calls:,} calls per batch, about {read:,} prompt tokens and {written:,} reply tokens (estimated from words){most}"
    if cost := cost_by_model(planned_accounts(first.base, used), prices):
        more = "; interviews and the judge cost extra" if step_interviews(first, sections) else ""
        yield f"  the debates of a batch cost up to about {cost}{more}"
    if finished:
        yield f"  of the first batch {finished} conditions with {kept:,} calls are already in {first.folder}"
    yield from check_lines(checks, calls - kept)
    yield from machine_lines(usage_by_spec(plans, checks), calls - kept + sum(check.calls for check in checks))
    sizes = [base.repetitions * times for times in sorted({1, batches})]
    differences = ", ".join(f"{detectable(spread, blocks):.2f} points with {blocks} blocks" for blocks in sizes)
    yield (
        f"  smallest detectable difference between two conditions (80% power), if groups differ by {spread:g} points "
        f"(SD, --spread): {differences}"
    )
