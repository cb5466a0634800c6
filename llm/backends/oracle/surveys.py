"""Closed questions (ratings on any scale, confidence, the questionnaire), and interview questions.

A scale may run either way round, and have numbers or labels. It may ask for the severity of the topic, for agreement with a known
proposition, for confidence, or in a private deliberation for agreement with an answer or with a statement of the mediator.

Answers to closed questions of a survey, as a member of a group, by the law of people_laws.py; a persona with sentences on
attributes moves them by that of people_laws.py.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from parley.llm.backends.oracle.answer_laws import EXPECTED, STUDIED, repeated, shift_by_wording, toward_interviewer
from parley.llm.backends.oracle.attributes import kinds_in
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.emotions import feeling_now
from parley.llm.backends.oracle.phrases import Banks, first_phrase, unknown_sentence
from parley.llm.backends.oracle.positions import HIGH, LOW, agreement, habit, position_now, read
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.self_questions import answer_self, decline, kinds_of
from parley.llm.backends.oracle.speech import body_of
from parley.llm.backends.oracle.speech_laws import FEELINGS
from parley.llm.backends.oracle.stance import standing, unknown, unread_notes
from parley.llm.purposes import RatingScale
from parley.llm.request import Reply, set_choice
from parley.llm.seeding import stream

SENTENCES = 2


class DirectedScale(NamedTuple):
    """A scale, the direction of its high end (1: the strong one, -1: the weak one), and the form of an answer in words."""

    scale: RatingScale
    direction: int
    sentence: str = ""

    def value(self, attitude: float) -> float:
        """Return an attitude (0-10) on this scale: on 1-7, an attitude of 5 is 4."""
        share = attitude / 10 if self.direction == 1 else 1 - attitude / 10
        return self.scale.low + share * (self.scale.high - self.scale.low)

    def shares(self, value: float) -> dict[int, float]:
        """Return the answer distribution over the points, whose mean is the value."""
        return nearest_shares(self.scale, value)

    def text(self, point: int) -> str:
        """Return the answer in the form asked for."""
        if self.scale.kind == "numeric":
            return str(point)
        label = self.scale.labels[point]
        return self.sentence.replace("{label}", label).replace("{number}", str(point)) if self.sentence else label


def nearest_shares(scale: RatingScale, value: float) -> dict[int, float]:
    """Return a distribution on the two points around a value, whose mean is the value; the other points have 0."""
    return {point: max(0.0, 1 - abs(value - point)) for point in range(scale.low, scale.high + 1)}


def nearest_point(reading: Reading, scale: RatingScale, value: float) -> Reply:
    """Answer with the point nearest to a value, and with the distribution of answers whose mean is the value."""
    shares = nearest_shares(scale, value)
    return Reply(str(max(shares, key=shares.__getitem__)), answers=_answers(reading, shares))


def answer_survey(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with a rating and its exact distribution."""
    facts, topic = reading.facts, reading.topic
    scale = facts.get("scale")
    if scale is None:
        return unknown(reading)
    if "issue" in facts and ("position" in facts or "statement" in facts):
        return _rate_text(reading, scale, speaker)
    if facts.get("construct") == "confidence":
        return _rate_confidence(reading, scale, speaker)
    if facts.get("construct") in FEELINGS:
        return _rate_feeling(reading, scale, speaker)
    if facts.get("construct") in (STUDIED, EXPECTED):
        guess, answer = (
            speaker.laws.suspicion.shares(reading, scale),
            DirectedScale(scale, 1, facts.get("sentence", "")),
        )
        return pick(reading, guess, answer.text, reading.ask, drawn=True)
    stated = topic and _directed_as_asked(reading, scale, topic)
    if not topic or not stated:
        return unknown(reading)
    if facts.get("negated"):
        stated = stated._replace(direction=-stated.direction)
    attitude, unread = speaker.attitude(reading)
    attitude = speaker.laws.swayed(reading, attitude, stated.direction)
    attitude = toward_interviewer(attitude, facts.get("interviewer", ""), stated.direction, speaker.laws.sycophancy)
    attitude = shift_by_wording(reading, attitude, speaker.laws.wording)
    attitude = speaker.laws.suspicion.comply(reading, attitude, stated.direction)
    shares = repeated(reading, scale, stated.shares(stated.value(attitude)), speaker.laws.steady)
    reply = pick(reading, shares, stated.text, reading.ask, attitude)
    reply.notes = unread_notes(unread)
    return reply


def _directed_as_asked(reading: Reading, scale: RatingScale, topic: str) -> DirectedScale | None:
    """Return the scale of a survey question with its direction: on a topic of the user's, the one that the facts state."""
    sentence = reading.facts.get("sentence", "")
    if "own" in reading.facts:
        return DirectedScale(scale, reading.facts["toward"], sentence) if "toward" in reading.facts else None
    return directed(reading.banks, scale, reading.question, topic, sentence)


