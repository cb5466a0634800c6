"""Chats of one question and answer: interviews, backstories, questions about US politics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from parley.agents.persona_generator import generate_persona, list_names
from parley.agents.society import DEFAULT
from parley.agents.topic import load_topic, topic_names
from parley.llm.backends.oracle.phrases import banks
from parley.llm.driver import drive
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling
from parley.training.capability.tasks import WORDING, answerable, seated
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.documents import Document, Fork, Line
from tools.pocket.corpus.listeners import audience, line
from tools.pocket.corpus.people import DEFAULT_TEXT, NO_PERSONA, SIDES, STATED, any_topic, person
from tools.pocket.corpus.persona_facts import persona_facts
from tools.pocket.corpus.self_interviews import lines_heard, self_interview
from tools.pocket.corpus.survey_questions import (
    SAID,
    answered,
    any_probe,
    any_probes,
    asked_in_any_order,
    outspoken,
    stance,
    surveyed_by,
)
from tools.pocket.corpus.unlabelled import unlabelled

SUBJECTS, CENSUS, DEBATED, LEANING = 5, 3, 0.5, 0.25
"""Topics in a census document, questions on each, share of topics on which they are asked at the beginning of a debate, and of
documents of a partisan whose side the chat's first token tells."""
LINES = 12


def singles(seed: int, stage: CorpusSpeaker, count: int) -> Iterator[Document]:
    """`count` documents: interviews (with a persona, the Default's, none; some of several questions), and writing."""
    for number in range(count):
        rng = random.Random(f"{seed} single {number}")
        make = rng.choices(list(KINDS), list(KINDS.values()))[0]
        stage.roles, stage.asked = {}, []
        yield make(rng, stage)


