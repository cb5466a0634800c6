"""What is held in which order, and until when: a study that yields conditions and takes their records.

Holds what a battery wants, a condition after the other, as far as the budget goes.

What an audit may spend: one limit over everything in the folder of the card, and the price of everybody who is asked.

What an audit will ask and what it can find, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from parley.analysis.card import records
from parley.analysis.card.conditions import LINES, Batch
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS, BatchInterviews, InterviewBench
from parley.analysis.card.interviews import interview_calls as of
from parley.analysis.card.records import ConditionRecords
from parley.analysis.card.sections import SPAN
from parley.analysis.statistics.power import detectable
from parley.analysis.tables import load
from parley.llm.backends import is_scripted, open_spec, split_spec
from parley.llm.budget import FREE, Budget, Ledger, Prices, cost_by_model
from parley.llm.errors import BudgetSpent, UserError
from parley.llm.journal import shared_ledger
from parley.llm.request import NOTHING, Backend, Usage, total
from parley.llm.router import RoutedBackend
from parley.model.cost_estimate import plan_run
from parley.model.progress import Progress, summary_line
from parley.model.scenario import Scenario
from parley.model.scenario_run import RECORD, RunSpec, is_complete, run_scenario

Sections = Mapping[str, ModuleType]


class ProtocolStep(NamedTuple):
    """A condition to hold, and where."""

    condition: str
    scenario: Scenario
    folder: Path


def run_protocol(
    first: Batch, sections: Sections, batches: int = 1, tight: float | None = None
) -> Generator[ProtocolStep | BatchInterviews, Any, ConditionRecords]:
    """Yields condition after condition of batch after batch, is sent their tables, returns what was held.

    Where there is a judge, what is asked outside of debates comes last in a batch, and its answers are sent (a data frame).

    After each batch a section whose watched intervals are tight is done (see `tight_enough`); the others are held again, with
    other people, `batches` times at most. Stopping goes by width alone, never by what an estimate is or whether it differs from
    0.
    """
    held, going = ConditionRecords(), dict(sections)
    for number in range(1, batches + 1):
        batch = replace(first, number=number)
        for step in protocol_steps(batch, going):
            tables = yield step
            held.add(step.condition, tables)
            if step.condition == "three":
                records.write_yoked_lines(tables, step.folder / LINES)
        for kind in step_interviews(batch, going):
            held.hear(kind, (yield BatchInterviews(kind, batch, held.records["three"][-1])))
        going = {
            name: section
            for name, section in going.items()
            if tight is None or not tight_enough(section, held, first, tight)
        }
        if not going:
            break
    return held


def protocol_steps(batch: Batch, sections: Sections) -> list[ProtocolStep]:
    """The conditions that the sections want of a batch, each once."""
    wanted = {
        name: scenario
        for section in sections.values()
        for need in section.NEEDS
        for name, scenario in need(batch).items()
    }
    return [ProtocolStep(name, scenario, batch.place / name.replace(" ", "-")) for name, scenario in wanted.items()]


def step_interviews(batch: Batch, sections: Sections) -> list[str]:
    """The kinds of question that the sections want put outside of debates, each once; none without a judge."""
    wanted = [kind for section in sections.values() for kind in getattr(section, "OUTSIDE", ())]
    return list(dict.fromkeys(wanted)) if batch.judge else []


def tight_enough(section: ModuleType, held: ConditionRecords, first: Batch, tight: float) -> bool:
    """Whether half of every watched interval is at most `tight` of the range of its measure (10 points, a whole share); a section
    that watches none is done after a batch.
    """
    if not section.WATCH:
        return True
    watched = [claim for claim in section.claims(held, first.base) if claim.quantity in section.WATCH]
    spans = [SPAN[section.QUANTITIES[claim.quantity].measure] for claim in watched]
    return bool(watched) and all(claim.width <= tight * span for claim, span in zip(watched, spans, strict=True))


def card_estimates(held: ConditionRecords, first: Batch, sections: Sections) -> list[CardEstimate]:
    """The claims of all sections; of one whose first conditions were not held, that it was not."""
    found: list[CardEstimate] = []
    for name, section in sections.items():
        missing = [one for one in section.NEEDS[0](first) if one not in held]
        found += section.claims(held, first.base) if not missing else _not_held(name, section)
    return found


def _not_held(name: str, section: ModuleType) -> Sequence[CardEstimate]:
    return [CardEstimate(name, quantity, "all", reason="not held") for quantity in section.QUANTITIES]


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


def audit_ledger(folder: Path, budgets: tuple[Budget, Budget]) -> Ledger | None:
    """The limit of the model's and the judge's budgets less what earlier sittings spent; None: there is no limit. Interviews and
    what the judge said of them have one journal, counted at the dearer of the prices.
    """
    model, judge = budgets
    prices = {voice: max(price, judge.prices.get("", FREE), key=sum) for voice, price in model.prices.items()}
    own = {INTERVIEWS: Budget(prices=prices), VERDICTS: judge}
    return shared_ledger(model, [(path, own.get(path.parent.name, model)) for path in sorted(folder.rglob("*.sqlite"))])


def plan_lines(
    first: Batch, sections: Mapping[str, ModuleType], batches: int, spread: float, prices: Prices
) -> Iterator[str]:
    """The plan for a person: conditions with rooms and calls, what it costs by voice, what it can find."""
    calls, free, used = 0, 0, dict[str, Usage]()
    yield f"the bias card of {first.base.models.llm}: {', '.join(sections)}"
    topics = len(first.base.subject.topics)
    yield f"  {topics} topics, {first.base.repetitions} blocks a batch, {first.base.rounds} rounds; a batch:"
    for step in protocol_steps(first, sections):
        made = plan_run(step.scenario)
        unpaid, own = made.scripted_calls, step.scenario.llm_by_party
        for voice in made.calls_by_voice:
            if not is_scripted(own.get(voice, "")):
                used[voice] = total([used.get(voice, NOTHING), made.tokens[voice]])
        asked = sum(made.calls_by_voice.values()) - unpaid
        calls, free = calls + asked, free + unpaid
        beside = f", {unpaid:,} lines of scripted partners" if unpaid else ""
        yield f"    {step.condition:<20} {made.rooms:>5,} rooms {asked:>7,} calls{beside}"
    for kind in step_interviews(first, sections):
        asked, judged = of(first, kind)
        calls += asked
        yield f"    {kind:<20} {'':>11} {asked:>7,} calls, {judged:,} at most of the judge {first.judge}"
    if free:
        yield f"  lines of scripted partners ({free:,}) are no model's and cost nothing; --max-calls counts them as calls"
    most = f", {batches} batches at most: up to {batches * calls:,} calls" if batches > 1 else ""
    read, written = total(used.values())
    yield f"  {calls:,} calls a batch, about {read:,} tokens in, {written:,} out (from words){most}"
    if cost := cost_by_model(used, prices, 2):
        beside = "; interviews and the judge come on top" if step_interviews(first, sections) else ""
        yield f"  the debates of a batch cost up to about {cost}{beside}"
    yield _power(first.base.repetitions, batches, spread)


def _power(blocks: int, batches: int, spread: float) -> str:
    found = [
        f"{detectable(spread, blocks * times):.2f} points with {blocks * times} blocks"
        for times in sorted({1, batches})
    ]
    return (
        f"  where blocks differ by {spread:g} points (SD, --spread), a difference between two conditions is found in 80% of "
        f"audits from {', '.join(found)}"
    )
