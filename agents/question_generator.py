"""New divisive questions, written by a model from ten given ones at a time (as in the consensus study, section 4.1 there).

The study had 175 seeds, 10,000 questions written and 5,645 kept; its prompt is not shown: ours is agents/questions/more.txt.
Departures: the model names the topic, from those of the seeds, and the screen is by rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from parley.agents.datafiles import save_text
from parley.agents.question import FOLDER, Question, assign_questions, load_questions, question_id, to_toml, topics_of
from parley.agents.question_filter import question_problem
from parley.llm.driver import Conversation, ask_all, drive
from parley.llm.errors import UserError
from parley.llm.prompts import prompt
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream

SEEDS, BATCH, TURNS, TOKENS = 10, 10, 8, 1000
"""Questions shown in a prompt; asked for at a time; how often more are asked for; the most tokens of a reply."""
_NUMBER = re.compile(r"^\s*(?:[-*•]|\(?\d+[.):])?\s*")


@dataclass(frozen=True)
class GeneratedQuestions:
    """New questions with their splits, and why lines and replies were dropped (reason: count)."""

    questions: tuple[Question, ...]
    dropped: dict[str, int]


def write_questions(count: int, out: Path, backend: Backend, model: str, seed: int) -> GeneratedQuestions:
    """Have `count` new questions written and put them into `out`. Errors: UserError when it is there already, see
    `propose_question`.
    """
    if out.exists():
        raise UserError(f"{out} is there already; give another --out")
    if count < 1:
        raise UserError("ask for at least one question (--count)")
    (written,) = drive([propose_question(count, seed, load_questions())], backend)
    save_text(out, to_toml(written.questions, f"Divisive questions, written by {model} (python run.py questions)."))
    return written


def propose_question(count: int, seed: int, known: Sequence[Question]) -> Conversation[GeneratedQuestions]:
    """A conversation that returns `count` questions, none like a known one or another of its own.

    Topics that the known ones hold out (ood_test) are held out here too, so that both sets can be used together.
    Errors: UserError when too few are usable after TURNS turns.
    """
    found: list[Question] = []
    dropped: Counter[str] = Counter()
    for turn in range(TURNS):
        replies = yield from ask_all(_requests(count - len(found), seed, turn, known))
        for reply in replies:
            _take(reply, known, found, dropped)
        if len(found) >= count:
            return GeneratedQuestions(
                assign_questions(found[:count], topics_of(known, "ood_test"), seed), dict(dropped)
            )
    raise UserError(
        f"only {len(found)} usable questions of {count} after {TURNS} turns of asking ({question_text(dropped)}): "
        "let another model write them (--llm), or ask for fewer (--count)"
    )


def sample_seeds(known: Sequence[Question], rng_seed: int, *name: object) -> list[Question]:
    """Ten of the known questions (all, if there are fewer), drawn from a stream of their own."""
    return stream(rng_seed, "questions", "seeds", *name).sample(list(known), min(SEEDS, len(known)))


def parse_question(text: str, topics: Sequence[str]) -> tuple[list[Question], int]:
    """The questions of a reply, without splits, and how many lines have not the form that was asked for.

    >>> parse_question("1. pets | Is it so? | It is so. | It is not so.\\nDone!", ["pets"])[1]
    1
    """
    lines = [_NUMBER.sub("", line, count=1) for line in text.splitlines() if line.strip()]
    rows = [[" ".join(part.split()) for part in line.split("|")] for line in lines]
    good = [row for row in rows if len(row) == 4 and all(row) and row[0] in topics]
    return [Question(question_id(topic, one), one, yes, no, topic) for topic, one, yes, no in good], len(rows) - len(
        good
    )


def question_text(dropped: dict[str, int]) -> str:
    """Why and how many, in one line."""
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items())) or "nothing dropped"


def _take(reply: Reply, known: Sequence[Question], found: list[Question], dropped: Counter[str]) -> None:
    if reply.text is None:
        dropped[f"reply failed ({reply.failure.name if reply.failure else 'empty'})"] += 1
        return
    questions, unread = parse_question(reply.text, topics_of(known))
    if unread:
        dropped["not in the form asked for"] += unread
    for question in questions:
        if problem := question_problem(question, [*known, *found]):
            dropped[problem.partition(":")[0]] += 1
        else:
            found.append(question)


def _requests(missing: int, seed: int, turn: int, known: Sequence[Question]) -> list[Request]:
    """As many as would do if every question written were usable."""
    template = prompt(FOLDER, "more")
    topics = ", ".join(topics_of(known))
    asked = []
    for number in range(-(-missing // BATCH)):
        shown = sample_seeds(known, seed, turn, number)
        examples = "\n".join(f"{one.topic} | {one.question} | {one.statement} | {one.against}" for one in shown)
        text = template.fill(examples=examples, number=BATCH, topics=topics)
        named = derive(seed, "questions", "written", turn, number)
        asked.append(Request((Message("user", text),), Sampling(1.0, TOKENS), named, purpose="divisive_questions"))
    return asked
