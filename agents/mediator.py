"""The mediator of one room: it hears the members, and a policy of agents/mediators/ makes a statement of what it heard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parley.agents.mediators.base import NAME, Brief, Heard, Mediator, Seed, Statement
from parley.agents.question import Question
from parley.llm.driver import Conversation
from parley.llm.request import Sampling


class Chair:
    """Keeps what each member (by its id, in seat order) said last of each form, and its own last statement."""

    name = NAME

    def __init__(
        self,
        policy: Mediator,
        question: Question,
        members: Sequence[int],
        sampling: Sampling,
        adapter: str = "",
        voice: str = "",
    ):
        self.policy, self.question, self.members = policy, question, tuple(members)
        self.sampling, self.adapter, self.voice = sampling, adapter, voice
        self.previous: str | None = None
        self._said: dict[str, dict[int, str]] = {"opinion": {}, "critique": {}}

    def hear(self, member: int, text: str, form: str) -> None:
        """Keep an opinion or a critique."""
        self._said[form][member] = text

    def speak(self, positions: Mapping[int, float | None], seed: Seed) -> Conversation[Statement]:
        """A conversation that returns the next statement. positions: the members' position scores, by id."""
        heard = [
            Heard(self._said["opinion"].get(one), self._said["critique"].get(one), positions.get(one))
            for one in self.members
        ]
        brief = Brief(self.question, tuple(heard), self.previous, self.sampling, self.adapter, self.voice)
        statement = yield from self.policy.speak(brief, seed)
        if statement.text is not None:
            self.previous = statement.text
            self._said["critique"].clear()
        return statement
