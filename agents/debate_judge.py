"""Who judges a debate: a judge without persona who says which debater made the better case, and people who compare two speeches.

Each question is asked in both orders of the answers. The transcript of a debate is shown unchanged; only the numbers of the
debaters change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.persona import Persona
from parley.agents.persuasion import CHOICES
from parley.agents.reply_cleaning import one_line
from parley.agents.topic import Topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling


class Debate(NamedTuple):
    """A debate as its judge reads it. lines: name and words, in order. sides: for or against, by name of the debater."""

    topic: Topic
    lines: tuple[tuple[str, str], ...]
    sides: Mapping[str, str]

    def words_of(self, name: str) -> str:
        """Return all that a debater said, on one line."""
        return " ".join(one_line(text) for who, text in self.lines if who == name)

    def compose_verdict(self, first: str, second: str, seed: int) -> Request:
        """Ask who made the better case; the answer is 1 (the debater named first) or 2."""
        language = self.topic.language
        transcript = "\n".join(f"{name}: {one_line(text)}" for name, text in self.lines)
        stances = {f"{place}_side": language.words(self.sides[name])
                   for place, name in (("first", first), ("second", second))}  # fmt: skip
        slots = {"claim": self.topic.claim, "first": first, "second": second, "transcript": transcript, **stances}
        ask = language.prompt("debate_verdict").fill(**slots)
        sides = [self.sides[first], self.sides[second]]
        facts: Facts = {
            "claim": self.topic.claim,
            "candidates": [self.words_of(first), self.words_of(second)],
            "choices": sides,
        }
        messages = (Message("system", language.words("debate_judge")), Message("user", ask))
        return Request(messages, Sampling(0.0, ANSWER_TOKENS), seed, CHOICES, "debate_verdict", facts=facts)


class SpeechReader(NamedTuple):
    """A person who says which of two speeches for one side of a topic makes the better case. temperature: of its answers."""

    person: Persona
    topic: Topic
    side: str
    temperature: float = 1.0

    def compose_choice(self, aim: str, first: str, second: str, seed: int, post: str = "") -> Request:
        """Ask which speech makes the better case; the answer is 1 or 2. aim, post: not used, because the side is the aim."""
        language, texts = self.topic.language, (one_line(first), one_line(second))
        slots = {"claim": self.topic.claim, "side": language.words(self.side), "first": texts[0], "second": texts[1]}
        ask = language.prompt("speech_quality").fill(**slots)
        facts: Facts = {"claim": self.topic.claim, "candidates": list(texts), "choices": [self.side, self.side]}
        messages = (Message("system", self.person.backstory), Message("user", ask))
        return Request(
            messages, Sampling(self.temperature, ANSWER_TOKENS), seed, CHOICES, "debate_verdict", facts=facts
        )
