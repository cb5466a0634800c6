"""Messages that are meant to persuade: who reads them, and who writes them.

A reader is a persona. It chooses between two messages with the same aim, or rates one message from 0 to 10. A writer has no
persona. It writes a message, gives advice on how to write one, or writes a message anew (more persuasive, or in other words).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, read_number
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.agents.speech import Speech
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

PERSUASIVE, PARAPHRASE = "persuasive", "paraphrase"
"""How a message is written anew."""
CHOICES = ("1", "2")
WHOM = ("you", "group")
_NUMBER = re.compile(r"^\s*+(?:\d+[.):]|[-*•])\s*+")


@dataclass(frozen=True)
class Aim:
    """What a message is meant to achieve, in words that follow "this aim:" (to convince people that taxes are fair).

    situation: in which it is written; "" for none.
    """

    text: str
    situation: str = ""


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
        return self._request(ask, seed, CHOICES, "persuasion", facts)

    def compose_rating(self, aim: str, message: str, seed: int) -> Request:
        """Ask how persuasive a message is, on `rating_scale`."""
        scale, text = rating_scale(self.language), one_line(message)
        anchors = scale.name_points(scale.points, *map(self.language.words, ("means", "and")))
        slots = {"low": scale.low, "high": scale.high, "anchors": anchors}
        ask = self.language.prompt("persuasion_rating").fill(aim=aim, message=text, **slots)
        facts: Facts = {"claim": aim, "statement": text, "scale": scale}
        return self._request(ask, seed, scale.answers, "persuasiveness", facts)

    def _request(self, ask: str, seed: int, answers: tuple[str, ...], purpose: str, facts: Facts) -> Request:
        messages = (Message("system", self.person.backstory), Message("user", ask))
        return Request(messages, Sampling(self.temperature, ANSWER_TOKENS), seed, answers, purpose, facts=facts)


class Writer(NamedTuple):
    """A writer of messages of at most `words` words in a language."""

    language: Language
    words: int = 60
    temperature: float = 1.0

    def compose_message(self, aim: Aim, seed: int, advice: str = "") -> Request:
        """Ask for a message. advice: a piece of advice that it is to follow; "" for none."""
        advised = "\n\n" + self.language.fill("persuade_advice", advice=one_line(advice)) if advice else ""
        slots = {"words": self.words, "aim": aim.text, "situation": self._situation(aim), "advice": advised}
        facts: Facts = {"claim": aim.text, "words": self.words}
        facts |= {"advice": advice} if advice else {}
        return self._request("persuasion_message", slots, seed, "message", facts)

    def compose_advice(self, aim: Aim, way: str, count: int, seed: int) -> Request:
        """Ask for `count` pieces of advice, in one of the `persuade_ways` of the language."""
        slots = {"aim": aim.text, "situation": self._situation(aim), "count": count, "way": way}
        return self._request("persuasion_advice", slots, seed, "advice", {"claim": aim.text, "count": count})

    def compose_rewriting(self, aim: str, message: str, form: str, seed: int) -> Request:
        """Ask to write a message anew, PERSUASIVE or as a PARAPHRASE, with about as many words as it has."""
        text = one_line(message)
        words = len(text.split())
        slots = {"aim": aim, "message": text, "words": words}
        facts: Facts = {"claim": aim, "statement": text, "form": form, "words": words}
        return self._request(f"persuasion_{form}", slots, seed, "rewriting", facts)

    def _situation(self, aim: Aim) -> str:
        stated = self.language.fill("persuade_situation", situation=one_line(aim.situation))
        return f"\n\n{stated}" if aim.situation else ""

    def _request(self, prompt: str, slots: dict[str, object], seed: int, purpose: str, facts: Facts) -> Request:
        system = self.language.prompt("persuasion_writer").text
        messages = (Message("system", system), Message("user", self.language.prompt(prompt).fill(**slots)))
        tokens = 4 * max(self.words, facts.get("words", 0))
        return Request(messages, Sampling(self.temperature, tokens), seed, (), purpose, facts=facts)


def rating_scale(language: Language) -> Scale:
    """Return the scale of how persuasive a message is: 0 to 10."""
    ends = {0: language.words("persuade_low"), 10: language.words("persuade_high")}
    return Scale("persuasiveness", NUMERIC, 0, 10, ends)


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


def read_persuasiveness(reply: Reply, language: Language) -> Reading:
    """Return a rating, 0 to 10: the mean of a distribution where the model tells it; None with the reason."""
    if reply.failure:
        return Reading(None, reply.failure.name)
    scale = rating_scale(language)
    return Reading(scale.expected(reply.answers)) if reply.answers else read_rating(reply.text, scale, "strict")


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


def read_advice(reply: Reply, count: int) -> tuple[str, ...]:
    """Return the pieces of advice of a reply, one a line without its number, `count` at most; none of a failure or a refusal."""
    if reply.text is None or is_refusal(reply.text):
        return ()
    lines = [_NUMBER.sub("", line).strip() for line in reply.text.splitlines()]
    return tuple([line for line in lines if line][:count])
