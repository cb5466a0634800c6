"""What participants are asked about themselves: closed questions as data, and the one function that reads an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from parley.agents.datafiles import HERE, read_toml, require_section
from parley.agents.topic import PROMPTS
from parley.llm.errors import UserError
from parley.llm.prompts import prompt

SHIPPED = HERE / "questionnaire.toml"
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
def questionnaire(path: Path = SHIPPED) -> tuple[QuestionnaireItem, ...]:
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
    """The one answer that a reply consists of, whatever its case, quotes and full stop, and after words such as "I am a".

    Anything else is None: `empty`, or `no_answer` (an explanation, several answers, words of its own: nothing is guessed).

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
