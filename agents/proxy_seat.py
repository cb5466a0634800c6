"""The seat of a representative: it takes a member's place at some steps of a deliberation (`represents`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from parley.agents.question import Question
from parley.agents.representative import (
    BALLOT,
    CRITIQUE,
    OPINION,
    OTHERS,
    CritiqueBrief,
    OtherOpinion,
    Representative,
    same_question,
)
from parley.agents.speech import Speech
from parley.llm.request import Reply, Request

if TYPE_CHECKING:
    from parley.agents.participant import Participant

Past = Sequence[tuple[Question, "Participant"]]


class ProxySeat:
    """Does what `member` would be asked for at the steps `represents`. `before`: earlier questions on which the same person
    wrote.

    Brief and request are made when a step is due, from what the member has said by then. The member still hears the
    mediator, but not what is written in its name.
    """

    prepares = False

    def __init__(
        self,
        member: Participant,
        question: Question,
        before: Past,
        knows: str,
        adapter: str = "",
        voice: str = "",
        represents: Sequence[str] = (CRITIQUE,),
    ):
        self.member, self.question, self.before = member, question, tuple(before)
        self.knows, self.adapter, self.voice, self.represents = knows, adapter, voice, tuple(represents)
        self.told: tuple[str, ...] = ()
        self.written: dict[str, str] = {}
        self._form = CRITIQUE

    @property
    def opinion(self) -> str | None:
        """The opinion on the question: the member's own, or the one written in its name."""
        return self.member.said.get(OPINION, self.written.get(OPINION))

    def takes(self, step: str) -> bool:
        """Return whether it takes the member's place at a step. All but the opinion itself need an opinion."""
        return step in self.represents and (step == OPINION or self.opinion is not None)

    def waits(self, round_: int) -> bool:
        """Return whether it reads what is written in the same round of the session's earlier episodes."""
        if round_ == 1:
            return "O" in self.knows and bool({OPINION, BALLOT} & set(self.represents))
        return "C" in self.knows and (self.takes(CRITIQUE) or self.takes(BALLOT))

    def blocked_reason(self, form: str) -> str | None:
        return self.member.blocked_reason(form)

    def brief(self) -> CritiqueBrief:
        """Return what a representative may know now. On the current question: opinion, statement and last critique."""
        others = [
            OtherOpinion(question, participant.said.get(OPINION), participant.said.get(CRITIQUE), participant.position)
            for question, participant in self.before
            if not same_question(question, self.question)
        ]
        member, critique = self.member, self.written.get(CRITIQUE, self.member.said.get(CRITIQUE, ""))
        member_texts = self.opinion or "", member.statement or "", member.demographics
        return CritiqueBrief(self.question, *member_texts, tuple(others[:OTHERS]), critique)

    def compose_speech(self, seed: int, form: str = CRITIQUE) -> Request:
        """Ask the representative. `told` has the ids of the other questions in the prompt."""
        self._form, speaker = form, self._representative()
        if form == OPINION:
            return speaker.compose_opinion(seed, self.member.style.words)
        self.member.stand_aside()
        return speaker.compose_critique(seed)

    def absorb_speech(self, reply: Reply) -> Speech:
        """Read the text, and keep it for the steps that follow."""
        written = self.read_speech(reply)
        if written.text is not None:
            self.written[self._form] = written.text
        return written

    def read_speech(self, reply: Reply) -> Speech:
        """Return the text of a reply, or None with a reason."""
        written = Representative.absorb_text(reply)
        return Speech(written.text, written.reason or None)

    def compose_ballot(self, statements: Sequence[str], seed: int, again: bool = False) -> Request:
        """Ask the representative to rank statements, on candidates or in the final vote."""
        return self._representative().compose_ballot(statements, seed, again)

    def _representative(self) -> Representative:
        speaker = Representative(self.brief(), self.knows, self.member.style.sampling, self.adapter, self.voice)
        self.told = speaker.told
        return speaker
