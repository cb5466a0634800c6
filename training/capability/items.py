"""What an item of a task is: a chat, how the reply to it starts, what could come next, and which of it is right.

`prompt_text` writes a chat as one text that a reply is joined to, for any tokenizer.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from parley.agents.persona import DEFAULT, Persona, load_personas
from parley.llm.backends.oracle.phrases import TopicBank, data, recognised, topics
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.names import SLOTS
from parley.llm.request import Message, fold_system_message, plain_text
from parley.training.pocket_corpus.listeners import seated

CHOICES = 4
ME, *OTHERS = SLOTS[: 1 + CHOICES]
"""Who is asked, and who may sit opposite. Names are the tokens that the model in the box has for people."""
SOMEBODY = Message("system", load_personas(DEFAULT)[0].backstory)
"""The persona without a party."""


@dataclass(frozen=True)
class TaskItem:
    """A chat, the start of the reply to it (may be empty), CHOICES ways to go on, and the number of the right one.

    A choice that follows a word begins with a space. `kind` says how the item was made.
    """

    kind: str
    messages: tuple[Message, ...]
    start: str
    choices: tuple[str, ...]
    answer: int = 0


def subjects() -> dict[str, TopicBank]:
    """The topics that the model in the box knows."""
    return {slug: topics()[slug] for slug in taught_topics()}


def questions() -> list[str]:
    """The questions on US politics that it may have been asked: on those topics, or on none."""
    return [question for question in data("questions")["questions"] if recognised(question) in (None, *taught_topics())]


def placed(items: Sequence[TaskItem], rng: random.Random) -> list[TaskItem]:
    """The items in a drawn order, right answers (first so far) moved so that each place holds as many of them, but for one."""
    return [_moved(item, number % CHOICES) for number, item in enumerate(rng.sample(items, len(items)))]


def _moved(item: TaskItem, place: int) -> TaskItem:
    wrong = item.choices[1:]
    return replace(item, choices=(*wrong[:place], item.choices[0], *wrong[place:]), answer=place)


def debate(slug: str, other: str, heard: str, rng: random.Random) -> tuple[Message, ...]:
    """What somebody without a party is sent in a debate of two, once the other has said something (or at its beginning: "")."""
    who = seated(Persona("capability", DEFAULT, ME, SOMEBODY.content), slug, [other], rng)
    if heard:
        who.hear(other, heard)
    return who.compose_speech(0).messages


def opening(slug: str, rng: random.Random) -> str:
    """A line that opens a debate on a topic and says no more."""
    return str(rng.choice(data("common")["opening"]).format(title=topics()[slug].title, frame="debate"))


def prompt_text(messages: Sequence[Message], tokenizer: Any) -> str:
    """The chat up to where the reply begins: through the chat template, or as plain text that ends in a space."""
    from jinja2 import TemplateError  # of the [local] extra, as all that reads chat templates

    if not tokenizer.chat_template:
        return plain_text(messages, closed=False) + " "
    try:
        return _templated(messages, tokenizer)
    except TemplateError:  # some templates know no system role: the persona then opens the first user message
        return _templated(fold_system_message(messages), tokenizer)


def _templated(messages: Sequence[Message], tokenizer: Any) -> str:
    from parley.llm.backends.hf.prompts import DATE

    said = [{"role": message.role, "content": message.content} for message in messages]
    return str(tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False, date_string=DATE))
