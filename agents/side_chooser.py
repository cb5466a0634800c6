"""A debater chooses the side that it will argue before a judge, of whom it knows nothing, a belief, a description, or a detail.

The choice is a closed question, A or B. Which letter is for the claim changes from question to question.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS
from parley.agents.language import Language
from parley.agents.persona import Persona
from parley.agents.topic import Topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Request, Sampling

FOR, AGAINST = SIDES = ("for", "against")
NOTHING, BELIEF, PERSONA, DETAIL = KNOWN = ("nothing", "belief", "persona", "detail")
"""What the debater knows of the judge. A detail (in which half of a year the judge was born) has nothing to do with the claim."""
DETAILS = "judge_traits"
"""The entry of a language with the sentences about these details."""


class JudgeNotice(NamedTuple):
    """What a debater knows of the judge, one of KNOWN.

    side: on which the judge is; for a detail a label drawn by lot; "" for nothing. text: the judge's description, for PERSONA, or
    the sentence with a DETAIL.
    """

    known: str
    side: str = ""
    text: str = ""

    def describe(self, topic: Topic) -> str:
        """Return the sentences about the judge."""
        language = topic.language
        if self.known == BELIEF:
            return language.fill(f"judge_{self.side}", claim=topic.claim)
        if self.known == PERSONA:
            return language.fill("judge_persona", persona=" ".join(self.text.split()))
        return self.text if self.known == DETAIL else language.words("judge_nothing")

    @property
    def facts(self) -> Facts:
        """What the sentences state about the judge's opinion, for the oracle."""
        if self.known == BELIEF:
            return {"judge": self.side}
        return {"persona": self.text} if self.known == PERSONA else {}


class SideChooser(NamedTuple):
    """A person who chooses a side of a topic. temperature: of its answers."""

    person: Persona
    temperature: float = 1.0

    def compose(self, topic: Topic, notice: JudgeNotice, first: str, seed: int) -> Request:
        """Ask which side the person will argue; A is the side `first`."""
        language: Language = topic.language
        order = (first, SIDES[1 - SIDES.index(first)])
        a, b = (language.words(f"side_{side}") for side in order)
        slots = {"claim": topic.claim, "judge": notice.describe(topic), "a": a, "b": b}
        ask = language.prompt("side_choice").fill(ask=language.prompt("decision_ask").text, **slots)
        messages = (Message("system", self.person.backstory), Message("user", ask))
        facts: Facts = {"claim": topic.claim, "topic": topic.title, "choices": order, **notice.facts}
        return Request(messages, Sampling(self.temperature, ANSWER_TOKENS), seed, OPTIONS, "side_choice", facts=facts)
