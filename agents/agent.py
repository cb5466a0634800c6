"""The agents of debates: each is a mesa.Agent that composes requests and reads replies.

`DebateAgent` is the base class of all agents. `Debater` takes part in a debate, `Participant` (agents/participant.py)
in a private deliberation.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import mesa

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.inner_thoughts import InnerThoughts, State
from parley.agents.memory import LINES, Summary, make_memory
from parley.agents.persona import Persona
from parley.agents.probe import Probe, answer_order
from parley.agents.reasoning import Note, open_ability
from parley.agents.recollection import PLANS, InterviewQuestion
from parley.agents.reply_cleaning import (
    clean_speech,
    cut_echo,
    invented_speakers,
    is_refusal,
    own_turn,
    shortened,
    speaks_for,
)
from parley.agents.society import DEFAULT
from parley.agents.speech import HEARD, RELABELLED, DebateStyle, Rating, Speech
from parley.agents.steering import STRUCK, strike
from parley.agents.taken_names import check_class, check_value
from parley.agents.topic import Topic
from parley.agents.traits import PLAIN, Traits
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

SUMMARY_TOKENS = 200


class DebateAgent(mesa.Agent, InnerThoughts, ABC):
    """An agent of a debate. Subclass it, and pass the class as `agent_class` to `DebateModel` or `parley.run`.

    An agent knows its persona, its topic, its memory and its last ratings. It knows neither the round, nor the room,
    nor the personas of others. It never calls a model: it composes a request, and later reads the reply. The model
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
    why_absent : str
        The reason of what is missing while it is absent.

    Examples
    --------
    >>> class Contrarian(parley.Agent):  # doctest: +SKIP
    ...     def instruction(self, form):
    ...         return super().instruction(form) + " Disagree with whoever spoke last."
    >>> parley.DebateModel("two_way", agent_class={"labour": Contrarian})  # doctest: +SKIP
    """

    # Values at the start stay in the class: a large network has a third of a kilobyte less for each agent
    note: Note = Note(None)
    plan: Note = Note(None)
    day: int = -1
    muted: bool = False
    absent: bool = False
    late: bool = False
    why_absent: str = "absent"
    hearers: tuple[str, ...] = ()
    character: Traits = PLAIN

    def __init__(
        self,
        model: Any,
        persona: Persona,
        topic: Topic,
        style: DebateStyle,
        opening: str = "",
        others: Sequence[str] = (),
        adapter: str = "",
        voice: str = "",
    ):
        super().__init__(model)
        self.persona, self.name, self.topic, self.style = persona, persona.name, topic, style
        self.adapter, self.voice = adapter, voice
        self.memory = make_memory(style.memory, opening, topic.language, style.importance, style.reflect)
        self.prepares = style.think != "none" or style.plan > 0 or style.memory.startswith(("summary", "retrieve"))
        self.ability = open_ability(style.think)
        self.ratings: dict[str, Rating] = {}
        self.states: dict[str, State] = {}
        self._last_attitudes: dict[str, float | None] = {}
        self._surveys: dict[str, int] = {}
        self._others, self._instruction = tuple(others), ""
        self._backstory = strike(persona, topic.language) if style.steering == STRUCK else persona.backstory
        self._system = Message("system", self._backstory)
        self._facts: Facts = {"topic": topic.title, "frame": style.frame, "words": style.words}
        self._facts |= {"wording": topic.language.wording_kind, "spacing": style.spacing}
        if topic.own:
            self._facts["own"] = topic.title
        if topic.spoken:
            self._facts["spoken"] = topic.spoken

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__module__.startswith("parley."):
            check_class(cls, DebateAgent)

    def __setattr__(self, name: str, value: Any) -> None:
        check_value(self, name, value)
        super().__setattr__(name, value)

    def assign_traits(self, character: Traits) -> None:
        """Give the agent a role, a temperament, a confirmation bias and a belief in the news, before anything is said."""
        self.character = character
        self._system = Message("system", " ".join(filter(None, [self._backstory, character.backstory])))
        self._facts |= {
            "role": character.role,
            "character": character.backstory,
            "confirmation_bias": character.confirmation_bias,
            "traits": character.traits,
            "belief": character.belief,
        }
        item = self.topic.news if character.belief else None
        news = item.opening(character.belief, self.topic.language) if item else ""
        self.memory.opening = "\n\n".join(filter(None, [self.memory.opening, character.part, news]))

    def change_style(self, **changes: Any) -> None:
        """Speak with other settings from now on: fields of DebateStyle, or of its sampling. The memory stays."""
        sampling = {name: value for name, value in changes.items() if name in Sampling._fields}
        style_changes = {name: value for name, value in changes.items() if name not in sampling}
        self.style = self.style._replace(sampling=self.style.sampling._replace(**sampling), **style_changes)

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

        Notes
        -----
        The rule-based speaker (`oracle`) reads the persona and what was said. It answers the same whatever this
        paragraph says.
        """

    def _tempting(self) -> tuple[str, ...]:
        """Return the agents in whose name a reply might go on."""
        return self._others

    @property
    def _names(self) -> frozenset[str]:
        """All names of which lines may be in a request."""
        return self.memory.names.union((self.name,), self._others)

    def blocked_reason(self, form: str) -> str | None:
        """Return why the agent cannot be asked for this form now, or None if it can."""
        return self.why_absent if self.absent else "muted" if self.muted else None

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        """Remember a line that another agent said."""
        self.memory.hear(name, text)

    def hear_outside(self, name: str, text: str, form: str, value: float | None = None) -> None:
        """Hear a line from outside the debate. value: the attitude that it argues for, 0-10, which only surrogates use.

        form: HEARD, or that of a line that is no line of the debate, such as a statement of an official account.
        """
        self.hear(name, text, form)
        if form != HEARD:
            self._facts["outside"] = {**self._facts.get("outside", {}), text: form}

    def compose_speech(self, seed: int, form: str = "reply") -> Request:
        """Ask for an utterance: the next `reply`, an `opening` or `closing` statement, an `opinion`, a `critique`."""
        self._instruction = self.instruction(form)
        if self.character.role:
            self._instruction += f" {self.character.ask}"
        messages = self._chat(self._noted(self._instruction))
        return self._request("speech", messages, self.style.sampling, seed, Facts(form=form), begin=self._label)

    @property
    def _label(self) -> str:
        """Return how its reply begins, where a backend can continue one: its own label, as others' lines have theirs; "" without
        others. Without it, small models often begin with the label that they read last.
        """
        return f"{self.name}:" if self._tempting() else ""

    def absorb_speech(self, reply: Reply) -> Speech:
        """Read the line of a reply and remember it. A reply without a line of the agent leaves no trace."""
        speech = self.read_speech(reply)
        if speech.text is not None:
            self.memory.spoke(self._instruction, speech.text)
        return speech

    def read_speech(self, reply: Reply) -> Speech:
        """Return the agent's line in a reply; None with a reason for a failed or empty reply, a refusal, a turn of another
        agent, and a reply that only repeats the prompt.

        A line with another agent's label in front is kept without the label, and noted as mended.
        """
        if reply.text is None:
            return Speech(None, reply.failure.name if reply.failure else "empty")
        others = self._tempting() if ":" in reply.text else ()
        without_echo = cut_echo(reply.text, self.topic, self.name)
        text, relabelled = own_turn(without_echo, self.name, self._labels(others) if others else None)
        if not text and clean_speech(without_echo, self.name, None):
            return Speech(None, "spoke_for_others")
        if not text:
            return Speech(None, "echo" if clean_speech(reply.text, self.name, None) else "empty")
        if is_refusal(text):
            return Speech(None, "refusal")
        return Speech(shortened(text, self.style.words, self.style.cut), None, RELABELLED if relabelled else None)

    def _labels(self, others: tuple[str, ...]) -> re.Pattern[str]:
        """Return a pattern for labels of the agents in whose name a reply may go on, and of people who are not in the room."""
        society = tuple([name for party in self.topic.society.names.values() for name in party])
        return speaks_for(others, invented_speakers(self.topic.language, society, frozenset((self.name, *others))))

    def compose_survey(self, probe: Probe, seed: int, again: bool = False) -> Request:
        """Ask a survey question on a copy of the memory: neither question nor answer is ever remembered."""
        question = probe.ask(self.style.frame, answer_order(probe, self.style.listing, seed))
        self._surveys[probe.name] = self._surveys.get(probe.name, 0) + (not again)
        if again:
            question = self.topic.language.prompt("reask").fill(survey=question)
        return self._request(
            "survey",
            self._chat(self._reminded(self._stated(question, probe.name))),
            Sampling(self.style.survey_temperature, ANSWER_TOKENS),
            seed,
            self._state_facts(probe.name) | probe.facts,
            answers=probe.scale.answers,
            answer_prefix=probe.prefix,
            begin=probe.begin,
            archetype="" if again else self.archetype_key(probe),
        )

    def archetype_key(self, probe: Probe) -> str:
        """Return a key for agents who may share answers to a question: persona class, traits, which survey, last rating."""
        last = self._last_attitudes.get(probe.name)
        state = "unread" if last is None else f"{last:.0f}"
        persona, survey = self.persona, f"survey {self._surveys[probe.name]}"
        class_ = (self.topic.slug, probe.name, persona.party, persona.variant, self.adapter, self.voice)
        character = [*map(str, self.character[:3]), *filter(None, [self.character.belief])]
        return "|".join([*class_, *character, survey, state])

    def absorb_survey(self, reply: Reply, probe: Probe) -> Rating:
        """Read a rating and keep it as this agent's attitude. An unreadable one is None: the last one is not carried on."""
        reader = self.style.reader
        value, reason = (None, reply.failure.name) if reply.failure else probe.read(reply.text, reader)
        how = f"{reader}, {reply.way}" if reply.way else reader
        attitude = probe.attitude(value) if value is not None and probe.on_axis else None
        shares, expected = None, None
        if reply.answers:
            shares = tuple([reply.answers[answer] for answer in probe.scale.answers])
            expected = probe.attitude(probe.scale.expected(reply.answers)) if probe.on_axis else None
        rating = Rating(probe.name, value, reason, attitude, expected, shares, reply.text, how, reply.covered)
        self.ratings[probe.name], self._last_attitudes[probe.name] = rating, attitude
        if probe.name in self.style.chain:
            self._keep_state(probe, value)
        return rating

    def compose_interview(self, question: str, seed: int) -> Request:
        """Ask any question on a copy of the memory, as in a survey; nothing of it is remembered."""
        return self._request("interview", self._chat(question), self.style.sampling, seed, Facts(question=question))

    def compose_recollection(self, question: InterviewQuestion, text: str, seed: int, without: str = "") -> Request:
        """Ask what the agent recalls. without: the part of its memory that the prompt leaves out (agents/recollection.py)."""
        memory = self.memory.without(without)
        plan = self.plan.text if without not in (LINES, PLANS) else None
        top = memory.retrieved(text)
        facts = Facts(question=text, about=question.about, plan=plan or "")
        facts["insights"] = [trace.text for trace in top if trace.insight]
        facts["remembered"] = [trace.text for trace in top if trace.name is None and not trace.insight]
        messages = (self._system, *memory.messages(self._planned(text, plan), text))
        return self._request("interview", messages, self.style.sampling, seed, facts)

    def compose_summary(self, seed: int) -> Request:
        """Ask for a summary of what will be forgotten next (while `memory.overflows`)."""
        *older, last = self.memory.overflow()
        ask = self.topic.language.prompt("summary").fill(frame=self.style.frame, words=SUMMARY_TOKENS // 2)
        messages = (self._system, *older, Message("user", f"{last.content}\n\n{ask}".strip()))
        return self._request("summary", messages, Sampling(self.style.survey_temperature, SUMMARY_TOKENS), seed)

    def absorb_summary(self, reply: Reply) -> None:
        """Replace the old lines by their summary; without a summary they stay."""
        if reply.text and isinstance(self.memory, Summary):
            self.memory.absorb(reply.text.strip())


class Debater(DebateAgent):
    """An agent who hears everyone in the room.

    `side` is the side that it has to argue for, in words; `sided` means that it says nothing without a side.
    """

    side, sided = "", False

    def __init__(
        self,
        model: Any,
        persona: Persona,
        topic: Topic,
        others: Sequence[str],
        style: DebateStyle,
        adapter: str = "",
        voice: str = "",
        about_others: str = "",
    ):
        """others: the names in its prompt; about_others: a sentence about these others."""
        opening = describe_debate(persona, topic, others, style, about_others)
        super().__init__(model, persona, topic, style, opening, others, adapter, voice)

    def assign_side(self, for_: bool | None) -> None:
        """Assign the side for or against the topic's claim; None: it has no side, so it stays silent."""
        self.sided = True
        stance, claim, language = "for" if for_ else "against", self.topic.claim, self.topic.language
        told = language.prompt("side").fill(stance=language.words(stance), claim=claim)
        self.side = "" if for_ is None else told
        if self.side:
            self._facts |= {"side": stance, "claim": claim}

    def blocked_reason(self, form: str) -> str | None:
        return super().blocked_reason(form) or ("no_side" if self.sided and not self.side else None)

    def instruction(self, form: str) -> str:
        return f"{self.side} {self._plain_instruction(form)}".strip()

    def _plain_instruction(self, form: str) -> str:
        """Return the instruction without the side."""
        language = self.topic.language
        if form == "talk":
            return language.prompt("statement_talk").fill(others=language.join(self.hearers))
        if form != "reply":
            return language.prompt(f"statement_{form}").fill(frame=self.style.frame)
        prompt = language.prompt("start" if self.memory.empty and not self.late else "turn")
        slots = {"frame": self.style.frame, "name": self.name, "topic": self.topic.title}
        return prompt.fill(
            **{slot: text for slot, text in slots.items() if slot in prompt.slots}
        )  # wordings differ in slots


def describe_debate(
    persona: Persona, topic: Topic, others: Sequence[str], style: DebateStyle, about_others: str
) -> str:
    """Return the opening of a debate for an agent. about_others: a sentence about the other agents."""
    language = topic.language
    named = language.fill("other" if len(others) == 1 else "others", names=language.join(others)) if others else ""
    slots = {"frame": style.frame, "topic": topic.title, "name": persona.name, "words": style.words, "others": named}
    if style.format == "free":
        return f"{language.prompt('opening').fill(**slots)} {about_others}".rstrip()
    role = language.prompt("role_listener" if persona.party == DEFAULT else "role_persuader").text
    slots |= {"question": topic.question, "case": topic.case}
    return " ".join(f"{language.prompt('opening_structured').fill(**slots)} {role} {about_others}".split())