def _interview(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Three to five questions on different subjects to one person."""
    party = rng.choice((SIDES[0], SIDES[0], SIDES[1], SIDES[1], DEFAULT, NO_PERSONA))
    system = _system(party, rng, stage)
    questions = rng.sample(answerable(), rng.randint(3, 5))
    return _asked_in_turn(system, questions, 0.3, rng, stage)


def _shifted(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Two or three questions on one topic to a speaker without party and with another bias, which the answers show."""
    system = _system(rng.choice((DEFAULT, NO_PERSONA)), rng, stage)
    slug = rng.choice(topic_names())
    questions = rng.sample(questions_on(slug), rng.randint(2, 3))
    stage.roles[questions[0]] = stage.shifted(rng.uniform(0.0, 10.0))
    return _asked_in_turn(system, questions, 1.0, rng, stage, learn_from=1)


def _asked_in_turn(
    system: tuple[Message, ...],
    questions: list[str],
    surveyed: float,
    rng: random.Random,
    stage: CorpusSpeaker,
    learn_from: int = 0,
) -> Document:
    """Questions put one after the other, and in a share of cases surveys at the end, on the subject of the last one."""
    messages = system
    topics_, attitudes = [], []
    for question in questions:
        messages = (*messages, Message("user", question))
        request = Request(messages, Sampling(), rng.getrandbits(31), purpose="interview")
        reply = stage.complete([request])[0]
        topic, course = stage.course(request)
        topics_.append(topic)
        attitudes.append(course[-1])
        messages = (*messages, Message("assistant", reply.text or ""))
    slug = banks().recognised(questions[-1])
    forks: list[Fork] = []
    if slug and rng.random() < surveyed:
        for name in dict.fromkeys(any_probes(rng, slug, 3)):
            frame = rng.choice(("interview", "debate"))
            probe = load_topic(slug).probe(name)
            asked_last = (*messages, Message("user", asked_in_any_order(probe, frame, rng)))
            forks.append(answered(surveyed_by(probe, asked_last, rng.getrandbits(31)), stage, rng))
    who = stage.annotated(Document("interview", messages, tuple(forks), learn_from, hidden=learn_from), request)
    return replace(who, topics=tuple(topics_), attitudes=tuple(attitudes))


def _census(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """One person and many questions for a stance, each asked by itself: on several topics, in surveys and speech, in every form.

    Topic by topic either in an interview or at the beginning of a debate. Of some the chat's first token alone tells the party.
    """
    party = rng.choices((*SIDES, STATED, DEFAULT, NO_PERSONA), (0.26, 0.26, 0.30, 0.11, 0.07))[0]
    lean = rng.choice(SIDES) if rng.random() < LEANING else ""
    who = None if party == NO_PERSONA and not lean else person(lean or party, set(), rng, stage, 0.4)
    system = (Message("system", who.backstory),) if who else ()
    shown = rng.choice(((), (Message("system", DEFAULT_TEXT),))) if lean else system
    forks = []
    for slug in rng.sample(topic_names(), SUBJECTS):
        others = rng.sample([name for name in list_names(SIDES[0]) if not who or name != who.name], rng.randint(1, 3))
        listener = seated(who, slug, others, rng) if who and rng.random() < DEBATED else None
        for _ in range(CENSUS):
            forks.append(stance(listener, rng, stage) if listener else _interviewed(system, slug, rng, stage))
    kept = tuple([replace(fork, kept=len(shown)) for fork in forks])
    told = (lean or party) if (lean or party) in SIDES else "none"
    starts = stage.starts(system[0].content) if system else {}
    return Document("census", shown, kept, 99, lean, told, starts)


def _interviewed(system: tuple[Message, ...], slug: str, rng: random.Random, stage: CorpusSpeaker) -> Fork:
    """A question for a stance on a topic, without a debate."""
    spoken = rng.random() < SAID
    probe = load_topic(slug).probe(any_probe(rng, slug))
    frame = rng.choice(("debate", "conversation", "interview"))
    question = rng.choice(questions_on(slug)) if spoken else asked_in_any_order(probe, frame, rng)
    seed = rng.getrandbits(31)
    if spoken:
        return outspoken(_question(system, question, seed), stage, rng)
    return answered(surveyed_by(probe, (*system, Message("user", question)), seed), stage, rng)


def _question(system: tuple[Message, ...], question: str, seed: int) -> Request:
    return Request((*system, Message("user", question)), Sampling(), seed, purpose="interview")


@cache
def questions_on(slug: str) -> list[str]:
    """Interview questions on a topic."""
    return [question for question in answerable() if banks().recognised(question) == slug]


def _system(party: str, rng: random.Random, stage: CorpusSpeaker, brief: float = 0.12) -> tuple[Message, ...]:
    if party == NO_PERSONA:
        return ()
    text = DEFAULT_TEXT if party == DEFAULT else person(party, set(), rng, stage, brief).backstory
    return (Message("system", text),)


def _backstory(rng: random.Random, stage: CorpusSpeaker) -> Document:
    party = rng.choice(SIDES)
    name = rng.choice(list_names(party))
    stage.asked = []
    drive([generate_persona(party, name, rng.getrandbits(31))], stage)
    request, reply = stage.asked[-1]
    return Document("backstory", (*request.messages, Message("assistant", reply.text or "")))


def _lines(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """What many people say on a topic, each from an attitude of its own, and in which word they would put it.

    A debate holds such a word every 900 tokens, a list of lines one every 35: what a sentence stands for is learned here,
    and what sentences go with a word that came first.
    """
    bank = banks().topics[any_topic(rng)]
    people = rng.sample([name for party in SIDES for name in list_names(party)], LINES)
    lines = [line(bank, rng.uniform(0, 10), rng.choice((0.0, 1.0)), rng) for _ in people]
    speeches = [f"{name}: {text}" for name, text in zip(people, lines, strict=True)]
    heard = tuple([Line(bank.grade(text), None) for text in lines])
    return Document("lines", (Message("user", "\n".join(speeches)),), heard=heard)


def _unlabelled(rng: random.Random, stage: CorpusSpeaker) -> Document:
    return unlabelled(rng, stage, answerable())


def _questions(rng: random.Random, stage: CorpusSpeaker) -> Document:
    wording, count = rng.choice(WORDING), rng.choice((3, 5, 10, 10))
    message, facts = Message("user", wording.format(number=count)), Facts(count=count)
    reply = stage.complete([Request((message,), Sampling(), rng.getrandbits(31), (), "questions", facts=facts)])[0]
    return Document("questions", (message, Message("assistant", reply.text or "")))


KINDS = {
    audience: 0.40,
    _interview: 0.10,
    _shifted: 0.11,
    _unlabelled: 0.14,
    _census: 0.20,
    _lines: 0.13,
    persona_facts: 0.60,
    lines_heard: 0.35,
    self_interview: 0.35,
    _backstory: 0.05,
    _questions: 0.02,
}
"""Kinds of documents and their shares."""
