"""speech: from this round on, these agents speak with other settings. What they said and remember stays.

temperature, top_p, max_tokens   how their replies are sampled
cut                              what is kept of a reply that is longer than `words`
reminder                         whether they are reminded of their persona before every reply

Each means the same as the field of this name. One that is left out stays as it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from parley.llm.errors import UserError
from parley.llm.typed import as_option
from parley.model.interventions.base import Act, Intervention, View
from parley.model.room import RoomState
from parley.model.scenario_blocks import Speech as SpeechFields

SETTINGS = ("temperature", "top_p", "max_tokens", "cut", "reminder")


@dataclass(frozen=True, kw_only=True)
class Speech(Intervention):
    """Other settings of what some agents say. See the module's manual page."""

    reaches_absent = True
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    cut: Literal["none", "sentence", "last"] | None = None
    reminder: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.changes or self.every:
            raise UserError(
                f"speech: give at least one of {', '.join(SETTINGS)}, and leave out every, because settings change only once"
            )
        SpeechFields(**self.changes)  # refuses a value that the field would not take

    @property
    def changes(self) -> dict[str, Any]:
        """The settings that it changes, by name."""
        return {name: value for name in SETTINGS if (value := getattr(self, name)) is not None}

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        for agent in agents:
            room.members[agent].change_style(**self.changes)
        yield Act(agents, ", ".join(f"{name}={as_option(value)}" for name, value in self.changes.items()))
