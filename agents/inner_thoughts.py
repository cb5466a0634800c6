"""What a member of a debate asks itself: a note before it speaks, insights, how important a line is. Nobody else is
told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parley.agents.memory import LEAST, MOST, Memory, Retrieval, Trace
from parley.agents.persona import persona_reminder
from parley.agents.reasoning import INSIGHTS, Ability, Note, read_insights
from parley.agents.scales import NUMERIC, Reading, Scale, read_rating
from parley.agents.topic import PROMPTS
from parley.llm.prompts import prompt
from parley.llm.purposes import Facts
from parley.llm.request import Message, Reply, Request, Sampling

if TYPE_CHECKING:
    from parley.agents.agent import DebateStyle

INSIGHT_TOKENS, WEIGHT_TOKENS = 200, 40
WEIGHTS = Scale(
    "importance", NUMERIC, int(LEAST), int(MOST), {1: "a passing remark", 10: "something that you will not forget"}
)


class InnerThoughts:
    """A part of `parley.agents.agent.DebateAgent`, which has what is named here."""

    memory: Memory
    manner: DebateStyle
    ability: Ability | None
    note: Note
    adapter: str
    voice: str
    _system: Message
    _facts: Facts

    @property
    def _names(self) -> frozenset[str]:
        raise NotImplementedError

    @property
    def _speaks(self) -> tuple[str, str]:
        return self.adapter, self.voice

    def compose_thought(self, seed: int) -> Request:
        """Ask for the note that its ability makes before it speaks, on a copy of what is remembered."""
        assert self.ability is not None
        messages = (self._system, *self.memory.messages(self._noted(self.ability.ask(self.manner.frame))))
        sampling = self.manner.sampling._replace(max_tokens=self.ability.tokens)
        return Request(
            messages, sampling, seed, (), self.ability.name, "", *self._speaks, names=self._names, facts=self._facts
        )

    def absorb_thought(self, reply: Reply) -> Note:
        """Keep the note until the next one. One that cannot be read is None with a reason: the older one is not kept
        on.
        """
        failure = reply.failure.name if reply.failure else "empty"
        self.note = self.ability.read(reply.text) if self.ability and reply.text else Note(None, failure)
        return self.note

    def _noted(self, instruction: str) -> str:
        """What it is asked, after what it noted for itself."""
        if self.note.text is not None:
            instruction = f"{prompt(PROMPTS, 'note').fill(note=self.note.text)}\n\n{instruction}"
        return self._reminded(instruction)

    def _reminded(self, instruction: str) -> str:
        """What it is asked, after who it is, where that is told every time; never remembered."""
        return f"{persona_reminder(self._system.content)}\n\n{instruction}" if self.manner.reminder else instruction

    @property
    def reflects(self) -> bool:
        """Whether it is time to draw its conclusions."""
        return isinstance(self.memory, Retrieval) and self.memory.reflects

    def compose_reflection(self, seed: int) -> Request:
        """Ask for its insights into what was said since the last ones (while it `reflects`)."""
        assert isinstance(self.memory, Retrieval)
        messages = (self._system, *self.memory.recent(prompt(PROMPTS, "reflection").fill(frame=self.manner.frame)))
        sampling = self.manner.sampling._replace(max_tokens=INSIGHT_TOKENS)
        facts: Facts = {**self._facts, "count": INSIGHTS}
        return Request(messages, sampling, seed, (), "reflection", "", *self._speaks, names=self._names, facts=facts)

    def absorb_reflection(self, reply: Reply) -> Note:
        """Keep the insights; the note has one a line."""
        failure = reply.failure.name if reply.failure else "empty"
        note = read_insights(reply.text) if reply.text else Note(None, failure)
        if isinstance(self.memory, Retrieval):
            self.memory.conclude(note.text.split("\n") if note.text else ())
        return note

    def unweighed(self) -> list[Trace]:
        """What it remembers without knowing how important that is, where it is to be asked; each is handed out once."""
        if not isinstance(self.memory, Retrieval):
            return []
        due, self.memory.unweighed = self.memory.unweighed, []
        return due

    def compose_importance(self, trace: Trace, seed: int) -> Request:
        """Ask how important a memory is: the persona, the opening and that line alone."""
        line = " ".join(trace.text.split())
        asked = prompt(PROMPTS, "importance").fill(who=trace.name or "You", line=line)
        sampling = Sampling(self.manner.survey_temperature, WEIGHT_TOKENS)
        messages = (self._system, Message("user", f"{self.memory.opening}\n\n{asked}"))
        own, facts = (*self._speaks, "", self._names), Facts(**self._facts, line=line, scale=WEIGHTS)
        return Request(messages, sampling, seed, WEIGHTS.answers, "importance", "", *own, facts)

    def absorb_importance(self, reply: Reply, trace: Trace) -> Reading:
        """Keep the importance (1 to 10), or None with a reason: such a memory is found by the rest of what is known of
        it.
        """
        reading = read_rating(reply.text, WEIGHTS) if reply.failure is None else Reading(None, reply.failure.name)
        trace.importance = reading.value
        return reading
