"""message: these agents hear a line from a person outside the room.

by     the name of the speaker; if an agent of the room has this name, the line is taken for a line of that agent
text   the line; {topic} is replaced by the title of the room's topic
value  the attitude that the line argues for, 0-10. Surrogates respond to it; other agents read the text
"""

from __future__ import annotations

from dataclasses import dataclass

from parley.model.interventions.base import Saying


@dataclass(frozen=True, kw_only=True)
class Message(Saying):
    """A line from a person outside the room, heard by some agents.

    Parameters
    ----------
    by : str
        The name of the speaker. If an agent of the room has this name, the line is taken for a line of that agent.
    text : str
        The line; `{topic}` is replaced by the title of the room's topic.
    value : float, optional
        The attitude that the line argues for, from 0 to 10. Surrogates respond to it in place of the text.
    round, to, share, every, rooms
        When and for whom; see `Intervention`.

    Raises
    ------
    UserError
        The name is no name of a speaker, or the text is empty.

    Examples
    --------
    >>> Message(round=2, to=("green",), by="Ann", text="Think of the cost.").kind
    'message'
    """
