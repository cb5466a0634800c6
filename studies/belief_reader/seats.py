"""The people of a network with readers: debaters as in any network, and readers, whose ratings are their computed beliefs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, cast

from parley.agents.agent import DebateAgent
from parley.agents.probe import Probe
from parley.agents.speech import Rating, Speech
from parley.agents.surrogate_agent import SURROGATE, SurrogateAgent
from parley.llm.seeding import stream
from parley.model.agent_factory import NetworkSeat, SeatedAgent, seat_and_topic
from parley.model.casting import REFERENCE, RoomSeating

from .environment import Readers
from .reader import Reader
from .tags import Tag

if TYPE_CHECKING:
    from parley.model.debate import DebateModel

READER = "reader"
"""How a rating of a reader was made, and why a question that it has no belief on is unanswered."""
POINTS = 10


class Seat(SeatedAgent):
    """A seat of the environment: a reader in the last seats, else a debater."""

    def __new__(cls, model: DebateModel, seating: RoomSeating, number: int) -> Any:
        rules = cast(Readers, model.environment)
        if seating.group != REFERENCE and number >= len(seating.places) - rules.listeners:
            return ReaderSeat(model, seating, number)
        own = None if cls is Seat else cast("type[DebateAgent]", cls.__bases__[0])
        return _debater(own)(model, seating, number)


@cache
def _debater(own: type[DebateAgent] | None) -> type[Any]:
    """Return the class of debaters, made from a class of the user if there is one."""
    return NetworkSeat if own is None else type(own.__name__, (own, NetworkSeat), {})


class ReaderSeat(SeatedAgent, SurrogateAgent):
    """A seat of a reader. As a surrogate's, its rating is computed and no model is asked for it.

    begun: its belief before the first line. reader: None until the judge was examined. outside: lines from outside that were not
    tagged yet. told: what moved it since the last survey, in words.
    """

    def __init__(self, model: DebateModel, seating: RoomSeating, number: int):
        place, topic = seat_and_topic(model, seating, number)
        DebateAgent.__init__(self, model, place.persona, topic, model.style)
        rules = cast(Readers, model.environment)
        share = stream(model.setup.seed, READER, seating.room, place.seat).random()
        self.prepares, self.probe = False, model.setup.surveys.probe
        self.begun = rules.lowest + (rules.highest - rules.lowest) * share
        self.reader: Reader | None = None
        self.outside: list[str] = []
        self.told = "began"
        self.assign_seat(seating, number)

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        """Nothing: the environment gives a reader the tags of what it heard."""

    def hear_outside(self, name: str, text: str, form: str, value: float | None = None) -> None:
        self.outside.append(text)

    def say(self, seed: int) -> Speech:
        return Speech(None, READER)

    def read(self, tags: list[Tag]) -> None:
        """Move the belief by lines in their order."""
        assert self.reader is not None
        before = self.reader.odds
        for tag in tags:
            self.reader.read(tag)
        tagged = sum(bool(tag.direction) for tag in tags)
        self.told = f"read {tagged} of {len(tags)} lines: log odds from {before:.3f} to {self.reader.odds:.3f}"

    @property
    def belief(self) -> float:
        """Its belief that the claim is true, 0 to 1."""
        return self.begun if self.reader is None else self.reader.belief

    def rate(self, probe: Probe, seed: int) -> Rating:
        if probe.name != self.probe or not probe.on_axis:
            rating = Rating(probe.name, None, SURROGATE, None, None, None, None, READER)
        else:
            attitude = POINTS * self.belief
            value = probe.scale.rating(attitude, probe.polarity)
            rating = Rating(probe.name, value, None, attitude, None, None, self.told, READER)
        self.ratings[probe.name] = rating
        return rating
