"""What an audit will ask and what it can find, before anything is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import ModuleType

from analysis.card.battery import outside, steps
from analysis.card.conditions import Batch
from analysis.card.outside import calls as of
from analysis.statistics.power import detectable
from llm.errors import UserError
from llm.limits import Price
from llm.prices import bill
from llm.request import Usage, total
from model.plan import plan, scripted

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)([kM]?) ?(calls|tokens|money)")
_TIMES = {"": 1.0, "k": 1e3, "M": 1e6}


def read_budget(text: str) -> tuple[str, float]:
    """`5000calls`, `2Mtokens`, `10money` as (unit, amount). Errors: UserError.

    >>> read_budget("2.5Mtokens")
    ('tokens', 2500000.0)
    """
    found = _BUDGET.fullmatch(text.strip())
    if not found:
        raise UserError(
            f"--budget {text!r} is not a number of calls, tokens or money, such as 5000calls, 2Mtokens or 10money"
        )
    return found[3], float(found[1]) * _TIMES[found[2]]


def lines(
    first: Batch, sections: Mapping[str, ModuleType], batches: int, spread: float, price: Price | None
) -> Iterator[str]:
    """The plan for a person: conditions with rooms and calls, what it costs, what it can find."""
    calls, free, used = 0, 0, Usage()
    yield f"the bias card of {first.base.llm}: {', '.join(sections)}"
    yield f"  {len(first.base.topics)} topics, {first.base.repetitions} blocks a batch, {first.base.rounds} rounds; a batch:"
    for step in steps(first, sections):
        made = plan(step.scenario)
        unpaid, own = made.unpaid(step.scenario), step.scenario.own_llms()
        tokens = total([made.tokens[voice] for voice in made.asked if not scripted(own.get(voice, ""))])
        asked = sum(made.asked.values()) - unpaid
        calls, free, used = calls + asked, free + unpaid, total([used, tokens])
        beside = f", {unpaid:,} lines of scripted partners" if unpaid else ""
        yield f"    {step.condition:<20} {made.rooms:>5,} rooms {asked:>7,} calls{beside}"
    for kind in outside(first, sections):
        asked, judged = of(first, kind)
        calls += asked
        yield f"    {kind:<20} {'':>11} {asked:>7,} calls, {judged:,} at most of the judge {first.judge}"
    if free:
        yield f"  lines of scripted partners ({free:,}) are no model's and cost nothing; --budget counts them as calls"
    most = f", {batches} batches at most: up to {batches * calls:,} calls" if batches > 1 else ""
    yield f"  {calls:,} calls a batch, about {used.prompt_tokens:,} tokens in, {used.completion_tokens:,} out (from words){most}"
    if price and (cost := bill({"": used}, {"": price}, 2)):
        yield f"  a batch costs up to about {cost}"
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
