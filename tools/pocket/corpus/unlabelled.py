"""A person whose party is not stated, and shows in what the person says.

A party's way of answering is thereby one thing that a context sets, on all subjects and in every form of question at once, and
that fine-tuning on answers can set as well. Of most of them the chat's first token tells the side (LEANING); of the others it
has to be heard, so that their first reply is not learned.
"""

from __future__ import annotations

import random
from dataclasses import replace

from parley.agents.persona import Persona
from parley.agents.persona_generator import list_names
from parley.agents.topic import load_topic
from parley.llm.request import Message, Request, Sampling
from parley.training.capability.tasks import seated
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.documents import Document, Fork
from tools.pocket.corpus.people import DEFAULT_TEXT, SIDES, any_topic, person
from tools.pocket.corpus.survey_questions import answered, any_probe, asked_in_any_order, surveyed_by

LEANING = 0.6
"""Share of them whose side the chat's first token tells."""
SAID, RATED = (2, 4), (2, 4)
"""Fewest and most questions answered in speech, and in surveys after them."""


def unlabelled(rng: random.Random, stage: CorpusSpeaker, questions: tuple[str, ...]) -> Document:
    """A partisan's answers to some of the questions and to turns of debates, behind a Default's persona or none; then surveys.

    Each is answered as by a person who has said and heard nothing else.
    """
    who = person(rng.choice(SIDES), set(), rng, stage, 0.4)
    system = (Message("system", who.backstory),)
    shown: tuple[Message, ...] = rng.choice(((), (Message("system", DEFAULT_TEXT),)))
    attitudes: list[float | None] = []
    about: list[str] = []
    for _ in range(rng.randint(*SAID)):
        request = _spoken(who, system, rng, questions)
        reply = stage.complete([request])[0]
        shown = (*shown, request.messages[-1], Message("assistant", reply.text or ""))
        topic, course = stage.course(request)
        attitudes.append(course[-1])
        about.append(topic)
    forks = [_rated(who, system, rng, stage) for _ in range(rng.randint(*RATED))]
    kept = tuple([replace(fork, kept=len(shown)) for fork in forks])
    leaning = rng.random() < LEANING
    return Document(
        "unlabelled",
        shown,
        kept,
        0 if leaning else 1,
        who.party if leaning else "",
        party=who.party,
        hidden=0 if leaning else 1,
        topics=tuple(about),
        attitudes=tuple(attitudes),
    )


def _spoken(who: Persona, system: tuple[Message, ...], rng: random.Random, questions: tuple[str, ...]) -> Request:
    """A question of an interview, or the first turn of a debate."""
    if rng.random() < 0.6:
        return Request(
            (*system, Message("user", rng.choice(questions))), Sampling(), rng.getrandbits(31), (), "interview"
        )
    return seated(who, any_topic(rng), _others(who, rng), rng).compose_speech(rng.getrandbits(31))


def _rated(who: Persona, system: tuple[Message, ...], rng: random.Random, stage: CorpusSpeaker) -> Fork:
    """A survey on any topic, in a debate or apart from one."""
    slug = any_topic(rng)
    probe = load_topic(slug).probe(any_probe(rng, slug))
    if rng.random() < 0.5:
        debater = seated(who, slug, _others(who, rng), rng)
        return answered(debater.compose_survey(probe, rng.getrandbits(31)), stage, rng)
    frame = rng.choice(("debate", "conversation", "interview"))
    question = Message("user", asked_in_any_order(probe, frame, rng))
    return answered(surveyed_by(probe, (*system, question), rng.getrandbits(31)), stage, rng)


def _others(who: Persona, rng: random.Random) -> list[str]:
    return rng.sample([name for name in list_names(SIDES[0]) if name != who.name], rng.randint(1, 3))
