"""Any stated rating scale: 0-10, 1-7, 0-100, either way round, numeric or labelled.

It may ask for the severity of the topic or for agreement with a known proposition.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.banks import recognised, topics
from parley.llm.backends.oracle.reading import Reading
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.speaker import Oracle

ORDER = 10
_RANGE = re.compile(
    r"(?:from|between|of|scale:?) (-?\d+)(?: ?\([a-z' -]+\)| ?= ?[a-z' -]+?)? ?(?:to|and|-|–|through) ?(-?\d+)", re.I
)
_POINT = re.compile(
    r"(?<![\w.])(-?\d+)(?: ?(?:means|is|=|:|\()? ?)(?!to |and |through |-)([a-z][a-z' -]*?)(?=[,;.?)]| and \d| to \d| or \d|$)",
    re.I,
)
_HIGH = (
    *("very big problem", "extremely big problem", "catastrophic", "extremely severe", "very severe", "most severe"),
    *("strongly agree", "completely agree", "certainly agree", "certainly true", "superb", "strongly favor"),
)
_LOW = (
    *("not a problem", "no problem", "nonexistent", "not severe", "not at all severe"),
    *(
        "strongly disagree",
        "completely disagree",
        "certainly disagree",
        "certainly false",
        "terrible",
        "strongly oppose",
    ),
)
_AGREEMENT = re.compile(r"\bagree\b", re.I)
_REFERS = re.compile(
    r"\bis (?:it|this|that|(?:this|the) (?:issue|topic|problem))(?=[,.?]| (?:in|for|to|today)\b)", re.I
)
_NUMBER = re.compile(r"\b(?:one|a|the) number\b|\bnumber only\b", re.I)
_SCALE = re.compile(r"\b(?:on|with) (?:a|an|the|this|that) (?:\S+ )?scale\b|\bscale (?:of|from|goes|where)\b", re.I)
_FORM = re.compile(r"in (?:exactly )?this form: (.+)$", re.I)


@dataclass(frozen=True)
class StatedScale:
    """A scale as read from a question: points, direction, labels, the form of the answer, and whether it is to be a number."""

    low: int
    high: int
    direction: int
    labels: dict[int, str]
    form: str | None
    numeric: bool

    def value(self, attitude: float) -> float:
        """An attitude (0-10) on this scale: on 1-7, an attitude of 5 is 4."""
        share = attitude / 10 if self.direction == 1 else 1 - attitude / 10
        return self.low + share * (self.high - self.low)

    def shares(self, value: float) -> dict[int, float]:
        """The answer distribution over the points: the two around the value, with the value as its mean."""
        below = min(max(int(value // 1), self.low), self.high - 1)
        return {
            point: max(0.0, 1 - abs(value - point)) if point in (below, below + 1) else 0.0
            for point in range(self.low, self.high + 1)
        }

    def text(self, point: int) -> str:
        if self.form and point in self.labels:
            return self.form.replace("[word]", self.labels[point]).replace("[number]", str(point))
        labelled = not self.numeric and len(self.labels) > self.high - self.low
        return self.labels[point] if labelled else str(point)


def knows(reading: Reading) -> bool:
    return reading.topic is not None and stated(reading.ask, reading.topic) is not None


def asked(ask: str) -> bool:
    """Whether a question wants a rating, readable here or not: no other kind may answer it."""
    return any(pattern.search(ask) for pattern in (_RANGE, _NUMBER, _SCALE))


def answer(reading: Reading, oracle: Oracle) -> Reply:
    scale = stated(reading.ask, reading.topic or "")
    assert scale is not None
    attitude, unread = oracle.attitude(reading)
    shares = scale.shares(scale.value(attitude))
    rng = random.Random(derive(reading.request.seed, reading.ask, attitude))
    point = (
        max(shares, key=lambda p: shares[p]) if reading.greedy else rng.choices(list(shares), list(shares.values()))[0]
    )
    allowed = reading.request.answers
    known = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(scale.text(point), answers=known, notes={"unread": unread} if unread else {})


@lru_cache(maxsize=4096)
def stated(ask: str, topic: str) -> StatedScale | None:
    """The scale that a question on a topic states, or None when it states none that can be read without guessing."""
    scale = points(ask)
    about = scale and _about(ask, topic, " ".join(scale.labels.values()))
    return replace(scale, direction=scale.direction * about) if scale and about else None


@lru_cache(maxsize=4096)
def points(ask: str) -> StatedScale | None:
    """The scale that a question states, whatever it is about; None when it states none that can be read without guessing."""
    found = _RANGE.search(ask)
    if not found:
        return None
    low, high = int(found[1]), int(found[2])
    labels = {
        int(point): label.strip().lower()
        for point, label in _POINT.findall(ask[found.start() :])
        if low <= int(point) <= high
    }
    runs = _runs(labels.get(low, ""), labels.get(high, ""))
    if low >= high or runs is None:
        return None
    form = _FORM.search(ask)
    stated_form = form[1].strip() if form else None
    return StatedScale(low, high, runs, dict(sorted(labels.items())), stated_form, bool(_NUMBER.search(ask)))


def _runs(low: str, high: str) -> int | None:
    """1 when the high end of the scale is the strong one, -1 when the low end is, None when the labels do not tell."""
    if any(word in high for word in _HIGH) or any(low.startswith(word) for word in _LOW):
        return 1
    if any(word in low for word in _HIGH) or any(high.startswith(word) for word in _LOW):
        return -1
    return None


def _about(ask: str, topic: str, labels: str) -> int | None:
    """Direction of the construct on the topic's axis: 1 for severity, that of the proposition for agreement (None: unknown)."""
    bank = topics()[topic]
    if not _AGREEMENT.search(labels):
        refers = recognised(ask) is None and _REFERS.search(ask) is not None
        return 1 if recognised(ask) == topic or refers else None
    known = sorted(bank.propositions, key=len, reverse=True)
    phrase = next((phrase for phrase in known if phrase in ask.lower()), None)
    if phrase is not None:
        return bank.propositions[phrase]
    return 1 if f"good an idea is {bank.title}" in ask.lower() else None
