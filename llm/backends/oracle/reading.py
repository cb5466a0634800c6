"""What the oracle understands of what it was sent: persona, opening, lines heard, own lines, the question asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from parley.llm.backends.oracle.banks import recognised
from parley.llm.request import Request

_LABEL = re.compile(r"([^\s:,;?!\"“”()\[\]]+(?: [^\s:,;?!\"“”()\[\]]+){0,7}): (\S.*)")
_INTRODUCED = re.compile(
    r"(?<![\w,])You are ((?:(?!You are )[^;\n])+?)(?:; the others? (?:is|are) ([^;\n]+?))?\. Speak only for yourself"
)
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

    `unheard` counts what looks like a line of somebody of whom the request says nothing, and whose name does not look like one.
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
    unheard: int = 0

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
    persona, opening, ask, unheard = "", "", "", 0
    heard: list[tuple[str, str]] = []
    own: list[str] = []
    names = known(request)
    for role, content in request.messages:
        if role == "system":
            persona = f"{persona}\n{content}".strip()
        elif role == "assistant":
            own.append(content)
        else:
            first, said, last, lost = _paragraphs(content, names, request.names is None)
            opening, ask, unheard = opening or first, last, unheard + lost
            heard += said
    persona, bias = _plainly(persona)
    return Reading(request, persona, opening, tuple(heard), tuple(own), ask, bias, unheard)


def known(request: Request) -> frozenset[str]:
    """Whose lines the messages may hold: as the request says, else those whom its opening introduces."""
    if request.names is not None:
        return request.names
    first = next((content for role, content in request.messages if role == "user"), "")
    return frozenset(introduced(first))


@lru_cache(maxsize=1 << 16)
def introduced(content: str, names: frozenset[str] | None = None) -> tuple[str, ...]:
    """Whom an opening introduces, the reader first: `You are Ann; the others are bell hooks and राहुल.`; none in another text.

    names: those who may be listed, where they are known (so that a name may hold a comma or an "and").
    """
    found = _INTRODUCED.search(content)
    if not found:
        return ()
    if names:
        listed = re.findall("|".join(map(re.escape, sorted(names, key=len, reverse=True))), found[2] or "")
    else:
        listed = re.split(r", | and ", found[2]) if found[2] else []
    return (found[1], *listed)


@lru_cache(maxsize=4096)
def _plainly(persona: str) -> tuple[str, str]:
    """A persona without its temperament and confirmation bias, and the latter."""
    bias = next((name for name, told in _BIASES.items() if told.search(persona)), "")
    for told in (*_BIASES.values(), _TEMPERAMENT):
        persona = told.sub("", persona)
    return persona, bias


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
