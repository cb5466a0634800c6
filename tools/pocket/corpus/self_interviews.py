"""A person is asked about itself, about what it heard in a debate, and about things that it does not know.

The questions and answers are those of the oracle (llm/backends/oracle/self_questions.py). Of each kind a few wordings
(`held_out` in banks/en/self.toml) are never asked, so that they can test whether the kind was learned and not its wordings.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

from parley.agents.agent import Debater
from parley.agents.persona import Persona
from parley.agents.persona_generator import list_names
from parley.agents.society import DEFAULT
from parley.llm.backends.oracle.phrases import banks, expand
from parley.llm.backends.oracle.surveys import validation_questions
from parley.llm.purposes import Facts
from parley.llm.request import DECLINED, Message, Request, Sampling
from parley.training.capability.tasks import seated
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker, attitude_course
from tools.pocket.corpus.documents import Document, Fork
from tools.pocket.corpus.listeners import STANCE, line
from tools.pocket.corpus.people import DEFAULT_TEXT, LEANINGS, NO_PERSONA, SIDES, STATED, any_topic, person

ALONE = 0.45
"""Share of documents that are an interview; the others are a debate with questions put apart from it."""
WHO = {"name": 5, "job": 5, "age": 4, "home": 4, "married": 3, "children": 3, "family": 3, "party": 6, "self": 5}
ASKED_ALONE = {"who": 0.40, "unknown": 0.22, "validation": 0.23, "opinion": 0.15}
"""Questions of an interview, and their shares."""
ASKED_AFTER = {
    "changed": 0.16,
    "said": 0.17,
    "thinks": 0.07,
    "agree_with": 0.06,
    "agree": 0.08,
    "disagree": 0.07,
    "who_said": 0.07,
    "own": 0.06,
    "stand": 0.10,
    "who": 0.08,
    "unknown": 0.08,
}
"""Questions in a debate, and their shares."""
LINES, SPEAKS, ASKED, OUTSIDE, ABSENT = (2, 12), 0.2, 0.7, 0.1, 0.2
"""Fewest and most lines heard; shares of lines after which it speaks, and is asked; of questions about a speaker those about
a person who is not there, and about one who is there and may have said nothing."""
FEW_LINES, MANY = (1, 4), 8
"""Of a short debate the fewest and most lines, and the questions at its end."""
COMBINED = ("What is your name and job?", "What is your name and age?", "What is your name, and where do you live?")
LEADS = ("", "", "", "", "", "So, ", "Now, ", "Please tell us, ", "One more thing, ")
PEOPLE = {"partisan": 0.46, "enhanced": 0.16, "simple": 0.14, DEFAULT: 0.13, STATED: 0.06, NO_PERSONA: 0.05}
"""Who is asked, and the shares: backstories, and texts in the forms of the other sets of personas."""
STATES = (
    "Ohio",
    "Georgia",
    "Oregon",
    "Nevada",
    "Michigan",
    "Virginia",
    "Kansas",
    "Maine",
    "Colorado",
    "Alabama",
    "Arizona",
)
NEWS = ("local radio and two newspapers", "public television", "a morning newspaper", "friends and the evening news")


def self_interview(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Several questions to one person: in an interview, or during a debate that it hears."""
    return _interview(rng, stage) if rng.random() < ALONE else _listener(rng, stage)


