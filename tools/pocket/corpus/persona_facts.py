"""A person is asked for one fact of its persona at a time: name, age, job, home, family, party.

To answer is to look a word up. Among long chats a training never began to do it (tools/log), so these are short: one persona,
whole or a few of its sentences, and many questions apart from each other. What the few sentences lack is declined.
"""

from __future__ import annotations

import random

from parley.llm.backends.oracle.phrases import sentences
from parley.llm.request import Message, Request, Sampling
from tools.pocket.corpus.corpus_speaker import CorpusSpeaker
from tools.pocket.corpus.documents import Document
from tools.pocket.corpus.self_interviews import someone, wording

QUESTIONS, MOST_SENTENCES = (6, 10), 4
"""Fewest and most questions to one person; most sentences of a persona that is cut short."""
SHORT = 0.6
"""Share of personas cut short."""
PEOPLE = {"partisan": 0.7, "enhanced": 0.15, "simple": 0.15}
"""Who is asked, and the shares (`someone` in self_interviews.py)."""


def persona_facts(rng: random.Random, stage: CorpusSpeaker) -> Document:
    """Return one persona and 6 to 10 questions about it, none of which is remembered."""
    who = someone(rng.choices(list(PEOPLE), list(PEOPLE.values()))[0], rng, stage).backstory
    if rng.random() < SHORT:
        who = _cut(who, rng)
    system = Message("system", who)
    forks = []
    for _ in range(rng.randint(*QUESTIONS)):
        request = Request(
            (system, Message("user", wording("who", "", rng))), Sampling(), rng.getrandbits(31), (), "interview"
        )
        reply = stage.complete([request])[0]
        forks.append(stage.fork(request, request.messages[-1].content, reply.text or "", {}))
    return Document("facts", (system,), tuple(forks))


def _cut(text: str, rng: random.Random) -> str:
    """Return the first sentence of a persona and up to three others, in their order."""
    first, *others = sentences(text)
    places = sorted(rng.sample(range(len(others)), min(len(others), rng.randint(0, MOST_SENTENCES - 1))))
    return " ".join([first, *(others[place] for place in places)])
