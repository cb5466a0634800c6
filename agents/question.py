"""Divisive questions: what a group deliberates about, with the sentence that is agreed or disagreed with from 1 to 7.

Our own set is agents/questions/divisive.toml; the public one (Habermas Machine, 5,645 questions,
CC BY 4.0) is read where it lies.

What participants are asked about themselves: closed questions as data, and the one function that reads an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from parley.agents.datafiles import HERE, build_from_table, quoted, read_toml, require_section
from parley.agents.topic import PROMPTS, Probe, Topic, scales
from parley.llm.errors import UserError, unknown_name
from parley.llm.prompts import prompt
from parley.llm.seeding import digest, stream

FOLDER = HERE / "questions"
QUESTIONS = FOLDER / "divisive.toml"
SPLITS = ("train", "iid_test", "ood_test")
POSITION = "position"
"""The survey question on agreement with a question's statement: the position score (1-7) of the study."""
SHARE = 0.1
"""Of all questions, those drawn for iid_test."""


@dataclass(frozen=True)
class Question:
    """A question that can be answered with yes or no. `statement` says yes to it and is what a position score rates,
    `against` says no. `topic` is a slug (a number in the public set). `split`: train, iid_test (topics of train) or
    ood_test (topics of its own).
    """

    id: str
    question: str
    statement: str
    against: str
    topic: str
    split: str = "train"

    @cached_property
    def subject(self) -> Topic:
        """The question as a topic: its axis is agreement with its statement, and the position score its only probe."""
        asked = prompt(PROMPTS, "agree_question").fill(statement=self.statement)
        probe = Probe(POSITION, "agreement", scales()["agreement_1_7"], asked, position=self.statement)
        return Topic(self.id, self.question, "agreement", "", self.question, MappingProxyType({POSITION: probe}))


@dataclass(frozen=True)
class _Public:
    """An entry of the public file, by its own names."""

    id: str
    question: str
    affirming_statement: str
    negating_statement: str
    topic: int
    split: str


@cache
def question_set(name: str) -> tuple[Question, ...]:
    """The questions that a scenario names: `shipped`, or a file at a path: TOML like ours, or JSON like the public set.

    Errors: UserError.
    """
    path = set_path(name)
    return read_public(path) if path.suffix == ".json" else load_questions(path)


def set_path(name: str) -> Path:
    """The file of the questions that a scenario names."""
    return QUESTIONS if name == "shipped" else Path(name)


@cache
def questions_by_id(name: str) -> Mapping[str, Question]:
    """The questions that a scenario names, by id. Errors: as question_set."""
    return {one.id: one for one in question_set(name)}


def load_questions(path: Path = QUESTIONS) -> tuple[Question, ...]:
    """The questions of a TOML file, in its order. Errors: UserError on a missing or broken file, one line."""
    found = read_toml(path).get("question")
    entries = _tables(found, f"{path} needs a table [[question]] for each question")
    return _checked(
        [build_from_table(Question, entry, f"question {number} of {path}") for number, entry in entries], path
    )


