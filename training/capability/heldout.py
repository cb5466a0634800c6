"""Held-out loss: what the model in the box was taught, written anew, in which nobody says what they think.

    who        the first three sentences of a backstory: who somebody is, how they live, what they do on weekends
    questions  lists of questions on US politics
    opening    the first sentence of a debate, on any topic

Written by the known-truth speaker, or drawn from its openings, in combinations that no corpus has but by chance. The prompt of a
backstory names a party (half of them each); what is counted of it does not. No sentence carries a stance, so a model that
has changed its mind loses nothing by that. A part of the loss is chance (which question comes next) and stays with a perfect
model: compare a model before and after, on the same text. With another tokenizer, nats a token are nats of other tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from parley.agents.persona_generator import generate_persona, list_names
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.names import mask_names, name_tokens
from parley.llm.driver import drive
from parley.llm.request import Message
from parley.llm.seeding import stream
from parley.training.capability.tasks import LISTED, OTHERS, debate, opening, questions
from parley.training.likelihood import Text, likelihoods
from parley.training.pocket_corpus.corpus_speaker import CorpusSpeaker
from parley.training.pocket_corpus.single_questions import WORDING

EACH = 40
"""Texts of each kind."""
NEUTRAL = 3
"""Sentences of a backstory before the first with a party or a position."""


def heldout(seed: int) -> list[Text]:
    """All texts; the same for the same seed."""
    rng, stage = stream(seed, "capability", "heldout"), CorpusSpeaker()
    return [kind(number, rng, stage) for kind in (_who, _questions, _opening) for number in range(EACH)]


def _who(number: int, rng: random.Random, stage: CorpusSpeaker) -> Text:
    party = ("republican", "democrat")[number % 2]
    stage.asked = []
    drive([generate_persona(party, rng.choice(list_names(party)), rng.getrandbits(31))], stage)
    request, reply = stage.asked[-1]
    told = Message("assistant", " ".join(sentences(reply.text or "")[:NEUTRAL]))
    *asked, said = mask_names([*request.messages, told], name_tokens(request.messages))
    return Text(tuple(asked), said.content)


def _questions(number: int, rng: random.Random, stage: CorpusSpeaker) -> Text:
    asked = (Message("user", WORDING[number % len(WORDING)].format(number=LISTED)),)
    listed = enumerate(rng.sample(questions(), LISTED), 1)
    return Text(asked, "\n".join(f"{place}. {question}" for place, question in listed))


def _opening(number: int, rng: random.Random, stage: CorpusSpeaker) -> Text:
    known = taught_topics()
    slug = known[number % len(known)]
    return Text(debate(slug, OTHERS[0], "", rng), opening(slug, rng))


def loss(texts: Sequence[Text], model: Any, tokenizer: Any, batch: int) -> tuple[float, int]:
    """Mean cross-entropy of the replies' tokens in nats, and how many tokens they are."""
    found = likelihoods(texts, model, tokenizer, batch)
    count = sum(one.tokens for one in found)
    return -sum(one.logp for one in found) / count, count