def _interview(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Three to six questions, one after the other: who it is, the questions that check personas, opinions, and anything else."""
    kind = _drawn(PEOPLE, rng)
    messages: tuple[Message, ...] = (
        () if kind == NO_PERSONA else (Message("system", someone(kind, rng, stage).backstory),)
    )
    for _ in range(rng.randint(3, 6)):
        question, told = _asked_alone(_drawn(ASKED_ALONE, rng), rng)
        messages = (*messages, Message("user", told))
        facts = Facts(question=question)
        request = Request(messages, Sampling(), rng.getrandbits(31), (), "interview", facts=facts)
        reply = stage.complete([request])[0]
        messages = (*messages, Message("assistant", reply.text or ""))
    return replace(stage.annotated(Document("self", messages), request), topics=(), attitudes=())


def _asked_alone(kind: str, rng: random.Random) -> tuple[str, str]:
    """Return a question, and the message that asks it."""
    if kind == "validation":
        question = rng.choice(list(validation_questions(banks())))
        ask = "Answer in your own voice, as the person you are, in at most 50 words."
        return question, rng.choice((question, f"{question} {ask}"))
    if kind == "opinion":
        about = [question for question in _opinions() if banks().recognised(question)]
        question = rng.choice(about if rng.random() < 0.6 else _opinions())
    else:
        question = wording(kind, "", rng)
    return question, question


def lines_heard(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Return a debate of a few lines, and many questions about them at its end."""
    return replace(_listener(rng, stage, FEW_LINES, MANY), kind="few_lines")


def _listener(rng: random.Random, stage: CorpusSpeaker, count: tuple[int, int] = LINES, at_end: int = 2) -> Document:
    """A person hears the lines of a debate and says a few; in between it is asked, and forgets questions and answers."""
    slug = any_topic(rng)
    kind = _drawn({kind: share for kind, share in PEOPLE.items() if kind != NO_PERSONA}, rng)
    me = someone(kind, rng, stage)
    names = rng.sample([name for name in _names() if name != me.name], rng.randint(2, 5))
    others, outsider = names[:-1], names[-1]
    listener = seated(me, slug, others, rng)
    speaking = others[: max(1, len(others) - (rng.random() < 0.3))]
    courses = [attitude_course(rng) for _ in speaking]
    forks = [_fork(listener, [*others, outsider], rng, stage)] if rng.random() < 0.25 else []
    for number in range(rng.randint(*count)):
        place = number % len(speaking)
        value = courses[place][number // len(speaking)]
        listener.hear(speaking[place], line(banks().topics[slug], value, STANCE, rng))
        if rng.random() < ASKED:
            forks.append(_fork(listener, [*others, outsider], rng, stage))
        if rng.random() < SPEAKS:
            listener.absorb_speech(stage.complete([listener.compose_speech(rng.getrandbits(31))])[0])
    forks += [_fork(listener, [*others, outsider], rng, stage) for _ in range(at_end)]
    request = listener.compose_speech(0)
    return stage.annotated(Document("self", request.messages, tuple(forks)), request)


def _fork(listener: Debater, names: list[str], rng: random.Random, stage: CorpusSpeaker) -> Fork:
    """A question as the page puts it to an agent between two rounds. names: the others, and last a person who is not there."""
    heard, draw = sorted(listener.memory.names), rng.random()
    name = names[-1] if draw < OUTSIDE else rng.choice(names[:-1] if draw < ABSENT + OUTSIDE or not heard else heard)
    question = wording(_drawn(ASKED_AFTER, rng), name, rng)
    request = listener.compose_interview(question, rng.getrandbits(31))
    reply = stage.complete([request])[0]
    return stage.fork(request, request.messages[-1].content, reply.text or "", {})


def wording(kind: str, name: str, rng: random.Random) -> str:
    """Return a question of a kind in one of the wordings that are not held out; sometimes with a few words before it."""
    if kind == "who":
        kind = _drawn(WHO, rng)
        if kind in ("name", "job") and rng.random() < 0.3:
            return rng.choice(COMBINED)
    question = str(rng.choice(_wordings(kind))).replace("{name}", name)
    if kind == "unknown":
        question = rng.choice(
            [
                candidate
                for candidate in expand(question, banks().data("self")["unknown"]["slots"])
                if candidate not in _held_out()
            ]
        )
    lead = rng.choice(LEADS)
    if not lead or not question.endswith("?"):
        return question
    keep = question.startswith(("I ", name)) if name else question.startswith("I ")
    return f"{lead}{question if keep else question[0].lower() + question[1:]}"


@cache
def _wordings(kind: str) -> tuple[str, ...]:
    return tuple(banks().data("self")[kind]["ask"])


@cache
def _opinions() -> list[str]:
    """Return the questions on politics that the oracle has an answer to."""
    requests = {
        text: Request((Message("user", text),), Sampling(), 0, (), "interview")
        for text in banks().data("questions")["questions"]
    }
    replies = {text: CorpusSpeaker().complete([request])[0] for text, request in requests.items()}
    return [text for text, reply in replies.items() if reply.text is not None and DECLINED not in reply.notes]


@cache
def _held_out() -> frozenset[str]:
    return frozenset(banks().data("self")["unknown"]["held_out"])


@cache
def _names() -> tuple[str, ...]:
    return tuple([name for party in (*SIDES, DEFAULT) for name in list_names(party)])


def _drawn(shares: dict, rng: random.Random) -> str:
    return str(rng.choices(list(shares), list(shares.values()))[0])


def someone(kind: str, rng: random.Random, stage: CorpusSpeaker) -> Persona:
    """Return an invented person, told of in the form of one of the sets of personas."""
    party, name = rng.choice((*SIDES, *SIDES, DEFAULT)), rng.choice(_names())
    if kind == "partisan":
        return person(rng.choice(SIDES), set(), rng, stage)
    if kind == "enhanced":
        facts: Facts = {
            "name": name,
            "leaning": LEANINGS["leaning"][party],
            "location": rng.choice(STATES),
            "news": rng.choice(NEWS),
        }
        request = Request((Message("user", name),), Sampling(), rng.getrandbits(31), (), "persona", facts=facts)
        return Persona("corpus", party, name, _without_labels(stage.complete([request])[0].text or ""))
    if kind == "simple":
        age = rng.choice((*range(22, 79), *[0] * 40))
        who = (
            f"a {age}-year-old American" if age else rng.choice(("an American", "an American man", "an American woman"))
        )
        name = rng.choice(list_names(DEFAULT)) if who.endswith("man") else name
        told = " ".join([f"You are {name}, {who}.", *filter(None, [LEANINGS["supports"].get(party)])])
        return Persona("corpus", party, name, told)
    if kind == DEFAULT:
        return Persona("corpus", DEFAULT, name, DEFAULT_TEXT)
    return person(STATED, set(), rng, stage)


def _without_labels(text: str) -> str:
    """Return a persona without the sentences that hold a word that answers surveys (`check` in corpus.py)."""
    labels = {label for bank in banks().topics.values() for label in bank.labels}
    kept = [
        sentence
        for sentence in text.split(". ")
        if not labels & set(sentence.lower().replace(",", "").rstrip(".").split())
    ]
    return ". ".join(kept).rstrip(".") + "."
