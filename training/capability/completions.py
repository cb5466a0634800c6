"""pocket_sentences: which of four endings a sentence has that the model in the box was taught (as HellaSwag is for others).

    debate     lines that open a debate, answer somebody or ask something
    values     what people without a party say of taxes, courts, schools, ...
    question   questions for an interview on US politics

The wrong endings are halves of other sentences of the same list. No sentence is one of the graded ones that carry a stance on the
topics, and none names a party: how a sentence is ended that says nothing on a topic does not follow from an
opinion on it. A model that has changed its mind may find a beginning less likely, which is not counted; only the ending is.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from parley.llm.backends.oracle.phrases import data
from parley.llm.request import Message
from parley.llm.seeding import stream
from parley.training.capability.facts import LISTED
from parley.training.capability.items import (
    CHOICES,
    OTHERS,
    SOMEBODY,
    TaskItem,
    debate,
    opening,
    placed,
    questions,
    subjects,
)
from parley.training.pocket_corpus.single_questions import WORDING, answerable


def completions(seed: int) -> list[TaskItem]:
    """All items, one for each sentence; the same for the same seed."""
    rng = stream(seed, "capability", "sentences")
    return placed([*_debates(rng), *_values(rng), *_questions(rng)], rng)


def halves(sentence: str) -> tuple[str, str]:
    """A sentence's beginning and its ending, of as many words or one more.

    >>> halves("I agree with you, Ann.")
    ('I agree', ' with you, Ann.')
    """
    words = sentence.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), "".join(f" {word}" for word in words[middle:])


def _debates(rng: random.Random) -> Iterator[TaskItem]:
    common = data("common")
    replies = [common[kind] for kind in ("bridge", "agree", "concede", "rebut")]
    probes = common["probe"]["agree"] + common["probe"]["differ"]
    for templates in (common["opening"], common["identity"]["none"], *replies, probes):
        for number in range(len(templates)):
            slug, who = rng.choice(list(subjects())), OTHERS[0]
            slots = {"title": subjects()[slug].title, "frame": "debate", "other": who}
            heard = "" if templates is common["opening"] else opening(slug, rng)
            lines = [template.format(**slots) for template in templates]
            yield _item("debate", debate(slug, who, heard, rng), lines, number, rng)


def _values(rng: random.Random) -> Iterator[TaskItem]:
    lines = [line for theme in data("values")["themes"].values() for line in theme["none"]]
    known = sorted({*questions()} & {*answerable()})
    for number in range(len(lines)):
        asked = Message("user", rng.choice(known))
        yield _item("values", (SOMEBODY, asked), lines, number, rng)


def _questions(rng: random.Random) -> Iterator[TaskItem]:
    lines = [f"1. {question}" for question in questions()]
    for number in range(len(lines)):
        asked = Message("user", rng.choice(WORDING).format(number=LISTED))
        yield _item("question", (asked,), lines, number, rng)


def _item(kind: str, messages: tuple[Message, ...], lines: Sequence[str], number: int, rng: random.Random) -> TaskItem:
    """The line of that number to be ended; no wrong ending makes another line of it."""
    start, end = halves(lines[number])
    wrong = sorted({ending for _, ending in map(halves, lines) if start + ending not in lines})
    return TaskItem(kind, messages, start, (end, *rng.sample(wrong, CHOICES - 1)))
