"""What an audit will ask and what it can find, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType

from parley.analysis.card.battery import outside, steps
from parley.analysis.card.conditions import Batch
from parley.analysis.card.outside import calls as of
from parley.analysis.statistics.power import detectable
from parley.llm.backends import scripted
from parley.llm.prices import Prices, bill
from parley.llm.request import NOTHING, Usage, total
from parley.model.plan import plan


def lines(
    first: Batch, sections: Mapping[str, ModuleType], batches: int, spread: float, prices: Prices
) -> Iterator[str]:
    """The plan for a person: conditions with rooms and calls, what it costs by voice, what it can find."""
    calls, free, used = 0, 0, dict[str, Usage]()
    yield f"the bias card of {first.base.llm}: {', '.join(sections)}"
    yield f"  {len(first.base.topics)} topics, {first.base.repetitions} blocks a batch, {first.base.rounds} rounds; a batch:"
    for step in steps(first, sections):
        made = plan(step.scenario)
        unpaid, own = made.unpaid(step.scenario), step.scenario.own_llms()
        for voice in made.asked:
            if not scripted(own.get(voice, "")):
                used[voice] = total([used.get(voice, NOTHING), made.tokens[voice]])
        asked = sum(made.asked.values()) - unpaid
        calls, free = calls + asked, free + unpaid
        beside = f", {unpaid:,} lines of scripted partners" if unpaid else ""
        yield f"    {step.condition:<20} {made.rooms:>5,} rooms {asked:>7,} calls{beside}"
    for kind in outside(first, sections):
        asked, judged = of(first, kind)
        calls += asked
        yield f"    {kind:<20} {'':>11} {asked:>7,} calls, {judged:,} at most of the judge {first.judge}"
    if free:
        yield f"  lines of scripted partners ({free:,}) are no model's and cost nothing; --budget counts them as calls"
    most = f", {batches} batches at most: up to {batches * calls:,} calls" if batches > 1 else ""
    read, written = total(used.values())
    yield f"  {calls:,} calls a batch, about {read:,} tokens in, {written:,} out (from words){most}"
    if cost := bill(used, prices, 2):
        beside = "; interviews and the judge come on top" if outside(first, sections) else ""
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
