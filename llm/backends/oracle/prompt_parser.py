"""What the oracle understands of a request: persona, opening, lines heard, own lines, topic, party, the length asked for."""

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
    """The request as read. `heard` and `own` are the lines said by others (name, text) and by oneself, in order.

    `unheard` counts what looks like a line of somebody of whom the request says nothing, and whose name does not look like one.
    `persona` is what it is told to be, without a temperament (of which it takes no notice) and a confirmation bias. `opening` is
    the first paragraph, `ask` the last.
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
        """republican, democrat, or none, by which of the two the persona text names more often."""
        return party(self.persona)

    @property
    def facts(self) -> Facts:
        """What the prompt states, by name."""
        return self.request.facts

    @property
    def question(self) -> str:
        """The question itself; the last paragraph where nobody says which part of it that is."""
        return self.facts.get("question") or self.ask

    @property
    def bias(self) -> str:
        """The confirmation bias: weak, strong, or "" for none."""
        bias = self.facts.get("confirmation_bias", "")
        return "" if bias == "none" else bias

    @cached_property
    def topic(self) -> str | None:
        """Slug of the topic: that of the question, else of the debate."""
        texts = (self.facts.get("question"), self.facts.get("topic"), self.ask, self.opening)
        return next((slug for text in texts if text and (slug := recognised(text))), None)

    @property
    def last(self) -> str:
        """The whole last message; "" when there is none."""
        return self.request.messages[-1].content if self.request.messages else ""

    @property
    def greedy(self) -> bool:
        return self.request.sampling.temperature == 0

    @cached_property
    def words(self) -> int:
        """The length asked for, in words (WORDS when none is)."""
        found = _WORDS.search(self.ask)
        return int(found[1]) if found else self.facts.get("words", WORDS)


def read(request: Request) -> Reading:
    """Read a request. The question is the last paragraph of the last message; the opening is the first of the first."""
    persona, opening, ask, unheard = "", "", "", 0
    heard: list[tuple[str, str]] = []
    own: list[str] = []
    names = request.names or frozenset()
    for role, content in request.messages:
        if role == "system":
            persona = f"{persona}\n{content}".strip()
        elif role == "assistant":
            own.append(content)
        else:
            first, said, last, lost = _paragraphs(content, names, request.names is None)
            opening, ask, unheard = opening or first, last, unheard + lost
            heard += said
    character = request.facts.get("character")
    persona = persona.removesuffix(f" {character}") if character else persona
    return Reading(request, persona, opening, tuple(heard), tuple(own), ask, unheard)


@lru_cache(maxsize=1 << 16)
def _paragraphs(content: str, names: frozenset[str], guess: bool) -> tuple[str, tuple[tuple[str, str], ...], str, int]:
    """First paragraph, transcript lines and last paragraph of a user message, and how many lines have a label that is no name.

    guess: besides the names, a label that looks like one is one. The first and the last paragraph are no lines that got lost.
    """
    parts = [part for part in content.split("\n\n") if part]
    if not parts:
        return "", (), "", 0
    lines = content.split("\n")
    said = tuple([found for line in lines if (found := _line(line, names, guess)) is not None])
    between = [line for part in parts[1:-1] for line in part.split("\n")] if guess else []
    lost = sum(_LABEL.fullmatch(line) is not None and not _is_label(line, names) for line in between)
    return parts[0], said, parts[-1], lost


def _line(line: str, names: frozenset[str], guess: bool) -> tuple[str, str] | None:
    """The name and the words of a transcript line; None for any other text."""
    place = line.find(": ")
    while place > 0:
        if line[:place] in names and line[place + 2 :].strip():
            return line[:place], line[place + 2 :]
        place = line.find(": ", place + 1)
    found = _LABEL.fullmatch(line) if guess else None
    return (found[1], found[2]) if found and _is_name(found[1]) else None


def _is_label(line: str, names: frozenset[str]) -> bool:
    """Whether a line is somebody's, or begins with a word that a prompt puts before a colon."""
    return _line(line, names, True) is not None or line.partition(": ")[0] in _NO_NAMES


def labels(content: str, names: frozenset[str] | None = None) -> list[str]:
    """The names before the colons of a message's transcript lines, in order; names: those that may be there, where known."""
    return [name for name, _ in _paragraphs(content, names or frozenset(), names is None)[1]]


def _is_name(label: str) -> bool:
    """A label before a colon looks like a name when its words are not in small letters (José, Agent 7, राहुल, María del Carmen).

    One with a digit or an underscore is a name in small letters too (agent_1).
    """
    first, *rest = label.split(" ")
    capitals = [word for word in (first, *rest) if word is first or word not in _PARTICLES]
    coded = any(character.isdigit() or character == "_" for character in label)
    plain = first[0].isalpha() and (coded or not any(word[0].islower() for word in capitals))
    return label not in _NO_NAMES and plain


@lru_cache(maxsize=4096)
def party(persona: str) -> str:
    """Which party a persona text names more often: republican, democrat, or none."""
    red, blue = len(_REPUBLICAN.findall(persona)), len(_DEMOCRAT.findall(persona))
    if red == blue:
        return "none"
    return "republican" if red > blue else "democrat"
