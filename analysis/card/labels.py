"""Words and numbers of the page: one name a condition, one rule for decimals, everywhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from parley.agents.topic import load_topic
from parley.analysis.bootstrap import NO_VARIATION
from parley.analysis.card.conditions import Batch
from parley.analysis.card.estimates import CardEstimate
from parley.analysis.card.sections import Quantity
from parley.analysis.formatting import escape_markdown, format_number
from parley.llm.backends import split_spec

NAMES = {
    "three": "debate of three", "two": "debate of two", "same": "debate within a party", "alone": "silence",
    "empty": "empty talk", "shuffled": "lines of other rooms", "copy": "debate with the own copy",
    "asked": "asked before debates", "asked conversation": "asked before debates, called a conversation",
    "asked reversed": "asked before debates, answers listed downward",
    "asked shuffled": "asked before debates, answers listed shuffled", "turned": "debate of two, the other begins",
    "closing": "debate of two, announced closing", "no closing": "debate of two, no closing",
    "men": "debate of two men", "women": "debate of two women",
}  # fmt: skip
"""What a condition is called, by its name in the battery; of one held party by party by its first word."""
UNITS = {"share": "%", "rate": "%", "r": "correlation"}
"""How a measure is told where that is not its own name: shares and rates in percent."""
PEOPLE = {"people_gap": "human"}
"""Whose units are humans: a `person` else is an agent."""
SHARES = ("share", "rate")
"""Measures that are told in percent."""
DIFFERENCE = "percentage points"


def condition(name: str) -> str:
    """`empty republican` -> `empty talk, Republicans rated`."""
    kind, _, party = name.partition(" ")
    return NAMES[name] if name in NAMES else f"{NAMES[kind]}, {party.title()}s rated"


def unit(told: Quantity) -> str:
    return told.unit or UNITS.get(told.measure, told.measure)


def units(claim: CardEstimate) -> str:
    """`10 blocks`, `1 agent`, `5,115 humans`."""
    noun = {"person": PEOPLE.get(claim.quantity, "agent")}.get(claim.unit, claim.unit)
    return f"{claim.n:,} {noun}{'s' * (claim.n != 1)}"


def value(found: float, told: Quantity) -> str:
    """Percent with one decimal, all else with two; a difference of percentages with its sign."""
    if told.measure not in SHARES:
        return format_number(found)
    return share(found, told.unit == DIFFERENCE).rstrip("%")


def cell(claim: CardEstimate, told: Quantity, instrument: bool = True) -> str:
    """The estimate with its interval and, where asked for, by how much the wording of the question moves it."""
    text = f"{value(claim.estimate, told)}{_interval(claim, lambda end: value(end, told), NO_VARIATION)}"
    return f"{text} ± {format_number(claim.instrument)}" if instrument and math.isfinite(claim.instrument) else text


def points(claim: CardEstimate) -> str:
    """`2.29 points (2.12 to 2.46)`."""
    return f"{format_number(claim.estimate)} points{_interval(claim, format_number)}"


def percent(claim: CardEstimate, signed: bool = False) -> str:
    """`6.0% (5.6% to 6.4%)`."""
    return f"{share(claim.estimate, signed)}{_interval(claim, lambda end: share(end, signed))}"


def share(found: float, signed: bool = False) -> str:
    return f"{'+' * (signed and found > 0)}{format_number(100 * found, 1)}%"


def below(claim: CardEstimate) -> CardEstimate:
    """What is below 0 as how far below."""
    return replace(claim, estimate=-claim.estimate, low=-claim.high, high=-claim.low)


def unvaried(claim: CardEstimate) -> bool:
    """Whether all units gave the same."""
    return claim.reason == NO_VARIATION


def _interval(claim: CardEstimate, told: Callable[[float], str], still: str = "") -> str:
    """` (5.6 to 6.4)`; that nothing varied; nothing where there is no interval."""
    if unvaried(claim):
        return f" ({still or f'no variation observed, n = {units(claim)}'})"
    if math.isfinite(claim.low) and math.isfinite(claim.high):
        return f" ({told(claim.low)} to {told(claim.high)})"
    if math.isfinite(claim.low):
        return f" ({told(claim.low)} or more)"
    return f" ({told(claim.high)} or less)" if math.isfinite(claim.high) else ""


def judge(first: Batch) -> str:
    """`the judge (openai:gpt-4o)`; whether that is the model itself."""
    own = split_spec(first.judge)[:2] == split_spec(first.base.models.llm)[:2]
    return f"the judge ({escape_markdown(first.judge)}{', here the speaker itself: no independent evidence' if own else ''})"


def ends(topics: Sequence[str]) -> tuple[str, str]:
    """What 0 and 10 mean, low and high on the axis; that these are the ends of each topic's scale, where topics differ."""
    scales = [load_topic(topic).probe("attitude").scale for topic in topics]
    found = {_ends(one.labels[one.low], one.labels[one.high], one.polarity) for one in scales}
    return found.pop() if len(found) == 1 else ("the low end of a topic's scale", "the high end")


def _ends(low: str, high: str, polarity: int) -> tuple[str, str]:
    return (low, high) if polarity == 1 else (high, low)
