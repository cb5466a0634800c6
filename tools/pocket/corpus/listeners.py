"""A listener: after every line it is asked for a reply or a rating, and remembers nothing of that."""

from __future__ import annotations

import random

from parley.agents.persona_generator import list_names
from parley.llm.backends.oracle.dynamics import dither
from parley.llm.backends.oracle.phrases import TopicBank, banks
from parley.training.capability.tasks import seated
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker, attitude_course
from tools.pocket.corpus.documents import Document
from tools.pocket.corpus.people import PARTIES, SIDES, STATED, any_topic, person
from tools.pocket.corpus.survey_questions import answered, stance

LINES = (2, 12)
"""Fewest and most lines heard."""
SPEECH = 0.3
"""Share of questions that ask for a reply in the debate; the others ask for a stance."""
STANCE = 0.6
"""Share of lines with the stance sentence."""
IDLE = (
    "I hear you.",
    "Thank you.",
    "I see.",
    "Let us go on.",
    "All right.",
    "I have nothing to add.",
    "Yes, I am listening.",
    "Please go on.",
)
"""Lines without any content."""


def audience(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """What each line does to one person: in a debate a rating follows many lines at once, here one more at a time."""
    slug, taken = any_topic(rng), set[str]()
    me = person(rng.choice((*PARTIES, STATED)), taken, rng, stage, 0.3)
    others = rng.sample([name for side in SIDES for name in list_names(side) if name not in taken], rng.randint(1, 4))
    listener = seated(me, slug, others, rng)
    courses = [attitude_course(rng) for _ in others]
    idling = rng.choice((0.0, 0.0, 0.1, 0.5, 1.0))
    forks = [stance(listener, rng, stage)]
    for number in range(rng.randint(*LINES)):
        place = number % len(others)
        value = courses[place][number // len(others)]
        text = idle(slug, rng) if rng.random() < idling else line(banks().topics[slug], value, STANCE, rng)
        listener.hear(others[place], text)
        spoken = rng.random() < SPEECH
        request = listener.compose_speech(rng.getrandbits(31))
        forks.append(answered(request, stage, rng) if spoken else stance(listener, rng, stage))
    request = listener.compose_speech(0)
    return stage.annotated(Document("audience", request.messages, tuple(forks)), request)


def line(bank: TopicBank, value: float, share: float, rng: random.Random) -> str:
    """One or two sentences of one grade and, in a share of lines, the stance sentence somewhere among them."""
    draw = rng.random()
    forms = rng.sample(bank.by_grade[dither(value, 2, draw)], 1 + (rng.random() < 0.5))
    sentences = [rng.choice(form) for form in forms]
    if rng.random() < share:
        sentences.insert(rng.randrange(len(sentences) + 1), bank.stance_sentence(dither(value, 1, draw)))
    return " ".join(sentences)


def idle(slug: str, rng: random.Random) -> str:
    """A line that expresses no opinion on the topic: the hearer is moved by nothing but its own pull."""
    common = banks().data("common")
    kind = rng.choice((IDLE, IDLE, common["opening"], common["bridge"], common["closing"]["lines"]))
    slots = {"title": banks().topics[slug].title, "frame": "debate"}
    return " ".join([chosen.format(**slots) for chosen in rng.sample(kind, 1 + (rng.random() < 0.3))])
