"""Lines from outside in a population: in a step they are people whom the addressed hear, and the same law moves everyone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from parley.agents.laws import Codes, Floats, Law, People
from parley.agents.laws.motion import Motion
from parley.environments.sparse_links import with_speakers
from parley.model.population_interventions import Message


class OutsideLines:
    """The messages of a population. Each of their lines is a row after the last person, which hears no one and never moves.

    said    (lines,) or (lines, d) what the lines say, as the law can hold it
    motion  the motion of the people and of these lines
    """

    def __init__(self, messages: Sequence[Message], grades: Floats, motion: Motion):
        self.said, self.motion = grades, motion
        ends = np.cumsum([0, *[message.lines for message in messages]]).tolist()
        self._places = {id(message): range(*ends[place : place + 2]) for place, message in enumerate(messages)}
        self._heard_by: dict[int, Codes] = {}

    @classmethod
    def prepare(
        cls, messages: Sequence[Message], law: Law, motion: Motion, opinions: Floats, people: People
    ) -> OutsideLines:
        """Return the lines of these messages. law, opinions, people: those of the start. Errors: UserError, ValueError."""
        dimensions = 1 if opinions.ndim == 1 else opinions.shape[1]
        grades = law.admit(np.concatenate([message.grades(dimensions) for message in messages]))
        grades = grades[:, 0] if opinions.ndim == 1 else grades
        return cls(messages, grades, motion.with_lines(law, opinions, people, grades))

    def say(self, message: Message, people: Codes) -> None:
        """Let these people hear a message in the next step."""
        self._heard_by |= dict.fromkeys(self._places[id(message)], people)

    def __bool__(self) -> bool:
        """Whether a line is heard in the next step."""
        return bool(self._heard_by)

    def step(self, opinions: Floats, read: csr_array, generator: np.random.Generator, time: int) -> Floats:
        """Return the opinions of the people after a step in which lines are heard. read: who reads whom."""
        no_one = np.empty(0, dtype=np.int64)
        heard_by = [self._heard_by.get(place, no_one) for place in range(len(self.said))]
        self._heard_by = {}
        everyone = np.concatenate((opinions, self.said))
        return self.motion.step(everyone, with_speakers(read, heard_by), generator, time)[: len(opinions)]
