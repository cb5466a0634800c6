"""What personas of a party answer to neutral questions, at temperature 1 (Taubenfeld et al. 2024, section 5).

The persona is the system message, as in a debate, the question the whole user message. An answer that names the person,
quotes the backstory, steps out of the role or is cut off is dropped with its reason: the data must teach what is said, not
who says it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence, Set
from typing import NamedTuple

from parley.agents.persona import Persona, load_personas, persona_set
from parley.agents.reply_cleaning import is_refusal
from parley.llm.driver import Progress, ask, drive
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream

Run = tuple[str, ...]
QUOTE = 8
"""Words in a row that an answer may not have in common with a backstory."""


class PersonaAnswer(NamedTuple):
    """The `number`-th answer to a question: its text, or why there is none that can be used."""

    question: str
    number: int
    text: str | None
    reason: str = ""


def people(party: str, count: int, seed: int, personas: str = "voters") -> tuple[Persona, ...]:
    """The personas that answer: `count` of a party's in a set, drawn with the seed (D5: one a seed unless told otherwise)."""
    known = load_personas(party, persona_set(personas))
    return tuple(stream(seed, "people", party).sample(known, min(count, len(known))))


def interview(
    who: Sequence[Persona], questions: Sequence[str], each: int, tokens: int, seed: int, backend: Backend,
    unsaid: Sequence[Persona] = (), progress: Progress | None = None,
) -> list[PersonaAnswer]:  # fmt: skip
    """`each` answers to every question, the people taking turns. No answer quotes them, nor any of `unsaid`."""
    asked = [(question, number) for question in questions for number in range(each)]
    persons = [who[place % len(who)] for place in range(len(asked))]
    requests = [_request(person, *one, tokens, seed) for person, one in zip(persons, asked, strict=True)]
    replies = drive([ask(request) for request in requests], backend, progress)
    told = runs(*[person.backstory for person in (*who, *unsaid)])
    return [
        _answer(*one, person, reply, told, tokens) for one, person, reply in zip(asked, persons, replies, strict=True)
    ]


def reasons(answers: Sequence[PersonaAnswer]) -> dict[str, int]:
    """Why answers cannot be used, with counts."""
    return dict(sorted(Counter(answer.reason for answer in answers if answer.text is None).items()))


def problem(reply: Reply, person: Persona, told: Set[Run], tokens: int) -> str:
    """Why an answer cannot be used, or nothing. `told`: the runs of words that it may not have.

    An answer of `tokens` tokens is one that was cut off: learned, it would teach to break off. (One that came to its end with
    the last of them cannot be told from it.)
    """
    if reply.failure:
        return reply.failure.name
    text = reply.text or ""
    if not text.strip():
        return "empty"
    if reply.usage.completion_tokens >= tokens:
        return "cut off"
    if is_refusal(text):
        return "refusal"
    if re.search(rf"\b{re.escape(person.name)}\b", text):
        return "names the person"
    return "quotes a persona" if runs(text) & told else ""


def runs(*texts: str) -> set[Run]:
    """Every QUOTE words in a row: texts quote each other where they share one."""
    found = set()
    for text in texts:
        words = re.findall(r"[a-z']+", text.lower())
        found |= {tuple(words[start : start + QUOTE]) for start in range(len(words) - QUOTE + 1)}
    return found


def _request(person: Persona, question: str, number: int, tokens: int, seed: int) -> Request:
    messages = (Message("system", person.backstory), Message("user", question))
    named, facts = derive(seed, "answer", person.id, question, number), Facts(question=question)
    return Request(messages, Sampling(1.0, tokens), named, purpose="interview", facts=facts)


def _answer(question: str, number: int, person: Persona, reply: Reply, told: Set[Run], tokens: int) -> PersonaAnswer:
    reason = problem(reply, person, told, tokens)
    return PersonaAnswer(question, number, None if reason else " ".join((reply.text or "").split()), reason)
