"""Private notes, plans, insights and importance ratings of an agent, which no other agent reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from parley.agents.closed_answers import ANSWER_TOKENS
from parley.agents.memory import LEAST, MOST, Memory, Retrieval, Trace, memory_line
from parley.agents.persona import persona_reminder
from parley.agents.probe import Probe
from parley.agents.reasoning import INSIGHTS, Ability, Note, cited_numbers, note_in, plain_note, read_insights
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.agents.topic import Topic
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling
from parley.llm.spacing import respace_messages

if TYPE_CHECKING:
    from parley.agents.speech import DebateStyle

INSIGHT_TOKENS = 200
PLAN_WORDS = 60
WEIGHTS = Scale(
    "importance", NUMERIC, int(LEAST), int(MOST), {1: "a passing remark", 10: "something that you will not forget"}
)


UNSTATED = frozenset({"summary", "importance", "reflection", "interview"})
"""Purposes of requests that remind the agent of no state."""


class State(NamedTuple):
    """A readable last answer to a survey question of the chain.

    sentence  the sentence that reminds the agent of it
    construct what the question measures
    share     the answer as a share of its scale, 0 to 1
    """

    sentence: str
    construct: str
    share: float


class InnerThoughts(ABC):
    """The part of `parley.agents.agent.DebateAgent` that asks the agent in private, with the attributes that it needs."""

    memory: Memory
    style: DebateStyle
    topic: Topic
    ability: Ability | None
    note: Note
    states: dict[str, State]
    plan: Note
    day: int
    adapter: str
    voice: str
    _system: Message
    _facts: Facts

    @property
    @abstractmethod
    def _names(self) -> frozenset[str]:
        """Who else is in the room."""

    def _request(
        self,
        purpose: str,
        messages: tuple[Message, ...],
        sampling: Sampling,
        seed: int,
        facts: Facts | None = None,
        **further: Any,
    ) -> Request:
        """Return a request to the model of this agent. further: fields of a closed question, or the beginning of a reply."""
        state: Facts = {} if purpose in UNSTATED else self._state_facts()
        all_facts: Facts = {**self._facts, **state, **(facts or {})}
        return Request(
            respace_messages(messages, self.style.spacing),
            sampling,
            seed,
            purpose=purpose,
            adapter=self.adapter,
            voice=self.voice,
            names=self._names,
            facts=all_facts,
            **further,
        )

    def _chat(self, instruction: str) -> tuple[Message, ...]:
        """Return the persona, all that the agent remembers, its plan if it has one, and an instruction."""
        return (self._system, *self.memory.messages(self._planned(instruction, self.plan.text), instruction))

    def _planned(self, instruction: str, plan: str | None) -> str:
        """Return an instruction after a plan; it is never remembered as something said."""
        if plan is None:
            return instruction
        return f"{self.topic.language.prompt('plan_header').fill(plan=plan)}\n\n{instruction}"

    def _chained(self, probe: str = "") -> list[State]:
        """Return the readable last answers of the chain in its order; with a question of a survey those before it.

        A question outside the chain has none before it.
        """
        names = self.style.chain
        if probe:
            names = names[: names.index(probe)] if probe in names else ()
        return [self.states[name] for name in names if name in self.states]

    def _state_facts(self, probe: str = "") -> Facts:
        return Facts(state={state.construct: state.share for state in self._chained(probe)}) if self.style.chain else {}

    def _stated(self, instruction: str, probe: str = "") -> str:
        """Return an instruction after the sentences that remind the agent of its last answers; see `_chained`."""
        if not self.style.chain:
            return instruction
        states = " ".join([state.sentence for state in self._chained(probe)])
        return f"{states}\n\n{instruction}" if states else instruction

    def _keep_state(self, probe: Probe, value: float | None) -> None:
        """Keep the answer to a question of the chain. An unreadable one is forgotten; the older one is not kept."""
        self.states.pop(probe.name, None)
        if value is not None:
            share = (value - probe.scale.low) / (probe.scale.high - probe.scale.low)
            self.states[probe.name] = State(probe.recall(value), probe.construct, share)

    def _noted(self, instruction: str) -> str:
        """Return an instruction after the agent's note, if it has one, and its last answers of the chain."""
        instruction = self._stated(instruction)
        if self.note.text is not None:
            instruction = f"{self.topic.language.prompt('note').fill(note=self.note.text)}\n\n{instruction}"
        return self._reminded(instruction)

    def _reminded(self, instruction: str) -> str:
        """Return an instruction after a reminder of who the agent is, if the style asks for one; it is never remembered."""
        if not self.style.reminder:
            return instruction
        return f"{persona_reminder(self._system.content, self.topic.language)}\n\n{instruction}"

    def compose_thought(self, seed: int) -> Request:
        """Ask for the note that the ability makes before the agent speaks, on a copy of the memory."""
        assert self.ability is not None
        sampling = self.style.sampling._replace(max_tokens=self.ability.tokens)
        messages = self._chat(self._noted(self.ability.ask(self.style.frame, self.topic.language)))
        return self._request(self.ability.name, messages, sampling, seed)

    def absorb_thought(self, reply: Reply) -> Note:
        """Keep the note until the next one. An unreadable note is None with a reason; the older one is not kept."""
        assert self.ability is not None
        ability, language = self.ability, self.topic.language
        self.note = note_in(reply, lambda text: ability.read(text, language))
        return self.note

    def plans(self, round_: int) -> bool:
        """Whether the agent writes a plan before its turn in this round: it has none for this day yet."""
        return self.style.plan > 0 and (round_ - 1) // self.style.plan != self.day

    def compose_plan(self, seed: int) -> Request:
        """Ask for the plan of a day, on a copy of the memory. The prompt has the plan of the day before."""
        sampling = self.style.sampling._replace(max_tokens=3 * PLAN_WORDS)
        ask = self.topic.language.prompt("plan").fill(frame=self.style.frame, words=PLAN_WORDS)
        return self._request("plan", self._chat(self._reminded(ask)), sampling, seed)

    def absorb_plan(self, reply: Reply, round_: int) -> Note:
        """Keep the plan until the next day. An unreadable plan is None with a reason; the older one is not kept."""
        self.plan, self.day = note_in(reply, plain_note), (round_ - 1) // self.style.plan
        return self.plan

    @property
    def reflects(self) -> bool:
        """Whether it is time to ask for insights."""
        return isinstance(self.memory, Retrieval) and self.memory.reflects

    def compose_reflection(self, seed: int) -> Request:
        """Ask for insights into what was said since the last ones (while the agent `reflects`)."""
        assert isinstance(self.memory, Retrieval)
        language, facts = self.topic.language, Facts(count=INSIGHTS)
        if self.style.evidence:
            traces = self.memory.evidence()
            lines = [f"{number}. {memory_line(trace, language)}" for number, trace in enumerate(traces, 1)]
            ask = language.prompt("reflection_cited").fill(frame=self.style.frame, memories="\n".join(lines))
            messages: tuple[Message, ...] = (self._system, Message("user", f"{self.memory.opening}\n\n{ask}"))
            facts["memories"] = [(trace.name or "", trace.text) for trace in traces]
        else:
            instruction = language.prompt("reflection").fill(frame=self.style.frame)
            messages = (self._system, *self.memory.recent(instruction))
        sampling = self.style.sampling._replace(max_tokens=INSIGHT_TOKENS)
        return self._request("reflection", messages, sampling, seed, facts)

    def absorb_reflection(self, reply: Reply) -> Note:
        """Keep the insights, with the memories that they cite; the note has one per line."""
        note = note_in(reply, read_insights)
        if not isinstance(self.memory, Retrieval):
            return note
        texts = note.text.split("\n") if note.text else []
        if not self.style.evidence:
            self.memory.conclude([(text, ()) for text in texts])
            return note
        memories = self.memory.evidence()
        cited = [cited_numbers(text, len(memories)) for text in texts]
        self.memory.conclude([(text, [memories[number - 1] for number in numbers]) for text, numbers in cited])
        return Note("\n".join(text for text, _ in cited)) if cited else note

    def unweighed(self) -> list[Trace]:
        """Return the memories whose importance is still to be asked; each is returned once."""
        if not isinstance(self.memory, Retrieval):
            return []
        due, self.memory.unweighed = self.memory.unweighed, []
        return due

    def compose_importance(self, trace: Trace, seed: int) -> Request:
        """Ask how important a memory is. The prompt has only the persona, the opening and that line."""
        line = " ".join(trace.text.split())
        language = self.topic.language
        ask = language.prompt("importance").fill(who=trace.name or language.words("you"), line=line)
        return self._request(
            "importance",
            (self._system, Message("user", f"{self.memory.opening}\n\n{ask}")),
            Sampling(self.style.survey_temperature, ANSWER_TOKENS),
            seed,
            Facts(line=line, scale=WEIGHTS),
            answers=WEIGHTS.answers,
        )

    def absorb_importance(self, reply: Reply, trace: Trace) -> Reading:
        """Keep the importance (1 to 10), or None with a reason: such a memory is ranked by recency and relevance only."""
        reading = Reading(None, reply.failure.name) if reply.failure else read_rating(reply.text, WEIGHTS)
        trace.importance = reading.value
        return reading
