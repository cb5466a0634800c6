"""Reads a request for the oracle: persona, opening, lines heard, own lines, topic, party, the length asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import NamedTuple

from parley.llm.backends.oracle.phrases import US, Banks, banks
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request
from parley.llm.spacing import GIVEN, restore_messages

WORDS = 60
"""The length of an utterance where none is asked for."""


class LabelForm(NamedTuple):
    """What precedes the colon of a transcript line, in a language.

    label      label, colon, words
    particles  words of a name that may begin in small letters
    no_names   words that prompts put before a colon
    articles   words that precede a noun: no name begins with one
    """

    label: re.Pattern[str]
    particles: frozenset[str]
    no_names: frozenset[str]
    articles: frozenset[str]


@dataclass(frozen=True)
class Reading:
    """A request as the oracle reads it. `heard` and `own` are the lines of others (name, text) and its own, in order.

    `unheard` counts lines whose label is not a name that the request lists, and does not look like a name. `persona` is the
    system message without temperament (which the oracle ignores) and confirmation bias. `opening` is the first paragraph, `ask`
    the last. `reserved` words of the length asked for are kept for what the speaker adds at the end.
    """

    request: Request
    banks: Banks
    persona: str
    opening: str
    heard: tuple[tuple[str, str], ...]
    own: tuple[str, ...]
    ask: str
    unheard: int = 0
    reserved: int = 0

    @cached_property
    def party(self) -> str:
        """The party that the persona names more often than any other, or none."""
        return self.banks.party(self.persona)

    @property
    def facts(self) -> Facts:
        """What the prompt states, by name."""
        return self.request.facts

    @property
    def question(self) -> str:
        """The question itself; the last paragraph where the facts do not name it."""
        return self.facts.get("question") or self.ask

    @property
    def bias(self) -> str:
        """The confirmation bias: weak, strong, or "" for none."""
        return self.facts.get("confirmation_bias", "").replace("none", "")

    @cached_property
    def topic(self) -> str | None:
        """Slug of the topic of the question, else of the debate; of a topic of the user's its title."""
        if own := self.facts.get("own"):
            return own
        texts = (self.facts.get("question"), self.facts.get("topic"), self.ask, self.opening)
        return next((slug for text in texts if text and (slug := self.banks.recognised(text))), None)

    @property
    def last(self) -> str:
        """The last message; "" when there is none."""
        return self.request.messages[-1].content if self.request.messages else ""

    @property
    def greedy(self) -> bool:
        return self.request.sampling.temperature == 0

    @property
    def seed(self) -> int:
        """The seed of the request; 0 at temperature 0."""
        return 0 if self.greedy else self.request.seed

    @cached_property
    def words(self) -> int:
        """The length asked for, in words (WORDS when none is)."""
        length = self.banks.pattern("words").search(self.ask)
        return (int(length[1]) if length else self.facts.get("words", WORDS)) - self.reserved

    @property
    def heard_text(self) -> str:
        """All lines heard, without names."""
        return "\n".join(text for _, text in self.heard)


def read(request: Request, banks: Banks) -> Reading:
    """Read a request. The question is the last paragraph of the last message; the opening is the first of the first."""
    if (spacing := request.facts.get("spacing", GIVEN)) != GIVEN:  # it reads words, not the white space between them
        request = replace(request, messages=restore_messages(request.messages, spacing))
    if (messages := asked_as_in_papers(request.messages, banks)) != request.messages:
        request = replace(request, messages=messages)
    persona, opening, ask, unheard = "", "", "", 0
    heard: list[tuple[str, str]] = []
    own_lines: list[str] = []
    for role, content in request.messages:
        if role == "system":
            persona = f"{persona}\n{content}".strip()
        elif role == "assistant":
            own_lines.append(content)
        else:
            first, lines, ask, lost = _paragraphs(content, request.names or frozenset(), request.names is None, banks)
            opening, unheard = opening or first, unheard + lost
            heard += lines
    character = request.facts.get("character")
    persona = persona.removesuffix(f" {character}") if character else persona
    return Reading(request, banks, persona, opening, tuple(heard), tuple(own_lines), ask, unheard)


