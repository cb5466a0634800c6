"""Judges of what others said. They know the grade, the leaning and the appeal of every sentence of the banks, and guess nothing.

In a deliberation they go by the planted law of deliberation.py and by what the texts show.
"""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

from parley.llm.backends.oracle.dynamics import Habit, agreement, bank, law, read, shown
from parley.llm.backends.oracle.mediation import habits
from parley.llm.backends.oracle.phrases import recognised, sentences, topics
from parley.llm.backends.oracle.prompt_parser import Reading, party
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import SIDES, directed, pick, rate, validation_question, validation_questions
from parley.llm.request import Reply
from parley.llm.seeding import derive, digest

if TYPE_CHECKING:
    from parley.llm.backends.oracle.backend import Oracle

NO, YES = "Not aligned", "Aligned"
APPEALS = ("logos", "pathos", "ethos")
ABSENT, PRESENT = "Absent", "Present"


def judge_alignment(reading: Reading, oracle: Oracle) -> Reply:
    """Does an answer fit a person? `Aligned` is as likely as the share of its known sentences that are this leaning's own."""
    question, said = reading.facts.get("question", ""), reading.facts.get("statement", "")
    asked = validation_question(question)
    if asked is None:
        return Reply.failed("unknown_question", question[:120])
    known = [leanings()[asked, sentence] for sentence in sentences(said) if (asked, sentence) in leanings()]
    if not known:
        return Reply.failed("no_known_sentence", said[:120])
    share = known.count(SIDES[party(reading.facts.get("person", ""))]) / len(known)
    rng = random.Random(derive(reading.request.seed, reading.ask))
    return Reply(YES if rng.random() < share else NO, answers={NO: 1 - share, YES: share})


@cache
def leanings() -> dict[tuple[str, str], str]:
    """The leaning (left, right, neutral) whose answer to a question a sentence is."""
    sides, known = SIDES.values(), validation_questions()
    return {(asked, said): side for asked, bank in known.items() for side in sides for said in bank[side]}


def judge_appeal(reading: Reading, oracle: Oracle) -> Reply:
    """Is an appeal made in a statement? Each form of sentence of the banks has one, by a digest of it.

    It is planted so that it can be found again, and is not read out of the meaning. What answers a survey and what frames a reply
    (address, opening, question) has none.
    """
    text = reading.facts.get("statement", "")
    said = sentences(text)
    known = [bank for bank in topics().values() if any(sentence in bank.grades for sentence in said)]
    if not known:
        return Reply.failed("no_known_sentence", text[:120])
    made = {appeal_of(bank.forms[sentence]) for bank in known for sentence in said if sentence in bank.forms}
    present = float(reading.facts.get("appeal") in made)
    return Reply(PRESENT if present else ABSENT, answers={ABSENT: 1 - present, PRESENT: present})


def appeal_of(form: str) -> str:
    """The appeal of a form of sentence."""
    return APPEALS[digest("appeal", form)[0] % len(APPEALS)]


def judge_deviation(reading: Reading, oracle: Oracle) -> Reply:
    """How far has a later version moved from a piece of news? By the distance of their grades in the bank of the same topic."""
    source, later = reading.facts.get("source", ""), reading.facts.get("statement", "")
    scale = reading.facts.get("scale")
    known = [(bank.grade(source), bank.grade(later)) for bank in topics().values()]
    gaps = [abs(one - other) for one, other in known if one is not None and other is not None]
    if not gaps or scale is None:
        return Reply.failed("no_known_sentence", later[:120])
    value = scale.low + gaps[0] / 10 * (scale.high - scale.low)
    shares = {point: max(0.0, 1 - abs(value - point)) for point in range(scale.low, scale.high + 1)}
    allowed = reading.request.answers
    told = dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None
    return Reply(str(max(shares, key=lambda point: shares[point])), answers=told)


