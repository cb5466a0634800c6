"""chatter: a speaker that sees messages alone, for rehearsals. `--llm chatter`

It knows no purpose, no facts and no list of answers. It reads what the last message asks for, in English, picks one of the forms
that are offered there by chance, and says it as chat models do (llm/manners.py), with as many tokens as it has. So a command that
loses its replies has a prompt that does not say what it wants, or a reader that is too strict. It has no opinions: its results
mean nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from parley.llm.manners import CLOSED, FREE, said
from parley.llm.request import Reply, Request, Usage
from parley.llm.seeding import digest

LETTERS_A_TOKEN, NEAR = 4, 500
"""Characters of a token, and of the end of a message, where a question says how it is to be answered."""
_RANGE = re.compile(r"from (-?\d+)(?: \([^)]*\))? to (-?\d+)")
_FORM = re.compile(r"in exactly this form: (.+)", re.S)
_NAMED = re.compile(r"(-?\d+)(?: means)? ([^,.:;]+?)(?=, | and \d|\.|$)")
_ONE_OF = re.compile(r"exactly one of these: (.+?)\.(?:\s|$)", re.S)
_LISTED = re.compile(r"(?:letters?|numbers?|brackets)(?: only)?[:,] ([^:]+?)(?:,? and nothing else)?\.(?:\s|$)")
_EITHER = re.compile(
    r'(?:Answer|Say)(?: with)? "([^"]+)"(?: when [^"]+ and| or|,) "([^"]+)"|Answer with (\w+) or (\w+)[ .]'
)
_RANKED = re.compile(r"^([A-Z]): ", re.M)
_LABELS = re.compile(r"([A-Z][a-z]+): [a-z]")
_COUNT = re.compile(r"\b(?:Give|Generate|Think of|Write|Which) (\d+|two|three)\b")
_SPEAKER = re.compile(r"^([A-Z][\w.' -]{0,40}): ", re.M)
_NUMBERS = {"two": 2, "three": 3}
SENTENCES = (
    "I have thought about this for a long time, and I think that it matters to people like me.",
    "Where I live, people talk about it at work and at home, and few of them agree.",
    "Something has to change, but not in a way that leaves others behind.",
    "I hear what you say, and I see it in another way.",
    "What counts for me in the end is whether it is fair to those who work hard.",
    "We should look at what has been tried elsewhere before we decide.",
)


def open_backend(model: str = "") -> Chatter:
    """Open the speaker. model: any name, for a second speaker that is another one (`chatter:judge`)."""
    return Chatter(model)


class Chatter:
    """The speaker as a backend."""

    in_flight = 0

    def __init__(self, name: str = ""):
        self._name = name

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"backend": "chatter", "model": self._name or "chatter"}

    def seedless(self, request: Request) -> bool:
        return False

    def complete(self, requests: Sequence[Request]) -> list[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        rng = random.Random(digest("chatter", self._name, request.messages, request.seed))
        question = request.messages[-1].content
        choose = next(filter(None, (way(question) for way in CLOSED_WAYS)), None)
        text = choose(rng) if choose else write(question, rng)
        manner = rng.choice(sorted(CLOSED if choose else FREE))
        text = said(text, manner, choose is not None)[: LETTERS_A_TOKEN * request.sampling.max_tokens]
        return Reply(text, usage=Usage(len(question) // LETTERS_A_TOKEN, len(text) // LETTERS_A_TOKEN + 1))


Choice = Callable[[random.Random], str]


def sentence_form(question: str) -> Choice | None:
    """Choose a label, and fill it into the sentence that a survey question asks for."""
    form = _FORM.search(question)
    if form is None or "[" not in form[1]:
        return None
    sentence = form[1].strip()
    if listed := re.search(r"The possible answers are: (.+?)\. Choose", question):
        return lambda rng: re.sub(r"\[\w+\]", rng.choice(listed[1].split(", ")), sentence, count=1)
    scale = re.search(r"The scale goes from -?\d+ to -?\d+: (.+?)\. Answer", question)
    points = _NAMED.findall(scale[1]) if scale else []
    if not points:
        return None

    def choose(rng: random.Random) -> str:
        number, label = rng.choice(points)
        return re.sub(r"\[\w+\]", number, re.sub(r"\[\w+\]", label, sentence, count=1), count=1)

    return choose


def listed_form(question: str) -> Choice | None:
    """Choose one of the answers that a question lists: words, letters or numbers."""
    near = question[-NEAR:]
    if choice_list := _ONE_OF.search(question):
        answers = choice_list[1].split("; ")
    elif either := list(_EITHER.finditer(near)):
        answers = [word for word in either[-1].groups() if word]
    elif listed := list(_LISTED.finditer(near)):
        answers = re.split(r",? or |, ", listed[-1][1].rstrip("."))
    else:
        return None
    return lambda rng: rng.choice(answers)


def number_form(question: str) -> Choice | None:
    """Choose a number of the last range that a question states."""
    ranges = _RANGE.findall(question[-NEAR:]) if "number" in question[-NEAR:] else []
    return (lambda rng: str(rng.randint(*map(int, ranges[-1])))) if ranges else None


def ranking_form(question: str) -> Choice | None:
    """Rank the statements that are listed by letters."""
    letters = list(dict.fromkeys(_RANKED.findall(question)))
    return (
        (lambda rng: " > ".join(rng.sample(letters, len(letters))))
        if "arrow" in question and len(letters) > 1
        else None
    )


CLOSED_WAYS = (ranking_form, sentence_form, number_form, listed_form)
"""Ways in which a message asks for one of some answers, the most special first."""


def write(prompt: str, rng: random.Random) -> str:
    """Write sentences in the form that a message asks for: labelled lines, a list, a description of a person, or prose."""
    if form := _FORM.search(prompt):
        return "\n".join(f"{label}: {rng.choice(SENTENCES)}" for label in _LABELS.findall(form[1]))
    if "one line for each speaker" in prompt:
        return (
            "\n".join(f"{name}: {rng.choice(SENTENCES)}" for name in dict.fromkeys(_SPEAKER.findall(prompt)))
            or SENTENCES[0]
        )
    if "one line of the form Name" in prompt:
        return f"{rng.choice(('Maria', 'Tom', 'Lena'))} {rng.choice('ABCDEF')}.: You like to help, and you say what you think."
    count = next((_NUMBERS.get(number) or int(number) for number in _COUNT.findall(prompt)), 0)
    if count and re.search(r"on a line|piece of advice a line|numbered", prompt):
        return "\n".join(f"{number}. {rng.choice(SENTENCES)}" for number in range(1, count + 1))
    if "the passages" in prompt and (passage := re.search(r"^\[?(\d+)\]?[.:)]? (.+)$", prompt, re.M)):
        return f'That is not so: "{" ".join(passage[2].split()[:6])}" [{passage[1]}]. {rng.choice(SENTENCES)}'
    if named := re.search(r'"You are ([^."]+?)(?:, \.\.\.|[."])|"you"', prompt):
        return f"You are {named[1]}. You work hard." if named[1] else "You keep a small garden behind the house."
    return " ".join(rng.sample(SENTENCES, 2))
