"""two_answers: people answer for or against a claim, round by round, and see how many of the others gave each answer

Options
    parties   the parties of the people, in turn (default)
    size      people of a room (8)
    begins    what people see in the first round: alone (no answer of others), for or against (all others are said to agree, or to
              disagree, with the claim)
    told      what people see: group (the last answers of the others in the room) or curve (made-up numbers, which go from no
              one to all of the others, so that the response to each number can be measured; no one sees a real answer)
    levels    in `curve`, about how many different numbers are shown, besides a question without any (5)

All people of a round answer at the same time. Nobody remembers an earlier round: the question has all that a person knows. Which
answer is listed first is drawn for each question in `group`; in `curve` every person gets each question in both orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from parley.environments.base import Group, Room, Turn, counted, in_range, seats_in_turn

if TYPE_CHECKING:
    from parley.llm.driver import Conversation
    from parley.model.debate import DebateModel
    from parley.model.events import Event
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario

    from .members import SideMember

FOR, AGAINST = SIDES = ("for", "against")
ORDERS = 2


@dataclass(frozen=True)
class TwoAnswers:
    """Two answers, round by round; options: see the top of this file."""

    form: ClassVar = "side"
    knows_topics: ClassVar = False
    controls: ClassVar = {
        "begins": ("First round", "alone: no answer of others is shown. for, against: all others agree, or disagree."),
        "told": (
            "What people see",
            "group: people read the last answers of the others. curve: people read made-up numbers.",
        ),
        "levels": (
            "Numbers shown in a curve",
            "5: none, a quarter, half, three quarters and all of the others, rounded to whole people.",
        ),
    }

    parties: tuple[str, ...] = ("default",)
    size: int = 8
    begins: Literal["alone", "for", "against"] = "alone"
    told: Literal["group", "curve"] = "group"
    levels: int = 5

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        in_range(2, 200, size=self.size)
        in_range(2, 50, levels=self.levels)

    @property
    def numbers(self) -> tuple[int, ...]:
        """How many of the others are said to agree, in a curve: from none to all, each number as often as its opposite.

        >>> TwoAnswers(size=8).numbers, TwoAnswers(size=3).numbers
        ((0, 2, 3, 4, 5, 7), (0, 1, 2))
        """
        others, steps = self.size - 1, min(self.levels, self.size) - 1
        lower = [int(others * step / steps + 0.5) for step in range(steps // 2 + 1)]
        return tuple(sorted({*lower, *(others - number for number in lower)}))

    @property
    def curve_rounds(self) -> int:
        """The rounds in which every person gets each question of a curve in both orders."""
        return ORDERS * (len(self.numbers) + 1)

    def groups(self) -> tuple[Group, ...]:
        seats = seats_in_turn(self.parties, self.size)
        return (Group(counted(seats), seats),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for place, speaker in enumerate(room.seated):
            others = tuple([member for member in room.seated if member != speaker])
            yield Turn(speaker, others, self.form, place > 0)

    def seat(self) -> type[SideMember]:
        """Return the class of the people."""
        from .members import SideMember

        return SideMember

    def play(self, room: RoomState, view: Room, model: DebateModel) -> Conversation[list[Event]]:
        """Play a round."""
        from .round import run_round

        return run_round(room, self, self.turns(view, room.round))

    def problems(self, scenario: Scenario) -> Iterator[str]:
        """Yield what does not fit together in a scenario, and what to set."""
        if self.told == "curve" and scenario.rounds % self.curve_rounds:
            yield (
                f"told=curve asks {self.curve_rounds} questions of a person: set --rounds {self.curve_rounds}, or a "
                "multiple of it"
            )
