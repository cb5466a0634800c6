"""The planted law by which feelings spread.

Valence (how good it feels) and arousal (how worked up it is) lie between 1 and 7. Each begins at a baseline of the persona, which
its text alone decides. Each line heard moves it:

    value + contagion * (said - value) + volatility * noise

`said` is the feeling that the line says. A line that says none brings noise alone. A speaker says the feelings of which its
prompt reminds it (`chain` in a scenario), in a sentence of the bank for each. Without a reminder no line says a feeling, and none
spreads. Unless other numbers are planted, contagion and volatility are 0: then every rating is the persona's baseline.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from parley.llm.errors import UserError

FEELINGS = ("valence", "arousal")
SPREAD = 1.2
"""Standard deviation of baselines between personas, in points of 1 to 7."""


class EmotionLaw(NamedTuple):
    """The planted law: see the top of this file.

    contagion   share of the distance by which a line with a feeling draws its hearer, 0 to 1
    volatility  standard deviation of the noise of each line, in points of 1 to 7
    """

    contagion: float = 0.0
    volatility: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a number that the law cannot have."""
        if not (0 <= self.contagion <= 1 and 0 <= self.volatility < math.inf):
            raise UserError(
                "oracle: contagion must be from 0 to 1, and volatility at least 0, as in oracle,contagion=.2,volatility=.3"
            )


CALM = EmotionLaw()
"""The law unless other numbers are planted."""
