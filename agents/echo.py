"""Where a reply goes on with what its writer was sent: the next instruction, or a whole survey with its answer.

A completion model writes on after its turn, and some chat models repeat what they were asked. What a survey asks, and what was
answered to it, is private: whatever looks like it ends the reply, and a reply that is nothing else is none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice

from parley.agents.topic import PROMPTS, Topic
from parley.llm.template import prompt

Words = tuple[str, ...]
Asked = tuple[tuple[str, str], ...]
"""The question of each probe, and the form of its answer ("" for a number)."""

INSTRUCTIONS = (
    "start", "turn", "reask", "reminder", "side", "opening", "opening_structured", "opinion", "critique",
    "statement_opening", "statement_closing", "statement_post", "statement_talk", "role_listener", "role_persuader",
    "survey_numeric", "survey_labelled", "survey_numeric_public", "survey_labelled_public",
)  # fmt: skip
FEWEST, MOST = 4, 8
"""By how many words the beginning of a sentence is known: fewer may be anybody's own, more are not needed."""
_WORD, _SENTENCE, _SLOT = re.compile(r"\w+"), re.compile(r"[.?!]+|\{(?:question|case|survey)\}"), re.compile(r"\{\w+\}")
_NUMBER = re.compile(r"\W*(?:answer\W+)?\d+(?:\W+\d+)?\W*", re.I)
_ANSWER = re.compile(r"(?:^|[\n\r\v\f\x85\u2028\u2029])[\s*_>#\[-]*Answer[*_\]]*\s*:", re.I)


def without_echo(text: str, topic: Topic, name: str) -> str:
    """A reply up to where it repeats what `name` was sent in a debate about the topic; empty where nothing else is in it.

    >>> from parley.agents.topic import load_topic
    >>> without_echo("I agree. Complete your next reply. And also guns!", load_topic("racism"), "Ann")
    'I agree. '
    """
    if _NUMBER.fullmatch(text):
        return ""
    asked = tuple([(probe.question, probe.sentence) for probe in topic.probes.values()])
    cuts = [place for place in (_repeats(text, _marks(asked, name)), _answers(text, asked)) if place is not None]
    own = text[: min(cuts)] if cuts else text
    return "" if cuts and _words(own) in map(_words, dict(asked)) else own


def _repeats(text: str, marks: Mapping[str, Sequence[Words]]) -> int | None:
    """Where the first of the marks begins in a text."""
    said = _words(text)
    for place, word in enumerate(said):
        if word in marks and any(said[place : place + len(mark)] == mark for mark in marks[word]):
            return next(islice(_WORD.finditer(text), place, None)).start()
    return None


def _answers(text: str, asked: Asked) -> int | None:
    """Where a text begins to answer a survey: in the form asked for, or behind the label `Answer:`."""
    form = _forms(tuple([sentence for _, sentence in asked if sentence]))
    starts = [found.start() for pattern in (_ANSWER, form) if pattern and (found := pattern.search(text))]
    return min(starts, default=None)


@lru_cache(maxsize=4096)
def _marks(asked: Asked, name: str) -> Mapping[str, Sequence[Words]]:
    """What the prompts, a topic's surveys and its own introduction are known by, by first word."""
    follows = [words for words in _instructions() if words[:1] in (("answer",), ("the",))]
    surveys = [_words(question) + then for question, _ in asked for then in follows]
    found: defaultdict[str, list[Words]] = defaultdict(list)
    for mark in (*_instructions(), *surveys, _words(f"You are {name}")):
        found[mark[0]].append(mark)
    return dict(found)


@cache
def _instructions() -> tuple[Words, ...]:
    """How the sentences of the prompts begin, up to their first slot."""
    texts = [prompt(PROMPTS, name).text for name in INSTRUCTIONS]
    begun = [_words(_SLOT.split(sentence)[0])[:MOST] for text in texts for sentence in _SENTENCE.split(text)]
    return tuple(dict.fromkeys(words for words in begun if len(words) >= FEWEST))


@lru_cache(maxsize=1024)
def _forms(sentences: Sequence[str]) -> re.Pattern[str] | None:
    """The answer that these sentences ask for, with any label and number; None where there are none."""
    return re.compile("|".join(map(_form, sentences)), re.I) if sentences else None


def _form(sentence: str) -> str:
    slots = {"label": r"[^.\n]{1,40}?", "number": r"\[?(?:-?\d+|number)\]?"}
    pieces = re.split(r"\{(label|number)\}", sentence.rstrip("."))
    return "".join(slots[piece] if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))


def _words(text: str) -> Words:
    return tuple([word.lower() for word in _WORD.findall(text)])
