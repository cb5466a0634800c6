"""Turns a model's reply into one line of the debate.

`cut_echo` cuts what repeats the prompt: the next instruction, or a whole survey with its answer. Completion models
write on after their turn, and some chat models repeat their instruction. Survey questions and answers are private, so
anything that looks like one ends the reply, and a reply of nothing else is empty. `is_refusal` recognises a model that
leaves its role, `own_turn` removes labels and quotes, and `shortened` limits the length.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice

from parley.agents.foreign_replies import refuses_elsewhere
from parley.agents.language import Language
from parley.agents.topic import Topic
from parley.llm.errors import UserError

Words = tuple[str, ...]
Asked = tuple[tuple[str, str], ...]
"""The question of each probe, and the sentence that answers it ("" for a number)."""

INSTRUCTIONS = (
    "start", "turn", "reask", "reminder", "side", "opening", "opening_structured", "opinion", "critique",
    "statement_opening", "statement_closing", "statement_post", "statement_talk", "role_listener", "role_persuader",
    *(f"survey_{kind}{public}" for kind in ("numeric", "labelled", "phrases", "options") for public in ("", "_public")),
)  # fmt: skip
FEWEST, MOST = 4, 8
"""A sentence of a prompt is recognised by so many first words: fewer may be the agent's own, more are not needed."""
_WORD, _SENTENCE, _SLOT = re.compile(r"\w+"), re.compile(r"[.?!]+|\{(?:question|case|survey)\}"), re.compile(r"\{\w+\}")
_NUMBER = re.compile(r"\W*(?:answer\W+)?\d+(?:\W+\d+)?\W*", re.I)
_BREAKS = r"\n\r\v\f\x85\u2028\u2029"
_BREAK = re.compile(f"[{_BREAKS}]")
_SPACE = "".join(filter(str.isspace, map(chr, range(0x3001))))
_EMPHASIS, _LEAD = f"{_SPACE}*_", f"{_SPACE}*_>#[-"
"""What may follow a label, and precede it. Labels are looked for line by line, because a model may loop on line ends."""
_TAG = r"</?[a-z]{1,6}>"
_LINE = rf"(?:^|[{_BREAKS}])(?:[^\S{_BREAKS}]|{_TAG}|[*_>#\[-])*+"
_SENTENCE_END = r"(?<=[.!?…\"”’)])\s+"
_ANSWER = re.compile(rf"{_LINE}Answer[*_\]]*+\s*+:", re.I)


def cut_echo(text: str, topic: Topic, name: str) -> str:
    """Return a reply up to where it repeats what `name` was sent in a debate about the topic.

    >>> from parley.agents.topic import load_topic
    >>> cut_echo("I agree. Complete your next reply. And also guns!", load_topic("racism"), "Ann")
    'I agree. '
    """
    survey_texts = tuple([(probe.question, probe.sentence) for probe in topic.probes.values()])
    return _before_echo(text, survey_texts, name, topic.language)


@lru_cache(maxsize=256)  # a reply is read once when it comes, and once when it is heard
def _before_echo(text: str, survey_texts: Asked, name: str, language: Language) -> str:
    if _NUMBER.fullmatch(text):
        return ""
    repeated = _repeats(text, _marks(survey_texts, language), _introduction(name, language))
    cuts = [place for place in (repeated, _answers(text, survey_texts)) if place is not None]
    before_cut = text[: min(cuts)] if cuts else text
    return "" if cuts and _words(before_cut) in map(_words, dict(survey_texts)) else before_cut


def _repeats(text: str, marks: Mapping[str, Sequence[Words]], introduction: Words) -> int | None:
    """Return where the first mark, or the agent's introduction, begins in a text, or None."""
    words = _words(text)
    for place, word in enumerate(words):
        begun = (*marks.get(word, ()), introduction) if word == introduction[0] else marks.get(word, ())
        if any(words[place : place + len(mark)] == mark for mark in begun):
            return next(islice(_WORD.finditer(text), place, None)).start()
    return None


def _answers(text: str, survey_texts: Asked) -> int | None:
    """Return where a text begins to answer a survey: in the requested form, or after the label `Answer:`."""
    form = _forms(tuple([sentence for _, sentence in survey_texts if "{number}" in sentence]))  # others may be speech
    starts = [_label_start(text, _ANSWER), match.start() if form and (match := form.search(text)) else None]
    return min((start for start in starts if start is not None), default=None)


