"""Turns a model's reply into one line of the debate.

`cut_echo` cuts what repeats the prompt: the next instruction, or a whole survey with its answer. A completion model
writes on after its turn, and some chat models repeat what they were asked. What a survey asks, and what was answered,
is private: whatever looks like it ends the reply, and a reply that is nothing else is empty. `is_refusal` recognises a
model that leaves its role. `clean_speech` drops labels and quotes, and `shortened` keeps to the length.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice

from parley.agents.languages import refuses_elsewhere
from parley.agents.topic import PROMPTS, Topic
from parley.llm.prompts import prompt

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


def cut_echo(text: str, topic: Topic, name: str) -> str:
    """A reply up to where it repeats what `name` was sent in a debate about the topic; empty where nothing else is in
    it.

    >>> from parley.agents.topic import load_topic
    >>> cut_echo("I agree. Complete your next reply. And also guns!", load_topic("racism"), "Ann")
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


_CANNOT = r"i(?<!\wi)(?: am|'m)? (?:cannot|can't|can not|won't|will not|unable to|not able to|not comfortable)"
_ROLE = r"(?:role|persona|character|perspective|viewpoint|person|identity)"
_NO_ROLE = re.compile(
    r"as(?<!\was) an? (?:ai|artificial intelligence|(?:large )?language model)(?: (?:assistant|model|language model))?\b"
    r"(?! (?:researcher|engineer|expert|developer|scientist|ethicist|company|executive|investor|user))"
)
_SORRY = re.compile(
    rf"(?:i(?: am|'m) (?:very |really |so )?sorry|sorry|i apologi[sz]e|unfortunately|apologies)[,.;:]? (?:but )?{_CANNOT} "
    r"(?:assist|help(?! but\b)|fulfil|comply|participate|engage|continue|provide|create|generate|write|produce|respond"
    r"|do (?:that|this))"
)
_UNABLE = re.compile(
    rf"{_CANNOT} (?:to )?(?:role-?play|impersonat\w+|pretend to be"
    rf"|(?:tak|adopt|assum|speak|argu)\w* (?:on |from |in )?(?:this|that|the|a|an) (?:\w+ )?{_ROLE}"
    r"|(?:fulfil+|comply with|complete) (?:this|that|your|the) (?:request|task|prompt))"
)
"""Each begins with a letter, so that a search skips to it: one pattern of all three takes ten times as long."""
_DENIALS, _MACHINES = ("not", "n't", "n’t", "unable"), ("ai", "artificial", "model")
"""What stands in all that the patterns find; most lines have none of it."""


def is_refusal(text: str) -> bool:
    """Does a speaker refuse to speak in its role? "I cannot support this law" is a position, and none.

    >>> is_refusal("As an AI language model, I cannot role-play."), is_refusal("I can't accept that, Bob.")
    (True, False)
    >>> is_refusal("Als KI-Sprachmodell kann ich keine Meinung haben."), is_refusal("Als KI aufkam, war ich jung.")
    (True, False)
    """
    lower = text.lower()
    denies, machine = any(map(lower.__contains__, _DENIALS)), any(map(lower.__contains__, _MACHINES))
    said = " ".join(lower.replace("’", "'").split())
    if (denies or machine) and _NO_ROLE.search(said):
        return True
    return bool(denies and (_SORRY.match(said) or _UNABLE.search(said))) or refuses_elsewhere(said)


_STOP = re.compile(r"[.!?]['\"”’)\]]*$")
_LINE = r"(?:^|[\n\r\v\f\x85\u2028\u2029])"
_PREAMBLE = re.compile(
    r"""^\W*(?:(?:sure|certainly|of\ course|absolutely|okay|ok|yes|great)\W+)?  # Sure!
    (?:here(?:['’]s|\ is|\ are)|this\ is|below\ is)\ [^:.\n]{0,60}?  # Here is my next
    \b(?:reply|response|answer|statement|message|line|turn|post|opinion|critique|argument|draft|revision)\b[^:.\n]{0,60}:\s*""",
    re.I | re.X,
)


def clean_speech(text: str, name: str, others: re.Pattern[str] | None) -> str:
    r"""A reply as one line: an announcement (`Here is my reply:`), an own name label and wrapping quotes are dropped,
    and it ends where it starts to speak for others, or to take its own next turn.

    One line, because a line break followed by a name would read as somebody else's line in the next prompt.

    >>> clean_speech('Ann: I agree.\n**Bob:** No!', "Ann", speaks_for(("Bob",)))
    'I agree.'
    """
    text = _unquoted(text.strip())
    if ":" in text:
        text = _unquoted(_PREAMBLE.sub("", text))
        own = _own_label(name)
        text = text[found.end() :] if (found := own.match(text)) else text
        cuts = [found.start() for label in (own, others) if label and (found := label.search(text))]
        text = text[: min(cuts)] if cuts else text
    return _unquoted(" ".join(text.split()))


@lru_cache(maxsize=1024)
def speaks_for(names: tuple[str, ...]) -> re.Pattern[str]:
    """The label of one of the names at the start of a line, as models write it: `Bob:`, `**Bob:**`, `[Bob]:`, `BOB
    (nods):`.
    """
    return re.compile(rf"{_LINE}{_label(names)}", re.I)


@lru_cache(maxsize=1024)
def _own_label(name: str) -> re.Pattern[str]:
    return re.compile(rf"{_LINE}{_label((name, 'Me'))}[\s*_]*", re.I)


def _label(names: Sequence[str]) -> str:
    written = dict.fromkeys([*names, *map(str.upper, names)])  # GROSS is how Groß is written in capitals
    return rf"[\s*_>#\[-]*(?:{'|'.join(map(re.escape, written))})[*_\]]*(?:\s*\([^()\n]*\))?[*_\]]*\s*:"


def _unquoted(text: str) -> str:
    if text[:1] not in ('"', "“") or text[-1] not in ('"', "”") or sum(map(text.count, '"“”')) != 2:
        return text
    return text[1:-1].strip()


def shortened(text: str, words: int, cut: str) -> str:
    """A reply of more than `words` words as `cut` says (see `DebateStyle`); where no sentence is that short, its
    first words and ….

    >>> shortened("One two. Three four. Five.", 4, "sentence"), shortened("One two. Three four.", 3, "last")
    ('One two. Three four.', 'two. Three four.')
    """
    if cut == "none":
        return text
    said = text.split()
    if len(said) <= words:
        return text
    if cut == "last":  # as the public code of the UCL study does
        return " ".join(said[-words:])
    ends = [place for place, word in enumerate(said[:words], 1) if _STOP.search(word)]
    return " ".join(said[: ends[-1]]) if ends else f"{' '.join(said[:words])}…"
