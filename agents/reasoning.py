"""Abilities: what an agent asks itself before it speaks. `think=bounded,words=20` chooses one (docs/personas.md).

Each class here is one ability, and its fields are the options. Its question is prompts/think_<name>.txt of the language. This
module also reads the replies: a note in labelled parts, a note of one line, insights.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from parley.agents.language import Language
from parley.agents.reply_cleaning import is_refusal
from parley.llm.registry import Registry
from parley.llm.request import Reply

NONE = "none"
ABILITIES = Registry("ability", __name__, "parley.reasoning", ("ask", "read", "tokens"))
INSIGHTS = 3


class Note(NamedTuple):
    """A private note of an agent: one line, or None and the reason why it is missing."""

    text: str | None
    reason: str | None = None


class Ability(ABC):
    """One question before every utterance, asked on a copy of what the agent remembers.

    The note is put before the next instruction, and before this question the next time. It is never remembered as
    something said, and no other agent reads it. An ability keeps no state.

    name    the purpose of its requests and of what is recorded
    tokens  the longest answer
    """

    name: str
    tokens: int

    @abstractmethod
    def ask(self, frame: str, language: Language) -> str:
        """Return the question in a language. frame: its word for the event, such as debate."""

    @abstractmethod
    def read(self, text: str, language: Language) -> Note:
        """Return the note in a reply."""


@dataclass(frozen=True)
class BeliefDesireIntention(Ability):
    """Belief, desire and intention, one labelled sentence each. A reply that lacks a part, or has one twice, is no
    note. No options.

    Source: POSIM (2025), whose agents keep belief, desire and intention; the architecture is Bratman's (1987).
    Departures: one request for all three; the intention ends in a reply (theirs in an action on social media); the
    state is text without numbers.
    """

    name = "bdi"
    tokens = 150

    def ask(self, frame: str, language: Language) -> str:
        return language.prompt("think_bdi").fill(frame=frame)

    def read(self, text: str, language: Language) -> Note:
        return labelled_parts(text, language.entry("bdi"), ("belief", "desire", "intention"))


@dataclass(frozen=True)
class Latent(Ability):
    """The agent's own stance and feeling, one labelled sentence each. A reply that lacks a part, or has one twice, is
    no note. No options.

    Source: HumanLM (2025), which writes latent states (belief, emotion and others) before what a person says, and
    trains a model to write them. Departures: two of the states; nothing is trained.
    """

    name = "latent"
    tokens = 100

    def ask(self, frame: str, language: Language) -> str:
        return language.prompt("think_latent").fill(frame=frame)

    def read(self, text: str, language: Language) -> Note:
        return labelled_parts(text, language.entry("latent"), ("stance", "feeling"))


@dataclass(frozen=True)
class Bounded(Ability):
    """A few words of free text. `words`: how many are asked for; the reply may have three tokens per word.

    Source: "Solver-Sampler mismatch" (2025), which compares no, bounded and native reflection: `think=none`, this, and
    a model that thinks by itself (recorded as `thought`). Departure: the prompt gives the bound in words; the request
    limits tokens.
    """

    words: int = 40
    name = "bounded"

    def __post_init__(self) -> None:
        if self.words < 1:
            raise ValueError("words must be at least 1")

    @property
    def tokens(self) -> int:  # type: ignore[override]
        return 3 * self.words

    def ask(self, frame: str, language: Language) -> str:
        return language.prompt("think_bounded").fill(frame=frame, words=self.words)

    def read(self, text: str, language: Language) -> Note:
        return plain_note(text)


def open_ability(spec: str) -> Ability | None:
    """Make the ability of a spec; None for "none". Errors: UserError if a name, option or value is wrong."""
    ability: Ability | None = None if spec == NONE else ABILITIES.get(spec)
    return ability


def note_in(reply: Reply, read: Callable[[str], Note]) -> Note:
    """Read a note, or return why there is none."""
    return read(reply.text) if reply.text else Note(None, reply.failure.name if reply.failure else "empty")


def plain_note(text: str) -> Note:
    """Read a reply as a note of one line; an empty reply or a refusal is no note."""
    if not (line := " ".join(text.split())):
        return Note(None, "empty")
    return Note(None, "refusal") if is_refusal(line) else Note(line)


def labelled_parts(text: str, labels: Sequence[str], names: Sequence[str]) -> Note:
    r"""Read a reply in labelled parts as one line. Each label has to be there once, in any order, with a text.

    names: of the parts, for the reason why there is no note.

    >>> labelled_parts("**Desire:** to win.\nBelief: It is bad.", ("Belief", "Desire"), ("belief", "desire")).text
    'Belief: It is bad. Desire: to win.'
    >>> labelled_parts("Belief: yes.", ("Belief", "Desire"), ("belief", "desire")).reason
    'no_desire'
    """
    if is_refusal(text):
        return Note(None, "refusal")
    lines = "\n".join(filter(None, (" ".join(line.split()) for line in text.splitlines())))
    # a label at the start of a line or after a sentence: `Belief:`, `**Belief:**`, `2. BELIEF :`
    start = r"(?:(?:^|\n)[ >•-]*+(?:\d{1,3}[.)] ?)?[*_#]*+ ?|(?<=[.!?]) [*_]*+)"
    _, *pieces = re.split(rf"{start}({'|'.join(labels)})[*_]*+ ?:[*_]*+", lines, flags=re.I)
    parts: dict[str, list[str]] = {label: [] for label in labels}
    for label, content in zip(pieces[::2], pieces[1::2], strict=True):
        parts[label.capitalize()].append(" ".join(content.strip("*_# \n").split()))
    for name, texts in zip(names, parts.values(), strict=True):
        if len(texts) != 1 or not texts[0]:
            return Note(None, f"{'several' if len(texts) > 1 else 'no'}_{name}")
    return Note(" ".join(f"{label}: {texts[0]}" for label, texts in parts.items()))


def read_insights(text: str) -> Note:
    r"""Read up to INSIGHTS lines of a reply, without list numbers and introductory lines.

    >>> read_insights("Here they are:\n1. Bob yields.\n\n- Cid does not.").text
    'Bob yields.\nCid does not.'
    """
    if is_refusal(text):
        return Note(None, "refusal")
    lines = [re.sub(r"^(?:\d+[.)]|[-*•])\s*", "", line.strip()).strip() for line in text.splitlines()]
    insights = [" ".join(line.split()) for line in lines if line and not line.endswith(":")][:INSIGHTS]
    return Note("\n".join(insights)) if insights else Note(None, "empty")


def cited_numbers(text: str, count: int) -> tuple[str, list[int]]:
    """Return an insight without the numbers in brackets at its end, and the numbers, from 1 to `count`, each once.

    A number of no memory makes the whole citation unknown, as does a missing one: no numbers.

    >>> cited_numbers("Bob yields (because of 1, 3).", 3)
    ('Bob yields.', [1, 3])
    >>> cited_numbers("Bob yields (1, 4)", 3)
    ('Bob yields', [])
    """
    match = re.search(r"[(\[]([^()\[\]]*+)[)\]]([.!?]?)$", text.rstrip())
    if not match or not re.search(r"\d", match[1]):
        return text, []
    digits = dict.fromkeys(re.findall(r"\d+", match[1]))
    numbers = list(dict.fromkeys(int(number) for number in digits if len(number) < 10))
    all_exist = all(len(number) < 10 for number in digits) and all(1 <= number <= count for number in numbers)
    return text[: match.start()].rstrip() + match[2], numbers if all_exist else []
