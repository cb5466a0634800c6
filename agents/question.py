"""Divisive questions, which groups deliberate about, and the questionnaire about the participants themselves.

Our own questions are agents/questions/divisive.toml; the public set (Habermas Machine, 5,645 questions, CC BY 4.0) is
read from the user's file. Each question has a statement to agree or disagree with from 1 to 7.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from parley.agents.closed_answers import Chosen, read_choice
from parley.agents.datafiles import HERE, build_from_table, read_toml, require_section, table_rows
from parley.agents.language import GIVEN, Language
from parley.agents.probe import PHRASES, Probe, scales
from parley.agents.scales import Scale
from parley.agents.society import US, Society, load_society, society_names
from parley.agents.topic import Topic
from parley.llm.errors import UserError, unknown_name
from parley.llm.file_cache import read_once
from parley.llm.purposes import Facts
from parley.llm.seeding import digest, stream

Kind = TypeVar("Kind")
FOLDER = HERE / "questions"
QUESTIONS = FOLDER / "divisive.toml"
OWN_QUESTIONS = "questions.toml"
"""The file of a society with divisive questions of its own."""
SPLITS = ("train", "iid_test", "ood_test")
POSITION = "position"
"""The survey question on agreement with a statement: the position score (1-7) of the study."""
SHARE = 0.1
"""The share of all questions that is drawn for iid_test."""


@dataclass(frozen=True)
class Question:
    """A yes-or-no question.

    statement  says yes to it; the position score rates agreement with it
    against    says no to it
    topic      a slug (a number in the public set)
    split      train, iid_test (topics of train) or ood_test (topics of its own)
    society    the name of the society in which it is asked
    """

    id: str
    question: str
    statement: str
    against: str
    topic: str
    split: str = "train"
    society: str = field(default=US, compare=False)
    wording: ClassVar[str] = GIVEN
    """How the prompts of its deliberation are worded: of a run, and of no file."""

    def worded(self, wording: str) -> Question:
        """Return the question with the prompts of its deliberation in another wording (agents/language.py)."""
        copied = replace(self)
        object.__setattr__(copied, "wording", wording)
        return copied

    def __getstate__(self) -> dict[str, str]:
        """Pickle no more than this: another process makes its own topic."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"wording": self.wording}

    @property
    def place(self) -> Society:
        """The society in which it is asked, with the prompts of its wording."""
        society = load_society(self.society)
        return society if self.wording == GIVEN else _worded(society, self.wording)

    @property
    def facts(self) -> Facts:
        """What a request to the mediator states of it."""
        return Facts(issue=self.question)

    @cached_property
    def subject(self) -> Topic:
        """The question as a topic: its axis is agreement with its statement, and the position score its only probe."""
        language, kind = self.place.language, "agreement"
        ask = language.prompt("agree_question").fill(statement=self.statement)
        probes = {
            name: Probe(name, kind, scale, ask, sentence=sentence, position=self.statement, language=language)
            for name, phrases in ((POSITION, False), (f"{POSITION}_{PHRASES}", True))
            for scale, sentence in [agreement_scale(language, phrases)]
        }
        return Topic(self.id, self.question, kind, "", self.question, MappingProxyType(probes), society=self.place)


@dataclass(frozen=True)
class TopicQuestion(Question):
    """The question of people who deliberate on a topic of debates."""

    debated: Topic | None = field(default=None, compare=False, repr=False)

    @property
    def facts(self) -> Facts:
        assert self.debated is not None
        own = Facts(own=self.debated.title) if self.debated.own else Facts()
        return Facts(topic=self.debated.title, **own)


def question_on(topic: Topic) -> Question:
    """Return the question of a deliberation on a topic of debates: its statement is the topic's claim."""
    begin = topic.language.words("agree")
    texts = [topic.probe(name).question.removeprefix(begin).rstrip("?") for name in ("agreement", "agreement:negated")]
    statement, against = (f"{text[0].upper()}{text[1:]}." for text in texts)
    about = topic.slug, topic.question, statement, against, topic.slug
    return TopicQuestion(*about, society=topic.society.name, debated=topic)


def agreement_scale(language: Language, phrases: bool) -> tuple[Scale, str]:
    """Return the scale of agreement with a statement, from 1 to 7, and the sentence that its phrases end; "" for numbers."""
    if not phrases:
        return scales(language)["agreement_1_7"], ""
    return scales(language)[f"agreement_1_7_{PHRASES}"], language.words("statement_phrase")


@dataclass(frozen=True)
class _Public:
    """An entry of the public file."""

    id: str
    question: str
    affirming_statement: str
    negating_statement: str
    topic: int
    split: str


@read_once(lambda name, society=US: set_path(name, society))
def question_set(name: str, society: str = US) -> tuple[Question, ...]:
    """Return the questions of a scenario: `shipped`, or a file (TOML like ours, or JSON like the public set).

    Errors: UserError, also for `shipped` in a society of your own without questions: ours are English, and some name Britain.
    """
    path = set_path(name, society)
    if path == QUESTIONS and load_society(society).name not in society_names():
        raise UserError(
            f"the society {society} has no questions for private deliberations: write {society}/{OWN_QUESTIONS} "
            "(docs/societies.md), or give --set questions=FILE"
        )
    questions = read_public(path) if path.suffix == ".json" else load_questions(path)
    return tuple(replace(question, society=society) for question in questions)


@cache
def _worded(society: Society, wording: str) -> Society:
    """Return a society whose prompts are worded so. Errors: UserError."""
    return replace(society, language=society.language.worded(wording))


