"""planner: before the round, a planner says the message that it expects to bring attitudes nearest to its target.

messages  its messages, each after the attitude (0-10) that it argues for: "8: ...", "2: ..."; repeat the key for several
target    the attitude that it wants
gain      how far a line moves a hearer, as the planner believes: this share of the way to what the line argues for (0.1)
audience  room (one line for all these agents, by their mean attitude) or each (a line for each agent, by its own attitude)
by        its name (Planner)

The planner knows the attitudes of the last survey. It expects that a line at p moves an attitude a to a + gain (p - a). It says
nothing if no message is expected to bring the mean nearer, or if no attitude could be read. Of equally good messages it says the
first.

It is greedy (one round ahead), with a linear model of how a message moves attitudes. It sees ratings, which no agent of the room
sees.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

from parley.llm.errors import UserError
from parley.model.interventions.base import Act, Intervention, View, check_line, line_events
from parley.model.room import RoomState

_MESSAGE = re.compile(r"(\d+(?:\.\d+)?)\s*:\s*(\S.*)")
_SECOND = re.compile(r"[|;]\s*(\d+(?:\.\d+)?\s*:\s*\S.*)$")


@dataclass(frozen=True, kw_only=True)
class Planner(Intervention):
    """A greedy planner; see the module's manual page."""

    wordless: ClassVar[str] = "a planner chooses among texts: use message with value=0 to 10"
    messages: tuple[str, ...]
    target: float
    gain: float = 0.1
    audience: Literal["room", "each"] = "room"
    by: str = "Planner"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.gain <= 1 or not 0 <= self.target <= 10:
            raise UserError("planner: gain must be above 0 and at most 1, and target must be between 0 and 10")
        if not self.options():
            raise UserError("planner needs at least one message, such as messages='8: Think of the cost.'")
        for text in self.options():
            check_line(self.kind, self.by, text)

    def options(self) -> dict[str, float]:
        """Return the attitude that each message argues for. Errors: UserError on a message without one."""
        options = {}
        for message in self.messages:
            match = _MESSAGE.fullmatch(message)
            if not match or float(match[1]) > 10:
                raise UserError(
                    f"planner: the message {message!r} must begin with the attitude that it argues for, such as "
                    "'8: Think of the cost.'"
                )
            if second := _SECOND.search(match[2]):
                first = message[: -len(second[0])].strip()
                raise UserError(
                    f"planner: {message!r} looks like two messages; write the key messages= before each "
                    f"message: messages='{first}' messages='{second[1].strip()}'"
                )
            options[match[2]] = float(match[1])
        return options

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View) -> Iterator[Act]:
        hearers: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
        for group in [agents] if self.audience == "room" else [(agent,) for agent in agents]:
            hearers[self.choose([attitude(agent) for agent in group])] += group
        for (text, reason), listed in hearers.items():
            addressed = tuple(listed)
            yield (
                line_events(room, addressed, self.by, text, self.options()[text])
                if text
                else Act(addressed, None, self.by, reason)
            )

    def choose(self, attitudes: list[float | None]) -> tuple[str | None, str | None]:
        """Return the message for agents with these attitudes, or None and the reason."""
        readable = [attitude for attitude in attitudes if attitude is not None]
        if not readable:
            return None, "no_attitude"
        mean = statistics.fmean(readable)
        options = self.options().items()
        distance = {text: abs(mean + self.gain * (argued - mean) - self.target) for text, argued in options}
        best = min(distance, key=lambda text: distance[text])
        return (best, None) if distance[best] < abs(mean - self.target) else (None, "no_nearer")
