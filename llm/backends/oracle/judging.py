"""Judges of what others said: grades, leanings, appeals, who made the better case.

In a deliberation they apply the planted law of positions.py to what the texts show.

Who made the better case in a debate, with the exact probability of each answer.

A judge finds the case better that moves it further toward the side that is argued, by the law of messages (speech_laws.py),
with `taste`, `place` and `longer` as there.
"""

from __future__ import annotations

from functools import cache

from parley.llm.backends.oracle.belief_network import appeal_of
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.emotions import NEUTRAL, said_tone
from parley.llm.backends.oracle.mediation import habits, verdict
from parley.llm.backends.oracle.phrases import Banks, sentences, unknown_sentence
from parley.llm.backends.oracle.positions import Habit, agreement, read, shown
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.stance import unknown
from parley.llm.backends.oracle.surveys import (
    directed,
    nearest_point,
    pick,
    rate,
    validation_question,
    validation_questions,
)
from parley.llm.request import Reply
from parley.llm.seeding import stream

NO, YES = "Not aligned", "Aligned"
LEANINGS = ("right", "left", "neutral")
ABSENT, PRESENT = "Absent", "Present"


def judge_alignment(reading: Reading, speaker: Speaker) -> Reply:
    """Does an answer fit a person? `Aligned` is as likely as the share of its known sentences that are this leaning's own."""
    question, text = reading.facts.get("question", ""), reading.facts.get("statement", "")
    if (check_question := validation_question(reading.banks, question)) is None:
        return Reply.failed("unknown_question", question[:120])
    sides = [
        leanings(reading.banks)[check_question, sentence]
        for sentence in sentences(text)
        if (check_question, sentence) in leanings(reading.banks)
    ]
    if not sides:
        return unknown_sentence(text)
    share = sides.count(reading.banks.leaning(reading.banks.party(reading.facts.get("person", "")))) / len(sides)
    aligned = stream(reading.request.seed, reading.ask).random() < share
    return Reply(YES if aligned else NO, answers={NO: 1 - share, YES: share})


@cache
def leanings(banks: Banks) -> dict[tuple[str, str], str]:
    """Return the leaning (left, right, neutral) of each sentence that answers a question, by question and sentence."""
    return {
        (question, sentence): side
        for question, entry in validation_questions(banks).items()
        for side in LEANINGS
        for sentence in entry[side]
    }


def judge_appeal(reading: Reading, speaker: Speaker) -> Reply:
    """Is an appeal made in a statement? Each form of sentence of the banks has one, by a digest of the form.

    It is planted so that it can be found again, and does not follow from the meaning. Sentences that answer a survey or frame a
    reply (address, opening, question) have none.
    """
    text = reading.facts.get("statement", "")
    parts = sentences(text)
    topic_banks = [bank for bank in reading.banks.topics.values() if any(sentence in bank.grades for sentence in parts)]
    if not topic_banks:
        return unknown_sentence(text)
    appeals = {appeal_of(bank.forms[sentence]) for bank in topic_banks for sentence in parts if sentence in bank.forms}
    present = float(reading.facts.get("dimension") in appeals)
    return Reply(PRESENT if present else ABSENT, answers={ABSENT: 1 - present, PRESENT: present})


def judge_sentiment(reading: Reading, speaker: Speaker) -> Reply:
    """How negative or positive is what a statement says? By the planted tone of its sentences on feeling; neutral without one."""
    text, scale = reading.facts.get("statement", ""), reading.facts.get("scale")
    if scale is None:
        return unknown(reading)
    tone = said_tone(reading.banks, text)
    if tone is None and all(bank.grade(text) is None for bank in reading.banks.topics.values()):
        return unknown_sentence(text)
    value = (NEUTRAL if tone is None else tone) / 10
    return nearest_point(reading, scale, scale.low + value * (scale.high - scale.low))


