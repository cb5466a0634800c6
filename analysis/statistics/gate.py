"""May a measurement be used? A reliability or validity (a correlation, AC1) is compared with its floor, by its interval."""

from __future__ import annotations

import math

from parley.analysis.formatting import format_estimate, format_number

FLOOR = 0.7
"""The least reliability or validity of a measurement that is used."""
PASSES, FAILS, UNKNOWN = "passes", "fails", "unknown"


def gate(low: float, high: float) -> str:
    """Return PASSES if the whole interval is at the floor or above, FAILS if it is below, and else UNKNOWN.

    >>> gate(0.71, 0.9), gate(0.3, 0.69), gate(0.6, 0.8), gate(math.nan, math.nan)
    ('passes', 'fails', 'unknown', 'unknown')
    """
    return PASSES if low >= FLOOR else FAILS if high < FLOOR else UNKNOWN


def gate_sentence(subject: str, figure: str, value: float, low: float, high: float, reason: str = "") -> str:
    """Return the outcome as a sentence. reason: why there is no value or no interval.

    >>> gate_sentence("the judge's verdicts", "AC1", 0.5, 0.3, 0.6)
    "**Do not use the judge's verdicts**: AC1 is 0.50 (0.30 to 0.60), below 0.7."
    """
    shown = format_estimate(value, low, high)
    outcome = gate(low, high)
    if outcome == PASSES:
        return f"{subject[0].upper()}{subject[1:]} may be used: {figure} is {shown}, at least {FLOOR}."
    if outcome == FAILS:
        return f"**Do not use {subject}**: {figure} is {shown}, below {FLOOR}."
    if math.isnan(low):
        found = "" if math.isnan(value) else f" ({figure} is {format_number(value)})"
        return f"Whether {subject} may be used is unknown: {reason or 'there is no interval'}{found}."
    return f"Whether {subject} may be used is unknown: {figure} is {shown}, and the interval holds {FLOOR}."
