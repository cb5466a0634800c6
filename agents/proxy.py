"""A participant's place at the critique step, held by its representative: what it is told, what it writes."""

from __future__ import annotations

from collections.abc import Sequence

from parley.agents.debater import Speech
from parley.agents.participant import Participant
from parley.agents.question import Question
from parley.agents.representative import OTHERS, Brief, Other, Representative, same
from parley.llm.request import Reply, Request

CRITIQUE = "critique"
Past = Sequence[tuple[Question, Participant]]


class Proxy:
    """Writes the critiques that `member` would be asked for. `before`: the questions on which the same person wrote for itself.

    Brief and request are made when a critique is due, of what the member said until then; the member hears the mediator as
    before, and of what is written in its name nothing.
    """

    prepares = False

    def __init__(
        self, member: Participant, question: Question, before: Past, knows: str, adapter: str = "", voice: str = ""
    ):
        self.member, self.question, self.before = member, question, tuple(before)
        self.knows, self.adapter, self.voice = knows, adapter, voice
        self.told: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Nobody can represent who has not said what it thinks."""
        return "opinion" in self.member.said

    def unable(self, form: str) -> str | None:
        return self.member.unable(form)

    def brief(self) -> Brief:
        """All that a representative may be told of its member now. Of the current question: opinion and statement alone."""
        others = [
            Other(question, one.said.get("opinion"), one.said.get(CRITIQUE), one.position)
            for question, one in self.before
            if not same(question, self.question)
        ]
        member = self.member
        return Brief(
            self.question, member.said["opinion"], member.statement or "", member.demographics, tuple(others[:OTHERS])
        )

    def compose_speech(self, seed: int, form: str = CRITIQUE) -> Request:
        """Ask the representative; `told` are the ids of the other questions that it is told of."""
        self.member.stand_aside()
        speaker = Representative(self.brief(), self.knows, self.member.manner.sampling, self.adapter, self.voice)
        self.told = speaker.told
        return speaker.compose_critique(seed)

    def absorb_speech(self, reply: Reply) -> Speech:
        found = Representative.absorb_critique(reply)
        return Speech(found.text, found.reason or None)
