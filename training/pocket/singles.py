"""Chats of one question and answer: interviews, backstories, questions about US politics."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from agents.persona import DEFAULT
from agents.recruit import names, recruit
from agents.topic import Probe, load_topic, slugs
from llm.backends.oracle.banks import data, recognised, topics
from llm.backends.oracle.mind import dither
from llm.driver import drive
from llm.request import Message, Request, Sampling
from training.pocket.debates import PROBES
from training.pocket.documents import Document, Fork
from training.pocket.people import DEFAULT_TEXT, person
from training.pocket.stage import Stage

CENSUS = 3
"""Survey questions a topic, at most, in a census document."""
LINES = 12
WORDING = (
    "Generate {number} questions to elicit one's opinion regarding US politics.",
    "Generate {number} neutral questions to elicit one's opinion regarding US politics.",
    "Write {number} questions that elicit a person's opinion on US politics.",
)


def singles(seed: int, stage: Stage, count: int) -> Iterator[Document]:
    """`count` documents: interviews (with a persona, the Default's, none; some of several questions), and writing."""
    for number in range(count):
        rng = random.Random(f"{seed} single {number}")
        make = rng.choices(list(KINDS), list(KINDS.values()))[0]
        stage.roles, stage.asked = {}, []
        yield make(rng, stage)


@cache
def answerable() -> tuple[str, ...]:
    """The questions that the known-truth speaker answers."""
    speaker = Stage()
    asked = [Request((Message("user", question),), Sampling(), 0) for question in data("questions")["questions"]]
    return tuple(request.messages[0].content for request in asked if speaker.complete([request])[0].text is not None)


def _interview(rng: random.Random, stage: Stage) -> Document:
    """Three to five questions on different subjects to one person."""
    party = rng.choice(("republican", "republican", "democrat", "democrat", DEFAULT, "nobody"))
    system = _system(party, rng, stage)
    asked = rng.sample(answerable(), rng.randint(3, 5))
    return _asked_in_turn(system, asked, 0.3, rng, stage)


def _shifted(rng: random.Random, stage: Stage) -> Document:
    """Two or three questions on one topic to somebody without party and with another bias, which the answers show."""
    system = _system(rng.choice((DEFAULT, "nobody")), rng, stage)
    slug = rng.choice(slugs())
    asked = rng.sample([question for question in answerable() if recognised(question) == slug], rng.randint(2, 3))
    stage.roles[asked[0]] = stage.shifted(rng.uniform(0.0, 10.0))
    return _asked_in_turn(system, asked, 1.0, rng, stage, learn_from=1)


def _asked_in_turn(
    system: tuple[Message, ...],
    asked: list[str],
    surveyed: float,
    rng: random.Random,
    stage: Stage,
    learn_from: int = 0,
) -> Document:
    """Questions put one after the other, and in a share of cases surveys at the end, on the subject of the last one."""
    messages = system
    for question in asked:
        messages = (*messages, Message("user", question))
        reply = stage.complete([Request(messages, Sampling(), rng.getrandbits(31))])[0]
        messages = (*messages, Message("assistant", reply.text or ""))
    slug = recognised(asked[-1])
    forks: list[Fork] = []
    if slug and rng.random() < surveyed:
        for name in dict.fromkeys(rng.choices(list(PROBES), list(PROBES.values()), k=3)):
            frame = rng.choice(("interview", "debate"))
            forks.append(_asked(messages, load_topic(slug).probe(name), frame, rng, stage))
    return Document("interview", messages, tuple(forks), learn_from)


def _census(rng: random.Random, stage: Stage) -> Document:
    """One person and many survey questions, each asked by itself: on every topic, in every form."""
    party = rng.choices(("republican", "democrat", DEFAULT, "nobody"), (0.44, 0.44, 0.08, 0.04))[0]
    system = _system(party, rng, stage, brief=0.4)
    forks = []
    for slug in slugs():
        for name in dict.fromkeys(rng.choices(list(PROBES), list(PROBES.values()), k=CENSUS)):
            frame = rng.choice(("debate", "conversation", "interview"))
            forks.append(_asked(system, load_topic(slug).probe(name), frame, rng, stage))
    return Document("census", system, tuple(forks), 99)


def _system(party: str, rng: random.Random, stage: Stage, brief: float = 0.12) -> tuple[Message, ...]:
    if party == "nobody":
        return ()
    text = DEFAULT_TEXT if party == DEFAULT else person(party, set(), rng, stage, brief).backstory
    return (Message("system", text),)


def _asked(messages: tuple[Message, ...], probe: Probe, frame: str, rng: random.Random, stage: Stage) -> Fork:
    """A survey question put after some messages, and its answer."""
    question = probe.ask(frame)
    request = Request((*messages, Message("user", question)), Sampling(), rng.getrandbits(31), probe.scale.answers)
    reply = stage.complete([request])[0]
    likely = {answer: share for answer, share in (reply.answers or {}).items() if share > 0}
    return Fork(len(messages), question, reply.text or "", likely)


def _backstory(rng: random.Random, stage: Stage) -> Document:
    party = rng.choice(("republican", "democrat"))
    name = rng.choice(names(party))
    stage.asked = []
    drive([recruit(party, name, rng.getrandbits(31))], stage)
    request, reply = stage.asked[-1]
    return Document("backstory", (*request.messages, Message("assistant", reply.text or "")))


def _lines(rng: random.Random, stage: Stage) -> Document:
    """What many people say on a topic, each from an attitude of its own, and last in which word they would put it.

    A debate holds such a word every 900 tokens, a list of lines one every 35: what a sentence stands for is learned here.
    """
    bank = topics()[rng.choice(slugs())]
    people = rng.sample([name for party in ("republican", "democrat") for name in names(party)], LINES)
    said = []
    for name in people:
        value, draw = rng.uniform(0, 10), rng.random()
        forms = rng.sample(bank.by_grade[dither(value, 2, draw)], 1 + (rng.random() < 0.5))
        said.append(f"{name}: {' '.join(map(rng.choice, forms))} {bank.stance_sentence(dither(value, 1, draw))}")
    return Document("lines", (Message("user", "\n".join(said)),))


def _questions(rng: random.Random, stage: Stage) -> Document:
    ask = rng.choice(WORDING).format(number=rng.choice((3, 5, 10, 10)))
    message = Message("user", ask)
    reply = stage.complete([Request((message,), Sampling(), rng.getrandbits(31))])[0]
    return Document("questions", (message, Message("assistant", reply.text or "")))


KINDS = {_interview: 0.25, _shifted: 0.25, _census: 0.25, _lines: 0.15, _backstory: 0.07, _questions: 0.03}
"""Kinds of documents and their shares."""
