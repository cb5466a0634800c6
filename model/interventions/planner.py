"""planner: somebody who steers: it says, of its messages, the one that it expects to bring attitudes nearest to its target.

messages  what it may say, each behind the attitude (0-10) that it argues for: "8: ...", "2: ..."; for several the key is repeated
target    the attitude that it wants
gain      how far, it believes, a line moves who hears it: this share of the way to what the line argues for (0.1)
audience  room (one line for all that it is for, by their mean), each (a line for each of them, by its own attitude)
by        its name (Planner)

It goes by the attitudes of the last survey, and expects that a line at p moves an attitude a to a + gain (p - a). It says nothing
where that is expected to be no nearer, and where no attitude could be read. With equal expectations the first message stands.

After the planner of information in sequential social learning ("Steering the Herd"), in the simplest form: greedy (one round
ahead), with a fixed set of public or private messages in place of a precision to choose, and a linear belief in place of a
Bayesian one. It sees ratings, which nobody in the room does.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from parley.llm.errors import UserError
from parley.model.interventions.base import Act, Intervention, View, check_line, line_events
from parley.model.room import RoomState

_MESSAGE = re.compile(r"(\d+(?:\.\d+)?)\s*:\s*(\S.*)")
_SECOND = re.compile(r"[|;]\s*(\d+(?:\.\d+)?\s*:\s*\S.*)$")


@dataclass(frozen=True, kw_only=True)
class Planner(Intervention):
    """A greedy planner; see the module's manual page."""

    messages: tuple[str, ...]
    target: float
    gain: float = 0.1
    audience: Literal["room", "each"] = "room"
    by: str = "Planner"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.gain <= 1 or not 0 <= self.target <= 10:
            raise UserError("planner: gain must be above 0 and at most 1, target between 0 and 10")
        if not self.options():
            raise UserError("planner: messages must hold at least one")
        for text in self.options():
            check_line(self.kind, self.by, text)

    def options(self) -> dict[str, float]:
        """What each message argues for. Errors: UserError on one that does not say it."""
        found = {}
        for message in self.messages:
            match = _MESSAGE.fullmatch(message)
            if not match or float(match[1]) > 10:
                raise UserError(
                    f"planner: write a message as '8: what is said', the attitude that it argues for first, not {message!r}"
                )
            if second := _SECOND.search(match[2]):
                raise UserError(
                    f"planner: two messages in one, {message!r}: repeat the key, messages='{message[: -len(second[0])].strip()}' "
                    f"messages='{second[1].strip()}'"
                )
            found[match[2]] = float(match[1])
        return found

    def act(self, room: RoomState, agents: tuple[int, ...], attitude: View, round_: int) -> Iterator[Act]:
        if self.audience == "room":
            return iter([self._say(room, agents, *self.choose([attitude(agent) for agent in agents]))])
        hearers: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
        for agent in agents:
            hearers[self.choose([attitude(agent)])].append(agent)
        return iter([self._say(room, tuple(those), *choice) for choice, those in hearers.items()])

    def choose(self, attitudes: list[float | None]) -> tuple[str | None, str | None]:
        """What to say to people with these attitudes, or None and why not."""
        known = [attitude for attitude in attitudes if attitude is not None]
        if not known:
            return None, "no_attitude"
        mean = statistics.fmean(known)
        off = {text: abs(mean + self.gain * (argues - mean) - self.target) for text, argues in self.options().items()}
        best = min(off, key=lambda text: off[text])
        return (best, None) if off[best] < abs(mean - self.target) else (None, "no_nearer")

    def _say(self, room: RoomState, agents: tuple[int, ...], text: str | None, reason: str | None) -> Act:
        return Act(agents, None, self.by, reason) if text is None else line_events(room, agents, self.by, text)
