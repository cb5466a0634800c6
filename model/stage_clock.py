"""The clock of a run with stages: which rooms debate in a round, and how many rounds each has.

Without stages every room debates in every round. Where stages name topics, a room debates in the stages of its topic only, and
its rounds are counted within these; a stage without a topic is about all topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parley.environments.places import Places, Span
from parley.model.room import RoomState
from parley.model.scenario import Scenario


@dataclass(frozen=True)
class StageClock:
    """The stages of a run with their rounds; empty where it has none."""

    spans: tuple[Span, ...]
    rounds: int

    @classmethod
    def of(cls, scenario: Scenario) -> StageClock:
        """Return the clock of a scenario. Errors: UserError where the rounds of its stages do not add up (at its check)."""
        environment, rounds = scenario.environment, scenario.rounds
        return cls(environment.plan(rounds) if isinstance(environment, Places) else (), rounds)

    def span(self, round_: int) -> Span | None:
        """Return the stage of a round; None without stages."""
        return next((span for span in self.spans if span.first <= round_ <= max(span.first, span.last)), None)

    def debating(self, rooms: Sequence[RoomState], round_: int) -> Sequence[RoomState]:
        """Return the rooms that debate in a round."""
        span = self.span(round_)
        return rooms if span is None else [room for room in rooms if span.stage.topic in ("", room.topic)]

    def kept_in_pauses(
        self, attitudes: Mapping[int, float | None], rooms: Sequence[RoomState], round_: int
    ) -> dict[int, float | None]:
        """Return the attitudes of people whose room has begun and does not debate in a round, which is about another topic."""
        debating = {room.id for room in self.debating(rooms, round_)}
        pausing = [room for room in rooms if room.round and room.id not in debating]
        return {agent: attitudes[agent] for room in pausing for agent in room.members if agent in attitudes}

    def survey_due(self, survey: str, room: RoomState, round_: int) -> bool:
        """Return whether the people of a room are surveyed after a round of the run (0: before the first)."""
        if survey == "stages":
            return room.round == 0 or self.ends_stage(round_)
        return survey == "rounds" or (survey == "ends" and room.round in (0, self.last_round(room)))

    def last_round(self, room: RoomState) -> int:
        """Return how many rounds a room has in all."""
        return len(self.rounds_on(room.topic))

    def rounds_on(self, topic: str) -> list[int]:
        """Return the rounds of the run in which a topic is debated: 3 and 4 for the second of two stages of two rounds."""
        if not self.spans:
            return list(range(1, self.rounds + 1))
        spans = [span for span in self.spans if span.stage.topic in ("", topic)]
        return [number for span in spans for number in range(span.first, span.last + 1)]

    def round_of_run(self, topic: str, round_: int) -> int:
        """Return the round of the run in which a topic has a round of its own; with 0, that of its first survey."""
        rounds = self.rounds_on(topic)
        late = not round_ and rounds and rounds[0] > 1
        return rounds[0] if late else rounds[round_ - 1] if 0 < round_ <= len(rounds) else round_

    def ends_stage(self, round_: int) -> bool:
        """Return whether a stage ends with this round."""
        return any(span.last == round_ for span in self.spans) or round_ == self.rounds
