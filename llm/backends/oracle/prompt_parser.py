"""Reads a request for the oracle: persona, opening, lines heard, own lines, topic, party, the length asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from parley.llm.backends.oracle.phrases import recognised
from parley.llm.purposes import Facts
from parley.llm.request import Request

_LABEL = re.compile(r"([^\s:,;?!\"“”()\[\]]+(?: [^\s:,;?!\"“”()\[\]]+){0,7}): (\S.*)")
_PARTICLES = frozenset({"al", "bin", "da", "de", "del", "der", "di", "dos", "du", "el", "la", "le", "van", "von", "y"})
_NO_NAMES = frozenset(
    {"Question", "Topic", "Note", "Answer", "Scale", "Example", "Example question", "Interview question", "Summary"}
)
_REPUBLICAN = re.compile(r"\b(?:republicans?|conservatives?|gop)\b", re.I)
_DEMOCRAT = re.compile(r"\b(?:democrats?|democratic party|liberals?|progressives?)\b", re.I)
WORDS = 60
"""The length of an utterance where none is asked for."""
_WORDS = re.compile(r"(\d+) (?:words|word)\b")


@dataclass(frozen=True)
class Reading:
    """A request as the oracle reads it. `heard` and `own` are the lines of others (name, text) and its own, in order.

    `unheard` counts lines whose label is not a name that the request lists, and does not look like a name. `persona` is the
    system message without temperament (which the oracle ignores) and confirmation bias. `opening` is the first paragraph, `ask`
    the last.
    """

    request: Request
    persona: str
    opening: str
    heard: tuple[tuple[str, str], ...]
    own: tuple[str, ...]
    ask: str
    unheard: int = 0

    @cached_property
    def party(self) -> str:
        """republican, democrat, or none: the one that the persona names more often."""
        return party(self.persona)

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
        """Slug of the topic of the question, else of the debate."""
        texts = (self.facts.get("question"), self.facts.get("topic"), self.ask, self.opening)
        return next((slug for text in texts if text and (slug := recognised(text))), None)

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
        length = _WORDS.search(self.ask)
        return int(length[1]) if length else self.facts.get("words", WORDS)

    @property
    def heard_text(self) -> str:
        """All lines heard, without names."""
        return "\n".join(text for _, text in self.heard)


def read(request: Request) -> Reading:
    """Read a request. The question is the last paragraph of the last message; the opening is the first of the first."""
    persona, opening, ask, unheard = "", "", "", 0
    heard: list[tuple[str, str]] = []
    own: list[str] = []
    for role, content in request.messages:
        if role == "system":
            persona = f"{persona}\n{content}".strip()
        elif role == "assistant":
            own.append(content)
        else:
            first, lines, ask, lost = _paragraphs(content, request.names or frozenset(), request.names is None)
            opening, unheard = opening or first, unheard + lost
            heard += lines
    character = request.facts.get("character")
    persona = persona.removesuffix(f" {character}") if character else persona
    return Reading(request, persona, opening, tuple(heard), tuple(own), ask, unheard)


@lru_cache(maxsize=1 << 16)
def _paragraphs(content: str, names: frozenset[str], guess: bool) -> tuple[str, tuple[tuple[str, str], ...], str, int]:
    """Return first paragraph, transcript lines and last paragraph of a user message, and the number of lost lines.

    With `guess`, a label that looks like a name counts as one. A line between the first and the last paragraph is lost when its
    label is neither a name nor a word that prompts put before a colon.
    """
    parts = [part for part in content.split("\n\n") if part]
    if not parts:
        return "", (), "", 0
    lines = tuple([line for text in content.split("\n") if (line := _line(text, names, guess)) is not None])
    between = [line for part in parts[1:-1] for line in part.split("\n")] if guess else []
    lost = sum(_LABEL.fullmatch(line) is not None and not _has_label(line, names) for line in between)
    return parts[0], lines, parts[-1], lost


def _line(line: str, names: frozenset[str], guess: bool) -> tuple[str, str] | None:
    """Return the name and the words of a transcript line; None for any other text."""
    place = line.find(": ")
    while place > 0:
        if line[:place] in names and line[place + 2 :].strip():
            return line[:place], line[place + 2 :]
        place = line.find(": ", place + 1)
    label = _LABEL.fullmatch(line) if guess else None
    return (label[1], label[2]) if label and _looks_like_name(label[1]) else None


def _has_label(line: str, names: frozenset[str]) -> bool:
    return _line(line, names, True) is not None or line.partition(": ")[0] in _NO_NAMES


def labels(content: str, names: frozenset[str] | None = None) -> list[str]:
    """Return the names before the colons of a message's transcript lines, in order. names: the possible ones, if known."""
    return [name for name, _ in _paragraphs(content, names or frozenset(), names is None)[1]]


def _looks_like_name(label: str) -> bool:
    """Does no word of a label begin in small letters (José, Agent 7, राहुल, María del Carmen)?

    A label with a digit or an underscore is a name in small letters too (agent_1).
    """
    first, *rest = label.split(" ")
    coded = any(character.isdigit() or character == "_" for character in label)
    small = any(word[0].islower() for word in (first, *[word for word in rest if word not in _PARTICLES]))
    return label not in _NO_NAMES and first[0].isalpha() and (coded or not small)


@lru_cache(maxsize=4096)
def party(persona: str) -> str:
    """Return the party that a persona text names more often: republican, democrat, or none."""
    red, blue = len(_REPUBLICAN.findall(persona)), len(_DEMOCRAT.findall(persona))
    if red == blue:
        return "none"
    return "republican" if red > blue else "democrat"
