"""What is wrong with a divisive question: form, loaded words, two things at once, sentences that do not match it, repetition.

By rules on words: what a rule cannot see (is it true, is it divisive, is it the same in other words?) is for a reader to judge.

Are two sentences the same, and does one take a side? By words alone: a paraphrase in other words is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache

from parley.agents.question import Question

ALIKE = 0.75
"""Share of words in common (Jaccard) from which two sentences are the same."""
_SIDED = re.compile(
    r"^(?:don't|isn't|aren't|shouldn't|wouldn't|doesn't|hasn't|haven't|can't|why (?:should|must|are|is|do|does|have|has)\b)"
    r"|\b(?:do you agree|wouldn't you|don't you|obviously|clearly|so-called|radical|extremist|disastrous|failed|corrupt|woke)\b",
    re.I,
)


def takes_a_side(question: str) -> bool:
    """Loaded words, or a form that asks for consent ("Don't you ...", "Why should ...")."""
    return _SIDED.search(question) is not None


def is_similar(one: str, other: str) -> bool:
    """At least ALIKE of their words in common; order, numbers and punctuation aside.

    >>> is_similar("Should zoos be banned?", "Should all zoos be banned?")  # 4 of 5
    True
    >>> is_similar("Should zoos be banned?", "Should guns be banned?")  # 3 of 5
    False
    """
    first, second = _words(one), _words(other)
    return len(first & second) >= ALIKE * len(first | second)


def find_duplicate(sentence: str, known: Iterable[str]) -> str | None:
    """The first of the known sentences that is the same; None when there is none."""
    return next((one for one in known if is_similar(sentence, one)), None)


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", text.lower()))


SHORTEST, LONGEST = 3, 40
"""Words of a question."""
_YES_OR_NO = re.compile(
    r"(?:should|is|are|do|does|would|could|can|must|will|was|were|has|have|did|may|ought)\b.*\?", re.I
)
_TWO = re.compile(
    r"\?.*\?|;|\b(?:and|or|but)\s+(?:should|is|are|do|does|would|can|must|will|has|have|if so|why|how|what)\b(?! not)"
    r"|\bbe\b.*\b(?:and|or|but)\b.*\bbe\b|\band/or\b",
    re.I,
)
_LOADED = re.compile(
    r"\b(?:absurd|barbaric|bigot\w*|common[- ]sense|cruel|disgraceful|disgusting|draconian|evil|finally|greedy|hard-working"
    r"|illegals|innocent|insane|nanny state|outrageous|ridiculous|scroungers?|shameful|surely|thugs?|tyran\w+|virtuous|vile)\b",
    re.I,
)
_PARTY = re.compile(
    r"\b(?:labour party|labour government|conservatives|tory|tories|liberal democrats?|lib dems?|green party|reform uk"
    r"|republicans|democrats)\b",
    re.I,
)
_SAME = {"has": "have", "does": "", "do": "", "did": ""}
"""Verbs that change between a question and its statement."""


def question_problem(question: Question, others: Iterable[Question] = ()) -> str:
    """What is wrong, in words (before the colon the kind, after it the case), or nothing.

    >>> question_problem(Question("", "Should zoos be closed?", "Zoos should be closed.", "Zoos should not be closed.", ""))
    ''
    """
    found = _form(question.question) or _pair(question)
    same = None if found else find_duplicate(question.question, (one.question for one in others))
    return f"a near duplicate: {same}" if same else found


def _form(text: str) -> str:
    loaded = _LOADED.search(text)
    if loaded or takes_a_side(text):
        return f"loaded words: {loaded[0] if loaded else text}"
    if party := _PARTY.search(text):
        return f"names a party: {party[0]}"
    if not _YES_OR_NO.fullmatch(text):
        return f"not a question with yes or no for an answer: {text}"
    if _TWO.search(text):
        return f"two questions in one: {text}"
    return "" if SHORTEST <= len(text.split()) <= LONGEST else f"too short or too long: {text}"


def _pair(question: Question) -> str:
    """The statement has the words of the question, and what is against it has one `not` more."""
    for sentence in (question.statement, question.against):
        if not re.fullmatch(r"[^.?!\n].*[^?!]\.", sentence):
            return f"not a declarative sentence: {sentence}"
    asked, said, denied = (_bag(text) for text in (question.question, question.statement, question.against))
    if asked != said:
        return f"a statement that does not match the question: {question.statement}"
    return "" if denied == said + Counter(["not"]) else f"no plain negation of the statement: {question.against}"


def _bag(text: str) -> Counter[str]:
    """The words, how often each, without do-support and endings: `Does it pay?` and `It pays.` have the same."""
    words = re.findall(r"[\w'’-]+(?:\.\d+)?", text.lower().replace("cannot", "can not"))
    return Counter(stem for word in words if (stem := _SAME.get(word, _stem(word))))


def _stem(word: str) -> str:
    """`carries` and `carry`, `teaches` and `teach`, `pays` and `pay` are the same."""
    word = re.sub(r"ies$", "y", word)
    return re.sub(r"(?<=ch|sh)es$|(?<=[sxzo])es$|(?<!s)s$", "", word)