def pick(
    reading: Reading, shares: Mapping[int, float], text: Callable[[int], str], *name: object, drawn: bool = False
) -> Reply:
    """Answer with a point drawn by the seed and `name`; at temperature 0 with the most probable one, unless `drawn`."""
    if reading.greedy and not drawn:
        point = max(shares, key=shares.__getitem__)
    else:
        point = stream(reading.request.seed, *name).choices(list(shares), list(shares.values()))[0]
    return Reply(text(point), answers=_answers(reading, shares))


def _answers(reading: Reading, shares: Mapping[int, float]) -> dict[str, float] | None:
    """Return the probability of each allowed answer; None where the answers are no points of the scale."""
    allowed = reading.request.answers
    return dict(zip(allowed, shares.values(), strict=True)) if len(allowed) == len(shares) else None


def directed(banks: Banks, scale: RatingScale, question: str, topic: str, sentence: str = "") -> DirectedScale | None:
    """Return the scale of a question with its direction on the topic's axis; None where that would be a guess."""
    strong_end, about = direction_of(banks, scale), _about(banks, question, topic, tuple(scale.labels.values()))
    return DirectedScale(scale, strong_end * about, sentence) if strong_end and about else None


def direction_of(banks: Banks, scale: RatingScale) -> int | None:
    """Return 1 when the high end of the scale is the strong one, -1 when the low end is, None when the labels do not say."""
    low, high = (scale.labels.get(end, "").lower() for end in (scale.low, scale.high))
    if banks.is_ballot((low, high)):
        return 1 if high == banks.words("yes").lower() else -1
    strong, weak = banks.scale_words("high"), banks.scale_words("low")
    if any(word in high for word in strong) or low.startswith(weak):
        return 1
    return -1 if any(word in low for word in strong) or high.startswith(weak) else None


@lru_cache(maxsize=4096)
def _about(banks: Banks, question: str, topic: str, labels: tuple[str, ...]) -> int | None:
    """Return the direction of the construct on the axis of the topic: 1 for severity, that of the proposition for agreement."""
    named, lower = banks.recognised(question), question.lower()
    if not (banks.is_ballot(labels) or banks.agreement_labels.search(" ".join(labels))):
        refers = named is None and banks.pattern("refers").search(question) is not None
        return 1 if named == topic or refers else None
    good_idea = banks.words("good_idea").format(title=banks.topics[topic].title).lower()
    return banks.topics[topic].direction(lower) or (1 if good_idea in lower else None)


def _rate_text(reading: Reading, scale: RatingScale, speaker: Speaker) -> Reply:
    """Rate the agreement with an answer to the question under discussion (the position), or with a mediator's statement."""
    facts, person_habit = reading.facts, habit(reading.banks, reading.persona)
    position = position_now(reading, speaker)
    text = facts.get("position") or facts.get("statement", "")
    content = read(reading.banks, text, facts["issue"])
    if "position" in facts:
        value = {HIGH: position, LOW: HIGH + LOW - position}.get(content.stance or 0.0)
    else:
        value = agreement(reading.banks, position, person_habit.values, person_habit.demand, content)
    return rate(reading, scale, value, text)


def rate(reading: Reading, scale: RatingScale, value: float | None, text: str) -> Reply:
    """Answer with a value from 1 to 7, on the scale that is stated. text: what is rated."""
    if (strong_end := direction_of(reading.banks, scale)) is None:
        return unknown(reading)
    if value is None:
        return unknown_sentence(text)
    stated = DirectedScale(scale, strong_end)
    shares = stated.shares(stated.value(10 * (value - LOW) / (HIGH - LOW)))
    return pick(reading, shares, stated.text, reading.ask, value)


def _rate_confidence(reading: Reading, scale: RatingScale, speaker: Speaker) -> Reply:
    """Rate the confidence: half of the scale in the middle of the axis, all of it at either end (max(a, 10 - a) of 10)."""
    if (own_standing := standing(reading, speaker)) is None:
        return unknown(reading)
    value = scale.low + own_standing.conviction * (scale.high - scale.low)
    reply = pick(reading, nearest_shares(scale, value), str, reading.ask, value)
    reply.notes = own_standing.notes
    return reply


def _rate_feeling(reading: Reading, scale: RatingScale, speaker: Speaker) -> Reply:
    """Rate the valence or arousal, with the low end of the scale for a feeling of 1 and the high end for 7."""
    felt = feeling_now(reading, speaker, reading.facts["construct"])
    value = scale.low + (felt - LOW) / (HIGH - LOW) * (scale.high - scale.low)
    return pick(reading, nearest_shares(scale, value), DirectedScale(scale, 1).text, reading.ask, value)


