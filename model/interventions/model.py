"""model: from this round on, these agents speak through another model.

llm   its spec, as on the command line
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from parley.llm.backends import identity_spec
from parley.llm.errors import UserError
from parley.model.interventions.base import Act, Intervention, View
from parley.model.room import RoomState


@dataclass(frozen=True, kw_only=True)
class Model(Intervention):
    """Another model for some seats, which keep their memory. See the module's manual page."""

    reaches_absent = True
    wordless: ClassVar[str] = "these people do not speak through a model: use mute or shock"
    llm: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.llm or self.every:
            raise UserError(
                "model: name the new model with llm=SPEC, such as llm=oracle, and leave out every: the model changes only once"
            )

    @property
    def voice(self) -> str:
        """The name by which requests ask for the model."""
        return identity_spec(self.llm)

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].voice = self.voice
        yield Act(agents, self.voice)
