"""Lets a model write new questions, as in the consensus study, and checks them.

The checks are rules on words: form, loaded words, two questions in one, statements that do not match, repetition. They
cannot tell whether a question is true or divisive, or repeats another in other words: a reader has to judge that.

The study had 175 seeds, 10,000 written questions and 5,645 kept ones; its prompt is not published, so ours is
writer/divisive_questions.txt of the language. Departures: the model names the topic, from those of the seeds, and the
checks are rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parley.agents.datafiles import save_text
from parley.agents.language import ENGLISH, Language
from parley.agents.question import (
    QUESTIONS,
    Question,
    assign_questions,
    load_questions,
    question_id,
    set_path,
    to_toml,
    topics_of,
)
from parley.agents.society import Society, load_society
from parley.llm.driver import Conversation, ask_all, drive
from parley.llm.errors import UserError
from parley.llm.request import Backend, Message, Reply, Request, Sampling
from parley.llm.seeding import derive, stream

ALIKE = 0.75
"""Two sentences with at least this share of common words (Jaccard) are the same."""
FILE = "questions"
"""The data file of a language (questions.toml) with the words by which questions are checked."""


def takes_a_side(question: str, language: Language = ENGLISH) -> bool:
    """Return whether a question has loaded words or asks for consent ("Don't you ...", "Why should ...")."""
    return _pattern(language, "sided").search(question) is not None


@cache
def _pattern(language: Language, name: str) -> re.Pattern[str]:
    """Return a regular expression of the language. Errors: UserError if questions.toml lacks it, or it is broken."""
    try:
        return re.compile(language.data(FILE)[name], re.I)
    except (KeyError, TypeError, re.error) as error:
        raise UserError(
            f"questions.toml of the language {language.code} needs a regular expression "
            f"{name}: copy the line of agents/languages/en"
        ) from error


def is_similar(sentence: str, other: str) -> bool:
    """Return whether two sentences share at least ALIKE of their words, ignoring order, numbers and punctuation.

    >>> is_similar("Should zoos be banned?", "Should all zoos be banned?")  # 4 of 5
    True
    >>> is_similar("Should zoos be banned?", "Should guns be banned?")  # 3 of 5
    False
    """
    first, second = _words(sentence), _words(other)
    return len(first & second) >= ALIKE * len(first | second)


def find_duplicate(sentence: str, known_sentences: Iterable[str]) -> str | None:
    """Return the first known sentence that is the same, or None."""
    return next((candidate for candidate in known_sentences if is_similar(sentence, candidate)), None)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[^\W\d_]+", text.lower()))


SHORTEST, LONGEST = 3, 40
"""Words of a question."""


def question_problem(question: Question, others: Iterable[Question] = (), language: Language = ENGLISH) -> str:
    """What is wrong, in words (before the colon the kind, after it the case), or nothing.

    >>> question_problem(Question("", "Should zoos be closed?", "Zoos should be closed.", "Zoos should not be closed.", ""))
    ''
    """
    problem = _form(question.question, language) or _pair(question, language)
    same = None if problem else find_duplicate(question.question, (other.question for other in others))
    return f"a near duplicate: {same}" if same else problem


def _form(text: str, language: Language) -> str:
    loaded = _pattern(language, "loaded").search(text)
    if loaded or takes_a_side(text, language):
        return f"loaded words: {loaded[0] if loaded else text}"
    if party := _pattern(language, "parties").search(text):
        return f"names a party: {party[0]}"
    if not _pattern(language, "yes_or_no").fullmatch(text):
        return f"not a question with yes or no for an answer: {text}"
    if _pattern(language, "two").search(text):
        return f"two questions in one: {text}"
    return "" if SHORTEST <= len(text.split()) <= LONGEST else f"too short or too long: {text}"


def _pair(question: Question, language: Language) -> str:
    """The statement has the words of the question, and what is against it has one negation more."""
    for sentence in (question.statement, question.against):
        if not re.fullmatch(r"[^.?!\n].*[^?!]\.", sentence):
            return f"not a declarative sentence: {sentence}"
    question_words, statement_words, denied = (
        _bag(text, language) for text in (question.question, question.statement, question.against)
    )
    if question_words != statement_words:
        return f"a statement that does not match the question: {question.statement}"
    negation = Counter([language.data(FILE)["negation"]])
    return "" if denied == statement_words + negation else f"no plain negation of the statement: {question.against}"


def _bag(text: str, language: Language) -> Counter[str]:
    """Count words without do-support and endings: `Does it pay?` and `It pays.` are the same."""
    spelled = text.lower()
    for pattern, written in language.data(FILE)["spelling"]:
        spelled = re.sub(pattern, written, spelled)
    return Counter(stem for word in re.findall(r"[\w'’-]+(?:\.\d+)?", spelled) if (stem := _stem(word, language)))


def _stem(word: str, language: Language) -> str:
    """Return a word without its ending: `carry` for `carries`; empty for a verb that only a question has, such as `do`."""
    stems = language.data(FILE)
    if word in stems["same"]:
        return str(stems["same"][word])
    for pattern, written in stems["stems"]:
        word = re.sub(pattern, written, word)
    return word


SEEDS, BATCH, TURNS, TOKENS = 10, 10, 8, 1000
"""Questions shown in a prompt; questions per request; rounds of requests; tokens of a reply."""
_NUMBER = re.compile(r"^\s*(?:[-*•]|\(?\d+[.):])?\s*")


@dataclass(frozen=True)
class GeneratedQuestions:
    """New questions with their splits, and why lines and replies were dropped (reason: count)."""

    questions: tuple[Question, ...]
    dropped: dict[str, int]


def write_questions(
    count: int, out: Path, backend: Backend, model: str, seed: int, society: Society | None = None
) -> GeneratedQuestions:
    """Let a model write `count` new questions to the file `out`, in the language of a society (none: `us`).

    The questions shown are those of the society, if it has any, else the shipped ones, which are English.
    Errors: UserError if the file exists, or the society has no questions in its language; see `propose_question`.
    """
    society = society or load_society()
    shown = set_path("shipped", society.name)
    if shown == QUESTIONS and society.language.code != ENGLISH.code:
        raise UserError(
            f"the society {society.title} has no questions.toml, and Parley's own questions are in English: first "
            "write ten questions in the language of the society"
        )
    if out.exists():
        raise UserError(f"{out} exists already; give another --out")
    if count < 1:
        raise UserError("--count is 0, but must be 1 or more")
    (written,) = drive([propose_question(count, seed, load_questions(shown), society.language)], backend)
    save_text(
        out, to_toml(written.questions, f"Divisive questions, written by {model} (python run.py study questions).")
    )
    return written


def propose_question(
    count: int, seed: int, known_questions: Sequence[Question], language: Language = ENGLISH
) -> Conversation[GeneratedQuestions]:
    """Return `count` questions, none like a known or an earlier one, after a conversation.

    Topics that the known questions hold out (ood_test) are held out here too, so that both sets can be used together.
    Errors: UserError if too few questions are usable after TURNS turns.
    """
    new_questions: list[Question] = []
    dropped: Counter[str] = Counter()
    for turn in range(TURNS):
        replies = yield from ask_all(_requests(count - len(new_questions), seed, turn, known_questions, language))
        for reply in replies:
            _take(reply, known_questions, new_questions, dropped, language)
        if len(new_questions) >= count:
            return GeneratedQuestions(
                assign_questions(new_questions[:count], topics_of(known_questions, "ood_test"), seed), dict(dropped)
            )
    raise UserError(
        f"only {len(new_questions)} of {count} questions are usable after {TURNS} requests "
        f"({question_text(dropped)}): choose another model with --llm, or ask for fewer questions with --count"
    )


def sample_seeds(known_questions: Sequence[Question], rng_seed: int, *name: object) -> list[Question]:
    """Draw ten of the known questions (all, if there are fewer)."""
    return stream(rng_seed, "questions", "seeds", *name).sample(list(known_questions), min(SEEDS, len(known_questions)))


def parse_question(text: str, topics: Sequence[str]) -> tuple[list[Question], int]:
    """Return the questions of a reply, without splits, and the number of lines in another form.

    >>> parse_question("1. pets | Is it so? | It is so. | It is not so.\\nDone!", ["pets"])[1]
    1
    """
    lines = [_NUMBER.sub("", line, count=1) for line in text.splitlines() if line.strip()]
    rows = [[" ".join(cell.split()) for cell in line.split("|")] for line in lines]
    good = [row for row in rows if len(row) == 4 and all(row) and row[0] in topics]
    return [Question(question_id(topic, question), question, yes, no, topic) for topic, question, yes, no in good], len(
        rows
    ) - len(good)


def question_text(dropped: dict[str, int]) -> str:
    """Return reasons and counts in one line."""
    return ", ".join(f"{reason}: {number}" for reason, number in sorted(dropped.items())) or "nothing dropped"


def _take(
    reply: Reply,
    known_questions: Sequence[Question],
    new_questions: list[Question],
    dropped: Counter[str],
    language: Language,
) -> None:
    if reply.text is None:
        dropped[f"reply failed ({reply.failure.name if reply.failure else 'empty'})"] += 1
        return
    questions, unread = parse_question(reply.text, topics_of(known_questions))
    if unread:
        dropped["not in the form asked for"] += unread
    for question in questions:
        if problem := question_problem(question, [*known_questions, *new_questions], language):
            dropped[problem.partition(":")[0]] += 1
        else:
            new_questions.append(question)


def _requests(missing: int, seed: int, turn: int, questions: Sequence[Question], language: Language) -> list[Request]:
    """Return as many requests as are enough if every question is usable."""
    template = language.prompt("writer/divisive_questions")
    topics = ", ".join(topics_of(questions))
    requests = []
    for number in range(-(-missing // BATCH)):
        shown = sample_seeds(questions, seed, turn, number)
        examples = "\n".join(
            f"{question.topic} | {question.question} | {question.statement} | {question.against}" for question in shown
        )
        text = template.fill(examples=examples, number=BATCH, topics=topics)
        named = derive(seed, "questions", "written", turn, number)
        requests.append(Request((Message("user", text),), Sampling(1.0, TOKENS), named, purpose="divisive_questions"))
    return requests
