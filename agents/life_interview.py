"""A long interview as a backstory: question after question, each answer given with all questions and answers before it.

An answer that contradicts age, work or family of what was said before (clashes.toml of the language; none in German) is
asked for again. The questions are in life_interview.toml of a language. Source: Higher-Order Binding (2025); the
departures are in docs/stereotypes.md.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.persona_generator import find_clash
from parley.llm.driver import Conversation, ask
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.seeding import derive

ATTEMPTS = 3
WORDS, TOKENS = 80, 200


class Interview(NamedTuple):
    """The turns of a finished interview as messages of a chat, and why it ended early ("": it did not)."""

    turns: tuple[Message, ...]
    reason: str = ""
    again: int = 0


def life_questions(language: Language, count: int) -> tuple[str, ...]:
    """Return the first `count` questions of the interview. Errors: UserError without the file, and for more than there are."""
    questions = tuple(language.data("life_interview")["questions"])
    if count > len(questions):
        raise UserError(f"the interview has {len(questions)} questions, so {count} cannot be asked")
    return questions[:count]


def interview_life(
    persona: Persona, questions: tuple[str, ...], language: Language, seed: int
) -> Conversation[Interview]:
    """Return the interview of a persona. It ends, with a reason, where a question has no usable answer in ATTEMPTS replies."""
    turns: tuple[Message, ...] = (Message("system", persona.backstory),)
    again = 0
    for number, question in enumerate(questions):
        asked = (*turns, Message("user", language.prompt("interview").fill(question=question, words=WORDS)))
        wrong: str | None = None
        for attempt in range(ATTEMPTS):
            own = derive(seed, "life", persona.party, persona.variant, persona.name, number, attempt)
            facts: Facts = {"question": question, "words": WORDS}
            reply = yield from ask(Request(asked, Sampling(1.0, TOKENS), own, (), "interview", facts=facts))
            wrong = answer_problem(reply, asked, language)
            if wrong is None:
                break
            again += 1
        if wrong is not None:
            return Interview(turns[1:], f"question {number + 1}: {wrong}", again)
        turns = (*asked, Message("assistant", " ".join((reply.text or "").split())))
    return Interview(turns[1:], "", again)


def answer_problem(reply: Reply, before: tuple[Message, ...], language: Language) -> str | None:
    """Return what is wrong with an answer after these messages, or None: a failure, no words, or a contradiction."""
    if reply.failure:
        return reply.failure.name
    if not (reply.text or "").strip():
        return "empty"
    system, *turns = [message for message in before if message.role != "user"]
    said = " ".join(message.content for message in turns)
    already, now = (
        find_clash(f"{system.content} {_second_person(text, language)}", language)
        for text in (said, f"{said} {reply.text}")
    )
    return f"contradiction ({now})" if now and now != already else None


def _second_person(text: str, language: Language) -> str:
    for found, form in language.data("life_interview")["second_person"]:
        text = re.sub(rf"\b{re.escape(found)}\b", form, text)
    return text
