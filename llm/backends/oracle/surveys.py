"""Closed questions: ratings on any scale, confidence, the questionnaire; and questions put to one person in an interview.

A scale may run either way round and have numbers or labels. It may ask for the severity of the topic, for agreement with a known
proposition, for confidence, or in a private deliberation for agreement with an answer or with a statement of the mediator.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from parley.llm.backends.oracle.dynamics import HIGH, LOW, agreement, bank, habit, now, read, statements
from parley.llm.backends.oracle.phrases import data, recognised, topics
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech import body_of
from parley.llm.backends.oracle.stance import standing, unknown
from parley.llm.purposes import RatingScale
from parley.llm.request import Reply
from parley.llm.seeding import derive

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

SIDES = {"republican": "right", "democrat": "left", "none": "neutral"}
SENTENCES = 2
_HIGH = (
    *("very big problem", "extremely big problem", "catastrophic", "extremely severe", "very severe", "most severe"),
    *("strongly agree", "completely agree", "certainly agree", "certainly true", "superb", "strongly favor"),
)
_LOW = (
    *("not a problem", "no problem", "nonexistent", "not severe", "not at all severe", "strongly disagree"),
    *("completely disagree", "certainly disagree", "certainly false", "terrible", "strongly oppose"),
)
_AGREEMENT = re.compile(r"\bagree\b", re.I)
_REFERS = re.compile(
    r"\bis (?:it|this|that|(?:this|the) (?:issue|topic|problem))(?=[,.?]| (?:in|for|to|today)\b)", re.I
)
_RATING = re.compile(
    r"(?:from|between|of|scale:?) -?\d+(?: ?\([a-z' -]+\)| ?= ?[a-z' -]+?)? ?(?:to|and|-|–|through) ?-?\d+"
    r"|\b(?:one|a|the) number\b|\bnumber only\b"
    r"|\b(?:on|with) (?:a|an|the|this|that) (?:\S+ )?scale\b|\bscale (?:of|from|goes|where)\b",
    re.I,
)
_AGE = re.compile(r"\b(?:you are|aged?|at) (\d\d)\b(?! percent)|\b(\d\d)(?: years old|-year-old)\b", re.I)
_DECADE = re.compile(r"^(\d\d) to (\d\d)$|^under (\d\d)$|^(\d\d) or older$")


class DirectedScale(NamedTuple):
    """A scale, the direction of its high end (1: the strong one, -1: the weak one), and the form of an answer in words."""

    scale: RatingScale
    direction: int
    sentence: str = ""

    def value(self, attitude: float) -> float:
        """An attitude (0-10) on this scale: on 1-7, an attitude of 5 is 4."""
        share = attitude / 10 if self.direction == 1 else 1 - attitude / 10
        return self.scale.low + share * (self.scale.high - self.scale.low)

    def shares(self, value: float) -> dict[int, float]:
        """The answer distribution over the points: the two around the value, with the value as its mean."""
        below = min(max(int(value // 1), self.scale.low), self.scale.high - 1)
        return {
            point: max(0.0, 1 - abs(value - point)) if point in (below, below + 1) else 0.0
            for point in range(self.scale.low, self.scale.high + 1)
        }

    def text(self, point: int) -> str:
        """The answer in the form asked for."""
        if self.scale.kind == "numeric":
            return str(point)
        label = self.scale.labels[point]
        return self.sentence.replace("{label}", label).replace("{number}", str(point)) if self.sentence else label


def answer_survey(reading: Reading, oracle: Oracle) -> Reply:
    """A rating with its exact answer distribution."""
    scale = reading.facts.get("scale")
    if scale is None:
        return unknown(reading)
    if "issue" in reading.facts and ("position" in reading.facts or "statement" in reading.facts):
        return _rate_text(reading, scale, oracle)
    if reading.facts.get("construct") == "confidence":
        return _rate_confidence(reading, scale, oracle)
    topic = reading.topic
    stated = topic and directed(scale, reading.question, topic, reading.facts.get("sentence", ""))
    if not topic or not stated:
        return unknown(reading)
    attitude, unread = oracle.attitude(reading)
    reply = pick(reading, stated.shares(stated.value(attitude)), stated.text, reading.ask, attitude)
    reply.notes = {"unread": unread} if unread else {}
    return reply


def pick(
    reading: Reading, shares: Mapping[int, float], text: Callable[[int], str], *named: object, drawn: bool = False
) -> Reply:
    """An answer drawn from its distribution by the seed and what is named; the likeliest one at temperature 0, unless `drawn`."""
    rng = random.Random(derive(reading.request.seed, *named))
    likeliest = reading.greedy and not drawn
    point = max(shares, key=shares.__getitem__) if likeliest else rng.choices(list(shares), list(shares.values()))[0]
    allowed = reading.request.answers
    known = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(text(point), answers=known)


def directed(scale: RatingScale, question: str, topic: str, sentence: str = "") -> DirectedScale | None:
    """The scale of a question with its direction on the topic's axis; None where that cannot be told without guessing."""
    runs, about = direction_of(scale), _about(question, topic, " ".join(scale.labels.values()))
    return DirectedScale(scale, runs * about, sentence) if runs and about else None


def direction_of(scale: RatingScale) -> int | None:
    """1 when the high end of the scale is the strong one, -1 when the low end is, None when the labels do not tell."""
    low, high = (scale.labels.get(end, "").lower() for end in (scale.low, scale.high))
    if any(word in high for word in _HIGH) or any(low.startswith(word) for word in _LOW):
        return 1
    if any(word in low for word in _HIGH) or any(high.startswith(word) for word in _LOW):
        return -1
    return None