def read_public(path: Path) -> tuple[Question, ...]:
    """The questions of the public JSON file, in its order, its clusters (0, 1, ...) as topics. Errors: UserError, one
    line.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error
    entries = _tables(found, f"{path} must be a list of questions")
    read = [build_from_table(_Public, entry, f"question {number} of {path}") for number, entry in entries]
    return _checked(
        [
            Question(one.id, one.question, one.affirming_statement, one.negating_statement, str(one.topic), one.split)
            for one in read
        ],
        path,
    )


def question_id(topic: str, question: str) -> str:
    """The id of a question: its topic, and six hexadecimal digits that its wording alone decides."""
    return f"{topic}_{digest(question).hex()[:6]}"


def topics_of(questions: Collection[Question], *splits: str) -> list[str]:
    """The topics of some splits (all, when none is named), sorted."""
    return sorted({one.topic for one in questions if not splits or one.split in splits})


def assign_questions(questions: Sequence[Question], held_out: Collection[str], seed: int) -> tuple[Question, ...]:
    """The questions with their splits, in the same order: ood_test for the topics held out, a tenth of all drawn for
    iid_test.

    What is drawn depends on the seed and on which questions there are, not on their order.
    """
    rest = sorted(one.id for one in questions if one.topic not in held_out)
    size = min(len(rest), round(SHARE * len(questions)))
    drawn = set(stream(seed, "questions", "iid_test").sample(rest, size))
    return tuple(
        replace(one, split="ood_test" if one.topic in held_out else "iid_test" if one.id in drawn else "train")
        for one in questions
    )


def to_toml(questions: Sequence[Question], head: str) -> str:
    """The questions as the text of a question file, under a line of comment."""
    names = [field.name for field in fields(Question)]
    tables = ["".join(f"{name} = {quoted(getattr(one, name))}\n" for name in names) for one in questions]
    return f"# {head}\n" + "".join(f"\n[[question]]\n{table}" for table in tables)


def _tables(found: object, problem: str) -> list[tuple[int, dict[str, object]]]:
    """Tables with their numbers, from 1."""
    if not isinstance(found, list) or not found or not all(isinstance(one, dict) for one in found):
        raise UserError(problem)
    return list(enumerate(found, 1))


def _checked(questions: Sequence[Question], path: Path) -> tuple[Question, ...]:
    seen: set[str] = set()
    for one in questions:
        if one.split not in SPLITS:
            raise unknown_name(f"split of {one.id} in {path}", one.split, SPLITS)
        if one.id in seen:
            raise UserError(f"{path} has {one.id} twice")
        seen.add(one.id)
    return tuple(questions)


QUESTIONNAIRE = HERE / "questionnaire.toml"
_LEAD = re.compile(
    r"^(?:(?:(?:my|the) )?answer(?: is)?:?|i(?:'m| am|'d say| would say| say| live)|it(?:'s| is)|that(?:'s| is)|probably)\s+"
    r"|^(?:an?|in the|in|the)\s+"
)


class QuestionnaireAnswer(NamedTuple):
    """One of an item's answers, or None and the reason why there is none."""

    text: str | None
    reason: str | None = None


@dataclass(frozen=True)
class QuestionnaireItem:
    """A closed question; `title` names what it asks. The last of the `answers` is that of who would rather not say."""

    name: str
    title: str
    question: str
    answers: tuple[str, ...]

    def ask(self) -> str:
        return prompt(PROMPTS, "questionnaire").fill(question=self.question, answers="; ".join(self.answers))

    def read(self, text: str | None) -> QuestionnaireAnswer:
        return read_answer(text, self.answers)


@cache
def questionnaire(path: Path = QUESTIONNAIRE) -> tuple[QuestionnaireItem, ...]:
    """The items in the order of asking. Errors: UserError on a broken file, one line."""
    values = read_toml(path)
    declined, entries = values.get("declined"), require_section(values, "items", path.name)
    if not isinstance(declined, str) or not declined.strip() or not entries:
        raise UserError(f"{path} needs a text `declined` and a table [items.NAME] for each question")
    return tuple(_item(name, require_section(entries, name, path.name), declined, path) for name in entries)


def _item(name: str, entry: dict[str, object], declined: str, path: Path) -> QuestionnaireItem:
    question, answers, title = entry.get("question"), entry.get("answers"), entry.get("title", name)
    if (
        not isinstance(question, str)
        or not isinstance(title, str)
        or not isinstance(answers, list)
        or not all(isinstance(one, str) for one in answers)
    ):
        raise UserError(f"item {name} of {path} needs a question and a list of answers (and may have a title)")
    if len({*map(_plain, answers), _plain(declined)}) <= len(answers) or not answers:
        raise UserError(f"item {name} of {path}: two answers are the same")
    return QuestionnaireItem(name, title, question, (*answers, declined))


def read_answer(text: str | None, answers: Sequence[str]) -> QuestionnaireAnswer:
    """The one answer that a reply consists of, whatever its case, quotes and full stop, and after words such as "I am
    a".

    Anything else is None: `empty`, or `no_answer` (an explanation, several answers, words of its own: nothing is
    guessed).

    >>> read_answer("I'm a woman.", ["woman", "man"]), read_answer("Not a man.", ["woman", "man"])
    (Answer(text='woman', reason=None), Answer(text=None, reason='no_answer'))
    """
    said, known = _plain(text or ""), {_plain(answer): answer for answer in answers}
    if not said:
        return QuestionnaireAnswer(None, "empty")
    while said not in known and (lead := _LEAD.match(said)):
        said = said[lead.end() :]
    return QuestionnaireAnswer(known[said]) if said in known else QuestionnaireAnswer(None, "no_answer")


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").lower().strip(" \t\r\n\"'“”`*.!").split())
