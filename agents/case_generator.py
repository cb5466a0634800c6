"""Writes the case that opens a structured debate, from arguments for and against and from requested changes.

S = f(A_for, A_against, C) of the UCL study (Eq 1). Its prompts are not published, so the wording is our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from parley.agents.datafiles import save_text
from parley.agents.persona_generator import length_problem
from parley.agents.society import US
from parley.agents.topic import Topic, topic_file
from parley.llm.driver import Conversation, ask, drive
from parley.llm.errors import UserError
from parley.llm.purposes import Facts
from parley.llm.request import Backend, Message, Request, Sampling
from parley.llm.seeding import derive

ATTEMPTS, TOKENS, SHORTEST, LONGEST = 3, 250, 20, 150
"""Attempts for each version; tokens of a reply; words of a case."""


def write_case(
    topic: Topic, pro: Sequence[str], con: Sequence[str], refinements: Sequence[str], seed: int
) -> Conversation[str]:
    """Return the case, after a conversation: a first version, and one more for each refinement.

    Errors: UserError after ATTEMPTS unusable replies.
    """
    slots = {"arguments_for": _listed(pro), "arguments_against": _listed(con)}
    language = topic.language
    first = language.prompt("case").fill(topic=topic.title, question=topic.question, **slots)
    asks = [first, *[language.prompt("case_refine").fill(refinement=wanted) for wanted in refinements]]
    facts: Facts = {"topic": topic.title, "arguments_for": pro, "arguments_against": con}
    chat: list[Message] = []
    for number, text in enumerate(asks):
        chat.append(Message("user", text))
        for attempt in range(ATTEMPTS):
            named = derive(seed, "case", topic.slug, number, attempt)
            purpose = "case_refinement" if number else "case"
            reply = yield from ask(Request(tuple(chat), Sampling(1.0, TOKENS), named, (), purpose, facts=facts))
            case_text = " ".join((reply.text or "").split())
            failure = f"failed ({reply.failure.name if reply.failure else 'empty'})"
            problem = length_problem(case_text, SHORTEST, LONGEST) if reply.text else failure
            if problem is None:
                break
        else:
            raise UserError(
                f"the model wrote no usable case in {ATTEMPTS} replies (the last reply {problem}): try another "
                "--llm or --seed"
            )
        chat.append(Message("assistant", case_text))
    return chat[-1].content


def write_topic(
    topic: Topic,
    pro: Sequence[str],
    con: Sequence[str],
    refinements: Sequence[str],
    out: Path,
    backend: Backend,
    seed: int,
) -> Path:
    """Write the topic's file with a new case to `out`. Errors: UserError if it exists, or without arguments for both sides."""
    if out.exists():
        raise UserError(f"{out} exists already; give another --out")
    pro, con = ([text.strip() for text in texts if text.strip()] for texts in (pro, con))
    if not pro or not con:
        raise UserError("a case needs at least one argument for and one against")
    (text,) = drive([write_case(topic, pro, con, refinements, seed)], backend)
    without_case = re.sub(r"(?m)^(case|base) = .*\n", "", topic_file(topic.slug).read_text(encoding="utf-8"))
    line = f"case = {json.dumps(text, ensure_ascii=False)}\nbase = {json.dumps(topic.root)}"
    line += f"\nsociety = {json.dumps(topic.society.name)}" if topic.society.name != US else ""
    return save_text(
        out, re.sub(r"(?m)^question = .*$", lambda question: f"{question[0]}\n{line}", without_case, count=1)
    )


def _listed(arguments: Sequence[str]) -> str:
    return "\n".join(f"- {' '.join(argument.split())}" for argument in arguments)
