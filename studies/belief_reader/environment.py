"""readers: a network in which some people are readers; a judge tags what they hear, and their beliefs move by the tags

Options
    parties     the parties of the people, in turn (first, second: the debaters of the society)
    size        how many people there are (40)
    graph       who hears whom at the start, as for network (complete)
    rule        who meets whom in a round, as for network (neighbours)
    activation  who of the debaters speaks in a round, as for network (every)
    rewiring    how links change between rounds, as for network (none)
    timing      as for network (simultaneous)
    order       as for network (reshuffled)
    mix         as for network
    listeners   how many of the people are readers: the last seats. Readers hear and rate, and say nothing (8)
    weights     a file with the weights of readers, which `run.py study belief-reader RUN` writes; "": 0.4 for each reason
    lowest      the lowest belief with which a reader may begin, as a share of the axis; it is drawn for each reader (0.2)
    highest     the highest one (0.8)

The judge is the voice `judge` (`--llm judge=SPEC`), else the model of all. It is first asked about the known lines of the
topic, before the first round, so that its errors are in the record and lines count by what its answers are worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from parley.environments.base import Room, Turn, in_range
from parley.environments.graphs import GRAPHS
from parley.environments.network import Network

if TYPE_CHECKING:
    from parley.llm.driver import Conversation
    from parley.model.debate import DebateModel
    from parley.model.events import Event
    from parley.model.room import RoomState
    from parley.model.scenario import Scenario

    from .seats import Seat

JUDGE = "judge"
"""The name of the judge, where a field names a party or a seat."""


@dataclass(frozen=True)
class Readers(Network):
    """Debaters, and readers who hear them; options: see the top of this file."""

    voices: ClassVar = (JUDGE,)
    controls: ClassVar = {
        "listeners": ("Readers", "Number of people who only read and rate."),
        "weights": ("Weights of readers", "A file that `study belief-reader` writes; empty: 0.4 for each reason."),
        "lowest": ("Lowest belief at the start", "0.2: readers begin from 20% of the axis on."),
        "highest": ("Highest belief at the start", "0.8: readers begin up to 80% of the axis."),
    }

    size: int = 40
    graph: Annotated[str, GRAPHS] = "complete"
    listeners: int = 8
    weights: str = ""
    lowest: float = 0.2
    highest: float = 0.8

    def __post_init__(self) -> None:
        in_range(1, self.size - 1, listeners=self.listeners)
        in_range(0, 1, lowest=self.lowest, highest=self.highest)
        if self.lowest > self.highest:
            raise ValueError(f"lowest must not be above highest, and {self.lowest:g} is above {self.highest:g}")
        super().__post_init__()

    @property
    def silent(self) -> int:
        """So many of the last seats only listen."""
        return self.listeners

    @property
    def varies(self) -> bool:
        """Not all people speak in a round: readers never do."""
        return True

    @property
    def files(self) -> tuple[str, ...]:
        return (*super().files, *([self.weights] if self.weights else []))

    def turns(self, room: Room, round_: int) -> Iterator[Turn]:
        listening = set(room.seated[max(1, len(room.seated) - self.listeners) :])
        spoken = (turn for turn in super().turns(room, round_) if turn.speaker not in listening)
        return (turn._replace(together=turn.together and number > 0) for number, turn in enumerate(spoken))

    def seat(self) -> type[Seat]:
        """Return the class of the people."""
        from .seats import Seat

        return Seat

    def play(self, room: RoomState, view: Room, model: DebateModel) -> Conversation[list[Event]]:
        """Play a round."""
        from .round import run_reading_round

        return run_reading_round(room, self, view, model)

    def problems(self, scenario: Scenario) -> Iterator[str]:
        """Yield what does not fit together in a scenario, and what to set."""
        from parley.llm.errors import UserError

        from .reader import read_weights
        from .tags import check_topic

        for topic in scenario.subject.all_topics:
            try:
                check_topic(topic)
            except UserError as error:
                yield str(error)
        if self.weights:
            try:
                read_weights(Path(self.weights))
            except UserError as error:
                yield str(error)
        if scenario.surveys.survey != "rounds":
            yield "a reader rates after each round: set survey=rounds"
        if scenario.surveys.measure != "rating":
            yield "a reader's rating is its belief, without a distribution of answers: set measure=rating"
        if scenario.speech.format != "free":
            yield "readers hear a free debate: set format=free"