def asked_as_in_papers(messages: Sequence[Message], banks: Banks) -> tuple[Message, ...]:
    """Return the messages with the instructions to speak in the wording `papers`, for both wordings."""
    return tuple([Message(role, _reworded(text, banks) if role == "user" else text) for role, text in messages])


KEPT = 1 << 13
"""Messages of which the reading is kept: those of a few thousand agents, whose prompts begin like their last ones."""


@lru_cache(maxsize=KEPT)
def _reworded(text: str, banks: Banks) -> str:
    for given, papers in banks.data("language")["asked_to_speak"]:
        text = re.sub(given, papers, text)
    return text


@cache
def _label_form(banks: Banks) -> LabelForm:
    """Return the form of a label, from language.toml."""
    language = banks.data("language")
    word = rf"[^\s{re.escape(language['no_label'])}]+"
    label = re.compile(rf"({word}(?: {word}){{0,7}}): (\S.*)")
    return LabelForm(label, *[frozenset(language[name]) for name in ("particles", "no_names", "articles")])


@lru_cache(maxsize=KEPT)
def _paragraphs(
    content: str, names: frozenset[str], guess: bool, banks: Banks
) -> tuple[str, tuple[tuple[str, str], ...], str, int]:
    """Return first paragraph, transcript lines and last paragraph of a user message, and the number of lost lines.

    With `guess`, a label that looks like a name counts as one. A line between the first and the last paragraph is lost when its
    label is neither a name nor a word that prompts put before a colon.
    """
    parts = [paragraph for paragraph in content.split("\n\n") if paragraph]
    if not parts:
        return "", (), "", 0
    form = _label_form(banks) if guess else None
    lines = tuple([line for text in content.split("\n") if (line := _line(text, names, form)) is not None])
    lost = (
        _count_lost([line for paragraph in parts[1:-1] for line in paragraph.split("\n")], names, form) if form else 0
    )
    return parts[0], lines, parts[-1], lost


def _count_lost(lines: list[str], names: frozenset[str], form: LabelForm) -> int:
    """Return how many lines have a label that is neither a name nor a word that prompts put before a colon."""
    labelled = [line for line in lines if form.label.fullmatch(line) is not None]
    named = [line for line in labelled if _line(line, names, form) or line.partition(": ")[0] in form.no_names]
    return len(labelled) - len(named)


def _line(line: str, names: frozenset[str], form: LabelForm | None) -> tuple[str, str] | None:
    """Return the name and the words of a transcript line; None for any other text. form: None where a name is not guessed."""
    place = line.find(": ")
    while place > 0:
        if line[:place] in names and line[place + 2 :].strip():
            return line[:place], line[place + 2 :]
        place = line.find(": ", place + 1)
    label = form.label.fullmatch(line) if form else None
    return (label[1], label[2]) if form and label and _looks_like_name(label[1], form) else None


def labels(content: str, names: frozenset[str] | None = None, society: str = US) -> list[str]:
    """Return the names before the colons of a message's transcript lines, in order. names: the possible ones, if known."""
    return [name for name, _ in _paragraphs(content, names or frozenset(), names is None, banks(society))[1]]


def _looks_like_name(label: str, form: LabelForm) -> bool:
    """Does no word of a label begin in small letters (José, Agent 7, राहुल, María del Carmen)?

    A label with a digit or an underscore is a name in small letters too (agent_1).
    """
    first, *rest = label.split(" ")
    coded = any(character.isdigit() or character == "_" for character in label)
    small = any(word[0].islower() for word in (first, *[word for word in rest if word not in form.particles]))
    named = label not in form.no_names and first not in form.articles
    return named and first[0].isalpha() and (coded or not small)
