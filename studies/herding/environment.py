"""herding: people choose one after another, with a private signal and the choices before in view

Options
    parties    the parties of the people, in turn (default)
    size       people of a room (10)
    prior      the probability that A is the right option (0.5)
    precision  the probability that a private signal is right (0.7)
    ties       what undecided people are taken to do, where choices are read as a Bayesian reads them: coin (they toss a coin) or
               own (they follow their own signal)
    planner    who sets the precision of the next person's signal: none (it is always `precision`), optimum (the best choice if
               all people were Bayesians) or model (a model is asked)
    aim        what the planner wants people to choose: right (the right option), A or B
    levels     the precisions from which the planner chooses; `precision` is free (0.5, 0.6, 0.7, 0.8, 0.9)
    cost       what a precision costs the planner, for one unit of distance from `precision`, where one person who chooses as it
               aims is worth 1 (0.5)

A round is a period with a new state of the world and a new random order of people. No person remembers an earlier period or
learns which option was right. All people see the choices, and how precise the signals of these people were.
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

    from .members import HerdMember

PLANNER = "planner"
"""The name of a planner that is a model, where a field names a party or a seat."""


@dataclass(frozen=True)
class Herding:
    """Sequential social learning (Bikhchandani et al. 1992), with a planner; options: see the top of this file."""

    form: ClassVar = "decision"
    knows_topics: ClassVar = False
    controls: ClassVar = {
        "prior": ("Chance of option A", "0.5: both options are right equally often."),
        "precision": ("Precision of a private signal", "0.7: a private signal is right 7 times in 10."),
        "ties": ("What undecided people do", "coin: people toss a coin. own: people follow their own signal."),
        "planner": (
            "Planner",
            "none, optimum (computed) or model (a language model sets the precision of each signal).",
        ),
        "aim": (
            "Aim of the planner",
            "right: as many right choices as possible. A or B: as many choices of this option as possible.",
        ),
        "levels": ("Precisions that the planner can choose", "Numbers from 0.5 to 1, separated by commas."),
        "cost": ("Cost of a precision", "What one unit of distance from the free precision costs, in right choices."),
    }

    parties: tuple[str, ...] = ("default",)
    size: int = 10
    prior: float = 0.5
    precision: float = 0.7
    ties: Literal["coin", "own"] = "coin"
    planner: Literal["none", "optimum", "model"] = "none"
    aim: Literal["right", "A", "B"] = "right"
    levels: tuple[float, ...] = (0.5, 0.6, 0.7, 0.8, 0.9)
    cost: float = 0.5

    def __post_init__(self) -> None:
        if not self.parties:
            raise ValueError("parties must name at least one party")
        if not self.levels or len(set(self.levels)) < len(self.levels):
            raise ValueError("levels must name at least one precision, and each precision only once")
        in_range(1, 100, size=self.size)
        in_range(0.01, 0.99, prior=self.prior)
        in_range(0, 1e6, cost=self.cost)
        for level in (self.precision, *self.levels):
            in_range(0.5, 0.99, precision=level)
        for share in (self.prior, self.precision, *self.levels):
            if abs(100 * share - round(100 * share)) > 1e-9:
                raise ValueError(
                    f"prior, precision and levels must be whole percentages, as prompts state them, but one is {share}"
                )

    @property
    def voices(self) -> tuple[str, ...]:
        """Who has no seat and can have a model of its own."""
        return (PLANNER,) if self.planner == "model" else ()

    @property
    def precisions(self) -> tuple[float, ...]:
        """The precisions that the planner can choose, from low to high; `precision` is always one of them."""
        return tuple(sorted({*self.levels, self.precision}))

    def groups(self) -> tuple[Group, ...]:
        seats = seats_in_turn(self.parties, self.size)
        return (Group(counted(seats), seats),)

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        for speaker in room.reshuffle():
            yield Turn(speaker, tuple([member for member in room.seated if member != speaker]), self.form)

    def seat(self) -> type[HerdMember]:
        """Return the class of the people."""
        from .members import HerdMember

        return HerdMember

    def play(self, room: RoomState, view: Room, model: DebateModel) -> Conversation[list[Event]]:
        """Play a period."""
        from .round import make_planner, run_period

        return run_period(room, self, self.turns(view, room.round), make_planner(model, self, room.topic))
