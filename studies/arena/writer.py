"""Messages that are meant to persuade: who writes them, and how persuasive a person finds one.

A writer has no persona. It writes a message, gives advice on how to write one, or writes a message anew (more persuasive, or in
other words). A person rates a message from 0 to 10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from parley.agents.language import Language, language_of_study
from parley.agents.persuasion import Reader
from parley.agents.reply_cleaning import is_refusal, one_line
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.agents.topic import load_topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

HERE = Path(__file__).parent
PERSUASIVE, PARAPHRASE = "persuasive", "paraphrase"
"""How a message is written anew."""
_NUMBER = re.compile(r"^\s*+(?:\d+[.):]|[-*•])\s*+")


@dataclass(frozen=True)
class Aim:
    """What a message is meant to achieve, in words that follow "this aim:" (to convince people that taxes are fair).

    situation: in which it is written; "" for none.
    """

    text: str
    situation: str = ""


class Writer(NamedTuple):
    """A writer of messages of at most `words` words in a language."""

    language: Language
    words: int = 60
    temperature: float = 1.0

    @property
    def prompts(self) -> Language:
        """The prompts and short texts of the study."""
        return language_of_study(self.language, HERE)

    @property
    def ways(self) -> list[str]:
        """The ways in which advice is asked for."""
        return list(self.prompts.entry("persuade_ways"))

    def compose_message(self, aim: Aim, seed: int, advice: str = "") -> Request:
        """Ask for a message. advice: a piece of advice that it is to follow; "" for none."""
        advised = "\n\n" + self.prompts.fill("persuade_advice", advice=one_line(advice)) if advice else ""
        slots = {"words": self.words, "aim": aim.text, "situation": self._situation(aim), "advice": advised}
        facts: Facts = {"claim": aim.text, "words": self.words}
        facts |= {"advice": advice} if advice else {}
        return self._request("persuasion_message", slots, seed, "message", facts)

    def compose_advice(self, aim: Aim, way: str, count: int, seed: int) -> Request:
        """Ask for `count` pieces of advice, in one of the `ways`."""
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
        stated = self.prompts.fill("persuade_situation", situation=one_line(aim.situation))
        return f"\n\n{stated}" if aim.situation else ""

    def _request(self, prompt: str, slots: dict[str, object], seed: int, purpose: str, facts: Facts) -> Request:
        system = self.prompts.prompt("persuasion_writer").text
        messages = (Message("system", system), Message("user", self.prompts.prompt(prompt).fill(**slots)))
        tokens = 4 * max(self.words, facts.get("words", 0))
        return Request(messages, Sampling(self.temperature, tokens), seed, (), purpose, facts=facts)


def aim_of_topic(slug: str) -> str:
    """Return the aim to convince people of the claim of a topic. Errors: UserError for an unknown topic."""
    topic = load_topic(slug)
    return language_of_study(topic.language, HERE).fill("persuade_aim", claim=topic.claim)


def rating_scale(language: Language) -> Scale:
    """Return the scale of how persuasive a message is: 0 to 10."""
    own = language_of_study(language, HERE)
    ends = {0: own.words("persuade_low"), 10: own.words("persuade_high")}
    return Scale("persuasiveness", NUMERIC, 0, 10, ends)


def compose_rating(reader: Reader, aim: str, message: str, seed: int) -> Request:
    """Ask how persuasive a message is, on `rating_scale`."""
    scale, text = rating_scale(reader.language), one_line(message)
    anchors = scale.name_points(scale.points, *map(reader.language.words, ("means", "and")))
    slots = {"low": scale.low, "high": scale.high, "anchors": anchors}
    prompt = language_of_study(reader.language, HERE).prompt("persuasion_rating")
    facts: Facts = {"claim": aim, "statement": text, "scale": scale}
    return reader.request(prompt.fill(aim=aim, message=text, **slots), seed, scale.answers, "persuasiveness", facts)


def read_persuasiveness(reply: Reply, language: Language) -> Reading:
    """Return a rating, 0 to 10: the mean of a distribution where the model tells it; None with the reason."""
    if reply.failure:
        return Reading(None, reply.failure.name)
    scale = rating_scale(language)
    return Reading(scale.expected(reply.answers)) if reply.answers else read_rating(reply.text, scale, "strict")


def read_advice(reply: Reply, count: int) -> tuple[str, ...]:
    """Return the pieces of advice of a reply, one a line without its number, `count` at most; none of a failure or a refusal."""
    if reply.text is None or is_refusal(reply.text):
        return ()
    lines = [_NUMBER.sub("", line).strip() for line in reply.text.splitlines()]
    return tuple([line for line in lines if line][:count])
