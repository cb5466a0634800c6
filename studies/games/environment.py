"""game: people play a game of points in rounds: trust game, prisoner's dilemma, public goods, or a negotiation.

Options
    game       what is played: trust (one sends points, which are tripled, the other returns some), prisoners (both choose A,
               cooperate, or B, defect, at the same time), public_goods (all put points into a pot at the same time) or
               negotiation (one offers a package, the other accepts, refuses or leaves; then the other way round)
    parties    the parties of the players, in turn (default)
    size       players of a room: 2, in public_goods from 2 to 20 (2)
    end        whether players know the number of rounds: announced or unannounced
    beliefs    what players are asked before the first move: none, elicited (what they and the others will do, each a number from
               0 to 10) or imposed (first they read what they are known to do, `imposed`; then they are asked the same)
    imposed    what players are known to do, where beliefs are imposed, from 0 to 10 (5)
    horizon    the rounds for which players are asked what they will do (1)
    factor     in public_goods, by how much the pot is multiplied before it is shared out equally (1.6)

A round of the scenario is a round of the game. All players see all earlier moves of their room. No one sees a missing move.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from parley.environments.base import Group, Room, Turn, counted, in_range, seats_in_turn

from .rules import KINDS, GameName

if TYPE_CHECKING:
    from parley.llm.driver import Conversation
    from parley.model.debate import DebateModel
    from parley.model.events import Event
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario

    from .players import Player


@dataclass(frozen=True)
class Game:
    """A game of moves and points; options: see the top of this file."""

    form: ClassVar = "move"
    knows_topics: ClassVar = False
    controls: ClassVar = {
        "game": ("Game", "trust, prisoners, public_goods or negotiation (studies/games/README.md)."),
        "end": (
            "Whether players know the number of rounds",
            "announced: players know the number of rounds. unannounced: they do not.",
        ),
        "beliefs": (
            "elicited: players are asked what they and the others will do. imposed: players first read what "
            "they are known to do.",
            "elicited: players say what all players will do. imposed: players first read what players are known to do.",
        ),
        "imposed": ("What players are known to do", "0 to 10. This field is only used with beliefs=imposed."),
        "horizon": ("Rounds that players are asked about", "Numbers of rounds, separated by commas."),
        "factor": ("Factor by which the pot is multiplied", "1.6: the pot times 1.6 is shared out equally."),
    }

    game: GameName = "trust"
    parties: tuple[str, ...] = ("default",)
    size: int = 2
    end: Literal["announced", "unannounced"] = "announced"
    beliefs: Literal["none", "elicited", "imposed"] = "none"
    imposed: int = 5
    horizon: tuple[int, ...] = (1,)
    factor: float = 1.6

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        if self.game == "public_goods":
            in_range(2, 20, size=self.size)
        elif self.size != 2:
            raise ValueError(f"{self.game} has two players: set size=2")
        if self.game == "negotiation" and self.beliefs != "none":
            raise ValueError("players of a negotiation are not asked for expectations: set beliefs=none")
        if not self.horizon or len(set(self.horizon)) < len(self.horizon) or min(self.horizon) < 1:
            raise ValueError("horizon must name rounds from 1 on, and each round only once, such as 1,3,5")
        in_range(0, 10, imposed=self.imposed)
        in_range(1.01, 100, factor=self.factor)
        if self.game == "public_goods" and self.factor >= self.size:
            raise ValueError(
                f"factor must be below size ({self.size}), or putting in points would cost a player nothing"
            )

    @property
    def together(self) -> bool:
        """Whether all players of a round move at the same time."""
        return len(KINDS[self.game]) == 1

    @property
    def may_end_early(self) -> bool:
        """Whether moves may fall away: no one returns points where none were sent, and an agreement ends a negotiation."""
        return not self.together

    def groups(self) -> tuple[Group, ...]:
        seats = seats_in_turn(self.parties, self.size)
        return (Group(counted(seats), seats),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        begins = (round_ - 1) % len(room.seated) if self.game == "negotiation" else 0
        for place, speaker in enumerate(room.seated[begins:] + room.seated[:begins]):
            others = tuple([member for member in room.seated if member != speaker])
            yield Turn(speaker, others, self.form, self.together and place > 0)

    def seat(self) -> type[Player]:
        """Return the class of the players."""
        from .players import Player

        return Player

    def play(self, room: RoomState, view: Room, model: DebateModel) -> Conversation[list[Event]]:
        """Play a round of the game."""
        from .round import run_game_round

        return run_game_round(room, self, self.turns(view, room.round), model.setup.rounds)

    def problems(self, scenario: Scenario) -> Iterator[str]:
        """Yield what does not fit together in a scenario, and what to set."""
        if self.beliefs != "none" and min(self.horizon) > scenario.rounds:
            named = ",".join(map(str, self.horizon))
            yield f"horizon={named} does not name a round of this game: set horizon=1, or --rounds {min(self.horizon)}"
