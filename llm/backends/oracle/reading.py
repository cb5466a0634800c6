"""What the oracle understands of what it was sent: persona, opening, lines heard, own lines, the question asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from llm.backends.oracle.banks import recognised
from llm.request import Request

_NAME = r"[^\W\d_][\w'’.-]{0,24}"
_LINE = re.compile(rf"({_NAME}(?: {_NAME}){{0,3}}): (\S.*)")
_PARTICLES = frozenset({"al", "bin", "da", "de", "del", "der", "di", "dos", "du", "el", "la", "le", "van", "von", "y"})
_NO_NAMES = frozenset(
    {"Question", "Topic", "Note", "Answer", "Scale", "Example", "Example question", "Interview question", "Summary"}
)
_REPUBLICAN = re.compile(r"\b(?:republicans?|conservatives?|gop)\b", re.I)
_DEMOCRAT = re.compile(r"\b(?:democrats?|democratic party|liberals?|progressives?)\b", re.I)
_TEMPERAMENT = re.compile(r" ?\bBy temperament you are [^.]*\.")
_BIASES = {
    "weak": re.compile(r" ?\bWhat fits the views you already hold convinces you sooner\b[^.]*\."),
    "strong": re.compile(r" ?\bYou take in only what fits the views you already hold\b[^.]*\."),
}
_WORDS = re.compile(r"(\d+) (?:words|word)\b")


@dataclass(frozen=True)
class Reading:
    """The request as read. `heard` and `own` are the lines said by others (name, text) and by oneself, in order.

    `persona` is what it is told to be, without a temperament (of which it takes no notice) and a confirmation bias, which is
    `bias`: weak, strong, or "" for none.
    """

    request: Request
    persona: str
    opening: str
    heard: tuple[tuple[str, str], ...]
    own: tuple[str, ...]
    ask: str
    bias: str = ""

    @cached_property
    def party(self) -> str:
        """republican, democrat, or none, by which of the two the persona text names more often."""
        return party(self.persona)

    @cached_property
    def topic(self) -> str | None:
        """Slug of the topic: that of the question, else of the opening."""
        return recognised(self.ask) or recognised(self.opening)

    @property
    def last(self) -> str:
        """The whole last message; "" when there is none."""
        return self.request.messages[-1].content if self.request.messages else ""

    @property
    def greedy(self) -> bool:
        return self.request.sampling.temperature == 0

    @cached_property
    def words(self) -> int:
        """The length asked for, in words (60 when none is)."""
        found = _WORDS.search(self.ask) or _WORDS.search(self.opening)
        return int(found[1]) if found else 60


def read(request: Request) -> Reading:
    """Read a request. The question is the last paragraph of the last message; the opening is the first of the first."""
    persona, opening, ask = "", "", ""
    heard: list[tuple[str, str]] = []
    own: list[str] = []
    for role, content in request.messages:
        if role == "system":
            persona = f"{persona}\n{content}".strip()
        elif role == "assistant":
            own.append(content)
        else:
            first, said, last = _paragraphs(content)
            opening, ask = opening or first, last
            heard += said
    persona, bias = _plainly(persona)
    return Reading(request, persona, opening, tuple(heard), tuple(own), ask, bias)


@lru_cache(maxsize=4096)
def _plainly(persona: str) -> tuple[str, str]:
    """A persona without its temperament and confirmation bias, and the latter."""
    bias = next((name for name, told in _BIASES.items() if told.search(persona)), "")
    for told in (*_BIASES.values(), _TEMPERAMENT):
        persona = told.sub("", persona)
    return persona, bias


@lru_cache(maxsize=1 << 16)
def _paragraphs(content: str) -> tuple[str, tuple[tuple[str, str], ...], str]:
    """First paragraph, transcript lines and last paragraph of a user message."""
    parts = [part for part in content.split("\n\n") if part]
    found = [_LINE.fullmatch(line) for line in content.split("\n")]
    said = tuple((match[1], match[2]) for match in found if match and _is_name(match[1]))
    return (parts[0], said, parts[-1]) if parts else ("", (), "")


def labels(content: str) -> list[str]:
    """The names before the colons of a message's transcript lines, in order."""
    return [name for name, _ in _paragraphs(content)[1]]


def _is_name(label: str) -> bool:
    """A label before a colon is a name when its words are capitalised (José, Élodie Saint-Clair, María del Carmen)."""
    first, *rest = label.split(" ")
    capitals = [word for word in (first, *rest) if word is first or word not in _PARTICLES]
    return label not in _NO_NAMES and not any(word[0].islower() for word in capitals)


@lru_cache(maxsize=4096)
def party(persona: str) -> str:
    """Which party a persona text names more often: republican, democrat, or none."""
    red, blue = len(_REPUBLICAN.findall(persona)), len(_DEMOCRAT.findall(persona))
    if red == blue:
        return "none"
    return "republican" if red > blue else "democrat"