def _label_start(text: str, label: re.Pattern[str]) -> int | None:
    """Return where the line of a label begins, or the first of the empty lines before it; None without the label."""
    if (match := label.search(text)) is None:
        return None
    lead = _BREAK.search(text, len(text[: match.start()].rstrip(_LEAD)), match.start() + 1)
    return lead.start() if lead else match.start()


@lru_cache(maxsize=4096)
def _introduction(name: str, language: Language) -> Words:
    """Return the words with which a prompt says who the agent is."""
    return _words(language.fill("you_are", name=name))


@lru_cache(maxsize=1024)
def _marks(survey_texts: Asked, language: Language) -> Mapping[str, Sequence[Words]]:
    """Return the first words of prompts and of a topic's surveys, by their first word."""
    instructions = _instructions(language)
    begins = {_words(word) for word in language.entry("survey_begins")}
    follows = [words for words in instructions if words[:1] in begins]
    surveys = [_words(question) + then for question, _ in survey_texts for then in follows]
    marks: defaultdict[str, list[Words]] = defaultdict(list)
    for mark in (*instructions, *surveys):
        marks[mark[0]].append(mark)
    return dict(marks)


@cache
def _instructions(language: Language) -> tuple[Words, ...]:
    """Return how the sentences of the prompts begin, up to their first slot."""
    texts = [language.prompt(name).text for name in INSTRUCTIONS]
    begun = [_words(_SLOT.split(sentence)[0])[:MOST] for text in texts for sentence in _SENTENCE.split(text)]
    return tuple(dict.fromkeys(words for words in begun if len(words) >= FEWEST))