def answer_questionnaire(reading: Reading, speaker: Speaker) -> Reply:
    """Answer a closed question about oneself by what the persona says of itself, else decline it."""
    answers = reading.request.answers
    if not answers:
        return unknown(reading)
    stated = next((answer for answer in answers[:-1] if said_of(reading.banks, reading.persona, answer)), answers[-1])
    return Reply(stated, answers={answer: float(answer == stated) for answer in answers})


def said_of(banks: Banks, persona: str, answer: str) -> bool:
    """Does a persona say this of itself? Of several answers to one item the first in the bank counts."""
    if decade := banks.pattern("decade").match(answer):
        age = banks.pattern("age").search(persona)
        return age is not None and _in_decade(int(age[1] or age[2]), decade)
    for item in banks.deliberation["items"].values():
        if answer in item:
            stated = (
                text for text, patterns in item.items() if any(re.search(each, persona, re.I) for each in patterns)
            )
            return answer == next(stated, None)
    return False


def _in_decade(age: int, decade: re.Match[str]) -> bool:
    low, high, under, above = decade.groups()
    return int(low) <= age <= int(high) if low else age < int(under) if under else age >= int(above)


def answer_interview(reading: Reading, speaker: Speaker) -> Reply:
    """Answer in one or two sentences: a question that checks personas (UCL study, Table 4), about itself or about what it heard
    (self_questions.py), on a debate topic, or on a known theme.

    Any other question is declined. One for a rating in words of its own, and a text that asks nothing, get no answer.
    """
    question = reading.question
    rng = stream(reading.seed, reading.persona, reading.ask)
    if check_question := validation_question(reading.banks, question):
        return Reply(
            " ".join(
                rng.sample(
                    validation_questions(reading.banks)[check_question][reading.banks.leaning(reading.party)], SENTENCES
                )
            )
        )
    if reading.banks.pattern("rating").search(question):
        return unknown(reading)
    topic, about = reading.banks.recognised(question), theme(reading.banks, question)
    if reply := answer_self(reading, speaker, bool(topic or about)):
        return reply
    if not (topic or about) and kinds_of(reading.banks, question) == ("stand",):
        topic = reading.topic
    elif "?" not in question:
        return unknown(reading)
    if not (topic or about):
        return decline(reading)
    if not topic:
        lines = reading.banks.data("values")["themes"][about][reading.party]
        return Reply(" ".join([*_identity(reading, rng), *rng.sample(lines, SENTENCES)]))
    value, unread = speaker.attitude(reading)
    share, first = speaker.stance_in_interviews, speaker.stance_first
    body = body_of(reading.banks.topics[topic], value, reading, SENTENCES, "", rng, share, first)
    return Reply(" ".join([*_identity(reading, rng), *body]), notes=unread_notes(unread))


def _identity(reading: Reading, rng: random.Random) -> list[str]:
    """Return who is speaking, in half of the answers (a line that names neither the topic nor the debate)."""
    lines = [line for line in reading.banks.data("common")["identity"][reading.party] if "{" not in line]
    return [rng.choice(lines)] if rng.random() < 0.5 else []


@lru_cache(maxsize=4096)
def theme(banks: Banks, question: str) -> str | None:
    """Return the theme whose phrase comes first in a question."""
    return first_phrase(
        question, {name: bank["recognise"] for name, bank in banks.data("values").get("themes", {}).items()}
    )


@lru_cache(maxsize=4096)
def validation_question(banks: Banks, text: str) -> str | None:
    """Return the question that checks personas and is part of a text."""
    plain = text.replace("’", "'").replace("‘", "'").lower()
    return next((question for question in validation_questions(banks) if question.lower() in plain), None)


@cache
def validation_questions(banks: Banks) -> dict[str, dict[str, list[str]]]:
    """Return the sentences of each leaning (left, right, neutral), by question."""
    return {entry["ask"]: entry for entry in banks.data("validation").get("questions", ())}


def answer_poll(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with an option, and the exact share of each option in the group that the prompt names."""
    facts, answers = reading.facts, reading.request.answers
    choices = facts.get("choices", ())
    if not answers or len(answers) != len(choices) or "question" not in facts:
        return unknown(reading)
    reply = Reply(None)
    laws, question = speaker.laws, facts["question"]
    shares = laws.survey.shares(question, choices, facts.get("group", ""))
    if laws.attributes.effect:
        shares = laws.attributes.move(shares, question, choices, kinds_in(reading.banks, reading.persona))
    set_choice(reply, reading.request, shares)
    return reply
