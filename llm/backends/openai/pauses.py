"""How long a server wants to be left alone: as a number of seconds or as a date, and never believed unchecked."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from parley.llm.backends.openai.transport import HttpAnswer
from parley.llm.request import Failure

LONG_PAUSE = "long_pause"


def retry_after(answer: HttpAnswer) -> float | None:
    """Return the seconds that the server asks to wait, as a number or as a date; None where it asks for no time that can be."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = answer.headers.get(name, "")
        try:
            seconds = float(text) / unit
        except ValueError:
            seconds = _seconds_until(text, answer.headers.get("date", ""))
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
    return None


def _seconds_until(date: str, now: str) -> float:
    """Return the seconds from one date of HTTP to another, by the server's own clock if it tells it; nan for no date."""
    try:
        until = parsedate_to_datetime(date) - (parsedate_to_datetime(now) if now else datetime.now(UTC))
    except (ValueError, TypeError, OverflowError):
        return math.nan
    return max(0.0, until.total_seconds())


def long_pause(seconds: float, patience: float) -> Failure:
    """Return the failure of a server that asks for a longer pause than the user wants to wait for. It ends the run."""
    return Failure(LONG_PAUSE, f"it asks for a pause of {seconds:,.0f} s, and patience={patience:g} is shorter")
