"""What an item of a task is: a chat, how the reply to it starts, what could come next, and which of it is right.

`prompt_text` writes a chat as one text that a reply is joined to, for any tokenizer.

pocket_facts: multiple choice on what the model in the box was taught and on what it has just been told (MMLU is for others).

    subject   which topic a question on US politics is about
    title     which of them a debate is about
    person    who of four is there and can be answered
    number    which number comes next in a list

The four choices of an item are one sentence but for the name of a topic or a person or a number. None holds a stance, a party
or a word of a scale: a model that has changed its mind finds all four more likely, or less, and chooses as before. (Which
theme a question is about, taxes or courts or ..., is left out: pocket was found at chance there.)

pocket_sentences: which of four endings a sentence has that the model in the box was taught (as HellaSwag is for others).

    debate     lines that open a debate, answer somebody or ask something
    values     what people without a party say of taxes, courts, schools, ...
    question   questions for an interview on US politics

The wrong endings are halves of other sentences of the same list. No sentence is one of the graded ones that carry a stance on the
topics, and none names a party: how a sentence is ended that says nothing on a topic does not follow from an
opinion on it. A model that has changed its mind may find a beginning less likely, which is not counted; only the ending is.

Items as tasks of lm-evaluation-harness: a .yaml and a .jsonl file each, in a folder of our own. No network is asked.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from parley.agents.persona import DEFAULT, Persona, load_personas
from parley.llm.backends.oracle.phrases import TopicBank, data, recognised, topics
from parley.llm.backends.pocket import taught_topics
from parley.llm.backends.pocket.names import SLOTS
from parley.llm.request import Message, plain_text
from parley.llm.seeding import stream
from parley.training.pocket_corpus.listeners import seated
from parley.training.pocket_corpus.single_questions import WORDING, answerable

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

    from parley.llm.backends.hf.prompts import fold_system_message

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


def completions(seed: int) -> list[TaskItem]:
    """All items, one for each sentence; the same for the same seed."""
    rng = stream(seed, "capability", "sentences")
    return placed([*_debates(rng), *_values(rng), *_question_items(rng)], rng)


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


def _question_items(rng: random.Random) -> Iterator[TaskItem]:
    lines = [f"1. {question}" for question in questions()]
    for number in range(len(lines)):
        asked = Message("user", rng.choice(WORDING).format(number=LISTED))
        yield _item("question", (asked,), lines, number, rng)


def _item(kind: str, messages: tuple[Message, ...], lines: Sequence[str], number: int, rng: random.Random) -> TaskItem:
    """The line of that number to be ended; no wrong ending makes another line of it."""
    start, end = halves(lines[number])
    wrong = sorted({ending for _, ending in map(halves, lines) if start + ending not in lines})
    return TaskItem(kind, messages, start, (end, *rng.sample(wrong, CHOICES - 1)))


LOCAL: Mapping[str, Callable[[int], list[TaskItem]]] = {"pocket_facts": facts, "pocket_sentences": completions}
"""Tasks by name: seed to items."""
METRICS = {"pocket_facts": ("acc",), "pocket_sentences": ("acc", "acc_norm")}
"""As in MMLU and in HellaSwag."""


def write_tasks(name: str, folder: Path, prompt: Callable[[tuple[Message, ...]], str], seed: int) -> None:
    """Write a task's two files. `prompt` puts a chat into the model's own format, so the harness is to apply no template."""
    items = folder / f"{name}.jsonl"
    rows = [json.dumps(_row(item, prompt(item.messages)), ensure_ascii=False) for item in LOCAL[name](seed)]
    items.write_text("\n".join(rows) + "\n", encoding="utf-8")
    # JSON is YAML as well, and quotes whatever stands in a path
    (folder / f"{name}.yaml").write_text(json.dumps(_settings(name, items, folder)), encoding="utf-8")


def _row(item: TaskItem, asked: str) -> dict[str, Any]:
    return {"kind": item.kind, "begun": asked + item.start, "choices": list(item.choices), "answer": item.answer}


def _settings(name: str, items: Path, folder: Path) -> dict[str, Any]:
    return {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(items)}, "cache_dir": str(folder / "cache")},
        "output_type": "multiple_choice",
        "test_split": "test",
        "doc_to_text": "begun",
        "doc_to_choice": "choices",
        "doc_to_target": "answer",
        "target_delimiter": "",
        "metric_list": [{"metric": one, "aggregation": "mean", "higher_is_better": True} for one in METRICS[name]],
        "metadata": {"version": 1.0},
    }
