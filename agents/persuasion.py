"""Messages that are meant to persuade: a persona reads two with the same aim and chooses one; and how a message is read.

Who judges a debate: a judge without persona who says which debater made the better case, and people who compare two speeches.

Each question is asked in both orders of the answers. The transcript of a debate is shown unchanged; only the numbers of the
debaters change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, read_number
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.scales import Reading
from parley.agents.speech import Speech
from parley.agents.topic import Topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

CHOICES = ("1", "2")
WHOM = ("you", "group")


class Reader(NamedTuple):
    """A person who reads messages in a language. temperature: of its answers. whom: who is to be persuaded, one of WHOM."""

    person: Persona
    language: Language
    whom: str = WHOM[0]
    temperature: float = 1.0

    def compose_choice(self, aim: str, first: str, second: str, seed: int, post: str = "") -> Request:
        """Ask which of two messages would do more to persuade; the answer is 1 or 2. post: the one that they reply to, if any."""
        texts = {"first": one_line(first), "second": one_line(second)}
        whom = self.language.words(f"persuade_{self.whom}")
        ask = self.language.prompt("persuasion_choice").fill(aim=aim, whom=whom, **texts)
        facts: Facts = {"claim": aim, "candidates": list(texts.values())}
        facts |= {"post": post} if post else {}
        return self.request(ask, seed, CHOICES, "persuasion", facts)

    def request(self, ask: str, seed: int, answers: tuple[str, ...], purpose: str, facts: Facts) -> Request:
        """Return a question to the person."""
        messages = (Message("system", self.person.backstory), Message("user", ask))
        return Request(messages, Sampling(self.temperature, ANSWER_TOKENS), seed, answers, purpose, facts=facts)


def read_choice(reply: Reply) -> Reading:
    """Return the probability (0 to 1) that the first of two messages is chosen; None with the reason.

    A model without probabilities of answers gives 1 or 0, by the number that its reply names.
    """
    if reply.failure:
        return Reading(None, reply.failure.name)
    if reply.answers:
        weights = [reply.answers.get(choice, 0.0) for choice in CHOICES]
        return Reading(weights[0] / sum(weights)) if sum(weights) > 0 else Reading(None, "no_probability")
    chosen, reason = read_number(reply.text, (1, 2))
    return Reading(None, reason) if chosen is None else Reading(2 - chosen)


def read_message(reply: Reply) -> Speech:
    """Return a message on one line, without quotation marks around it; None with a failure, `empty` or `refusal`."""
    if reply.text is None:
        return Speech(None, reply.failure.name if reply.failure else "empty")
    text = one_line(reply.text)
    if len(text) > 1 and text[0] + text[-1] in ('""', "“”", "„“"):
        text = text[1:-1].strip()
    if not text:
        return Speech(None, "empty")
    return Speech(None, "refusal") if is_refusal(text) else Speech(text, None)


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