def judge_agreement(reading: Reading, speaker: Speaker) -> Reply:
    """How strongly does a statement agree with a claim? By the grade of its sentences."""
    text, claim = reading.facts.get("statement", ""), reading.facts.get("claim", "")
    topic, scale = reading.banks.recognised(claim), reading.facts.get("scale")
    stated = topic and scale and directed(reading.banks, scale, claim, topic)
    if not topic or not stated:
        return Reply.failed("unknown_claim", claim[:120])
    grade = reading.banks.topics[topic].grade(text)
    if grade is None:
        return unknown_sentence(text)
    return pick(reading, stated.shares(stated.value(grade)), stated.text, reading.ask, drawn=True)


def judge_payoff(reading: Reading, speaker: Speaker) -> Reply:
    """How strongly would the author of an opinion agree with a statement? By the planted law, from what the opinion shows."""
    issue, opinion = reading.facts.get("issue", ""), reading.facts.get("opinion", "")
    text, scale = reading.facts.get("statement", ""), reading.facts.get("scale")
    if scale is None:
        return unknown(reading)
    if read(reading.banks, opinion, issue).stance is None:
        return unknown_sentence(opinion)
    return rate(reading, scale, _author_agreement(reading.banks, opinion, text, issue), text)


def judge_preference(reading: Reading, speaker: Speaker) -> Reply:
    """Which of two statements would a person rather agree with? The one to which the planted law gives more agreement."""
    issue, opinion = reading.facts.get("issue", ""), reading.facts.get("opinion", "")
    if read(reading.banks, opinion, issue).stance is None:
        return unknown_sentence(opinion)
    first, second = (_author_agreement(reading.banks, opinion, text, issue) for text in reading.facts["candidates"])
    if first is None or second is None:
        return unknown_sentence(reading.facts["candidates"][first is not None])
    return _choice(reading, first - second)


def _author_agreement(banks: Banks, opinion: str, text: str, issue: str) -> float | None:
    """Return the agreement (1 to 7) of an opinion's author with a text; None when the text's stance is unknown."""
    position, opinion_habit = read(banks, opinion, issue).stance, shown(banks, opinion)
    assert position is not None
    return agreement(banks, position, opinion_habit.values, opinion_habit.demand or None, read(banks, text, issue))


def judge_authorship(reading: Reading, speaker: Speaker) -> Reply:
    """Which of two critiques would a person rather have written? The one that shows more of its habits and verdict."""
    facts = reading.facts
    issue, opinion, draft = facts.get("issue", ""), facts.get("opinion", ""), facts.get("statement", "")
    position, stance = (read(reading.banks, text, issue).stance for text in (opinion, draft))
    if position is None or stance is None:
        return unknown_sentence(opinion if position is None else draft)
    author_habit = habits(reading.banks, [opinion, *facts.get("earlier", ())])
    first, second = (_likeness(reading.banks, author_habit, stance - position, text) for text in facts["candidates"])
    return _choice(reading, first - second)


def _choice(reading: Reading, ahead: float) -> Reply:
    """Answer 1 when the first is ahead, 2 when it is behind. A tie is both alike, or a failure where text is wanted."""
    if not reading.request.answers:
        return Reply.failed("tie") if ahead == 0 else Reply("1" if ahead > 0 else "2")
    share = 0.5 if ahead == 0 else float(ahead > 0)
    return Reply("1" if share >= 0.5 else "2", answers={"1": share, "2": 1 - share})


def _likeness(banks: Banks, author_habit: Habit, apart: float, text: str) -> int:
    """Count how many of opener, demand, closer, values and verdict a text has in common with a person."""
    habit = shown(banks, text)
    same = [mine == its != "" for mine, its in zip(author_habit[:3], habit[:3], strict=True)]
    verdicts = (kind for kind, lines in banks.deliberation["verdicts"].items() if any(line in text for line in lines))
    return (
        sum(same)
        + len(set(author_habit.values) & set(habit.values))
        + (next(verdicts, "").removeprefix("far_") == verdict(banks, apart))
    )
