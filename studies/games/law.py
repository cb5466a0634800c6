"""The planted law of play: what a person does in a game of points, and what it says before that it will do.

Moves lie between 0 and 10 (points sent, points of every 10 returned, points put in; in the prisoner's dilemma the probability of
A, times 10). A person's level is

    level + differ * noise of the persona, and with an imposed number the share `obey` of the way to that number

kept within 0 and 10. A person who plays `fixed` moves by its level in every round; `tit_for_tat` moves by its level in the first
round and then as the others did in the round before; `cooperate` is 10 and `defect` is 0. In the last `endgame` rounds of a game
whose end is announced a person moves by 0. Before the game it says that it will do its level plus `stated`: so `stated` is the
planted gap between belief and behaviour, but for the ends of the scale. It expects the same of others.

In a negotiation a person offers each package with a probability in proportion to exp(keen * its own points), and responds
likewise: accepting is worth the points offered, refusing REFUSED (in the last round what the authority gives), leaving what
leaving gives. After a private note `keen` is divided by 1 + `widen`: so `widen` is the planted effect of reflection on diversity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from parley.llm.errors import UserError, unknown_name

STRATEGIES = ("fixed", "tit_for_tat", "cooperate", "defect")
OUTSIDE, IMPOSED, REFUSED = 2.0, 3.0, 5.0
"""Points of a player if one leaves, if an authority decides, and what a refusal before the last round is worth to a person."""


class GameLaw(NamedTuple):
    """The planted law; see the top of this file."""

    play: str = "fixed"
    level: float = 5.0
    differ: float = 1.5
    stated: float = 0.0
    endgame: int = 0
    obey: float = 0.0
    keen: float = 1.0
    widen: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number that is out of range, and for an unknown way to play."""
        if self.play not in STRATEGIES:
            raise unknown_name("way to play of oracle,play", self.play, STRATEGIES)
        if not (0 <= self.level <= 10 and 0 <= self.obey <= 1 and -10 <= self.stated <= 10):
            raise UserError(
                "oracle: level must be from 0 to 10, obey from 0 to 1 and stated from -10 to 10, as in oracle,level=4,stated=2"
            )
        if not all(0 <= number < math.inf for number in (self.differ, self.endgame, self.keen, self.widen)):
            raise UserError("oracle: differ, endgame, keen and widen must be 0 or more. Example: oracle,keen=2,widen=1")

    def person_level(self, noise: float, imposed: float | None = None) -> float:
        """Return the level of a person, 0 to 10. noise: a standard normal number of the persona.

        >>> GameLaw(level=4, differ=2).person_level(0.5), GameLaw(level=4, obey=0.5).person_level(0.0, imposed=8)
        (5.0, 6.0)
        """
        level = {"cooperate": 10.0, "defect": 0.0}.get(self.play, _clip(self.level + self.differ * noise))
        return level if imposed is None else level + self.obey * (imposed - level)

    def move(self, level: float, received: Sequence[float], announced: bool, left: int) -> float:
        """Return the mean move of a person with this level. received: the mean move of the others by round."""
        if announced and left <= self.endgame:
            return 0.0
        return received[-1] if self.play == "tit_for_tat" and received else level

    def statement(self, level: float) -> float:
        """Return what a person says that it will do.

        >>> GameLaw(stated=2).statement(5.0), GameLaw(stated=2).statement(9.0)
        (7.0, 10.0)
        """
        return _clip(level + self.stated)

    def weights(self, values: Sequence[float], reflected: bool) -> list[float]:
        """Return the probability of each choice of a negotiation with these values."""
        keen = self.keen / (1 + self.widen) if reflected else self.keen
        weights = [math.exp(keen * (value - max(values))) for value in values]
        return [weight / sum(weights) for weight in weights]


def whole_numbers(value: float, numbers: Sequence[int]) -> list[float]:
    """Return the probabilities of whole numbers that have this mean: of the number below and the one above.

    >>> whole_numbers(1.25, (0, 1, 2))
    [0.0, 0.75, 0.25]
    """
    return [max(0.0, 1 - abs(value - number)) for number in numbers]


def _clip(value: float) -> float:
    return min(max(value, 0.0), 10.0)
