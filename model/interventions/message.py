"""message: a line from somebody who is not in the room, heard by those that it is for.

by and text as in `Saying`, both to be given. A name that somebody in the room has is taken for that person's.
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Message(Saying):
    """A line from somebody who is not in the room, heard by those that it is for.

    Parameters
    ----------
    by : str
        Under whose name the line stands. A name that somebody in the room has is taken for that person's.
    text : str
        The line; `{topic}` stands for what the room is about.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        The name is none that could stand before a line, or there is no text.

    Examples
    --------
    >>> Message(round=2, to=("democrat",), by="Ann", text="Think of the cost.").kind
    'message'
    """
