"""Planted laws of feelings: how they spread, and how statements of an official account move them.

The planted law by which feelings spread.

Valence (how good it feels) and arousal (how worked up it is) lie between 1 and 7. Each begins at a baseline of the persona, which
its text alone decides. Each line heard moves it:

    value + contagion * (said - value) + volatility * noise

`said` is the feeling that the line says. A line that says none brings noise alone. A speaker says the feelings of which its
prompt reminds it (`chain` in a scenario), in a sentence of the bank for each. Without a reminder no line says a feeling, and none
spreads. Unless other numbers are planted, contagion and volatility are 0: then every rating is the persona's baseline.

The planted law of guidance: how statements of an official account move what people feel and what they think.

Tone is how people write, from 0 (furious) to 10 (glad). A person's tone is

    tone + QUIRK * noise of the persona + the tone effect of each statement that it has heard

kept within 0 and 10, and each statement heard moves its attitude by the attitude effect of the style. A statement without content
(the style `empty`) moves nothing. A statement has no other influence: it is no line of the debate. Unless a number is planted,
people write no sentence on how they feel, and guidance moves nothing.
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


NEUTRAL = 5.0
"""The tone of a text that says no feeling, and of people where only effects are planted."""
QUIRK = 1.0
"""Standard deviation of tones between personas, in points (0-10)."""


class GuidanceLaw(NamedTuple):
    """The planted law; see the top of this file. Effects are in points (0-10) for each statement heard.

    tone: the mean tone before any statement; None: NEUTRAL, and without effects no one writes how it feels.
    """

    tone: float | None = None
    empathic_tone: float = 0.0
    factual_tone: float = 0.0
    empathic_attitude: float = 0.0
    factual_attitude: float = 0.0

    def check(self) -> None:
        """Errors: UserError for a tone that is not on the scale."""
        if self.tone is not None and not 0 <= self.tone <= 10:
            raise UserError(
                f"oracle: tone must be from 0 to 10, not {self.tone:g}, as in oracle,tone=4,empathic_tone=-1"
            )

    @property
    def feeling(self) -> bool:
        """Whether people write how they feel."""
        return self != UNMOVED

    def tone_shift(self, style: str) -> float:
        """Return by how much a statement in a style moves the tone.

        >>> GuidanceLaw(empathic_tone=-1.5).tone_shift("empathic")
        -1.5
        """
        return {"empathic": self.empathic_tone, "factual": self.factual_tone}.get(style, 0.0)

    def attitude_shift(self, style: str) -> float:
        """Return by how much a statement in a style moves the attitude."""
        return {"empathic": self.empathic_attitude, "factual": self.factual_attitude}.get(style, 0.0)


UNMOVED = GuidanceLaw()
"""The law unless other numbers are planted."""
