"""The people of sequential social learning, and their planner: they compose requests and read replies.

The prompt has the prior, the earlier choices with the precision of each signal, and the person's own signal, in words. A choice
is a closed question (`Request.answers`), so that a backend can tell the probability of each option. Neither the question nor the
choice is remembered: every period begins anew. Lines from outside (interventions) are remembered.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from parley.agents.closed_answers import ANSWER_TOKENS, OPTIONS, read_choice, read_number
from parley.agents.language import Language, language_of_study
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.model.agent_factory import SeatedAgent, seat_and_topic, speaks_as
from parley.model.casting import RoomSeating

from .environment import Herding

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

_PERCENT = re.compile(r"(?i) ?%| per ?cent\b| prozent\b| (?:times )?(?:in|out of|von) 100\b(?: malen)?")
"""What may follow the number of a planner's reply, and says no more than that it is in percent."""


class HerdFacts(Facts, total=False):
    """What prompts to people who choose one after another, and to their planner, state."""

    prior: float  # P(A) before all of them
    history: Sequence[tuple[str, float]]  # the acts so far, each with the precision of that person's signal
    ties: str  # what undecided people do: coin, own
    signal: str  # the option to which the person's own signal points, A or B
    precision: float  # of this signal
    levels: tuple[float, ...]  # the precisions from which a planner chooses
    base: float  # the one that is free
    cost: float  # of one unit of distance from it
    aim: str  # right, A or B
    left: int  # people who have not chosen yet


def own_words(language: Language) -> Language:
    """Return the prompts and short texts of the study in a language."""
    return language_of_study(language, Path(__file__).parent)


class Made(NamedTuple):
    """An earlier choice, as all people see it: who chose what, with a signal of which precision."""

    name: str
    act: str
    precision: float


class Situation(NamedTuple):
    """What all people know before a choice: the prior, the rule for ties, how many people choose in all, how many of them still
    have to (`left`), and the earlier choices.
    """

    prior: float
    ties: str
    people: int
    left: int
    history: tuple[Made, ...]

    @property
    def facts(self) -> HerdFacts:
        """The same for the oracle."""
        return HerdFacts(
            prior=self.prior, ties=self.ties, history=[(made.act, made.precision) for made in self.history]
        )

    def describe(self, language: Language) -> str:
        """Return the choices in words."""
        language = own_words(language)
        if not self.history:
            return language.words("no_choices")
        made = [
            language.fill("choice_made", name=made.name, act=made.act, precision=in_words(made.precision, language))
            for made in self.history
        ]
        return language.fill("choices", made="; ".join(made))


class Decision(NamedTuple):
    """A choice, or None and a reason. probability: of A, if the backend tells it; covered: see `Reply`."""

    act: str | None
    reason: str | None
    raw: str | None
    probability: float | None = None
    covered: float | None = None
    how: str = "strict"


class HerdMember(SeatedAgent):
    """A person who chooses after others."""

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        people, prior = len(seating.places), cast(Herding, model.environment).prior
        opening = own_words(topic.language).prompt("herding").fill(people=people, prior=round(100 * prior))
        adapter, voice = speaks_as(model, seating, number)
        super().__init__(model, place.persona, topic, model.style, opening, adapter=adapter, voice=voice)
        self.assign_seat(seating, number)

    def instruction(self, form: str) -> str:
        return self.topic.language.prompt("decision_ask").text

    def compose_decision(
        self, situation: Situation, signal: str, precision: float, seed: int, again: bool = False
    ) -> Request:
        """Ask which option the person chooses."""
        language = self.topic.language
        check = own_words(language).fill("check", signal=signal, precision=in_words(precision, language))
        prompt = f"{situation.describe(language)} {check} {self.instruction('decision')}"
        if again:
            prompt = language.prompt("reask").fill(survey=prompt)
        sampling = self.style.sampling._replace(max_tokens=ANSWER_TOKENS, stop=())
        facts: HerdFacts = {**situation.facts, "signal": signal, "precision": precision}
        return self._request("decision", self._chat(self._noted(prompt)), sampling, seed, facts, answers=OPTIONS)

    def absorb_decision(self, reply: Reply) -> Decision:
        """Read a choice; nothing is remembered."""
        if reply.failure:
            return Decision(None, reply.failure.name, None)
        option, reason = read_choice(reply.text, OPTIONS)
        probability = reply.answers["A"] if reply.answers else None
        how = f"strict, {reply.way}" if reply.way else "strict"
        return Decision(option, reason, reply.text, probability, reply.covered, how)


class HerdPlanner(NamedTuple):
    """A planner that is a model: it is asked in words how precise the next person's signal shall be."""

    language: Language
    sampling: Sampling
    levels: tuple[float, ...]
    base: float
    cost: float
    aim: str
    voice: str = ""

    def compose(self, situation: Situation, seed: int, again: bool = False) -> Request:
        """Ask for the precision of the next signal, in percent."""
        language = own_words(self.language)
        prompt = language.prompt("planner").fill(
            people=situation.people,
            prior=round(100 * situation.prior),
            choices=situation.describe(self.language),
            left=situation.left,
            aim=language.words("aim_right") if self.aim == "right" else language.fill("aim_act", act=self.aim),
            prices="; ".join(self._price(level) for level in self.levels),
            answers=", ".join(self.answers),
        )
        if again:
            prompt = self.language.prompt("reask").fill(survey=prompt)
        planner_facts = HerdFacts(levels=self.levels, base=self.base, cost=self.cost, aim=self.aim, left=situation.left)
        facts: HerdFacts = {**situation.facts, **planner_facts}
        sampling = self.sampling._replace(max_tokens=ANSWER_TOKENS, stop=())
        message = (Message("user", prompt),)
        return Request(message, sampling, seed, self.answers, "precision", voice=self.voice, facts=facts)

    def absorb(self, reply: Reply) -> tuple[float | None, str | None]:
        """Return the precision that a reply names, or None and the reason."""
        if reply.failure:
            return None, reply.failure.name
        levels = {float(answer): level for answer, level in zip(self.answers, self.levels, strict=True)}
        value, reason = read_number(_PERCENT.sub("", reply.text or ""), tuple(levels))
        return (None, reason) if value is None else (levels[value], None)

    @property
    def answers(self) -> tuple[str, ...]:
        """The allowed answers: percent without a sign."""
        return tuple([f"{100 * level:.0f}" for level in self.levels])

    def _price(self, level: float) -> str:
        price = self.cost * abs(level - self.base)
        return own_words(self.language).fill("price", level=f"{100 * level:.0f}", price=f"{price:.2f}")


def in_words(precision: float, language: Language) -> str:
    """Return a precision in words: `7 times in 10`, `75 times in 100`.

    >>> from parley.agents.language import ENGLISH
    >>> in_words(0.7, ENGLISH), in_words(0.75, ENGLISH)
    ('7 times in 10', '75 times in 100')
    """
    percent = round(100 * precision)
    times, of = (percent, 100) if percent % 10 else (percent // 10, 10)
    return own_words(language).fill("times", times=times, of=of)