def set_path(name: str, society: str = US) -> Path:
    """Return the file of the questions of a scenario; `shipped` are those of the society, if it has any."""
    society_file = load_society(society).folder / OWN_QUESTIONS
    return Path(name) if name != "shipped" else society_file if society_file.is_file() else QUESTIONS


@read_once(lambda name, society=US: set_path(name, society))
def questions_by_id(name: str, society: str = US) -> Mapping[str, Question]:
    """Return the questions of a scenario by id. Errors: as question_set."""
    return {question.id: question for question in question_set(name, society)}


def load_questions(path: Path = QUESTIONS) -> tuple[Question, ...]:
    """Read the questions of a TOML file, in its order. Errors: UserError if the file is missing or broken."""
    problem = f"{path} needs a table [[question]] for each question"
    return _checked(_build(Question, read_toml(path).get("question"), path, problem), path)


def read_public(path: Path) -> tuple[Question, ...]:
    """Read the questions of the public JSON file, in its order, with its clusters (0, 1, ...) as topics. Errors: UserError."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON: {error}") from error
    public = _build(_Public, entries, path, f"{path} must be a list of questions")
    return _checked(
        [
            Question(
                public_question.id,
                public_question.question,
                public_question.affirming_statement,
                public_question.negating_statement,
                str(public_question.topic),
                public_question.split,
            )
            for public_question in public
        ],
        path,
    )


def question_id(topic: str, question: str) -> str:
    """Return the id of a question: its topic, and six hexadecimal digits that depend on its wording."""
    return f"{topic}_{digest(question).hex()[:6]}"


def topics_of(questions: Collection[Question], *splits: str) -> list[str]:
    """Return the topics of some splits (of all if none is named), sorted."""
    return sorted({question.topic for question in questions if not splits or question.split in splits})


def assign_questions(questions: Sequence[Question], held_out: Collection[str], seed: int) -> tuple[Question, ...]:
    """Assign splits: ood_test to the topics held out, iid_test to a tenth of all questions, train to the rest.

    The draw depends on the seed and on the questions, not on their order.
    """
    rest = sorted(question.id for question in questions if question.topic not in held_out)
    size = min(len(rest), round(SHARE * len(questions)))
    drawn = set(stream(seed, "questions", "iid_test").sample(rest, size))
    return tuple(
        replace(
            question,
            split="ood_test" if question.topic in held_out else "iid_test" if question.id in drawn else "train",
        )
        for question in questions
    )


def to_toml(questions: Sequence[Question], head: str) -> str:
    """Return the text of a question file, with a comment in the first line."""
    names = [field.name for field in fields(Question) if field.name != "society"]
    tables = [{name: getattr(question, name) for name in names} for question in questions]
    return f"# {head}\n\n" + table_rows("question", tables)


def _build(kind: type[Kind], entries: object, path: Path, problem: str) -> list[Kind]:
    """Make a dataclass from each table of a list. Errors: UserError with `problem` if there is no such list."""
    if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
        raise UserError(problem)
    return [build_from_table(kind, entry, f"question {number} of {path}") for number, entry in enumerate(entries, 1)]


def _checked(questions: Sequence[Question], path: Path) -> tuple[Question, ...]:
    ids: set[str] = set()
    for question in questions:
        if question.split not in SPLITS:
            raise unknown_name(f"split of {question.id} in {path}", question.split, SPLITS)
        if question.id in ids:
            raise UserError(f"{path} has the question {question.id} twice: remove one")
        ids.add(question.id)
    return tuple(questions)


QUESTIONNAIRE = "questionnaire.toml"


@dataclass(frozen=True)
class QuestionnaireItem:
    """A closed question about the participant. The last of its `answers` means that the participant prefers not to say."""

    name: str
    title: str
    question: str
    answers: tuple[str, ...]

    def ask(self, language: Language) -> str:
        return language.prompt("questionnaire").fill(question=self.question, answers="; ".join(self.answers))

    def read(self, text: str | None) -> Chosen:
        return read_choice(text, self.answers)


@cache
def questionnaire(society: Society) -> tuple[QuestionnaireItem, ...]:
    """Return the items of a society in the order of asking. Errors: UserError if the file is broken."""
    return read_questionnaire(society.folder / QUESTIONNAIRE)


def read_questionnaire(path: Path) -> tuple[QuestionnaireItem, ...]:
    """Return the items of a file in the order of asking. Errors: UserError if the file is broken."""
    values = read_toml(path)
    declined, entries = values.get("declined"), require_section(values, "items", path.name)
    if not isinstance(declined, str) or not declined.strip() or not entries:
        raise UserError(f"{path} needs the text `declined`, and a table [items.NAME] for each question")
    return tuple(_item(name, require_section(entries, name, path.name), declined, path) for name in entries)


def _item(name: str, entry: Any, declined: str, path: Path) -> QuestionnaireItem:
    question, answers, title = entry.get("question"), entry.get("answers"), entry.get("title", name)
    texts = [question, title, *(answers if isinstance(answers, list) else [None])]
    if not all(isinstance(text, str) for text in texts):
        raise UserError(f"the table [items.{name}] of {path} needs a text `question` and a list `answers`")
    if len({*map(_plain, answers), _plain(declined)}) <= len(answers) or not answers:
        raise UserError(f"the table [items.{name}] of {path} has the same answer twice: remove one of the two answers")
    return QuestionnaireItem(name, title, question, (*answers, declined))


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").lower().strip(" \t\r\n\"'“”`*.!").split())
