"""Held-out loss: the loss of pocket on new text of the kinds that pocket was trained on, without opinions.

    backstory   the first three sentences of one: who a person is, how they live, what they do on weekends
    questions   lists of questions on US politics
    opening     the first sentence of a debate, on any topic

The rule-based speaker writes the texts, or they are drawn from its openings, in combinations that a corpus has only by chance.
The prompt of a backstory names a party (half of them each); the part that counts does not. No sentence carries a stance, so a
changed opinion costs nothing. A part of the loss is chance (which question comes next), also for a perfect model: compare a
model before and after, on the same text. With another tokenizer, nats per token refer to other tokens.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from parley.agents.persona_generator import generate_persona, list_names
from parley.agents.society import load_society
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import sentences
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.names import mask_names, name_tokens
from parley.llm.request import Message
from parley.llm.seeding import stream
from parley.training.capability.chats import WORDING
from parley.training.capability.tasks import LISTED, OTHERS, debate, opening, questions
from parley.training.likelihood import Text, likelihoods

EACH = 40
"""Texts of each kind."""
NEUTRAL = 3
"""Sentences of a backstory before the first with a party or a position."""


def heldout(seed: int) -> list[Text]:
    """Return all texts; the same for the same seed."""
    rng, speaker = stream(seed, "capability", "heldout"), Oracle()
    backstories = [_backstory(number, rng, speaker) for number in range(EACH)]
    lists = [_question_list(number, rng) for number in range(EACH)]
    return [*backstories, *lists, *[_opening(number, rng) for number in range(EACH)]]


def _backstory(number: int, rng: random.Random, speaker: Oracle) -> Text:
    party = load_society().debaters[number % 2]
    (request,) = next(generate_persona(party, rng.choice(list_names(party)), rng.getrandbits(31)))
    (reply,) = speaker.complete([request])
    answer = Message("assistant", " ".join(sentences(reply.text or "")[:NEUTRAL]))
    *messages, masked = mask_names([*request.messages, answer], name_tokens(request.messages))
    return Text(tuple(messages), masked.content)


def _question_list(number: int, rng: random.Random) -> Text:
    request = Message("user", WORDING[number % len(WORDING)].format(number=LISTED))
    listed = enumerate(rng.sample(questions(), LISTED), 1)
    return Text((request,), "\n".join(f"{place}. {question}" for place, question in listed))


def _opening(number: int, rng: random.Random) -> Text:
    slugs = taught_topics()
    slug = slugs[number % len(slugs)]
    return Text(debate(slug, OTHERS[0], "", rng), opening(slug, rng))


def loss(texts: Sequence[Text], model: Any, tokenizer: Any, batch: int) -> tuple[float, int]:
    """Return the mean cross-entropy of the replies' tokens in nats, and the number of these tokens."""
    values = likelihoods(texts, model, tokenizer, batch)
    count = sum(value.tokens for value in values)
    return -sum(value.logp for value in values) / count, count
