"""What an audit may spend: one limit over everything in the folder of the card, and the price of everybody who is asked.

What an audit will ask and what it can find, before anything is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from parley.analysis.card.conditions import Batch
from parley.analysis.card.interviews import INTERVIEWS, VERDICTS
from parley.analysis.card.interviews import interview_calls as of
from parley.analysis.card.protocol import protocol_steps, step_interviews
from parley.analysis.statistics.power import detectable
from parley.llm.backends import is_scripted
from parley.llm.budget import FREE, Budget, Ledger, Prices, cost_by_model
from parley.llm.journal import shared_ledger
from parley.llm.request import NOTHING, Usage, total
from parley.model.cost_estimate import plan_run


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