@lru_cache(maxsize=4096)
def _about(question: str, topic: str, labels: str) -> int | None:
    """Direction of the construct on the topic's axis: 1 for severity, that of the proposition for agreement (None: unknown)."""
    named = recognised(question)
    if not _AGREEMENT.search(labels):
        refers = named is None and _REFERS.search(question) is not None
        return 1 if named == topic or refers else None
    known = topics()[topic].direction(question.lower())
    return known or (1 if f"good an idea is {topics()[topic].title}" in question.lower() else None)


def _rate_text(reading: Reading, scale: RatingScale, oracle: Oracle) -> Reply:
    """Agreement with an answer to the question under discussion (the position), or with a statement of the mediator."""
    facts, issue = reading.facts, reading.facts["issue"]
    stands = now(reading.persona, issue, statements(reading), oracle.pull)
    said = facts.get("position") or facts.get("statement", "")
    text, own = read(said, issue), habit(reading.persona)
    sides = {HIGH: stands, LOW: HIGH + LOW - stands}
    agreed = agreement(stands, own.values, own.demand, text)
    return rate(reading, scale, sides.get(text.stance or 0.0) if "position" in facts else agreed, said)


def rate(reading: Reading, scale: RatingScale, value: float | None, said: str) -> Reply:
    """A value from 1 to 7 on the scale that is stated. said: what is rated."""
    runs = direction_of(scale)
    if runs is None:
        return unknown(reading)
    if value is None:
        return Reply.failed("no_known_sentence", said[:120])
    stated = DirectedScale(scale, runs)
    shares = stated.shares(stated.value(10 * (value - LOW) / (HIGH - LOW)))
    return pick(reading, shares, stated.text, reading.ask, value)


def _rate_confidence(reading: Reading, scale: RatingScale, oracle: Oracle) -> Reply:
    """Half of the scale in the middle of the axis, all of it at either end: max(a, 10 - a) of 10."""
    own = standing(reading, oracle)
    if own is None:
        return unknown(reading)
    value = scale.low + own.conviction * (scale.high - scale.low)
    shares = {point: max(0.0, 1 - abs(value - point)) for point in range(scale.low, scale.high + 1)}
    reply = pick(reading, shares, str, reading.ask, value)
    reply.notes = own.notes
    return reply


def answer_questionnaire(reading: Reading, oracle: Oracle) -> Reply:
    """A closed question about oneself: answered from what the persona says of itself, else declined."""
    answers = reading.request.answers
    if not answers:
        return unknown(reading)
    stated = next((one for one in answers[:-1] if said_of(reading.persona, one)), answers[-1])
    return Reply(stated, answers={one: float(one == stated) for one in answers})


def said_of(persona: str, answer: str) -> bool:
    """Does a persona say this of itself? Of several answers to one item the first in the bank counts."""
    if decade := _DECADE.match(answer):
        return _in(persona, decade)
    for item in bank()["items"].values():
        if answer in item:
            return answer == next((text for text, patterns in item.items() if _any(patterns, persona)), None)
    return False


def _in(persona: str, decade: re.Match[str]) -> bool:
    found = _AGE.search(persona)
    if not found:
        return False
    age, (low, high, under, above) = int(found[1] or found[2]), decade.groups()
    return int(low) <= age <= int(high) if low else age < int(under) if under else age >= int(above)


def _any(patterns: list[str], persona: str) -> bool:
    return any(re.search(pattern, persona, re.I) for pattern in patterns)


def answer_interview(reading: Reading, oracle: Oracle) -> Reply:
    """Two sentences: on a question by which personas are checked (UCL study, Table 4), on a debate topic, or on a theme of US
    politics that the banks know. A question that wants a rating in words of its own is answered by nobody.
    """
    question = reading.question
    rng = random.Random(derive(0 if reading.greedy else reading.request.seed, reading.persona, reading.ask))
    if known := validation_question(question):
        return Reply(" ".join(rng.sample(validation_questions()[known][SIDES[reading.party]], SENTENCES)))
    topic, about = recognised(question), theme(question)
    if "?" not in question or not (topic or about) or _RATING.search(question):
        return unknown(reading)
    if not topic:
        lines = data("values")["themes"][about][reading.party]
        return Reply(" ".join([*_identity(reading, rng), *rng.sample(lines, SENTENCES)]))
    value, unread = oracle.attitude(reading)
    share, first = oracle.stance_in_interviews, oracle.stance_first
    body = body_of(topics()[topic], value, reading, SENTENCES, "", rng, share, first)
    return Reply(" ".join([*_identity(reading, rng), *body]), notes={"unread": unread} if unread else {})


def _identity(reading: Reading, rng: random.Random) -> list[str]:
    """Who is speaking, in half of the answers (a line that names neither the topic nor the debate)."""
    lines = [line for line in data("common")["identity"][reading.party] if "{" not in line]
    return [rng.choice(lines)] if rng.random() < 0.5 else []


@lru_cache(maxsize=4096)
def theme(question: str) -> str | None:
    """The theme whose phrase comes first in a question."""
    lower = question.lower()
    found = [
        (lower.find(phrase), -len(phrase), name)
        for name, bank in data("values")["themes"].items()
        for phrase in bank["recognise"]
        if phrase in lower
    ]
    return min(found)[2] if found else None


@lru_cache(maxsize=4096)
def validation_question(text: str) -> str | None:
    """The question by which personas are checked that a text holds."""
    plain = text.replace("’", "'").replace("‘", "'").lower()
    return next((known for known in validation_questions() if known.lower() in plain), None)


@cache
def validation_questions() -> dict[str, dict[str, list[str]]]:
    """By question, the sentences of each leaning (left, right, neutral)."""
    return {entry["ask"]: entry for entry in data("validation")["questions"]}