@lru_cache(maxsize=1024)
def _forms(sentences: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern for the answers that these sentences ask for, with any label and number."""
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
"""Each pattern begins with a letter, so that a search skips to it; one pattern of all three takes ten times as long."""
_DENIALS, _MACHINES = ("not", "n't", "n’t", "unable"), ("ai", "artificial", "model")
"""One of these is in every text that the patterns match; most lines have none."""


@lru_cache(maxsize=256)
def is_refusal(text: str) -> bool:
    """Return whether a speaker refuses to speak in its role. "I cannot support this law" is a position, not a refusal.

    >>> is_refusal("As an AI language model, I cannot role-play."), is_refusal("I can't accept that, Bob.")
    (True, False)
    >>> is_refusal("Als KI-Sprachmodell kann ich keine Meinung haben."), is_refusal("Als KI aufkam, war ich jung.")
    (True, False)
    """
    lower = text.lower()
    denies, machine = any(map(lower.__contains__, _DENIALS)), any(map(lower.__contains__, _MACHINES))
    plain_text = " ".join(lower.replace("’", "'").split())
    if (denies or machine) and _NO_ROLE.search(plain_text):
        return True
    return bool(denies and (_SORRY.match(plain_text) or _UNABLE.search(plain_text))) or refuses_elsewhere(plain_text)


_STOP, _LISTED = re.compile(r"[.!?]['\"”’)\]*]*$"), re.compile(r"\W*\d{1,2}\.\W*")
_PREAMBLE = re.compile(
    r"""^\W*(?:(?:sure|certainly|of\ course|absolutely|okay|ok|yes|great)\W+)?  # Sure!
    (?:here(?:['’]s|\ is|\ are)|this\ is|below\ is)\ [^:.\n]{0,60}?  # Here is my next
    \b(?:reply|response|answer|statement|message|line|turn|post|opinion|critique|argument|draft|revision)\b[^:.\n]{0,60}:\s*""",
    re.I | re.X,
)


def clean_speech(text: str, name: str, others: re.Pattern[str] | None) -> str:
    """Return a reply as one line, without labels (see `own_turn`).

    >>> clean_speech("Ann: I agree.", "Ann", None)
    'I agree.'
    """
    return own_turn(text, name, others)[0]


def own_turn(text: str, name: str, others: re.Pattern[str] | None) -> tuple[str, bool]:
    r"""Return a reply as one line, and whether it stood under another name.

    The line is without an announcement (`Here is my reply:`), labels in front and wrapping quotes. It ends where the reply starts
    to speak for others, or to take the agent's next turn. It is one line because a line break and a name would read as another
    speaker's line in the next prompt. A label of another name in front is cut, and the text is kept as the agent's own: small
    models often begin with the label that they read last. If a line under the agent's own name follows, that is its turn.

    >>> own_turn('Ann: I agree.\n**Bob:** No!', "Ann", speaks_for(("Bob",)))
    ('I agree.', False)
    >>> own_turn("Bob: While I agree, taxes are too high.", "Ann", speaks_for(("Bob",)))
    ('While I agree, taxes are too high.', True)
    >>> own_turn("I agree. Bob: No, it costs too much.", "Ann", speaks_for(("Bob",)))
    ('I agree.', False)
    """
    text, relabelled = _unquoted(text.strip()), False
    if ":" in text:
        text, own_label = _unquoted(_PREAMBLE.sub("", text)), _own_label(name)
        while others and (label := others.match(begun := text.lstrip(_LEAD))):
            relabelled, text = True, begun[label.end() :].lstrip(_EMPHASIS)
        if relabelled and (label := own_label.search(text)):
            text = text[label.start() :]
        if label := own_label.match(begun := text.lstrip(_LEAD)):
            text = begun[label.end() :].lstrip(_EMPHASIS)
        cuts = [_label_start(text, pattern) for pattern in (own_label, others) if pattern]
        text = text[: min((cut for cut in cuts if cut is not None), default=None)]
    return _unquoted(" ".join(text.split())), relabelled


@lru_cache(maxsize=1024)
def speaks_for(names: tuple[str, ...], invented: tuple[str, ...] = ()) -> re.Pattern[str]:
    """Return a pattern for the label of a name at the start of a line: `Bob:`, `**Bob:**`, `[Bob]:`, `<b>BOB</b> (nods):`.

    A partner's name with a colon is a label behind a sentence too: `I agree. Bob: No!`
    invented: names of people who are not in the room, which have to be written with a capital: `Rachel:`, `MODERATOR:`.
    """
    labels = [f"(?i:{_label(names)})", *([_label(invented)] if invented else [])]
    return re.compile(f"{_LINE}(?:{'|'.join(labels)})|{_SENTENCE_END}{_label(names)}")


@lru_cache(maxsize=1024)
def invented_speakers(language: Language, society: tuple[str, ...], names: frozenset[str]) -> tuple[str, ...]:
    """Return the labels under which a model may write lines of people who are not in the room, without `names`, which are.

    First names of the language and of the people of the society, roles ("Moderator"), and letters ("A:").
    """
    try:
        labels = language.data("identity").get("labels", ())
    except UserError:  # a language of the user's
        labels = ()
    return tuple(sorted({*labels, *society} - names))


@lru_cache(maxsize=1024)
def _own_label(name: str) -> re.Pattern[str]:
    return re.compile(rf"{_LINE}{_label((name, 'Me'))}", re.I)


def _label(names: Sequence[str]) -> str:
    written = dict.fromkeys([*names, *map(str.upper, names)])  # GROSS is how Groß is written in capitals
    marks = rf"(?:[*_\]]|{_TAG})*+"
    return rf"(?:{'|'.join(map(re.escape, written))}){marks}(?:\s*+\([^()\n]*+\))?{marks}\s*+:"


def _unquoted(text: str) -> str:
    if text[:1] not in ('"', "“") or text[-1] not in ('"', "”") or sum(map(text.count, '"“”')) != 2:
        return text
    return text[1:-1].strip()


def shortened(text: str, words: int, cut: str) -> str:
    """Shorten a reply of more than `words` words as `cut` says (see `DebateStyle`).

    If its first sentence is longer than the limit, its first words and … remain.

    >>> shortened("One two. Three four. Five.", 4, "sentence"), shortened("One two. Three four.", 3, "last")
    ('One two. Three four.', 'two. Three four.')
    """
    if cut == "none":
        return text
    spoken_words = text.split()
    if len(spoken_words) <= words:
        return text
    if cut == "last":  # as the public code of the UCL study does
        return " ".join(spoken_words[-words:])
    begun = " ".join(spoken_words[:words])
    return whole_sentences(begun) or f"{begun}…"


def whole_sentences(text: str) -> str:
    """Return a text up to the end of its last whole sentence; empty if no sentence ends. The number of a list ends none.

    >>> whole_sentences("Taxes are too high. 2. We should"), whole_sentences("We should")
    ('Taxes are too high.', '')
    """
    words = text.split()
    ends = [place for place, word in enumerate(words, 1) if _STOP.search(word) and not _LISTED.fullmatch(word)]
    return " ".join(words[: ends[-1]]) if ends else ""


def one_line(text: str) -> str:
    """Return a text on one line, because a line break could look like another part of the prompt."""
    return " ".join(text.split())
