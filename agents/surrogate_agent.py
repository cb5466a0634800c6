"""An agent that a fitted surrogate moves, not a model.

It begins where agents of its party began, and its attitude moves at each survey by the fitted law. It says a recorded
line of its party whose grade is close to the one that the law gives. What it hears is graded in the same way as for the
fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from parley.agents.agent import DebateAgent
from parley.agents.laws.surrogate import RESPONSE, next_attitude, spoken_grade
from parley.agents.persona import Persona
from parley.agents.probe import Probe
from parley.agents.speech import DebateStyle, Rating, Speech
from parley.agents.topic import Topic

NEAR = 8
"""One of so many lines around a grade is said."""
SURROGATE = "surrogate"
Grade = Callable[[str, str], float | None]
"""Returns the grade of a line (speaker, text); None if it cannot be graded."""


class SurrogateResponse:
    """The fitted response of a party on a topic. Attitudes and grades are on the topic's axis, 0-10.

    `fit` is one topic of the surrogate's file. It says whether `heard` are `grades` of lines or `attitudes` of
    speakers, and `how` attitudes are measured (`expected` ratings, or ratings: `attitude`). Of the party it has the
    numbers RESPONSE, `starts` (the 21 quantiles of first attitudes, from lowest to highest) and `said` (grade and text
    of recorded lines).
    """

    def __init__(self, fit: Mapping[str, Any], party: str):
        party_fit = fit["parties"][party]
        self.numbers = np.array([party_fit[name] for name in RESPONSE], dtype=float)
        self.starts = party_fit["starts"]
        self.graded, self.expects = fit["heard"] == "grades", fit["how"] == "expected"
        self.lines = sorted((float(grade), str(text)) for grade, text in party_fit["said"])

    def start(self, rng: Random) -> float:
        """Draw a first attitude, 0-10, by linear interpolation between the quantiles."""
        return float(np.interp(rng.random(), np.linspace(0, 1, len(self.starts)), self.starts))

    def after(self, attitude: float, heard: float, rng: Random) -> float:
        """Draw the next attitude (0-10) after an `attitude` and lines of mean grade `heard` (both 0-10)."""
        return float(next_attitude(np.array(attitude), heard, self.numbers, rng.random(), rng.gauss(0, 1)))

    def line(self, attitude: float, rng: Random) -> str:
        """Draw the text of a line at an `attitude` (0-10)."""
        grade = float(spoken_grade(np.array(attitude), self.numbers, rng.gauss(0, 1)))
        return rng.choice(nearest_lines(self.lines, grade))[1]


def nearest_lines(lines: Sequence[tuple[float, str]], grade: float) -> list[tuple[float, str]]:
    """Return the NEAR lines closest to a grade, and those as close as the last of them.

    >>> [grade for grade, _ in nearest_lines([(float(number), "") for number in range(20)], 1.9)]
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    reach = sorted([abs(line_grade - grade) for line_grade, _ in lines])[:NEAR][-1]
    return [line for line in lines if abs(line[0] - grade) <= reach]


class SurrogateAgent(DebateAgent):
    """An agent with a fitted response. It only answers the survey question `probe`; other ratings are missing (`surrogate`)."""

    def __init__(
        self,
        model: Any,
        persona: Persona,
        topic: Topic,
        style: DebateStyle,
        response: SurrogateResponse,
        grade: Grade,
        probe: str,
    ):
        super().__init__(model, persona, topic, style)
        self.prepares, self.response, self.probe = False, response, probe
        self._grade = grade
        self._at: float | None = None
        self._heard: list[float | None] = []

    def instruction(self, form: str) -> str:
        raise TypeError("a surrogate is not asked by a prompt")

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        self._heard.append(self._grade(name, text))

    def hear_outside(self, name: str, text: str, form: str, value: float | None = None) -> None:
        self._heard.append(self._grade(name, text) if value is None else value)

    def say(self, seed: int) -> Speech:
        """Return the next utterance. An agent that joined late draws its first attitude here."""
        rng = Random(seed)
        if self._at is None:
            self._at = self.response.start(rng)
        return Speech(self.response.line(self._at, rng), None)

    def rate(self, probe: Probe, seed: int) -> Rating:
        """Move the attitude and return the answer to a survey question.

        Lines that could not be graded are ignored. The answer is also an expected rating if the fit used expected
        ratings.
        """
        if probe.name != self.probe:
            rating = Rating(probe.name, None, SURROGATE, None, None, None, None, SURROGATE)
        else:
            self._at, told = self._moved(Random(seed))
            value = probe.scale.rating(self._at, probe.polarity)
            expected = self._at if self.response.expects else None
            rating = Rating(probe.name, value, None, self._at, expected, None, told, SURROGATE)
        self.ratings[probe.name] = rating
        return rating

    def _moved(self, rng: Random) -> tuple[float, str]:
        """Return the next attitude, and what moved it in words.

        If it heard nothing that could be graded, its own opinion replaces the mean, as in
        `parley.agents.laws.base.neighbour_mean`.
        """
        graded = [grade for grade in self._heard if grade is not None]
        lines, self._heard = len(self._heard), []
        if self._at is None:
            return self.response.start(rng), "began"
        if not graded:
            return self.response.after(self._at, self._at, rng), f"heard nothing (0 of {lines} lines)"
        heard = sum(graded) / len(graded)
        return self.response.after(self._at, heard, rng), f"heard {heard:.2f} in {len(graded)} of {lines} lines"
