"""The agent of every debate: a thin mesa.Agent that composes requests and absorbs replies.

What it has in common with the participant of a private deliberation (agents/participant.py) is `DebateAgent`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import mesa

from parley.agents.inner_thoughts import InnerThoughts
from parley.agents.memory import Summary, header_of, make_memory
from parley.agents.persona import DEFAULT, Persona
from parley.agents.reasoning import Note, open_ability
from parley.agents.reply_cleaning import clean_speech, cut_echo, is_refusal, shortened, speaks_for
from parley.agents.scales import Reading
from parley.agents.topic import PROMPTS, Probe, Topic, answer_order
from parley.agents.traits import PLAIN, Traits
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

SUMMARY_TOKENS = 200
SURVEY_TOKENS = 40


class DebateStyle(NamedTuple):
    """How a debate is held: the words used for it, the reply's length and temperature, the memory and the reader of
    ratings.

    `format`: free, or structured (a case, a question and a role, statements at the beginning and the end). `cut`: what
    becomes of a reply of more than `words` words: none (it stays), sentence (its last whole sentence within them), last
    (its last words). `think`: what is done before speaking (agents/reasoning.py). `importance`, `reflect`: see
    `agents.memory.Retrieval`. `listing`: the order in which the answers to a survey are named
    (agents.topic.answer_order). `reminder`: whether it is told who it is before every utterance, survey and private
    thought (not where it sums up, reflects, weighs what it remembers, is interviewed or fills in the questionnaire).
    """

    frame: str
    words: int
    sampling: Sampling
    survey_temperature: float
    memory: str
    reader: str
    format: str = "free"
    cut: str = "none"
    think: str = "none"
    importance: str = "novelty"
    reflect: int = 0
    listing: str = "given"
    reminder: bool = False


class Speech(NamedTuple):
    """What an agent said, or None and the reason for its silence."""

    text: str | None
    reason: str | None


class Rating(NamedTuple):
    """One answered survey: the value on the probe's scale (or None and a reason), and the raw reply.

    `attitude` is the value on the topic's 0-10 axis, `expected` the mean of the answer distribution on that axis (both
    None for a probe that measures something else), and `probabilities` the distribution itself, where the backend gives
    it. `how` names the reader, and the way a closed question was answered where a backend has several (`strict,
    logprobs`). `covered` is the probability that all allowed answers had together before they were scaled to sum to 1
    (None where that is not known).
    """

    probe: str
    value: float | None
    reason: str | None
    attitude: float | None
    expected: float | None
    probabilities: tuple[float, ...] | None
    raw: str | None
    how: str
    covered: float | None = None


class DebateAgent(mesa.Agent, InnerThoughts, ABC):
    """An agent of a debate. Subclass it, and pass the class as `agent_class` to `DebateModel` or `parley.run`.

    An agent knows its persona, its topic, what it remembers and its last ratings. It knows neither the round nor the
    room, and nobody else's persona. It never calls a model: it composes a request, and later reads the reply. The model
    makes the agents.

    Attributes
    ----------
    name : str
        What the others call it.
    persona : Persona
        Its `party`, `id` and `backstory` (the system prompt).
    party : str
        The party of its persona.
    topic : Topic
        What is debated.
    memory : Memory
        What it has heard and said.
    ratings : dict
        Its last ratings by probe; a rating that could not be read has `value` None and a `reason`.
    attitude : float or None
        The last rating of the main probe on the axis from 0 to 10; None if it is missing.
    hearers : tuple of str
        Who will hear what it says next, in a talk between two.
    absent, late, muted : bool
        Whether it is away now, came in when the others had begun, or may not speak.

    Examples
    --------
    >>> class Contrarian(parley.Agent):  # doctest: +SKIP
    ...     def instruction(self, form):
    ...         return super().instruction(form) + " Disagree with whoever spoke last."
    >>> parley.DebateModel("two_way", agent_class={"republican": Contrarian})  # doctest: +SKIP
    """

    def __init__(
        self,
        model: Any,
        persona: Persona,
        name: str,
        topic: Topic,
        opening: str,
        others: Sequence[str],
        manner: DebateStyle,
        adapter: str,
        voice: str,
    ):
        super().__init__(model)
        self.persona, self.name, self.topic, self.manner = persona, name, topic, manner
        self.adapter, self.voice = adapter, voice
        header = prompt(PROMPTS, header_of(manner.memory)).text
        self.memory = make_memory(manner.memory, opening, header, manner.importance, manner.reflect)
        self.ratings: dict[str, Rating] = {}
        self.muted = self.absent = self.late = False
        self._stood: dict[str, float | None] = {}
        self._surveys = Counter[str]()
        self.hearers: tuple[str, ...] = ()
        self._system = Message("system", persona.backstory)
        self.character, self._instruction = PLAIN, ""
        self._facts: Facts = {"topic": topic.title, "frame": manner.frame, "words": manner.words}
        self._others = tuple(others)
        self.prepares = manner.think != "none" or manner.memory.startswith(("summary", "retrieve"))
        self.ability, self.note = open_ability(manner.think), Note(None)

    def assign_traits(self, character: Traits) -> None:
        """Give it a role, a temperament, a confirmation bias. Before anything is said."""
        self.character = character
        self._system = Message("system", " ".join(filter(None, [self.persona.backstory, character.told])))
        self._facts |= {
            "role": character.role,
            "character": character.told,
            "confirmation_bias": character.confirmation_bias,
        }
        self.memory.opening = "\n\n".join(filter(None, [self.memory.opening, character.part]))

    @abstractmethod
    def instruction(self, form: str) -> str:
        """The last paragraph of the prompt for an utterance. Override it to tell your agents something else, or more.

        Parameters
        ----------
        form : str
            What is asked for: `reply`, or `opening`, `closing` (structured debates), `post`, `talk` (networks),
            `opinion`, `critique` (private deliberations).

        Returns
        -------
        str
            The paragraph. Everything before it (persona, memory) stays as it is.

        Notes ----- The rule-based speaker (`oracle`) reads the persona and what was said, so it answers the same
        whatever is asked here.
        """

    def _tempting(self) -> tuple[str, ...]:
        """Whose lines it might be tempted to write."""
        return self._others

    @property
    def _names(self) -> frozenset[str]:
        """Everybody whose lines may be in what it is sent."""
        return self.memory.names.union((self.name,), self._others)

    def blocked_reason(self, form: str) -> str | None:
        """Why nothing can be asked of it in this form now, if so."""
        return "absent" if self.absent else "muted" if self.muted else None

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        """Remember a line that somebody else said."""
        self.memory.hear(name, text)

    def compose_speech(self, seed: int, form: str = "reply") -> Request:
        """Ask for an utterance of a form: the next `reply`, an `opening` or `closing` statement, an `opinion`, a
        `critique`.
        """
        self._instruction = self.instruction(form)
        if self.character.role:
            self._instruction += f" {self.character.ask}"
        messages = (self._system, *self.memory.messages(self._noted(self._instruction)))
        facts: Facts = {**self._facts, "form": form}
        return Request(
            messages, self.manner.sampling, seed, (), "speech", "", *self._speaks, names=self._names, facts=facts
        )

    def absorb_speech(self, reply: Reply) -> Speech:
        """Clean the reply and remember it. A failed or empty one, a refusal, one in another's name, or one that only
        repeats what was asked leaves no trace.
        """
        if reply.text is None:
            return Speech(None, reply.failure.name if reply.failure else "empty")
        others = self._tempting() if ":" in reply.text else ()
        own = cut_echo(reply.text, self.topic, self.name)
        text = clean_speech(own, self.name, _speaks_for(others) if others else None)
        if not text:
            return Speech(None, self._unsaid(reply.text, own))
        if is_refusal(text):
            return Speech(None, "refusal")
        text = shortened(text, self.manner.words, self.manner.cut)
        self.memory.spoke(self._instruction, text)
        return Speech(text, None)

    def _unsaid(self, text: str, own: str) -> str:
        """Why nothing is left of a reply, of which `own` repeats nothing that was asked."""
        if clean_speech(own, self.name, None):
            return "spoke_for_others"
        return "echo" if clean_speech(text, self.name, None) else "empty"

    def compose_survey(self, probe: Probe, seed: int, again: bool = False) -> Request:
        """Ask a survey question on a copy of what is remembered: neither question nor answer is ever remembered."""
        question = probe.ask(self.manner.frame, answer_order(probe, self.manner.listing, seed))
        self._surveys[probe.name] += not again
        if again:
            question = prompt(PROMPTS, "reask").fill(survey=question)
        sampling = Sampling(self.manner.survey_temperature, SURVEY_TOKENS)
        messages = (self._system, *self.memory.messages(self._reminded(question)))
        kind = "" if again else self.kind(probe)
        answers = probe.scale.answers
        facts: Facts = {**self._facts, **probe.facts}
        return Request(
            messages, sampling, seed, answers, "survey", probe.prefix, *self._speaks, kind, self._names, facts
        )

    def kind(self, probe: Probe) -> str:
        """Whose answers to a survey question might be its own: class and character, which survey it is, the rating
        before.
        """
        last = self._stood.get(probe.name)
        state = "unread" if last is None else f"{last:.0f}"
        persona, survey = self.persona, f"survey {self._surveys[probe.name]}"
        named = (self.topic.slug, probe.name, persona.party, persona.variant, self.adapter, self.voice)
        return "|".join([*named, *map(str, self.character), survey, state])

    def absorb_survey(self, reply: Reply, probe: Probe) -> Rating:
        """Read the rating and keep it as this agent's attitude (None when there is none: the last one is not carried
        on).
        """
        reading = (
            probe.read(reply.text, self.manner.reader) if reply.failure is None else Reading(None, reply.failure.name)
        )
        attitude = probe.attitude(reading.value) if reading.value is not None and probe.on_axis else None
        shares = tuple([reply.answers[answer] for answer in probe.scale.answers]) if reply.answers else None
        expected = probe.attitude(probe.scale.expected(reply.answers)) if reply.answers and probe.on_axis else None
        how = f"{self.manner.reader}, {reply.way}" if reply.way else self.manner.reader
        rating = Rating(
            probe.name, reading.value, reading.reason, attitude, expected, shares, reply.text, how, reply.covered
        )
        self.ratings[probe.name], self._stood[probe.name] = rating, attitude
        return rating

    def compose_interview(self, question: str, seed: int) -> Request:
        """Ask anything, on a copy of what is remembered, as in a survey; nothing of it is remembered."""
        messages = (self._system, *self.memory.messages(question))
        facts: Facts = {**self._facts, "question": question}
        return Request(
            messages, self.manner.sampling, seed, (), "interview", "", *self._speaks, names=self._names, facts=facts
        )

    def compose_summary(self, seed: int) -> Request:
        """Ask for a summary of what is about to be forgotten (while `memory.overflows`)."""
        old = self.memory.overflow()
        ask = prompt(PROMPTS, "summary").fill(frame=self.manner.frame, words=SUMMARY_TOKENS // 2)
        last = Message("user", f"{old[-1].content}\n\n{ask}".strip())
        sampling = Sampling(self.manner.survey_temperature, SUMMARY_TOKENS)
        messages = (self._system, *old[:-1], last)
        return Request(messages, sampling, seed, (), "summary", "", *self._speaks, names=self._names, facts=self._facts)

    def absorb_summary(self, reply: Reply) -> None:
        """Put the summary in the place of the old lines; without one they stay."""
        if reply.text and isinstance(self.memory, Summary):
            self.memory.absorb(reply.text.strip())


class Debater(DebateAgent):
    """Hears everybody in the room. `side` is what it was given to argue for, in words; `sided`: it says nothing without
    one.
    """

    side, sided = "", False

    def __init__(
        self,
        model: Any,
        persona: Persona,
        name: str,
        topic: Topic,
        others: Sequence[str],
        manner: DebateStyle,
        adapter: str = "",
        voice: str = "",
        known: str = "",
    ):
        opening = _opening(persona, name, topic, others, manner, known)
        super().__init__(model, persona, name, topic, opening, others, manner, adapter, voice)

    def assign_side(self, for_: bool | None) -> None:
        """Give it the side for or against the topic's claim; None: there is none to give, and it stays silent."""
        self.sided = True
        stance, claim = "for" if for_ else "against", self.topic.claim
        self.side = "" if for_ is None else prompt(PROMPTS, "side").fill(stance=stance, claim=claim)
        if self.side:
            self._facts |= {"side": stance, "claim": claim}

    def blocked_reason(self, form: str) -> str | None:
        return super().blocked_reason(form) or ("no_side" if self.sided and not self.side else None)

    def instruction(self, form: str) -> str:
        return f"{self.side} {self._plain(form)}".strip()

    def _plain(self, form: str) -> str:
        """The words without the side."""
        if form == "talk":
            return prompt(PROMPTS, "statement_talk").fill(others=join_names(self.hearers))
        if form != "reply":
            return prompt(PROMPTS, f"statement_{form}").fill(frame=self.manner.frame)
        if self.memory.empty and not self.late:
            return prompt(PROMPTS, "start").fill(frame=self.manner.frame)
        return prompt(PROMPTS, "turn").text


@lru_cache(maxsize=1024)
def _speaks_for(names: tuple[str, ...]) -> re.Pattern[str]:
    """`speaks_for`, made when there is a colon to look at: a pattern takes as long to make as ten turns to hold."""
    return speaks_for(names)


def join_names(names: Sequence[str]) -> str:
    """`Ann, Bob and Cem`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def _opening(persona: Persona, name: str, topic: Topic, others: Sequence[str], manner: DebateStyle, known: str) -> str:
    """What somebody is told before the debate. `known`: a sentence on the others."""
    named = f"; the others are {join_names(others)}" if len(others) > 1 else ""
    named = f"; the other is {others[0]}" if len(others) == 1 else named
    slots = {"frame": manner.frame, "topic": topic.title, "name": name, "words": manner.words, "others": named}
    if manner.format == "free":
        return " ".join([prompt(PROMPTS, "opening").fill(**slots), *([known] if known else [])])
    role = prompt(PROMPTS, "role_listener" if persona.party == DEFAULT else "role_persuader").text
    slots |= {"question": topic.question, "case": topic.case}
    told = [prompt(PROMPTS, "opening_structured").fill(**slots), role, known]
    return " ".join(" ".join(told).split())
