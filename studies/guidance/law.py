"""The planted law of guidance: how statements of an official account move what people feel and what they think.

Tone is how people write, from 0 (furious) to 10 (glad). A person's tone is

    tone + QUIRK * noise of the persona + the tone effect of each statement that it has heard

kept within 0 and 10, and each statement heard moves its attitude by the attitude effect of the style. A statement without content
(the style `empty`) moves nothing. A statement has no other influence: it is no line of the debate. Unless a number is planted,
people write no sentence on how they feel, and guidance moves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from parley.llm.errors import UserError

QUIRK = 1.0
"""Standard deviation of tones between personas, in points (0-10)."""


class GuidanceLaw(NamedTuple):
    """The planted law; see the top of this file. Effects are in points (0-10) for each statement heard.

    tone: the mean tone before any statement; None: neutral (5), and without effects no one writes how it feels.
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
                f"oracle: tone is {self.tone:g}, but must be between 0 and 10. Example: oracle,tone=4,empathic_tone=-1"
            )


def tone_shift(style: str, law: GuidanceLaw) -> float:
    """Return by how much a statement in a style moves the tone.

    >>> tone_shift("empathic", GuidanceLaw(empathic_tone=-1.5))
    -1.5
    """
    return {"empathic": law.empathic_tone, "factual": law.factual_tone}.get(style, 0.0)


def attitude_shift(style: str, law: GuidanceLaw) -> float:
    """Return by how much a statement in a style moves the attitude."""
    return {"empathic": law.empathic_attitude, "factual": law.factual_attitude}.get(style, 0.0)
