"""Two tasks for pocket, made from the texts that pocket was trained on, and their files for lm-evaluation-harness.

pocket_facts (in place of MMLU): multiple choice on what the model was taught and on what the chat says.

    subject   which topic a question on US politics is about
    title     which topic a debate is about
    person    which of four people is present and can be answered
    number    which number comes next in a list

pocket_sentences (in place of HellaSwag): which of four endings a sentence has that the model was taught.

    debate     lines that open a debate, answer an agent or ask something
    values     statements of people without a party on taxes, courts, schools, ...
    question   questions for an interview on US politics

A changed opinion must not change a score. Therefore the four choices of a fact differ only in the name of a topic, in a person or
in a number, and contain no stance, no party and no word of a scale. The wrong endings of a sentence are endings of others of the
same list. No sentence carries a stance on a topic or names a party. (Questions about a theme, such as taxes or courts, are left
out: pocket was at chance there.)
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path

import mesa

from parley.agents.agent import Debater
from parley.agents.persona import Persona, load_personas
from parley.agents.society import DEFAULT
from parley.agents.speech import DebateStyle
from parley.agents.topic import load_topic
from parley.llm.backends.oracle.backend import Oracle
from parley.llm.backends.oracle.phrases import TopicBank, banks
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.prompt_ids import SLOTS
from parley.llm.request import DECLINED, Message, Request, Sampling
from parley.llm.seeding import stream

WORDING = (
    "Generate {number} questions to elicit one's opinion regarding US politics.",
    "Generate {number} neutral questions to elicit one's opinion regarding US politics.",
    "Write {number} questions that elicit a person's opinion on US politics.",
)
"""Requests for a list of questions."""
LISTINGS = {"given": 0.6, "reversed": 0.2, "shuffled": 0.2}
"""Orders in which the answers to a survey question are listed, and their shares."""


@cache
def answerable() -> tuple[str, ...]:
    """Return the questions on US politics that the rule-based speaker answers without declining."""
    questions = banks().data("questions")["questions"]
    requests = [Request((Message("user", question),), Sampling(), 0, purpose="interview") for question in questions]
    replies = zip(questions, Oracle().complete(requests), strict=True)
    return tuple([question for question, reply in replies if reply.text is not None and DECLINED not in reply.notes])


def any_listing(rng: random.Random) -> str:
    """Return an order in which answers are listed."""
    return rng.choices(list(LISTINGS), list(LISTINGS.values()))[0]


def seated(who: Persona, slug: str, others: Sequence[str], rng: random.Random) -> Debater:
    """Return a person at the beginning of a debate on a topic, with the names of the others."""
    frame = rng.choice(("debate", "conversation"))
    style = DebateStyle(frame, 60, Sampling(), 1.0, "whole", "strict", listing=any_listing(rng))
    return Debater(mesa.Model(), who, load_topic(slug), others, style)


CHOICES = 4
LISTS, LISTED = 60, 10
"""Lists that the model continues, and the questions that each asks for."""
ME, *OTHERS = SLOTS[: 1 + CHOICES]
"""The person who is asked, and those who may sit opposite. The names are the tokens that pocket has for people."""
NEUTRAL_PERSONA = Message("system", load_personas(DEFAULT)[0].backstory)
"""The persona without a party."""


@dataclass(frozen=True)
class TaskItem:
    """A chat, CHOICES beginnings of the reply, and the number of the right one. `kind` says how the item was made."""

    kind: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...]
    answer: int = 0


def facts(seed: int) -> list[TaskItem]:
    """Return all items of pocket_facts; the same for the same seed."""
    rng = stream(seed, "capability", "facts")
    items = [*_subject_items(rng), *_title_items(rng), *_person_items(rng), *_number_items(rng)]
    return _balanced(items, rng)


def completions(seed: int) -> list[TaskItem]:
    """Return all items of pocket_sentences, one per sentence; the same for the same seed."""
    rng = stream(seed, "capability", "sentences")
    return _balanced([*_debate_items(rng), *_value_items(rng), *_question_items(rng)], rng)


LOCAL: Mapping[str, Callable[[int], list[TaskItem]]] = {"pocket_facts": facts, "pocket_sentences": completions}
"""The tasks by name: seed to items."""
METRICS = {"pocket_facts": ("acc",), "pocket_sentences": ("acc", "acc_norm")}
"""As in MMLU and in HellaSwag."""


def subjects() -> dict[str, TopicBank]:
    """Return the topics that pocket knows."""
    return {slug: banks().topics[slug] for slug in taught_topics()}


def questions() -> list[str]:
    """Return the questions on US politics that are on one of these topics, or on none."""
    return [
        question
        for question in banks().data("questions")["questions"]
        if banks().recognised(question) in (None, *taught_topics())
    ]


def debate(slug: str, other: str, heard: str, rng: random.Random) -> tuple[Message, ...]:
    """Return the chat of a person without a party in a debate of two, after the other one said `heard` ("": at its start)."""
    me = seated(Persona("capability", DEFAULT, ME, NEUTRAL_PERSONA.content), slug, [other], rng)
    if heard:
        me.hear(other, heard)
    return me.compose_speech(0).messages


def opening(slug: str, rng: random.Random) -> str:
    """Return a line that opens a debate on a topic without a stance."""
    return str(rng.choice(banks().data("common")["opening"]).format(title=banks().topics[slug].title, frame="debate"))


def _balanced(items: Sequence[TaskItem], rng: random.Random) -> list[TaskItem]:
    """Return the items in a drawn order, with the right answer (first so far) at each place in turn."""
    balanced = []
    for number, item in enumerate(rng.sample(items, len(items))):
        (right, *wrong), place = item.choices, number % CHOICES
        balanced.append(replace(item, choices=(*wrong[:place], right, *wrong[place:]), answer=place))
    return balanced


def _item(kind: str, messages: tuple[Message, ...], start: str, endings: Sequence[str]) -> TaskItem:
    """Return an item whose choices have one start: a token may reach from the start into the ending, so they stay together."""
    return TaskItem(kind, messages, tuple([start + ending for ending in endings]))


def _subject_items(rng: random.Random) -> Iterator[TaskItem]:
    """Answers to interview questions begin with their subject ("I think racism is a ...")."""
    begun = {slug: bank.stance.partition(" {label}")[0].removeprefix("I think") for slug, bank in subjects().items()}
    for question in answerable():
        if (slug := banks().recognised(question)) in begun:
            for system in ((), (NEUTRAL_PERSONA,)):
                messages = (*system, Message("user", question))
                yield _item("subject", messages, "I think", _choices(slug, begun, rng))


def _title_items(rng: random.Random) -> Iterator[TaskItem]:
    """Lines with which debaters begin, each on every topic."""
    for line in (*banks().data("common")["opening"], *banks().data("common")["bridge"]):
        start, named, end = line.replace("{frame}", "debate").partition("{title}")
        for slug in subjects() if named else ():
            gap = " " if start else ""
            titles = {other: f"{gap}{bank.title}{end}" for other, bank in subjects().items()}
            messages = debate(slug, OTHERS[0], "", rng)
            yield _item("title", messages, start.rstrip(), _choices(slug, titles, rng))


def _person_items(rng: random.Random) -> Iterator[TaskItem]:
    """Lines that address a person, in a debate of two where the other one has spoken."""
    common = banks().data("common")
    lines = (common["agree"], common["concede"], common["rebut"], common["probe"]["agree"], common["probe"]["differ"])
    for line in chain.from_iterable(lines):
        slug, other = rng.choice(list(subjects())), rng.choice(OTHERS)
        start, _, end = line.replace("{title}", subjects()[slug].title).partition("{other}")
        gap = " " if start else ""
        people = {name: f"{gap}{name}{end}" for name in OTHERS}
        messages = debate(slug, other, opening(slug, rng), rng)
        yield _item("person", messages, start.rstrip(), _choices(other, people, rng))


def _number_items(rng: random.Random) -> Iterator[TaskItem]:
    """Lists of questions that end before a number."""
    numbers = {str(number): f"{number}." for number in range(1, LISTED + 1)}
    for _ in range(LISTS):
        request, length = rng.choice(WORDING).format(number=LISTED), rng.randint(2, LISTED - 1)
        listed = enumerate(rng.sample(questions(), length), 1)
        start = "".join(f"{number}. {question}\n" for number, question in listed)
        yield _item("number", (Message("user", request),), start, _choices(str(length + 1), numbers, rng))


def _choices(right: str, texts: Mapping[str, str], rng: random.Random) -> tuple[str, ...]:
    """Return the right text first, then those of others."""
    others = rng.sample([other for other in texts if other != right], CHOICES - 1)
    return (texts[right], *(texts[other] for other in others))


def halves(sentence: str) -> tuple[str, str]:
    """Return a sentence's beginning and its ending; the ending has as many words or one more.

    >>> halves("I agree with you, Ann.")
    ('I agree', ' with you, Ann.')
    """
    words = sentence.split()
    middle = len(words) // 2
    return " ".join(words[:middle]), "".join(f" {word}" for word in words[middle:])


def _debate_items(rng: random.Random) -> Iterator[TaskItem]:
    common = banks().data("common")
    replies = [common[kind] for kind in ("bridge", "agree", "concede", "rebut")]
    probes = common["probe"]["agree"] + common["probe"]["differ"]
    for templates in (common["opening"], common["identity"]["none"], *replies, probes):
        for number in range(len(templates)):
            slug, other = rng.choice(list(subjects())), OTHERS[0]
            slots = {"title": subjects()[slug].title, "frame": "debate", "other": other}
            heard = "" if templates is common["opening"] else opening(slug, rng)
            lines = [template.format(**slots) for template in templates]
            yield _completion("debate", debate(slug, other, heard, rng), lines, number, rng)


def _value_items(rng: random.Random) -> Iterator[TaskItem]:
    lines = [line for theme in banks().data("values")["themes"].values() for line in theme["none"]]
    answerable_questions = sorted({*questions()} & {*answerable()})
    for number in range(len(lines)):
        yield _completion(
            "values", (NEUTRAL_PERSONA, Message("user", rng.choice(answerable_questions))), lines, number, rng
        )


def _question_items(rng: random.Random) -> Iterator[TaskItem]:
    lines = [f"1. {question}" for question in questions()]
    for number in range(len(lines)):
        request = Message("user", rng.choice(WORDING).format(number=LISTED))
        yield _completion("question", (request,), lines, number, rng)


def _completion(
    kind: str, messages: tuple[Message, ...], lines: Sequence[str], number: int, rng: random.Random
) -> TaskItem:
    """Return the item of one line. No wrong ending makes another line of the list."""
    start, end = halves(lines[number])
    wrong = sorted({ending for _, ending in map(halves, lines) if start + ending not in lines})
    return _item(kind, messages, start, (end, *rng.sample(wrong, CHOICES - 1)))


def write_tasks(name: str, folder: Path, prompt: Callable[[tuple[Message, ...]], str], seed: int) -> None:
    """Write a task's .yaml and .jsonl. `prompt` writes a chat in the model's own format, so the harness applies no template."""
    path = folder / f"{name}.jsonl"
    rows = [
        {"kind": item.kind, "begun": prompt(item.messages), "choices": item.choices, "answer": item.answer}
        for item in LOCAL[name](seed)
    ]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    settings = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(path)}, "cache_dir": str(folder / "cache")},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "begun",
        "doc_to_choice": "choices",
        "doc_to_target": "answer",
        "target_delimiter": "",
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in METRICS[name]
        ],
        "metadata": {"version": 1.0},
    }
    # JSON is valid YAML, and quotes every character of a path
    (folder / f"{name}.yaml").write_text(json.dumps(settings), encoding="utf-8")