def judge_agreement(reading: Reading, oracle: Oracle) -> Reply:
    """How strongly does a statement agree with a claim? By the grade of its sentences."""
    said, claim, scale = (
        reading.facts.get("statement", ""),
        reading.facts.get("claim", ""),
        reading.facts.get("scale"),
    )
    topic = recognised(claim)
    stated = topic and scale and directed(scale, claim, topic)
    if not topic or not stated:
        return Reply.failed("unknown_claim", claim[:120])
    grade = topics()[topic].grade(said)
    if grade is None:
        return Reply.failed("no_known_sentence", said[:120])
    return pick(reading, stated.shares(stated.value(grade)), stated.text, reading.ask, drawn=True)


def judge_payoff(reading: Reading, oracle: Oracle) -> Reply:
    """How strongly would the author of an opinion agree with a statement? By the planted law, from what the opinion shows."""
    issue, opinion = reading.facts.get("issue", ""), reading.facts.get("opinion", "")
    stands, own, scale = read(opinion, issue).stance, shown(opinion), reading.facts.get("scale")
    if scale is None:
        return unknown(reading)
    if stands is None:
        return Reply.failed("no_known_sentence", opinion[:120])
    said = reading.facts.get("statement", "")
    return rate(reading, scale, agreement(stands, own.values, own.demand or None, read(said, issue)), said)


def judge_preference(reading: Reading, oracle: Oracle) -> Reply:
    """Which of two statements would somebody rather agree with? The one to which the planted law gives more agreement."""
    issue, opinion = reading.facts.get("issue", ""), reading.facts.get("opinion", "")
    stands, own = read(opinion, issue).stance, shown(opinion)
    if stands is None:
        return Reply.failed("no_known_sentence", opinion[:120])
    said = {text: read(text, issue) for text in reading.facts.get("candidates", ())}
    if unread := [text for text, one in said.items() if one.stance is None]:
        return Reply.failed("no_known_sentence", unread[0][:120])
    scores = [
        agreement(stands, own.values, own.demand or None, said[text]) or 0.0 for text in reading.facts["candidates"]
    ]
    return _choice(reading, scores[0] - scores[1])


def judge_authorship(reading: Reading, oracle: Oracle) -> Reply:
    """Which of two critiques would somebody rather have written? The one that shows more of the person's habits and verdict."""
    facts = reading.facts
    issue, opinion, draft = facts.get("issue", ""), facts.get("opinion", ""), facts.get("statement", "")
    stands, said = (read(text, issue).stance for text in (opinion, draft))
    if stands is None or said is None:
        return Reply.failed("no_known_sentence", (opinion if stands is None else draft)[:120])
    own = habits([opinion, *facts.get("earlier", ())])
    one, other = (_likeness(own, said - stands, text) for text in facts["candidates"])
    return _choice(reading, one - other)


def _choice(reading: Reading, ahead: float) -> Reply:
    """1 when the first is ahead, 2 when it is behind; when neither is, both alike, or no answer where one has to be written."""
    if not reading.request.answers:
        return Reply.failed("tie") if ahead == 0 else Reply("1" if ahead > 0 else "2")
    share = 0.5 if ahead == 0 else float(ahead > 0)
    return Reply("1" if share >= 0.5 else "2", answers={"1": share, "2": 1 - share})


def _likeness(own: Habit, apart: float, text: str) -> int:
    """How many of opener, demand, closer, values and verdict the text has in common with the person."""
    habit = shown(text)
    alike = [mine == its != "" for mine, its in zip(own[:3], habit[:3], strict=True)]
    return sum(alike) + len(set(own.values) & set(habit.values)) + (_verdict(text) == _kind(apart))


def _kind(apart: float) -> str:
    return "right" if abs(apart) <= law("near") else "yes" if apart > 0 else "no"


def _verdict(text: str) -> str:
    """right, yes (too much of one), no, or nothing known."""
    found = [kind for kind, lines in bank()["verdicts"].items() if any(line in text for line in lines)]
    return found[0].removeprefix("far_") if found else ""
