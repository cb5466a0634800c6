"""The people of two answers: they compose requests, and read replies. Neither the question nor the answer is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS, read_choice
from parley.agents.language import Language, language_of_study
from parley.llm.purposes import Facts
from parley.llm.request import Reply, Request
from parley.model.agent_factory import SeatedAgent, seat_and_topic, speaks_as
from parley.model.casting import RoomSeating

from .environment import AGAINST, FOR, SIDES

if TYPE_CHECKING:
    from parley.model.debate import DebateModel


class SideFacts(Facts, total=False):
    """What the question states: how many of how many others agree (0 of 0: not shown), and which side is option A."""

    others: tuple[int, int]
    listed_first: str


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


class Shown(NamedTuple):
    """What a person is told: how many of the others agree with the claim, and which side is listed first."""

    agree: int
    others: int
    listed_first: str

    def describe(self, language: Language) -> str:
        """Return the others' answers in words."""
        language = own_words(language)
        if not self.others:
            return language.words("nobody")
        return language.fill("counts", others=self.others, agree=self.agree, disagree=self.others - self.agree)


class Answer(NamedTuple):
    """An answer, or None and a reason. probability: of an answer for the claim, if the backend tells it; covered: see `Reply`."""

    side: str | None
    reason: str | None
    raw: str | None
    probability: float | None = None
    covered: float | None = None
    how: str = "strict"


class SideMember(SeatedAgent):
    """A person who answers for or against a claim."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        opening = own_words(topic.language).prompt("two_answers").fill(claim=topic.claim)
        adapter, voice = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, model.style, opening, adapter=adapter, voice=voice)
        self.assign_seat(seating, number)

    def instruction(self, form: str) -> str:
        return self.topic.language.prompt("decision_ask").text

    def compose_side(self, shown: Shown, seed: int, again: bool = False) -> Request:
        """Ask for or against."""
        language, prompts = self.topic.language, own_words(self.topic.language)
        order = (shown.listed_first, SIDES[1 - SIDES.index(shown.listed_first)])
        first, second = (prompts.words(f"option_{side}") for side in order)
        prompt = prompts.fill("ask", told=shown.describe(language), a=first, b=second, ask=self.instruction("side"))
        if again:
            prompt = language.prompt("reask").fill(survey=prompt)
        sampling = self.style.sampling._replace(max_tokens=ANSWER_TOKENS, stop=())
        facts: SideFacts = {
            "claim": self.topic.claim,
            "others": (shown.agree, shown.others),
            "listed_first": shown.listed_first,
        }
        return self._request("side", self._chat(self._noted(prompt)), sampling, seed, facts, answers=OPTIONS)

    def absorb_side(self, reply: Reply, listed_first: str) -> Answer:
        """Read an answer; nothing is remembered."""
        if reply.failure:
            return Answer(None, reply.failure.name, None)
        option, reason = read_choice(reply.text, OPTIONS)
        is_first = option == OPTIONS[0]
        side = None if option is None else FOR if is_first == (listed_first == FOR) else AGAINST
        probability = reply.answers[OPTIONS[SIDES.index(listed_first)]] if reply.answers else None
        how = f"strict, {reply.way}" if reply.way else "strict"
        return Answer(side, reason, reply.text, probability, reply.covered, how)
