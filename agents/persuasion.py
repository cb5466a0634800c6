"""Messages that are meant to persuade: a persona reads two with the same aim and chooses one; and how a message is read."""

from __future__ import annotations

from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, read_number
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.scales import Reading
from parley.agents.speech import Speech
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
