"""How the page words things: one name for each condition, one rule for decimals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from parley.agents.society import Society
from parley.agents.topic import load_topic
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.sections import Quantity
from parley.analysis.contrasts import POINTS, Sides, amount, contrast
from parley.analysis.formatting import escape_markdown, format_number
from parley.analysis.statistics.intervals import NO_VARIATION
from parley.llm.backends import split_spec

NAMES = {
    "three": "debate of three", "two": "debate of two", "same": "debate within a party", "alone": "silence",
    "empty": "empty talk", "shuffled": "replies of other rooms", "copy": "debate with a copy of oneself",
    "asked": "asked before debates", "asked conversation": "asked before debates, called a conversation",
    "asked reversed": "asked before debates, answers listed downward",
    "asked shuffled": "asked before debates, answers listed shuffled", "turned": "debate of two, the other agent begins",
    "closing": "debate of two, announced closing", "no closing": "debate of two, no closing",
    "men": "debate of two men", "women": "debate of two women",
}  # fmt: skip
"""Titles of conditions, by their names in files; a condition that is run party by party is listed by its first word."""
UNITS = {"share": "%", "rate": "%", "r": "correlation"}
"""The unit of a measure, if it is not the name of the measure: shares and rates are in percent."""
PEOPLE = {"people_gap": "human"}
"""Quantities whose units are humans; any other `person` is an agent."""
SHARES = ("share", "rate")
"""Measures in percent."""
DIFFERENCE = "percentage points"


def condition(name: str, society: Society) -> str:
    """`shuffled cdu` -> `lines of other rooms, CDU rated`."""
    kind, _, party = name.partition(" ")
    return NAMES[name] if name in NAMES else f"{NAMES[kind]}, {society.plural(party)} rated"


def unit(quantity: Quantity) -> str:
    return quantity.unit or UNITS.get(quantity.measure, quantity.measure)


def units(claim: CardEstimate) -> str:
    """`10 blocks`, `1 agent`, `5,115 humans`."""
    noun = {"person": PEOPLE.get(claim.quantity, "agent")}.get(claim.unit, claim.unit)
    return f"{claim.n:,} {noun}{'s' * (claim.n != 1)}"


def value(number: float, quantity: Quantity) -> str:
    """Percentages with one decimal, all else with two; a difference of percentages with its sign."""
    if quantity.measure not in SHARES:
        return format_number(number)
    return share(number, quantity.unit == DIFFERENCE).rstrip("%")


def cell(claim: CardEstimate, quantity: Quantity, instrument: bool = True) -> str:
    """The estimate with its interval. instrument: also by how much the wording of the question moves it.

    A share below 0% or above 100% is impossible, so only the end of its interval is shown.
    """
    if quantity.measure in SHARES and quantity.unit != DIFFERENCE:
        if not 0 <= claim.estimate <= 1:
            return percent(claim).replace("%", "")
        claim = _possible(claim)
    text = f"{value(claim.estimate, quantity)}{_interval(claim, lambda end: value(end, quantity), NO_VARIATION)}"
    return f"{text} ± {format_number(claim.instrument)}" if instrument and math.isfinite(claim.instrument) else text


def directed(claim: CardEstimate, sides: Sides, which: str = POINTS) -> str:
    """`2.29 points higher (95% interval 2.12 to 2.46)`: a size and a side in place of a sign. which: the unit."""
    return amount((claim.estimate, claim.low, claim.high), sides, which, of=_still(claim))


def contrasted(who: str, claim: CardEstimate, names: tuple[str, str], ways: Sides) -> str:
    """The sentence of an effect: how far agents moved in a condition and in its control, and the difference."""
    moved = claim.estimate + claim.null, claim.null
    return contrast(who, moved, names, (claim.estimate, claim.low, claim.high), ways, _still(claim))


def _still(claim: CardEstimate) -> str:
    return f"no variation observed, n = {units(claim)}" if claim.reason == NO_VARIATION else ""


def percent(claim: CardEstimate, signed: bool = False, bounded: bool = True) -> str:
    """`6.0% (5.6% to 6.4%)`. A share beyond 0% or 100%: `at most 0.5%`, `at least 98.0%`.

    signed: it is a difference. bounded: it is a share, so its interval ends at 0% and 100%.
    """
    if bounded and not signed:
        if claim.estimate < 0:
            return at_most(claim)
        if claim.estimate > 1:
            return f"at least {share(min(max(claim.low, 0.0), 1.0))}" if math.isfinite(claim.low) else share(1.0)
        claim = _possible(claim)
    return f"{share(claim.estimate, signed)}{_interval(claim, lambda end: share(end, signed))}"


def at_most(claim: CardEstimate) -> str:
    """The upper end of a share's interval: `at most 0.5%`."""
    return f"at most {share(min(max(claim.high, 0.0), 1.0))}" if math.isfinite(claim.high) else share(0.0)


def _possible(claim: CardEstimate) -> CardEstimate:
    """A share with the ends of its interval cut off at 0 and 1; infinite and missing ends stay."""
    low, high = (min(max(end, 0.0), 1.0) if math.isfinite(end) else end for end in (claim.low, claim.high))
    return replace(claim, low=low, high=high)


def share(number: float, signed: bool = False) -> str:
    return f"{'+' * (signed and number > 0)}{format_number(100 * number, 1)}%"


def below(claim: CardEstimate) -> CardEstimate:
    """A claim below 0, worded as how far below."""
    return replace(claim, estimate=-claim.estimate, low=-claim.high, high=-claim.low)


def _interval(claim: CardEstimate, show: Callable[[float], str], still: str = "") -> str:
    """` (5.6 to 6.4)`; that nothing varied; empty where there is no interval."""
    if claim.reason == NO_VARIATION:
        return f" ({still or f'no variation observed, n = {units(claim)}'})"
    if math.isfinite(claim.low) and math.isfinite(claim.high):
        return f" ({show(claim.low)} to {show(claim.high)})"
    if math.isfinite(claim.low):
        return f" ({show(claim.low)} or more)"
    return f" ({show(claim.high)} or less)" if math.isfinite(claim.high) else ""


def judge(first: Batch) -> str:
    """`the judge (openai:gpt-4o)`, and whether it is the model itself."""
    is_own_judge = split_spec(first.judge)[:2] == split_spec(first.base.models.llm)[:2]
    doubt = ", which is also the audited model, so this is not independent evidence" if is_own_judge else ""
    return f"the judge ({escape_markdown(first.judge)}{doubt})"


def ends(topics: Sequence[str]) -> tuple[str, str]:
    """What 0 and 10 mean; if topics differ, that these are the ends of each topic's scale."""
    pairs = set()
    for topic in topics:
        scale = load_topic(topic).probe("attitude").scale
        low, high = scale.labels[scale.low], scale.labels[scale.high]
        pairs.add((low, high) if scale.polarity == 1 else (high, low))
    return pairs.pop() if len(pairs) == 1 else ("the low end of a topic's scale", "the high end")
