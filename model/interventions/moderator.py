"""moderator: these agents hear a remark before the round.

text   the name of one of Parley's lines below (civility, other_side, reasons), or a text of your own
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import ClassVar

from parley.llm.errors import UserError
from parley.model.interventions.base import Saying

LINES = {
    "civility": "Please stay civil: answer what was said, not who said it, and let everybody finish.",
    "other_side": "Before you reply, please think of the best reason that the other side has, and say what is right about it.",
    "reasons": "Please give a reason for what you say next, and say what would change your mind.",
}


@dataclass(frozen=True, kw_only=True)
class Moderator(Saying):
    """A remark by "Moderator".

    Parameters
    ----------
    text : str
        `civility`, `other_side` or `reasons` for a line of Parley's, or a text of your own.
    by : str
        The name of the speaker.
    value : float, optional
        The attitude that the line argues for, from 0 to 10. Surrogates respond to it in place of the text.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        The text looks like a misspelt name of a line.

    Examples
    --------
    >>> Moderator(round=2, text="civility").text[:18]
    'Please stay civil:'
    """

    wordless: ClassVar[str] = "lines of a moderator ask for something in words: use message with value=0 to 10"
    by: str = "Moderator"

    def __post_init__(self) -> None:
        if self.text not in LINES and (near := difflib.get_close_matches(self.text, LINES, n=1, cutoff=0.7)):
            raise UserError(
                f"moderator: unknown text {self.text!r}: did you mean {near[0]}? If these are your own words, "
                "write a whole sentence"
            )
        object.__setattr__(self, "text", LINES.get(self.text, self.text))
        super().__post_init__()
