"""Neutral questions on US politics: ten given ones, and more that a model writes from them (Taubenfeld et al. 2024, section 5).

A writer is shown one of the ten at a time and asked for ten more (the prompt of their Table 2). Repetitions, near repetitions
and questions that take a side are dropped and counted; where too few are left it is asked again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parley.agents.datafiles import read_toml
from parley.agents.question_filter import find_duplicate, takes_a_side
from parley.agents.topic import load_topic, topic_names
from parley.llm.driver import Progress, ask, drive
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.request import Backend, Message, Request, Sampling
from parley.llm.seeding import derive

HERE = Path(__file__).parent
BATCH, TURNS, TOKENS = 10, 6, 500
"""Questions asked for at a time, how often each of the ten may be the example, and the most tokens of a reply."""
_LINE = re.compile(r"^\s*(?:[-*•]|\(?\d+[.):])?\s*[\"“]?(.+?\?)[\"”]?\s*$")
_PARTIES = (re.compile(r"\brepublicans?\b|\bgop\b", re.I), re.compile(r"\bdemocrats?\b|\bdemocratic party\b", re.I))


@dataclass(frozen=True)
class Questions:
    """The questions, and why others were dropped (reason: count)."""

    questions: tuple[str, ...]
    dropped: dict[str, int]


def given() -> tuple[str, ...]:
    """The ten questions of the paper's Table 2."""
    return tuple(read_toml(HERE / "questions.toml")["questions"])


def write_questions(count: int, seed: int, backend: Backend, progress: Progress | None = None) -> Questions:
    """`count` questions, the given ones first. Errors: UserError when the writer finds too few."""
    found, dropped = list(given()[:count]), Counter[str]()
    for turn in range(TURNS):
        if len(found) >= count:
            break
        for text in drive([ask(request) for request in _requests(seed, turn)], backend, progress):
            _take(parse(text.text or ""), found, dropped)
            dropped["reply failed"] += text.failure is not None
    if len(found) < count:
        raise UserError(
            f"only {len(found)} usable questions of {count} after {TURNS * len(given())} replies ({_told(dropped)}): "
            "let another model write them (--writer), or ask for fewer (--questions)"
        )
    return Questions(tuple(found[:count]), {reason: number for reason, number in dropped.items() if number})


def parse(text: str) -> list[str]:
    """The questions of a reply, one a line, without numbers.

    >>> parse("Sure:\\n1. What is fair?\\n- How so?")
    ['What is fair?', 'How so?']
    """
    return [" ".join(match[1].split()) for line in text.splitlines() if (match := _LINE.match(line))]


def problem(question: str, known: Sequence[str]) -> str:
    """Why a question is not taken, or nothing."""
    if not 4 <= len(question.split()) <= 40:
        return "too short or too long"
    if takes_a_side(question) or sum(bool(party.search(question)) for party in _PARTIES) == 1:
        return "takes a side"
    if find_duplicate(question, statements()):
        return "a survey's own question"
    return "a repetition" if find_duplicate(question, known) else ""


def statements() -> list[str]:
    """The questions by which attitudes are measured: none of them may be trained on."""
    return sorted({probe.question for slug in topic_names() for probe in load_topic(slug).probes.values()})


def _take(written: Sequence[str], found: list[str], dropped: Counter[str]) -> None:
    for question in written:
        reason = problem(question, found)
        if reason:
            dropped[reason] += 1
        else:
            found.append(question)


def _requests(seed: int, turn: int) -> list[Request]:
    """One for each of the ten."""
    template = prompt(HERE / "prompts", "questions")
    return [
        Request(
            (Message("user", template.fill(number=BATCH, question=question)),),
            Sampling(1.0, TOKENS),
            derive(seed, "questions", number, turn),
            purpose="questions",
            facts={"count": BATCH, "question": question},
        )
        for number, question in enumerate(given())
    ]


def _told(dropped: Counter[str]) -> str:
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items()) if number) or "nothing dropped"
