"""Answers on a social medium: an act, the post that it is about, the words of a search, by the law of act_law.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

from parley.llm.backends.oracle.act_law import ALONE
from parley.llm.backends.oracle.dynamics import Speaker
from parley.llm.backends.oracle.prompt_parser import Reading
from parley.llm.backends.oracle.speech import body_of
from parley.llm.backends.oracle.stance import unknown, unread_notes
from parley.llm.request import Reply
from parley.llm.seeding import stream


def answer_act(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with an act, and the exact probability of each act that is offered."""
    facts = reading.facts
    if (weighed := _weights(reading, speaker)) is None:
        return unknown(reading)
    weights, unread = weighed
    sums = [sum(weights[act]) for act in facts.get("acts", ())]
    if len(sums) != len(reading.request.answers) or not sum(sums):
        return unknown(reading)
    return _choose(reading, sums, unread)


def answer_target(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the number of the post that the act is about, and the exact probability of each."""
    weighed = _weights(reading, speaker)
    acts = reading.facts.get("acts", ())
    if weighed is None or len(acts) != 1:
        return unknown(reading)
    weights, unread = weighed
    if not sum(weights[acts[0]]):
        return Reply.failed("no_known_sentence", "no post of the feed can be read")
    return _choose(reading, weights[acts[0]], unread)


def answer_search(reading: Reading, speaker: Speaker) -> Reply:
    """Answer with the first words of a sentence that says what the speaker thinks."""
    if reading.topic is None:
        return unknown(reading)
    value, unread = speaker.attitude(reading)
    rng = stream(reading.seed, reading.persona, reading.ask)
    body = body_of(reading.banks.topics[reading.topic], value, reading, 1, "", rng)
    count = reading.facts.get("count", 5)
    return Reply(" ".join(body[0].split()[:count]) if body else reading.topic, notes=unread_notes(unread))


def _weights(reading: Reading, speaker: Speaker) -> tuple[dict[str, list[float]], int] | None:
    """Return exp(utility) of each act, about each of its posts, and how many lines could not be read.

    None where the conversation is on no topic of the banks.
    """
    if reading.topic is None:
        return None
    attitude, unread = speaker.attitude(reading)
    facts, bank, law = reading.facts, reading.banks.topics[reading.topic], speaker.laws.acts
    posts = [(bank.grade(text), score) for text, score in facts.get("posts", ())]
    weights: dict[str, list[float]] = {}
    for act, numbers in facts.get("options", {}).items():
        about = [posts[number - 1] for number in numbers]
        weights[act] = [
            0.0 if grade is None else math.exp(law.utility(act, abs(grade - attitude), score)) for grade, score in about
        ]
        if act in ALONE:
            weights[act] = [math.exp(law.constants[act])]
    return weights, unread + sum(grade is None for grade, _ in posts)


def _choose(reading: Reading, weights: Sequence[float], unread: int) -> Reply:
    """Answer with one of the allowed answers, drawn by its weight; at temperature 0 with the most probable one."""
    answers = reading.request.answers
    if reading.greedy:
        chosen = answers[max(range(len(answers)), key=weights.__getitem__)]
    else:
        name = "act", reading.persona, reading.ask
        chosen = stream(reading.request.seed, *name).choices(answers, weights)[0]
    shares = {answer: weight / sum(weights) for answer, weight in zip(answers, weights, strict=True)}
    return Reply(chosen, answers=shares, notes=unread_notes(unread))
