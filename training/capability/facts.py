"""pocket_facts: multiple choice on what the model in the box was taught and on what it has just been told (MMLU is for others).

    subject   which topic a question on US politics is about
    title     which of them a debate is about
    person    who of four is there and can be answered
    number    which number comes next in a list

The four choices of an item are one sentence but for the name of a topic or a person or a number. None holds a stance, a party
or a word of a scale: a model that has changed its mind finds all four more likely, or less, and chooses as before. (Which
theme a question is about, taxes or courts or ..., is left out: pocket was found at chance there.)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from parley.llm.backends.oracle.phrases import data, recognised
from parley.llm.request import Message
from parley.llm.seeding import stream
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

LISTS, LISTED = 60, 10
"""Lists to be gone on with, and questions asked for in each."""


def facts(seed: int) -> list[TaskItem]:
    """All items; the same for the same seed."""
    rng = stream(seed, "capability", "facts")
    return placed([*_subjects(rng), *_titles(rng), *_people(rng), *_numbers(rng)], rng)


def _subjects(rng: random.Random) -> Iterator[TaskItem]:
    """Answers to interview questions begin with their subject ("I think racism is a ...")."""
    begun = {slug: bank.stance.partition(" {label}")[0].removeprefix("I think") for slug, bank in subjects().items()}
    for question in answerable():
        if (slug := recognised(question)) in begun:
            for system in ((), (SOMEBODY,)):
                messages = (*system, Message("user", question))
                yield TaskItem("subject", messages, "I think", _choices(slug, begun, rng))


def _titles(rng: random.Random) -> Iterator[TaskItem]:
    """Lines with which debaters begin, each on every topic."""
    for line in (*data("common")["opening"], *data("common")["bridge"]):
        start, named, end = line.replace("{frame}", "debate").partition("{title}")
        for slug in subjects() if named else ():
            gap = " " if start else ""
            titles = {other: f"{gap}{bank.title}{end}" for other, bank in subjects().items()}
            messages = debate(slug, OTHERS[0], "", rng)
            yield TaskItem("title", messages, start.rstrip(), _choices(slug, titles, rng))


def _people(rng: random.Random) -> Iterator[TaskItem]:
    """Lines that address somebody, in a debate of two where the other has spoken."""
    for line in addresses():
        slug, other = rng.choice(list(subjects())), rng.choice(OTHERS)
        start, _, end = line.replace("{title}", subjects()[slug].title).partition("{other}")
        gap = " " if start else ""
        people = {name: f"{gap}{name}{end}" for name in OTHERS}
        messages = debate(slug, other, opening(slug, rng), rng)
        yield TaskItem("person", messages, start.rstrip(), _choices(other, people, rng))


def addresses() -> Sequence[str]:
    """Every line that names who is answered or asked."""
    common = data("common")
    lines = (common["agree"], common["concede"], common["rebut"], common["probe"]["agree"], common["probe"]["differ"])
    return [line for group in lines for line in group]


def _numbers(rng: random.Random) -> Iterator[TaskItem]:
    """Lists of questions that end before a number."""
    for _ in range(LISTS):
        asked, length = rng.choice(WORDING).format(number=LISTED), rng.randint(2, LISTED - 1)
        said = enumerate(rng.sample(questions(), length), 1)
        numbers = {str(number): f"{number}." for number in range(1, LISTED + 1)}
        start = "".join(f"{number}. {question}\n" for number, question in said)
        yield TaskItem("number", (Message("user", asked),), start, _choices(str(length + 1), numbers, rng))


def _choices(right: str, texts: dict[str, str], rng: random.Random) -> tuple[str, ...]:
    """The right one's text first, then those of others."""
    others = rng.sample([other for other in texts if other != right], CHOICES - 1)
    return (texts[right], *(texts[other] for other in others))
