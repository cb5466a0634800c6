"""A stand-in: a member that a fitted response holds the place of (agents/opinion_dynamics.py), so that no
model is asked for it.

It begins where people of its party began, moves once a survey by the same law, and says a line that was recorded of its
party: one of those nearest to the grade that the law has it say. What it hears is graded as it was for the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np

from parley.agents.agent import DebateAgent, DebateStyle, Rating, Speech
from parley.agents.opinion_dynamics import RESPONSE, next_attitude, spoken_grade
from parley.agents.persona import Persona
from parley.agents.topic import Probe, Topic

NEAR = 8
"""Of so many lines around a grade one is said."""
SURROGATE = "surrogate"
Grade = Callable[[str, str], float | None]
"""How a line (who said it, what was said) is graded; None where it cannot be."""


class SurrogateResponse:
    """A party on a topic, as a surrogate knows it. Attitudes and grades are on the topic's axis, 0-10.

    `fit` is one topic of its file. Of it are used `heard` (`grades` of lines, or `attitudes` of who speaks), `how`
    (whether attitudes are `expected` ratings, or ratings: `attitude`), and of the party: the numbers RESPONSE, `starts`
    (the 21 quantiles of first attitudes, from lowest to highest) and `said` (grade and text of lines that were
    recorded).
    """

    def __init__(self, fit: Mapping[str, Any], party: str):
        one = fit["parties"][party]
        self.numbers = np.array([one[name] for name in RESPONSE], dtype=float)
        self.starts = one["starts"]
        self.graded, self.expects = fit["heard"] == "grades", fit["how"] == "expected"
        self.lines = sorted((float(grade), str(text)) for grade, text in one["said"])

    def start(self, rng: Random) -> float:
        """Where somebody begins, 0-10: the quantiles of first attitudes, joined by lines."""
        return float(np.interp(rng.random(), np.linspace(0, 1, len(self.starts)), self.starts))

    def after(self, own: float, heard: float, rng: Random) -> float:
        """The next attitude (0-10) of somebody at `own` who heard lines of mean grade `heard` (both 0-10)."""
        return float(next_attitude(np.array(own), heard, self.numbers, rng.random(), rng.gauss(0, 1)))

    def line(self, own: float, rng: Random) -> str:
        """What somebody at `own` (0-10) says: the text of a line."""
        grade = float(spoken_grade(np.array(own), self.numbers, rng.gauss(0, 1)))
        return rng.choice(nearest_lines(self.lines, grade))[1]


def nearest_lines(lines: Sequence[tuple[float, str]], grade: float) -> list[tuple[float, str]]:
    """The NEAR lines around a grade, and those that are as near as the last of them.

    >>> [grade for grade, _ in nearest_lines([(float(number), "") for number in range(20)], 1.9)]
    [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    """
    reach = sorted([abs(one - grade) for one, _ in lines])[:NEAR][-1]
    return [line for line in lines if abs(line[0] - grade) <= reach]


class SurrogateAgent(DebateAgent):
    """`probe` is the survey question that its attitude answers; others it cannot answer (`surrogate`)."""

    def __init__(
        self,
        model: Any,
        persona: Persona,
        topic: Topic,
        manner: DebateStyle,
        response: SurrogateResponse,
        grade: Grade,
        probe: str,
    ):
        super().__init__(model, persona, topic, manner)
        self.prepares, self.response, self.probe = False, response, probe
        self._grade = grade
        self._at: float | None = None
        self._heard: list[float | None] = []

    def instruction(self, form: str) -> str:
        raise TypeError("nothing is asked of a stand-in")

    def hear(self, name: str, text: str, form: str = "reply") -> None:
        self._heard.append(self._grade(name, text))

    def say(self, seed: int) -> Speech:
        """Its next utterance. Who comes in late begins here."""
        rng = Random(seed)
        if self._at is None:
            self._at = self.response.start(rng)
        return Speech(self.response.line(self._at, rng), None)

    def rate(self, probe: Probe, seed: int) -> Rating:
        """Its answer to a survey; to that of its attitude it moves first. What could not be graded counts for nothing.

        The answer is an expected rating as well where the fit was to these.
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
        """Its next attitude, and what moved it, in words.

        Where nothing was heard, or nothing that could be graded, its own opinion stands in the place of the mean, as in
        `parley.agents.opinion_dynamics.neighbour_mean`.
        """
        graded = [grade for grade in self._heard if grade is not None]
        lines, self._heard = len(self._heard), []
        if self._at is None:
            return self.response.start(rng), "began"
        if not graded:
            return self.response.after(self._at, self._at, rng), f"heard nothing (0 of {lines} lines)"
        heard = sum(graded) / len(graded)
        return self.response.after(self._at, heard, rng), f"heard {heard:.2f} in {len(graded)} of {lines} lines"
